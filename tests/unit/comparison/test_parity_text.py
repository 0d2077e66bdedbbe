"""The sentences of a comparison about two systems."""

import pytest

from manycaps.comparison.parity_pairs import ParityPair, ShareTest
from manycaps.comparison.parity_text import pair_line


def share(key, first, second, better=None, **details):
    return ShareTest(key, first, second, 0.001, 0.001, better, (False, False), **details)


UNLIKE = share("unlike_people_share", 0.05, 0.2, "a")
ORDINARY = share("ordinary_share", 0.4, 0.2)
WRONG_ARE_NOT_ORDINARY = ORDINARY._replace(better_by_wrong_captions="b")
NEAR_DUPLICATES = share("near_duplicate_share", 0.05, 0.05)

NEARER = "a is nearer to people than b (p = 0.01) in captions unlike people's (5 % and 20 %)"
NO_MERIT = "; b is nearer in ordinary captions (20 % and 40 %), which is no merit beside more captions unlike people's"
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
