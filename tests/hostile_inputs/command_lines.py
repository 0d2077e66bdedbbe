"""Command lines that must be refused: wrong files, options and outputs."""

import argparse
import collections
import functools
import gzip
import importlib
import io
import itertools
import json
import os
import pathlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.command_options import path_of
from tests.hostile_inputs.rule import BROKEN_JSON


class Command(NamedTuple):
    """A command line: `{folder}` stands for an empty folder, in which `files` are made before."""

    arguments: Sequence[str]
    files: dict[str, bytes]
    # Makes what bytes cannot be: pipes, folders, links.
    make: Callable[[pathlib.Path], Any] | None = None
    # Output files that exist before.
    outputs: Sequence[str] = ()
    # Whether the command may also succeed.
    may_succeed: bool = False


class Tool(NamedTuple):
    """A command line that is right, but for what a case changes."""

    # `{input}` stands for the file that is read.
    line: str
    # Endings of that file with which it is tried; none if no file is read.
    endings: str = ""
    # Files that the command writes at once.
    outputs: str = ""
    # A good input.
    good: str = "rows.jsonl"

    def arguments(self, given: str = "") -> list[str]:
        """Return the command line for an input, as words."""
        return [word.replace("{input}", given or self.good) for word in shlex.split(self.line)]


def lines_of(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as a file of JSON lines."""
    return "\n".join(map(json.dumps, rows)).encode()


# Captions of one system with references, four rows.
ROWS = [
    {"id": str(i), "predictions": [f"a {word} runs", f"the {word}"], "references": [f"a {word} is running", f"{word}s"]}
    for i, word in enumerate(("dog", "cat", "man", "train"))
]
LINES = lines_of(ROWS)

GOOD_LINES = lines_of(
    [{"references": ["a dog runs", "a brown dog"]}, {"references": ["two cats sleep", "cats on a bed"]}]
)
GOOD_SCENES = {
    "scenes": [
        {"references": ["a dog runs", "a wet dog"], "systems": {"mine": ["a dog", "a puppy"]}},
        {"references": ["a man cooks", "breakfast"], "systems": {"mine": ["a man", "a cook"]}},
    ]
}

JUDGED = {"img": "a.jpg", "cand": "a dog", "refs": ["a dog runs", "a wet dog"], "human_score": 1.0}

# Files beside which every command runs.
FILES: dict[str, bytes] = {
    "rows.jsonl": LINES,
    "captions.jsonl": GOOD_LINES,
    "scenes.json": json.dumps(GOOD_SCENES).encode(),
    "judged.jsonl": lines_of([{**JUDGED, "human_score": i} for i in range(3)]),
    "ratings.jsonl": lines_of([{"id": str(i), "system": name, "quality": i} for name in "ab" for i in range(4)]),
    "judged_texts.jsonl": lines_of(
        [{"id": str(i), "system": name, "text": f"a {name} {i}", "score": i} for name in "ab" for i in range(4)]
    ),
    "binary.txt": bytes(range(256)),
}

# Commands with a good line; `-references` and the like read another of their files.
TOOLS: dict[str, Tool] = {
    "count-document-frequency": Tool(
        "count-document-frequency {folder}/{input} --output {folder}/out.json",
        ".jsonl .json .csv .parquet .txt", "out.json",
    ),
    "count-ngrams": Tool("count-ngrams {folder}/{input} --output {folder}/out.json", ".jsonl", "out.json"),
    "count-token-frequency": Tool(
        "count-token-frequency {folder}/{input} --output {folder}/out.json", ".jsonl", "out.json"
    ),
    "diversity": Tool(
        "diversity {folder}/{input} --output {folder}/out.html",
        ".jsonl .tsv .jsonl.gz", "out.html", "captions.jsonl",
    ),
    "rows": Tool("rows {folder}/{input} --output {folder}/out.html", ".jsonl", "out.html"),
    "quickstart": Tool(
        "quickstart --captions {folder}/{input} --output {folder}/results --no-images",
        ".json", "results/table.csv results/null_distributions.png", "scenes.json",
    ),
    "human-correlation": Tool(
        "human-correlation --benchmark composite --metric trm_meteor --data {folder}/{input}",
        ".jsonl .parquet", good="judged.jsonl",
    ),
    "human-correlation-ratings": Tool(
        "human-correlation {folder}/rows.jsonl {folder}/rows.jsonl --names a b --ratings {folder}/{input} "
        "-m bleu_rouge --distance cider",
        ".csv .jsonl .parquet", good="ratings.jsonl",
    ),
    "decoding": Tool("decoding {folder}/{input} {folder}/rows.jsonl -r {folder}/rows.jsonl -o {folder}/made", ".csv"),
    "sample": Tool("sample {folder}/no-model {folder}/{input} -o {folder}/out.jsonl", ".jsonl .png", "out.jsonl"),
    "score": Tool(
        "score -m bleu_rouge -i {folder}/{input} -o {folder}/scores --processes 1",
        ".jsonl .json .csv .parquet .arrow .tar",
    ),
    "score-references": Tool(
        "score -m bleu_rouge -i {folder}/rows.jsonl -r {folder}/{input} -o {folder}/scores --processes 1", ".jsonl .csv"
    ),
    "compare": Tool(
        "compare {folder}/{input} {folder}/rows.jsonl -m bleu_rouge -o {folder}/report --overwrite",
        ".parquet .jsonl.gz",
    ),
    "compare-scores": Tool(
        "compare --scores {folder}/{input} -o {folder}/report --overwrite", ".csv .jsonl .parquet", good="ratings.jsonl"
    ),
    "judge": Tool(
        "judge {folder}/{input} -r {folder}/rows.jsonl -o {folder}/out.html",
        ".csv .jsonl .parquet .json", "out.html", "judged_texts.jsonl",
    ),
    "judge-references": Tool("judge {folder}/judged_texts.jsonl -r {folder}/{input}", ".jsonl .csv"),
    "plan": Tool("plan {folder}/{input} --distance meteor", ".jsonl"),
    "splits": Tool("splits {folder}/{input} --by length -o {folder}/out.json", ".jsonl .csv .parquet", "out.json"),
    "core-set": Tool(
        "core-set {folder}/{input} --test {folder}/rows.jsonl -o {folder}/out.json", ".jsonl", "out.json"
    ),
    "coco-eval": Tool("coco-eval {folder}/{input} {folder}/{input}", ".json"),
    "convert-checkpoint": Tool("convert-checkpoint {folder}/{input} {folder}/converted", ".pth .safetensors"),
    "convert-checkpoint-folder": Tool("convert-checkpoint {checkpoint} {folder}/out", outputs="out"),
    "train-pac": Tool("train-pac {folder}/{input} {folder}/trained --checkpoint {checkpoint} --device cpu", ".parquet"),
    "make-positives": Tool("make-positives {folder}/{input} {folder}/positives --device cpu", ".parquet"),
}  # fmt: skip

# Contents of a file that holds no captions.
CONTENTS: dict[str, bytes] = {
    **{name: content for name, content in BROKEN_JSON.items() if name != "half"},
    "half_a_line": GOOD_LINES[:-9],
    "captions_in_utf_16": "caption\na dog\n".encode("utf-16"),
    "too_many_fields": b"captions,image\na,b,c,d,e\nf,g,h\n",
    "open_quote": b'captions,image\n"a dog,b\n',
    "captions_of_numbers": b'{"references": [1, 2]}\n{"references": [3]}\n',
    "surrogate": b'{"references": ["\\ud800"]}\n',
    "parquet_mark": b"PAR1" + bytes(40) + b"PAR1",
    "gzip": gzip.compress(GOOD_LINES, mtime=0)[:-6],
}

# What stands in place of a file.
KINDS: dict[str, Callable[[pathlib.Path], Any]] = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "link_to_itself": lambda path: path.symlink_to(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
}

# Where a command cannot write.
BAD_OUTPUTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/full"),
}

# Commands that read folders, too.
FOLDERS = ("human-correlation", "diversity", "train-pac", "make-positives")

# Contents that some endings can mean: a line of text is a caption of a text file.
LEGAL = {"diversity.tsv": {"text", "captions_in_utf_16"}, "splits.csv": {"captions_in_utf_16"}}

# What is given, by turns, for the options that take a number.
BAD_NUMBERS = ("nan", "inf", "-1")

BRACKETS = "[" * 50_000

# Odd values of other options, at the end of the good line of a command.
MISTAKES: dict[str, dict[str, str]] = {
    "count-token-frequency": {"column_empty": "--column ''"},
    "diversity": {"no_folder": "--output {folder}/no/out.html", "encoder": "--encoder {folder}"},
    "quickstart": {"output_in_a_file": "--output {folder}/rows.jsonl/x"},
    "human-correlation": {
        "option_without_value": "--option many",
        "option_brackets": f"--option device={BRACKETS}",
        "metric_is_a_file": "--metric {folder}/rows.jsonl",
        "references_no_number": "--references many",
    },
    "compare-scores": {
        "metrics_empty": "-m ''",
        "clusters_open": "--clusters '('",
        "references": "-r {folder}/rows.jsonl",
    },
    "judge": {"people": "--people nobody", "judges_empty": "-j ''", "clusters_open": "--clusters '('"},
    "human-correlation-ratings": {"scales_empty": "--scales ''", "clusters_open": "--clusters '('"},
    "core-set": {
        "thresholds_too_many": "--thresholds " + " ".join(str(0.05 + i / 1000) for i in range(300)),
        "scores_folder": "--scores {folder}",
        "scores_device": "--scores /dev/zero",
    },
    "splits": {
        "test_1e300": "--test 1e300",
        "labels_folder": "--by concept --labels {folder}",
        "labels_device": "--by concept --labels /dev/zero",
        "labels_binary": "--by concept --labels {folder}/binary.txt",
    },
    "score": {
        "metric_empty": "-m ''",
        "metric_path": "-m ../../bleu_rouge",
        "output_in_a_file": "-o {folder}/rows.jsonl/scores",
        "output_long": "-o {folder}/" + "a" * 300,
        "option_brackets": f"--option tokenizer={BRACKETS}",
        "option_long_number": "--option tokenizer=" + "9" * 6_000,
        "option_surrogate": r"""--option 'tokenizer="\ud800"'""",
        "input_braces": "-i {folder}/{{0..9}.jsonl",
        "input_braces_endless": "-i {folder}/{000000000..999999999}.jsonl",
        "input_empty": "-i ''",
        "input_address": "-i no-such-protocol://x/y.jsonl",
        "input_nul": "-i a\0b.jsonl",
    },
    "compare": {
        "names_surrogate": "--names \ud800 b",
        "clusters_open": "--clusters '('",
        "n_resamples_huge": "--n-resamples 1" + "0" * 30,
        "output_is_a_file": "-o {folder}/rows.jsonl",
    },
}

# Command lines that share little with a good one.
OTHER_LINES: dict[str, str] = {
    "diversity/long_name": "diversity " + "a" * 5000 + " --output {folder}/o.html",
    "convert-checkpoint/folder_with_files": "convert-checkpoint {checkpoint} {folder}",
    "convert-checkpoint/folder_is_a_file": "convert-checkpoint {checkpoint} {folder}/rows.jsonl",
}


def array(values: Any) -> bytes:
    """Return an array as a file of NumPy."""
    file = io.BytesIO()
    np.save(file, np.asarray(values), allow_pickle=True)
    return file.getvalue()


def numpy_head(text: str) -> bytes:
    """Return a file of NumPy with any head and 64 zeros behind it."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


# Contents in place of a .npy file of 8 x 4 scores.
ARRAYS: dict[str, bytes] = {
    "empty": b"",
    "objects": array(np.full((8, 4), None)),
    "half": array(np.ones((8, 4)))[:-40],
    "head_of_text": numpy_head("a dog"),
    "head_nested": numpy_head("(" * 5_000),
    "head_negative": numpy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (-8, 4), }"),
    "head_huge": numpy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (8, 400000000000), }"),
    "head_of_objects": numpy_head("{'descr': '|O', 'fortran_order': False, 'shape': (8, 4), }"),
}


