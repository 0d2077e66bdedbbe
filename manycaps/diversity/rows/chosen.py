"""From the options of a choice to the rows: read, choose, and order their captions."""

import collections
import functools
import pathlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tqdm

from manycaps.catalog.command_options import encoder_options
from manycaps.diversity.encoders import load_encoder
from manycaps.files.caption_tables import CaptionRow, good_rows, open_source
from manycaps.files.caption_tables.columns import as_columns
from manycaps.files.caption_tables.files import source_name
from manycaps.files.saved_files import write_text_atomically
from manycaps.kit.errors import InputError
from manycaps.kit.rows import words_of_unknown

from .ordered import CHUNK_ROWS, Embedder, RowChoice, ShownRow, TokenMetric, order_rows, token_metric
from .rows_options import CHOICES, METRICS, RowsOptions

# Sort keys of rows, smallest first.
ORDERS: dict[str, Callable[[ShownRow], float]] = {
    "varied": lambda row: -row.mean_distance,
    "alike": lambda row: row.mean_distance,
    "best": lambda row: -row.mean_score,
    "worst": lambda row: row.mean_score,
}


class ChosenRows(RowChoice):
    """Rows that a notebook shows as the page does."""

    def _repr_html_(self) -> str:
        """Return the rows, as a notebook shows them."""
        from .page import rows_sections

        return rows_sections(self)

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page.

        Raises:
            OSError: it cannot be written.
        """
        from .page import rows_page

        write_text_atomically(pathlib.Path(path), rows_page(self))


def rows(options: RowsOptions) -> ChosenRows:
    """Choose rows, and order their captions by their distance to the mean.

    Args:
        options: files, and which rows of them are wanted.

    Returns:
        The rows, which a notebook shows as on the page. `to_dict()` has their captions with distances and scores, and
        `save(path)` writes the page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.

    >>> import tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> _ = path.write_text('[{"id": "1", "captions": ["birds", "a dog runs", "a dog runs"]}]')
    >>> [caption["text"] for caption in rows(RowsOptions([str(path)])).to_dict()["rows"][0]["people"]]
    ['a dog runs', 'birds']
    """
    columns = as_columns(options.columns)
    given = columns, options.images, None, options.limit
    how: dict[str, Any] = {"either": True, "split": options.split, "tokenizer": options.tokenizer}
    source = open_source(options.input, options.references, *given, **how)
    read = tqdm.tqdm(good_rows(source.rows()), desc="reading", unit="row", delay=1)
    usable = usable_rows(list(read), options.input[0])
    metric = token_metric(options.metric, usable, options.tokenizer)
    if not options.images:  # names of images alone do not say where they lie
        usable = [row if isinstance(row.image, bytes) else row._replace(image=None) for row in usable]
    shown = choose_rows(usable, options, metric, _embedder(options, usable))
    distance = f"of sentence embeddings by {options.encoder}" if options.encoder else "of bags of words"
    choice = CHOICES[options.choose] if options.ids is None else "chosen by their ids"
    name = source_name(options.input[0])
    return ChosenRows(
        rows=shown, name=name, choice=choice, metric=METRICS[options.metric], distance=f"1 minus the cosine, {distance}"
    )


def usable_rows(rows: Sequence[CaptionRow], file: str) -> list[CaptionRow]:
    """Return the rows that have two different human captions, and say how many have not; raise if no row has."""
    usable = [row for row in rows if len(set(row.people)) > 1]
    if not usable:
        fix = "Give files with several captions of an image, or add them with -r."
        raise InputError(file, "rows with two different human captions", f"{len(rows)} without", fix)
    if len(usable) < len(rows):
        n_left = len(rows) - len(usable)
        print(f"left out {n_left:,} of {len(rows):,} rows: fewer than two different captions", file=sys.stderr)
    return usable


def choose_rows(
    rows: Sequence[CaptionRow], options: RowsOptions, metric: TokenMetric, embed: Embedder | None
) -> list[ShownRow]:
    """Choose rows, and order their captions; rows of equal numbers stay in the order of the file."""
    show = functools.partial(order_rows, metric=metric, embed=embed, tokenizer=options.tokenizer)
    if options.ids is not None:
        known = {row.id: row for row in rows}
        unknown = next((row_id for row_id in options.ids if row_id not in known), None)
        if unknown is not None:
            expected = f"ids of rows with two different captions, such as {rows[0].id!r}"
            raise InputError("--ids", expected, f"{unknown!r}", "Check the spelling.")
        return show([known[row_id] for row_id in options.ids])
    n_rows = min(options.rows, len(rows))
    if options.choose not in ORDERS:
        places = np.arange(n_rows)
        if options.choose == "random":
            places = np.sort(np.random.default_rng(options.seed).choice(len(rows), n_rows, replace=False))
        return show([rows[number] for number in places.tolist()])
    leading: list[ShownRow] = []
    with tqdm.tqdm(total=len(rows), desc=options.choose, unit="row", delay=1) as bar:
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            # Rows of earlier chunks come first, so that rows of equal numbers keep the order of the file.
            leading = sorted([*leading, *show(chunk)], key=ORDERS[options.choose])[:n_rows]
            bar.update(len(chunk))
    return leading


def _embedder(options: RowsOptions, rows: Sequence[CaptionRow]) -> Embedder | None:
    """The sentence encoder of a command line, which knows something of every caption; None without one."""
    if options.encoder is None:
        return None
    encoder, counts = load_encoder(**encoder_options(options)), collections.Counter[str]()
    columns = {"people": [row.people for row in rows], "predictions": [row.predictions or [] for row in rows]}
    encoder.check_known(columns, lambda name, i, j: f"{rows[i].file}: {name}[{rows[i].row}][{j}]")
    warned: set[bool] = set()

    def embed_with_warning(captions: Sequence[str]) -> np.ndarray:
        counts.update(encoder.count_unread(list(captions)))
        words = words_of_unknown(counts)
        if words is not None and not warned:
            warned.add(True)
            warnings.warn(words, stacklevel=2)
        return encoder.embed(list(captions))

    return embed_with_warning
