"""Novelty of captions beside training captions: what of a caption does not occur in any of them.

Token sequences are compared by 64-bit hashes. What is looked for are the n-grams of the captions at hand, so memory
does not grow with the number of training captions, which are read once, in chunks. An n-gram can only occur where both
(n - 1)-grams in it do: longer runs cost little. Any two different sequences, one of 10^8 and one of 5 * 10^8, have the
same hash with a probability of 0.3%. `tests/oracles` has a loop over sets of tuples.
"""

import hashlib
import itertools
import math
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Ints, TokenList, TokenRows, cut_runs, exact_mean, plain_arguments
from .errors import InputError, InputOSError, InputTypeError, check_n_rows, quote_path, quote_value
from .files import is_regular_file, no_such_path, open_text_bytes
from .options import check_flag
from .row_images import Text, image_numbers, labels_of_images
from .rows import as_token_rows, check_caption, check_no_table, check_no_written_list, warn_of_decoder_signs
from .words_tokenizers import Tokenizer, tokenize_rows

Hashes = npt.NDArray[np.uint64]

# Factor of a token's place in the hash of a sequence: odd, with random bits.
FACTOR = np.uint64(0x9E3779B97F4A7C15)

# N-grams whose shares are reported, and longest run of words that is looked for.
ORDERS, LONGEST_RUN = (1, 2, 3, 4), 64

# Training captions that are read at once.
CHUNK_CAPTIONS = 50_000

# Row of training captions that belong to no row.
NO_ROW = -1


class NoveltyCounts(NamedTuple):
    """What of every caption occurs in no training caption."""

    # bool, shape (n_captions,): whether no training caption has the same tokens.
    is_novel: npt.NDArray[np.bool_]
    # int64, shape (n_captions, 4): n-grams of 1 to 4 tokens that occur in no training caption, and all of them.
    n_novel: Ints
    n_ngrams: Ints
    # int64, shape (n_captions,): tokens of the longest sequence that a training caption also has, up to `LONGEST_RUN`.
    longest_runs: Ints


def caption_novelty(
    captions: Sequence[TokenList], rows: Ints, training: Iterable[tuple[Sequence[TokenList], Ints | int]]
) -> NoveltyCounts:
    """Look captions up in training captions; a caption's own row does not count.

    Args:
        captions: token lists.
        rows: int64, shape (n_captions,): the row of each, at least 0.
        training: chunks of token lists, each with the rows that they belong to, or `NO_ROW` for all of them.

    >>> found = caption_novelty([["a", "red", "dog"]], np.array([0]), [([["a", "dog"], ["the", "red", "dog"]], NO_ROW)])
    >>> found.n_novel.tolist(), found.longest_runs.tolist()
    ([[0, 1, 1, 0]], [2])
    """
    sought = _Sequences(captions)
    n_orders = min(LONGEST_RUN, int(sought.lengths.max(initial=0)))
    wholes = _Occurrences(sought.wholes())
    orders = [_Occurrences(hashes) for _, hashes in itertools.islice(sought.ngrams(), n_orders)]
    for texts, text_rows in training:
        chunk = _Sequences(texts)
        labels = np.broadcast_to(np.asarray(text_rows, dtype=np.int64), len(texts))
        wholes.add(chunk.wholes(), labels)
        ngrams = chunk.ngrams()
        places: Ints | None = None
        for occurrences in orders:
            starts, hashes = next(ngrams) if places is None else ngrams.send(places)
            is_sought = occurrences.add(hashes, labels[chunk.caption[starts]])
            places = starts[is_sought]
            if not len(places):
                break
    n_novel, n_ngrams = np.zeros((2, len(captions), len(ORDERS)), np.int64)
    longest = np.zeros(len(captions), np.int64)
    for order, (occurrences, (starts, hashes)) in enumerate(zip(orders, sought.ngrams(), strict=False), start=1):
        caption_numbers = sought.caption[starts]
        occurs = occurrences.elsewhere(hashes, rows[caption_numbers])
        longest[caption_numbers[occurs]] = order
        if order in ORDERS:
            n_ngrams[:, order - 1] = np.bincount(caption_numbers, minlength=len(captions))
            n_novel[:, order - 1] = np.bincount(caption_numbers[~occurs], minlength=len(captions))
    return NoveltyCounts(~wholes.elsewhere(sought.wholes(), rows), n_novel, n_ngrams, longest)


