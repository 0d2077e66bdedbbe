"""Hand cases of new_slug's maths."""

import pytest

from manycaps.kit.text_new_slug import word_overlap


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a dog", "a dog"], 1.0),
        (["a dog", "dog a a"], 1.0),
        (["a dog", "two cats"], 0.0),
        (["a dog a wet dog", "a dog runs"], 0.5),
        (["a dog", "a cat", "a wet dog"], 0.25),
        (["a dog"], 1.0),
        (["", ""], 1.0),
        (["", "a dog"], 0.0),
    ],
)
def test_word_overlap(texts, expected):
    tokens = [text.split() for text in texts]
    assert word_overlap(tokens) == word_overlap(tokens[::-1]) == expected
