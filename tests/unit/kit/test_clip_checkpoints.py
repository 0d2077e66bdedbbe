"""Where CLIP's weights come from: files, folders, the Hub and downloads, and CLIPs of transformers."""

import contextlib
import hashlib
import http.server
import json
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import huggingface_hub
import numpy as np
import PIL.Image
import pytest
from huggingface_hub.errors import EntryNotFoundError
from tqdm import tqdm

from manycaps import load
from manycaps.kit import clip_checkpoints
from manycaps.kit.clip_checkpoints import (
    CONFIG_NAME,
    VARIANTS,
    WEIGHTS_NAME,
    Variant,
    convert_checkpoint,
    find_checkpoint,
    read_facts,
)
from manycaps.kit.clip_encoder import (
    CLIP_CALL_DEFAULTS,
    CLIP_CALL_OPTIONS,
    CLIP_LOAD_DEFAULTS,
    CLIP_LOAD_OPTIONS,
    ClipEncoder,
)
from manycaps.kit.clip_model import OPENAI_MEAN, OPENAI_STD, merge_lora, read_weights
from manycaps.kit.images import as_model_pixels
from manycaps.kit.options import check_options
from tests.clip_checkpoints import save_checkpoint, small_weights, with_lora
from tests.large_packages import torch, transformers
from tests.refusals import assert_refused

TREATMENT = VARIANTS["pac-vit-b-32"].treatment


@pytest.fixture(scope="module")
def checkpoint_bytes(tmp_path_factory):
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small.pth").read_bytes()


