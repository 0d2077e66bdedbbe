"""Command lines of the later commands: scores, comparisons, splits, core sets, and released benchmarks."""

import io
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

# Runs a command line in a folder; returns its status and what it printed to standard error.
Run = Callable[[Sequence[str], pathlib.Path], tuple[int, str]]


class Command(NamedTuple):
    """A command line: `{folder}` stands for an empty folder, in which `files` are made before."""

    arguments: Sequence[str]
    files: dict[str, bytes]
    # Makes what bytes cannot be: pipes, folders, links.
    make: Callable[[pathlib.Path], Any] | None = None
    # Output files that lie there before.
    outputs: Sequence[str] = ()
    # Whether the command may also succeed.
    may_succeed: bool = False


# Captions of one system with references, four rows.
ROWS = [
    {"id": str(i), "predictions": [f"a {word} runs", f"the {word}"], "references": [f"a {word} is running", f"{word}s"]}
    for i, word in enumerate(("dog", "cat", "man", "train"))
]
LINES = "\n".join(map(json.dumps, ROWS)).encode()

# What a run of `manycaps score` leaves, in the parts that other commands read.
SUMMARY = {"n_rows": 4, "metrics": {"bleu_rouge": {"bleu_4": 0.5, "signature": "bleu_rouge|version:0"}}, "inputs": {}}


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

CORE_SET = ["core-set", "{folder}/rows.jsonl", "--test", "{folder}/rows.jsonl", "-o", "{folder}/out.json"]
SPLITS = ["splits", "{folder}/rows.jsonl", "-o", "{folder}/out.json"]
SCORE = ["score", "-m", "bleu_rouge", "-i", "{folder}/rows.jsonl", "-o", "{folder}/scores", "--processes", "1"]
COMPARE = [
    "compare",
    "{folder}/rows.jsonl",
    "{folder}/rows.jsonl",
    "-m",
    "bleu_rouge",
    "-o",
    "{folder}/report",
    "--overwrite",
]
ROWS_PAGE = ["rows", "{folder}/rows.jsonl", "-o", "{folder}/out.html"]
FOLDERS = ["compare", "{folder}/one", "{folder}/two", "-o", "{folder}/report", "--overwrite"]

