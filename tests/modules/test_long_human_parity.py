"""Human parity of sentences so long that no threshold of people's holds: what is left is measured, by every p-value."""

import math

import numpy as np
import pytest

import manycaps

WORDS = "dog cat tree house river blue red runs sits near under small large man woman child park street".split()


def sentence(rng, n_words):
    return f"{' '.join(rng.choice(WORDS, n_words)).capitalize()}."


def rows_of(n_sentences, seed=0):
    """One candidate of two sentences of 40 words, and four references of sentences of six."""
    rng = np.random.default_rng(seed)
    predictions = [[f"{sentence(rng, 40)} {sentence(rng, 40)}"] for _ in range(30)]
    references = [[" ".join(sentence(rng, 6) for _ in range(n_sentences)) for _ in range(4)] for _ in range(30)]
    return {"predictions": predictions, "references": references}


@pytest.mark.parametrize("p_value", ["chi-squared", "permutation", "none"])
@pytest.mark.parametrize(("n_sentences", "has_omissions"), [(1, False), (3, True)])
def test_sentences_that_are_too_long_leave_omissions_and_lengths(n_sentences, has_omissions, p_value):
    human_parity = manycaps.load("human_parity", distance="meteor")
    with pytest.warns(UserWarning, match="times as long as the longest of the references"):
        result = human_parity.compute(**rows_of(n_sentences), p_value=p_value)
    assert all(math.isnan(result[key]) for key in ("faults", "unsupported_share", "odd_wording_share"))
    assert math.isnan(result["omitted_share"]) is not has_omissions
    assert result["words_per_text"] == 80
    assert p_value == "none" or result["human_parity_p_value"] <= 0.05
