"""Training, validation and test splits by what captions name and how long they are, with a check that nothing leaks.

Splits are written with the ids of their rows. Each stratum is divided in the same shares, or whole strata are held out.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.files.caption_tables import CaptionRow, good_rows, open_source
from manycaps.files.caption_tables.columns import as_columns
from manycaps.files.caption_tables.rows import random_key
from manycaps.files.result_tables import align_columns
from manycaps.files.saved_files import check_can_be_written, write_text_atomically
from manycaps.kit.concept_overlap import load_labels, row_matches
from manycaps.kit.errors import InputError, quote_value
from manycaps.kit.words_tokenizers import Tokenizer, check_tokenizer, tokenize_rows

from .split_options import SplitOptions

# Name of the split that gets the remaining rows.
REST = "train"

# Stratum of a row without a label of the list.
NO_CONCEPT = ""

# Strata of rows by length: tenths.
N_LENGTHS = 10


class DataSplits(NamedTuple):
    """The split of every row, as it is written."""

    # Rows of the file: id, split, and length or concept.
    rows: list[dict[str, Any]]
    # Table of the splits, line by line.
    summary: list[str]


def write_splits(options: SplitOptions) -> DataSplits:
    """Read the captions, divide them, check and write the splits.

    Raises:
        ValueError, TypeError, OSError: an option, or a file, cannot be used; two rows are of one image.
    """
    shares = as_shares({"test": options.test, "validation": options.validation})
    if (options.by == "concept") != (options.labels is not None):
        expected = "a file" if options.by == "concept" else "no file without --by concept"
        raise InputError("--labels", expected, options.labels, "Name a file with one label per line.")
    check_tokenizer(options.tokenizer)
    check_can_be_written(options.output, [*options.sources, options.labels or ""])
    columns, tokenizer = as_columns(options.columns), options.tokenizer
    source = open_source(options.sources, columns=columns, either=True, split=options.split, tokenizer=tokenizer)
    rows = list(good_rows(source.rows()))
    check_distinct_rows(rows)
    captions = [row.people for row in rows]
    ids = [row.id for row in rows]
    strata: Sequence[Any]
    shown: Sequence[Any]
    if options.by == "length":
        shown = lengths(captions, options.tokenizer)
        strata = shown if options.hold_out else tenths(shown)
    else:
        strata = concepts(captions, str(options.labels), options.seed, options.tokenizer)
        shown = [name for _, name in strata]
    splits = (hold_out if options.hold_out else share_out)(strata, ids, shares, options.seed)
    written = [
        {"id": name, "split": split, options.by: stratum}
        for name, split, stratum in zip(ids, splits, shown, strict=True)
    ]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in written)
    write_text_atomically(options.output, "".join(lines))
    return DataSplits(written, split_summary(splits, captions, shown, options.by, options.tokenizer))


def lengths(rows: Sequence[Sequence[str]], tokenizer: Tokenizer = "ptb") -> list[float]:
    """Return the mean number of tokens of the captions of each row.

    >>> lengths([["a dog", "a dog runs far"], ["two cats."]])
    [3.0, 2.0]
    """
    return [float(np.mean([len(text) for text in row])) for row in tokenize_rows(rows, tokenizer)]


def tenths(values: Sequence[float]) -> list[int]:
    """Return for each value in which tenth of the sorted values it is, equal values together.

    >>> tenths([5.0, 1.0, 1.0])
    [6, 0, 0]
    """
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values) * N_LENGTHS // len(ordered)).tolist()


def concepts(
    rows: Sequence[Sequence[str]], labels: str, seed: int, tokenizer: Tokenizer = "ptb"
) -> list[tuple[bytes, str]]:
    """Return the rarest label that a row's captions name as whole words, with a number that sorts labels at random.

    A row without a label of the file has the name `NO_CONCEPT`, and comes first.
    """
    names = load_labels("labels", labels)
    matches = row_matches(rows, names, "words", tokenizer) > 0
    counts = matches.sum(axis=0)
    # Of equally rare labels the first of the list.
    rarest = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    pairs = []
    for row in range(len(rows)):
        own = matches[[row]].indices
        name = names[own[np.argmin(rarest[own])]][0] if len(own) else NO_CONCEPT
        pairs.append((random_key(name, seed) if name else b"", name))
    return pairs


def share_out(strata: Sequence[Any], ids: Sequence[Hashable], shares: Mapping[str, float], seed: int) -> list[str]:
    """Give every row a split, each stratum in the stated shares.

    The rows are lined up stratum by stratum, at random within a stratum, and each row goes to the split that is
    furthest behind its share of the rows so far. So a split differs from its share by less than one row, in all rows
    and at every place of the line, and by less than two in a stratum.

    `strata` are n_rows values that can be compared. Which row of a stratum goes where depends on `ids` and `seed`
    alone. `shares` has at most two splits beside `REST`, which gets all other rows; each share is above 0, and together
    they are below 1.

    >>> splits = share_out(["a", "b"] * 5, range(10), {"test": 0.2}, seed=0)
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


