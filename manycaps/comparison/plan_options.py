"""Options of a plan. Light: packages are imported when options are checked."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from manycaps.catalog.command_options import Columns, EncoderOptions, Limit, Option, SplitName
from manycaps.catalog.module_options import ModuleOptions
from manycaps.catalog.modules import PARITY_DISTANCES

WRONG_SHARE = (
    "share of wrong captions to be found, such as 0.1; all rows are planned with the fewest captions, and the fewest "
    "references, of a row of the pilot"
)


@dataclasses.dataclass(frozen=True)
class PlanOptions(EncoderOptions):
    """What `manycaps plan` is asked for."""

    pilot: Annotated[Sequence[str], Option("files of captions", "PILOT", "")]
    references: Annotated[Sequence[str], Option("files of references", "FILE", "-r")] = ()
    find: Annotated[float | None, Option("a gap to be found; prints how many rows that takes", "GAP")] = None
    wrong: Annotated[float | None, Option(WRONG_SHARE, "SHARE")] = None
    power: Annotated[float, Option("chance of finding it")] = 0.8
    rows: Annotated[int | None, Option("rows to be tested; default: as many as the pilot has", least=1)] = None
    distance: Annotated[str, Option("as in human_parity", choices=PARITY_DISTANCES)] = "bert"
    encoder: Annotated[str | None, Option("sentence encoder of the distance bert")] = None
    options: ModuleOptions = None
    columns: Columns = None
    split: SplitName = None
    limit: Limit = None
