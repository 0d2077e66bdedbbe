"""`manycaps train-pac` and `make-positives` on random weights: run, continued, in two processes, used by the score."""

import functools
import json
import os
import shutil
import subprocess
import sys

import accelerate
import datasets
import numpy as np
import PIL.Image
import pytest
import safetensors.torch
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import manycaps
from manycaps.commands.command_line import main
from manycaps.kit.clip_model import read_weights
from manycaps.pac_training import encoders, positives
from tests.clip_checkpoints import save_checkpoint
from tests.tiny_pipelines import save_captioner, save_painter
from tests.tools import ROOT, SEVERAL_COMMANDS
from tests.training_data import data_set, picture, save_data

pytestmark = pytest.mark.slow

PROJECTIONS = {"visual.proj", "text_projection"}
WEIGHTS = "open_clip_model.safetensors"
TRAINING = {"batch-size": 16, "max-iterations": 60, "validate-every": 20, "save-every": 7, "learning-rate": 1e-3}
SHORT = {"max_iterations": 6, "validate_every": 3, "save_every": 2}
LORA = ["--lora-rank", "2", "--augment", "--save-lora"]
MAKING = {"caption-column": "captions", "steps": 2, "batch-size": 3, "shard-size": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint, pipelines, data with two captions of each image in rows, and of 14 images in lists."""
    path = tmp_path_factory.mktemp("training")
    save_data(path / "data", 40, 20, captions_per_image=2)
    save_checkpoint(path / "clip.pth")
    save_captioner(path / "captioner")
    save_painter(path / "painter")
    (path / "images").mkdir()
    for split, n, seed in (("train", 14, 0), ("validation", 4, 1)):
        rows = data_set(n, seed)
        captions = [[text, text.replace("thing", "object")] for text in rows["caption"]]
        with_lists = rows.select_columns(["image"]).add_column("captions", captions)
        with_lists.to_parquet(path / "images" / f"{split}.parquet")
    return path


def train_line(folder, output, *flags, data="data", **changes):
    changes = {name.replace("_", "-"): value for name, value in changes.items()}
    return line_of("train-pac", folder, data, output, TRAINING | {"checkpoint": folder / "clip.pth"} | changes, flags)


def make_line(folder, output, *flags):
    pipelines = {"captioner": folder / "captioner", "painter": folder / "painter" / "pipeline"}
    return line_of("make-positives", folder, "images", output, MAKING | pipelines, flags)


def line_of(command, folder, data, output, options, flags):
    options = {"device": "cpu", "workers": 2} | options
    listed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [command, str(folder / data), str(folder / output), *listed, *flags]


def run(line):
    """Run a command in this process; accelerate keeps a first call's precision unless its state is reset."""
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    return main(line)


def train(folder, output, *flags, **changes):
    assert run(train_line(folder, output, *flags, **changes)) == 0
    return folder / output


def history_of(output):
    return json.loads((output / "history.json").read_text())


def changed_weights(one, other):
    """Names of the weights that differ."""
    first, second = read_weights(one), read_weights(other)
    assert first.keys() == second.keys()
    return {name for name in first if not torch.equal(first[name], second[name])}


def scores_of(*checkpoints):
    columns = {"predictions": [["a red thing"], ["a blue thing"]], "images": [picture("red", 1), picture("blue", 2)]}
    options = {"variant": "clip-vit-b-32", "device": "cpu"}
    modules = (manycaps.load("pac_score", checkpoint=str(path), **options) for path in checkpoints)
    return [module.compute(**columns)["pac_score"] for module in modules]


@pytest.fixture(scope="module")
def run_folder(folder):
    return train(folder, "trained")


@pytest.fixture(scope="module")
def with_lora(folder):
    return train(folder, "lora", *LORA, **SHORT)


def test_only_the_projections_change_and_with_low_rank_updates_the_attention(folder, run_folder, with_lora):
    assert changed_weights(folder / "clip.pth", run_folder / WEIGHTS) == PROJECTIONS
    names = read_weights(folder / "clip.pth")
    attention = {name for name in names if name.endswith(("in_proj_weight", "out_proj.weight"))}
    assert len(attention) == 8
    assert changed_weights(folder / "clip.pth", with_lora / WEIGHTS) == PROJECTIONS | attention


def test_the_score_loads_what_was_trained(folder, run_folder, with_lora):
    before, folder_score, file_score = scores_of(folder / "clip.pth", run_folder, run_folder / WEIGHTS)
    assert folder_score == file_score
    assert abs(folder_score - before) > 1e-3
    merged, beside = scores_of(with_lora / WEIGHTS, with_lora / "pac_lora.safetensors")
    assert merged == beside


def test_losses_fall_and_are_logged(run_folder):
    history = history_of(run_folder)
    assert [record["iteration"] for record in history] == [0, 20, 40, 60]
    assert history[-1]["validation_loss"] < 0.9 * history[0]["validation_loss"]
    assert history[-1]["image_to_caption_recall@10"] > history[0]["image_to_caption_recall@10"]
    events = EventAccumulator(str(run_folder / "tensorboard")).Reload()
    assert {"training/loss", "validation/loss", "validation/L(V',T)", "recall/image_to_caption_recall@5"} <= set(
        events.Tags()["scalars"]
    )
    logged = [(event.step, event.value) for event in events.Scalars("validation/loss")]
    assert logged == [(record["iteration"], pytest.approx(record["validation_loss"])) for record in history]
    with PIL.Image.open(run_folder / "losses.png") as drawing:
        assert len(set(drawing.convert("L").tobytes())) > 50


def test_the_cache_changes_nothing_and_16_bit_encoders_little(folder):
    exact = history_of(train(folder, "cached", **SHORT))
    uncached = history_of(train(folder, "uncached", "--no-cache-features", **SHORT))
    assert not (folder / "uncached" / "features").exists()
    for one, other in zip(exact, uncached, strict=True):
        # Batches of another size are summed in another order.
        assert one == pytest.approx(other, rel=1e-4)
    short = history_of(train(folder, "short", precision="bfloat16", **SHORT))
    losses = [[record["validation_loss"] for record in history] for history in (exact, short)]
    assert losses[1] == pytest.approx(losses[0], rel=0.03)
    assert losses[1] != losses[0]


def test_a_stopped_training_resumes_with_the_same_bits_and_a_finished_one_is_left(folder, with_lora, monkeypatch):
    wholes = [(with_lora, LORA)]
    monkeypatch.setattr(encoders, "SHARD_SIZE", 16)
    wholes.append((train(folder, "whole", **SHORT), []))
    for whole, flags in wholes:
        stopped = train(folder, f"{whole.name}-twice", *flags, **SHORT | {"max_iterations": 3})
        for features in list(stopped.glob("features/*/*.npy"))[:1]:
            features.unlink()
        train(folder, stopped.name, *flags, **SHORT)
        assert changed_weights(whole / WEIGHTS, stopped / WEIGHTS) == set()
        assert history_of(whole) == history_of(stopped)
        before = (stopped / "training_state.pt").stat().st_mtime_ns
        train(folder, stopped.name, *flags, **SHORT)
        assert (stopped / "training_state.pt").stat().st_mtime_ns == before


def test_two_processes_equal_one(folder, tmp_path):
    # 15 images are no multiple of 2; with low-rank updates the gradients run through both encoders.
    changes = SHORT | {"batch_size": 15}
    kinds = {"cached": [], "lora": ["--lora-rank", "2"]}
    (tmp_path / "both.py").write_text(SEVERAL_COMMANDS)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(tmp_path / "both.py")]
    lines = json.dumps([train_line(folder, f"two-{kind}", *flags, **changes) for kind, flags in kinds.items()])
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *launch, lines], capture_output=True, text=True, timeout=500, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count("stopped: ") == 2  # of two trainings, one process speaks
    for kind, flags in kinds.items():
        one, two = train(folder, f"one-{kind}", *flags, **changes), folder / f"two-{kind}"
        before, alone, together = (read_weights(path) for path in (folder / "clip.pth", one / WEIGHTS, two / WEIGHTS))
        for record, other in zip(history_of(one), history_of(two), strict=True):
            assert record == pytest.approx(other, rel=1e-5)
        for name in PROJECTIONS:
            # Sums over the rows in another order; a step moves a weight by up to the learning rate, 1e-3.
            assert (alone[name] - together[name]).abs().max() < 2e-5
            assert (alone[name] - before[name]).abs().max() > 2e-3