def hold_out(strata: Sequence[Any], ids: Sequence[Hashable], shares: Mapping[str, float], seed: int) -> list[str]:
    """Give every row a split so that the last strata are held out: the first split gets the last rows, and so on.

    Arguments as for `share_out`. The size of each split differs from its share by at most one row.

    >>> hold_out([1, 5, 3, 4, 2], range(5), {"test": 0.4}, seed=0)
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


def as_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the shares that are above 0; raise if one is out of range, or if they leave nothing for training."""
    for name, share in shares.items():
        if not 0 <= share < 1:
            raise InputError(f"--{name}", "a share from 0 to below 1", share, "Write 10% as 0.1.")
    if not 0 < sum(shares.values()) < 1:
        got = f"{sum(shares.values()):g} together"
        raise InputError("--test", "shares above 0 that leave rows for training", got, "Write 10% as 0.1.")
    return {name: share for name, share in shares.items() if share > 0}


def check_distinct_rows(rows: Sequence[CaptionRow]) -> None:
    """Raise if two rows have one id, image or video: it would be in two splits."""
    for role in ("id", "image", "video"):
        first: dict[Any, int] = {}
        for number, row in enumerate(rows):
            value = getattr(row, role)
            if value is not None and first.setdefault(value, number) != number:
                got = f"the value of row {first[value]} ({quote_value(value)})"
                fix = "Put all captions of an image into one row, else it is in two splits."
                raise InputError(f"{role}[{number}]", "a unique value", got, fix)


def split_summary(
    splits: Sequence[str], rows: Sequence[Sequence[str]], strata: Sequence[Any], by: str, tokenizer: Tokenizer = "ptb"
) -> list[str]:
    """Describe the size of each split, how it differs, and what it shares with the training split."""
    texts = [[tuple(text) for text in row] for row in tokenize_rows(rows, tokenizer)]
    train = {text for row, split in zip(texts, splits, strict=True) if split == REST for text in row}
    known = {stratum for stratum, split in zip(strata, splits, strict=True) if split == REST}
    last = "tokens" if by == "length" else "new concepts"
    lines = [["split", "rows", "share", f"captions also in {REST}", last]]
    for name in dict.fromkeys((REST, "validation", "test")):
        chosen = [i for i, split in enumerate(splits) if split == name]
        if not chosen:
            continue
        same = 0 if name == REST else sum(text in train for i in chosen for text in texts[i])
        last = (
            f"{np.mean([strata[i] for i in chosen]):.2f}"
            if by == "length"
            else f"{len({strata[i] for i in chosen} - known):,}"
        )
        lines.append([name, f"{len(chosen):,}", f"{len(chosen) / len(splits):.1%}", f"{same:,}", last])
    return align_columns(lines, "lrrrr")
