"""Rows divided among splits: each stratum in the same shares, or whole strata in order."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

# Name of the split that gets the remaining rows.
REST = "train"


def shared_out(strata: Sequence[Any], ids: Sequence[Hashable], shares: Mapping[str, float], seed: int) -> list[str]:
    """Give every row a split, each stratum in the stated shares.

    The rows are lined up stratum by stratum, those of a stratum at random, and each row goes to the split that is
    furthest behind its share of the rows so far. So a split differs from its share by less than one row, in all rows
    and at every place of the line, and by less than two in a stratum.

    Args:
        strata: n_rows values that can be compared.
        ids: n_rows names; which row of a stratum goes where depends on the seed and these alone.
        shares: of the splits, at most two beside `REST`, which gets the others; each above 0, below 1 together.
        seed: whole number, at least 0.

    Returns:
        n_rows names of splits.

    >>> splits = shared_out(["a", "b"] * 5, range(10), {"test": 0.2}, seed=0)
    >>> sorted(zip(splits, ["a", "b"] * 5))[:3]
    [('test', 'a'), ('test', 'b'), ('train', 'a')]
    """
    names = [*shares, REST]
    wanted = np.array([*shares.values(), 1 - sum(shares.values())])
    given, chosen = np.zeros(len(names)), [REST] * len(ids)
    order = sorted(range(len(ids)), key=lambda i: (strata[i], random_key(ids[i], seed)))
    for n_before, i in enumerate(order):
        split = int(np.argmax(wanted * (n_before + 1) - given))
        given[split] += 1
        chosen[i] = names[split]
    return chosen


def held_out(strata: Sequence[Any], ids: Sequence[Hashable], shares: Mapping[str, float], seed: int) -> list[str]:
    """Give every row a split so that the last strata are held out: the first split gets the last rows, and so on.

    Args:
        strata: n_rows values that can be compared; the last ones are held out.
        ids: as for `shared_out`, as are the next two.
        shares: of the splits.
        seed: of the rows of the stratum in which a split begins.

    Returns:
        n_rows names of splits; each differs from its share by at most half a row.

    >>> held_out([1, 5, 3, 4, 2], range(5), {"test": 0.4}, seed=0)
    ['train', 'test', 'train', 'test', 'train']
    """
    order = sorted(range(len(ids)), key=lambda i: (strata[i], random_key(ids[i], seed)))
    chosen, total, end = [REST] * len(ids), 0.0, len(ids)
    for name, share in shares.items():
        total += share
        begin = len(ids) - round(total * len(ids))
        for i in order[begin:end]:
            chosen[i] = name
        end = begin
    return chosen


def random_key(name: Hashable, seed: int) -> bytes:
    """Return a number that sorts names at random, the same for the same seed."""
    return hashlib.blake2b(f"{seed}:{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