OPTIONS: dict[str, list[str]] = {
    **{
        f"core-set/thresholds_{name}": [*CORE_SET, "--thresholds", *texts]
        for name, texts in {
            "nan": ["nan"],
            "infinite": ["inf"],
            "negative": ["-1"],
            "zero": ["0"],
            "above_1": ["1.5"],
            "text": ["many"],
            "too_many": [str(0.05 + i / 1000) for i in range(300)],
        }.items()
    },
    "core-set/limit_0": [*CORE_SET, "--limit", "0"],
    "core-set/columns_of_text": [*CORE_SET, "--columns", "references"],
    "core-set/columns_unknown": [*CORE_SET, "--columns", "references=nowhere"],
    "core-set/columns_of_no_role": [*CORE_SET, "--columns", "captains=references"],
    "core-set/scores_missing": [*CORE_SET, "--scores", "{folder}/none.npy"],
    "core-set/scores_folder": [*CORE_SET, "--scores", "{folder}"],
    "core-set/scores_device": [*CORE_SET, "--scores", "/dev/zero"],
    "core-set/no_test": ["core-set", "{folder}/rows.jsonl", "-o", "{folder}/out.json"],
    **{
        f"splits/{share}_{name}": [*SPLITS, "--by", "length", f"--{share}", text]
        for share in ("test", "validation")
        for name, text in {"nan": "nan", "negative": "-0.1", "one": "1", "infinite": "inf", "large": "1e300"}.items()
    },
    "splits/nothing_to_train": [*SPLITS, "--by", "length", "--test", "0.5", "--validation", "0.5"],
    "splits/seed_negative": [*SPLITS, "--by", "length", "--seed", "-1"],
    "splits/seed_half": [*SPLITS, "--by", "length", "--seed", "0.5"],
    "splits/by_words": [*SPLITS, "--by", "words"],
    "splits/no_labels": [*SPLITS, "--by", "concept"],
    "splits/labels_by_length": [*SPLITS, "--by", "length", "--labels", "{folder}/rows.jsonl"],
    **{
        f"splits/labels_{name}": [*SPLITS, "--by", "concept", "--labels", path]
        for name, path in {
            "missing": "{folder}/none.txt",
            "folder": "{folder}",
            "device": "/dev/zero",
            "empty": "{folder}/empty.txt",
            "binary": "{folder}/binary.txt",
        }.items()
    },
    **{
        f"score/{name}": [*SCORE, *texts]
        for name, texts in {
            "metric_unknown": ["-m", "no_such_metric"],
            "metric_empty": ["-m", ""],
            "metric_path": ["-m", "../../bleu_rouge"],
            "output_in_a_file": ["-o", "{folder}/rows.jsonl/scores"],
            "output_is_a_file": ["-o", "{folder}/rows.jsonl"],
            "output_long": ["-o", "{folder}/" + "a" * 300],
            "option_without_value": ["--option", "details"],
            "option_unknown": ["--option", "no_such=1"],
            "option_of_another": ["--option", "trm_meteor.seed=1"],
            "option_brackets": ["--option", "tokenizer=" + "[" * 50_000],
            "option_long_number": ["--option", "tokenizer=" + "9" * 6_000],
            "option_surrogate": ["--option", 'tokenizer="\\ud800"'],
            "part_size_nan": ["--part-size", "nan"],
            "part_size_0": ["--part-size", "0"],
            "part_size_negative": ["--part-size", "-1"],
            "processes_0": ["--processes", "0"],
            "processes_text": ["--processes", "many"],
            "limit_0": ["--limit", "0"],
            "max_rejected_nan": ["--max-rejected", "nan"],
            "max_rejected_2": ["--max-rejected", "2"],
            "max_pooled_rows_0": ["--max-pooled-rows", "0"],
            "input_missing": ["-i", "{folder}/none.jsonl"],
            "input_pattern": ["-i", "{folder}/none*.jsonl"],
            "input_braces": ["-i", "{folder}/{{0..9}.jsonl"],
            "input_braces_endless": ["-i", "{folder}/{000000000..999999999}.jsonl"],
            "input_empty": ["-i", ""],
            "input_address": ["-i", "no-such-protocol://x/y.jsonl"],
            "input_nul": ["-i", "a\0b.jsonl"],
            "references_missing": ["-r", "{folder}/none.jsonl"],
            "references_other_ids": ["-i", "{folder}/bare.jsonl", "-r", "{folder}/other_ids.jsonl"],
            "ids_twice": ["-i", "{folder}/rows.jsonl", "{folder}/rows.jsonl"],
            "columns_of_text": ["--columns", "="],
            "columns_unknown": ["--columns", "predictions=nowhere"],
            "images_missing": ["-m", "pac_score", "--images", "{folder}/none"],
            "engine": ["--engine", "none"],
            "pooled_rows": ["-m", "fid_bert", "--option", "pooled=many"],
            "device": ["-m", "fid_bert", "--device", "no-such-device"],
        }.items()
    },
    **{
        f"compare/{name}": [*COMPARE, *texts]
        for name, texts in {
            "metric_unknown": ["-m", "no_such_metric"],
            "metric_empty": ["-m", ""],
            "names_too_few": ["--names", "a"],
            "names_equal": ["--names", "a", "a"],
            "names_empty": ["--names", "", "b"],
            "names_surrogate": ["--names", "\ud800", "b"],
            "baseline_unknown": ["--baseline", "nobody"],
            "clusters_open": ["--clusters", "("],
            "clusters_matches_none": ["--clusters", "^x"],
            "limit_0": ["--limit", "0"],
            "n_resamples_0": ["--n-resamples", "0"],
            "n_resamples_huge": ["--n-resamples", "1" + "0" * 30],
            "seed_negative": ["--seed", "-1"],
            "references_missing": ["-r", "{folder}/none.jsonl"],
            "output_is_a_file": ["-o", "{folder}/rows.jsonl"],
            "with_captions": ["--with-captions"],
        }.items()
    },
    "compare/one_system": ["compare", "{folder}/rows.jsonl", "-o", "{folder}/report"],
    "compare/file_and_folder": ["compare", "{folder}/rows.jsonl", "{folder}/one", "-o", "{folder}/report"],
    "compare/other_rows": ["compare", "{folder}/rows.jsonl", "{folder}/other_ids.jsonl", "-o", "{folder}/report"],
    **{
        f"rows/{name}": [*ROWS_PAGE, *texts]
        for name, texts in {
            "rows_0": ["--rows", "0"],
            "rows_negative": ["--rows", "-1"],
            "limit_0": ["--limit", "0"],
            "seed_negative": ["--seed", "-1"],
            "ids_unknown": ["--ids", "nobody"],
            "metric": ["--metric", "none"],
            "choose": ["--choose", "none"],
            "images_missing": ["--images", "{folder}/none"],
            "encoder_folder": ["--encoder", "{folder}"],
            "columns": ["--columns", "id"],
            "no_folder": ["-o", "{folder}/no/out.html"],
        }.items()
    },
}

