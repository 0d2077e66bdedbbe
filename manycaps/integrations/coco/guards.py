"""Warnings for input that gives the COCO caption code a number that says nothing."""

import math
import re
import sys
import warnings
from collections.abc import Sequence

from manycaps.kit.arrays import Ints
from manycaps.kit.errors import quote_value
from manycaps.kit.ngrams import LENGTH_SIGMA, are_equal_documents
from manycaps.kit.rows import DecoderSigns
from manycaps.kit.words_ptb import ptb_tokens

# Scripts that put no blank between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)

# Share of captions in such a script, or that look untokenised, above which it is no odd caption but the data.
LARGEST_SHARE = 0.01

# Candidates are too long where CIDEr-D's penalty leaves less than this of a score, at the mean lengths.
LEAST_PENALTY = 0.01


class CaptionWarning(UserWarning):
    """The input gives numbers that say nothing; the message says why, and what to do."""


def warn(*messages: str | None) -> None:
    """Warn at the line that called this package, of what is not None."""
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("manycaps."):
        frame, level = frame.f_back, level + 1
    for message in messages:
        if message:
            warnings.warn(message, CaptionWarning, stacklevel=level)


def without_spaces(captions: Sequence[str]) -> str | None:
    """Warn of captions in scripts without spaces between words, for the PTB tokenizer."""
    unspaced = [text for text in captions if not text.isascii() and 2 * len(WITHOUT_SPACES.findall(text)) > len(text)]
    if len(unspaced) <= LARGEST_SHARE * len(captions):
        return None
    return (
        f"captions: expected words with spaces between them, got {len(unspaced)} of {len(captions)} in a script "
        f"without ({quote_value(unspaced[0])}), which the PTB tokenizer takes for single words. Split them into words "
        "with a tokenizer of their language, and give the scorers words joined by spaces."
    )


def tokenisation_warning(captions: Sequence[str]) -> str | None:
    """Warn of captions with capitals or final periods, which tokenised ones have not."""
    together = "\n".join((*captions, ""))
    if together == together.lower() and not any(f"{mark}\n" in together for mark in ".!?"):
        return None  # the usual case, at once
    raw = [text for text in captions if text != text.lower() or _ends_sentence(text)]
    if len(raw) <= LARGEST_SHARE * len(captions):
        return None
    return (
        f"captions: expected tokens of PTBTokenizer, got {len(raw)} of {len(captions)} captions with capitals or "
        f"a final period ({quote_value(raw[0])}): words that differ in these count as different. Call "
        "PTBTokenizer().tokenize on candidates and references first."
    )


def _ends_sentence(text: str) -> bool:
    """Whether a text ends with a mark that the tokenizer removes; abbreviations such as "p.m." keep theirs."""
    return text.endswith((".", "!", "?")) and ptb_tokens(text.split(" ")[-1])[-1:] != text.split(" ")[-1:]


def empty_candidates(candidates: Sequence[str]) -> str | None:
    """Warn of candidates without a word, which score 0."""
    n_empty = sum(not text or text.isspace() for text in candidates)
    if not n_empty:
        return None
    return (
        f"res: expected a word in every candidate, got {n_empty} of {len(candidates)} without: they score 0 and "
        "count in the means. Look for outputs that were dropped or cleaned away, or leave these images out."
    )


def decoder_signs(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> str | None:
    """Warn of signs of a decoder in most candidates and no reference; texts are tokens joined by blanks, or none."""
    counted = DecoderSigns()
    counted.add(candidates, are_tokens=True)
    for own in references if counted.n_signed else ():
        counted.add((), own, are_tokens=True)
    return counted.words("res")


def too_few_documents(n_images: int) -> str | None:
    """Warn of fewer than 2 images, in which every n-gram has the weight 0."""
    if n_images > 1:
        return None
    return (
        f"res: expected at least 2 images, in whose references document frequencies are counted, got {n_images}: "
        "every weight is log(1 / 1) = 0, and so is CIDEr. Score all images in one call, or give CiderD(df=...) a "
        "table of document frequencies."
    )


def same_references(references: Sequence[Sequence[str]]) -> str | None:
    """Warn of images with the same references, in which every n-gram has the weight 0."""
    if not are_equal_documents([text.split() for text in own] for own in references):
        return None
    return (
        f"res: expected images with different references, in which document frequencies are counted, got "
        f"{len(references)} with the same: every weight is log(1) = 0, and so is CIDEr, whatever the captions. Score "
        "all images in one call, or give CiderD(df=...) a table of document frequencies."
    )


def too_long(candidates: Ints, references: Ints, sigma: float = LENGTH_SIGMA) -> str | None:
    """Warn of candidates so much longer than references that the length penalty takes all of CIDEr-D.

    Arguments are numbers of words, and the standard deviation of the penalty.
    """
    ours, theirs = float(candidates.mean()), float(references.mean())
    penalty = math.exp(-((ours - theirs) ** 2) / (2 * sigma**2))
    if ours <= 2 * theirs or penalty >= LEAST_PENALTY:
        return None
    return (
        f"res: expected candidates about as long as references, got {ours:.1f} words on average beside "
        f"{theirs:.1f}: the length penalty of CIDEr-D leaves {penalty:.2g} of a score. Ask the model for captions "
        "like the references, such as one short sentence, or report another metric."
    )
