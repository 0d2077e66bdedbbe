"""Sentence encoders of a measurement, each loaded once and when it is first needed."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tqdm

from manycaps.kit.rows import warn_of_unread


class LoadedEncoder(NamedTuple):
    """What embeds captions."""

    embed: Callable[[list[str]], np.ndarray]
    # Counts captions that it does not read as a whole, and warns of them, and word pieces that it does not know.
    count_unread: Callable[[list[str]], dict[str, int]]
    # Raises for a caption of which it knows nothing; takes columns of rows, and what names a caption by its place.
    check_known: Callable[[Mapping[str, Sequence[Sequence[str]]], Callable[..., str]], None] = lambda _rows, _place: (
        None
    )


@functools.cache
def load_encoder(**options: str) -> LoadedEncoder:
    """Return a sentence-transformers model, loaded when it is first needed."""
    # torch is loaded only where distances are asked for.
    from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder

    given = {**ENCODER_DEFAULTS, **options}
    encoder, progress = SentenceEncoder(), functools.partial(tqdm.tqdm, leave=False)

    def count_unread(captions: list[str]) -> dict[str, int]:
        counts = encoder.count_unread(captions, given)
        # How many pieces are unknown is known when all captions are read.
        warn_of_unread({name: number for name, number in counts.items() if name == "n_truncated"}, given)
        return counts

    def check_known(columns: Mapping[str, Sequence[Sequence[str]]], place: Callable[..., str]) -> None:
        encoder.check_known(columns, given, place)

    return LoadedEncoder(lambda captions: encoder.embed(captions, given, progress), count_unread, check_known)
