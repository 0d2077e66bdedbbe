"""Options of core sets. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Annotated, Literal

from manycaps.catalog.command_options import Columns, Option, TokenizerName, check_options


@dataclasses.dataclass(frozen=True)
class CoreSetOptions:
    """What is covered, by what: the options of `manycaps core-set`."""

    train: Annotated[Sequence[str], Option("files of the captions that may be chosen", "TRAIN", "")]
    test: Annotated[Sequence[str], Option("files of the rows to be covered", "FILE")]
    output: Annotated[pathlib.Path, Option(flag="-o")] = pathlib.Path("core_set.json")
    metric: Annotated[Literal["bleu_1", "bleu_2", "bleu_3", "bleu_4", "cider_d"], Option()] = "bleu_4"
    tokenizer: TokenizerName = "ptb"
    thresholds: Annotated[
        Sequence[float] | None, Option("scores to be reached; default: 0.1 to 0.9, and 0.25 to 3 for cider_d")
    ] = None
    scores: Annotated[pathlib.Path | None, Option("scores of another metric (.npy)")] = None
    columns: Columns = None
    split: Annotated[str | None, Option("of Karpathy's or MSR-VTT's file as TRAIN: train+restval")] = None
    test_split: Annotated[str | None, Option("of such a file as --test: test")] = None
    limit: Annotated[int | None, Option("use the first rows of each side only", least=1)] = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)
