"""Command lines with wrong files, outputs and options: one line, status 1 or 2, and old outputs as they were."""

import contextlib
import functools
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from tests.hostile_inputs.later_commands import LINES, Command, Run, later_commands
from tests.hostile_inputs.rule import HOUSE_FORM

# What lies in every output file before a command runs.
OLD = "what was there before\n"

GOOD_ROWS = [{"references": ["a dog runs", "a brown dog"]}, {"references": ["two cats sleep", "cats on a bed"]}]
GOOD_LINES = "\n".join(json.dumps(row) for row in GOOD_ROWS).encode()
GOOD_SCENES = {
    "scenes": [
        {"references": ["a dog runs", "a wet dog"], "systems": {"mine": ["a dog", "a puppy"]}},
        {"references": ["a man cooks", "breakfast"], "systems": {"mine": ["a man", "a cook"]}},
    ]
}


# Contents of a file that holds no captions.
CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "blank": b"   \n\n",
    "nul": b"\0\0\0\0",
    "half_a_line": GOOD_LINES[:-9],
    "not_utf_8": b"\xff\xfe\xfa caption\n",
    "utf_16": "caption\na dog\n".encode("utf-16"),
    "binary": bytes(range(256)) * 8,
    "number": b"7",
    "null": b"null",
    "text": b"a dog runs",
    "list_of_numbers": b"[1, 2, 3]",
    "brackets": b"[" * 100_000,
    "too_many_fields": b"captions,image\na,b,c,d,e\nf,g,h\n",
    "open_quote": b'captions,image\n"a dog,b\n',
    "other_columns": b'{"words": "a dog"}\n',
    "captions_of_numbers": b'{"references": [1, 2]}\n{"references": [3]}\n',
    "captions_of_null": b'{"references": null}\n',
    "nested": b'{"references": {"references": {"a": []}}}\n',
    "surrogate": b'{"references": ["\\ud800"]}\n',
    "long_number": b'{"references": ' + b"9" * 6000 + b"}\n",
    "html": b"<html>404</html>",
    "parquet_mark": b"PAR1" + bytes(40) + b"PAR1",
    "gzip": gzip.compress(GOOD_LINES, mtime=0)[:-6],
}

# What stands in place of a file.
KINDS: dict[str, Callable[[pathlib.Path], Any]] = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "link_to_itself": lambda path: path.symlink_to(path),
    "link_to_nothing": lambda path: path.symlink_to(path.parent / "nothing"),
    "device": lambda path: path.symlink_to("/dev/zero"),
}

# Where a command cannot write.
BAD_OUTPUTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/full"),
    "null_device": lambda path: path.symlink_to("/dev/null"),
    "link_to_itself": lambda path: path.symlink_to(path),
}

