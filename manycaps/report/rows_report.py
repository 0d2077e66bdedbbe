"""Choose rows of files of captions, and write the page that shows them."""

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
import tqdm

from manycaps.caption_tables import CaptionRow, good_rows, open_source
from manycaps.caption_tables.columns import parsed_columns
from manycaps.report.ordered_rows import Embedder, ShownRow, TokenMetric, shown_rows, token_metric
from manycaps.report.row_choices import CHOICES, METRICS
from manycaps.report.rows_page import Wording, rows_page
from manycaps.report.source_names import source_name
from manycaps.saved_files import check_can_be_written, write_text_atomically
from manycaps.shared_module import check_whole_number
from manycaps.shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder

# What rows are sorted by, smallest first.
ORDERS: dict[str, Callable[[ShownRow], float]] = {
    "varied": lambda row: -row.mean_distance,
    "alike": lambda row: row.mean_distance,
    "best": lambda row: -row.mean_score,
    "worst": lambda row: row.mean_score,
}


def write_rows(options: argparse.Namespace) -> None:
    """Write the page of a command line.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.
    """
    check_whole_number("--rows", options.rows, 1)
    check_whole_number("--seed", options.seed, 0)
    if options.limit is not None:
        check_whole_number("--limit", options.limit, 1)
    check_can_be_written(options.output)
    columns = parsed_columns(options.columns) if options.columns else None
    source = open_source(options.input, options.references, columns, options.images, None, options.limit, either=True)
    rows = usable_rows(list(good_rows(source.rows())), options.input[0])
    metric = token_metric(options.metric, rows)
    if not options.images:  # names of images alone do not say where they lie
        rows = [row if isinstance(row.image, bytes) else row._replace(image=None) for row in rows]
    shown = chosen_rows(rows, options, metric, _embedder(options))
    distance = f"of sentence embeddings by {options.encoder}" if options.encoder else "of bags of words"
    choice = CHOICES[options.choose] if options.ids is None else "chosen by their ids"
    wording = Wording(source_name(options.input[0]), choice, METRICS[options.metric], f"1 minus the cosine, {distance}")
    write_text_atomically(options.output, rows_page(shown, wording))
    print(f"wrote {options.output}", file=sys.stderr)


def usable_rows(rows: Sequence[CaptionRow], file: str) -> list[CaptionRow]:
    """Return the rows that have two different captions of people, and say how many have not.

    Raises:
        ValueError: no row has.
    """
    usable = [row for row in rows if len(set(row.people)) > 1]
    if not usable:
        raise ValueError(
            f"{file}: expected rows with two different captions of people, got {len(rows)} without. Give files with "
            "several captions of an image, or add them with -r."
        )
    if len(usable) < len(rows):
        n_left = len(rows) - len(usable)
        print(f"left out {n_left:,} of {len(rows):,} rows: fewer than two different captions", file=sys.stderr)
    return usable


def chosen_rows(
    rows: Sequence[CaptionRow], options: argparse.Namespace, metric: TokenMetric, embed: Embedder | None
) -> list[ShownRow]:
    """Choose rows, and order their captions.

    Args:
        rows: all rows.
        options: `ids`, or `choose`, `rows` and `seed`.
        metric: of captions against others.
        embed: from captions to vectors, or None.

    Returns:
        The chosen rows in the order of the page; those of equal numbers in the order of the file.

    Raises:
        ValueError: there is no row with an id.
    """
    if options.ids is not None:
        known = {row.id: row for row in rows}
        unknown = next((each for each in options.ids if each not in known), None)
        if unknown is not None:
            raise ValueError(
                f"--ids: expected ids of rows with two different captions, such as {rows[0].id!r}, got {unknown!r}. "
                "Check the spelling."
            )
        return shown_rows([known[each] for each in options.ids], metric, embed)
    n_rows = min(options.rows, len(rows))
    if options.choose not in ORDERS:
        places = np.arange(n_rows)
        if options.choose == "random":
            places = np.sort(np.random.default_rng(options.seed).choice(len(rows), n_rows, replace=False))
        return shown_rows([rows[place] for place in places.tolist()], metric, embed)
    return sorted(shown_rows(rows, metric, embed), key=ORDERS[options.choose])[:n_rows]


def _embedder(options: argparse.Namespace) -> Embedder | None:
    """The sentence encoder of a command line; None without one."""
    if options.encoder is None:
        return None
    encoder, given = SentenceEncoder(), {**ENCODER_DEFAULTS, "encoder": options.encoder, "device": options.device}
    return lambda captions: encoder.embed(list(captions), given, tqdm.tqdm)
