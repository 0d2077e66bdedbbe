"""What `make studies` runs, and what it copies."""

import subprocess
from pathlib import Path

import pytest

from scripts.studies import renew_studies
from scripts.studies.study_list import STUDIES


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Studies that write a table and its settings, and the arguments of each run."""
    seen = []

    def run(arguments, **_):
        seen.append(arguments[2:])
        folder = Path(arguments[arguments.index("--output") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        study = arguments[2].rpartition(".")[2]
        (folder / f"{study}.csv").write_text("a,b\n")
        (folder / f"{study}.json").write_text("{}")
        return subprocess.CompletedProcess(arguments, returncode=int(study == "search"))

    monkeypatch.setattr(renew_studies.subprocess, "run", run)
    monkeypatch.setattr(renew_studies, "SHOWN", tmp_path / "shown")
    return seen


def test_without_data_every_study_runs_on_the_bundled_captions(runs, tmp_path):
    without_search = [study for study in STUDIES if study != "search"]
    options = renew_studies.parsed(["--output", str(tmp_path / "out"), "--only", *without_search])
    assert renew_studies.main(options) == 0
    assert [arguments[0] for arguments in runs] == [f"scripts.studies.{study}" for study in without_search]
    assert all("--data" not in arguments for arguments in runs)
    shown = sorted(path.name for path in (tmp_path / "shown" / "bundled").iterdir())
    assert shown == sorted(f"{study}.csv" for study in without_search)


def test_with_data_a_study_runs_on_the_corpora_of_the_list(runs, tmp_path):
    options = renew_studies.parsed(["--data", "data", "--output", str(tmp_path / "out"), "--only", "sensitivity"])
    assert renew_studies.main(options) == 0
    corpora = [arguments[arguments.index("--corpus") + 1] for arguments in runs if "--corpus" in arguments]
    assert ["bundled", *corpora] == list(STUDIES["sensitivity"])
    assert sorted(path.name for path in (tmp_path / "shown").iterdir()) == sorted(STUDIES["sensitivity"])


def test_it_stops_at_a_study_that_fails(runs, tmp_path):
    options = renew_studies.parsed(["--output", str(tmp_path / "out"), "--only", "search", "embeddings"])
    assert renew_studies.main(options) == 1
    assert len(runs) == 1
    assert not (tmp_path / "shown").exists()
