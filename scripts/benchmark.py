"""Measure the collection beside the programs that people use today, in one process and one run.

python -m scripts.benchmark                    every suite in scripts/benchmarks/
python -m scripts.benchmark --only triangle_rank   one suite
python -m scripts.benchmark --csv results.csv  the table as a file too
python -m scripts.benchmark --small            tiny sizes, whose ratios mean nothing: no claim is checked

Ratios are claims: both programs run in turn on this machine, on the same inputs; and so are limits of time and memory.
Peers are ports of the authors' published formulas, or the installed libraries themselves; each suite says which. Exits
with 1 if a claim is not reached. Needs tests/requirements.txt, metrics/emscore_pac/requirements.txt and
measurements/vdtk_leave_one_out/requirements.txt.
"""

import argparse
import csv
import importlib
import io
import pathlib
import sys
from collections.abc import Sequence

import evaluate

from manycaps.files.saved_files import write_text_atomically
from scripts.benchmarks import timing
from scripts.benchmarks.timing import Comparison

FOLDER = pathlib.Path(__file__).resolve().parent


def suite_names() -> list[str]:
    """Return the names of all suites: the files of scripts/benchmarks that define `comparisons`."""
    paths = sorted((FOLDER / "benchmarks").glob("*.py"))
    return [path.stem for path in paths if "\ndef comparisons(" in path.read_text(encoding="utf-8")]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], choices=suite_names(), metavar="SUITE")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--small", action="store_true", help="run at tiny sizes, and check no claim")
    return parser.parse_args(arguments)


def as_line(row: Comparison) -> str:
    """Format one comparison for the terminal."""
    target = "" if row.target is None else f"(claim: {row.target:g})" + ("" if row.ratio >= row.target else "  MISSED")
    return (
        f"{row.work:<58} {row.ours_per_second:>12,.4g} {row.unit}/{row.per}  {row.ratio:>8,.4g} x {row.peer} "
        f"[{row.peer_per_second:,.4g} {row.unit}/{row.per}] {target}"
    )


def shrink() -> None:
    """Give the suites that are imported the sizes of their `SMALL`, and time each work once."""
    timing.MOST_REPEATS = 1
    for name in suite_names():
        suite = sys.modules.get(f"scripts.benchmarks.{name}")
        for constant, size in suite.SMALL.items() if suite else ():
            setattr(suite, constant, size)


def main(only: list[str], csv_path: pathlib.Path | None, is_small: bool = False) -> int:
    """Run the suites and print their tables; 1 if a claim is missed."""
    evaluate.utils.logging.disable_progress_bar()
    rows: list[Comparison] = []
    for name in only or suite_names():
        print(f"\n{name}")
        suite = importlib.import_module(f"scripts.benchmarks.{name}")
        if is_small:
            shrink()
        for row in suite.comparisons():
            row = row._replace(target=None) if is_small else row
            print("  " + as_line(row), flush=True)
            rows.append(row)
    if csv_path:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([*Comparison._fields, "ratio"])
        writer.writerows([*row, row.ratio] for row in rows)
        write_text_atomically(csv_path, text.getvalue(), newline="")
    return int(any(row.target is not None and row.ratio < row.target for row in rows))


if __name__ == "__main__":
    given = parse()
    sys.exit(main(given.only, given.csv, given.small))
