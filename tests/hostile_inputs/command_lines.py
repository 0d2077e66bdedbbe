"""Command lines that must be refused: wrong files, options, outputs, states of runs, and released benchmarks."""

import argparse
import gzip
import importlib
import io
import json
import os
import pathlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.hostile_inputs.rule import BROKEN_JSON

# Runs a command line in a folder; returns its status and what it printed to standard error.
Run = Callable[[Sequence[str], pathlib.Path], tuple[int, str]]


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

# What a run of `manycaps score` leaves, in the parts that other commands read.
SUMMARY = {"n_rows": 4, "metrics": {"bleu_rouge": {"bleu_4": 0.5, "signature": "bleu_rouge|version:0"}}, "inputs": {}}

JUDGED = {"img": "a.jpg", "cand": "a dog", "refs": ["a dog runs", "a wet dog"], "human_score": 1.0}

# Files beside which every command runs.
FILES: dict[str, bytes] = {
    "rows.jsonl": LINES,
    "bare.jsonl": lines_of([{"id": row["id"], "predictions": row["predictions"]} for row in ROWS]),
    "other_ids.jsonl": lines_of([{**row, "id": f"other {row['id']}"} for row in ROWS]),
    "captions.jsonl": GOOD_LINES,
    "scenes.json": json.dumps(GOOD_SCENES).encode(),
    "judged.jsonl": lines_of([{**JUDGED, "human_score": i} for i in range(3)]),
    "numbers.jsonl": lines_of([{**JUDGED, "cand": 3}]),
    "texts.jsonl": lines_of([{**JUDGED, "human_score": "good"}]),
    "references.jsonl": lines_of([{**JUDGED, "refs": "a dog"}]),
    "empty.txt": b"\n \n",
    "binary.txt": bytes(range(256)),
    "empty/x.txt": b"",
    "release/ExpertAnnotations.txt": b"a\tb\n",
    "release/Flickr8k.token.txt": b"\xff\xfe",
    **{f"{name}/summary.json": json.dumps(SUMMARY).encode() for name in ("one", "two")},
    **{f"{name}/rows/part-00000.parquet": b"PAR1" + bytes(40) + b"PAR1" for name in ("one", "two")},
}

# Commands with a good line; `-references` and the like read another of their files.
TOOLS: dict[str, Tool] = {
    "count-document-frequency": Tool(
        "count-document-frequency {folder}/{input} --output {folder}/out.json",
        ".jsonl .json .csv .parquet .txt", "out.json",
    ),
    "count-token-frequency": Tool(
        "count-token-frequency {folder}/{input} --output {folder}/out.json", ".jsonl .csv .parquet", "out.json"
    ),
    "diversity": Tool(
        "diversity {folder}/{input} --output {folder}/out.html --json {folder}/out.json",
        ".jsonl .json .csv .tsv .txt .parquet .jsonl.gz .xyz", "out.html out.json", "captions.jsonl",
    ),
    "rows": Tool("rows {folder}/{input} --output {folder}/out.html", ".jsonl .json .csv .parquet", "out.html"),
    "quickstart": Tool(
        "quickstart --captions {folder}/{input} --output {folder}/results --no-images",
        ".json", "results/table.csv results/null_distributions.png", "scenes.json",
    ),
    "human-correlation": Tool(
        "human-correlation --benchmark composite --metric trm_meteor --data {folder}/{input}",
        ".jsonl .parquet", good="judged.jsonl",
    ),
    "decoding": Tool(
        "decoding {folder}/{input} {folder}/rows.jsonl -r {folder}/rows.jsonl -o {folder}/decoding", ".jsonl .parquet"
    ),
    "sample": Tool(
        "sample {folder}/no-model {folder}/{input} -o {folder}/out.jsonl", ".jsonl .parquet .png", "out.jsonl"
    ),
    "score": Tool(
        "score -m bleu_rouge -i {folder}/{input} -o {folder}/scores --processes 1",
        ".jsonl .json .csv .tsv .parquet .arrow .tar .jsonl.gz",
    ),
    "score-references": Tool(
        "score -m bleu_rouge -i {folder}/rows.jsonl -r {folder}/{input} -o {folder}/scores --processes 1",
        ".jsonl .csv .parquet .json",
    ),
    "compare": Tool(
        "compare {folder}/{input} {folder}/rows.jsonl -m bleu_rouge -o {folder}/report --overwrite",
        ".jsonl .json .csv .parquet .jsonl.gz",
    ),
    "compare-folders": Tool("compare {folder}/one {folder}/two -o {folder}/report --overwrite"),
    "plan": Tool("plan {folder}/{input} --distance meteor", ".jsonl .csv .parquet"),
    "splits": Tool("splits {folder}/{input} --by length -o {folder}/out.json", ".jsonl .csv .parquet", "out.json"),
    "core-set": Tool(
        "core-set {folder}/{input} --test {folder}/rows.jsonl -o {folder}/out.json", ".jsonl .csv .parquet", "out.json"
    ),
    "coco-eval": Tool("coco-eval {folder}/{input} {folder}/{input}", ".json"),
    "convert-checkpoint": Tool("convert-checkpoint {folder}/{input} {folder}/converted", ".pth .safetensors"),
    "convert-checkpoint-folder": Tool("convert-checkpoint {checkpoint} {folder}/out", outputs="out"),
    "train-pac": Tool(
        "train-pac {folder}/{input} {folder}/trained --checkpoint {checkpoint} --device cpu", ".parquet .jsonl"
    ),
    "make-positives": Tool("make-positives {folder}/{input} {folder}/positives --device cpu", ".parquet"),
    "make-world": Tool("make-world {folder}/out.parquet --rows 2", outputs="out.parquet"),
}  # fmt: skip

