"""Where weights come from: files, folders, the Hub, and downloads that fail in every way."""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import huggingface_hub
import pytest
from huggingface_hub.errors import EntryNotFoundError
from tqdm.auto import tqdm

from manycaps.kit import clip_downloads
from manycaps.kit.base_files import file_sha256
from manycaps.kit.clip_checkpoints import find_checkpoint
from manycaps.kit.clip_downloads import convert_checkpoint
from manycaps.kit.clip_model import OPENAI_MEAN, OPENAI_STD
from manycaps.kit.clip_variants import CONFIG_NAME, VARIANTS, WEIGHTS_NAME, Variant, read_facts, variant_name
from manycaps.kit.clip_weights import merge_lora, read_weights
from tests.clip_checkpoints import save_checkpoint, small_weights, with_lora
from tests.each_case import each_case
from tests.large_packages import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
TREATMENT = VARIANTS["pac-vit-b-32"].treatment


@pytest.fixture(scope="module")
def checkpoint_bytes(tmp_path_factory):
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small.pth").read_bytes()


class Server:
    """A web server with one answer, which counts the requests."""

    def __init__(self, body, status=200, content_type="application/octet-stream", stated=None, pause=0.0):
        self.n_requests = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.n_requests += 1
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

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/weights.pth"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Let the default variant come from an address, and be kept in a temporary folder."""

    def publish(url, **facts):
        variant = Variant("small", TREATMENT, url, **facts)
        monkeypatch.setitem(VARIANTS, "pac-vit-b-32", variant)
        monkeypatch.setattr(clip_downloads, "cached_weights_path", lambda name: tmp_path / name / WEIGHTS_NAME)
        (tmp_path / "pac-vit-b-32").mkdir()
        return tmp_path / "pac-vit-b-32"

    return publish


def test_every_variant_says_what_it_is():
    assert (
        list(VARIANTS)
        == """
        pac-vit-b-32 pac-openclip-vit-l-14 pac++-vit-b-32 pac++-vit-l-14 clip-vit-b-32 clip-vit-l-14 clip-vit-l-14-336
    """.split()
    )
    for name, variant in VARIANTS.items():
        assert variant.architecture in ("ViT-B/32", "ViT-L/14")
        assert variant.treatment.activation == ("gelu" if "openclip" in name else "quick_gelu")
        assert variant.source.startswith(("https://", "hub:"))


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


@each_case(
    ("given", "name"),
    [
        (None, "pac-vit-b-32"),
        ("default", "pac-vit-b-32"),
        ("vit-b-32", "pac-vit-b-32"),
        ("openclip-vit-l-14", "pac-openclip-vit-l-14"),
        ("pac++-vit-l-14", "pac++-vit-l-14"),
        ("clip-vit-b-32", "clip-vit-b-32"),
    ],
)
def test_short_names_of_variants(given, name):
    assert variant_name(given) == name


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match=r"variant: expected one of pac-vit-b-32, .*, got 'vit-b-16'\. For weights"):
        variant_name("vit-b-16")
    with pytest.raises(TypeError, match=r"^variant: expected a name, got list\. Give for example 'clip-vit-b-32'\."):
        variant_name(["clip-vit-b-32"])


def test_a_local_file_is_custom_and_hashed(tmp_path):
    path = save_checkpoint(tmp_path / "mine.pth")
    found = find_checkpoint(None, str(path), tqdm)
    assert found == (path, "custom", "mine.pth", hashlib.sha256(path.read_bytes()).hexdigest(), TREATMENT, None)
    assert find_checkpoint("openclip-vit-l-14", path, tqdm).treatment.activation == "gelu"


def test_a_known_file_is_named_whatever_it_is_given_as(tmp_path, monkeypatch):
    path = save_checkpoint(tmp_path / "pac.pth")
    plain = VARIANTS["clip-vit-b-32"]._replace(sha256=file_sha256(path))
    monkeypatch.setitem(VARIANTS, "clip-vit-b-32", plain)
    assert find_checkpoint("pac-vit-b-32", path, tqdm).variant == "clip-vit-b-32"


