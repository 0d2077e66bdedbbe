"""Scores of caption files of any size: options, the call and its result.

Light: the packages are imported when `score` is called.
"""

import dataclasses
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from manycaps.command_options import Columns, Option, SplitName, check_options
from manycaps.kit.base import InputTypeError
from manycaps.tables import Cell, Table, write_table

# Rows whose embeddings are compared all with all: 10,000 rows of 15 captions have 10^10 pairs, minutes of work.
MOST_POOLED_ROWS = 10_000


@dataclasses.dataclass(frozen=True)
class ScoreOptions:
    """What is scored, and how: the options of `manycaps score`."""

    GROUPS: ClassVar = {"inputs": "what to score", "on_error": "how to score"}

    # Names of modules, or the options of each by its name: {"trm_meteor": {"p_value": "exact"}}.
    metrics: Sequence[str] | Mapping[str, Mapping[str, Any]]
    inputs: Annotated[Sequence[str], Option("predictions, or complete rows", "SOURCE", "-i", "input")]
    # The same options resume a run that was killed.
    output: Annotated[str | os.PathLike[str], Option("of the results", "FOLDER", "-o")]
    references: Annotated[Sequence[str], Option("joined by id", "SOURCE", "-r")] = ()
    columns: Columns = None
    images: Annotated[str | None, Option("where the images of column or id lie", "FOLDER")] = None
    videos: Annotated[str | None, Option("where the videos of column or id lie", "FOLDER")] = None
    split: SplitName = None
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
    # Bytes of input of a part; None: a 32nd of all, 1 to 16 MiB.
    part_bytes: int | None = None

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("metrics", "inputs", "references"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InputTypeError(name, "a list of names", f"the text {value!r}", f"Write [{value!r}].")

    def options_of_metrics(self) -> dict[str, dict[str, Any]]:
        """Return the options that are given to each metric.

        >>> ScoreOptions(["trm_meteor"], ["rows.jsonl"], "scores").options_of_metrics()
        {'trm_meteor': {}}
        """
        given = self.metrics if isinstance(self.metrics, Mapping) else {name: {} for name in self.metrics}
        return {name: dict(options) for name, options in given.items()}


@dataclasses.dataclass(frozen=True)
class ScoreResult:
    """What a run has found; the values of single rows are in the folder."""

    # Holds rows/*.parquet, summary.json and rejected.jsonl.
    folder: pathlib.Path
    # The content of summary.json.
    summary: dict[str, Any]

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Values of the corpus by metric and key."""
        metrics: dict[str, dict[str, Any]] = self.summary["metrics"]
        return metrics

    def to_dict(self) -> dict[str, Any]:
        """Return the summary, which `json.dumps` accepts."""
        return self.summary

    def as_table(self, kind: str = "text") -> str:
        """Return the values as a table: "text", "md" or "latex" (booktabs)."""
        return values_table(self.metrics, kind)

    def _repr_html_(self) -> str:
        """Show the values as a table in a notebook."""
        return values_table(self.metrics, "html")


def score(options: ScoreOptions) -> ScoreResult:
    """Score caption files by any metrics, and write the scores of every row and of the corpus into a folder.

    With several processes, a script must call this under `if __name__ == "__main__":`, as for any pool of processes.

    Args:
        options: what is scored, and how.

    Returns:
        The values of the corpus, and the folder.

    Raises:
        ValueError: an input, option or row cannot be used, or the folder holds another run.
        OSError: a file cannot be read, or the folder cannot be written.
        ImportError: a package of a metric is missing.
        ChildProcessError: a process was killed.
    """
    from manycaps.installed_modules import progress_bars
    from manycaps.scoring.run import run_score

    with progress_bars(shown=False):  # of modules, beside those of the run
        return ScoreResult(*run_score(options))


def values_table(metrics: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    """Write the values of all metrics as a table: "text", "md", "latex" (booktabs) or "html".

    >>> print(values_table({"trm": {"trm": 0.5, "n_rows": 2, "signature": "trm|"}}, "md"), end="")
    | metric | value | number |
    |:---|:---|---:|
    | trm | trm | 0.5 |
    | trm | n_rows | 2 |
    """
    rows = [
        [Cell(name), Cell(key), Cell(f"{value:.6g}" if isinstance(value, float) else str(value))]
        for name, result in metrics.items()
        for key, value in result.items()
        if key != "signature"
    ]
    return write_table(Table("", ["metric", "value", "number"], rows, align="llr"), kind) + "\n"
