"""Rows of a benchmark: from the public copy, from the user's own table, or from the files of its release."""

import hashlib
import itertools
import pathlib
import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import datasets

from manycaps.files.caption_tables import table_records
from manycaps.human_correlation.abstract_50s import FILE_NAME as ABSTRACT_NAME
from manycaps.human_correlation.abstract_50s import abstract_50s_rows
from manycaps.human_correlation.benchmarks import BENCHMARKS
from manycaps.human_correlation.flickr8k_release import CROWD_NAME, JUDGEMENTS_NAME, crowd_rows, expert_rows
from manycaps.human_correlation.video_benchmarks import is_vatex_eval, vatex_eval_rows
from manycaps.kit.errors import InputError, quote_value, reason_of
from manycaps.kit.files import is_regular_file, no_such_path

# A column of images as bytes or paths.
UNDECODED = datasets.Image(decode=False)

# Columns that a user's own table needs, by the kind of benchmark.
NEEDED_COLUMNS = {
    "correlation": ("img", "cand", "human_score"),
    "choice": ("img", "better", "worse"),
    "judges": ("cand", "human_score"),
}


def load_rows(name: str, data: pathlib.Path | None, limit: int | None) -> list[dict[str, Any]]:
    """Load a benchmark's first rows, or all, images undecoded; what a row lacks is None."""
    benchmark = BENCHMARKS[name]
    if data is not None and not data.exists():
        raise InputError("--data", "a folder or a file", *no_such_path(str(data)))
    if data is None and not benchmark.hub:
        raise InputError("--data", f"a folder or file for {name}, which has no public copy", "none", "See --help.")
    released = None
    try:
        if data is None:
            repository, configuration, split = benchmark.hub or ("", None, "")
            parts = datasets.load_dataset(repository, configuration)
            public = parts[split if split in parts else next(iter(parts))].cast_column("img", UNDECODED)
            rows = list(itertools.islice(public, limit))
        else:
            released = _released_rows(name, data)
            rows = list(itertools.islice(_local_rows(data) if released is None else released, limit))
    except InputError:
        raise
    except Exception as error:  # datasets, huggingface_hub, pandas, pyarrow and gzip each raise their own
        cause, fix = error.__cause__ or error, "Check the files, or the connection to the Hub."
        raise InputError("--data", f"rows of {name}", f"{type(cause).__name__} ({reason_of(cause)})", fix) from error
    if not rows:
        raise InputError("--data", "at least one row", "none", "Give the rows of the benchmark.")
    names = dict.fromkeys(column for row in rows for column in row)
    needed = NEEDED_COLUMNS[benchmark.kind]
    if released is None and not names.keys() >= set(needed):
        raise InputError("--data", f"the columns {', '.join(needed)}", ", ".join(names), "Rename them.")
    rows = [dict.fromkeys(names) | row for row in rows]
    for i, row in enumerate(rows):
        _check_row(row, i)
    return rows


def row_image(row: Mapping[str, Any], i: int) -> Hashable:
    """Return what tells the image or video of row i from others; the row itself where nothing does."""
    for name in ("img", "video"):
        value = row.get(name)
        if isinstance(value, Mapping):  # an image of `datasets` that is not decoded
            value = value.get("bytes") or value.get("path")
        if value:
            return str(value) if not isinstance(value, bytes) else hashlib.sha256(value).digest()
    return i


def check_references(rows: Sequence[Mapping[str, Any]], n_references: int | None = None) -> None:
    """Raise a ValueError unless every row has references, or as many as are asked for, for a metric that takes them."""
    for i, row in enumerate(rows):
        n = len(row.get("refs") or [])
        if n_references is not None and n < n_references:
            raise InputError(
                "--references", f"at most {n}, the references of row {i}", n_references, "Give a smaller number."
            )
        if not row.get("refs"):
            fix = "Write them, leave the row out, or give a metric without references."
            raise InputError(f"refs[{i}]", "at least one reference for this metric", quote_value(row.get("refs")), fix)


def without_judged_references(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose references lack the judged captions of their image, in whatever row these are judged.

    So the authors of the published values prepare Flickr8k-CF (Hessel et al. 2021, https://arxiv.org/abs/2104.08718;
    flickr8k_example/download.py of their program): a judged caption takes one reference of the same words away.
    """
    judged: dict[Hashable, Counter[str]] = {}
    for i, row in enumerate(rows):
        judged.setdefault(row_image(row, i), Counter())[caption_words(row["cand"])] += 1
    kept = []
    for i, row in enumerate(rows):
        taken = Counter(judged[row_image(row, i)])
        references = []
        for text in row["refs"]:
            if taken[caption_words(text)] > 0:
                taken[caption_words(text)] -= 1
            else:
                references.append(text)
        if not references:
            got, fix = f"none of {len(row['refs'])}", "Give more references, or leave the rows of this image out."
            raise InputError(f"refs[{i}]", "a reference that is not a judged caption of the image", got, fix)
        kept.append({**row, "refs": references})
    return kept


def caption_words(text: str) -> str:
    """Return the words of a caption, with one blank between them."""
    return " ".join(text.split())


def _released_rows(name: str, data: pathlib.Path) -> list[dict[str, Any]] | None:
    """Rows of a benchmark from the files in which it was released; None where they are missing."""
    if name == "flickr8k-expert" and is_regular_file(data / JUDGEMENTS_NAME):
        return expert_rows(data)
    if name == "flickr8k-cf" and is_regular_file(data / CROWD_NAME):
        return crowd_rows(data)
    if name == "vatex-eval" and is_vatex_eval(data):
        return vatex_eval_rows(data)
    if name == "abstract-50s":
        path = data / ABSTRACT_NAME if data.is_dir() else data
        return abstract_50s_rows(path) if path.suffix == ".mat" and is_regular_file(path) else None
    return None


def _check_row(row: Mapping[str, Any], i: int) -> None:
    """Raise unless the captions of a row are text, and its judgements numbers."""
    for name in ("cand", "better", "worse"):
        if name in row and not isinstance(row[name], str):
            raise InputError(f"{name}[{i}]", "a caption", quote_value(row[name]), "Write it, or leave the row out.")
    if not isinstance(row.get("video"), str | None):
        raise InputError(f"video[{i}]", "a path", quote_value(row["video"]), "Write it, or leave the row out.")
    references = row.get("refs")
    if references is not None and (
        not isinstance(references, list) or not all(isinstance(text, str) for text in references)
    ):
        raise InputError(
            f"refs[{i}]", "a list of captions", quote_value(references), "Write them, or leave the row out."
        )
    if "human_score" in row:
        judgements = row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]]
        if not all(value is None or _is_number(value) for value in judgements):
            got, fix = quote_value(row["human_score"]), "Write numbers, or leave the row out."
            raise InputError(f"human_score[{i}]", "a number or a list of numbers", got, fix)


def _is_number(value: Any) -> bool:
    """Whether a judgement is a float, or a whole number that becomes one."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= sys.float_info.max)


def _local_rows(data: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Read a folder or a file; paths of images and videos are made absolute."""
    is_saved = data.is_dir() and (data / "dataset_info.json").exists()
    paths = data.rglob("*") if data.is_dir() else [data]
    files = [data] if is_saved else sorted(path for path in paths if path.suffix in (".jsonl", ".parquet"))
    if not files:
        raise InputError("--data", f".jsonl or .parquet files in {data}", "none", "See --help.")
    folder = data if data.is_dir() else data.parent
    for row in (record for file in files for record in table_records(file)):
        media = {name: str(folder / row[name]) for name in ("img", "video") if isinstance(row.get(name), str)}
        yield {**row, **media}
