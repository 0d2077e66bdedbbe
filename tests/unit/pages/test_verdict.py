"""The sentence that a result allows: each case by hand."""

import pytest

from manycaps.pages.verdict import SIGNIFICANCE, UNUSUALLY_NEAR, verdict

INTERVAL = {"trm_excess_ci_low": -0.0104, "trm_excess_ci_high": 0.25}


def sentence(p_value, smallest=0.0001, system="the candidates", **more):
    tested = {"trm_corpus_p_value": p_value, "trm_smallest_corpus_p": smallest, "trm_excess": 0.1234}
    return verdict(tested | more, "trm", "TRM", system)


@pytest.mark.parametrize(
    ("p_value", "said"),
    [
        *[(0.0001, "differ from"), (SIGNIFICANCE, "differ from")],
        *[(0.0501, "cannot be distinguished from"), (0.98, "cannot be distinguished from")],
    ],
)
def test_the_border_is_the_corpus_p_value(p_value, said):
    assert sentence(p_value).startswith(f"TRM: the candidates {said} ")


def test_the_effect_and_its_interval_stand_beside():
    numbers = "(corpus p 0.46, excess 0.123, interval -0.011 to 0.250)"
    assert (
        sentence(0.46, **INTERVAL) == f"TRM: the candidates cannot be distinguished from the human captions {numbers}."
    )
    assert sentence(0.46).endswith("(corpus p 0.46, excess 0.123, no interval).")


@pytest.mark.parametrize("p_value", [UNUSUALLY_NEAR, 1.0])
def test_sets_nearer_than_chance_are_not_called_alike(p_value):
    """Copies of the references are no sample of people."""
    expected = "TRM: the candidates lie nearer to the human captions than random splits of both do (corpus p"
    assert sentence(p_value, trm_excess=-0.2).startswith(expected)


def test_too_few_captions_are_no_equality():
    expected = (
        "TRM: not enough captions or random splits to tell 'b' from the human captions: p is at least about 0.33."
    )
    assert sentence(0.4, smallest=1 / 3, system="'b'") == expected
    assert sentence(SIGNIFICANCE, smallest=SIGNIFICANCE).startswith("TRM: the candidates differ from")
