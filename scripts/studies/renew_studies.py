"""Run all studies, and put their tables and pictures where docs/studies.md shows them: what `make studies` does.

python -m scripts.studies.renew_studies [--data FOLDER] [--only STUDY ...] [--output studies-output]

Each study runs on the bundled scenes, and with --data, a folder of public data sets, on MSVD, Flickr8k and COCO as
well, as far as `study_list.py` names them. A study that is interrupted resumes at the next call with the same --output;
a finished one is only drawn again. Delete the folder to compute all of them from scratch. What docs/studies.md shows is
then copied into docs/studies; the tables stay in the folder.
"""

import pathlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

from scripts.studies.study_list import BUNDLED, STUDIES
from scripts.studies.study_options import ROOT, Options, add_output, tool_parser

SHOWN, PAGE = ROOT / "docs" / "studies", ROOT / "docs" / "studies.md"

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
parser.add_argument("--only", nargs="+", choices=STUDIES, default=list(STUDIES), metavar="STUDY")
add_output(parser)
parse = parser.parse_args


def commands(options: Options) -> Iterator[tuple[str, list[str]]]:
    """Yield the folder of the results, and the arguments, of every run."""
    for study in options.only:
        for corpus, arguments in STUDIES[study].items():
            if corpus == BUNDLED or options.data:
                given = [] if corpus == BUNDLED else ["--data", str(options.data), "--corpus", corpus]
                yield corpus, ["-m", f"scripts.studies.{study}", *given, *shlex.split(arguments)]


def main(options: Options) -> int:
    """Run the studies one after the other."""
    for corpus, arguments in commands(options):
        folder = options.output / corpus
        print(" ".join(arguments), flush=True)
        done = subprocess.run([sys.executable, *arguments, "--output", str(folder)], check=False, cwd=ROOT)
        if done.returncode:
            return done.returncode
        for path in folder.iterdir():
            if f"(studies/{corpus}/{path.name})" in PAGE.read_text(encoding="utf-8"):
                (SHOWN / corpus).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, SHOWN / corpus)
    return 0


if __name__ == "__main__":
    sys.exit(main(parse()))
