"""Samples of a real server: `transformers serve` with a tiny chat model."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from manycaps.files.sampling_settings import sampling_settings
from manycaps.sampling import SampleOptions, sample
from manycaps.sampling.decoding_setting import Setting
from tests.tiny_models import save_image_chat, save_pictures

pytestmark = pytest.mark.slow

# Seconds within which a server must answer, on a busy machine.
PATIENCE = 180


@contextlib.contextmanager
def serve(model, log):
    """Start a server of one model, and yield its address."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    program = "import sys; from transformers.cli.transformers import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "serve", str(model), "--port", str(port), "--device", "cpu"]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        wait_for(f"http://localhost:{port}/health", process, log)
        yield f"http://localhost:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(address, process, log):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    raise AssertionError(log.read_text())


def test_a_server_of_transformers(tmp_path):
    model, source = save_image_chat(tmp_path / "model"), save_pictures(tmp_path / "photos", 3)
    # The model's own settings would give one caption again and again: they are not used.
    own = json.loads((model / "generation_config.json").read_text()) | {"temperature": 0.01, "top_k": 1}
    (model / "generation_config.json").write_text(json.dumps(own | {"do_sample": True}))
    with serve(model, tmp_path / "log.txt") as url:
        options = SampleOptions(
            str(model), [str(source)], tmp_path / "a.jsonl", n=4, url=url, prompt="what is the thing", timeout=60.0,
            setting=Setting(max_new_tokens=6), concurrency=1,
        )  # fmt: skip
        sample(options)
    rows = [json.loads(line) for line in options.output.read_text().splitlines()]
    assert [len(row["captions"]) for row in rows] == [4] * 3
    assert all(len(set(row["captions"])) > 1 for row in rows)
    assert sampling_settings(str(options.output))["dialect"] == "transformers"