# Contents of a file that holds no captions.
CONTENTS: dict[str, bytes] = {
    **{name: content for name, content in BROKEN_JSON.items() if name not in ("list", "half", "braces")},
    "blank": b"   \n\n",
    "half_a_line": GOOD_LINES[:-9],
    "captions_in_utf_16": "caption\na dog\n".encode("utf-16"),
    "too_many_fields": b"captions,image\na,b,c,d,e\nf,g,h\n",
    "open_quote": b'captions,image\n"a dog,b\n',
    "other_columns": b'{"words": "a dog"}\n',
    "captions_of_numbers": b'{"references": [1, 2]}\n{"references": [3]}\n',
    "captions_of_null": b'{"references": null}\n',
    "nested": b'{"references": {"references": {"a": []}}}\n',
    "surrogate": b'{"references": ["\\ud800"]}\n',
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

# Kinds of content that are tried of a command whose libraries take long.
FEW = ("empty", "nul", "not_utf_8", "parquet_mark", "text", "half_a_line")
SLOW_COMMANDS = ("train-pac", "make-positives", "convert-checkpoint")

# Commands that read folders, too.
READ_FOLDERS = ("human-correlation", "diversity", "train-pac", "make-positives")

# Contents that some endings can mean: a line of text is a caption of a text file, an object captions by name.
LEGAL = {
    "diversity.txt": set(CONTENTS),
    "diversity.csv": {"text", "bare_text", "captions_in_utf_16"},
    "diversity.tsv": {"text", "bare_text", "captions_in_utf_16"},
    "diversity.json": {"other_columns"},
    "splits.csv": {"captions_in_utf_16"},
    "core-set.csv": {"captions_in_utf_16"},
}

# What is given for every option that takes a number.
BAD_NUMBERS = ("nan", "inf", "-1")

BRACKETS = "[" * 50_000

# Mistakes, at the end of the good line of a command.
MISTAKES: dict[str, dict[str, str]] = {
    "make-world": {"rows_0": "--rows 0"},
    "count-document-frequency": {
        "no_folder": "--output {folder}/no/out.json",
        "column": "--column words",
        "document": "--document words",
        "document_of_lists": "--document references",
    },
    "count-token-frequency": {"no_folder": "--output {folder}/no/out.json", "column": "--column ''"},
    "diversity": {
        "no_folder": "--output {folder}/no/out.html",
        "no_folder_for_json": "--json {folder}/no/out.json",
        "names": "--names a b",
        "column": "--column words",
        "group_by": "--group-by words",
        "tokenizer": "--tokenizer nonsense",
        "encoder": "--encoder {folder}",
        "pos": "--pos no_such_pipeline",
    },
    "quickstart": {
        "output_is_a_file": "--output {folder}/rows.jsonl",
        "output_in_a_file": "--output {folder}/rows.jsonl/x",
    },
    "human-correlation": {
        "limit_0": "--limit 0",
        "options_text": "--options many",
        "options_list": "--options [1]",
        "options_null": "--options null",
        "options_empty": "--options ''",
        "options_brackets": f"--options {BRACKETS}",
        "options_unknown": """--options '{"a": 1}'""",
        "options_number": """--options '{"seed": "a"}'""",
        "metric_unknown": "--metric no_such_metric",
        "metric_empty": "--metric ''",
        "metric_is_a_file": "--metric {folder}/rows.jsonl",
        "config": "--metric pac_score --config none",
        "key": "--key none",
        "columns_of_foil": "--benchmark foil",
        "no_rows_in_folder": "--data {folder}/empty",
        "candidates_of_numbers": "--data {folder}/numbers.jsonl",
        "scores_of_text": "--data {folder}/texts.jsonl",
        "references_of_text": "--data {folder}/references.jsonl",
        "release_of_rubbish": "--benchmark flickr8k-expert --data {folder}/release",
    },
    "train-pac": {
        "workers_0": "--workers 0",
        "batch_size_1": "--batch-size 1",
        "encode_batch_size_0": "--encode-batch-size 0",
        "patience_0": "--patience 0",
        "validate_every_0": "--validate-every 0",
        "save_every_0": "--save-every 0",
        "variant": "--variant none",
        "split": "--train-split none[",
    },
    "make-positives": {
        "workers_0": "--workers 0",
        "shard_size_0": "--shard-size 0",
        "batch_size_0": "--batch-size 0",
        "split": "--split none",
        "column": "--image-column none",
    },
    "core-set": {
        "thresholds_zero": "--thresholds 0",
        "thresholds_above_1": "--thresholds 1.5",
        "thresholds_too_many": "--thresholds " + " ".join(str(0.05 + i / 1000) for i in range(300)),
        "limit_0": "--limit 0",
        "columns_of_text": "--columns references",
        "columns_unknown": "--columns references=nowhere",
        "columns_of_no_role": "--columns captains=references",
        "scores_missing": "--scores {folder}/none.npy",
        "scores_folder": "--scores {folder}",
        "scores_device": "--scores /dev/zero",
    },
    "splits": {
        **{
            f"{share}_{text}": f"--{share} {text}"
            for share in ("test", "validation")
            for text in ("-0.1", "1", "1e300")
        },
        "nothing_to_train": "--test 0.5 --validation 0.5",
        "seed_half": "--seed 0.5",
        "by_words": "--by words",
        "no_labels": "--by concept",
        "labels_by_length": "--labels {folder}/rows.jsonl",
        "labels_missing": "--by concept --labels {folder}/none.txt",
        "labels_folder": "--by concept --labels {folder}",
        "labels_device": "--by concept --labels /dev/zero",
        "labels_empty": "--by concept --labels {folder}/empty.txt",
        "labels_binary": "--by concept --labels {folder}/binary.txt",
    },
    "score": {
        "metric_unknown": "-m no_such_metric",
        "metric_empty": "-m ''",
        "metric_path": "-m ../../bleu_rouge",
        "output_in_a_file": "-o {folder}/rows.jsonl/scores",
        "output_is_a_file": "-o {folder}/rows.jsonl",
        "output_long": "-o {folder}/" + "a" * 300,
        "option_without_value": "--option details",
        "option_unknown": "--option no_such=1",
        "option_of_another": "--option trm_meteor.seed=1",
        "option_brackets": f"--option tokenizer={BRACKETS}",
        "option_long_number": "--option tokenizer=" + "9" * 6_000,
        "option_surrogate": r"""--option 'tokenizer="\ud800"'""",
        "part_size_0": "--part-size 0",
        "processes_0": "--processes 0",
        "limit_0": "--limit 0",
        "max_rejected_2": "--max-rejected 2",
        "max_pooled_rows_0": "--max-pooled-rows 0",
        "input_missing": "-i {folder}/none.jsonl",
        "input_pattern": "-i {folder}/none*.jsonl",
        "input_braces": "-i {folder}/{{0..9}.jsonl",
        "input_braces_endless": "-i {folder}/{000000000..999999999}.jsonl",
        "input_empty": "-i ''",
        "input_address": "-i no-such-protocol://x/y.jsonl",
        "input_nul": "-i a\0b.jsonl",
        "references_missing": "-r {folder}/none.jsonl",
        "references_other_ids": "-i {folder}/bare.jsonl -r {folder}/other_ids.jsonl",
        "ids_twice": "-i {folder}/rows.jsonl {folder}/rows.jsonl",
        "columns_of_text": "--columns =",
        "columns_unknown": "--columns predictions=nowhere",
        "images_missing": "-m pac_score --images {folder}/none",
        "engine": "--engine none",
        "pooled_rows": "-m fid_bert --option pooled=many",
        "device": "-m fid_bert --device no-such-device",
    },
    "compare": {
        "metric_unknown": "-m no_such_metric",
        "metric_empty": "-m ''",
        "names_too_few": "--names a",
        "names_equal": "--names a a",
        "names_empty": "--names '' b",
        "names_surrogate": "--names \ud800 b",
        "baseline_unknown": "--baseline nobody",
        "clusters_open": "--clusters '('",
        "clusters_matches_none": "--clusters ^x",
        "limit_0": "--limit 0",
        "n_resamples_0": "--n-resamples 0",
        "n_resamples_huge": "--n-resamples 1" + "0" * 30,
        "references_missing": "-r {folder}/none.jsonl",
        "output_is_a_file": "-o {folder}/rows.jsonl",
        "with_captions": "--with-captions",
    },
    "rows": {
        "rows_0": "--rows 0",
        "limit_0": "--limit 0",
        "ids_unknown": "--ids nobody",
        "metric": "--metric none",
        "choose": "--choose none",
        "images_missing": "--images {folder}/none",
        "encoder_folder": "--encoder {folder}",
        "columns": "--columns id",
        "no_folder": "-o {folder}/no/out.html",
    },
}

# Command lines that share little with a good one.
OTHER_LINES: dict[str, str] = {
    "make-world/other_ending": "make-world {folder}/w.csv",
    "make-world/no_folder": "make-world {folder}/nowhere/w.parquet --rows 2",
    "make-world/long_name": "make-world {folder}/" + "w" * 300 + ".parquet --rows 2",
    "diversity/empty_name": "diversity '' --output {folder}/o.html",
    "diversity/long_name": "diversity " + "a" * 5000 + " --output {folder}/o.html",
    "diversity/saved_folder": "diversity {folder} --output {folder}/o.html",
    "human-correlation/no_data": "human-correlation --benchmark foil --metric trm_meteor",
    "core-set/no_test": "core-set {folder}/rows.jsonl -o {folder}/out.json",
    "compare/one_system": "compare {folder}/rows.jsonl -o {folder}/report",
    "compare/file_and_folder": "compare {folder}/rows.jsonl {folder}/one -o {folder}/report",
    "compare/other_rows": "compare {folder}/rows.jsonl {folder}/other_ids.jsonl -o {folder}/report",
    "install-wordnet/in_a_file": "install-wordnet --to {folder}/rows.jsonl/x",
    "convert-checkpoint/folder_with_files": "convert-checkpoint {checkpoint} {folder}",
    "convert-checkpoint/folder_is_a_file": "convert-checkpoint {checkpoint} {folder}/rows.jsonl",
    "convert-checkpoint/variant": "convert-checkpoint {checkpoint} {folder}/new --variant none",
    "no_command": "",
    "unknown_command": "no-such-command",
    "unknown_option": "list --no-such-option",
}

# Mistakes with which a command may succeed: WordNet may be there, and no metric is the default one.
MAY_SUCCEED = {"install-wordnet/in_a_file", "human-correlation/metric_empty"}


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
    "text": b"0.5 0.5",
    "no_dimension": array(0.5),
    "one_dimension": array(np.ones(8)),
    "too_few": array(np.ones((7, 4))),
    "text_numbers": array(np.full((8, 4), "0.5")),
    "objects": array(np.full((8, 4), None)),
    "complex": array(np.ones((8, 4), complex)),
    "nan": array(np.where(np.eye(8, 4) > 0, np.nan, 0.5)),
    "infinite": array(np.where(np.eye(8, 4) > 0, np.inf, 0.5)),
    "half": array(np.ones((8, 4)))[:-40],
    "head_of_text": numpy_head("a dog"),
    "head_open": numpy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (8, 4"),
    "head_nested": numpy_head("(" * 5_000),
    "head_negative": numpy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (-8, 4), }"),
    "head_huge": numpy_head("{'descr': '<f8', 'fortran_order': False, 'shape': (8, 400000000000), }"),
    "head_of_objects": numpy_head("{'descr': '|O', 'fortran_order': False, 'shape': (8, 4), }"),
    "zip": b"PK\x03\x04" + bytes(60),
}