# Flags that cannot work, by command, each with the beginning of the message.
REFUSED = {
    train_line: [
        ("--lambda-v -1", "--lambda-v: expected 0 or more, got -1.0. See --help."),
        ("--batch-size 41", "training rows: expected at least 41 different images, got 40. Give more data, or a"),
        ("--cache-features --augment", "--cache-features: expected it without --lora-rank and --augment, which"),
        ("--save-lora", "--save-lora: expected it beside --lora-rank, got it alone. Leave it out, or give --lora-rank"),
        ("--checkpoint no.pth", "checkpoint: expected a file, a folder or a Hub repository, got 'no.pth': no suc"),
    ],
    make_line: [
        ("--caption-column text", "train text: expected this column, got 'image', 'captions'. See --image-column and"),
        ("--no-captions --no-images", "--no-captions: expected it without --no-images, got both. Nothing would be"),
        ("--captioner nowhere", "--captioner: expected a model of the Hub or a folder of one, got 'nowhere', whi"),
    ],
}


@pytest.mark.parametrize(
    ("line", "flags", "message"), [(line, *case) for line, cases in REFUSED.items() for case in cases]
)
def test_what_cannot_work_is_refused_before_any_work(folder, capsys, monkeypatch, line, flags, message):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    output = "refused" + flags.split()[0]
    assert run(line(folder, output, *flags.split())) == (2 if message.startswith("--") else 1)
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
    assert line == make_line or not (folder / output).exists()


