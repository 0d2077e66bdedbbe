"""Which captions of a training set reach a score on every row of a test set, and how many are needed."""

import json
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from manycaps.files.caption_tables import good_rows, open_source
from manycaps.files.caption_tables.columns import ColumnNames, as_columns, check_files_of_columns, columns_of
from manycaps.files.result_tables import finite
from manycaps.files.saved_files import check_can_be_written, write_text_atomically
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.files import is_regular_file
from manycaps.kit.ngrams_bleu import CrossBleu, CrossCider
from manycaps.kit.words_tokenizers import Tokenizer, check_tokenizer, tokenize_rows, tokenizer_name

from .core_set_options import CoreSetOptions
from .covers import ReachedRows, find_reached_rows, greedy_cover

# Most thresholds: their numbers are kept in a byte.
MOST_THRESHOLDS = 200

# Smallest and largest threshold by the prefix of the metric's name, and the default ones. BLEU-N of a caption without a
# common n-gram is up to 0.032, by the constants of the COCO caption code; thresholds below 0.04 would count them.
RANGES = {"bleu": (0.04, 1.0), "cider": (0.001, 10.0)}
THRESHOLDS = {"bleu": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), "cider": (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)}

# Fewest rows of CIDEr-D: with one document every n-gram has weight 0.
FEWEST_DOCUMENTS = 2


class Candidate(NamedTuple):
    """A caption of the training set."""

    id: str
    caption: str


