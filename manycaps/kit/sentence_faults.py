"""Unsupported sentences and omissions as a plain function of texts and an embedding function."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, as_finite, plain_arguments
from .errors import InputError, check_n_rows, check_places
from .options import check_number
from .parity_faults import FAULTS
from .parity_sentences import distances_of_vectors, row_spans, sentence_support
from .parity_texts import corpus_faults
from .row_images import clusters_of_images
from .rows import as_caption_rows
from .sets_tests import check_clusters
from .words_sentences import check_language


class SentenceFaults(NamedTuple):
    """Shares of what candidates say that nobody said, and of what they leave out; omissions may be NaN.

    Floats, 0 to 1; people have 0.05 of each.
    """

    # Sentences farther from what people say than 19 of 20 of people's; and texts that leave out more of it, NaN where
    # most of people's texts are one sentence: there it is the former.
    unsupported_share: float
    omitted_share: float
    # Ends of the intervals in the order of the shares, NaN without a confidence level.
    low: tuple[float, float]
    high: tuple[float, float]
    # One-sided p-values, for more than people's share.
    p_values: tuple[float, float]
    # float64, shape (n_rows,): the shares of every row.
    unsupported_per_row: Floats
    omitted_per_row: Floats


@plain_arguments
def sentence_faults(
    candidates: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    embed: Callable[[list[str]], npt.ArrayLike],
    language: str = "en",
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> SentenceFaults:
    """Say which share of the candidates' sentences nobody supports, and which share of the candidates leaves much out.

    w(u, t) = min over spans s of t of 1 - cos(u, s) is the distance of sentence u from text t, whose spans are its
    sentences, its pairs of neighbouring sentences, and the whole. A sentence's value is the mean of w over the
    references, and a text's omission the mean over references of the mean of w(u, text) over their sentences u. Beyond
    the 95% quantile of people's values, each reference beside the others of its row, a value counts as a fault. In the
    example people's are all 0: a candidate's first sentence, at 0 as well, counts as far as gives people 5%, the second
    one counts, and both references say something that the candidate leaves out: (0.05 + 1) / 2, and 1.

    Args:
        candidates: n_rows lists of texts.
        references: the same, two texts or more per row.
        embed: from n distinct spans to floating-point vectors, shape (n, d), none all zeros.
        language: ISO code of the language whose rules divide texts into sentences.
        confidence_level: between 0 and 1, for intervals; None: none.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: rows of one image do.

    Returns:
        Both shares, their intervals and p-values, and those of every row.

    Raises:
        TypeError, ValueError: what is no text, fewer than two references in a row, vectors of another shape, that are
            not finite or all zeros, another level, language, or labels that are missing.

    >>> words = ("dog", "cat", "car")
    >>> found = sentence_faults(
    ...     [["A dog. A car."]],
    ...     [["A dog. A cat.", "A cat. A dog."]],
    ...     lambda texts: [[float(word in text.lower()) for word in words] for text in texts],
    ... )
    >>> round(found.unsupported_share, 3), found.omitted_share
    (0.525, 1.0)
    """
    people = as_caption_rows(references, "references")
    mine = as_caption_rows(candidates, "candidates")
    check_n_rows("references", len(people), "candidates", len(mine))
    short = [i for i, row in enumerate(people) if len(row) < 2]
    check_places(short, "references", "at least two texts", "one", "Leave the row out.")
    check_language("language", language)
    if confidence_level is not None:
        check_number("confidence_level", confidence_level, 0, 1)
    if clusters is not None:
        clusters = check_clusters(list(clusters), len(people))
    clusters = clusters_of_images(clusters, people, mine)
    rows = row_spans(mine, people, language)

    def vectors_of(texts: list[str]) -> np.ndarray:
        vectors = as_finite(embed(texts), "embed")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError("embed", f"vectors of shape ({len(texts)}, d)", vectors.shape, "Return one per text.")
        is_zero = ~vectors.any(axis=1)
        if is_zero.any():
            text = texts[int(is_zero.argmax())]
            raise InputError("embed", "vectors that are not all zeros", f"zeros of {text!r:.80}", "Leave it out.")
        return vectors

    support = sentence_support(rows, distances_of_vectors(rows, vectors_of), lambda steps, **_: steps)
    options = {"clusters": clusters, "confidence_level": confidence_level, "seed": 0}
    sizes = [(len(own), len(others)) for own, others in zip(mine, people, strict=True)]
    kinds = corpus_faults(None, support, None, sizes, options).kinds
    unsupported, omitted = (kinds.get(name) for name in list(FAULTS)[:2])
    if unsupported is None:
        raise RuntimeError("support has unsupported sentences")
    lacking = np.full(len(people), math.nan)
    return SentenceFaults(
        unsupported_share=unsupported.share.value,
        omitted_share=math.nan if omitted is None else omitted.share.value,
        low=(unsupported.share.low, math.nan if omitted is None else omitted.share.low),
        high=(unsupported.share.high, math.nan if omitted is None else omitted.share.high),
        p_values=(unsupported.p_value, math.nan if omitted is None else omitted.p_value),
        unsupported_per_row=unsupported.share.rows,
        omitted_per_row=lacking if omitted is None else omitted.share.rows,
    )