# Command, the endings of its input, its arguments, and its outputs.
READERS: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "count-document-frequency": (
        (".jsonl", ".json", ".csv", ".parquet", ".txt"),
        ["count-document-frequency", "{folder}/in{ending}", "--output", "{folder}/out.json"],
        ["out.json"],
    ),
    "count-token-frequency": (
        (".jsonl", ".csv", ".parquet"),
        ["count-token-frequency", "{folder}/in{ending}", "--output", "{folder}/out.json"],
        ["out.json"],
    ),
    "diversity": (
        (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".jsonl.gz", ".xyz"),
        ["diversity", "{folder}/in{ending}", "--output", "{folder}/out.html", "--json", "{folder}/out.json"],
        ["out.html", "out.json"],
    ),
    "rows": (
        (".jsonl", ".json", ".csv", ".parquet"),
        ["rows", "{folder}/in{ending}", "--output", "{folder}/out.html"],
        ["out.html"],
    ),
    "quickstart": (
        (".json",),
        ["quickstart", "--captions", "{folder}/in{ending}", "--output", "{folder}/results", "--no-images"],
        ["results/table.csv", "results/null_distributions.png"],
    ),
    "human-correlation": (
        (".jsonl", ".parquet"),
        ["human-correlation", "--benchmark", "composite", "--metric", "trm_meteor", "--data", "{folder}/in{ending}"],
        [],
    ),
    "decoding": (
        (".jsonl", ".parquet"),
        "decoding {folder}/in{ending} {folder}/rows.jsonl -r {folder}/rows.jsonl -o {folder}/out".split(),
        [],
    ),
    "sample": (
        (".jsonl", ".parquet", ".png"),
        "sample {folder}/no-model {folder}/in{ending} -o {folder}/out.jsonl".split(),
        ["out.jsonl"],
    ),
    "score": (
        (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow", ".tar", ".jsonl.gz"),
        "score -m bleu_rouge -i {folder}/in{ending} -o {folder}/scores --processes 1".split(),
        [],
    ),
    "score-references": (
        (".jsonl", ".csv", ".parquet", ".json"),
        "score -m bleu_rouge -i {folder}/rows.jsonl -r {folder}/in{ending} -o {folder}/scores --processes 1".split(),
        [],
    ),
    "compare": (
        (".jsonl", ".json", ".csv", ".parquet", ".jsonl.gz"),
        "compare {folder}/in{ending} {folder}/rows.jsonl -m bleu_rouge -o {folder}/report".split(),
        [],
    ),
    "plan": ((".jsonl", ".csv", ".parquet"), "plan {folder}/in{ending} --distance meteor".split(), []),
    "splits": (
        (".jsonl", ".csv", ".parquet"),
        "splits {folder}/in{ending} --by length -o {folder}/out.json".split(),
        ["out.json"],
    ),
    "core-set": (
        (".jsonl", ".csv", ".parquet"),
        "core-set {folder}/in{ending} --test {folder}/rows.jsonl -o {folder}/out.json".split(),
        ["out.json"],
    ),
    "coco-eval": ((".json",), "coco-eval {folder}/in{ending} {folder}/in{ending}".split(), []),
    "convert-checkpoint": (
        (".pth", ".safetensors"),
        ["convert-checkpoint", "{folder}/in{ending}", "{folder}/converted"],
        [],
    ),
    "train-pac": (
        (".parquet", ".jsonl"),
        ["train-pac", "{folder}/in{ending}", "{folder}/trained", "--checkpoint", "{checkpoint}", "--device", "cpu"],
        [],
    ),
    "make-positives": (
        (".parquet",),
        ["make-positives", "{folder}/in{ending}", "{folder}/positives", "--device", "cpu"],
        [],
    ),
}

# Kinds of content that are tried of a command whose libraries take long.
FEW = ("empty", "nul", "not_utf_8", "parquet_mark", "text", "half_a_line")
SLOW_COMMANDS = ("train-pac", "make-positives", "convert-checkpoint")

# Contents that some endings can mean: a line of text is a caption of a text file, an object captions by name.
LEGAL = {
    "diversity": {
        ".txt": set(CONTENTS),
        ".csv": {"text", "utf_16"},
        ".tsv": {"text", "utf_16"},
        ".json": {"other_columns"},
    },
    "splits": {".csv": {"utf_16"}},
    "core-set": {".csv": {"utf_16"}},
}

