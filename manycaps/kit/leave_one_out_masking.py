"""Captions with words replaced by unknown words that occur nowhere else: content words, or rare ones.

Chan, Myers et al. (2022), https://arxiv.org/abs/2205.06253: nouns, proper nouns and verbs (supplement B.2), and the
tail of the vocabulary (section 4.1).
"""

import collections
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .base_messages import shown_value
from .text_spacy import as_tagger, load_pipeline, tagged_documents

# Parts of speech that carry the meaning (supplement B.2), in the tag set of Universal Dependencies.
CONTENT_TAGS = frozenset({"NOUN", "PROPN", "VERB"})

# Begin and end of a word in a caption.
Span = tuple[int, int]


def masked_captions(rows: Sequence[Sequence[str]], pos: object) -> list[list[str]]:
    """Replace every noun, proper noun and verb by a word that occurs nowhere else.

    A word is replaced where it stands, so that the captions are tokenized afterwards as all others are. Equal captions
    of a row are equal no longer: no unknown equals another one. `pos` is the name of an installed spaCy pipeline, a
    pipeline, or a function from a caption to its (word, tag) pairs, the words in order, spelled as in the caption.

    >>> tags = {"a": "DET", "dog": "NOUN"}
    >>> masked_captions([["A dog!"]], lambda caption: [("A", "DET"), ("dog", "NOUN"), ("!", "PUNCT")])
    [['A  unknown0x !']]
    """
    captions = [caption for row in rows for caption in row]
    numbers = itertools.count()
    word = _unused_word(caption.lower() for caption in captions)
    masked = iter(
        [_replaced(c, spans, word, numbers) for c, spans in zip(captions, _content_spans(captions, pos), strict=True)]
    )
    return [[next(masked) for _ in row] for row in rows]


def without_tail(rows: Sequence[Sequence[Sequence[str]]], head_share: float) -> list[list[list[str]]]:
    """Replace every token outside the vocabulary head by one that occurs nowhere else.

    The head are the most frequent types that make up `head_share`, above 0, at most 1, of all tokens; of equally
    frequent ones the first in the alphabet.

    >>> without_tail([[["a", "dog"], ["a", "cat"]]], 0.5)
    [[['a', 'unknown0x'], ['a', 'unknown1x']]]
    """
    counts = collections.Counter(token for row in rows for tokens in row for token in tokens)
    head, n_tokens, needed = set(), 0, head_share * counts.total()
    for token, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if n_tokens >= needed:
            break
        head.add(token)
        n_tokens += count
    word, numbers = _unused_word(counts), itertools.count()
    return [[[t if t in head else f"{word}{next(numbers)}x" for t in tokens] for tokens in row] for row in rows]


def _content_spans(captions: Sequence[str], pos: object) -> Iterator[list[Span]]:
    """Spans of the words to replace in each caption."""
    pipeline: Any = load_pipeline(pos) if isinstance(pos, str) else pos
    if hasattr(pipeline, "pipe"):
        return (
            [(token.idx, token.idx + len(token.text)) for token in document if token.pos_ in CONTENT_TAGS]
            for document in tagged_documents(pipeline, captions)
        )
    tagger = as_tagger(pipeline)
    return (_found_spans(caption, tags) for caption, tags in zip(captions, tagger(captions), strict=True))


def _found_spans(caption: str, tags: Sequence[tuple[str, str]]) -> list[Span]:
    """Find the words of a user's function one behind the other."""
    spans, end = [], 0
    for word, tag in tags:
        begin = caption.find(word, end)
        if begin < 0:
            raise ValueError(
                f"pos: expected the words of the caption {caption[:40]!r} in their order, got {shown_value(word)}. "
                "Return them as they are spelled there."
            )
        end = begin + len(word)
        if tag in CONTENT_TAGS and word:
            spans.append((begin, end))
    return spans


def _replaced(caption: str, spans: Sequence[Span], word: str, numbers: Iterator[int]) -> str:
    parts, end = [], 0
    for begin, after in spans:
        parts += [caption[end:begin], f" {word}{next(numbers)}x "]
        end = after
    return "".join([*parts, caption[end:]])


def _unused_word(texts: Iterable[str]) -> str:
    word, everything = "unknown", "\n".join(texts)
    while word in everything:
        word += "q"
    return word
