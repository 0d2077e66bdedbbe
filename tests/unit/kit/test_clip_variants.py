"""CLIPs of transformers: the features of the library itself, and everything that would give others is refused."""

import json

import huggingface_hub
import numpy as np
import PIL.Image
import pytest
from huggingface_hub.errors import EntryNotFoundError
from tqdm import tqdm

from manycaps.kit.clip_encoder import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS, ClipEncoder, check_clip_options
from manycaps.kit.images import as_model_pixels
from tests.clip_checkpoints import save_checkpoint
from tests.large_packages import evaluate, torch, transformers
from tests.module_folders import EMSCORE_PAC, PAC_SCORE, REF_PAC_SCORE
from tests.refusals import assert_refused

# As large as the model sees them: transformers scales by torch, and here it is Pillow.
IMAGES = list(np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8))
CAPTIONS = ["a red square", "two dogs on a beach", "the sea"]
OPTIONS = {**CLIP_LOAD_DEFAULTS, **CLIP_CALL_DEFAULTS, "device": "cpu"}


def tower(**changes):
    sizes = {"hidden_size": 48, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3}
    return {**sizes, "projection_dim": 24, **changes}


def small_model(seed=0, **changes):
    """transformers' own CLIP with random weights large enough that inputs matter; its heads have 16 numbers."""
    torch.manual_seed(seed)
    config = transformers.CLIPConfig(
        text_config=tower(**changes), vision_config=tower(image_size=32, patch_size=8, **changes), projection_dim=24
    )
    model = transformers.CLIPModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def small_processor(**changes):
    sizes = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    return transformers.CLIPImageProcessor(**{**sizes, "image_mean": [0.5] * 3, "image_std": [0.25] * 3, **changes})


@pytest.fixture(scope="module", params=["quick_gelu", "gelu"])
def model(request):
    return small_model(hidden_act=request.param)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("folder") / "small-clip"
    model.save_pretrained(path)
    small_processor().save_pretrained(path)
    return path


def encoder_of(**given):
    return ClipEncoder(OPTIONS | given, tqdm)


def features_of(encoder):
    size = encoder.model.image_size
    pixels = np.stack([as_model_pixels(PIL.Image.fromarray(image), size) for image in IMAGES])
    tokens = [encoder.model.tokenize(caption) for caption in CAPTIONS]
    return encoder.model.image_features(pixels), encoder.model.text_features(tokens, 64)


def own_features(model, encoder):
    """Features by transformers' functions, from its processor's pixels; the vocabulary is CLIP's."""
    pixels = small_processor()(images=[PIL.Image.fromarray(image) for image in IMAGES], return_tensors="pt")
    longest = [encoder.model.tokenize(caption).ids for caption in CAPTIONS]
    ids = torch.full((3, 77), 49407)
    for row, tokens in zip(ids, longest, strict=True):
        row[: len(tokens)] = torch.tensor(tokens)
    with torch.inference_mode():
        found = model.get_image_features(**pixels), model.get_text_features(input_ids=ids)
    return [getattr(features, "pooler_output", features).numpy() for features in found]


def test_features_are_those_of_transformers(model, folder):
    for given in ({"model": model, "processor": small_processor()}, {"model": str(folder)}, {"checkpoint": folder}):
        encoder = encoder_of(**given)
        for ours, theirs in zip(features_of(encoder), own_features(model, encoder), strict=True):
            assert np.abs(ours - theirs).max() < 1e-5 * np.abs(theirs).max()


def test_without_a_processor_the_pixels_are_openais(model):
    plain, own = (features_of(encoder_of(model=model, processor=p))[0] for p in (None, small_processor()))
    assert np.abs(plain - own).max() > 1e-3


def test_the_scores_of_all_modules_and_their_names(model, folder):
    for path in (PAC_SCORE, REF_PAC_SCORE, EMSCORE_PAC):
        columns = {"predictions": CAPTIONS}
        columns |= {"references": [[caption] for caption in CAPTIONS]} if path == REF_PAC_SCORE else {}
        columns |= {"videos": [[i] for i in IMAGES]} if path == EMSCORE_PAC else {"images": IMAGES}
        kinds = ({"model": model, "processor": small_processor()}, {"model": folder})
        results = [evaluate.load(path, **kind, device="cpu", details=True).compute(**columns) for kind in kinds]
        signatures = [result.pop("signature") for result in results]
        assert results[0] == results[1]
        for name, line in zip(("CLIPModel", "small-clip"), signatures, strict=True):
            assert f"|variant:custom|checkpoint:{name}|sha256:" in line