# Mistaken options, beside good files `in.jsonl`, `rows.jsonl` and `scenes.json`.
OPTIONS: dict[str, list[str]] = {
    "make-world/rows_0": ["make-world", "{folder}/w.parquet", "--rows", "0"],
    "make-world/rows_negative": ["make-world", "{folder}/w.parquet", "--rows", "-5"],
    "make-world/seed_negative": ["make-world", "{folder}/w.parquet", "--rows", "2", "--seed", "-1"],
    "make-world/rows_text": ["make-world", "{folder}/w.parquet", "--rows", "many"],
    "make-world/other_ending": ["make-world", "{folder}/w.csv"],
    "make-world/no_folder": ["make-world", "{folder}/nowhere/w.parquet", "--rows", "2"],
    "make-world/long_name": ["make-world", "{folder}/" + "w" * 300 + ".parquet", "--rows", "2"],
    "count-document-frequency/no_folder": [
        "count-document-frequency",
        "{folder}/in.jsonl",
        "--output",
        "{folder}/no/out.json",
    ],
    "count-document-frequency/column": ["count-document-frequency", "{folder}/in.jsonl", "--column", "words"],
    "count-document-frequency/document": ["count-document-frequency", "{folder}/in.jsonl", "--document", "words"],
    "count-document-frequency/document_of_lists": [
        "count-document-frequency",
        "{folder}/in.jsonl",
        "--document",
        "references",
    ],
    "count-token-frequency/no_folder": [
        "count-token-frequency",
        "{folder}/in.jsonl",
        "--output",
        "{folder}/no/out.json",
    ],
    "count-token-frequency/column": ["count-token-frequency", "{folder}/in.jsonl", "--column", ""],
    "diversity/no_folder": ["diversity", "{folder}/in.jsonl", "--output", "{folder}/no/out.html"],
    "diversity/no_folder_for_json": ["diversity", "{folder}/in.jsonl", "--json", "{folder}/no/out.json"],
    "diversity/names": ["diversity", "{folder}/in.jsonl", "--names", "a", "b", "--output", "{folder}/o.html"],
    "diversity/column": ["diversity", "{folder}/in.jsonl", "--column", "words", "--output", "{folder}/o.html"],
    "diversity/group_by": ["diversity", "{folder}/in.jsonl", "--group-by", "words", "--output", "{folder}/o.html"],
    "diversity/tokenizer": ["diversity", "{folder}/in.jsonl", "--tokenizer", "nonsense"],
    "diversity/encoder": ["diversity", "{folder}/in.jsonl", "--encoder", "{folder}", "--output", "{folder}/o.html"],
    "diversity/pos": ["diversity", "{folder}/in.jsonl", "--pos", "no_such_pipeline", "--output", "{folder}/o.html"],
    "diversity/empty_name": ["diversity", "", "--output", "{folder}/o.html"],
    "diversity/long_name": ["diversity", "a" * 5000, "--output", "{folder}/o.html"],
    "diversity/saved_folder": ["diversity", "{folder}", "--output", "{folder}/o.html"],
    "quickstart/output_is_a_file": """
        quickstart --captions {folder}/scenes.json --output {folder}/in.jsonl
    """.split(),
    "quickstart/output_in_a_file": """
        quickstart --captions {folder}/scenes.json --output {folder}/in.jsonl/x
    """.split(),
    "human-correlation/limit_negative": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/rows.jsonl --limit -3
    """.split(),
    "human-correlation/limit_0": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/rows.jsonl --limit 0
    """.split(),
    "human-correlation/seed_negative": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/rows.jsonl --seed -1
    """.split(),
    **{
        f"human-correlation/options_{name}": [
            "human-correlation",
            "--benchmark",
            "composite",
            "--metric",
            "trm_meteor",
            "--data",
            "{folder}/rows.jsonl",
            "--options",
            text,
        ]
        for name, text in {
            "text": "many",
            "list": "[1]",
            "null": "null",
            "empty": "",
            "brackets": "[" * 50_000,
            "unknown": '{"a": 1}',
            "number": '{"seed": "a"}',
        }.items()
    },
    "human-correlation/metric_unknown": """
        human-correlation --benchmark composite --metric no_such_metric --data {folder}/rows.jsonl
    """.split(),
    "human-correlation/metric_empty": [
        "human-correlation",
        "--benchmark",
        "composite",
        "--metric",
        "",
        "--data",
        "{folder}/rows.jsonl",
    ],
    "human-correlation/metric_is_a_file": """
        human-correlation --benchmark composite --metric {folder}/rows.jsonl --data {folder}/rows.jsonl
    """.split(),
    "human-correlation/config": """
        human-correlation --benchmark composite --metric pac_score --config none --data {folder}/rows.jsonl
    """.split(),
    "human-correlation/key": """
        human-correlation --benchmark composite --metric trm_meteor --key none --data {folder}/rows.jsonl
    """.split(),
    "human-correlation/no_data": ["human-correlation", "--benchmark", "foil", "--metric", "trm_meteor"],
    "human-correlation/columns_of_foil": """
        human-correlation --benchmark foil --metric trm_meteor --data {folder}/rows.jsonl
    """.split(),
    "human-correlation/no_rows_in_folder": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/empty
    """.split(),
    "human-correlation/candidates_of_numbers": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/numbers.jsonl
    """.split(),
    "human-correlation/scores_of_text": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/texts.jsonl
    """.split(),
    "human-correlation/references_of_text": """
        human-correlation --benchmark composite --metric trm_meteor --data {folder}/references.jsonl
    """.split(),
    "human-correlation/release_of_rubbish": """
        human-correlation --benchmark flickr8k-expert --metric trm_meteor --data {folder}/release
    """.split(),
    **{
        f"train-pac/{name}": [
            "train-pac",
            "{folder}/in.jsonl",
            "{folder}/trained",
            "--checkpoint",
            "{checkpoint}",
            "--device",
            "cpu",
            f"--{option}",
            value,
        ]
        for name, (option, value) in {
            "workers_0": ("workers", "0"),
            "workers_negative": ("workers", "-1"),
            "seed_negative": ("seed", "-1"),
            "batch_size_1": ("batch-size", "1"),
            "encode_batch_size_0": ("encode-batch-size", "0"),
            "learning_rate_nan": ("learning-rate", "nan"),
            "learning_rate_negative": ("learning-rate", "-1"),
            "lambda_infinite": ("lambda-v", "inf"),
            "patience_0": ("patience", "0"),
            "validate_every_0": ("validate-every", "0"),
            "save_every_0": ("save-every", "0"),
            "lora_rank_negative": ("lora-rank", "-1"),
            "variant": ("variant", "none"),
            "split": ("train-split", "none["),
            "max_iterations": ("max-iterations", "-1"),
        }.items()
    },
    **{
        f"make-positives/{name}": [
            "make-positives",
            "{folder}/in.jsonl",
            "{folder}/positives",
            "--device",
            "cpu",
            f"--{option}",
            value,
        ]
        for name, (option, value) in {
            "workers_0": ("workers", "0"),
            "steps_negative": ("steps", "-1"),
            "shard_size_0": ("shard-size", "0"),
            "seed_negative": ("seed", "-1"),
            "batch_size_0": ("batch-size", "0"),
            "split": ("split", "none"),
            "column": ("image-column", "none"),
        }.items()
    },
    "install-wordnet/in_a_file": ["install-wordnet", "--to", "{folder}/in.jsonl/x"],
    "convert-checkpoint/folder_with_files": ["convert-checkpoint", "{checkpoint}", "{folder}"],
    "convert-checkpoint/folder_is_a_file": ["convert-checkpoint", "{checkpoint}", "{folder}/in.jsonl"],
    "convert-checkpoint/variant": ["convert-checkpoint", "{checkpoint}", "{folder}/new", "--variant", "none"],
    "no_command": [],
    "unknown_command": ["no-such-command"],
    "unknown_option": ["list", "--no-such-option"],
}

