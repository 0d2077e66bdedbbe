"""Faults of sentences as a plain function: by hand, the module's values, messages."""

import math
import warnings

import numpy as np
import pytest

import manycaps
from manycaps import functional
from manycaps.kit import vectors_sentences
from tests.refusals import refusals

WORDS = ("dog", "cat", "car", "sea", "boat", "tree", "man", "bus")


def embed(texts):
    return np.array([[float(word in text.lower()) for word in WORDS] for text in texts]) + 0.01


def drawn_rows(n_rows, most, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        said = rng.permutation(WORDS)[:4]
        texts = [
            " ".join(f"A {word}." for word in rng.choice(said, size=rng.integers(1, most + 1), replace=False))
            for _ in range(4)
        ]
        rows.append(texts)
    return [row[:1] for row in rows], [row[1:] for row in rows]


@pytest.mark.parametrize(
    ("candidate", "unsupported", "omitted"),
    [
        ("A dog. A cat.", 0.05, 0.05),
        ("A dog. A car.", 0.525, 1.0),
        ("A bus. A car.", 1.0, 1.0),
        ("A dog. A cat. A car. A bus.", 0.525, 0.05),
    ],
)
def test_shares_by_hand(candidate, unsupported, omitted):
    """People say the same two things, at distance 0: what is at 0, too, counts for 5%."""

    def one_hot(texts):
        return [[float(word in text.lower()) for word in WORDS] for text in texts]

    found = functional.sentence_faults([[candidate]], [["A dog. A cat.", "A cat. A dog."]], one_hot)
    assert (found.unsupported_share, found.omitted_share) == pytest.approx((unsupported, omitted))
    assert found.unsupported_per_row == pytest.approx([unsupported])


@pytest.mark.parametrize(("most", "clusters"), [(3, None), (3, [i // 2 for i in range(30)]), (1, None)])
def test_values_are_the_module_s(monkeypatch, most, clusters):
    monkeypatch.setattr(vectors_sentences.SentenceEncoder, "embed", lambda self, texts, options, progress: embed(texts))
    candidates, references = drawn_rows(30, most)
    clusters = list(range(30)) if clusters is None else clusters
    module = manycaps.load("human_parity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few words, and so equal texts
        result = module.compute(
            predictions=candidates, references=references, confidence_level=0.95, clusters=clusters, details=True
        )
        found = functional.sentence_faults(candidates, references, embed, confidence_level=0.95, clusters=clusters)
    names = ["unsupported_share", "omitted_share"]
    assert found[:2] == pytest.approx([result[name] for name in names], nan_ok=True)
    assert math.isnan(found.omitted_share) == (most == 1)
    for end in ("low", "high"):
        assert getattr(found, end) == pytest.approx([result[f"{name}_ci_{end}"] for name in names], nan_ok=True)
    np.testing.assert_allclose(found.unsupported_per_row, result["unsupported_share_per_row"])
    if most > 1:
        p_values = [result["unsupported_p_value"], result["omitted_p_value"]]
        assert found.p_values == pytest.approx(p_values)


VALUE_ERRORS = [
    (
        "references[0]: expected at least two texts, got one (1 such rows in all). Leave the row out.",
        lambda: functional.sentence_faults([["a"]], [["a"]], embed),
    ),
    (
        "references: expected one row for each of the 2 rows of candidates, got 1.",
        lambda: functional.sentence_faults([["a"], ["b"]], [["a", "b"]], embed),
    ),
    (
        "embed: expected vectors of shape (2, d), got (1, 1). Return one per text.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: [[1.0]]),
    ),
    (
        "embed: expected vectors that are not all zeros, got zeros of 'a'.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: np.zeros((2, 3))),
    ),
    (
        "embed[0][0]: expected a finite number, got NaN or infinity.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: [[math.nan], [1.0]]),
    ),
]

test_messages = refusals({ValueError: VALUE_ERRORS})