def test_training_a_model_further_changes_no_features():
    model = small_model()
    encoder = encoder_of(model=model)
    before = features_of(encoder)
    with torch.no_grad():
        model.visual_projection.weight.mul_(2)
    assert all((a == b).all() for a, b in zip(before, features_of(encoder), strict=True))
    after = encoder_of(model=model)
    assert after.signature_parts()["sha256"] != encoder.signature_parts()["sha256"]
    assert np.allclose(features_of(after)[0], 2 * before[0], atol=1e-4)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"model": "a", "checkpoint": "b"}, ValueError, "model: expected no checkpoint beside it, got both."),
        ({"model": "a", "variant": "clip-vit-b-32"}, ValueError, "model: expected no variant beside it, got both."),
        ({"model": "a", "processor": small_processor}, TypeError, "processor: expected a transformers.AutoProcessor"),
    ],
)
def test_options_are_checked(given, error, message):
    assert_refused(error, message, check_clip_options, OPTIONS | given)


CHANGES = [
    ({"model_type": "siglip"}, "expected model_type 'clip' for small, got 'siglip'."),
    ({"text_config": tower(num_attention_heads=5)}, "expected num_attention_heads that divide the width 48"),
    ({"vision_config": tower(layer_norm_eps=1e-6)}, "expected a layer_norm_eps of 1e-05 for small, got 1e-06."),
    ({"vision_config": None}, "expected vision_config with its hidden_size for small, got None."),
    ({"text_config": tower(hidden_act="gelu")}, "expected one hidden_act of both encoders for small"),
    (
        dict.fromkeys(("text_config", "vision_config"), tower(hidden_act="relu", image_size=32, patch_size=8)),
        "expected the activation quick_gelu or gelu for small, got 'relu'.",
    ),
    ({"vision_config": tower(image_size=30, patch_size=8)}, "expected an image_size of whole patches for"),
]


@pytest.fixture
def small(tmp_path):
    small_model().save_pretrained(tmp_path / "small")
    small_processor().save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def refused(message, **given):
    assert_refused(ValueError, f"checkpoint: {message}", lambda: encoder_of(**given).model)


def test_other_models_are_refused(small):
    config = small / "config.json"
    whole = json.loads(config.read_text())
    for changes, message in CHANGES:
        config.write_text(json.dumps(whole | changes))
        refused(message, model=small)


def test_other_pixels_and_pickled_weights_are_refused(small):
    config = small / "preprocessor_config.json"
    whole = json.loads(config.read_text())
    for changes in ({"resample": 2}, {"do_center_crop": False}, {"size": 64}, {"crop_size": 8}, {"rescale_factor": 1}):
        config.write_text(json.dumps(whole | changes))
        refused("expected images scaled bicubically to 32, cropped to 32 x 32, ", model=small)
    (small / "model.safetensors").rename(small / "pytorch_model.bin")
    refused("expected model.safetensors in the folder.*pickled weights are not read", model=small)


def test_names_of_transformers_without_a_configuration_are_refused(small):
    (small / "config.json").unlink()
    message = "expected the weights of a CLIP vision transformer under OpenAI's"
    refused(message, checkpoint=small / "model.safetensors")


def test_a_repository_on_the_hub(small, monkeypatch):
    def hf_hub_download(repository, name):
        if not (small / name).is_file():
            raise EntryNotFoundError(name)
        return str(small / name)

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url, timeout: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    ours, theirs = (encoder_of(model=name) for name in ("org/clip", small))
    assert ours.signature_parts() == theirs.signature_parts() | {"checkpoint": "org/clip"}
    assert (features_of(ours)[0] == features_of(theirs)[0]).all()


def test_a_file_of_open_clip_in_such_a_folder_is_read_as_before(tmp_path):
    path = save_checkpoint(tmp_path / "small.pth")
    (tmp_path / "config.json").write_text("{}")
    assert encoder_of(checkpoint=path).signature_parts()["checkpoint"] == "small.pth"