ROW = {"img": "a.jpg", "cand": "a dog", "refs": ["a dog runs", "a wet dog"], "human_score": 1.0}

OPTION_FILES: dict[str, bytes] = {
    "in.jsonl": GOOD_LINES,
    "scenes.json": json.dumps(GOOD_SCENES).encode(),
    "rows.jsonl": "\n".join(json.dumps({**ROW, "human_score": i}) for i in range(3)).encode(),
    "numbers.jsonl": json.dumps({**ROW, "cand": 3}).encode(),
    "texts.jsonl": json.dumps({**ROW, "human_score": "good"}).encode(),
    "references.jsonl": json.dumps({**ROW, "refs": "a dog"}).encode(),
    "empty/x.txt": b"",
    "release/ExpertAnnotations.txt": b"a\tb\n",
    "release/Flickr8k.token.txt": b"\xff\xfe",
}

# Commands that succeed whatever already exists.
MAY_SUCCEED = {"install-wordnet/in_a_file", "human-correlation/metric_empty"}

# Output of each command, for the cases in which it cannot be written.
WRITERS: dict[str, tuple[list[str], str]] = {
    "core-set": (
        ["core-set", "{folder}/in.jsonl", "--test", "{folder}/in.jsonl", "--output", "{folder}/out.json"],
        "out.json",
    ),
    "splits": (["splits", "{folder}/in.jsonl", "--by", "length", "--output", "{folder}/out.json"], "out.json"),
    "count-document-frequency": (
        ["count-document-frequency", "{folder}/in.jsonl", "--output", "{folder}/out.json"],
        "out.json",
    ),
    "count-token-frequency": (
        ["count-token-frequency", "{folder}/in.jsonl", "--output", "{folder}/out.json"],
        "out.json",
    ),
    "diversity": (
        ["diversity", "{folder}/in.jsonl", "--column", "references", "--output", "{folder}/out.html"],
        "out.html",
    ),
    "diversity-json": (
        ["diversity", "{folder}/in.jsonl", "--output", "{folder}/page.html", "--json", "{folder}/out.json"],
        "out.json",
    ),
    "make-world": (["make-world", "{folder}/out.parquet", "--rows", "2"], "out.parquet"),
    "quickstart": (
        ["quickstart", "--captions", "{folder}/scenes.json", "--output", "{folder}", "--no-images"],
        "table.csv",
    ),
    "quickstart-picture": (
        ["quickstart", "--captions", "{folder}/scenes.json", "--output", "{folder}", "--no-images"],
        "null_distributions.png",
    ),
    "convert-checkpoint": (["convert-checkpoint", "{checkpoint}", "{folder}/out"], "out"),
}