REFUSAL = "/training_state.pt: expected the state of a training with the same data and options, got "


@pytest.mark.parametrize(
    ("line", "fixture", "flags", "message"),
    [
        (train_line, "run_folder", ["--seed", "1"], f"{REFUSAL}seed 0 instead of 1."),
        (train_line, "run_folder", ["--prompt", ""], f"{REFUSAL}prompt 'A"),
        (make_line, "data", ["--seed", "1"], ": expected shards of the same data and options, got seed 0 instead"),
    ],
)
def test_a_folder_of_another_run_is_not_overwritten(line, fixture, flags, message, folder, request, capsys):
    output = request.getfixturevalue(fixture)
    before = {path: path.read_bytes() for path in output.glob("*.*")}
    assert run(line(folder, output.name, *flags)) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"{output}{message}")
    assert {path: path.read_bytes() for path in output.glob("*.*")} == before


def test_images_shared_with_validation_are_noticed(folder, capsys):
    train(folder, "shared", **SHORT, train_split="train", validation_split="train[:8]")
    assert "validation image: expected images that are not trained on, got 4 of training." in capsys.readouterr().err


@pytest.fixture(scope="module")
def data(folder):
    for split in ("train", "validation"):
        assert run(make_line(folder, "made", "--split", split)) == 0
    return folder / "made"


def rows_of(output):
    return datasets.load_dataset("parquet", data_dir=str(output), split="train")


def contents(output):
    return {path.name: path.read_bytes() for path in sorted(output.glob("*.parquet"))}


def test_every_caption_has_an_image_and_every_image_a_caption_to_train_on(folder, data):
    shards = [f"train-{k:05d}-of-00004.parquet" for k in range(4)]
    assert list(contents(data)) == [*shards, "validation-00000-of-00001.parquet"]
    rows, given = rows_of(data), data_set(14)
    assert rows.column_names == ["image", "caption", "generated_caption", "generated_image"]
    assert len(rows) == 28
    first, second = given["caption"][:2]
    assert rows["caption"][:3] == [first, first.replace("thing", "object"), second]
    assert all(np.array_equal(rows[2 * i]["image"], given[i]["image"]) for i in range(14))
    assert {image.size for image in rows["generated_image"]} == {(16, 16)}
    # Of one image one caption, of two captions two images.
    assert rows["generated_caption"][0] == rows["generated_caption"][1] != ""
    assert not np.array_equal(rows[0]["generated_image"], rows[1]["generated_image"])
    assert (train(folder, "tuned", data=data.name, batch_size=8, max_iterations=4) / WEIGHTS).is_file()