@plain_arguments
def novelty(texts: TokenRows, training: TokenRows, *, leave_out_row: bool = False) -> dict[str, float]:
    """Say what of texts does not occur in training captions: whole texts, n-grams, and the longest copied run.

    The share of novel captions follows Dai et al. (2017, https://arxiv.org/abs/1703.06029).

    Args:
        texts: n_rows lists of token lists, of a system or of people.
        training: lists of token lists: the captions of every training image.
        leave_out_row: whether the training captions are of the same rows, and a text's own row does not count.

    Returns:
        "novel_share", 0 to 1, of texts that equal no training caption; "novel_1gram_share" to "novel_4gram_share", 0
        to 1, of n-grams that occur in none, NaN without an n-gram; and "longest_copied_run", 0 to 64, tokens of the
        longest run that one training caption also has, mean over texts.

    Raises:
        TypeError: a text is not a list of tokens.
        ValueError: a row without a text, training captions without a token, or other numbers of rows or a single
            image with `leave_out_row`.

    >>> list(novelty([[["a", "red", "dog"]]], [[["a", "dog"], ["the", "red", "dog"]]]).values())
    [1.0, 0.0, 0.5, 1.0, nan, 2.0]
    """
    both = as_token_rows(texts, "texts"), as_token_rows(training, "training")
    check_flag("leave_out_row", leave_out_row)
    warn_of_decoder_signs(*both, "texts")
    if leave_out_row:
        check_n_rows("training", len(both[1]), "texts", len(both[0]))
    flat = [list(itertools.chain(*side)) for side in both]
    check_some_training(any(flat[1]), f"none in {len(flat[1]):,} captions")
    numbers = [rows_of_images(both[1])] * 2 if leave_out_row else [np.arange(len(side)) for side in both]
    rows = [np.repeat(own, [len(row) for row in side]) for own, side in zip(numbers, both, strict=True)]
    counts = caption_novelty(flat[0], rows[0], [(flat[1], rows[1] if leave_out_row else NO_ROW)])
    return novelty_values(counts, np.ones(len(flat[0]), dtype=bool))


class _Sequences:
    """Captions as the hashes of their tokens, in one line."""

    def __init__(self, captions: Sequence[TokenList]) -> None:
        self.lengths: Ints = np.array([len(tokens) for tokens in captions], dtype=np.int64)
        self.caption: Ints = np.repeat(np.arange(len(captions)), self.lengths)
        n_tokens = len(self.caption)
        tokens = itertools.chain.from_iterable(captions)
        self._tokens: Hashes = np.fromiter(map(_TOKEN_HASHES.__getitem__, tokens), np.uint64, count=n_tokens)
        # Tokens from each place to the end of its caption.
        self._left: Ints = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(n_tokens)

    def wholes(self) -> Hashes:
        """Return hashes of whole captions: uint64, shape (n_captions,)."""
        powers = np.cumprod(np.full(int(self.lengths.max(initial=0)) + 1, FACTOR), dtype=np.uint64)
        sums = np.zeros(len(self.lengths), np.uint64)
        np.add.at(sums, self.caption, self._tokens * powers[self._left])
        return sums + self.lengths.astype(np.uint64)

    def ngrams(self) -> Generator[tuple[Ints, Hashes], Ints | None, None]:
        """Yield for n = 1, 2, ... where the n-grams begin, and their hashes; an n-gram lies within a caption.

        Places may be sent back, ascending: then only n-grams are yielded whose first and last n - 1 tokens begin there.
        """
        starts, hashes = np.arange(len(self._tokens)), self._tokens.copy()
        for order in itertools.count(2):
            kept = yield starts, hashes
            if kept is not None:
                chosen = np.searchsorted(starts, kept)
                starts, hashes = kept, hashes[chosen]
                follows = np.zeros(len(starts), dtype=bool)
                follows[:-1] = starts[1:] == starts[:-1] + 1
            else:
                follows = np.ones(len(starts), dtype=bool)
            follows &= self._left[starts] >= order
            starts = starts[follows]
            hashes = hashes[follows] * FACTOR + self._tokens[starts + order - 1]


