"""Run all studies, and put their tables and pictures where docs/studies.md shows them: what `make studies` does.

python -m scripts.studies.renew_studies [--data FOLDER] [--only STUDY ...] [--output studies-output]

Each study runs on the bundled scenes, and with --data, a folder of public data sets (`--data` of the studies), on MSVD,
Flickr8k and COCO as well, as far as it says which of them it takes (`CORPORA` of `study_list.py`). A study that is
interrupted resumes at the next call, as long as --output is the same; a finished one is only drawn again. Delete the
folder to compute all of them from scratch. Tables and pictures are then copied into docs/studies. Needs
scripts/requirements.txt and metrics/trm_bert/requirements.txt.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence

from scripts.command_line import start_tool
from scripts.studies.study_list import BUNDLED, STUDIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = ROOT / "docs" / "studies"


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
    parser.add_argument("--only", nargs="+", choices=STUDIES, default=list(STUDIES), metavar="STUDY")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("studies-output"), metavar="FOLDER")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt")

# Nothing is computed where the packages of the studies are missing.
import matplotlib  # noqa: F401


def commands(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield the folder of the results, and the arguments, of every run."""
    for study in options.only:
        for corpus, extra in STUDIES[study].items():
            if corpus != BUNDLED and not options.data:
                continue
            given = [] if corpus == BUNDLED else ["--data", str(options.data), "--corpus", corpus]
            yield corpus, ["-m", f"scripts.studies.{study}", *given, *extra]


def main(options: argparse.Namespace) -> int:
    """Run the studies one after the other."""
    for corpus, arguments in commands(options):
        folder = options.output / corpus
        print(" ".join(arguments), flush=True)
        done = subprocess.run([sys.executable, *arguments, "--output", str(folder)], check=False, cwd=ROOT)
        if done.returncode:
            return done.returncode
        shutil.copytree(folder, SHOWN / corpus, ignore=shutil.ignore_patterns("*.json", ".*"), dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
