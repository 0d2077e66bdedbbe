"""pac_score and ref_pac_score as a user meets them: loading, adding, errors, options, results."""

import importlib
import os

import numpy as np
import PIL.Image
import pytest

from tests.clip_checkpoints import SMALL, save_checkpoint, small_weights, with_lora
from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.module_folders import PAC_SCORE, REF_PAC_SCORE
from tests.oracles.open_clip_encoders import Encoders, pac_scores

RNG = np.random.default_rng(0)
ARRAYS = list(RNG.integers(0, 256, (6, 40, 50, 3), dtype=np.uint8))
CAPTIONS = [["a red square", "two dogs"], ["a dog"], ["a cat", "a bird", "a cat"], ["sea"], ["a hill"], ["trees"]]
REFERENCES = [["a square"], ["one dog", "a puppy"], ["a pet"], ["the sea", "water"], ["a mountain"], ["a wood"]]
COLUMNS = {"predictions": CAPTIONS, "images": ARRAYS, "references": REFERENCES}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return str(save_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small.pth"))


@pytest.fixture(params=[PAC_SCORE, REF_PAC_SCORE], ids=["pac_score", "ref_pac_score"])
def load(request, checkpoint):
    def load_module(*arguments, **options):
        return evaluate.load(request.param, *arguments, **{"checkpoint": checkpoint, "device": "cpu"} | options)

    return load_module


def columns_of(module, rows=slice(None)):
    return {name: COLUMNS[name][rows] for name in module.features[0]}


def test_scores_are_those_of_a_slow_loop(load):
    module = load()
    result = module.compute(**columns_of(module), details=True)
    encoders = Encoders(small_weights(), SMALL)
    for i, (captions, array, references) in enumerate(zip(CAPTIONS, ARRAYS, REFERENCES, strict=True)):
        both = [pac_scores(encoders, PIL.Image.fromarray(array), caption, references) for caption in captions]
        row = [pac if module.name == "pac_score" else ref_pac for pac, ref_pac in both]
        assert result[f"{module.name}_per_candidate"][i] == pytest.approx(row, abs=2e-6)
        assert result[f"{module.name}_per_row"][i] == pytest.approx(sum(row) / len(row), abs=2e-6)
    assert result[module.name] == pytest.approx(np.mean(result[f"{module.name}_per_row"]), abs=1e-12)
    assert (result["n_rows"], result["n_truncated"]) == (6, 0)


def test_a_second_system_on_the_same_images_costs_its_own_captions_only(load, monkeypatch):
    module, n_images, texts = load(), [], []
    model = module.encoder.model
    module.encoder.forget()  # the modules of other tests share the model
    encode_images, encode_texts = model.image_features, model.text_features
    monkeypatch.setattr(model, "image_features", lambda pixels: n_images.append(len(pixels)) or encode_images(pixels))
    monkeypatch.setattr(model, "text_features", lambda new, *rest: texts.extend(new) or encode_texts(new, *rest))
    first = module.compute(**columns_of(module))
    n_texts = len(texts)
    assert n_images == [6]
    assert module.compute(**columns_of(module)) == first  # to the last bit
    other = columns_of(module) | {"predictions": [f"no {row[0]}" for row in CAPTIONS]}
    result = module.compute(**other)
    assert n_images == [6]
    assert len(texts) == n_texts + 6
    module.encoder.forget()
    assert module.compute(**other)[module.name] == pytest.approx(result[module.name], abs=2e-6)
    assert n_images == [6, 6]


def test_an_image_that_is_overwritten_is_read_again(load, tmp_path):
    module, scores = load(), []
    path = tmp_path / "image.bmp"
    for array in ARRAYS[:2]:
        PIL.Image.fromarray(array).save(path)
        os.utime(path, ns=(0, 0))  # of the same size and time
        scores.append(module.compute(**columns_of(module, slice(0, 1)) | {"images": [str(path)]})[module.name])
    alone = [module.compute(**columns_of(module, slice(0, 1)) | {"images": [array]}) for array in ARRAYS[:2]]
    assert scores == pytest.approx([result[module.name] for result in alone], abs=2e-6)
    assert abs(scores[0] - scores[1]) > 1e-4


@each_case(
    ("changes", "error", "message"),
    [
        ({"images": ARRAYS[:5]}, ValueError, "images: expected one image for each of the 6 rows of predictions, got 5"),
        ({"images": None}, TypeError, "images: expected a list of images, got one NoneType"),
        ({"images": "dog.jpg"}, TypeError, "images: expected a list of images, got one str"),
        ({"predictions": None}, TypeError, "predictions: expected a list of rows"),
        ({"predictions": [["a"], [], *CAPTIONS[2:]]}, ValueError, "predictions[1]: expected at least one caption"),
        ({"predictions": [["a"], [3], *CAPTIONS[2:]]}, TypeError, "predictions[1][0]: expected a caption (a string)"),
        ({"images": ["https://a.org/b.jpg"] * 6}, ValueError, "images[0]: expected a local path, got the address"),
    ],
)
def test_bad_columns_are_named(load, changes, error, message):
    module = load()
    with pytest.raises(error) as raised:
        module.compute(**columns_of(module) | changes)
    assert str(raised.value).startswith(message)
    assert module.compute(**columns_of(module))["n_rows"] == 6


def test_references_must_be_lists_and_as_many(checkpoint):
    module = evaluate.load(REF_PAC_SCORE, checkpoint=checkpoint, device="cpu")
    with pytest.raises(ValueError, match="references: expected one row for each of the 6 rows of predictions, got 5"):
        module.compute(**COLUMNS | {"references": REFERENCES[:5]})
    with pytest.raises(TypeError, match=r"references\[1\]: expected a list of captions as in row 0, got a string"):
        module.compute(**COLUMNS | {"references": [["a"], *["a"] * 5]})


@each_case(
    ("options", "error", "message"),
    [
        ({"chekpoint": "x"}, TypeError, "load: expected options among"),
        ({"dtype": "int8"}, ValueError, "dtype: expected one of 'float32', 'bfloat16', got 'int8'"),
        ({"prompt": 3}, TypeError, "prompt: expected a string, got int"),
        ({"details": "yes"}, TypeError, "details: expected True or False, got 'yes'"),
        ({"config_name": "vit-b-33"}, ValueError, "variant: expected one of pac-vit-b-32, "),
    ],
)
def test_bad_options_are_refused_at_load_time(load, options, error, message):
    with pytest.raises(error) as raised:
        load(**options)
    assert str(raised.value).startswith(message)


def test_what_decides_the_model_is_refused_at_compute_time(load):
    module = load()
    with pytest.raises(TypeError, match=r"compute: expected options among .*, got \['checkpoint'\]"):
        module.compute(**columns_of(module), checkpoint="other.pth")


def test_options_at_load_time_and_at_compute_time_agree(load):
    late, early = load(), load(weight=2.5, prompt="", details=True, batch_size=2, n_workers=1)
    result = late.compute(**columns_of(late), weight=2.5, prompt="", details=True, batch_size=2, n_workers=1)
    assert result == early.compute(**columns_of(early))
    assert result[late.name] != late.compute(**columns_of(late))[late.name]
    assert "|prompt:''|weight:2.5" in result["signature"]


def test_clip_s_is_the_same_module_with_another_weight(checkpoint):
    pac = evaluate.load(PAC_SCORE, "clip-vit-b-32", checkpoint=checkpoint, device="cpu")
    columns = columns_of(pac)
    clip_s = pac.compute(**columns, weight=2.5)["pac_score"]
    assert clip_s == pytest.approx(2.5 / 2 * pac.compute(**columns)["pac_score"], rel=1e-6)


def test_other_weights_give_other_scores(load, tmp_path):
    """PAC differs from plain CLIP in the two projections only: the scores must show whose they are."""
    module, plain, tuned = load(), small_weights(), small_weights(7)
    columns = columns_of(module)
    ours = module.compute(**columns, details=True)
    projections = {name: tuned[name] for name in ("visual.proj", "text_projection")}
    for weights in (tuned, plain | projections, with_lora(plain)):
        path = save_checkpoint(tmp_path / "other.pth", weights)
        other = load(checkpoint=str(path)).compute(**columns, details=True)
        differences = np.subtract(ours[f"{module.name}_per_row"], other[f"{module.name}_per_row"])
        assert np.abs(differences).mean() > 1e-3
        assert ours["signature"] != other["signature"]


def test_the_signature_says_that_a_file_is_not_known_to_be_pac(load, checkpoint):
    module = load()
    signature = module.compute(**columns_of(module), details=True)["signature"]
    assert signature.startswith(f"{module.name}|version:")
    assert f"|scaling:pillow-{PIL.__version__}|" in signature
    for part in ("variant:custom", "checkpoint:small.pth", "sha256:", "activation:quick_gelu", "dtype:float32"):
        assert f"|{part}" in signature
    assert checkpoint not in signature


def test_bars_obey_evaluates_switch(load, capfd, monkeypatch):
    module = load()
    evaluate.utils.logging.enable_progress_bar()  # commands that ran in this process have switched it off
    package = type(module).__module__.rsplit(".", 1)[0]
    monkeypatch.setattr(importlib.import_module(f"{package}.clip_encoder"), "PROGRESS_DELAY", 0)
    module.encoder.forget()
    module.compute(**columns_of(module))
    shown = capfd.readouterr().err
    assert "images" in shown
    assert "captions" in shown
    evaluate.utils.logging.disable_progress_bar()
    try:
        module.compute(**columns_of(module))
    finally:
        evaluate.utils.logging.enable_progress_bar()
    assert capfd.readouterr().err == ""


def test_features_are_kept_in_place_of_images(load):
    module = load()
    assert set(module.features[0]["images"]) == {"key", "features"}
    module.add_batch(**columns_of(module, slice(0, 2)) | {"images": [ARRAYS[0]] * 2})
    stored = module.added[0]["images"]
    assert [row["features"] is None for row in stored] == [False, True]
    # Offsets of 64 bits: the features of one call may take more than 2 GB.
    assert module.features[0]["images"]["features"].dtype == "large_binary"
    assert len({row["key"] for row in stored}) == 1
    assert module.image_features(stored).shape == (2, module.encoder.model.n_features)


def test_the_checkpoint_is_loaded_only_when_it_is_needed(load):
    module = load(checkpoint="nowhere.pth")
    with pytest.raises(ValueError, match=r"checkpoint: expected a file, a folder or .*, got 'nowhere\.pth'"):
        module.add_batch(**columns_of(module))


def test_the_second_argument_of_evaluate_is_a_short_form_of_variant(load):
    for given in ({"config_name": "clip-vit-b-32"}, {"variant": "clip-vit-b-32"}):
        assert load(**given).encoder.variant == "clip-vit-b-32"
    assert load(config_name="vit-b-32", variant="pac-vit-b-32").encoder.variant == "pac-vit-b-32"
    with pytest.raises(
        ValueError, match="^variant: expected one choice of weights, got 'pac-vit-b-32' and 'clip-vit-b-32'. Give one.$"
    ):
        load(config_name="clip-vit-b-32", variant="pac-vit-b-32")
