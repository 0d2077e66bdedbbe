"""A download of a model that breaks off, from a small hub on this machine: a clear error, and the next call works."""

import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from tests.oracles.tiny_sentence_model import save_tiny_model

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]

COMMIT = "0" * 39 + "1"

# Two calls in one process; the hub breaks off during the first, and is whole again when the file appears.
SCRIPT = """
import pathlib, sys
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
encoder, options = SentenceEncoder(), {**ENCODER_DEFAULTS, "encoder": "someone/tiny"}
try:
    encoder.embed(["a dog"], options, lambda steps, **_: steps)
except OSError as error:
    print("first:", error)
pathlib.Path(sys.argv[1]).touch()
print("second:", encoder.embed(["a dog", "a cat"], options, lambda steps, **_: steps).shape)
"""


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves one model; until `repaired` exists it breaks off in the middle of the weights and then refuses."""

    def answer(self, body, status=200, headers=(), sent=None):
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), ("X-Repo-Commit", COMMIT), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:sent])

    def do_GET(self):
        state, path = self.server.state, self.path.split("?")[0]
        if state["broken off"] and not state["repaired"].exists():
            self.answer(b"", 403)
        elif path.startswith("/api/models/someone/tiny/tree/"):
            files = [file for file in state["folder"].rglob("*") if file.is_file()]
            names = [(file.relative_to(state["folder"]).as_posix(), file.stat().st_size) for file in files]
            entries = [{"type": "file", "path": name, "size": size, "oid": COMMIT} for name, size in names]
            self.answer(json.dumps(entries).encode())
        elif path.startswith("/api/models/someone/tiny"):
            self.answer(json.dumps({"id": "someone/tiny", "sha": COMMIT, "siblings": []}).encode())
        else:
            self.answer_file(path.split("/", 5)[5])

    do_HEAD = do_GET

    def answer_file(self, name):
        state, file = self.server.state, self.server.state["folder"] / name
        if not file.is_file():
            self.answer(b"", 404, [("X-Error-Code", "EntryNotFound")])
            return
        body = file.read_bytes()
        tag = ("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        if first:
            state["resumed at"].append(first)
        if self.command == "GET" and name == "model.safetensors" and not state["repaired"].exists():
            state["broken off"] = True
            self.answer(body, headers=[tag], sent=len(body) // 2)
            self.close_connection = True
        else:
            self.answer(body[first:], 206 if first else 200, [tag])

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def hub(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    folder = save_tiny_model(tmp_path / "model" / "tiny")
    server.state = {"folder": folder, "repaired": tmp_path / "repaired", "broken off": False, "resumed at": []}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_download_that_breaks_off(hub, tmp_path):
    environment = {
        **os.environ,
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_address[1]}",
        "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-c", SCRIPT, str(hub.state["repaired"])]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False, cwd=ROOT)
    lines = run.stdout.splitlines()
    assert hub.state["broken off"], run.stderr
    assert len(lines) == 2, run.stderr
    assert lines[0].startswith(
        "first: encoder: expected the sentence-transformers model 'someone/tiny' from huggingface.co"
    )
    assert lines[0].endswith("HF_HUB_OFFLINE=1 allows the cache only.")
    assert lines[1] == "second: (2, 16)"
