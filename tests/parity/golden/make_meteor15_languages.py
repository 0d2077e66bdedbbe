"""Write meteor15_languages.json: statistics and scores of the Java program METEOR 1.5 in other languages than English.

The captions are the first of those of tests/language_captions.py, with three references each. Needs Java and
tests/requirements.txt: the program comes with pycocoevalcap, which has no tables of paraphrases but the English one, so
that the languages match by form and stem (Czech by form).
"""

import pathlib
import subprocess
from collections.abc import Sequence

import pycocoevalcap

from tests.language_captions import PARTS, segments
from tests.parity.golden.golden_file import meta, parse_no_arguments, write_json

# Segments of a language; tests/parity/test_meteor15_languages.py asks the program itself for 1,000.
N_SEGMENTS = 120

FOLDER = pathlib.Path(pycocoevalcap.__path__[0]) / "meteor"


def modules(language: str) -> list[str]:
    """Return the program's option for the kinds of matches without paraphrases."""
    return ["-m", "exact" if language == "cs" else "exact stem"]


def ask(language: str, lines: Sequence[str], options: Sequence[str]) -> list[str]:
    """Give the program lines, and return its answers."""
    command = f"java -Dfile.encoding=UTF-8 -Xmx1G -jar meteor-1.5.jar - - -stdio -l {language} -norm".split()
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [*command, *options], cwd=FOLDER, input=text, capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout.splitlines()


def answers(language: str, options: Sequence[str], n_segments: int) -> tuple[list[list[int]], list[str]]:
    """Return the statistics of the segments of a language, their scores, and the score of the corpus."""
    pairs = segments(language, n_segments)
    lines = [" ||| ".join(("SCORE", *references, hypothesis)) for hypothesis, references in pairs]
    statistics = ask(language, lines, options)[: len(pairs)]
    scores = ask(language, [" ||| ".join(("EVAL", *statistics))], options)
    return [[int(float(number)) for number in line.split()] for line in statistics], scores


def main() -> None:
    """Write the file."""
    parse_no_arguments(__doc__)
    version = subprocess.run(["java", "-version"], capture_output=True, check=True, text=True).stderr.splitlines()[1]
    about = meta(
        ("pycocoevalcap",),
        program="meteor-1.5.jar - - -stdio -l LANGUAGE -norm -m 'exact stem'; SCORE, then EVAL of its answers",
        columns="of a segment: lengths, function words, exact and stem matches; chunks and matched words; score",
        java=version,
    )
    languages = {}
    for language in PARTS:
        statistics, scores = answers(language, modules(language), N_SEGMENTS)
        # The columns between are those of kinds that are not asked for.
        rows = [[*row[:12], *row[20:], float(score)] for row, score in zip(statistics, scores, strict=False)]
        languages[language] = [" ".join(map(str, row)) for row in rows] + [scores[len(statistics)]]
    write_json("meteor15_languages.json", {"meta": about, **languages})


if __name__ == "__main__":
    main()