# Contents of a saved state of JSON.
STATES: dict[str, bytes] = {
    **BROKEN_JSON,
    "other": b'{"metrics": 3}',
    "metrics_of_numbers": b'{"metrics": {"bleu_rouge": 3}}',
    "no_signature": b'{"metrics": {"bleu_rouge": {"bleu_4": 0.5}}}',
}

ABSTRACT = "human-correlation --benchmark abstract-50s --metric trm_meteor --data {folder}"
ACTIVITYNET = "human-correlation --benchmark activitynet-foil --metric meteor15 --data {folder}"
COCO = "human-correlation --benchmark coco-systems --metric trm_meteor --data {folder}"
COCO_EVAL = "coco-eval {folder}/annotations.json {folder}/system.json"
VATEX = "human-correlation --benchmark vatex-eval --metric trm_meteor --data {folder}"

VIDEO = {"duration": 20.0, "timestamps": [[0, 10], [8, 20]], "sentences": ["a dog runs", "it sleeps"]}
PARAGRAPH = [{"sentence": "a dog runs"}, {"sentence": "it sleeps"}]
COCO_ANNOTATIONS = {
    "images": [{"id": 1, "file_name": "1.jpg"}],
    "annotations": [{"image_id": 1, "caption": "a dog"}, {"image_id": 1, "caption": "a wet dog"}],
}
VATEX_ARRAYS = {
    "candidates_list": ["a dog", "a cat"],
    "gts_list": [["a dog runs", "a wet dog"], ["a cat sleeps", "cats"]],
    "human_scores": [5.0, 3.0, 4.0, 2.0, 5.0, 1.0],
    "video_ids": ["a", "b"],
}