@contextlib.contextmanager
def serve(body, status=200, content_type="application/octet-stream", stated=None, pause=0.0):
    """Yield the address of a web server with one answer, and the list of its requests."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body) if stated is None else stated))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                for start in range(0, len(body), 1 << 20):
                    self.wfile.write(body[start : start + (1 << 20)])
                    time.sleep(pause)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/weights.pth", requests
        server.shutdown()


@pytest.fixture
def publish(monkeypatch, tmp_path):
    """Let the default variant come from an address, and be kept in a temporary folder."""

    def publish_at(url):
        monkeypatch.setitem(VARIANTS, "pac-vit-b-32", Variant(TREATMENT, url))
        monkeypatch.setattr(clip_checkpoints, "cached_weights_path", lambda name: tmp_path / name / WEIGHTS_NAME)
        (tmp_path / "pac-vit-b-32").mkdir()
        return tmp_path / "pac-vit-b-32"

    return publish_at


def test_the_table_agrees_with_open_clip():
    import open_clip

    laion = open_clip.pretrained.get_pretrained_cfg("ViT-L-14", "laion2b_s32b_b82k")
    assert VARIANTS["pac-openclip-vit-l-14"].treatment == ("gelu", laion["mean"], laion["std"])
    openai_models = {"clip-vit-b-32": "ViT-B-32", "clip-vit-l-14": "ViT-L-14", "clip-vit-l-14-336": "ViT-L-14-336"}
    for name, architecture in openai_models.items():
        openai = open_clip.pretrained.get_pretrained_cfg(architecture, "openai")
        assert openai["quick_gelu"]
        assert VARIANTS[name].source == "hub:" + openai["hf_hub"].rstrip("/")
    assert (OPENAI_MEAN, OPENAI_STD) == (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)


def find(checkpoint, variant=None):
    return find_checkpoint(variant, checkpoint, tqdm)


def must_fail(message, checkpoint, variant=None):
    assert_refused(ValueError, message, find, checkpoint, variant)


def test_a_local_file_is_hashed_and_custom(tmp_path):
    path = save_checkpoint(tmp_path / "mine.pth")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert find(str(path)) == (path, "custom", "mine.pth", sha256, TREATMENT, None)
    assert find(path, "openclip-vit-l-14").treatment.activation == "gelu"


NOTHING = "checkpoint: expected a file, a folder or a Hub repository, got"


@pytest.mark.parametrize("name", ["clip-vit-b-32", "openclip-vit-l-14", "pac++-vit-b-32"])
def test_the_name_of_a_variant_is_no_checkpoint(name, asked_urls):
    must_fail(f"{NOTHING} '{name}', the name of published weights. Give variant='{name}' and no checkpoint.$", name)
    assert asked_urls == []


def test_a_converted_file_says_how_to_use_it(tmp_path):
    source = save_checkpoint(tmp_path / "a.pth", with_lora(small_weights()))
    target = tmp_path / "b.safetensors"
    convert_checkpoint(source, target, {"activation": "gelu", "mean": [0.5] * 3, "std": [0.25] * 3})
    assert find(target).treatment == ("gelu", (0.5,) * 3, (0.25,) * 3)
    expected = merge_lora(read_weights(source))
    converted = read_weights(target)
    assert converted.keys() == expected.keys()
    assert all(torch.equal(converted[name], tensor) for name, tensor in expected.items())
    assert [path.name for path in tmp_path.iterdir() if "incomplete" in path.name] == []


def test_a_folder_is_read_with_its_configuration(tmp_path):
    must_fail(f"checkpoint: expected {WEIGHTS_NAME} in the folder", tmp_path)
    facts = {"activation": "quick_gelu"}
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / WEIGHTS_NAME, facts)
    config = {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}
    (tmp_path / CONFIG_NAME).write_text(json.dumps(config))
    assert find(tmp_path, "openclip-vit-l-14").treatment == ("quick_gelu", (0.5,) * 3, (0.5,) * 3)
    (tmp_path / CONFIG_NAME).write_text("[]")
    must_fail(f"checkpoint: expected a checkpoint with its settings, got {CONFIG_NAME} (TypeError", tmp_path)


@pytest.fixture
def asked_urls(monkeypatch):
    """What the Hub is asked for; it gives nothing."""
    urls = []

    def get_hf_file_metadata(url, timeout):
        urls.append(url)
        raise OSError("401 Client Error: repository not found\nmore text")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", get_hf_file_metadata)
    return urls


def serve_folder(folder, monkeypatch):
    """Put a Hub in place whose only repository is org/clip, a folder."""

    def get_hf_file_metadata(url, timeout):
        if "/org/clip/" not in url:
            raise OSError("401 Client Error: repository not found\nmore text")
        hf_hub_download("org/clip", url.rsplit("/", 1)[-1])

    def hf_hub_download(repository, name):
        assert repository == "org/clip"
        if not (folder / name).is_file():
            raise EntryNotFoundError(name)
        return str(folder / name)

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", get_hf_file_metadata)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)


def test_a_hub_repository_is_used(tmp_path, monkeypatch):
    serve_folder(tmp_path, monkeypatch)
    must_fail(f"checkpoint: expected {WEIGHTS_NAME} in the Hub repository org/clip, got none", "org/clip")
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / "model.safetensors", TREATMENT._asdict())
    for name in ("org/clip", "hub:org/clip"):
        found = find(name)
        assert (found.path, found.variant, found.source) == (tmp_path / "model.safetensors", "custom", "org/clip")
    monkeypatch.setitem(VARIANTS, "clip-vit-b-32", VARIANTS["clip-vit-b-32"]._replace(source="hub:org/clip"))
    assert find(None, "clip-vit-b-32").variant == "clip-vit-b-32"
    message = ".*Hub repository org/other, got none, the Hub did not return it (OSError: 401 Client Error: repository "
    must_fail(message, "org/other")


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(asked_urls):
    must_fail(".*for a repository on the Hub write 'hub:models/clip'", "models/clip")
    must_fail(".*Hub repository models/clip, got none, the Hub did not return it", "hub:models/clip")
    assert [url.rsplit("/resolve/")[0] for url in asked_urls] == ["https://huggingface.co/models/clip"]


def test_advice_without_the_hub_fits_the_option(asked_urls):
    for options, advice in (
        ({"model": "org/clip"}, "config.json and model.safetensors by hand and give model='path/to/their/folder'; "),
        ({"checkpoint": "org/clip"}, f"{WEIGHTS_NAME} by hand and give checkpoint='path/to/{WEIGHTS_NAME}'; "),
    ):
        (option,) = options
        with pytest.raises(ValueError, match=f"^{option}: expected the Hub repository org/clip, got none") as raised:
            load("pac_score", **options).compute(predictions=["a dog"], images=[np.ones((8, 8, 3), np.uint8)])
        assert advice in str(raised.value)
        assert "".join(traceback.format_exception(raised.value)).count("Traceback") == 1
    assert len(asked_urls) == 2


def test_without_the_hub_the_cache_is_used(asked_urls, tmp_path, monkeypatch):
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / WEIGHTS_NAME, TREATMENT._asdict())
    kept = {WEIGHTS_NAME: str(tmp_path / WEIGHTS_NAME)}
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repository, name: kept.get(name))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *_: pytest.fail("the Hub does not answer"))
    assert find("org/kept").path == tmp_path / WEIGHTS_NAME
    assert len(asked_urls) == 1


def test_a_download_is_checked_converted_and_kept_and_made_once(publish, checkpoint_bytes):
    with serve(checkpoint_bytes, pause=0.05) as (url, requests):
        folder = publish(url)
        (folder / "download.incomplete").write_bytes(b"what a killed process left")
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda _: find(None), range(2)))
    assert len(requests) == 1
    sha256 = hashlib.sha256(checkpoint_bytes).hexdigest()
    assert found[0] == found[1] == (folder / WEIGHTS_NAME, "pac-vit-b-32", url, sha256, TREATMENT, None)
    assert read_facts(found[0].path)["size"] == len(checkpoint_bytes)
    assert all(torch.equal(read_weights(found[0].path)[name], tensor) for name, tensor in small_weights().items())
    assert {path.name for path in folder.iterdir()} <= {WEIGHTS_NAME, "open_clip_model.lock"}


HTML = b"<!DOCTYPE html><html><head><title>Google Drive - Quota exceeded</title></head></html>"


ZIP = b"PK\x03\x04"


TRY_A_BROWSER = "give checkpoint='path/to/the/file.pth' beside your other options."


REFUSED = (
    "got HTTP status 403 (Forbidden). The server refuses it, to browsers, too: give a copy that you have as "
    "checkpoint='path/to/the/file.pth' beside your other options, ask its authors for one, or choose another variant."
)


def fetch():
    find(None)


def try_address():
    clip_checkpoints.try_download("pac-vit-b-32")


@pytest.mark.parametrize(
    ("server", "attempts", "got"),
    [
        ({"body": HTML, "content_type": "text/html"}, [fetch, try_address], "got a web page ("),
        ({"body": HTML}, [fetch], "got a web page (Google Drive - Quota exceeded), as for too many downloads"),
        ({"body": b"no", "status": 404}, [fetch], "got HTTP status 404 (Not Found)"),
        ({"body": b"no", "status": 403}, [fetch, try_address], REFUSED),
        ({"body": ZIP + b"0" * 96, "stated": 1000}, [fetch], "got 100 of 1000 bytes"),
        ({"body": b"hello there"}, [fetch], "got application/octet-stream that begins with b'hello th'"),
        ({"body": ZIP}, [fetch], "got a file that cannot be used. checkpoint: expected a file of tensors"),
    ],
)
def test_a_bad_answer_is_described_and_leaves_nothing(publish, server, attempts, got):
    with serve(**server) as (url, _):
        folder = publish(url)
        end = "" if got is REFUSED else f".*{TRY_A_BROWSER}"
        message = f"checkpoint: expected the file of pac-vit-b-32 from {url}, {got}{end}$"
        for attempt in attempts:
            assert_refused(ValueError, message, attempt)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_an_address_is_tried_without_a_download(publish, checkpoint_bytes):
    with serve(checkpoint_bytes + bytes(1 << 24), pause=0.2) as (url, requests):
        folder = publish(url)
        clip_checkpoints.try_download("pac-vit-b-32")
        assert len(requests) == 1
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_offline_mode_asks_nobody(publish, monkeypatch, checkpoint_bytes):
    publish("http://127.0.0.1:9/weights.pth")
    must_fail(".*got no connection", None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with serve(checkpoint_bytes) as (url, requests):
        monkeypatch.setitem(VARIANTS, "pac-vit-b-32", VARIANTS["pac-vit-b-32"]._replace(source=url))
        must_fail(".*got HF_HUB_OFFLINE is set, so nothing was downloaded", None)
    assert requests == []


# CLIPs of transformers: the features of the library itself, and everything that would give others is refused.

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
    for name in ("pac_score", "ref_pac_score", "emscore_pac"):
        columns = {"predictions": CAPTIONS}
        columns |= {"references": [[caption] for caption in CAPTIONS]} if name == "ref_pac_score" else {}
        columns |= {"videos": [[i] for i in IMAGES]} if name == "emscore_pac" else {"images": IMAGES}
        kinds = ({"model": model, "processor": small_processor()}, {"model": folder})
        results = [load(name, **kind, device="cpu", details=True).compute(**columns) for kind in kinds]
        signatures = [result.pop("signature") for result in results]
        assert results[0] == results[1]
        for source, line in zip(("CLIPModel", "small-clip"), signatures, strict=True):
            assert f"|variant:custom|checkpoint:{source}|sha256:" in line


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
        ({"model": "a", "checkpoint": "b"}, ValueError, "model: expected one of model and checkpoint, got both."),
        ({"model": "a", "variant": "clip-vit-b-32"}, ValueError, "model: expected one of model and variant, got both."),
        ({"model": "a", "processor": small_processor}, TypeError, "processor: expected a transformers.AutoProcessor"),
    ],
)
def test_options_are_checked(given, error, message):
    assert_refused(error, message, check_options, CLIP_LOAD_OPTIONS | CLIP_CALL_OPTIONS, OPTIONS | given)


CHANGES = [
    ({"model_type": "siglip"}, "expected model_type 'clip' for small, got 'siglip'."),
    (
        {"text_config": tower(num_attention_heads=5)},
        "expected the weights of a CLIP vision transformer, got model.safetensors (AssertionError: embed_dim",
    ),
    (
        {"vision_config": tower(layer_norm_eps=1e-6)},
        "expected a layer_norm_eps of 1e-05 for small, got [1e-06, 1e-05].",
    ),
    ({"vision_config": None}, "expected a checkpoint with its settings, got small (AttributeError"),
    ({"text_config": tower(hidden_act="gelu")}, "expected one hidden_act of both encoders for small"),
    (
        dict.fromkeys(("text_config", "vision_config"), tower(hidden_act="relu", image_size=32, patch_size=8)),
        "expected the activation quick_gelu or gelu for small, got 'relu'.",
    ),
    (
        {"vision_config": tower(image_size=30, patch_size=8)},
        "expected images scaled bicubically to 30, cropped to 30 x 30, ",
    ),
]


@pytest.fixture
def small(tmp_path):
    small_model().save_pretrained(tmp_path / "small")
    small_processor().save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def variant_must_fail(message, **given):
    assert_refused(ValueError, f"checkpoint: {message}", lambda: encoder_of(**given).model)


def test_other_models_are_refused(small):
    config = small / "config.json"
    whole = json.loads(config.read_text())
    for changes, message in CHANGES:
        config.write_text(json.dumps(whole | changes))
        variant_must_fail(message, model=small)


def test_other_pixels_and_pickled_weights_are_refused(small):
    config = small / "preprocessor_config.json"
    whole = json.loads(config.read_text())
    for changes in ({"resample": 2}, {"do_center_crop": False}, {"size": 64}, {"crop_size": 8}, {"rescale_factor": 1}):
        config.write_text(json.dumps(whole | changes))
        variant_must_fail("expected images scaled bicubically to 32, cropped to 32 x 32, ", model=small)
    for name in ("pytorch_model.bin", "model-00001-of-00001.safetensors"):
        (small / "model.safetensors").rename(small / name)
        message = "expected model.safetensors in the folder.*pickled weights are not read.*several.*max_shard_size="
        variant_must_fail(message, model=small)
        (small / name).rename(small / "model.safetensors")


def test_names_of_transformers_without_a_configuration_are_refused(small):
    (small / "config.json").unlink()
    message = "expected the weights of a CLIP vision transformer, got model.safetensors (KeyError: "
    variant_must_fail(message, checkpoint=small / "model.safetensors")


def test_a_repository_on_the_hub(small, monkeypatch):
    serve_folder(small, monkeypatch)
    ours, theirs = (encoder_of(model=name) for name in ("org/clip", small))
    assert ours.signature_parts() == theirs.signature_parts() | {"checkpoint": "org/clip"}
    assert (features_of(ours)[0] == features_of(theirs)[0]).all()


def test_a_file_of_open_clip_in_such_a_folder_is_read_as_before(tmp_path):
    path = save_checkpoint(tmp_path / "small.pth")
    (tmp_path / "config.json").write_text("{}")
    assert encoder_of(checkpoint=path).signature_parts()["checkpoint"] == "small.pth"