def with_ending(arguments: list[str], ending: str) -> list[str]:
    """Put the ending of the input file into a command line."""
    return [argument.replace("{ending}", ending) for argument in arguments]


def reader_cases() -> dict[str, Command]:
    """Return every reader with every kind of file."""
    cases = {}
    for name, (endings, arguments, outputs) in READERS.items():
        for ending in endings:
            for content, data in CONTENTS.items():
                if content not in FEW and name in SLOW_COMMANDS:
                    continue
                legal = content in LEGAL.get(name, {}).get(ending, ())
                line = with_ending(arguments, ending)
                files = {"rows.jsonl": LINES, f"in{ending}": data}
                cases[f"{name}/{content}{ending}"] = Command(line, files, None, outputs, legal)
        for kind, make in KINDS.items():
            if kind == "folder" and name in ("human-correlation", "diversity", "train-pac", "make-positives"):
                continue
            line = with_ending(arguments, endings[0])
            place = f"in{endings[0]}"
            at_place = functools.partial(lambda folder, make, place: make(folder / place), make=make, place=place)
            cases[f"{name}/{kind}"] = Command(line, {"rows.jsonl": LINES}, at_place, outputs)
    return cases


def all_commands() -> dict[str, Command]:
    """Return every command line by name."""
    cases = reader_cases()
    cases |= {f"options/{n}": Command(a, OPTION_FILES, None, (), n in MAY_SUCCEED) for n, a in OPTIONS.items()}
    for name, (arguments, output) in WRITERS.items():
        for kind, make in BAD_OUTPUTS.items():
            if name == "convert-checkpoint" and kind == "folder":
                continue
            cases[f"output/{name}/{kind}"] = Command(arguments, OPTION_FILES, lambda f, m=make, o=output: m(f / o), ())
    return cases | later_commands()


def prepare() -> None:
    """Load what most commands need."""
    import evaluate
    import torch

    import manycaps.checkpoint_conversion
    import manycaps.comparison.run
    import manycaps.diversity.measured
    import manycaps.human_correlation.protocols
    import manycaps.pac_training.positives
    import manycaps.pac_training.training_run
    import manycaps.quickstart.comparison
    import manycaps.rows.chosen
    import manycaps.scoring.run

    del evaluate, torch, manycaps


def complaint(name: str, run: Run | None = None) -> str | None:
    """Run a command line, by `run_command` unless told otherwise; say what is against the rule, or return None."""
    from tests.modules.sample_inputs import small_checkpoint

    case = all_commands()[name]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        for path, content in {**case.files, **dict.fromkeys(case.outputs, OLD.encode())}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        if case.make:
            case.make(folder)
        before = {path: path.lstat().st_mode for path in folder.rglob("*")}
        arguments = [
            a.replace("{folder}", str(folder)).replace("{checkpoint}", small_checkpoint()) for a in case.arguments
        ]
        found = _complaint(case, folder, *(run or run_command)(arguments, folder))
        changed = [
            path.name for path, mode in before.items() if not os.path.lexists(path) or path.lstat().st_mode != mode
        ]
        return found or (f"replaced: {changed}" if changed else None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _complaint(case: Command, folder: pathlib.Path, status: int, printed: str) -> str | None:
    if status == 0:
        return None if case.may_succeed else f"accepted: {printed[-200:]}"
    if status not in (1, 2):
        return f"status {status}: {printed[-200:]}"
    if "Traceback (most recent call last)" in printed:
        return f"traceback: {printed[-300:]}"
    line = printed.strip().splitlines()[-1] if printed.strip() else ""
    if not line.startswith("manycaps") and not HOUSE_FORM.fullmatch(line):
        return f"message: {line[:300]}"
    if "Internal error" in line:
        return f"foreign: {line[:300]}"
    if any((folder / output).read_text(encoding="utf-8") != OLD for output in case.outputs):
        return "lost: an output is not what it was"
    return None


def run_command(arguments: Sequence[str], folder: pathlib.Path) -> tuple[int, str]:
    """Run a command line in this process; return its status and what it printed to standard error."""
    from manycaps.command_line import main

    printed, here = io.StringIO(), pathlib.Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            status = main(list(arguments))
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        status, _ = 99, printed.write(f"{type(error).__name__}: {error}")
    finally:
        os.chdir(here)
    return status, re.sub(r"[^\n]*\r", "", printed.getvalue())  # as a terminal shows it: bars are written over
