"""Options of splits. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Annotated, Literal

from manycaps.catalog.command_options import Columns, Option, Seed, SplitName, TokenizerName, check_options


@dataclasses.dataclass(frozen=True)
class SplitOptions:
    """What is split, and how: the options of `manycaps splits`."""

    sources: Annotated[Sequence[str], Option("files of captions, one row per image", "FILE", "")]
    by: Annotated[Literal["length", "concept"], Option()]
    output: Annotated[pathlib.Path, Option(flag="-o")] = pathlib.Path("splits.jsonl")
    labels: Annotated[str | None, Option("labels, one per line, for --by concept", "FILE")] = None
    tokenizer: TokenizerName = "ptb"
    test: Annotated[float, Option("share of the rows", "SHARE")] = 0.1
    validation: Annotated[float, Option("share of the rows", "SHARE")] = 0.1
    hold_out: Annotated[bool, Option("hold the last lengths or concepts out of training")] = False
    seed: Seed = 0
    columns: Columns = None
    # Of a file that has several, which is split again.
    split: SplitName = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)
