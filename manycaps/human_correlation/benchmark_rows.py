"""Rows of a benchmark: from the public copy, from the user's own table, or from the files of its release."""

import hashlib
import pathlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import datasets

from manycaps.caption_tables import table_records
from manycaps.human_correlation.abstract_50s import FILE_NAME as ABSTRACT_NAME
from manycaps.human_correlation.abstract_50s import abstract_50s_rows
from manycaps.human_correlation.benchmarks import BENCHMARKS
from manycaps.human_correlation.flickr8k_release import CROWD_NAME, JUDGEMENTS_NAME, crowd_rows, expert_rows
from manycaps.human_correlation.video_benchmarks import is_vatex_eval, vatex_eval_rows
from manycaps.kit.base_files import is_regular_file, no_such_path
from manycaps.kit.base_messages import is_in_house_form, reason_of, shown_value

# Columns whose values are checked before anything is scored.
CHECKED_COLUMNS = ("cand", "better", "worse", "refs", "human_score")

# Columns that a user's own table needs, by the kind of benchmark.
NEEDED_COLUMNS = {
    "correlation": ("img", "cand", "human_score"),
    "choice": ("img", "better", "worse"),
    "judges": ("cand", "human_score"),
}


def load_rows(name: str, data: pathlib.Path | None) -> Any:
    """Load a benchmark's rows, images undecoded."""
    benchmark = BENCHMARKS[name]
    if data is not None and not data.exists():
        raise ValueError(f"--data: expected a folder or a file, got {no_such_path(str(data))}")
    if data is None and not benchmark.hub:
        raise ValueError(
            f"--data: expected a folder or file for {name}, which has no public copy, got none. See --help."
        )
    released = None
    try:
        if data is None:
            repository, configuration, split = benchmark.hub or ("", None, "")
            parts = datasets.load_dataset(repository, configuration)
            rows = parts[split if split in parts else next(iter(parts))]
            rows = rows.cast_column("img", datasets.Image(decode=False))
        else:
            released = _released_rows(name, data)
            rows = _load_local(data) if released is None else datasets.Dataset.from_list(released)
    except Exception as error:  # datasets, huggingface_hub, pandas, pyarrow and gzip each raise their own
        if is_in_house_form(error):
            raise
        cause = error.__cause__ or error
        raise ValueError(
            f"--data: expected rows of {name}, got {type(cause).__name__} ({reason_of(cause)}). Check the files, or "
            "the connection to the Hub."
        ) from error
    if not len(rows):
        raise ValueError("--data: expected at least one row, got none. Give the rows of the benchmark.")
    needed = NEEDED_COLUMNS[benchmark.kind]
    if released is None and any(column not in rows.column_names for column in needed):
        raise ValueError(
            f"--data: expected the columns {', '.join(needed)}, got {', '.join(rows.column_names)}. Rename them."
        )
    for i, row in enumerate(rows.remove_columns([c for c in rows.column_names if c not in CHECKED_COLUMNS])):
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


def check_references(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise a ValueError unless every row has references, for a metric that takes them."""
    for i, row in enumerate(rows):
        if not row.get("refs"):
            raise ValueError(
                f"refs[{i}]: expected at least one reference for this metric, got {shown_value(row.get('refs'))}. "
                "Write them, leave the row out, or give a metric without references."
            )


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
            raise ValueError(
                f"refs[{i}]: expected a reference that is not a judged caption of the image, got none of "
                f"{len(row['refs'])}. Give more references, or leave the rows of this image out."
            )
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
            raise ValueError(
                f"{name}[{i}]: expected a caption, got {shown_value(row[name])}. Write it, or leave the row out."
            )
    references = row.get("refs")
    if references is not None and (
        not isinstance(references, list) or not all(isinstance(text, str) for text in references)
    ):
        raise ValueError(
            f"refs[{i}]: expected a list of captions, got {shown_value(references)}. Write them, or leave the row out."
        )
    if "human_score" in row:
        judgements = row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]]
        if not all(value is None or isinstance(value, int | float) for value in judgements):
            raise ValueError(
                f"human_score[{i}]: expected a number or a list of numbers, got {shown_value(row['human_score'])}. "
                "Write numbers, or leave the row out."
            )


def _load_local(data: pathlib.Path) -> Any:
    """Load a folder or a file; image paths are made absolute."""
    if data.is_dir() and (data / "dataset_info.json").exists():
        rows = datasets.load_from_disk(str(data))
    else:
        files = sorted(p for p in (data.rglob("*") if data.is_dir() else [data]) if p.suffix in (".jsonl", ".parquet"))
        if not files:
            raise ValueError(f"--data: expected .jsonl or .parquet files in {data}, got none. See --help.")
        if files[0].suffix == ".jsonl":
            rows = datasets.Dataset.from_list([dict(row) for file in files for row in table_records(file)])
        else:
            rows = datasets.load_dataset("parquet", data_files=[str(file) for file in files], split="train")
    if isinstance(rows.features.get("img"), datasets.Image):
        return rows.cast_column("img", datasets.Image(decode=False))
    folder = data if data.is_dir() else data.parent
    for name in ("img", "video"):
        if name in rows.column_names:
            rows = rows.map(lambda row, name=name: {name: str(folder / row[name])})
    return rows
