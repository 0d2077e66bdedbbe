"""What the programs beside this file share: their command line, the captions, the tokens, and how a file is written."""

import argparse
import functools
import importlib.metadata
import json
import pathlib
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

GOLDEN = pathlib.Path(__file__).resolve().parent

# The sets of candidates and references that the golden distribution metrics compare:
# row of captions.json, first candidate, number of candidates, number of references.
SETS = (
    ("pancake_breakfast/diverse", 0, 5, 5),
    ("pancake_breakfast/repeating", 0, 5, 5),
    ("pancake_breakfast/off_topic", 0, 5, 5),
    ("kite_on_beach/diverse", 0, 10, 5),
    ("kite_on_beach/repeating", 0, 4, 6),
    ("kite_on_beach/off_topic", 0, 6, 6),
    ("street_market/diverse", 0, 10, 6),
    ("street_market/diverse", 2, 2, 3),
    ("street_market/off_topic", 3, 3, 2),
    ("dog_in_snow/diverse", 0, 4, 4),
    ("dog_in_snow/diverse", 5, 1, 5),
    ("dog_in_snow/diverse", 5, 5, 1),
    ("football_match/diverse", 1, 2, 2),
    ("football_match/diverse", 1, 7, 4),
    ("nasty/numbers", 0, 3, 3),
    ("nasty/clitics", 0, 5, 5),
    ("nasty/accents_and_scripts", 0, 4, 4),
    ("nasty/emoji", 0, 3, 4),
    ("nasty/spaces", 0, 4, 4),
    ("nasty/very_short", 0, 4, 4),
    ("nasty/stems_and_synonyms", 0, 5, 5),
    ("nasty/same_words", 0, 5, 5),
    ("nasty/same_words", 0, 3, 2),
    ("made/0", 0, 3, 3),
    ("made/1", 0, 7, 4),
    ("made/2", 3, 4, 4),
)


def run(main: Callable[[], None]) -> None:
    """Run a program; it answers --help and refuses everything else: these programs have nothing to choose."""
    argparse.ArgumentParser(
        prog=command(),
        description=sys.modules[main.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    main()


def command() -> str:
    """Return what was typed to run this program."""
    return f"python -m tests.parity.golden.{pathlib.Path(sys.argv[0]).stem}"


def meta(packages: Iterable[str], **facts: Any) -> dict[str, Any]:
    """Return what a golden file says about itself."""
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {**facts, "versions": {"python": platform.python_version()} | versions, "command": command()}


def write_json(name: str, content: dict[str, Any]) -> None:
    """Write a dict with each item of its lists on a line of its own, so that a change of one is a change of a line."""
    entries = []
    for key, value in content.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item) for item in value)
            entries.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            entries.append(f"{json.dumps(key)}: {json.dumps(value, indent=1)}")
    path = GOLDEN / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    print(f"{name}: {path.stat().st_size:,} bytes", file=sys.stderr)


@functools.cache
def caption_rows() -> list[dict[str, Any]]:
    """Return the rows of captions.json: _id, references and candidates."""
    return json.loads((GOLDEN / "captions.json").read_text(encoding="utf-8"))["rows"]


@functools.cache
def ptb_tokens() -> dict[str, list[str]]:
    """Return the tokens of every caption of captions.json, as the Java program printed them."""
    content = json.loads((GOLDEN / "ptb_tokens.json").read_text(encoding="utf-8"))
    return {row["caption"]: row["tokens"] for row in content["rows"]}


def compared_tokens(row: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield candidate and reference of the pairs of a row: all of the nasty ones, one for each candidate elsewhere."""
    candidates, references = token_row(row)
    for i, candidate in enumerate(candidates):
        for j in range(len(references) if row["_id"].startswith("nasty/") else 1):
            yield candidate, references[(i + j) % len(references)]


def token_row(row: dict[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens of a row's candidates and of its references."""
    candidates, references = ([ptb_tokens()[text] for text in row[side]] for side in ("candidates", "references"))
    return candidates, references


def samples() -> list[dict[str, Any]]:
    """Return name, n, m, candidates and references of each set."""
    rows = {row["_id"]: row for row in caption_rows()}
    return [
        {
            "name": f"{name} {n}+{m}",
            "n": n,
            "m": m,
            "candidates": rows[name]["candidates"][first : first + n],
            "references": rows[name]["references"][:m],
        }
        for name, first, n, m in SETS
    ]


def texts() -> list[str]:
    """Return every text of the sets once."""
    return list(dict.fromkeys(text for sample in samples() for text in sample["candidates"] + sample["references"]))
