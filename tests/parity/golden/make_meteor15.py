"""Write meteor15.json: statistics and scores of the Java program METEOR 1.5 for captions with their references.

Needs Java and tests/requirements.txt: the program comes with pycocoevalcap, and is called as that calls it.
"""

import itertools
import pathlib
import re
import subprocess

import pycocoevalcap

from tests.parity.golden.golden_file import caption_rows, meta, parse_no_arguments, write_json

# What one line of the program's protocol cannot hold: its separator, and ends of lines.
NOT_IN_A_LINE = re.compile(r"\|\|\||[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# References of a segment; more would only make the file longer.
N_REFERENCES = 3


def segments() -> list[tuple[str, list[str]]]:
    """Return captions with references of their row: all of the nasty ones, and some of each other row."""
    found = []
    for row in caption_rows():
        pool = [text for text in row["references"] if not NOT_IN_A_LINE.search(text)]
        texts = [text for text in (*row["candidates"], *row["references"]) if not NOT_IN_A_LINE.search(text)]
        for i, text in enumerate(texts if row["_id"].startswith("nasty/") else texts[:12]):
            found.append((text, list(itertools.islice(itertools.cycle(pool), i, i + N_REFERENCES))))
    return found


def ask(lines: list[str], n_answers: int) -> tuple[list[str], str]:
    """Give the program lines, and return its first answers and what it says after them."""
    folder = pathlib.Path(pycocoevalcap.__path__[0]) / "meteor"
    command = "java -Dfile.encoding=UTF-8 -Xmx2G -jar meteor-1.5.jar - - -stdio -l en -norm".split()
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, check=True, encoding="utf-8")
    answers = done.stdout.splitlines()
    return answers[:n_answers], answers[-1]


def main() -> None:
    """Write the file."""
    parse_no_arguments(__doc__)
    pairs = segments()
    lines = [" ||| ".join(("SCORE", *references, hypothesis)) for hypothesis, references in pairs]
    statistics, _ = ask(lines, len(pairs))
    scores, corpus_score = ask([" ||| ".join(("EVAL", *statistics))], len(pairs))
    version = subprocess.run(["java", "-version"], capture_output=True, check=True, text=True).stderr.splitlines()[1]
    about = meta(
        ("pycocoevalcap",),
        program="meteor-1.5.jar - - -stdio -l en -norm; SCORE for the statistics, EVAL for the scores",
        java=version,
        corpus_score=corpus_score,
    )
    rows = [
        {
            "hypothesis": hypothesis,
            "references": references,
            "statistics": [int(float(number)) for number in numbers.split()],
            "score": score,
        }
        for (hypothesis, references), numbers, score in zip(pairs, statistics, scores, strict=True)
    ]
    write_json("meteor15.json", {"meta": about, "segments": rows})


if __name__ == "__main__":
    main()
