"""Options of a run. Light: packages are imported when it starts."""

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from manycaps.catalog.command_options import Columns, Option, SplitName, check_options, comma_list
from manycaps.catalog.module_options import ModuleOptions
from manycaps.kit.errors import InputError, InputTypeError, quote_path

# Rows whose embeddings are compared all with all: 10,000 rows of 15 captions have 10^10 pairs, minutes of work.
MOST_POOLED_ROWS = 10_000


def mebibytes(text: str) -> int:
    """Return the bytes of a text that is a number of MiB."""
    value = float(text)
    if not 1e-4 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f"expected a number from 0.0001 to 1e+06, got {value}")
    return int(value * 2**20)


@dataclasses.dataclass(frozen=True)
class ScoreOptions:
    """What is scored, and how: the options of `manycaps score`."""

    GROUPS: ClassVar = {"metrics": "what to score", "on_error": "how to score"}

    # Names of modules, or the options of each by its name: {"trm_meteor": {"p_value": "exact"}}.
    metrics: Annotated[
        Sequence[str] | Mapping[str, Mapping[str, Any]],
        Option("modules, as `manycaps list` names them", "NAME,...", "-m", convert=comma_list),
    ]
    inputs: Annotated[Sequence[str], Option("predictions, or complete rows", "SOURCE", "-i", "input")]
    # The same options resume a run that was killed.
    output: Annotated[str | os.PathLike[str], Option("of the results", "FOLDER", "-o")]
    references: Annotated[Sequence[str], Option("joined by id", "SOURCE", "-r")] = ()
    columns: Columns = None
    images: Annotated[str | None, Option("where the images of column or id lie", "FOLDER")] = None
    videos: Annotated[str | None, Option("where the videos of column or id lie", "FOLDER")] = None
    split: SplitName = None
    aligned: Annotated[bool, Option("match lines of plain text by their numbers")] = False
    limit: Annotated[int | None, Option("score only the first N rows", least=1)] = None
    on_error: Annotated[
        Literal["raise", "reject"], Option("stop at a bad row, or leave it out", choices=("raise", "reject"))
    ] = "raise"
    max_rejected: Annotated[float, Option("largest share of rejected rows", "SHARE", least=0, most=1)] = 1.0
    max_pooled_rows: Annotated[
        int, Option("most rows for a value over all captions that needs every embedding at once", least=1)
    ] = MOST_POOLED_ROWS
    restart: Annotated[bool, Option("begin from scratch")] = False
    engine: Annotated[Literal["local", "ray"], Option("this machine, or a Ray cluster", choices=("local", "ray"))] = (
        "local"
    )
    address: Annotated[str | None, Option("address of the cluster, auto for this machine's; default: start one")] = None
    num_gpus: Annotated[float, Option("GPUs of each worker of the cluster", "N", least=0, most=1000)] = 0.0
    processes: Annotated[int | None, Option("default: one per core, or one if a model runs", least=1)] = None
    part_bytes: Annotated[
        int | None,
        Option("size of a part; default: 1/32 of the input, 1 to 16 MiB", "MB", name="part-size", convert=mebibytes),
    ] = None
    # Beside the options in `metrics`.
    options: ModuleOptions = None
    device: Annotated[str | None, Option("of the models, such as cuda; default: the best one")] = None

    def __post_init__(self) -> None:
        check_options(self)
        if not os.fspath(self.output):  # "$FOLDER" of a shell that has no such variable; it would be this folder
            raise InputError("--output", "the name of a folder", "an empty one", "Name it, or give a dot for this one.")
        if os.path.isfile(self.output):
            raise InputError("--output", "a folder", f"{quote_path(self.output)}, which is a file", "Name another one.")
        if self.engine != "ray" and (self.address is not None or self.num_gpus):
            got, fix = f"{self.engine} with --address or --num-gpus", "Leave these out for this machine."
            raise InputError("--engine", "ray", got, fix)
        for name in ("metrics", "inputs", "references"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InputTypeError(name, "a list of names", f"the text {value!r}", f"Write [{value!r}].")
