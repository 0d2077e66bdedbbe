"""Files as a new user has them, out of the bundled sample: every layout of the same captions, and what goes wrong."""

import csv
import json

import numpy as np

from tests.tools import ROOT, write_jsonl

SCENES = json.loads((ROOT / "manycaps/comparison/quickstart/captions.json").read_text(encoding="utf-8"))["scenes"]

IDS = [f"{i}.wav" for i in range(len(SCENES))]

# Captions per row of each kind.
N_CAPTIONS = 5

PEOPLE = [scene["references"][:N_CAPTIONS] for scene in SCENES]
SYSTEM = [scene["systems"]["diverse"][:N_CAPTIONS] for scene in SCENES]


def write_table(path, header, rows, delimiter=","):
    """Write a table, and return its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return str(path)


def write_lines(path, rows, ids=IDS):
    """Write a row of captions a line, and return the path."""
    return str(write_jsonl(path, [{"id": name, "captions": row} for name, row in zip(ids, rows, strict=True)]))


def in_cells(path, form, rows=SYSTEM, delimiter=","):
    """Write each row's captions into one cell, as `form` writes a list."""
    return write_table(path, ["id", "captions"], zip(IDS, map(form, rows), strict=True), delimiter)


def layouts(folder):
    """The captions of the system in every layout: paths by name."""
    numbered = [f"caption_{i}" for i in range(1, N_CAPTIONS + 1)]
    wide = [[name, *row] for name, row in zip(IDS, SYSTEM, strict=True)]
    return {
        "wide": write_table(folder / "wide.csv", ["file_name", *numbered], wide),
        "json": in_cells(folder / "json.csv", json.dumps),
        "python": in_cells(folder / "python.tsv", str, delimiter="\t"),
        "numpy": in_cells(folder / "numpy.csv", lambda row: str(np.array(row))),
        "numpy_list": in_cells(folder / "numpy_list.csv", lambda row: str(list(np.array(row)))),
    }


def faults(folder):
    """Files in which something is wrong: paths by name."""
    shifted = [*SYSTEM[1:], SYSTEM[0]]
    return {
        "empties": write_lines(
            folder / "empties.jsonl", [["", " ", *row[2:]] if i < 3 else row for i, row in enumerate(SYSTEM)]
        ),
        "one_reference": write_lines(folder / "one_reference.jsonl", [row[:1] for row in PEOPLE]),
        "leak": write_lines(folder / "leak.jsonl", PEOPLE),
        "shifted": write_lines(folder / "shifted.jsonl", shifted),
        "short": write_lines(folder / "short.jsonl", SYSTEM[:10], IDS[:10]),
    }


def people_and_system(folder):
    """The files of a comparison without faults: people's captions, and the system's."""
    return write_lines(folder / "people.jsonl", PEOPLE), write_lines(folder / "system.jsonl", SYSTEM)
