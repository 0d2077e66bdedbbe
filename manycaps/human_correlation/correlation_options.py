"""Options of a comparison of metrics with people. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from manycaps.catalog.command_options import Columns, Limit, Option, Seed, SplitName, check_options, comma_list
from manycaps.catalog.module_options import ModuleOptions
from manycaps.catalog.modules import PARITY_DISTANCES


@dataclasses.dataclass(frozen=True)
class CorrelationOptions:
    """Which metric is compared with people, and on what: the options of `manycaps human-correlation`.

    The options of `against`, a second metric that the first one is tested against on the same rows, begin so.
    """

    GROUPS: ClassVar = {"config": "with --benchmark"}

    # A name of `BENCHMARKS`.
    benchmark: str
    # Name of a module of this collection, or path or name of another one.
    metric: str
    limit: Limit = None
    seed: Seed = 0
    config: Annotated[str | None, Option("of --metric: config_name, for example references")] = None
    options: ModuleOptions = None
    key: Annotated[str | None, Option("of --metric: key of the result, if not its name")] = None
    lower_is_better: Annotated[bool, Option("of --metric: reverse the sign, as for trm_*")] = False
    against: Annotated[str | None, Option("second metric, to test the first one against", "METRIC")] = None
    against_config: Annotated[str | None, Option("as --config")] = None
    against_options: Annotated[
        Sequence[str] | Mapping[str, Any] | None,
        Option("of the second metric", "NAME=VALUE", name="against-option", repeats=True),
    ] = None
    against_key: Annotated[str | None, Option("as --key")] = None
    against_lower_is_better: Annotated[bool, Option("as --lower-is-better")] = False
    data: Annotated[pathlib.Path | None, Option("local folder or file instead of the public copy")] = None
    # References of a caption, the first ones, or the number that is drawn; None: as the benchmark's protocol has it.
    references: Annotated[int | None, Option(least=1)] = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)


@dataclasses.dataclass(frozen=True)
class RatingOptions:
    """Which ratings, and of what: the options of `manycaps human-correlation --ratings`."""

    GROUPS: ClassVar = {"scales": "with --ratings"}

    # File of ratings: columns system, numbers, and for ratings of captions id.
    ratings: pathlib.Path
    # Captions of systems, folders that `manycaps score` wrote, or one that `manycaps compare` wrote.
    systems: Sequence[str]
    scales: Annotated[
        Sequence[str] | None,
        Option("of --ratings: columns of ratings; default: all others", "NAME,...", convert=comma_list),
    ] = None
    # As for `manycaps compare`.
    references: Sequence[str] = ()
    metrics: Sequence[str] | None = None
    names: Annotated[Sequence[str] | None, Option("of the systems; default: of the files", "NAME")] = None
    columns: Columns = None
    split: SplitName = None
    common_rows: Annotated[bool, Option("leave out rows that one of the files lacks")] = False
    clusters: Annotated[str | None, Option("ids with the same match belong together", "PATTERN")] = None
    limit: Limit = None
    distance: Annotated[str | None, Option("of human_parity", choices=PARITY_DISTANCES)] = None
    options: ModuleOptions = None
    seed: Seed = 0
