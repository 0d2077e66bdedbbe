"""From the options of a comparison by scores of another program to the rankings."""

import json
import pathlib

from manycaps.catalog.command_options import check_left_out
from manycaps.comparison.compare_options import CompareOptions
from manycaps.files.caption_tables.ids import check_ids_meet, labels_of_ids
from manycaps.files.saved_files import check_can_be_written, check_no_earlier, sole_output, write_text_atomically
from manycaps.kit.errors import InputError, quote_value

from .ranking import ScoreComparison, ScoreRanking, compare_scores
from .score_tables import ScoreTable, read_score_tables

# The files that the command writes into its folder.
OUTPUT_NAMES = ("index.html", "comparison.json")

# Options of a comparison that have an effect on scores of another program.
USED = ("scores", "metrics", "names", "lower_is_better", "common_rows", "clusters", "full", "n_resamples", "seed")


def compare_score_tables(options: CompareOptions) -> ScoreComparison:
    r"""Read the tables of `options.scores`, and rank and test the systems by every score.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.

    >>> import pathlib, tempfile
    >>> table = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = table.write_text("id,base,mine\n1,0,1\n2,1,1\n3,0,1\n")
    >>> comparison = compare_score_tables(CompareOptions(scores=[str(table)]))
    >>> [(system.name, round(system.mean, 2)) for system in comparison.rankings[0].systems]
    [('mine', 1.0), ('base', 0.33)]
    """
    check_other_options(options)
    table = read_score_tables(list(options.scores or ()), options.metrics, options.names)
    notes: list[str] = []
    return ScoreComparison(rankings=[_ranking(table, name, options, notes) for name in table.names], notes=notes)


def save_comparison(options: CompareOptions, folder: pathlib.Path, *, overwrite: bool) -> ScoreComparison:
    """Compare, and write the page and every number into a folder, as `manycaps compare --scores` does."""
    with sole_output(folder):
        for name in OUTPUT_NAMES:
            check_can_be_written(folder / name, options.scores or ())
        if not overwrite:
            check_no_earlier((folder / name for name in OUTPUT_NAMES), "--output", "a report")
        comparison = compare_score_tables(options)
        numbers = json.dumps(comparison.to_dict(), indent=1, allow_nan=False) + "\n"
        for name, text in zip(OUTPUT_NAMES, (comparison.page(), numbers), strict=True):
            write_text_atomically(folder / name, text)
    return comparison


def check_other_options(options: CompareOptions) -> None:
    """Raise if an option is given that reads captions, which scores of another program do without."""
    check_left_out(options, "none beside --scores", "It belongs to captions: leave it out.", but=USED)


def _ranking(table: ScoreTable, name: str, options: CompareOptions, notes: list[str]) -> ScoreRanking:
    samples = table.samples(name)
    has_all = [item for item in table.items if all((system, item) in samples for system in table.systems)]
    if len(has_all) < len(table.items):
        missing = [(system, item) for item in table.items for system in table.systems if (system, item) not in samples]
        system, item = missing[0]
        fix = "Add them, or leave out items that a system lacks with --common-rows."
        if not has_all:
            fix = "No item has scores of all systems: check the ids."
            first, *others = ([item for item in table.items if (each, item) in samples] for each in table.systems)
            for other_name, other in zip(table.systems[1:], others, strict=True):
                check_ids_meet(f"scores of {quote_value(other_name)}", other, quote_value(table.systems[0]), first, fix)
        if not options.common_rows or not has_all:
            got = f"none of {quote_value(system)} for {quote_value(item)} ({len(missing):,} such in all)"
            raise InputError("--scores", f"{name} of every system for every item", got, fix)
        n_left_out = len(table.items) - len(has_all)
        notes.append(f"{name}: left out {n_left_out:,} of {len(table.items):,} items, which some systems lack.")
    return compare_scores(
        {system: [samples[system, item] for item in has_all] for system in table.systems},
        name=name,
        clusters=None if options.clusters is None else labels_of_ids(has_all, options.clusters),
        lower_is_better=options.lower_is_better,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
