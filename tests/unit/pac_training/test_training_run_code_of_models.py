"""Models and states that a training is given: their code is not run."""

import json
import os
import pathlib

import pytest

from manycaps.pac_training import positives
from manycaps.pac_training.training_run import read_state
from tests.large_packages import torch


class Code:
    """Writes a file where a pickle is read without care."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_the_saved_state_of_a_training_runs_no_code(tmp_path):
    torch.save({"facts": {}, "training": {"recipe": {}, "more": Code(tmp_path / "ran")}}, tmp_path / "state.pt")
    with pytest.raises(ValueError, match=r"expected the saved state of a training, got .* It was not run\."):
        read_state(tmp_path / "state.pt")
    assert not (tmp_path / "ran").exists()
    torch.load(tmp_path / "state.pt", weights_only=False)
    assert (tmp_path / "ran").exists(), "it would have run"


@pytest.mark.parametrize(
    ("load", "option", "files"),
    [
        (
            lambda folder: positives.load_captioner(folder, "cpu", None),
            "--captioner",
            {"config.json": {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoProcessor": "own.Own"}}},
        ),
        (
            lambda folder: positives.load_painter(folder, "cpu", None, 2),
            "--painter",
            {"model_index.json": {"_class_name": ["own", "Own"], "_diffusers_version": "0.30.0"}},
        ),
    ],
)
def test_models_of_make_positives_run_no_code(tmp_path, monkeypatch, load, option, files):
    """Also on a terminal, where transformers would ask, and whoever starts a run may type y."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "own.py").write_text(f"open({os.fspath(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    with pytest.raises(ValueError, match=f"^{option}: expected a model"):
        load(str(tmp_path))
    assert not (tmp_path / "ran").exists()
