"""Groups of systems that do not differ, as letters beside their names: a compact letter display of ranks."""

from collections.abc import Callable, Sequence

import numpy as np

from manycaps.files.result_tables import LETTERS


def group_letters(differ: np.ndarray) -> list[str]:
    """Return the letters of ranked systems: groups are runs of ranks in which no two differ, none within another.

    Two systems with a common letter were not shown to differ. Where there are more groups than letters, they are
    numbered. `differ` is a bool array, shape (n_systems, n_systems), in the order of the ranks.

    >>> group_letters(np.array([[False, False, True], [False, False, False], [True, False, False]]))
    ['a', 'ab', 'b']
    """
    n, runs = len(differ), list[tuple[int, int]]()
    for start in range(n):
        end = start + 1
        while end < n and not differ[start:end, end].any():
            end += 1
        if not runs or end > runs[-1][1]:
            runs.append((start, end))
    marks = [LETTERS[i] if len(runs) <= len(LETTERS) else f"{i + 1}." for i in range(len(runs))]
    return ["".join(mark for mark, (start, end) in zip(marks, runs, strict=True) if start <= i < end) for i in range(n)]


def letters_of_systems(ranked: Sequence[str], differ: Callable[[str, str], bool]) -> dict[str, str]:
    """Return the letters of systems by their names, which are given with the best one first.

    >>> letters_of_systems(["mine", "other", "base"], lambda first, second: second == "base")
    {'mine': 'a', 'other': 'a', 'base': 'b'}
    """
    matrix = np.zeros((len(ranked),) * 2, dtype=bool)
    for j, second in enumerate(ranked):
        for i, first in enumerate(ranked[:j]):
            matrix[i, j] = matrix[j, i] = differ(first, second)
    return dict(zip(ranked, group_letters(matrix), strict=True))
