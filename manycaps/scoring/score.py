"""Scores of caption files of any size: the call and its result.

Light: the packages are imported when `score` is called.
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from manycaps.files.result_tables import Cell, Table, write_table
from manycaps.scoring.score_options import ScoreOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
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
        OSError: a file cannot be read, the folder cannot be written, or a process was killed.
        ImportError: a package of a metric is missing.
    """
    from manycaps.catalog.installed_modules import progress_bars
    from manycaps.scoring.run import run_score

    with progress_bars(shown=False):  # of modules, beside the run's
        folder, summary = run_score(options)
        return ScoreResult(folder=folder, summary=summary)


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
