"""The training tool as a person uses it: trained, continued, shared by processes, loaded by the score."""

import json
import os
import subprocess
import sys

import accelerate
import evaluate
import PIL.Image
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from manycaps.command_line import main
from manycaps.kit.clip_weights import read_weights
from manycaps.pac_training import encoders
from tests.clip_checkpoints import save_checkpoint
from tests.module_folders import PAC_SCORE, ROOT
from tests.training_data import picture, save_data

pytestmark = pytest.mark.slow

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
    """Arguments of the command."""
    options = OPTIONS | {"checkpoint": folder / "clip.pth"} | {k.replace("_", "-"): v for k, v in changes.items()}
    listed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [str(folder / "data"), str(folder / output), *listed, *flags]


def train(folder, output, *flags, **changes):
    """Run the command in this process; accelerate keeps a first call's precision unless it is told to forget it."""
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    assert main(["train-pac", *command(folder, output, *flags, **changes)]) == 0
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
        pac_score = evaluate.load(PAC_SCORE, checkpoint=str(path), variant="clip-vit-b-32", device="cpu")
        scores[name] = pac_score.compute(predictions=[["a red thing"], ["a blue thing"]], images=images)["pac_score"]
    assert scores["folder"] == scores["file"]
    assert abs(scores["folder"] - scores["before"]) > 1e-3


def test_a_finished_training_is_not_trained_again(folder, trained):
    before = (trained / "training_state.pt").stat().st_mtime_ns
    train(folder, trained.name)
    assert (trained / "training_state.pt").stat().st_mtime_ns == before


SHORT = {"max_iterations": 6, "validate_every": 3, "save_every": 2}


def test_the_cache_changes_nothing_but_the_time(folder):
    cached = history_of(train(folder, "cached", **SHORT))
    uncached = history_of(train(folder, "uncached", "--no-cache-features", **SHORT))
    assert not (folder / "uncached" / "features").exists()
    for one, other in zip(cached, uncached, strict=True):
        # Batches of another size are summed in another order.
        assert one == pytest.approx(other, rel=1e-4)


def test_16_bit_encoders_train_nearly_the_same(folder):
    exact = history_of(train(folder, "exact", **SHORT))
    for name, flags in (("short", []), ("short-uncached", ["--no-cache-features"])):
        short = history_of(train(folder, name, *flags, precision="bfloat16", **SHORT))
        losses = [[record["validation_loss"] for record in history] for history in (exact, short)]
        assert losses[1] == pytest.approx(losses[0], rel=0.03)
        assert losses[1] != losses[0]


def history_of(output):
    return json.loads((output / "history.json").read_text())


LORA = ["--lora-rank", "2", "--augment", "--save-lora"]


@pytest.fixture(scope="module")
def with_lora(folder):
    return train(folder, "lora", *LORA, **SHORT)


def test_low_rank_updates_change_the_attention_and_the_projections(folder, with_lora):
    before, after = read_weights(folder / "clip.pth"), weights_in(with_lora)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    attention = {name for name in before if name.endswith(("in_proj_weight", "out_proj.weight"))}
    assert before.keys() == after.keys()
    assert len(attention) == 8
    assert changed == PROJECTIONS | attention


def test_the_score_loads_low_rank_updates_merged_or_not(with_lora):
    columns = {"predictions": [["a red thing"], ["a blue thing"]], "images": [picture("red", 1), picture("blue", 2)]}
    options = {"variant": "clip-vit-b-32", "device": "cpu"}
    merged, beside = (
        evaluate.load(PAC_SCORE, checkpoint=str(with_lora / name), **options).compute(**columns)["pac_score"]
        for name in ("open_clip_model.safetensors", "pac_lora.safetensors")
    )
    assert merged == beside


