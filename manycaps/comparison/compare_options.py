"""Options of a comparison. Light: it imports no package."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from manycaps.catalog.command_options import Columns, EncoderOptions, Option, SplitName, comma_list
from manycaps.catalog.module_options import ModuleOptions
from manycaps.catalog.modules import PARITY_DISTANCES, modules_with
from manycaps.comparison.table_terms import check_terms
from manycaps.kit.errors import InputError

# Orders in which systems are printed: by their faults, or by the rows that detect a difference from people.
ORDERS = ("faults", "likeness")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions(EncoderOptions):
    """Which models the modules run, those that have one; and all other options of modules."""

    encoder: Annotated[str | None, Option(f"sentence encoder of {modules_with('encoder')}")] = None
    checkpoint: Annotated[str | None, Option(f"weights of {modules_with('checkpoint')}", "PATH")] = None
    device: Annotated[str | None, Option("of all networks, such as cuda; default: the best available")] = None
    options: ModuleOptions = None


# Those that have a name of their own.
MODEL_OPTIONS = tuple(field.name for field in dataclasses.fields(ModelOptions) if field.name != "options")


@dataclasses.dataclass(frozen=True)
class CompareOptions(ModelOptions):
    """Options of `manycaps compare`, with their defaults; see `manycaps compare --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --n-resamples.
    """

    systems: Annotated[
        Sequence[str],
        Option("captions of a system, or folder of its scores; or a report, to show it again", "SYSTEM", ""),
    ] = ()
    references: Annotated[Sequence[str], Option("human captions", "FILE", "-r")] = ()
    # None: those for which the rows have references, images or videos.
    metrics: Annotated[
        Sequence[str] | None, Option("modules of the tables, separated by commas", "NAME,...", "-m", convert=comma_list)
    ] = None
    scores: Annotated[
        Sequence[str] | None,
        Option("in place of captions: tables of scores of any other program, item by item", "FILE"),
    ] = None
    lower_is_better: Annotated[bool, Option("of --scores: small scores are good")] = False
    names: Annotated[Sequence[str] | None, Option("names of the systems; default: the files' names")] = None
    baseline: Annotated[
        str | None, Option("name of the system that the others are compared with; default: the first")
    ] = None
    systems_by: Annotated[
        str | None, Option("column that names the system of each row, where one table holds all of them", "COLUMN")
    ] = None
    with_captions: Annotated[bool, Option("read the captions of folders of scores again")] = False
    columns: Columns = None
    split: SplitName = None
    aligned: Annotated[bool, Option("match lines of plain text by their numbers, as those of E2E and WebNLG")] = False
    common_rows: Annotated[bool, Option("leave out rows that one of the files lacks")] = False
    images: Annotated[str | None, Option(f"images, for {modules_with('images')}", "FOLDER")] = None
    videos: Annotated[str | None, Option(f"videos, for {modules_with('videos')}", "FOLDER")] = None
    clusters: Annotated[
        str | None,
        Option("regular expression: ids with the same match belong together; default: rows of one image", "PATTERN"),
    ] = None
    limit: Annotated[int | None, Option("compare N rows, drawn with --seed", least=1)] = None
    people: Annotated[
        int | None, Option("a sanity check: N references of each row, drawn with --seed, stand in as a system", least=1)
    ] = None
    full: Annotated[bool, Option("print all pairs and tables, also of systems as sets and of what they share")] = False
    distance: Annotated[
        str | None,
        Option("how human_parity compares captions; default: bert where it is installed", choices=PARITY_DISTANCES),
    ] = None
    margin: Annotated[float | None, Option("gap that counts as none; adds equivalence tests", "GAP", above=0)] = None
    table: Annotated[
        Sequence[str] | None,
        Option(
            'columns of the printed table, eight at most, separated by commas: "faults,omitted,rows to detect"',
            "COLUMN,...",
            convert=comma_list,
        ),
    ] = None
    sort: Annotated[str | None, Option("order of the systems (as they were given)", choices=ORDERS)] = None
    n_resamples: Annotated[int, Option("random splits and sign flips of the tests", least=1, most=10_000_000)] = 9_999
    seed: Annotated[int, Option("of tests and intervals", least=0)] = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        super().__post_init__()
        if not self.systems and self.scores is None:
            raise InputError("systems", "captions of a system, or --scores", "none", "Name a file.")
        if self.table is not None:
            check_terms(self.table)
        if self.lower_is_better and self.scores is None:
            raise InputError("--lower-is-better", "tables of scores (--scores)", "none", "Leave it out.")
