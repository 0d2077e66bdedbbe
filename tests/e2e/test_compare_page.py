"""The demo page of the comparison, as its Space holds it: files, example, report, messages, and nothing else opened."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from scripts.repository import push_to_hub
from tests.comparison_cases import caption_rows, write_captions

# Seconds within which the page must be there.
PATIENCE = 180


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of the page, started from the files of its Space, away from the repository."""
    gradio_client = pytest.importorskip("gradio_client", reason="gradio is not installed: pip install gradio")
    folder = tmp_path_factory.mktemp("space")
    files = push_to_hub.space_files(push_to_hub.space_folders()["compare"])
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(folder / "uploads"), "OMP_NUM_THREADS": "1"}
    environment |= {"HF_HOME": str(folder / "cache"), "PYTHONPATH": str(folder), "HF_EVALUATE_OFFLINE": "1"}
    with (folder / "log").open("w") as log:
        page = subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            assert page.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE).close()
                break
            except OSError:
                time.sleep(0.5)
        yield gradio_client.Client(f"http://127.0.0.1:{port}/", verbose=False)
    finally:
        page.terminate()
        page.wait()


def compared(client, *files, references=None, metric="CIDEr-D and TRM-CIDEr"):
    from gradio_client import handle_file

    given = [handle_file(file) if file else None for file in [*files, None, None, None][:3]]
    return client.predict(*given, handle_file(references) if references else None, metric, api_name="/compute")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_captions(tmp_path_factory.mktemp("captions"), caption_rows())


def test_compares_two_and_three_systems(client, files):
    said, report = compared(client, files["base"], files["repeating"], references=files["references"])
    assert "| base |" in said
    assert re.search(r"- .*repeating", said)
    page = pathlib.Path(report).read_text(encoding="utf-8")
    assert "Rows in which repeating and base differ most" in page
    said, _ = compared(client, files["base"], files["repeating"], files["other"], references=files["references"])
    assert "| other |" in said


def test_nothing_that_a_file_names_is_opened(client, tmp_path):
    """An image in a column would be shown on the report, if it were opened."""
    from PIL import Image

    Image.new("RGB", (40, 40)).save(tmp_path / "secret.png")
    paths = []
    for name in ("a", "b"):
        image = str(tmp_path / "secret.png")
        rows = [
            {"id": i, "captions": [f"a dog {i}", "a cat"], "references": ["a dog", f"cat {i}"], "image": image}
            for i in range(3)
        ]
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    _, report = compared(client, *map(str, paths))
    assert "<img" not in pathlib.Path(report).read_text(encoding="utf-8")


def test_messages(client, files, tmp_path):
    from gradio_client.exceptions import AppError

    many = tmp_path / "many.jsonl"
    many.write_text("".join(json.dumps({"id": i, "captions": ["a dog"]}) + "\n" for i in range(501)), encoding="utf-8")
    other = tmp_path / "other.jsonl"
    other.write_bytes(many.read_bytes())
    for given, message in (
        ((files["base"],), "systems: expected two files or three, got 1. Upload the captions of another."),
        ((files["base"], files["other"]), "references: expected captions of people for every row, got none."),
        ((str(many), str(other)), "systems: expected at most 500 rows on this page, got 501."),
        ((str(many), files["base"]), "expected the rows of"),
    ):
        with pytest.raises(AppError, match=re.escape(message)):
            compared(client, *given)