def test_an_interrupted_training_resumes_with_the_same_bits(folder, with_lora, monkeypatch):
    train(folder, "lora-twice", *LORA, **SHORT | {"max_iterations": 3})
    assert_same_bits(with_lora, train(folder, "lora-twice", *LORA, **SHORT))
    monkeypatch.setattr(encoders, "SHARD_SIZE", 16)
    whole = train(folder, "whole", **SHORT)
    train(folder, "twice", **SHORT | {"max_iterations": 3})
    next((folder / "twice").glob("features/*/*.npy")).unlink()
    assert_same_bits(whole, train(folder, "twice", **SHORT))


BOTH_TRAININGS = """
import json, sys
from manycaps.command_line import main
sys.exit(max(main(["train-pac", *arguments]) for arguments in json.loads(sys.argv[1])))
"""


def test_two_processes_equal_one(folder, tmp_path):
    # 15 images are no multiple of 2; with low-rank updates the gradients run through both encoders.
    changes = SHORT | {"batch_size": 15}
    kinds = {"cached": [], "lora": ["--lora-rank", "2"]}
    (tmp_path / "both.py").write_text(BOTH_TRAININGS)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(tmp_path / "both.py")]
    arguments = json.dumps([command(folder, f"two-{kind}", *flags, **changes) for kind, flags in kinds.items()])
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *launch, arguments], capture_output=True, text=True, timeout=500, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count("stopped: ") == 2  # of two trainings, one process speaks
    for kind, flags in kinds.items():
        one, two = train(folder, f"one-{kind}", *flags, **changes), folder / f"two-{kind}"
        before, alone, together = read_weights(folder / "clip.pth"), weights_in(one), weights_in(two)
        for record, other in zip(history_of(one), history_of(two), strict=True):
            assert record == pytest.approx(other, rel=1e-5)
        for name in PROJECTIONS:
            # Sums over the rows in another order; a step moves a weight by up to the learning rate, 1e-3.
            assert (alone[name] - together[name]).abs().max() < 2e-5
            assert (alone[name] - before[name]).abs().max() > 2e-3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--lambda-v", "-1"], "--lambda-v: expected 0 or more, got -1.0. See --help."),
        (["--learning-rate", "nan"], "--learning-rate: expected 0 or more, got nan. See --help."),
        (["--batch-size", "1"], "--batch-size: expected 2 or more, got 1. See --help."),
        (["--batch-size", "41"], "training rows: expected at least 41 different images, got 40. Give more data, or a"),
        (["--batch-size", "81"], "training rows: expected at least 81 rows, got 80. Give more data, or a smaller"),
        (["--lora-rank", "65"], "lora_rank: expected 1 to 64, the encoders' width, got 65. The authors use 4."),
        (["--cache-features", "--augment"], "--cache-features: expected it without --lora-rank and --augment, which"),
        (["--checkpoint", "no.pth"], "checkpoint: expected a file, a folder or a Hub repository, got 'no.pth': no suc"),
        (["--validation-split", "test"], "data: expected a data set with a split 'test', got '"),
    ],
)
def test_what_cannot_work_is_told_before_any_training(folder, capsys, flags, message):
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    assert main(["train-pac", *command(folder, "refused", *flags)]) > 0
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
    assert not (folder / "refused").exists()


def test_a_folder_of_another_training_is_not_overwritten(folder, trained, capsys):
    before = (trained / "training_state.pt").read_bytes()
    for flags, message in (
        (["--seed", "1"], "expected the state of a training with the same data and options, got seed 0 instead of 1."),
        (["--prompt", ""], "expected the state of a training with the same data and options, got prompt 'A"),
    ):
        assert main(["train-pac", *command(folder, trained.name, *flags)]) == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"{trained}/training_state.pt: {message}")
    assert (trained / "training_state.pt").read_bytes() == before


def test_images_shared_with_validation_are_noticed(folder, capsys):
    splits = {"train_split": "train", "validation_split": "train[:8]"}
    assert main(["train-pac", *command(folder, "shared", **SHORT, **splits)]) == 0
    assert "validation image: expected images that are not trained on, got 4 of training." in capsys.readouterr().err
