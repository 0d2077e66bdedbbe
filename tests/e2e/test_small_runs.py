"""Every suite of the benchmark and every program that no other test runs: at tiny sizes, as a person runs them."""

import csv
import gzip
import importlib
import itertools
import json
import math
import random
import re
import runpy
import shutil
import sys
import types

import pytest

from scripts import benchmark
from scripts.benchmark import suite_names
from scripts.benchmarks import timing
from tests.tools import ROOT

pytestmark = pytest.mark.slow

# Images of the made data: as many as a study draws out of Flickr8k, and clips with 40 captions or more.
N_IMAGES, N_CLIPS, N_CAPTIONS = 1_000, 60, 40

# Arguments by program, with the folder of the made data in place of {data} and an empty one in place of {output}.
PROGRAMS = {
    "scripts.studies.compare_mauve": "{data}/msvd_val_references.txt --clips 3 --splits 2",
    "scripts.studies.damage_study": "--data {data} --output {output} --modules trm_bert --rows 60 --trials 4",
    "scripts.studies.embedding_metric_sizes": "{data}/msvd_val_references.txt --clips 2",
    "scripts.studies.general_damage": "--trials 1",
    "scripts.studies.leave_one_out": "--data {data} --sets COCO --iterations 2 --images 50 --distinct",
    "scripts.studies.level_study": """
        --data {data} --output {output} --modules mmd_bert --rows 5 --corpora 2 --size 3 3
    """,
    "scripts.studies.msvd_systems": "{data}/msvd_val_references.txt --clips 3",
    "scripts.studies.paired_test_study": "--data {data} --output {output} --pairs 2 --level 5 20 2",
    "scripts.studies.human_parity_level": """
        --data {data} --output {output} --distances meteor --trials 2 --wording-trials 5 --most-rows 20
    """,
    "scripts.studies.homogeneity_level": "--output {output} --trials 20 --power-trials 2 --samples 5 --rows 20",
    "scripts.studies.sentence_levels": "--output {output} --trials 2 --power-trials 2 --most-rows 60",
    "scripts.studies.class_calibration": "--data {data} --output {output} --halves 3",
    "scripts.toy.make_world": "{output}/world.parquet --rows 2",
    "scripts.toy.train_captioner": "--output {output}/captioner --scenes 80 --steps 2",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the files of public captions that studies read, filled with the quickstart's captions."""
    folder = tmp_path_factory.mktemp("data")
    scenes = json.loads((ROOT / "manycaps/comparison/quickstart/captions.json").read_text(encoding="utf-8"))["scenes"]
    texts = [text for scene in scenes for text in scene["references"] + scene["systems"]["diverse"]]
    rng = random.Random(0)
    with gzip.open(folder / "Flickr8k.token.txt.gz", "wt", encoding="utf-8") as file:
        for i in range(N_IMAGES):
            file.writelines(f"{i}.jpg#{k}\t{text}\n" for k, text in enumerate(rng.sample(texts, 5)))
    clips = {f"clip{i}": rng.sample(texts, N_CAPTIONS) for i in range(N_CLIPS)}
    lines = (f"{clip}\t{text}\n" for clip, captions in clips.items() for text in captions)
    (folder / "msvd_val_references.txt").write_text("".join(lines), encoding="utf-8")
    rows = [{"references": rng.sample(texts, 5)} for _ in range(10)]
    (folder / "real_systems").mkdir()
    answers = [{"generations": rng.sample(texts, 4), "partition": [0, 0, 1, 2]} for _ in range(8)]
    with gzip.open(folder / "real_systems" / "noveltybench.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"rows": answers}, file)
    (folder / "coco_val_1000.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder


@pytest.fixture
def small_suites(data, monkeypatch):
    """A function that imports a suite; the sizes of all that are imported come back after the test."""
    monkeypatch.setattr(timing, "MOST_REPEATS", timing.MOST_REPEATS)

    def prepare(suite):
        importlib.import_module(f"scripts.benchmarks.{suite}")
        for name in suite_names():
            imported = sys.modules.get(f"scripts.benchmarks.{name}")
            for constant in imported.SMALL if imported else ():
                monkeypatch.setattr(imported, constant, getattr(imported, constant))
        if "scripts.benchmarks.diversity" in sys.modules:
            monkeypatch.setattr("scripts.benchmarks.diversity.FOLDER", data)

    return prepare


@pytest.mark.parametrize("suite", suite_names())
def test_a_suite_of_the_benchmark_runs_to_its_end(suite, small_suites, tmp_path, capsys):
    if suite == "coco_eval" and not shutil.which("java"):
        pytest.skip("its peer needs Java")
    small_suites(suite)
    assert benchmark.main([suite], tmp_path / "x.csv", is_small=True) == 0
    assert_has_ratios(capsys.readouterr().out, tmp_path / "x.csv")


def test_the_benchmark_is_a_program(small_suites, tmp_path, monkeypatch, capsys):
    small_suites("chair")
    assert run_as_program("scripts.benchmark", f"--small --only chair --csv {tmp_path / 'x.csv'}", monkeypatch) == 0
    assert_has_ratios(capsys.readouterr().out, tmp_path / "x.csv")


def run_as_program(name, arguments, monkeypatch):
    """Run a program in this process; return its status."""
    monkeypatch.delitem(sys.modules, name, raising=False)  # another program may have imported it
    monkeypatch.setattr(sys, "argv", [name, *arguments.split()])
    try:
        runpy.run_module(name, run_name="__main__")
    except SystemExit as stop:
        return stop.code or 0
    return 0


def assert_has_ratios(printed, path):
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [line for line in printed.splitlines() if " x " in line][-1].strip().startswith(rows[-1]["work"])
    assert all(math.isfinite(float(row["ratio"])) and float(row["ratio"]) > 0 for row in rows)
    assert "MISSED" not in printed


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_to_its_end(program, data, tmp_path, monkeypatch, capsys):
    scores = itertools.cycle((0.5, 0.25, 0.75))
    mauve = types.SimpleNamespace(compute_mauve=lambda **_: types.SimpleNamespace(mauve=next(scores)))
    monkeypatch.setitem(sys.modules, "mauve", mauve)  # no test needs its package
    arguments = PROGRAMS[program].format(data=data, output=tmp_path)
    assert run_as_program(program, arguments, monkeypatch) == 0
    assert re.search(r"\d", capsys.readouterr().out) or list(tmp_path.iterdir())
