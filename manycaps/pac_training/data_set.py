"""A data set of images, captions and their generated positives: loaded, and checked before anything is trained."""

import hashlib
import pathlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import datasets
import numpy as np

from manycaps.files.caption_tables import table_records
from manycaps.files.caption_tables.columns import no_column
from manycaps.kit.arrays import map_in_order
from manycaps.kit.clip_encoder import with_prompt
from manycaps.kit.errors import InputError, as_input_errors, quote_path, quote_value
from manycaps.kit.images import as_image_source, as_rgb_image
from manycaps.pac_training.recipe import CAPTION, GENERATED_CAPTION, GENERATED_IMAGE, IMAGE

# Advice for a column that this repository's own tool makes.
ADVICE = {
    GENERATED_IMAGE: "Make them with `manycaps make-positives`, or give --lambda-v 0 to train without.",
    GENERATED_CAPTION: "Make them with `manycaps make-positives`, or give --lambda-t 0 to train without.",
}

# Images read ahead of those that are being checked.
READ_AHEAD = 64


class ImageColumn:
    """A column of images as stored, not decoded."""

    def __init__(self, data_set: datasets.Dataset, column: str, split: str) -> None:
        if isinstance(data_set.features[column], datasets.Image):
            data_set = data_set.cast_column(column, datasets.Image(decode=False))
        self._rows, self.name, self.split = data_set.select_columns([column]), column, split

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> Any:
        return self._rows[int(i)][self.name]

    def where(self, i: int) -> str:
        """Name one image in messages."""
        return f"{self.split} {self.name}[{i}]"


class TupleRows(NamedTuple):
    """Rows of a data set that passed every check."""

    images: ImageColumn
    captions: list[str]
    # None where the recipe gives them no weight.
    generated_images: ImageColumn | None
    generated_captions: list[str] | None
    # Index of each row's image, from 0 without gaps, shape (n_rows,): rows with the same file share one.
    image_rows: np.ndarray
    # Hashes of the different images.
    image_hashes: frozenset[bytes]
    # Hash of the rows' content, the same for the same rows wherever they lie.
    digest: str

    @property
    def first_rows(self) -> np.ndarray:
        """First row of each image, shape (n_images,)."""
        return np.unique(self.image_rows, return_index=True)[1]


def check_output(data: str, output: pathlib.Path) -> None:
    """Raise if the output would be written among the data, and be taken for them."""
    if output.is_dir() and pathlib.Path(data).is_dir() and output.samefile(data):
        raise InputError(quote_path(output), "another folder for output", "the folder of the data", "Choose another.")


def load_split(source: str, configuration: str | None, split: str) -> datasets.Dataset:
    """Load one split of a data set, such as "train", or a part like "train[5%:]" (not for `save_to_disk`).

    The source is a Hub name; a folder of `save_to_disk`, of parquet or similar files, or of images with a metadata file
    (`imagefolder`); or one parquet, JSON or CSV file.
    """
    path = pathlib.Path(source).expanduser()
    expected, got = f"a data set with a split {split!r}", f"{quote_value(source)}, which cannot be loaded"
    fix = "Give a Hub name, a folder, or a parquet file, and check the name of the split."
    with as_input_errors("data", expected, fix, got):
        if (path / "dataset_dict.json").is_file():
            return datasets.load_from_disk(str(path))[split]
        if (path / "state.json").is_file():
            return datasets.load_from_disk(str(path))
        if path.is_file():
            kind = {".jsonl": "json"}.get(path.suffix, path.suffix.removeprefix("."))
            if kind == "json":
                _check_objects(path)
            return datasets.load_dataset(kind, data_files={"train": str(path)}, split=split)
        return datasets.load_dataset(str(path) if path.exists() else source, configuration, split=split)


def _check_objects(path: pathlib.Path) -> None:
    """Raise unless a file of JSON holds objects: other content would crash pyarrow."""
    for i, values in enumerate(table_records(path)):
        if set(values) == {"captions"}:
            where, fix = f"{quote_path(path)}, row {i}", "Write an object with an image and a caption."
            raise InputError(where, "values by the names of columns", "captions alone", fix)