def activitynet(**first: Any) -> dict[str, bytes]:
    """Return the files of ActivityNet-FOIL with one video, of which something is changed."""
    files = {
        "final_right_video_sentences.json": {"results": {"v": PARAGRAPH}},
        "final_foil_video_sentences.json": {"results": {"v": PARAGRAPH}},
        "anet_entities_test_1.json": {"v": {**VIDEO, **first}},
        "anet_entities_test_2.json": {"v": {**VIDEO, **first}},
    }
    return {name: json.dumps(content).encode() for name, content in files.items()}


def coco(system: Any, annotations: Any = None) -> dict[str, bytes]:
    """Return the files of ranked systems."""
    contents = {"annotations.json": COCO_ANNOTATIONS if annotations is None else annotations, "system.json": system}
    return {name: json.dumps(content).encode() for name, content in contents.items()}


def vatex(**changed: Any) -> dict[str, bytes]:
    """Return the arrays of VATEX-EVAL, some of them changed."""
    arrays = {**VATEX_ARRAYS, **changed}
    return {
        f"{name}.npy": content if isinstance(content, bytes) else array(content) for name, content in arrays.items()
    }


RELEASES: dict[str, tuple[str, dict[str, bytes]]] = {
    **{
        f"activitynet-foil/{name}": (ACTIVITYNET, activitynet(**first))
        for name, first in {
            "times_infinite": {"timestamps": [[0, float("inf")], [8, 20]]},
            "times_nan": {"timestamps": [[0, float("nan")], [8, 20]]},
            "times_of_text": {"timestamps": [["a", "b"], [8, 20]]},
            "times_too_few": {"timestamps": [[0, 10]]},
            "times_none": {"timestamps": None},
            "duration_0": {"duration": 0},
            "duration_nan": {"duration": float("nan")},
            "duration_negative": {"duration": -20},
            "duration_text": {"duration": "long"},
            "sentences_of_numbers": {"sentences": [1, 2]},
            "sentences_too_few": {"sentences": ["a dog runs"]},
        }.items()
    },
    "activitynet-foil/no_files": (ACTIVITYNET, {}),
    "activitynet-foil/no_results": (ACTIVITYNET, {**activitynet(), "final_right_video_sentences.json": b"{}"}),
    "activitynet-foil/list": (ACTIVITYNET, {**activitynet(), "anet_entities_test_2.json": b"[]"}),
    **{
        f"{command}/{name}": (arguments, coco(system))
        for command, arguments in (("coco-systems", COCO), ("coco-eval", COCO_EVAL))
        for name, system in {
            "empty": [],
            "numbers": [1, 2],
            "no_caption": [{"image_id": 1}],
            "caption_of_number": [{"image_id": 1, "caption": 3}],
            "unknown_image": [{"image_id": 9, "caption": "a dog"}],
            "image_of_list": [{"image_id": [1], "caption": "a dog"}],
            "image_twice": [{"image_id": 1, "caption": "a dog"}] * 2,
        }.items()
    },
    **{
        f"{command}/annotations_{name}": (arguments, coco([{"image_id": 1, "caption": "a dog"}], annotations))
        for command, arguments in (("coco-systems", COCO), ("coco-eval", COCO_EVAL))
        for name, annotations in {
            "empty": {},
            "of_text": {"annotations": "a dog"},
            "of_numbers": {"annotations": [1]},
            "image_of_list": {"annotations": [{"image_id": [1], "caption": "a"}]},
            "caption_of_number": {"annotations": [{"image_id": 1, "caption": 1}]},
            "images_none": {**COCO_ANNOTATIONS, "images": None},
            "images_of_numbers": {**COCO_ANNOTATIONS, "images": [3]},
        }.items()
    },
    "coco-systems/no_files": (COCO, {}),
    "coco-eval/no_files": (COCO_EVAL, {}),
    **{
        f"vatex-eval/{name}": (VATEX, vatex(**changed))
        for name, changed in {
            "candidates_no_dimension": {"candidates_list": "a dog"},
            "candidates_of_lists": {"candidates_list": [["a dog"], ["a cat"]]},
            "candidates_pickled": {"candidates_list": np.array([{"a": 1}, None], dtype=object)},
            "references_flat": {"gts_list": ["a dog", "a cat"]},
            "references_too_few": {"gts_list": [["a dog"]]},
            "scores_of_text": {"human_scores": ["good"] * 6},
            "scores_too_few": {"human_scores": [1.0, 2.0]},
            "scores_complex": {"human_scores": np.ones(6, complex)},
            "scores_nan": {"human_scores": np.full(6, np.nan)},
            "scores_no_dimension": {"human_scores": 3.0},
            "videos_no_dimension": {"video_ids": "a"},
            "rubbish": {"candidates_list": b"\x93NUMPY rubbish"},
            "head_nested": {"candidates_list": ARRAYS["head_nested"]},
            "head_huge": {"candidates_list": ARRAYS["head_huge"]},
        }.items()
    },
    **{
        f"abstract-50s/{name}": (ABSTRACT, {"consensus_abstract.mat": content})
        for name, content in {
            "empty": b"",
            "text": b"a dog",
            "mark": b"MATLAB 5.0 MAT-file" + bytes(200),
            "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(100),
            "binary": bytes(range(256)) * 4,
        }.items()
    },
}


