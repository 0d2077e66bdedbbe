"""Servers of chat completions: well-behaved ones of each dialect, and hostile ones."""

import base64
import collections
import contextlib
import http.server
import io
import json
import re
import threading
import time

import numpy as np
import PIL.Image
import pytest

from manycaps.sampling import SampleOptions, sample
from manycaps.sampling.captions_file import sampling_settings
from manycaps.sampling.decoding_setting import Setting
from tests.each_case import each_case
from tests.refusals import assert_refused
from tests.tiny_models import save_pictures, save_prompts

KEY = "sk-secret-of-a-test"


class FakeServer:
    """A server whose answers are those of a function of the request and of its number among equal ones.

    The function returns the status, the content type and the body; None closes the connection in the middle of one.
    """

    def __init__(self, answer):
        self.requests, self._answer, self._counts = [], answer, collections.Counter()
        self._lock = threading.Lock()

    def handle(self, request):
        content = request.rfile.read(int(request.headers["Content-Length"]))
        body = json.loads(content)
        with self._lock:
            self.requests.append({**body, "key": request.headers["Authorization"]})
            self._counts[content] += 1
            number = self._counts[content]
        made = self._answer(body, number)
        status, kind, text = made or (200, "application/json", '{"choices": [{"mess')
        with contextlib.suppress(OSError):
            request.send_response(status)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(text.encode()) + (100 if made is None else 0)))
            request.send_header("Retry-After-Ms", "5")
            request.end_headers()
            request.wfile.write(text.encode())


@contextlib.contextmanager
def serving(answer):
    server = FakeServer(answer)
    handler = type("Handler", (http.server.BaseHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler.do_POST = lambda request: server.handle(request)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        server.url = f"http://localhost:{listening.server_port}/v1"
        yield server
        listening.shutdown()


def completion(*texts):
    choices = [{"index": i, "message": {"role": "assistant", "content": text}} for i, text in enumerate(texts)]
    return 200, "application/json", json.dumps({"id": "1", "object": "chat.completion", "choices": choices})


def echo(body, number=1):
    """Answer with as many samples as were asked for, each with its seed."""
    return completion(*(f"{body['messages'][-1]['content']} {body['seed']} {i}" for i in range(body.get("n", 1))))


def refusing(*fields):
    """A server that takes none of these fields."""
    return lambda body, _: (422, "application/json", '{"error": "unknown"}') if {*fields} & {*body} else echo(body)


def options_for(url, tmp_path, **changed):
    prompts = save_prompts(tmp_path / "prompts.jsonl", 4)
    given = {"n": 3, "url": url, "retries": 2, "timeout": 5.0, "concurrency": 2, **changed}
    return SampleOptions("my-lm", [str(prompts)], tmp_path / "a.jsonl", **given)


def rows_of(options):
    return [json.loads(line) for line in sample(options).read_text(encoding="utf-8").splitlines()]


def check_whole(rows, n=3):
    assert [row["id"] for row in rows] == ["q0", "q1", "q2", "q3"]
    texts = [text for row in rows for text in row["captions"]]
    assert [len(row["captions"]) for row in rows] == [n] * 4
    assert len(set(texts)) == len(texts)


@each_case(
    ("fields", "dialect", "sent"),
    [
        ((), "vllm", {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "temperature": 0.7, "top_p": 0.9}),
        (("top_k",), "transformers", {"temperature": 0.7, "max_tokens": 64}),
        (("top_k", "generation_config"), "openai", {"temperature": 0.7, "top_p": 0.9}),
        (("top_k", "generation_config", "n"), "openai", {"temperature": 0.7}),
    ],
)
def test_every_dialect(tmp_path, monkeypatch, fields, dialect, sent):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(refusing(*fields)) as server:
        options = options_for(server.url, tmp_path, setting=Setting(0.7, top_p=0.9), system="be brief")
        check_whole(rows_of(options))
    last = server.requests[-1]
    assert {name: last[name] for name in sent} == sent
    assert last["messages"][0] == {"role": "system", "content": "be brief"}
    assert last["key"] == f"Bearer {KEY}"
    if dialect == "transformers":
        assert json.loads(last["generation_config"])["top_k"] == 0
    written = (tmp_path / "a.jsonl.settings").read_text()
    assert sampling_settings(str(tmp_path / "a.jsonl"))["dialect"] == dialect
    assert KEY not in written


def test_fewer_samples_than_asked_for(tmp_path):
    with serving(lambda body, _: echo({**body, "n": 1})) as server:
        check_whole(rows_of(options_for(server.url, tmp_path)))
    assert len({request["seed"] for request in server.requests}) >= 12


def test_an_image_is_sent_with_its_pixels(tmp_path):
    photos = save_pictures(tmp_path / "photos", 1)
    with serving(lambda body, _: completion(*["a dog"] * body.get("n", 1))) as server:
        options = SampleOptions(
            "my-vlm", [str(photos)], tmp_path / "a.jsonl", n=2, url=server.url, prompt="what is it?"
        )
        assert rows_of(options) == [{"id": "0.png", "captions": ["a dog", "a dog"]}]
    image, text = server.requests[-1]["messages"][0]["content"]
    assert text == {"type": "text", "text": "what is it?"}
    content = base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))
    sent, own = (np.asarray(PIL.Image.open(file)) for file in (io.BytesIO(content), photos / "0.png"))
    assert (sent == own).all()