def examine_rows(
    data_set: datasets.Dataset,
    split: str,
    *,
    needs_images: bool,
    needs_captions: bool,
    prompt: str,
    least_images: int,
    n_threads: int,
    progress: Callable[..., Any],
    decodes: bool = True,
) -> TupleRows:
    """Check every row of a split, its images included, and find which rows show the same image.

    There must be at least `least_images` different images, a batch of training images. Without `decodes` only the bytes
    of images are read. The prompt is put before every text, as the score does.
    """
    kinds = {IMAGE: "images", CAPTION: "captions"}
    kinds |= {GENERATED_IMAGE: "images"} if needs_images else {}
    kinds |= {GENERATED_CAPTION: "captions"} if needs_captions else {}
    for column, kind in kinds.items():
        if column not in data_set.column_names:
            rename = f"Rename the one that holds them: data_set.rename_column(..., {column!r})."
            where, fix = f"{split} {column}", ADVICE.get(column, rename)
            raise no_column(where, f"a column of {kind}", data_set.column_names, fix)
    _check_count(split, "rows", len(data_set), least_images)
    texts = {
        column: caption_texts(data_set[column], split, column) for column, kind in kinds.items() if kind == "captions"
    }
    columns = {name: ImageColumn(data_set, name, split) for name, kind in kinds.items() if kind == "images"}
    hashes = {name: image_hashes(column, n_threads, progress, decodes) for name, column in columns.items()}
    places: dict[bytes, int] = {}
    image_rows = np.array([places.setdefault(key, len(places)) for key in hashes[IMAGE]])
    _check_count(split, "different images", len(places), least_images)
    digest = hashlib.sha256(repr(sorted(texts.items())).encode() + repr(sorted(hashes.items())).encode())
    prompted = {name: with_prompt(prompt, column) for name, column in texts.items()}
    return TupleRows(
        columns[IMAGE],
        prompted[CAPTION],
        columns.get(GENERATED_IMAGE),
        prompted.get(GENERATED_CAPTION),
        image_rows,
        frozenset(places),
        digest.hexdigest(),
    )


def _check_count(split: str, what: str, n: int, least: int) -> None:
    """Raise if there are too few rows or images."""
    if n < least:
        raise InputError(
            f"{split} rows", f"at least {least} {what}", n, "Give more data, or a smaller --batch-size for training."
        )


def caption_texts(values: Iterable[Any], split: str, column: str) -> list[str]:
    """Return a column of captions; raise unless every one is a string with a word in it."""
    texts = list(values)
    bad = [i for i, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]
    if bad:
        got = texts[bad[0]]
        advice = "Give every caption a row of its own." if isinstance(got, list) else "Leave those rows out."
        got = f"{got!r:.80} (in all {len(bad)} of {len(texts)} rows have none)"
        raise InputError(f"{split} {column}[{bad[0]}]", "a caption", got, ADVICE.get(column, advice))
    return texts


def image_hashes(column: ImageColumn, n_threads: int, progress: Callable[..., Any], decodes: bool) -> list[bytes]:
    """Hash each image of a column as stored; also decode it, if asked to."""

    def check(item: tuple[int, Any]) -> bytes | InputError:
        where = column.where(item[0])
        if item[1] is None or (isinstance(item[1], dict) and not any(item[1].values())):
            return InputError(where, "an image", "None", ADVICE.get(column.name, "Leave the row out."))
        try:
            source = as_image_source(item[1], where)
            if decodes:
                as_rgb_image(source, where)
        except InputError as error:
            return error
        return hashlib.blake2b(source if isinstance(source, bytes) else source.tobytes(), digest_size=16).digest()

    items = ((i, column[i]) for i in range(len(column)))
    bar = progress(total=len(column), desc=f"checking {column.split} {column.name}", unit="image")
    hashes: list[bytes] = []
    bad: list[InputError] = []
    with bar, ThreadPoolExecutor(n_threads) as pool:
        for checked in map_in_order(pool, check, items, READ_AHEAD):
            if isinstance(checked, InputError):
                bad.append(checked)
            else:
                hashes.append(checked)
            bar.update(1)
    if bad:
        raise bad[0].with_advice(f"In all {len(bad)} of {len(column)} images of this column cannot be used.")
    return hashes