def maker_at(path: str, make: Callable[[pathlib.Path], Any]) -> Callable[[pathlib.Path], None]:
    """Return what makes something at a path of a folder."""

    def at_path(folder: pathlib.Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        make(folder / path)

    return at_path


def reader_cases() -> Iterator[tuple[str, Command]]:
    """Yield each content, and each thing that is no file, once an ending: the commands that read it by turns."""
    doors = collections.defaultdict(list)
    for name, tool in TOOLS.items():
        for ending in tool.endings.split():
            doors[ending].append(name)
    for ending, names in doors.items():
        for name, (form, given) in zip(itertools.cycle(names), (CONTENTS | KINDS).items(), strict=False):
            path, tool = f"in{ending}", TOOLS[name]
            legal = (
                ending == ".txt" or form in LEGAL.get(f"{name}{ending}", ()) or (form == "folder" and name in FOLDERS)
            )
            files = FILES | ({path: given} if isinstance(given, bytes) else {})
            make = None if isinstance(given, bytes) else maker_at(path, given)
            yield f"{name}/{form}{ending}", Command(tool.arguments(path), files, make, tool.outputs.split(), legal)


def mistakes() -> Iterator[tuple[str, Command]]:
    """Yield every mistaken option; the options that take a number get the bad ones by turns."""
    lines = {name: shlex.split(line) for name, line in OTHER_LINES.items()}
    for name, tool in TOOLS.items():
        line = tool.arguments()
        lines |= {f"{name}/{case}": [*line, *shlex.split(more)] for case, more in MISTAKES.get(name, {}).items()}
        if line[0] == name:
            lines |= {
                f"{name}/{option}_{number}": [*line, option, number]
                for option, number in zip(number_options(name), itertools.cycle(BAD_NUMBERS), strict=False)
            }
    for name, line in lines.items():
        yield f"options/{name}", Command(line, FILES)


def number_options(command: str) -> list[str]:
    """Return the options of a command that take a number."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"manycaps.commands.{command.replace('-', '_')}").add_arguments(parser)
    return [action.option_strings[-1] for action in parser._actions if action.type not in (None, path_of)]


def bad_outputs() -> Iterator[tuple[str, Command]]:
    """Yield every command that writes a file, where it cannot be written."""
    for name, tool in TOOLS.items():
        for output in tool.outputs.split():
            for kind, make in BAD_OUTPUTS.items():
                if kind != "folder" or name != "convert-checkpoint-folder":
                    yield f"output/{name}/{output}/{kind}", Command(tool.arguments(), FILES, maker_at(output, make))


def bad_arrays() -> Iterator[tuple[str, Command]]:
    """Yield what reads scores, with what is no array of them."""
    line = [*TOOLS["core-set"].arguments(), "--scores", "{folder}/scores.npy"]
    for name, content in ARRAYS.items():
        yield f"arrays/core-set/{name}", Command(line, {**FILES, "scores.npy": content})


@functools.cache
def all_commands() -> dict[str, Command]:
    """Return every command line by name."""
    return dict(reader_cases()) | dict(mistakes()) | dict(bad_outputs()) | dict(bad_arrays())