def slow(body, number):
    if number == 1:
        time.sleep(1.5)
    return echo(body)


# What a server does at the first attempt of every request, before it answers.
ONCE = {
    "busy": lambda body, n: (429, "application/json", '{"error": "slow down"}') if n == 1 else echo(body),
    "slow": slow,
    "cut": lambda body, n: None if n == 1 else echo(body),
    "html": lambda body, n: (200, "text/html", "<html>welcome</html>") if n == 1 else echo(body),
    "half_json": lambda body, n: (200, "application/json", '{"choices": [') if n == 1 else echo(body),
    "no_text": lambda body, n: completion(None) if n == 1 else echo(body),
}


@each_case("fault", ONCE)
def test_a_fault_that_passes_loses_nothing(tmp_path, fault):
    with serving(ONCE[fault]) as server:
        timeout = 0.7 if fault == "slow" else 5.0
        check_whole(rows_of(options_for(server.url, tmp_path, timeout=timeout)))


@each_case(
    ("answer", "got"),
    [
        (lambda *_: (429, "application/json", "{}"), r"status 429 \(.*\)"),
        (lambda *_: (401, "application/json", json.dumps({"error": f"wrong key {KEY}"})), r"status 401 \(.*\*\*\*.*\)"),
        (lambda *_: (200, "text/html", "<html>welcome</html>"), "no text in '<html>welcome</html>'"),
        (lambda *_: (200, "application/json", "{"), r"an answer that cannot be read \(\w+\)"),
        (lambda *_: None, ".*"),
    ],
)
def test_a_fault_that_stays_is_named(tmp_path, monkeypatch, answer, got):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(answer) as server, pytest.raises(ValueError) as raised:
        sample(options_for(server.url, tmp_path, retries=1))
    pattern = rf"--url: expected samples from {server.url}, got {got} after 1 retries\. Check the server, --model and "
    assert re.match(pattern, str(raised.value))
    assert KEY not in str(raised.value)


def test_finished_rows_are_kept_when_a_server_goes_down(tmp_path):
    def first_rows(body, _):
        return echo(body) if len(body["messages"][-1]["content"].split()) < 3 else (500, "text/plain", "oops")

    with serving(first_rows) as server, pytest.raises(ValueError, match="the same command resumes"):
        sample(options_for(server.url, tmp_path, retries=0))
    kept = (tmp_path / "a.jsonl.partial").read_bytes()
    assert [json.loads(line)["id"] for line in kept.splitlines()] == ["q0", "q1"]
    with serving(echo) as again:
        settings = json.loads((tmp_path / "a.jsonl.settings").read_text())
        (tmp_path / "a.jsonl.settings").write_text(json.dumps({**settings, "url": again.url}))
        check_whole(rows_of(options_for(again.url, tmp_path, retries=0)))
    assert (tmp_path / "a.jsonl").read_bytes().startswith(kept)
    assert len({request["messages"][-1]["content"] for request in again.requests}) == 3


@each_case(
    ("changed", "message"),
    [
        ({"setting": Setting(greedy=True)}, "--url: expected options of sampling, got greedy."),
        ({"setting": Setting(top_k=5)}, "--url: expected a server that takes a chat, got a refusal: it takes neither"),
    ],
)
def test_messages(tmp_path, changed, message):
    with serving(refusing("top_k", "generation_config")) as server:
        assert_refused(ValueError, message, lambda: sample(options_for(server.url, tmp_path, **changed)))


def test_requests_run_side_by_side(tmp_path):
    both = threading.Barrier(2, timeout=5)

    def together(body, _):
        if body.get("n", 1) > 1:
            both.wait()
        return echo(body)

    with serving(together) as server:
        check_whole(rows_of(options_for(server.url, tmp_path)))
