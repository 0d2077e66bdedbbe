"""Data sets and models that a training is given: read, refused, and their code not run."""

import csv
import functools
import io
import json
import os
import pathlib

import datasets
import huggingface_hub
import numpy as np
import PIL.Image
import pytest
from tqdm import tqdm

from manycaps.pac_training import positives, recipe, training_run
from manycaps.pac_training.data_set import examine_rows, load_split
from tests.large_packages import torch
from tests.refusals import assert_refused
from tests.training_data import data_set, save_data, tuples

OPTIONS = {
    "needs_images": True,
    "needs_captions": True,
    "prompt": "A photo depicts",
    "least_images": 4,
    "n_threads": 2,
    "progress": functools.partial(tqdm, disable=True),
}
POSITIVES = "Make them with `manycaps make-positives`, or give --lambda-"


def check(rows, **changes):
    return examine_rows(rows, "training", **OPTIONS | changes)


@pytest.fixture(scope="module")
def good():
    return data_set(6, captions_per_image=2)


def with_values(rows, column, values):
    """The rows with some values of a column replaced; images as stored bytes."""
    stored = rows
    for name, feature in rows.features.items():
        if isinstance(feature, datasets.Image):
            stored = stored.cast_column(name, datasets.Image(decode=False))
    columns = {name: list(stored[name]) for name in stored.column_names}
    for i, value in values.items():
        columns[column][i] = value
    return datasets.Dataset.from_dict(columns, features=stored.features)


def test_rows_with_the_same_picture_belong_to_one_image(good):
    rows = check(good)
    assert rows.image_rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert rows.first_rows.tolist() == [0, 2, 4, 6, 8, 10]
    assert rows.captions[0].startswith("A photo depicts a ")
    assert rows.generated_captions[0].startswith("A photo depicts there is something ")


def test_the_digest_follows_from_the_content(good):
    digest = check(good).digest
    assert check(good.select(range(12))).digest == digest
    assert check(with_values(good, "caption", {3: "another"})).digest != digest
    assert check(with_values(good, "generated_image", {3: {"bytes": png("red"), "path": None}})).digest != digest


@pytest.mark.parametrize(
    ("command", "options"),
    [(positives.make_positives, recipe.PositivesOptions), (training_run.train_pac, recipe.TrainOptions)],
)
def test_nothing_is_written_among_the_data(tmp_path, command, options):
    asked = options(data=f"{tmp_path}/", output=tmp_path)
    assert_refused(
        ValueError, f"'{tmp_path}': expected another folder for output, got the folder of the", command, asked
    )
    assert not list(tmp_path.iterdir())


def png(color):
    return encode(PIL.Image.new("RGB", (8, 8), color))


def encode(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


NOISE = encode(PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)))


def test_without_weight_a_column_may_be_missing(good):
    rows = check(
        good.remove_columns(["generated_image", "generated_caption"]), needs_images=False, needs_captions=False
    )
    assert rows.generated_images is None
    assert rows.generated_captions is None


# A picture cut off after its first bytes.
BROKEN = {"bytes": NOISE[: len(NOISE) // 2], "path": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows.rename_column("caption", "text"),
            "caption: expected a column of captions, got 'image', 'text'",
        ),
        (
            lambda rows: with_values(rows, "generated_image", dict.fromkeys(range(12))),
            f"generated_image[0]: expected an image, got None. {POSITIVES}v 0 to train without. In all 12 of 12 images",
        ),
        (
            lambda rows: with_values(rows, "caption", {4: "  ", 7: None}),
            "caption[4]: expected a caption, got '  ' (in all 2 of 12 rows have none). Leave those rows out.",
        ),
        (
            lambda rows: with_values(rows, "image", {5: BROKEN, 8: {"bytes": b"no image", "path": None}}),
            "image[5]: expected a whole image, got a damaged PNG",
        ),
        (lambda rows: rows.select(range(6)), "rows: expected at least 4 different images, got 3. Give more data, or"),
    ],
)
def test_messages(good, change, message):
    assert_refused(ValueError, f"training {message}", check, change(good))


def test_the_number_of_bad_images_is_told(good):
    bad = with_values(good, "image", {5: BROKEN, 8: BROKEN})
    assert_refused(ValueError, ".*In all 2 of 12 images of this column cannot be used.", check, bad)
    # Without decoding only the bytes are looked at.
    assert len(check(bad, decodes=False).captions) == 12


def parts_of_one_parquet(folder):
    save_data(folder / "one", 5, 5)
    return str(folder / "one" / "train.parquet"), "train[:100%]"


def save_to_disk(folder):
    datasets.DatasetDict(validation=data_set(5)).save_to_disk(folder / "disk")
    return str(folder / "disk"), "validation"


def folder_of_images(folder):
    split = folder / "images" / "validation"
    split.mkdir(parents=True)
    columns = tuples(5)
    with (split / "metadata.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", "caption", "generated_image_file_name", "generated_caption"])
        for i in range(5):
            columns["image"][i].save(split / f"{i}.png")
            columns["generated_image"][i].save(split / f"made_{i}.png")
            writer.writerow([f"{i}.png", columns["caption"][i], f"made_{i}.png", columns["generated_caption"][i]])
    return str(folder / "images"), "validation"


@pytest.mark.parametrize("make", [parts_of_one_parquet, save_to_disk, folder_of_images])
def test_ways_to_give_a_data_set(make, tmp_path):
    source, split = make(tmp_path)
    rows = check(load_split(source, None, split), least_images=5)
    assert sorted(np.unique(rows.image_rows)) == list(range(5))
    assert rows.generated_images is not None


@pytest.mark.parametrize(
    ("source", "split"), [("no-such-owner/no-such-data", "train"), ("file", "train"), ("good", "test")]
)
def test_a_data_set_that_cannot_be_loaded(source, split, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "file.parquet").write_bytes(b"nothing")
    paths = {"file": str(tmp_path / "file.parquet"), "good": str(tmp_path / "good")}
    save_data(tmp_path / "good", 4, 4)
    message = f"data: expected a data set with a split {split!r}, got '"
    assert_refused(ValueError, message, load_split, paths.get(source, source), None, split)


def test_a_name_that_no_file_can_begin_with():
    for split, name in (("train", "a/b"), ("train", "../train"), ("train", "train."), ("/train", None)):
        options = positives.PositivesOptions("nowhere", pathlib.Path("nowhere"), split=split, name=name)
        message = "--name: expected letters, digits and underscores, with full stops between them, got"
        assert_refused(ValueError, f"{message} {name or ''!r}.", positives.make_positives, options)


# Models and states that a training is given: their code is not run.


class Code:
    """Writes a file where a pickle is read without care."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_the_saved_state_of_a_training_runs_no_code(tmp_path):
    torch.save({"facts": {}, "training": {"recipe": {}, "more": Code(tmp_path / "ran")}}, tmp_path / "state.pt")
    with pytest.raises(ValueError, match=r"expected the saved state of a training, got .* It was not run\."):
        training_run.read_state(tmp_path / "state.pt")
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