def ready_run(name: str, content: bytes) -> Callable[[pathlib.Path], None]:
    """Return what scores the rows, and then writes something else into a file of the run."""

    def make(folder: pathlib.Path) -> None:
        from tests.hostile_inputs.commands import run_command

        line = [word.replace("{folder}", str(folder)) for word in TOOLS["score"].arguments()]
        status, printed = run_command(line, folder)
        assert status == 0, printed
        (folder / "scores" / name).write_bytes(content)
        if name != "manifest.json":
            (folder / "scores" / "summary.json").unlink()

    return make


def made_at(path: str, make: Callable[[pathlib.Path], Any]) -> Callable[[pathlib.Path], None]:
    """Return what makes something at a path of a folder."""

    def at_path(folder: pathlib.Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        make(folder / path)

    return at_path


def reader_cases() -> Iterator[tuple[str, Command]]:
    """Yield every command that reads a file with every kind of content, and with what is no file."""
    for name, tool in TOOLS.items():
        endings, outputs = tool.endings.split(), tool.outputs.split()
        for ending in endings:
            for content, data in CONTENTS.items():
                if content in FEW or name not in SLOW_COMMANDS:
                    legal = content in LEGAL.get(f"{name}{ending}", ())
                    files = {**FILES, f"in{ending}": data}
                    yield (
                        f"{name}/{content}{ending}",
                        Command(tool.arguments(f"in{ending}"), files, None, outputs, legal),
                    )
        for kind, make in KINDS.items():
            if endings and (kind != "folder" or name not in READ_FOLDERS):
                given = f"in{endings[0]}"
                yield f"{name}/{kind}", Command(tool.arguments(given), FILES, made_at(given, make), outputs)


def mistakes() -> Iterator[tuple[str, Command]]:
    """Yield every mistaken option; each option that takes a number with each bad one."""
    lines = {name: shlex.split(line) for name, line in OTHER_LINES.items()}
    for name, tool in TOOLS.items():
        line = tool.arguments()
        lines |= {f"{name}/{case}": [*line, *shlex.split(more)] for case, more in MISTAKES.get(name, {}).items()}
        if line[0] == name:
            lines |= {
                f"{name}/{option}_{number}": [*line, option, number]
                for option in number_options(name)
                for number in BAD_NUMBERS
            }
    for name, line in lines.items():
        yield f"options/{name}", Command(line, FILES, may_succeed=name in MAY_SUCCEED)


def number_options(command: str) -> list[str]:
    """Return the options of a command that take a number."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"manycaps.commands.{command.replace('-', '_')}").add_arguments(parser)
    return [action.option_strings[-1] for action in parser._actions if action.type not in (None, pathlib.Path)]


def bad_outputs() -> Iterator[tuple[str, Command]]:
    """Yield every command that writes a file, where it cannot be written."""
    for name, tool in TOOLS.items():
        for output in tool.outputs.split():
            for kind, make in BAD_OUTPUTS.items():
                if kind != "folder" or name != "convert-checkpoint-folder":
                    case = Command(tool.arguments(), FILES, made_at(output, make))
                    yield f"output/{name}/{output}/{kind}", case


def bad_states() -> Iterator[tuple[str, Command]]:
    """Yield commands that read arrays, and what an earlier run has left."""
    for name, content in ARRAYS.items():
        line = [*TOOLS["core-set"].arguments(), "--scores", "{folder}/scores.npy"]
        yield f"arrays/core-set/{name}", Command(line, {**FILES, "scores.npy": content})
    folders, score = TOOLS["compare-folders"].arguments(), TOOLS["score"].arguments()
    yield "states/compare/rows_of_rubbish", Command(folders, FILES)
    for name, content in STATES.items():
        yield f"states/compare/{name}", Command(folders, {**FILES, "one/summary.json": content})
        if name in ("empty", "text", "null", "list", "half", "not_utf_8", "brackets"):
            for file in ("manifest.json", "parts/score-00000.json"):
                make = ready_run(file, content)
                yield f"states/score/{pathlib.Path(file).stem}_{name}", Command(score, FILES, make)


def all_commands() -> dict[str, Command]:
    """Return every command line by name."""
    cases = dict(reader_cases()) | dict(mistakes()) | dict(bad_outputs()) | dict(bad_states())
    return cases | {f"releases/{name}": Command(shlex.split(line), files) for name, (line, files) in RELEASES.items()}