@each_case(
    "name",
    [
        "nowhere.pth",
        "a/b/c",
        "org/nowhere.safetensors",
        "./org/nowhere",
        "checkpoints/tiny-pac",
        "org/nowhere/",
        pathlib.Path("org/nowhere"),
    ],
)
def test_a_path_that_is_not_there_is_named_at_once(name, tmp_path, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as error:
        find_checkpoint(None, name, tqdm)
    assert str(error.value).startswith(
        f"checkpoint: expected a file, a folder or a Hub repository, got {str(name)!r}: no such folder or file, "
        f"relative paths start at {tmp_path}. Check the path"
    )
    assert asked == []


@pytest.mark.parametrize("name", ["/nowhere/clip", "~/nowhere"])
def test_an_absolute_path_that_is_not_there_starts_nowhere_else(name):
    with pytest.raises(ValueError, match=f"got '{name}': no such folder or file. Check the path.$"):
        find_checkpoint(None, name, tqdm)


@pytest.mark.parametrize("name", ["clip-vit-b-32", "openclip-vit-l-14", "pac++-vit-b-32"])
def test_the_name_of_a_variant_is_no_checkpoint(name, asked):
    with pytest.raises(ValueError) as error:
        find_checkpoint(None, name, tqdm)
    assert str(error.value) == (
        f"checkpoint: expected a file, a folder or a Hub repository, got '{name}', the name of published weights. "
        f"Give variant='{name}' and no checkpoint."
    )
    assert asked == []


def test_a_converted_file_says_how_to_use_it(tmp_path):
    source = save_checkpoint(tmp_path / "a.pth", with_lora(small_weights()))
    target = tmp_path / "b.safetensors"
    convert_checkpoint(source, target, {"activation": "gelu", "mean": [0.5] * 3, "std": [0.25] * 3})
    assert find_checkpoint(None, target, tqdm).treatment == ("gelu", (0.5,) * 3, (0.25,) * 3)
    expected = merge_lora(read_weights(source))
    converted = read_weights(target)
    assert converted.keys() == expected.keys()
    assert all(torch.equal(converted[name], tensor) for name, tensor in expected.items())
    assert [path.name for path in tmp_path.iterdir() if "incomplete" in path.name] == []


def test_a_folder_is_read_with_its_configuration(tmp_path):
    with pytest.raises(ValueError, match=f"checkpoint: expected {WEIGHTS_NAME} in the folder"):
        find_checkpoint(None, tmp_path, tqdm)
    facts = {"activation": "quick_gelu"}
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), tmp_path / WEIGHTS_NAME, facts)
    config = {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}
    (tmp_path / CONFIG_NAME).write_text(json.dumps(config))
    found = find_checkpoint("openclip-vit-l-14", tmp_path, tqdm)
    assert found.treatment == ("quick_gelu", (0.5,) * 3, (0.5,) * 3)
    (tmp_path / CONFIG_NAME).write_text("[]")
    with pytest.raises(ValueError, match=f"checkpoint: expected model_cfg and preprocess_cfg in {CONFIG_NAME}, got"):
        find_checkpoint(None, tmp_path, tqdm)


