"""What compare() does around the comparison: the state of other libraries, names, limits, and progress."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from manycaps.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.caption_scores import CaptionScores
from manycaps.comparison.systems import MOST_SYSTEMS, named_systems, read_systems
from manycaps.installed_modules import module_class
from tests.comparison_cases import caption_rows, write_captions
from tests.large_packages import evaluate
from tests.tools import ROOT

# What a notebook may see of other libraries; FIRST runs before they are imported, and CALLS one after the other.
STATE = """
import importlib, json, os, sys
import manycaps
from manycaps.comparison import CompareOptions, compare
from manycaps.parity_plan import PlanOptions, plan
from manycaps.scoring import ScoreOptions, score
FIRST
import evaluate, nltk.classify, transformers
from transformers.utils import import_utils
evaluator = importlib.import_module("evaluate.evaluator")
def state():
    return {
        "bars": evaluate.utils.logging.is_progress_bar_enabled(),
        "evaluator": [evaluator.TRANSFORMERS_AVAILABLE, sorted(evaluator.SUPPORTED_EVALUATOR_TASKS)],
        "sklearn": [import_utils.is_sklearn_available(), hasattr(nltk.classify, "SklearnClassifier")],
        "hidden": [name for name, module in sys.modules.items() if module is None and "." not in name],
        "variables": {name: value for name, value in os.environ.items() if name.startswith("HF_")},
        "offline": evaluate.config.HF_EVALUATE_OFFLINE,
    }
states = [state()]
for call in CALLS:
    exec(call)
    states.append(state())
