"""Generated positives from pipelines with random weights: made, interrupted, continued, and trained on."""

import shutil

import accelerate
import datasets
import numpy as np
import PIL.Image
import pytest

from manycaps.command_line import main
from manycaps.pac_training import positives
from tests.clip_checkpoints import save_checkpoint
from tests.tiny_pipelines import save_captioner, save_painter
from tests.training_data import data_set, picture

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pipelines, and data of 14 images with two captions each in a list."""
    path = tmp_path_factory.mktemp("positives")
    save_captioner(path / "captioner")
    save_painter(path / "painter")
    for split, n, seed in (("train", 14, 0), ("validation", 4, 1)):
        rows = data_set(n, seed)
        captions = [[text, text.replace("thing", "object")] for text in rows["caption"]]
        with_lists = rows.select_columns(["image"]).add_column("captions", captions)
        (path / "data").mkdir(exist_ok=True)
        with_lists.to_parquet(path / "data" / f"{split}.parquet")
    return path


def command(folder, output, *flags):
    options = {
        "caption-column": "captions",
        "steps": 2,
        "batch-size": 3,
        "shard-size": 8,
        "device": "cpu",
        "workers": 2,
    }
    options |= {"workers": 2, "captioner": folder / "captioner", "painter": folder / "painter" / "pipeline"}
    listed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [str(folder / "data"), str(folder / output), *listed, *flags]


def make(folder, output, *flags):
    assert main(["make-positives", *command(folder, output, *flags)]) == 0
    return folder / output


@pytest.fixture(scope="module")
def made(folder):
    make(folder, "made")
    return make(folder, "made", "--split", "validation")


def rows_of(output, split="train"):
    return datasets.load_dataset("parquet", data_dir=str(output), split=split)


def contents(output):
    return {path.name: path.read_bytes() for path in sorted(output.glob("*.parquet"))}


def test_every_caption_has_an_image_and_every_image_a_caption(folder, made):
    shards = [f"train-{k:05d}-of-00004.parquet" for k in range(4)]
    assert list(contents(made)) == [*shards, "validation-00000-of-00001.parquet"]
    rows, given = rows_of(made), data_set(14)
    assert rows.column_names == ["image", "caption", "generated_caption", "generated_image"]
    assert len(rows) == 28
    first, second = given["caption"][:2]
    assert rows["caption"][:3] == [first, first.replace("thing", "object"), second]
    assert all(np.array_equal(rows[2 * i]["image"], given[i]["image"]) for i in range(14))
    assert {image.size for image in rows["generated_image"]} == {(16, 16)}
    # Of one image one caption, of two captions two images.
    assert rows["generated_caption"][0] == rows["generated_caption"][1] != ""
    assert not np.array_equal(rows[0]["generated_image"], rows[1]["generated_image"])


def test_what_was_made_can_be_trained_on(folder, made):
    save_checkpoint(folder / "clip.pth")
    options = ["--checkpoint", str(folder / "clip.pth"), *"--batch-size 8 --max-iterations 4 --device cpu".split()]
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    assert main(["train-pac", str(made), str(folder / "tuned"), *options]) == 0
    assert (folder / "tuned" / "open_clip_model.safetensors").is_file()


def test_continued_the_files_are_the_same(folder, made):
    output = folder / "continued"
    shutil.copytree(made, output)
    for number in (1, 3):
        (output / f"train-0000{number}-of-00004.parquet").unlink()
    before = (output / "train-00000-of-00004.parquet").stat().st_mtime_ns
    make(folder, "continued")
    assert (output / "train-00000-of-00004.parquet").stat().st_mtime_ns == before
    assert contents(output) == contents(made)


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
    output = make(folder, "rejected", "--shard-size", "28", "--no-captions")
    told = capsys.readouterr().err.splitlines()
    rows = rows_of(output)
    assert len(rows) == 26
    assert rows.column_names == ["image", "caption", "generated_image"]
    assert not any("number 3," in text for text in rows["caption"])
    assert len(set(seeds)) == len(seeds) == 28 + 4 + 2 + 2
    assert "2 rows were left out: no image of their caption passed the safety checker" in told


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--caption-column", "text"], "train text: expected this column, got image, captions. See --image-column and"),
        (["--captioner", "nowhere"], "--captioner: expected a model of the Hub or a folder of one, got 'nowhere', whi"),
        (["--painter", "nowhere"], "--painter: expected a model of the Hub or a folder of one, got 'nowhere', which c"),
        (["--steps", "0"], "--steps: expected 1 or more, got 0. See --help."),
        (["--split", "test"], "data: expected a data set with a split 'test', got '"),
    ],
)
def test_messages(folder, capsys, monkeypatch, flags, message):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    code = 2 if message.startswith("--") else 1
    assert main(["make-positives", *command(folder, f"refused{flags[0]}", *flags)]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)


@pytest.mark.parametrize("option", ["--captioner", "--painter"])
def test_the_hub_is_asked_once_and_the_cache_serves_without_it(option, monkeypatch, tmp_path):
    asked = []

    def refuse(url, timeout):
        asked.append((url, timeout))
        raise ConnectionError("no answer")

    def load(name, **keywords):
        raise ValueError(f"loaded with {keywords['local_files_only']}")

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", refuse)
    monkeypatch.setattr("transformers.AutoProcessor.from_pretrained", load)
    monkeypatch.setattr("diffusers.AutoPipelineForText2Image.from_pretrained", load)

    def attempt():
        if option == "--captioner":
            return positives.load_captioner("no-such/model", "cpu", None)
        return positives.load_painter("no-such/model", "cpu", None, 2)

    with pytest.raises(ValueError, match=rf"^{option}: expected a model of the Hub .*ConnectionError: no answer"):
        attempt()
    file = {"--captioner": "config.json", "--painter": "model_index.json"}[option]
    assert asked == [(f"https://huggingface.co/no-such/model/resolve/main/{file}", 10)]
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / file))
    with pytest.raises(ValueError, match="ValueError: loaded with True"):
        attempt()


def test_shards_of_something_else_are_not_mixed(folder, made, capsys):
    before = contents(made)
    assert main(["make-positives", *command(folder, "made", "--seed", "1")]) == 1
    message = f"{made}: expected shards of the same data and options, got seed 0 instead of 1. Give the same command as"
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
    assert contents(made) == before


def test_an_image_that_cannot_be_read(folder, tmp_path, capsys):
    (tmp_path / "bad.png").write_bytes(b"no image")
    PIL.Image.new("RGB", (8, 8)).save(tmp_path / "good.png")
    columns = {"image": [str(tmp_path / name) for name in ("good.png", "bad.png")], "caption": ["a", "b"]}
    datasets.Dataset.from_dict(columns).to_parquet(tmp_path / "rows.parquet")
    options = ["--device", "cpu", "--captioner", "never loaded"]
    assert main(["make-positives", str(tmp_path / "rows.parquet"), str(tmp_path / "out"), *options]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("train image[1]: expected an image, got 8 bytes that begin")
