"""The training tool as a person uses it: trained, killed, continued, shared by processes, loaded by the score."""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time

import evaluate
import PIL.Image
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from helpers.shared_clip_model import read_weights
from scripts.pac_training import feature_cache
from scripts.train_pac import main, parsed
from tests.clip_checkpoints import save_checkpoint
from tests.module_folders import PAC_SCORE
from tests.training_data import picture, save_data

PROJECTIONS = {"visual.proj", "text_projection"}
OPTIONS = {"batch-size": 16, "max-iterations": 120, "validate-every": 20, "save-every": 7, "learning-rate": 1e-3}
OPTIONS |= {"device": "cpu", "workers": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data with two captions of each image, and a checkpoint to start from."""
    path = tmp_path_factory.mktemp("training")
    save_data(path / "data", 40, 20, captions_per_image=2)
    save_checkpoint(path / "clip.pth")
    return path


def command(folder, output, *flags, **changes):
    """Arguments of the script."""
    options = OPTIONS | {"checkpoint": folder / "clip.pth"} | {k.replace("_", "-"): v for k, v in changes.items()}
    listed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [str(folder / "data"), str(folder / output), *listed, *flags]


def train(folder, output, *flags, **changes):
    """Run the script in this process."""
    assert main(parsed(command(folder, output, *flags, **changes))) == 0
    return folder / output


@pytest.fixture(scope="module")
def trained(folder):
    return train(folder, "trained")


def weights_in(output):
    return read_weights(output / "open_clip_model.safetensors")


def assert_same_bits(one, other):
    first, second = weights_in(one), weights_in(other)
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []
    assert json.loads((one / "history.json").read_text()) == json.loads((other / "history.json").read_text())


def test_only_the_projections_change(folder, trained):
    before, after = read_weights(folder / "clip.pth"), weights_in(trained)
    assert before.keys() == after.keys()
    assert {name for name in before if not torch.equal(before[name], after[name])} == PROJECTIONS


def test_losses_fall_and_are_logged(trained):
    history = json.loads((trained / "history.json").read_text())
    assert [record["iteration"] for record in history] == [0, 20, 40, 60, 80, 100, 120]
    assert history[-1]["validation_loss"] < 0.9 * history[0]["validation_loss"]
    assert history[-1]["image_to_caption_recall@10"] > history[0]["image_to_caption_recall@10"]
    events = EventAccumulator(str(trained / "tensorboard")).Reload()
    assert {"training/loss", "validation/loss", "validation/L(V',T)", "recall/image_to_caption_recall@5"} <= set(
        events.Tags()["scalars"]
    )
    logged = [(event.step, event.value) for event in events.Scalars("validation/loss")]
    assert logged == [(record["iteration"], pytest.approx(record["validation_loss"])) for record in history]
    with PIL.Image.open(trained / "losses.png") as drawing:
        assert len(set(drawing.convert("L").tobytes())) > 50


def test_the_score_loads_what_was_trained(folder, trained):
    images = [picture("red", 1), picture("blue", 2)]
    scores = {}
    for name, path in {
        "before": folder / "clip.pth",
        "folder": trained,
        "file": trained / "open_clip_model.safetensors",
    }.items():
        pac_score = evaluate.load(PAC_SCORE, checkpoint=str(path), config_name="clip-vit-b-32", device="cpu")
        scores[name] = pac_score.compute(predictions=[["a red thing"], ["a blue thing"]], images=images)["pac_score"]
    assert scores["folder"] == scores["file"]
    assert abs(scores["folder"] - scores["before"]) > 1e-3


def test_a_finished_training_is_not_trained_again(folder, trained):
    before = (trained / "training_state.pt").stat().st_mtime_ns
    train(folder, trained.name)
    assert (trained / "training_state.pt").stat().st_mtime_ns == before


def run_quietly(arguments):
    """Entry of a process that is to be killed."""
    feature_cache.SHARD_SIZE = 16
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        sys.exit(main(parsed(arguments)))


def test_killed_again_and_again_it_ends_with_the_same_bits(folder, monkeypatch):
    monkeypatch.setattr(feature_cache, "SHARD_SIZE", 16)
    whole = train(folder, "whole")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.e2e.test_train_pac"])
    output = folder / "killed"
    state = output / "training_state.pt"

    def iteration():
        return torch.load(state, weights_only=True)["training"]["iteration"] if state.exists() else -1

    kills = []
    moments = [
        lambda: any(output.glob("features/*/*.npy")),
        lambda: len(list(output.glob("features/*/*.npy"))) > 6,
        state.exists,
        lambda: iteration() > kills[-1],
        lambda: iteration() > kills[-1] + 20,
        lambda: iteration() > kills[-1] + 10,
    ]
    for moment in moments:
        process = context.Process(target=run_quietly, args=(command(folder, "killed"),))
        process.start()
        while process.is_alive() and not moment():
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        kills.append(iteration())
    assert kills[:2] == [-1, -1]
    assert 0 <= kills[2] < kills[3] < kills[4] < kills[5] < 120
    train(folder, "killed")
    assert_same_bits(whole, output)
    assert not list(output.rglob("*.incomplete*"))
