"""Where weights come from: files, folders, the Hub, and downloads that fail in every way."""

import contextlib
import hashlib
import http.server
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import EntryNotFoundError
from tqdm.auto import tqdm

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
from manycaps.kit.clip_model import OPENAI_MEAN, OPENAI_STD, merge_lora, read_weights
from tests.clip_checkpoints import save_checkpoint, small_weights, with_lora
from tests.large_packages import torch
from tests.refusals import assert_refused

TREATMENT = VARIANTS["pac-vit-b-32"].treatment


@pytest.fixture(scope="module")
def checkpoint_bytes(tmp_path_factory):
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small.pth").read_bytes()


@contextlib.contextmanager
def served(body, status=200, content_type="application/octet-stream", stated=None, pause=0.0):
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
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/weights.pth", requests
        server.shutdown()


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Let the default variant come from an address, and be kept in a temporary folder."""

    def publish(url):
        monkeypatch.setitem(VARIANTS, "pac-vit-b-32", Variant(TREATMENT, url))
        monkeypatch.setattr(clip_checkpoints, "cached_weights_path", lambda name: tmp_path / name / WEIGHTS_NAME)
        (tmp_path / "pac-vit-b-32").mkdir()
        return tmp_path / "pac-vit-b-32"

    return publish


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


def refused(message, checkpoint, variant=None):
    assert_refused(ValueError, message, find, checkpoint, variant)


def test_a_local_file_is_hashed_and_custom(tmp_path):
    path = save_checkpoint(tmp_path / "mine.pth")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert find(str(path)) == (path, "custom", "mine.pth", sha256, TREATMENT, None)
    assert find(path, "openclip-vit-l-14").treatment.activation == "gelu"


NOTHING = "checkpoint: expected a file, a folder or a Hub repository, got"


@pytest.mark.parametrize("name", ["clip-vit-b-32", "openclip-vit-l-14", "pac++-vit-b-32"])
def test_the_name_of_a_variant_is_no_checkpoint(name, asked):
    refused(f"{NOTHING} '{name}', the name of published weights. Give variant='{name}' and no checkpoint.$", name)
    assert asked == []


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
    refused(f"checkpoint: expected {WEIGHTS_NAME} in the folder", tmp_path)
    facts = {"activation": "quick_gelu"}
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / WEIGHTS_NAME, facts)
    config = {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}
    (tmp_path / CONFIG_NAME).write_text(json.dumps(config))
    assert find(tmp_path, "openclip-vit-l-14").treatment == ("quick_gelu", (0.5,) * 3, (0.5,) * 3)
    (tmp_path / CONFIG_NAME).write_text("[]")
    refused(f"checkpoint: expected model_cfg and preprocess_cfg in {CONFIG_NAME}, got", tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """What the Hub is asked for; it gives nothing."""
    urls = []

    def get_hf_file_metadata(url, timeout):
        urls.append(url)
        raise OSError("401 Client Error: repository not found\nmore text")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", get_hf_file_metadata)
    return urls


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A Hub whose only repository is org/clip, a folder."""

    def get_hf_file_metadata(url, timeout):
        if "/org/clip/" not in url:
            raise OSError("401 Client Error: repository not found\nmore text")
        hf_hub_download("org/clip", url.rsplit("/", 1)[-1])

    def hf_hub_download(repository, name):
        assert repository == "org/clip"
        if not (tmp_path / name).is_file():
            raise EntryNotFoundError(name)
        return str(tmp_path / name)

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", get_hf_file_metadata)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    return tmp_path


def test_a_hub_repository_is_used(hub, monkeypatch):
    refused(f"checkpoint: expected {WEIGHTS_NAME} in the Hub repository org/clip, got none", "org/clip")
    convert_checkpoint(save_checkpoint(hub / "a.pth"), hub / "model.safetensors", TREATMENT._asdict())
    for name in ("org/clip", "hub:org/clip"):
        found = find(name)
        assert (found.path, found.variant, found.source) == (hub / "model.safetensors", "custom", "org/clip")
    monkeypatch.setitem(VARIANTS, "clip-vit-b-32", VARIANTS["clip-vit-b-32"]._replace(source="hub:org/clip"))
    assert find(None, "clip-vit-b-32").variant == "clip-vit-b-32"
    message = ".*Hub repository org/other, got none, the Hub did not return it (OSError: 401 Client Error: repository "
    refused(message, "org/other")


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(asked):
    refused(".*for a repository on the Hub write 'hub:models/clip'", "models/clip")
    refused(".*Hub repository models/clip, got none, the Hub did not return it", "hub:models/clip")
    assert [url.rsplit("/resolve/")[0] for url in asked] == ["https://huggingface.co/models/clip"]


def test_advice_without_the_hub_fits_the_option(asked):
    for options, advice in (
        ({"model": "org/clip"}, "config.json and model.safetensors by hand and give model='path/to/their/folder'; "),
        ({"checkpoint": "org/clip"}, f"{WEIGHTS_NAME} by hand and give checkpoint='path/to/{WEIGHTS_NAME}'; "),
    ):
        (option,) = options
        with pytest.raises(ValueError, match=f"^{option}: expected the Hub repository org/clip, got none") as raised:
            load("pac_score", **options).compute(predictions=["a dog"], images=[np.ones((8, 8, 3), np.uint8)])
        assert advice in str(raised.value)
    assert len(asked) == 2


def test_without_the_hub_the_cache_is_used(asked, tmp_path, monkeypatch):
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / WEIGHTS_NAME, TREATMENT._asdict())
    kept = {WEIGHTS_NAME: str(tmp_path / WEIGHTS_NAME)}
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repository, name: kept.get(name))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *_: pytest.fail("the Hub does not answer"))
    assert find("org/kept").path == tmp_path / WEIGHTS_NAME
    assert len(asked) == 1


def test_a_download_is_checked_converted_and_kept_and_made_once(published, checkpoint_bytes):
    with served(checkpoint_bytes, pause=0.05) as (url, requests):
        folder = published(url)
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
def test_a_bad_answer_is_described_and_leaves_nothing(published, server, attempts, got):
    with served(**server) as (url, _):
        folder = published(url)
        end = "" if got is REFUSED else f".*{TRY_A_BROWSER}"
        message = f"checkpoint: expected the file of pac-vit-b-32 from {url}, {got}{end}$"
        for attempt in attempts:
            assert_refused(ValueError, message, attempt)
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_an_address_is_tried_without_a_download(published, checkpoint_bytes):
    with served(checkpoint_bytes + bytes(1 << 24), pause=0.2) as (url, requests):
        folder = published(url)
        clip_checkpoints.try_download("pac-vit-b-32")
        assert len(requests) == 1
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_offline_mode_asks_nobody(published, monkeypatch, checkpoint_bytes):
    published("http://127.0.0.1:9/weights.pth")
    refused(".*got no connection", None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with served(checkpoint_bytes) as (url, requests):
        monkeypatch.setitem(VARIANTS, "pac-vit-b-32", VARIANTS["pac-vit-b-32"]._replace(source=url))
        refused(".*got HF_HUB_OFFLINE is set, so nothing was downloaded", None)
    assert requests == []