class _TokenHashes(dict[str, int]):
    """64-bit hashes of tokens, the same in every process."""

    def __missing__(self, token: str) -> int:
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        value = int.from_bytes(digest, "little")
        if len(self) < MOST_TOKENS:
            self[token] = value
        return value


# Tokens whose hashes are kept, about 200 MB of them.
MOST_TOKENS = 1 << 21

_TOKEN_HASHES = _TokenHashes()


class _Occurrences:
    """Which of some hashes occur, in one row or in several."""

    def __init__(self, sought: Hashes) -> None:
        self._sought: Hashes = np.unique(sought)
        self._occurs = np.zeros(len(self._sought), dtype=bool)
        # A row in which each occurs, and whether it also occurs in another one.
        self._row = np.zeros(len(self._sought), np.int64)
        self._is_in_several = np.zeros(len(self._sought), dtype=bool)

    def _places(self, hashes: Hashes) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Places of hashes among those sought, and which of them are."""
        if not len(self._sought):
            return np.zeros(len(hashes), np.int64), np.zeros(len(hashes), dtype=bool)
        places = np.minimum(np.searchsorted(self._sought, hashes), len(self._sought) - 1)
        return places, self._sought[places] == hashes

    def add(self, hashes: Hashes, rows: Ints) -> npt.NDArray[np.bool_]:
        """Take in hashes of training captions of some rows, and return which are sought."""
        places, is_sought = self._places(hashes)
        places, rows = places[is_sought], rows[is_sought]
        is_new = ~self._occurs[places]
        self._row[places[is_new]] = rows[is_new]
        self._occurs[places] = True
        self._is_in_several[places[self._row[places] != rows]] = True
        return is_sought

    def elsewhere(self, hashes: Hashes, rows: Ints) -> npt.NDArray[np.bool_]:
        """Say of hashes of captions of some rows whether a training caption outside of that row has them."""
        places, is_sought = self._places(hashes)
        other = self._is_in_several[places] | (self._row[places] != rows) if len(self._sought) else is_sought
        return is_sought & self._occurs[places] & other if len(self._sought) else is_sought


def novelty_values(counts: NoveltyCounts, chosen: npt.NDArray[np.bool_], suffix: str = "") -> dict[str, float]:
    """Return the shares of some captions: of captions and n-grams that are novel, and the mean longest run.

    NaN without captions, or without n-grams of an order.
    """
    n_novel, n_ngrams = counts.n_novel[chosen].sum(axis=0), counts.n_ngrams[chosen].sum(axis=0)
    values = {"novel_share": exact_mean(counts.is_novel[chosen].astype(np.float64))}
    values |= {
        f"novel_{order}gram_share": float(n_novel[i] / n_ngrams[i]) if n_ngrams[i] else math.nan
        for i, order in enumerate(ORDERS)
    }
    values["longest_copied_run"] = exact_mean(counts.longest_runs[chosen].astype(np.float64))
    return {f"{name}{suffix}": value for name, value in values.items()}


def is_references(training: object) -> bool:
    """Return whether the references of other rows stand for training captions."""
    return isinstance(training, str) and training == "references"


def check_training(training: Any) -> None:
    """Raise unless training captions are "references", the path of a text file, or a collection that can be read again.

    The path is checked when it is opened, and captions when they are read.
    """
    if isinstance(training, str | os.PathLike) and os.fspath(training):
        return
    check_no_table(training, "training", "a list or column of captions")
    is_text = isinstance(training, str | bytes | Mapping)
    if is_text or not (hasattr(training, "__iter__") and hasattr(training, "__len__")):
        expected = "a list or column of captions, a path of a text file, or 'references'"
        raise InputTypeError("training", expected, quote_value(training), "Make a list of what can be read only once.")
    if not len(training):
        raise InputError("training", "at least one caption", "none", "Leave it out for the other references.")


def check_some_training(has_token: object, got: str) -> None:
    """Raise unless there is a training caption with a token."""
    if not has_token:
        fix = "Give the captions of the training images; 'references' needs rows of two images."
        raise InputError("training", "captions with at least one token", got, fix)


def rows_of_images(references: Sequence[Sequence[Text]]) -> Ints:
    """Return the number of every row's image, whose references are no training captions for it; warn of shared ones.

    Raises ValueError where all rows are of one image.
    """
    images = image_numbers(references)
    labels_of_images(images, None, "Their references are no training captions for each other.")
    images = np.arange(len(references)) if images is None else images
    check_some_training(images.max() > 0, "references of one image alone")
    return images


class TrainingCaptions:
    """Training captions as tokens, in chunks, with the rows that they belong to."""

    def __init__(self, source: Any, tokenizer: Tokenizer) -> None:
        """Take captions, lists of captions, or the path of a text file with one per line."""
        self._source, self._tokenizer = source, tokenizer
        # Number of captions that were read, and whether one of them has a token.
        self.n_captions, self.has_token = 0, False

    def __iter__(self) -> Iterator[tuple[Sequence[TokenList], int]]:
        captions = self._captions()
        while chunk := list(itertools.islice(captions, CHUNK_CAPTIONS)):
            self.n_captions += len(chunk)
            tokens = tokenize_rows([chunk], self._tokenizer)[0]
            self.has_token = self.has_token or any(tokens)
            yield tokens, NO_ROW

    def check_not_empty(self) -> None:
        """Raise if nothing was read, beside which all is novel."""
        check_some_training(self.has_token, f"none in {self.n_captions:,} captions")

    def _captions(self) -> Iterator[str]:
        if isinstance(self._source, str | os.PathLike):
            yield from _lines(self._source)
            return
        items = self._source.to_pylist() if hasattr(self._source, "to_pylist") else self._source
        for i, item in enumerate(items):
            is_list = isinstance(item, Iterable) and not isinstance(item, str | bytes | Mapping)
            for j, caption in enumerate(item if is_list else [item]):
                where = f"training[{i}][{j}]" if is_list else f"training[{i}]"
                check_caption(caption, where)
                check_no_written_list(caption, where)
                yield caption


def _lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Lines of a text file, also compressed by gzip, without blank ones."""
    if not is_regular_file(path):
        raise InputOSError("training", "a text file with one caption per line", *no_such_path(os.fspath(path)))
    with open_text_bytes(path, "training") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                got = f"other bytes in line {number}"
                raise InputError(
                    "training", f"UTF-8 in {quote_path(os.fspath(path))}", got, "Save the file as UTF-8."
                ) from error
            if number == 1 and text[:1] in ("{", "["):
                raise InputError(
                    "training", f"one caption per line in {quote_path(os.fspath(path))}", "JSON", "Read it into a list."
                )
            if text:
                yield text


def novelty_details(counts: NoveltyCounts, sizes: Sequence[int]) -> dict[str, list[Sequence[Any]]]:
    """Return lists per row of what `novelty_values` are made of, of the first captions, which are the candidates."""
    lists = {"is_novel": counts.is_novel.tolist(), "longest_run": counts.longest_runs.tolist()}
    return {f"{name}_per_candidate": cut_runs(values, sizes) for name, values in lists.items()}
