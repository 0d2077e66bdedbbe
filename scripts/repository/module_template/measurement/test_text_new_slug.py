"""Hand cases of new_slug's maths."""

import pytest

from manycaps.kit.text_new_slug import mean_caption_length


@pytest.mark.parametrize(
    ("captions", "expected"),
    [(["a dog"], 2.0), (["a dog", "two dogs run"], 2.5), ([""], 0.0), (["", "dogs  run"], 1.0)],
)
def test_mean_caption_length(captions, expected):
    assert mean_caption_length(captions) == expected