def test_missing_shards_are_made_again_and_the_others_left(folder, data):
    output = shutil.copytree(data, folder / "continued")
    for number in (1, 3):
        (output / f"train-0000{number}-of-00004.parquet").unlink()
    before = (output / "train-00000-of-00004.parquet").stat().st_mtime_ns
    assert run(make_line(folder, "continued")) == 0
    assert (output / "train-00000-of-00004.parquet").stat().st_mtime_ns == before
    assert contents(output) == contents(data)


def test_rejected_images_are_drawn_again_and_then_left_out(folder, capsys, monkeypatch):
    seeds = []

    def painter(captions, seeds_now):
        seeds.extend(seeds_now)
        # Never accepts number 3; accepts number 5 at its second attempt.
        again = len(seeds) > 28
        return [
            None if "number 3," in text or ("number 5," in text and not again) else picture("red", seed)
            for text, seed in zip(captions, seeds_now, strict=True)
        ]

    monkeypatch.setattr(positives, "load_painter", lambda *arguments: painter)
    assert run(make_line(folder, "rejected", "--shard-size", "28", "--no-captions")) == 0
    rows = rows_of(folder / "rejected")
    assert len(rows) == 26
    assert rows.column_names == ["image", "caption", "generated_image"]
    assert not any("number 3," in text for text in rows["caption"])
    assert len(set(seeds)) == len(seeds) == 28 + 4 + 2 + 2
    message = "2 rows were left out: no image of their caption passed the safety checker"
    assert message in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("part", ["captioner", "text_encoder", "unet", "vae"])
@pytest.mark.parametrize("is_missing", [True, False])
def test_models_with_random_or_left_out_layers_are_refused(tmp_path, part, is_missing):
    if part == "captioner":
        folder = save_captioner(tmp_path / part)
        (file,) = folder.glob("*.safetensors")
    else:
        folder = save_painter(tmp_path / "painter")
        (file,) = (folder / part).glob("*.safetensors")
    tensors = safetensors.torch.load_file(file)
    if is_missing:
        del tensors[next(name for name in tensors if name.endswith("weight"))]
    else:
        tensors["other.weight"] = torch.zeros(1)
    safetensors.torch.save_file(tensors, file, {"format": "pt"})
    got = "missing: .*weight" if is_missing else "unexpected: other.weight"
    load = positives.load_captioner if part == "captioner" else functools.partial(positives.load_painter, n_steps=2)
    with pytest.raises(ValueError, match=f"^--(captioner|painter) .*: expected .* got .*{got}"):
        load(str(folder), torch.device("cpu"), torch.float32)


@pytest.mark.parametrize(
    ("option", "file", "load"),
    [
        ("--captioner", "config.json", lambda: positives.load_captioner("no-such/model", "cpu", None)),
        ("--painter", "model_index.json", lambda: positives.load_painter("no-such/model", "cpu", None, 2)),
    ],
)
def test_the_hub_is_asked_once_and_the_cache_serves_without_it(option, file, load, monkeypatch, tmp_path):
    asked = []

    def refuse(url, timeout):
        asked.append((url, timeout))
        raise ConnectionError("no answer")

    def load_from(name, **keywords):
        raise ValueError(f"loaded with {keywords['local_files_only']}")

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", refuse)
    monkeypatch.setattr("transformers.AutoProcessor.from_pretrained", load_from)
    monkeypatch.setattr("diffusers.AutoPipelineForText2Image.from_pretrained", load_from)
    with pytest.raises(ValueError, match=rf"^{option}: expected a model of the Hub .*ConnectionError: no answer"):
        load()
    assert asked == [(f"https://huggingface.co/no-such/model/resolve/main/{file}", 10)]
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / file))
    with pytest.raises(ValueError, match="ValueError: loaded with True"):
        load()


def test_an_image_that_cannot_be_read(tmp_path, capsys):
    (tmp_path / "bad.png").write_bytes(b"no image")
    PIL.Image.new("RGB", (8, 8)).save(tmp_path / "good.png")
    columns = {"image": [str(tmp_path / name) for name in ("good.png", "bad.png")], "caption": ["a", "b"]}
    datasets.Dataset.from_dict(columns).to_parquet(tmp_path / "rows.parquet")
    options = ["--device", "cpu", "--captioner", "never loaded"]
    assert run(["make-positives", str(tmp_path / "rows.parquet"), str(tmp_path / "out"), *options]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("train image[1]: expected an image, got 8 bytes that begin")
