"""Write meteor15.json and meteor15_languages.json: statistics and scores of the Java program METEOR 1.5.

Needs Java and tests/requirements.txt: the program comes with pycocoevalcap, and is called as that calls it. The English
captions come from captions.json. Other languages have the first captions of tests/language_captions.py, with three
references each; pycocoevalcap has no tables of paraphrases but the English one, so that these languages match by form
and stem (Czech by form).
"""

import itertools
import pathlib
import re
import subprocess
from collections.abc import Sequence
from typing import Any

import pycocoevalcap

from tests.language_captions import PARTS
from tests.language_captions import segments as segments_of_language
from tests.parity.golden.golden_file import caption_rows, meta, run, write_json

FOLDER = pathlib.Path(pycocoevalcap.__path__[0]) / "meteor"

# What one line of the program's protocol cannot hold: its separator, and ends of lines.
NOT_IN_A_LINE = re.compile(r"\|\|\||[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# References of a segment; more would only make the file longer.
N_REFERENCES = 3

# Segments of another language; tests/parity/test_meteor15.py asks the program itself for 1,000.
N_SEGMENTS = 120

Segments = Sequence[tuple[str, list[str]]]


def english_segments() -> Segments:
    """Return captions with references of their row: all of the nasty ones, and some of each other row."""
    found = []
    for row in caption_rows():
        pool = [text for text in row["references"] if not NOT_IN_A_LINE.search(text)]
        texts = [text for text in (*row["candidates"], *row["references"]) if not NOT_IN_A_LINE.search(text)]
        for i, text in enumerate(texts if row["_id"].startswith("nasty/") else texts[:12]):
            found.append((text, list(itertools.islice(itertools.cycle(pool), i, i + N_REFERENCES))))
    return found


def modules(language: str) -> list[str]:
    """Return the program's option for the kinds of matches without paraphrases."""
    return ["-m", "exact" if language == "cs" else "exact stem"]


def ask(lines: Sequence[str], language: str, options: Sequence[str]) -> list[str]:
    """Give the program lines, and return its answers."""
    command = f"java -Dfile.encoding=UTF-8 -Xmx2G -jar meteor-1.5.jar - - -stdio -l {language} -norm".split()
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [*command, *options], cwd=FOLDER, input=text, capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout.splitlines()


def answers(
    segments: Segments, language: str = "en", options: Sequence[str] = ()
) -> tuple[list[list[int]], list[str], str]:
    """Return the statistics of the segments of a language, their scores, and the score of the corpus."""
    lines = [" ||| ".join(("SCORE", *references, hypothesis)) for hypothesis, references in segments]
    statistics = ask(lines, language, options)[: len(segments)]
    scores = ask([" ||| ".join(("EVAL", *statistics))], language, options)
    numbers = [[int(float(number)) for number in line.split()] for line in statistics]
    return numbers, scores[: len(segments)], scores[len(segments)]


def main() -> None:
    version = subprocess.run(["java", "-version"], capture_output=True, check=True, text=True).stderr.splitlines()[1]
    segments = english_segments()
    statistics, scores, corpus_score = answers(segments)
    about = meta(
        ("pycocoevalcap",),
        program="meteor-1.5.jar - - -stdio -l en -norm; SCORE for the statistics, EVAL for the scores",
        java=version,
        corpus_score=corpus_score,
    )
    rows: list[dict[str, Any]] = [
        {"hypothesis": hypothesis, "references": references, "statistics": numbers, "score": score}
        for (hypothesis, references), numbers, score in zip(segments, statistics, scores, strict=True)
    ]
    write_json("meteor15.json", {"meta": about, "segments": rows})
    about = meta(
        ("pycocoevalcap",),
        program="meteor-1.5.jar - - -stdio -l LANGUAGE -norm -m 'exact stem'; SCORE, then EVAL of its answers",
        columns="of a segment: lengths, function words, exact and stem matches; chunks and matched words; score",
        java=version,
    )
    languages = {}
    for language in PARTS:
        segments = segments_of_language(language, N_SEGMENTS)
        statistics, scores, corpus_score = answers(segments, language, modules(language))
        # The columns between belong to kinds that are not asked for.
        lines = [[*row[:12], *row[20:], float(score)] for row, score in zip(statistics, scores, strict=True)]
        languages[language] = [*(" ".join(map(str, line)) for line in lines), corpus_score]
    write_json("meteor15_languages.json", {"meta": about, **languages})


if __name__ == "__main__":
    run(main)