FILES: dict[str, bytes] = {
    "rows.jsonl": LINES,
    "bare.jsonl": "\n".join(json.dumps({"id": r["id"], "predictions": r["predictions"]}) for r in ROWS).encode(),
    "other_ids.jsonl": "\n".join(json.dumps({**row, "id": f"other {row['id']}"}) for row in ROWS).encode(),
    "empty.txt": b"\n \n",
    "binary.txt": bytes(range(256)),
    "one/summary.json": json.dumps(SUMMARY).encode(),
    "one/rows/part-00000.parquet": b"PAR1" + bytes(40) + b"PAR1",
    "two/summary.json": json.dumps(SUMMARY).encode(),
    "two/rows/part-00000.parquet": b"PAR1" + bytes(40) + b"PAR1",
}

# Contents of a saved state of JSON.
STATES: dict[str, bytes] = {
    "empty": b"",
    "text": b'"a dog"',
    "null": b"null",
    "list": b"[1]",
    "half": json.dumps(SUMMARY).encode()[:-9],
    "not_utf_8": b"\xff\xfe",
    "brackets": b"[" * 100_000,
    "other": b'{"metrics": 3}',
    "metrics_of_numbers": b'{"metrics": {"bleu_rouge": 3}}',
    "no_signature": b'{"metrics": {"bleu_rouge": {"bleu_4": 0.5}}}',
}

ABSTRACT = ["human-correlation", "--benchmark", "abstract-50s", "--metric", "trm_meteor", "--data", "{folder}"]
ACTIVITYNET = ["human-correlation", "--benchmark", "activitynet-foil", "--metric", "meteor15", "--data", "{folder}"]
COCO = ["human-correlation", "--benchmark", "coco-systems", "--metric", "trm_meteor", "--data", "{folder}"]
VATEX = ["human-correlation", "--benchmark", "vatex-eval", "--metric", "trm_meteor", "--data", "{folder}"]

VIDEO = {"duration": 20.0, "timestamps": [[0, 10], [8, 20]], "sentences": ["a dog runs", "it sleeps"]}
PARAGRAPH = [{"sentence": "a dog runs"}, {"sentence": "it sleeps"}]
COCO_ANNOTATIONS = {
    "images": [{"id": 1, "file_name": "1.jpg"}],
    "annotations": [{"image_id": 1, "caption": "a dog"}, {"image_id": 1, "caption": "a wet dog"}],
}
COCO_EVAL = ["coco-eval", "{folder}/annotations.json", "{folder}/system.json"]
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


RELEASES: dict[str, tuple[list[str], dict[str, bytes]]] = {
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

        status, printed = run_command([part.replace("{folder}", str(folder)) for part in SCORE], folder)
        assert status == 0, printed
        (folder / "scores" / name).write_bytes(content)
        if name != "manifest.json":
            (folder / "scores" / "summary.json").unlink()

    return make


def later_commands() -> dict[str, Command]:
    """Return the command lines by name."""
    cases = {f"options/{name}": Command(line, FILES) for name, line in OPTIONS.items()}
    for name, content in ARRAYS.items():
        line = [*CORE_SET, "--scores", "{folder}/scores.npy"]
        cases[f"arrays/core-set/{name}"] = Command(line, {**FILES, "scores.npy": content})
    for name, content in STATES.items():
        cases[f"states/compare/{name}"] = Command(FOLDERS, {**FILES, "one/summary.json": content})
        if name not in ("other", "metrics_of_numbers", "no_signature"):
            for file in ("manifest.json", "parts/score-00000.json"):
                make = ready_run(file, content)
                cases[f"states/score/{pathlib.Path(file).stem}_{name}"] = Command(SCORE, FILES, make)
    cases["states/compare/rows_of_rubbish"] = Command(FOLDERS, FILES)
    return cases | {f"releases/{name}": Command(*case) for name, case in RELEASES.items()}