def write_core_sets(options: CoreSetOptions) -> dict[str, Any]:
    """Read the captions, find the core sets, and write them.

    Returns:
        The content of the file: metric, tokenizer, n_candidates, n_rows, best_mean, and the curve, a point for each
        threshold.

    Raises:
        ValueError, OSError: an option, or a file, cannot be used.
    """
    family = None if options.scores is not None else options.metric.split("_")[0]
    thresholds = as_thresholds(options.thresholds or THRESHOLDS[family or "bleu"], family)
    check_tokenizer(options.tokenizer)
    check_can_be_written(options.output, [*options.train, *options.test, options.scores or ""])
    columns = as_columns(options.columns)
    check_files_of_columns(columns, [*options.train, *options.test])
    given = columns, options.limit, options.tokenizer
    candidates = distinct_captions(read_rows(options.train, options.split, *given), options.tokenizer)
    tests = [captions for _, captions in read_rows(options.test, options.test_split, *given)]
    reached = _find_reached_rows(options, candidates, tests, thresholds)
    curve = [core_set(reached, level, threshold, candidates) for level, threshold in enumerate(thresholds)]
    result: dict[str, Any] = {
        "metric": options.metric if options.scores is None else "scores",
        "tokenizer": tokenizer_name(options.tokenizer),
        "n_candidates": len(candidates),
        "n_rows": len(tests),
        "best_mean": float(reached.best.mean()),
        "curve": curve,
    }
    write_text_atomically(
        options.output, json.dumps(finite(result), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    )
    return result


def core_set(reached: ReachedRows, level: int, threshold: float, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return one point of the curve: the captions of the greedy cover at threshold number `level`."""
    first, rows = reached.at(level)
    cover = greedy_cover(first, rows, len(reached.best))
    return {
        "threshold": threshold,
        "n_captions": len(cover.candidates),
        "n_rows_reached": sum(cover.n_new),
        "captions": [
            {**candidates[i]._asdict(), "n_new_rows": n} for i, n in zip(cover.candidates, cover.n_new, strict=True)
        ],
    }


def read_rows(
    sources: Sequence[str],
    split: str | None,
    columns: ColumnNames | None,
    limit: int | None = None,
    tokenizer: Tokenizer = "ptb",
) -> list[tuple[str, list[str]]]:
    """Return id and captions of every row: its references, or its predictions where there are none."""
    columns = columns_of(columns, sources)
    source = open_source(sources, columns=columns, limit=limit, either=True, split=split, tokenizer=tokenizer)
    return [(row.id, row.people) for row in good_rows(source.rows())]


def distinct_captions(rows: Sequence[tuple[str, list[str]]], tokenizer: Tokenizer = "ptb") -> list[Candidate]:
    """Return the captions of different tokens, each with the id of the first row that has it."""
    pairs = [Candidate(name, caption) for name, captions in rows for caption in captions]
    [tokens] = tokenize_rows([[pair.caption for pair in pairs]], tokenizer)
    first: dict[tuple[str, ...], Candidate] = {}
    for pair, text in zip(pairs, tokens, strict=True):
        first.setdefault(tuple(text), pair)
    return list(first.values())


def as_thresholds(thresholds: Sequence[float], family: str | None) -> list[float]:
    """Return the thresholds in order, each once, or raise a ValueError.

    The family is a name of `RANGES`; the user's own scores have none, and any range.
    """
    ordered = sorted(set(thresholds))
    if not 1 <= len(ordered) <= MOST_THRESHOLDS:
        raise InputError("--thresholds", f"1 to {MOST_THRESHOLDS} numbers", len(ordered), "Give fewer.")
    least, most = (-np.inf, np.inf) if family is None else RANGES[family]
    for threshold in ordered:
        if not np.isfinite(threshold) or not least <= threshold <= most:
            expected = "finite numbers" if family is None else f"numbers from {least:g} to {most:g}"
            reason = {
                "bleu": "A caption without a common n-gram has a BLEU of up to 0.032 in the COCO caption code.",
                "cider": "CIDEr-D of a long caption with itself is 10.",
            }.get(family or "", "Leave it out.")
            raise InputError("--thresholds", expected, threshold, reason)
    return ordered


def load_scores(path: pathlib.Path, n_candidates: int, n_rows: int) -> npt.NDArray[Any]:
    """Return a matrix of the user's scores, which stays on the disk."""
    try:
        if not is_regular_file(path):
            raise OSError("no regular file")
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy parses the head of the file as Python does, and raises what that raises
        # NumPy takes any file for a pickle that is no array; its advice to open it anyway is not repeated.
        raise InputError(
            "--scores", "an array of numbers in a file of NumPy (.npy)", quote_path(path), "Write it with numpy.save."
        ) from error
    shape = getattr(matrix, "shape", None)
    if shape != (n_candidates, n_rows) or matrix.dtype.kind not in "fiu":
        expected = f"shape {(n_candidates, n_rows)}, the distinct captions and the rows"
        fix = "Write one line for each distinct caption, in the order of their first rows."
        raise InputError("--scores", expected, shape, fix)
    if matrix.dtype.kind == "f":
        for row in range(n_candidates):
            if not np.isfinite(matrix[row]).all():
                got = f"{matrix[row][~np.isfinite(matrix[row])][0]} in line {row}"
                raise InputError("--scores", "finite numbers", got, "Use a small score for pairs that have none.")
    return matrix


def _find_reached_rows(
    options: CoreSetOptions,
    candidates: Sequence[Candidate],
    tests: Sequence[Sequence[str]],
    thresholds: Sequence[float],
) -> ReachedRows:
    """Compare the scores that the options ask for with the thresholds."""
    sizes = len(candidates), len(tests)
    if options.scores is not None:
        matrix = load_scores(options.scores, *sizes)
        return find_reached_rows(lambda begin, end: matrix[begin:end], *sizes, thresholds, _progress)
    [tokens] = tokenize_rows([[candidate.caption for candidate in candidates]], options.tokenizer)
    rows = tokenize_rows(tests, options.tokenizer)
    if options.metric != "cider_d":
        return find_reached_rows(CrossBleu(tokens, rows, int(options.metric[-1])).scores, *sizes, thresholds, _progress)
    if len(rows) < FEWEST_DOCUMENTS:
        expected = f"at least {FEWEST_DOCUMENTS} rows for cider_d, which weighs n-grams by the rows that have them"
        raise InputError("--test", expected, len(rows), "Give more rows, or another metric.")
    cider = CrossCider(tokens, rows)
    return find_reached_rows(cider.scores, *sizes, thresholds, _progress).reorder(cider.order)


def _progress(steps: Any, **about: Any) -> Any:
    return tqdm(steps, delay=1, **about)
