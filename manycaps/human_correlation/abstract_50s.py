"""Abstract-50S (Vedantam et al., 2015): pairs of captions of clip-art, and which of them people prefer.

Read from `consensus_abstract.mat` of the release, whose triplets hold a reference sentence, both captions, and the
choice of one person: above 0 for the first caption, below 0 for the second.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np

from manycaps.kit.errors import InputError, quote_path, reason_of

FILE_NAME = "consensus_abstract.mat"

# This module, as another process is told to run it.
MODULE_NAME = "manycaps.human_correlation.abstract_50s"

# Pairs of which both captions are right come first; of the rest one is of another image (Sarto et al., 2023,
# section 4.3).
N_BOTH_RIGHT = 200


def abstract_50s_rows(path: pathlib.Path) -> list[dict[str, Any]]:
    """Return the pairs of captions in the order of the file, which names no image.

    Each has `better` and `worse` (by the majority), `refs` (the sentences that the persons were shown), `category`
    ("HC" both right, "HI" one of another image) and `is_tie` (as many for the one as for the other).
    """
    checked = _triplets(path)
    pairs: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for reference, first, second, choice in checked:
        pairs.setdefault((first, second), []).append((reference, choice))
    triples = []
    for i, ((first, second), shown) in enumerate(pairs.items()):
        votes = sum(np.sign(choice) for _, choice in shown)
        better, worse = (first, second) if votes >= 0 else (second, first)
        triples.append(
            {
                "better": better,
                "worse": worse,
                "refs": [reference for reference, _ in shown],
                "category": "HC" if i < N_BOTH_RIGHT else "HI",
                "is_tie": bool(votes == 0),
            }
        )
    return triples


def _triplets(path: pathlib.Path) -> list[tuple[str, str, str, float]]:
    """Read the file in another process: a damaged one can crash scipy's compiled code."""
    package = str(pathlib.Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", MODULE_NAME, str(path)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    rows = json.loads(done.stdout) if done.returncode == 0 else f"a crash of scipy ({done.returncode})"
    if isinstance(rows, str):
        raise InputError(
            quote_path(path), "triplets of sentences and a choice", rows, f"Take {FILE_NAME} as it was released."
        )
    return [(reference, first, second, choice) for reference, first, second, choice in rows]


def _read(path: str) -> list[tuple[str, str, str, float]] | str:
    """Return the triplets, or the reason why there are none."""
    import scipy.io

    try:
        triplets = scipy.io.loadmat(path, squeeze_me=True, struct_as_record=True)["triplets"]
        entries = [tuple(_plain(part) for part in row) for row in np.atleast_1d(triplets)]
        checked = [(str(a), str(b), str(c), float(winner)) for a, b, c, winner in entries]
        if not all(math.isfinite(choice) for *_, choice in checked):
            raise ValueError("a choice that is not finite")
        return checked
    except Exception as error:  # scipy, numpy and a missing name each raise their own
        return f"{type(error).__name__} ({reason_of(error)})"


def _plain(value: Any) -> Any:
    """Content of the arrays of one element and structures of one field in which MATLAB wraps text."""
    while isinstance(value, np.ndarray | np.void):
        if isinstance(value, np.void):
            value = value[0]
        elif value.size == 1:
            value = value.reshape(-1)[0]
        else:
            raise ValueError(f"{value.size} values in place of one")
    return value


if __name__ == "__main__":
    print(json.dumps(_read(sys.argv[1])))
