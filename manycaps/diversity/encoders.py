"""Sentence encoders of a measurement, each loaded once and when it is first needed."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tqdm

from manycaps.kit.base import warn_of_unread


class LoadedEncoder(NamedTuple):
    """What embeds captions, and what counts those that it does not read as a whole, and warns of them."""

    embed: Callable[[list[str]], np.ndarray]
    count_unread: Callable[[list[str]], dict[str, int]]


@functools.cache
def load_encoder(**options: str) -> LoadedEncoder:
    """Return a sentence-transformers model, loaded when it is first needed."""
    # torch is loaded only where distances are asked for.
    from manycaps.kit.embeddings import ENCODER_DEFAULTS, SentenceEncoder

    given = {**ENCODER_DEFAULTS, **options}
    encoder, progress = SentenceEncoder(), functools.partial(tqdm.tqdm, leave=False)

    def count_unread(captions: list[str]) -> dict[str, int]:
        counts = encoder.count_unread(captions, given)
        warn_of_unread(counts, given)
        return counts

    return LoadedEncoder(lambda captions: encoder.embed(captions, given, progress), count_unread)