print(json.dumps(states))
"""

CALLS = {
    "compare": (
        'compare(CompareOptions(["base.jsonl", "other.jsonl"], ["references.jsonl"], metrics=["trm_meteor"], '
        'distance="meteor"))'
    ),
    "plan": 'plan(PlanOptions(["base.jsonl"], ["references.jsonl"], distance="meteor"))',
    "score": 'score(ScoreOptions(["trm_meteor"], ["base.jsonl"], "scores", ["references.jsonl"], processes=1))',
    "load": 'manycaps.load("trm_meteor").compute(predictions=[["a dog"]], references=[["dogs", "a cat"]])',
}


@pytest.mark.slow
@pytest.mark.parametrize("first", [None, "compare"])
def test_nothing_called_from_python_changes_another_library(first, tmp_path):
    write_captions(tmp_path, caption_rows(4))
    code = STATE.replace("FIRST", CALLS.get(first, "")).replace("in CALLS", f"in {[*CALLS.values()]!r}")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    variables |= {"PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, *after = json.loads(done.stdout.splitlines()[-1])
    assert (before["bars"], before["evaluator"][0], before["offline"], before["hidden"]) == (True, True, False, [])
    assert before["variables"] == {"HF_HOME": str(tmp_path / "cache")}
    assert after == [before] * len(CALLS)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of 24 rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_captions(tmp_path, caption_rows(24))


@pytest.mark.parametrize("name", ["people", "People", " people "])
def test_no_system_is_called_people(name, files, capsys):
    message = "which stands for the human captions in the answer"
    with pytest.raises(ValueError, match=message):
        CompareOptions(["a.jsonl", "b.jsonl"], names=["a", name])
    with pytest.raises(ValueError, match=message):
        named_systems([f"scores/{name}"], None, None)  # a folder of scores, or a file, of that name
    scenes = [{"references": ["a dog", "a cat"], "systems": {name: ["a dog"]}}] * 2
    pathlib.Path("scenes.json").write_text(json.dumps({"scenes": scenes}))
    assert main(["quickstart", "--captions", "scenes.json"]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("n_systems", [17, *(pytest.param(n, marks=pytest.mark.slow) for n in (16, 40))])
def test_the_systems_of_a_shared_task_are_compared(n_systems, files, capsys):
    kinds = ["base", "other", "repeating"]
    for i in range(n_systems):
        shutil.copy(files[kinds[i % 3]], f"system_{i:02}.jsonl")
    systems = [f"system_{i:02}.jsonl" for i in range(n_systems)]
    line = ["compare", *systems, "-r", files["references"], "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    assert main([*line, "--full"]) == 0
    answer, _, table = capsys.readouterr().out.partition("Means over rows")
    table = table.partition("\n\nDifferences")[0]
    assert ("how many systems that are significantly worse" in table) == (n_systems > 16)
    assert max(map(len, [*answer.splitlines(), *table.splitlines()[2:]])) <= 100
    numbers = json.loads(pathlib.Path("out/comparison.json").read_text())
    n_pairs = n_systems * (n_systems - 1) // 2
    pairs = numbers["human_parity"]["pairs"]
    assert len(pairs) == n_pairs
    # What differs is found after Holm's rule over hundreds of pairs, and copies are not distinguished.
    are_alike = [(int(pair["first"][-2:]) - int(pair["second"][-2:])) % 3 == 0 for pair in pairs]
    assert all(pair["adjusted_p_value"] == 1 for pair, alike in zip(pairs, are_alike, strict=True) if alike)
    assert all(pair["adjusted_p_value"] <= 0.05 for pair, alike in zip(pairs, are_alike, strict=True) if not alike)
    assert all(metric["smallest_p_value"] <= 0.05 for metric in numbers["metrics"].values())


def test_more_systems_than_a_task_has_are_refused():
    with pytest.raises(ValueError, match=f"^systems: expected 1 to {MOST_SYSTEMS}, got {MOST_SYSTEMS + 1}"):
        named_systems([f"{i}.jsonl" for i in range(MOST_SYSTEMS + 1)], None, None)


def test_a_limit_draws_rows_by_the_seed_and_not_by_the_order_of_the_file(files):
    def drawn(seed, limit=8):
        read = read_systems({"base": files["base"]}, [files["references"]], limit=limit, seed=seed)
        return [row.id for row in read.rows], read.notes

    ids, notes = drawn(0)
    assert notes == ["--limit: 8 of 24 rows, drawn with the seed 0."]
    assert len(ids) == 8
    assert ids != drawn(0, None)[0][:8]
    assert set(ids) != set(drawn(1)[0])
    assert set(drawn(0, 4)[0]) < set(ids)
    for path in files.values():
        lines = pathlib.Path(path).read_text().splitlines(keepends=True)
        pathlib.Path(path).write_text("".join(reversed(lines)))
    assert drawn(0)[0] == ids[::-1]
    assert drawn(0, 100) == (drawn(0, None)[0], [])


@pytest.mark.parametrize("n_single", [1, 2])
def test_rows_with_a_single_reference_are_named_and_left_out_on_request(n_single, files, capsys):
    rows = [json.loads(line) for line in pathlib.Path("references.jsonl").read_text().splitlines()]
    for row in rows[3 : 3 + n_single]:
        del row["references"][1:]
    pathlib.Path("references.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = ["compare", "base.jsonl", "-r", "references.jsonl", "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    more = ", ..." * (n_single > 1)
    said = f"{n_single} of 24 rows have a single reference (references.jsonl, id 'image 3'{more}): "
    for options, end in (([], "--common-rows leaves them out."), (["--common-rows"], "they are left out.")):
        assert main([*line, *options, "--overwrite"]) == 0
        assert f"{said}{end}" in " ".join(capsys.readouterr().out.split())
        numbers = json.loads(pathlib.Path("out/comparison.json").read_text())
        assert numbers["n_rows"] == 24 - n_single * len(options)
        assert (numbers["human_parity"] is None) == (not options)


def test_an_id_that_only_one_side_has_names_the_option_that_leaves_it_out(files, capsys):
    lines = pathlib.Path("references.jsonl").read_text().splitlines(keepends=True)
    pathlib.Path("references.jsonl").write_text("".join(lines[1:]))
    line = ["compare", "base.jsonl", "-r", "references.jsonl", "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    assert main(line) != 0
    assert "Or compare the rows that all files have: --common-rows." in capsys.readouterr().err
    assert main([*line, "--common-rows"]) == 0


def test_captions_are_embedded_with_a_bar_and_the_bars_of_modules_stay_as_they_were(files, monkeypatch):
    shown = []

    def embed(_, captions, options):
        shown.append(evaluate.utils.logging.is_progress_bar_enabled())
        return np.random.default_rng(0).normal(size=(len(captions), 4))

    monkeypatch.setattr(module_class("human_parity"), "embed", embed)
    for was_shown in (True, False):
        switch = (
            evaluate.utils.logging.enable_progress_bar if was_shown else evaluate.utils.logging.disable_progress_bar
        )
        switch()
        compare(CompareOptions([files["base"]], [files["references"]], metrics=["bleu_rouge"], distance="bert"))
        assert shown[0] is True
        assert evaluate.utils.logging.is_progress_bar_enabled() is was_shown
        shown.clear()


@pytest.mark.parametrize(
    ("n_rows", "sizes", "metrics", "message"),
    [
        (2, (150, 60), "trm_cider", "trm_cider, mine, id '0': expected at most 200 captions in all for p-values with"),
        (
            2,
            (1, 2),
            "fid_bert",
            "fid_bert, mine, id '0': expected at least two captions, got one (2 such rows in all).",
        ),
        (1, (3, 3), "trm_cider", "trm_cider: expected at least 2 rows to count document frequencies in, got 1."),
        (1, (3, 3), "bleu_rouge", "--distance cider: expected 2 rows to count words in, got 1."),
    ],
)
def test_limits_are_said_before_the_work_with_options_of_the_command(
    n_rows, sizes, metrics, message, files, monkeypatch, capsys
):
    monkeypatch.setattr(CaptionScores, "systems", None)  # no row is scored
    for name, n, side in (("mine", sizes[0], "captions"), ("people", sizes[1], "references")):
        rows = [{"id": str(i), side: [f"a dog {name} {k}" for k in range(n)]} for i in range(n_rows)]
        pathlib.Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = f"compare mine.jsonl -r people.jsonl -o out --distance cider -m {metrics}"
    assert main(line.split()) != 0
    said = capsys.readouterr().err
    assert message in said
    assert not re.search(r"Use statistic|p_value=|document_frequency=|estimator=", said)
