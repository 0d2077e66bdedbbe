"""A summary as a table for people: plain text, Markdown or LaTeX."""

from collections.abc import Mapping, Sequence
from typing import Any

HEADER = ("metric", "value", "number")


def as_table(metrics: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    """Write the values of all metrics as a table.

    Args:
        metrics: results by the name of the metric.
        kind: "text", "md" or "latex" (booktabs).

    Returns:
        The table, with a line break at its end.

    >>> print(as_table({"trm": {"trm": 0.5, "n_rows": 2, "signature": "trm|"}}, "md"), end="")
    | metric | value | number |
    |---|---|---|
    | trm | trm | 0.5 |
    | trm | n_rows | 2 |
    """
    rows = [
        (name, key, f"{value:.6g}" if isinstance(value, float) else str(value))
        for name, result in metrics.items()
        for key, value in result.items()
        if key != "signature"
    ]
    return {"text": _text, "md": _markdown, "latex": _latex}[kind](rows)


def _text(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (HEADER, *rows))
    return "".join(line.rstrip() + "\n" for line in lines)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|", *lines]) + "\n"


def _latex(rows: Sequence[Sequence[str]]) -> str:
    cells = [" & ".join(cell.replace("_", r"\_") for cell in row) + r" \\" for row in (HEADER, *rows)]
    lines = [r"\begin{tabular}{llr}", r"\toprule", cells[0], r"\midrule", *cells[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"
