"""Systems beside people: which gaps of two systems are equal, and the sentences about two systems."""

import numpy as np
import pytest

from manycaps.comparison.parity import ROUNDING
from manycaps.comparison.parity_pairs import ParityPair, ShareTest, _gap_differences
from manycaps.comparison.parity_text import pair_line


@pytest.mark.parametrize(
    ("distance", "rounding"), [("bert", 1e-6), ("meteor", 1e-9), ("meteor15", 1e-9), ("cider", 1e-9)]
)
def test_gaps_are_equal_up_to_the_rounding_of_their_distance(distance, rounding):
    """float32 of a network is coarser than float64 of words."""
    gaps = np.array([0.9, 1.1]) * rounding
    first = {"fidelity_gap": gaps, "diversity_gap": np.zeros(2)}
    second = {"fidelity_gap": np.zeros(2), "diversity_gap": gaps}
    differences = _gap_differences(first, second, ROUNDING[distance])
    assert np.count_nonzero(differences, axis=0).tolist() == [1, 1]
    assert np.abs(differences).max() == pytest.approx(1.1 * rounding)


def share(key, first, second, better=None, **details):
    return ShareTest(key, first, second, 0.001, 0.001, better, (False, False), **details)


UNLIKE = share("unlike_people_share", 0.05, 0.2, "a")
ORDINARY = share("ordinary_share", 0.4, 0.2)
WRONG_ARE_NOT_ORDINARY = ORDINARY._replace(better_by_wrong_captions="b")
NEAR_DUPLICATES = share("near_duplicate_share", 0.05, 0.05)

NEARER = "a is nearer to people than b (p = 0.01) in captions unlike people's (5 % and 20 %)"
NO_MERIT = (
    "; b is nearer in ordinary captions (20 % and 40 %), which does not count because more of its captions are unlike "
    "people's"
)
REST = "; in the rest, neither is shown to be nearer"


@pytest.mark.parametrize(
    ("shares", "line"),
    [
        ([UNLIKE], f"{NEARER}."),
        ([UNLIKE, ORDINARY], f"{NEARER}{REST}."),
        ([UNLIKE, WRONG_ARE_NOT_ORDINARY], f"{NEARER}{NO_MERIT}."),
        ([UNLIKE, WRONG_ARE_NOT_ORDINARY, NEAR_DUPLICATES], f"{NEARER}{NO_MERIT}{REST}."),
    ],
)
def test_a_share_that_differs_is_named_or_said_to_be_no_merit(shares, line):
    gaps = ((0.1, 0.0), (0.2, 0.0))
    pair = ParityPair("a", "b", 0.01, 0.01, shares, 0.1, 5, [], gaps, (False, False), None)
    assert pair_line(pair) == line
