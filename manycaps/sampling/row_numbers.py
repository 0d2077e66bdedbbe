"""Random numbers of a row's samples: they follow from the seed of the run, the id of the row and the sample alone."""

import hashlib

import numpy as np

from manycaps.kit.arrays import Floats


def random_numbers(seed: int, name: str, n: int, n_steps: int) -> Floats:
    """Draw the random numbers of a row, shape (n, n_steps), from 0 to below 1; n and n_steps do not change a sample's.

    >>> bool((random_numbers(0, "a", 2, 5)[:, :3] == random_numbers(0, "a", 4, 3)[:2]).all())
    True
    """
    return np.stack([_generator(seed, name, sample).random(n_steps) for sample in range(n)])


def request_seed(seed: int, name: str, sample: int) -> int:
    """Return the seed that a server is given: below 2^31, another one for each request of a row."""
    return int(_generator(seed, name, sample).integers(2**31))


def _generator(seed: int, name: str, sample: int) -> np.random.Generator:
    key = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "big")
    return np.random.default_rng([seed, key, sample])
