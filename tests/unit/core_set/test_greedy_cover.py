"""The lazy greedy cover takes what the exhaustive one takes, and covers what can be covered."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.core_set.greedy_cover import greedy_cover

SETS = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=12)


def exhaustive(sets):
    """Count every candidate again at every step; of equal ones the first."""
    covered, chosen, n_new = set(), [], []
    while True:
        gains = [len(own - covered) for own in sets]
        if not max(gains):
            return chosen, n_new
        best = gains.index(max(gains))
        chosen.append(best)
        n_new.append(gains[best])
        covered |= sets[best]


@settings(max_examples=100, deadline=None)
@given(SETS)
def test_the_choice_is_that_of_the_exhaustive_search(sets):
    first = np.append(0, np.cumsum([len(own) for own in sets]))
    rows = np.array([row for own in sets for row in sorted(own)], np.int32)
    assert greedy_cover(first, rows, 10) == exhaustive(sets)


def test_greedy_is_not_the_smallest():
    # The middle set covers four rows at once; the other two would do alone.
    sets = [{0, 1, 2}, {1, 2, 4, 5}, {3, 4, 5}]
    rows = np.array([0, 1, 2, 1, 2, 4, 5, 3, 4, 5])
    cover = greedy_cover(np.array([0, 3, 7, 10]), rows, 6)
    assert cover == ([1, 0, 2], [4, 1, 1]) == exhaustive(sets)