def test_a_damaged_safetensors_file_is_named(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(ValueError, match=r"expected a safetensors file, got x\.safetensors, which is not whole"):
        read_facts(tmp_path / "x.safetensors")


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


def test_a_hub_repository_is_used(hub):
    with pytest.raises(
        ValueError, match=f"checkpoint: expected {WEIGHTS_NAME} in the Hub repository org/clip, got none"
    ):
        find_checkpoint(None, "org/clip", tqdm)
    convert_checkpoint(save_checkpoint(hub / "a.pth"), hub / "model.safetensors", TREATMENT._asdict())
    for name in ("org/clip", "hub:org/clip"):
        found = find_checkpoint(None, name, tqdm)
        assert (found.path, found.variant, found.source) == (hub / "model.safetensors", "custom", "org/clip")


def test_a_variant_on_the_hub_keeps_its_name(hub, monkeypatch):
    convert_checkpoint(save_checkpoint(hub / "a.pth"), hub / WEIGHTS_NAME, TREATMENT._asdict())
    variant = VARIANTS["clip-vit-b-32"]._replace(source="hub:org/clip")
    monkeypatch.setitem(VARIANTS, "clip-vit-b-32", variant)
    assert find_checkpoint("clip-vit-b-32", None, tqdm).variant == "clip-vit-b-32"


@pytest.mark.usefixtures("hub")
def test_a_hub_that_refuses_is_quoted():
    expected = r"Hub repository org/other, got none, the Hub did not return it \(OSError: 401 Client Error: repository "
    with pytest.raises(ValueError, match=expected):
        find_checkpoint(None, "org/other", tqdm)


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(asked):
    with pytest.raises(ValueError, match="for a repository on the Hub write 'hub:models/clip'"):
        find_checkpoint(None, "models/clip", tqdm)
    with pytest.raises(ValueError, match="Hub repository models/clip, got none, the Hub did not return it"):
        find_checkpoint(None, "hub:models/clip", tqdm)
    assert [url.rsplit("/resolve/")[0] for url in asked] == ["https://huggingface.co/models/clip"]


FIND = """
import time
from tqdm import tqdm
from manycaps.kit.clip_checkpoints import find_checkpoint
for arguments in [(None, "org/kept"), (None, "org/clip"), ("clip-vit-b-32", None)]:
    start = time.monotonic()
    try:
        print(find_checkpoint(*arguments, tqdm).path)
    except ValueError as error:
        print(error)
    assert time.monotonic() - start < 5
"""


@pytest.mark.slow
def test_without_a_connection_the_cache_or_the_cause_comes_within_seconds(tmp_path):
    repository = tmp_path / "hub" / "models--org--kept"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    convert_checkpoint(save_checkpoint(tmp_path / "a.pth"), snapshot / WEIGHTS_NAME, TREATMENT._asdict())
    with socket.create_server(("127.0.0.1", 0)) as free:
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"  # closed by the time it is asked
    environment = os.environ | {"HF_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HF_ENDPOINT": endpoint}
    process = subprocess.run([sys.executable, "-c", FIND], env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "Retrying" not in process.stderr
    kept, *messages = process.stdout.splitlines()
    assert kept == str(snapshot / WEIGHTS_NAME)
    for message, name in zip(messages, ("org/clip", "timm/vit_base_patch32_clip_224.openai"), strict=True):
        start = f"checkpoint: expected the Hub repository {name}, got none, the Hub did not return it (ConnectError: "
        assert message.startswith(start)
        assert "Connection refused" in message


def test_a_download_is_checked_converted_and_kept(published, checkpoint_bytes):
    with Server(checkpoint_bytes) as server:
        folder = published(server.url)
        found = [find_checkpoint(None, None, tqdm) for _ in range(2)]
    assert server.n_requests == 1
    sha256 = hashlib.sha256(checkpoint_bytes).hexdigest()
    assert found[0] == found[1] == (folder / WEIGHTS_NAME, "pac-vit-b-32", server.url, sha256, TREATMENT, None)
    assert read_facts(found[0].path)["size"] == len(checkpoint_bytes)
    assert all(torch.equal(read_weights(found[0].path)[name], tensor) for name, tensor in small_weights().items())
    assert {path.name for path in folder.iterdir()} <= {WEIGHTS_NAME, "open_clip_model.lock"}


HTML = b"<!DOCTYPE html><html><head><title>Google Drive - Quota exceeded</title></head></html>"


@pytest.mark.parametrize(
    ("server", "facts", "got"),
    [
        ({"body": HTML, "content_type": "text/html"}, {}, "got a web page (Google Drive - Quota exceeded)"),
        ({"body": HTML}, {}, "got a web page (Google Drive - Quota exceeded), as for too many downloads"),
        ({"body": b"no", "status": 404}, {}, "got HTTP status 404 (Not Found)"),
        ({"body": b"PK\x03\x04" + b"0" * 96, "stated": 1000}, {}, "got 100 of 1000 bytes"),
        ({"body": b"PK\x03\x04"}, {"size": 5}, "got a file of 4 bytes instead of 5"),
        ({"body": b"PK\x03\x04"}, {"sha256": "0" * 64}, "instead of " + "0" * 64),
        ({"body": b"hello there"}, {}, "got application/octet-stream that begins with b'hello th'"),
        ({"body": b"PK\x03\x04"}, {}, "got a file that cannot be used. checkpoint: expected a file of tensors"),
    ],
)
def test_a_bad_answer_is_described_and_leaves_nothing(published, server, facts, got):
    with Server(**server) as running:
        folder = published(running.url, **facts)
        with pytest.raises(ValueError) as error:
            find_checkpoint(None, None, tqdm)
    message = str(error.value)
    assert message.startswith(f"checkpoint: expected the file of pac-vit-b-32 from {running.url}, got ")
    assert got in message
    assert message.endswith("give checkpoint='path/to/the/file.pth' beside your other options.")
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def test_a_refusal_says_how_to_give_a_file_that_one_has(published):
    with Server(b"no", status=403) as running:
        published(running.url)
        for attempt in (lambda: find_checkpoint(None, None, tqdm), lambda: clip_downloads.try_download("pac-vit-b-32")):
            with pytest.raises(ValueError) as error:
                attempt()
            assert str(error.value) == (
                f"checkpoint: expected the file of pac-vit-b-32 from {running.url}, got HTTP status 403 (Forbidden). "
                "The server refuses it, to browsers, too: give a copy that you have as "
                "checkpoint='path/to/the/file.pth' beside your other options, ask its authors for one, or choose "
                "another variant."
            )


def test_an_address_is_tried_without_a_download(published, checkpoint_bytes):
    with Server(checkpoint_bytes + bytes(1 << 24), pause=0.2) as running:
        folder = published(running.url)
        clip_downloads.try_download("pac-vit-b-32")
        assert running.n_requests == 1
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_a_web_page_at_an_address_that_is_tried_is_described(published):
    with Server(HTML, content_type="text/html") as running:
        published(running.url)
        with pytest.raises(ValueError, match="got a web page .*, as for too many downloads or missing permission"):
            clip_downloads.try_download("pac-vit-b-32")


def test_no_connection_is_described(published):
    published("http://127.0.0.1:9/weights.pth")
    with pytest.raises(ValueError, match="got no connection"):
        find_checkpoint(None, None, tqdm)


def test_offline_mode_asks_nobody(published, monkeypatch, checkpoint_bytes):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with Server(checkpoint_bytes) as server:
        published(server.url)
        with pytest.raises(ValueError, match="got HF_HUB_OFFLINE is set, so nothing was downloaded"):
            find_checkpoint(None, None, tqdm)
    assert server.n_requests == 0


FETCH = """
import sys
from tqdm import tqdm
from manycaps.kit.clip_checkpoints import find_checkpoint
from manycaps.kit.clip_variants import VARIANTS
VARIANTS["pac-vit-b-32"] = VARIANTS["pac-vit-b-32"]._replace(source=sys.argv[1])
print(find_checkpoint(None, None, tqdm).sha256)
"""


def start_fetch(url, home):
    environment = os.environ | {"HF_HOME": str(home), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", FETCH, url]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("nothing happened for a minute")


@pytest.mark.slow
def test_a_killed_download_leaves_nothing_that_looks_whole_and_two_processes_download_once(tmp_path, checkpoint_bytes):
    folder = tmp_path / "assets" / "manycaps" / "checkpoints" / "pac-vit-b-32"
    with Server(checkpoint_bytes, pause=0.1) as server:
        killed = start_fetch(server.url, tmp_path)
        wait_for((folder / "download.incomplete").exists)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert not (folder / WEIGHTS_NAME).exists()
        n_before = server.n_requests
        both = [start_fetch(server.url, tmp_path) for _ in range(2)]
        hashes = {process.communicate(timeout=120)[0].strip() for process in both}
    assert hashes == {hashlib.sha256(checkpoint_bytes).hexdigest()}
    assert server.n_requests == n_before + 1
    assert not (folder / "download.incomplete").exists()
