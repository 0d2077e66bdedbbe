"""Servers of chat completions: well-behaved ones of each dialect, and hostile ones."""

import base64
import codecs
import collections
import contextlib
import dataclasses
import gzip
import http.server
import io
import json
import re
import shlex
import threading
import time

import numpy as np
import PIL.Image
import pytest

from manycaps.commands.command_line import main
from manycaps.files.sampling_settings import sampling_settings
from manycaps.sampling import SameMeaning, SampleOptions, sample
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.run import items_of, load_sampler
from tests.refusals import assert_refused
from tests.tiny_models import save_pictures, save_prompts

KEY = "sk-secret-of-a-test"


class FakeServer:
    """A server that answers by a function of the request and of its number among equal ones.

    The function returns the status, the content type and the body, and headers if any; a generator of pieces in place
    of a body is sent as it comes, and None closes the connection in the middle of one.
    """

    def __init__(self, answer):
        self.requests, self.answer, self._counts = [], answer, collections.Counter()
        self._lock = threading.Lock()

    def handle(self, request):
        content = request.rfile.read(int(request.headers["Content-Length"]))
        body = json.loads(content)
        with self._lock:
            self.requests.append({**body, "key": request.headers["Authorization"], "path": request.path})
            self.requests[-1]["cookie"] = request.headers["Cookie"]
            self._counts[content] += 1
            number = self._counts[content]
        made = self.answer(body, number)
        status, kind, text, *headers = made or (200, "application/json", '{"choices": [{"mess')
        content = text.encode() if isinstance(text, str) else text
        with contextlib.suppress(OSError):
            request.send_response(status)
            request.send_header("Content-Type", kind)
            for name, value in {"Retry-After-Ms": "5", **(headers[0] if headers else {})}.items():
                request.send_header(name, value)
            if isinstance(content, bytes):
                request.send_header("Content-Length", str(len(content) + (100 if made is None else 0)))
            request.end_headers()
            for piece in [content] if isinstance(content, bytes) else content:
                request.wfile.write(piece)
            request.close_connection = True


@contextlib.contextmanager
def serve(answer):
    server = FakeServer(answer)
    handler = type("Handler", (http.server.BaseHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler.do_POST = lambda request: server.handle(request)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, args=[0.01], daemon=True).start()
        server.url = f"http://localhost:{listening.server_port}/v1"
        yield server
        listening.shutdown()


def completion(*texts):
    choices = [{"index": i, "message": {"role": "assistant", "content": text}} for i, text in enumerate(texts)]
    return 200, "application/json", json.dumps({"id": "1", "object": "chat.completion", "choices": choices})


def echo(body, number=1):
    """Answer with as many samples as were asked for, each with its seed."""
    return completion(*(f"{body['messages'][-1]['content']} {body['seed']} {i}" for i in range(body.get("n", 1))))


def refusal_of(*fields):
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


@pytest.mark.parametrize(
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
    with serve(refusal_of(*fields)) as server:
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
    with serve(lambda body, _: echo({**body, "n": 1})) as server:
        check_whole(rows_of(options_for(server.url, tmp_path)))
    assert len({request["seed"] for request in server.requests}) >= 12


def test_an_image_is_sent_with_its_pixels(tmp_path):
    photos = save_pictures(tmp_path / "photos", 1)
    with serve(lambda body, _: completion(*["a dog"] * body.get("n", 1))) as server:
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
        time.sleep(0.6)
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


@pytest.mark.parametrize("fault", ONCE)
def test_a_fault_that_passes_loses_nothing(tmp_path, monkeypatch, fault):
    monkeypatch.setattr("manycaps.sampling.server_requests.FIRST_PAUSE", 0.01)
    with serve(ONCE[fault]) as server:
        timeout = 0.4 if fault == "slow" else 5.0
        check_whole(rows_of(options_for(server.url, tmp_path, timeout=timeout)))


def reply(*answer):
    """A server that answers so, whatever it is asked."""
    return lambda *_: answer


def json_body(text):
    return reply(200, "application/json", text)


def drip(*_):
    def pieces():
        for _ in range(100):
            time.sleep(0.1)
            yield b" "

    return 200, "application/json", pieces()


def gzip_reply(content):
    return reply(200, "application/json", content, {"Content-Encoding": "gzip"})


ENDLESS = (b" " * (1 << 20) for _ in range(10_000))
DEEP = '{"choices":' + "[" * 200_000 + "]" * 200_000 + "}"
NO_TEXT = ("5", "null", "[1]", '{"choices": 5}', '{"choices": "abc"}', '{"choices": {"a": 1}}', '{"choices": true}')
NO_TEXT += ('{"choices": [1.5, null, "x", [], {}]}', '{"choices": [{"message": "hello"}]}', '{"error": "overloaded"}')
NO_TEXT += ('{"choices": [{"message": {"content": 5}}]}',)
FILTERED = '{"choices": [{"message": {"content": "a"}, "finish_reason": "content_filter"}]}'

# What a server does with every request, and what the message says of it: with "after 1 retry" where there was one.
FAULTS = {
    "busy": (reply(429, "application/json", "{}"), r"status 429 \(Too Many Requests\) after 1 retry"),
    "long_wait": (
        reply(429, "a/b", "", {"Retry-After-Ms": "x", "Retry-After": "1000"}),
        "status 429 .*, and .* 1,000 s",
    ),
    "no_end_of_waiting": (
        reply(429, "a/b", "", {"Retry-After-Ms": "x", "Retry-After": "1" * 300}),
        "status 429 .*, and .* more than a day",
    ),
    "down": (reply(500, "text/plain", "oops"), r"status 500 \(oops\) for row 'q0' after 1 retry"),
    "escapes": (reply(500, "text/plain", "\x1b[31mred\u202e"), r"status 500 \(Internal Server Error\) for row"),
    "wrong_key": (reply(401, "text/plain", f"wrong key {KEY}"), r"status 401 \(Unauthorized\)(?! after)"),
    "unknown_model": (reply(404, "text/plain", f"no model {KEY}"), r"status 404 \(no model \[\.\.\.\]\)"),
    "json": (
        reply(404, "a/b", '{"error": {"message": "The model `m` does not exist", "type": "NotFoundError"}}'),
        r"status 404 \(The model m does not exist NotFoundError\)",
    ),
    "redirect": (
        reply(307, "a/b", "", {"Location": "//u:p@else:1/a?k=p"}),
        "a redirect .* to another host, which is not",
    ),
    "redirect_to_a_file": (reply(302, "a/b", "", {"Location": "file:///etc/passwd"}), "a redirect .* another scheme,"),
    "redirect_to_a_path": (
        reply(308, "a/b", "", {"Location": f"/{KEY}"}),
        r"a redirect .* to http://localhost \(another path\), which is not",
    ),
    "html": (
        reply(200, "text/html", "<html>"),
        r"no JSON in an answer of 6 bytes: html \(.*\) for row 'q0' after 1 retry",
    ),
    "half": (json_body("{"), r"no JSON in an answer of 1 bytes \("),
    "nothing": (reply(204, "a/b", ""), "no JSON in an answer of 0 bytes"),
    "not_utf8": (json_body(b'{"choices": "\xff"}'), "no JSON in .*codec can't decode"),
    "deep": (json_body(DEEP), r"no JSON in .* \(brackets nested too deeply\)"),
    "large_number": (json_body("9" * 10_000), "no JSON in "),
    "filtered": (json_body(FILTERED), "no text in "),
    "closed": (lambda *_: None, "an answer that broke off"),
    "slow": (lambda *_: time.sleep(1), r"no whole answer within 0\.3 s"),
    "drips": (drip, r"no whole answer within 0\.3 s .* after 1 retry"),
    "endless": (json_body(ENDLESS), "an answer of more than 16,777,216 bytes for row"),
    "bomb": (gzip_reply(gzip.compress(b" " * (1 << 26))), "an answer of more than 16,777,216 bytes for row"),
    "no_gzip": (gzip_reply("no gzip"), "an answer that cannot be decompressed"),
    "brotli": (reply(200, "a/b", "", {"Content-Encoding": "br"}), "an answer in the encoding br,"),
    "unknown_encoding": (reply(200, "a/b", "", {"Content-Encoding": KEY}), "an answer in an unknown encoding,"),
    "long_header": (
        reply(200, "a/b", "", {"X": "a" * 200_000}),
        "an answer that is not HTTP, or whose headers are too long",
    ),
} | {text: (json_body(text), "no text in ") for text in NO_TEXT}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_named_in_bounded_time_and_memory(tmp_path, monkeypatch, capsys, fault):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("manycaps.sampling.server_requests.FIRST_PAUSE", 0.01)
    answer, got = FAULTS[fault]
    timeout = "0.3" if fault in ("slow", "drips") else "20"
    save_prompts(tmp_path / "prompts.jsonl", 2)
    with serve(answer) as server:
        line = ["sample", "--url", server.url, "--model", "m", str(tmp_path / "prompts.jsonl"), "--retries", "1"]
        start = time.monotonic()
        assert main([*line, "--timeout", timeout, "-o", str(tmp_path / "a.jsonl")]) == 2
        assert time.monotonic() - start < 10
    message = capsys.readouterr().err
    pattern = rf"--url: expected samples from {server.url}, got {got}.*\. Check the server, --model and OPENAI_API_KEY;"
    assert re.match(pattern, message), message
    assert KEY not in message
    assert not [letter for letter in message if not (letter == "\n" or " " <= letter <= "~")]
    assert not list(tmp_path.glob("a.jsonl*"))


def test_finished_rows_are_kept_when_a_server_goes_down(tmp_path):
    def first_rows(body, _):
        return echo(body) if len(body["messages"][-1]["content"].split()) < 3 else (500, "text/plain", "oops")

    with serve(first_rows) as server, pytest.raises(ValueError, match="the same command resumes"):
        sample(options_for(server.url, tmp_path, retries=0))
    kept = (tmp_path / "a.jsonl.partial").read_bytes()
    assert [json.loads(line)["id"] for line in kept.splitlines()] == ["q0", "q1"]
    with serve(echo) as again:
        settings = json.loads((tmp_path / "a.jsonl.settings").read_text())
        (tmp_path / "a.jsonl.settings").write_text(json.dumps({**settings, "url": again.url}))
        check_whole(rows_of(options_for(again.url, tmp_path, retries=0)))
    assert (tmp_path / "a.jsonl").read_bytes().startswith(kept)
    assert len({request["messages"][-1]["content"] for request in again.requests}) == 3


def text_of(body):
    return str(body["messages"][-1]["content"])


# Texts of a server, and the captions that are written.
ODD_TEXTS = {
    "": ".", " \n\t\u00a0": ".", "\u200b\u200d\ufeff": ".", "\x00": ".", "half \ud83d": "half \ufffd",
    "\U0001f415": "\U0001f415",
    "a\u2028b\u2029c\x85d\x0be\x1cf": "a\u2028b\u2029c\x85d\x0be\x1cf",
    "a\r\nb\x1b[31m": "a\r\nb\x1b[31m",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gzip"])
def test_odd_texts_are_written_as_they_are(tmp_path, encoding):
    body = completion(*ODD_TEXTS)[2]
    if encoding == "gzip":
        answer = gzip_reply(gzip.compress(body.encode()))
    else:
        answer = reply(200, "text/plain; charset=zzz", body.encode(encoding))
    with serve(answer) as server:
        options = options_for(server.url, tmp_path, n=len(ODD_TEXTS), retries=0)
        lines = sample(options).read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["captions"] for line in lines] == [list(ODD_TEXTS.values())] * 4


# Answers that are odd, and yet have samples.
ODD_ANSWERS = {
    "more_than_asked_for": lambda body, _: echo({**body, "n": 7}),
    "nan": json_body('{"choices": [{"message": {"content": "a"}}], "created": NaN}'),
    "a_key_twice": json_body('{"choices": [], "choices": [{"message": {"content": "a"}}]}'),
    "no_type": lambda body, _: (200, "", echo(body)[2]),
    "a_cookie": lambda body, _: (*echo(body), {"Set-Cookie": "a=b"}),
    "some_without_text": lambda body, _: completion(*[None, "a", "b"][-body.get("n", 1) :]),
} | {
    wait: lambda body, n, wait=wait: (429, "a/b", "", {"Retry-After-Ms": wait}) if n == 1 else echo(body)
    for wait in ("-5", "nan", "inf", "soon")
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_an_odd_answer_has_samples(tmp_path, monkeypatch, name):
    monkeypatch.setattr("manycaps.sampling.server_requests.FIRST_PAUSE", 0.01)
    with serve(ODD_ANSWERS[name]) as server:
        rows = rows_of(options_for(server.url, tmp_path))
    assert [len(row["captions"]) for row in rows] == [3] * 4
    assert {request["cookie"] for request in server.requests} == {None}


@pytest.mark.parametrize(("key", "sent_key"), [(f" {KEY}\r\n", KEY), (f"{KEY}\n", KEY), ("", None), (" ", None)])
def test_the_key_is_stripped(tmp_path, monkeypatch, key, sent_key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serve(echo) as server:
        check_whole(rows_of(options_for(server.url, tmp_path)))
    assert {request["key"] for request in server.requests} == {sent_key and f"Bearer {sent_key}"}


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}\u00e9", f"{KEY}\x1b", f"{KEY}\u200b"])
def test_a_key_that_no_header_takes_is_not_shown(tmp_path, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ValueError, match="^OPENAI_API_KEY: expected printable ASCII") as raised:
        sample(options_for("http://localhost:1/v1", tmp_path))
    assert KEY not in str(raised.value)


def test_secrets_of_the_address_are_sent_and_never_written(tmp_path):
    def answer(body, _):
        return echo(body) if text_of(body) == "what" else (500, "text/plain", "user:pa%20ss pa ss api-secret")

    with serve(answer) as server:
        secret = server.url.replace("//", "//user:pa%20ss@") + "?api_key=api-secret"
        with pytest.raises(ValueError, match=re.escape(server.url)) as raised:
            sample(options_for(secret, tmp_path, retries=0))
    assert {request["key"] for request in server.requests} == {"Basic dXNlcjpwYSBzcw=="}
    assert {request["path"] for request in server.requests} == {"/v1/chat/completions?api_key=api-secret"}
    assert sampling_settings(str(tmp_path / "a.jsonl"))["url"] == server.url
    written = b"".join(path.read_bytes() for path in tmp_path.glob("a.jsonl*")).decode() + str(raised.value)
    assert not [word for word in ("user", "pa ss", "pa%20ss", "api-secret", "api_key") if word in written]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://a/v1",
        "http://",
        "http://[::1",
        "http://user:pass@[::1",
        "http://a:b:c/",
        "http://a:0",
    ],
)
def test_an_address_that_is_none(tmp_path, url):
    message = "--url: expected the address of a server, such as http://localhost:8000/v1, got something else."
    assert_refused(ValueError, message, options_for, url, tmp_path)


def unpadded(text):
    return base64.b64encode(text.encode()).decode().rstrip("=")


# Forms in which a server may repeat the key that it was sent.
REPEATED = {
    "as it is": KEY,
    "base64": base64.b64encode(KEY.encode()).decode(),
    "with its scheme": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "unpadded": unpadded(KEY),
    "shifted": unpadded(f"x{KEY}"),
    "shifted twice": unpadded(f"xy{KEY}"),
    "for addresses": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "base32": base64.b32encode(KEY.encode()).decode(),
    "base85": base64.b85encode(KEY.encode()).decode(),
    "unicode": "".join(f"\\u{ord(letter):04x}" for letter in KEY),
    "percent": "".join(f"%{ord(letter):02X}" for letter in KEY),
    "entities": "".join(f"&#{ord(letter)};" for letter in KEY),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal pairs": KEY.encode().hex(" "),
    "decimal": " ".join(str(ord(letter)) for letter in KEY),
    "binary": " ".join(f"{ord(letter):b}" for letter in KEY),
    "reversed": KEY[::-1],
    "letters": " ".join(KEY),
    "halves": f"{KEY[:9]} {KEY[9:]}",
    "pieces": " ".join(KEY[i : i + 3] for i in range(0, len(KEY), 3)),
    "words": KEY.replace("-", " "),
    "capitals": KEY.upper(),
    "rotated": codecs.encode(KEY, "rot13"),
}

# Where it may stand.
PLACES = {
    "text": lambda text: (500, "text/plain", f"wrong key {text}"),
    "refusal": lambda text: (400, "text/plain", f"your key is {text} is it not"),
    "fields": lambda text: (500, "a/b", json.dumps({"error": {"message": text, "type": text, "code": [text]}})),
    "no JSON": lambda text: (200, "a/b", f"the key {text}"),
    "no text": lambda text: (200, "a/b", json.dumps({"detail": f"the key {text}"})),
    "redirect": lambda text: (302, "a/b", "", {"Location": f"http://{text.replace(' ', '.')[:60]}/{text}"}),
    "header": lambda text: (200, "a/b", "", {"Content-Encoding": text}),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_key_that_a_server_repeats_in_any_form_is_not_shown(tmp_path, monkeypatch, capsys, place):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    save_prompts(tmp_path / "prompts.jsonl", 2)
    for form, text in REPEATED.items():
        with serve(lambda *_, text=text: PLACES[place](text)) as server:
            line = ["sample", "--url", server.url, "--model", "m", str(tmp_path / "prompts.jsonl"), "--retries", "0"]
            assert main([*line, "-o", str(tmp_path / "a.jsonl")]) == 2
        message = capsys.readouterr().err.replace(server.url, "").casefold()
        assert not [part for part in text.casefold().split() if len(part) > 3 and part in message], (form, message)
        # No run of five characters of it, together or apart.
        pieces = [text[i : i + 5].casefold() for i in range(len(text) - 4) if " " not in text[i : i + 5]]
        apart = re.sub(r"[^a-z0-9]", "", text.casefold())
        pieces += [apart[i : i + 6] for i in range(len(apart) - 5)]
        shown = message + re.sub(r"[^a-z0-9]", "", message)
        assert not [piece for piece in pieces if piece in shown], (form, message)


# Addresses that no library takes, and some of which a part would pass for the host.
ODD_HOSTS = (
    "user:PASSWORD@ho\u2100st user:PASSWORD@[::1 user:PASSWORD@xn--a user:PASSWORD@a..b me:PASS/WORD@h me:PA?WORD@h"
)
ODD_HOSTS += f" me:12/PASSWORD@h me:12?PASSWORD@h me:1#PASSWORD@h me:PASSWORD@{'a' * 70} me:PASSWORD@h:99999999"


@pytest.mark.parametrize("host", ODD_HOSTS.split())
@pytest.mark.parametrize("command", ["sample", "decoding"])
def test_an_odd_address_is_refused_and_none_of_it_shown(tmp_path, capsys, command, host):
    prompts = str(save_prompts(tmp_path / "prompts.jsonl", 2))
    line = [command, "--url", f"http://{host}/v1", "--model", "m", prompts, "-n", "2", "-o", str(tmp_path / "o")]
    people = [json.dumps({"id": f"q{i}", "captions": ["a dog", "a cat", "two dogs"]}) for i in range(2)]
    (tmp_path / "people.jsonl").write_text("\n".join(people))
    line += ["-r", str(tmp_path / "people.jsonl"), "--temperature", "0.5,1"] if command == "decoding" else []
    assert main(line) == 2
    message = capsys.readouterr().err
    assert message.startswith(
        "--url: expected the address of a server, such as http://localhost:8000/v1, got something"
    )
    assert "WORD" not in message
    assert "12" not in message
    with pytest.raises(ValueError, match="^--url: expected the address of") as raised:
        SameMeaning(url=f"http://{host}/v1", model="m", cache=tmp_path / "answers.jsonl")("a", "b")
    assert "WORD" not in str(raised.value)


def test_options_that_are_printed_have_no_address(tmp_path):
    assert "PASSWORD" not in repr(options_for("http://user:PASSWORD@host/v1", tmp_path))


@pytest.mark.parametrize(
    ("variable", "proxy", "got"),
    [
        ("http_proxy", "http://user:pass@[::1", "something else"),
        ("http_proxy", "socks5://user:pass@a:1", "a SOCKS proxy"),
        ("all_proxy", "socks5h://user:pass@a:1", "a SOCKS proxy"),
        ("http_proxy", "nonsense://user:pass@x", "something else"),
        ("http_proxy", "http://user:pass@ho\u2100st", "something else"),
        ("http_proxy", "http://", "something else"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(tmp_path, monkeypatch, variable, proxy, got):
    monkeypatch.setenv(variable, proxy)
    message = f"{variable}: expected the address of an HTTP proxy, such as http://localhost:8080, got {got}. Unset"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as raised:
        sample(options_for("http://nowhere.invalid/v1", tmp_path, retries=0))
    assert "pass" not in str(raised.value)


@pytest.mark.parametrize("proxy", ["http://user:pass@localhost:1", "user:pass@localhost:1", "localhost:1"])
def test_a_proxy_is_asked_and_its_password_not_shown(tmp_path, monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    message = "^--url: expected samples from http://nowhere.invalid/v1, got no connection: Connection refused"
    with pytest.raises(ValueError, match=message) as raised:
        sample(options_for("http://nowhere.invalid/v1", tmp_path, retries=0))
    assert "pass" not in str(raised.value)


def filter_of(*refused, status=400):
    """A server that refuses some prompts."""
    return lambda body, _: (status, "text/plain", "filtered") if text_of(body) in refused else echo(body)


def test_a_refused_row_is_skipped_and_tried_again(tmp_path, capsys):
    with serve(filter_of("what", "what is the", status=403)) as server:
        options = options_for(server.url, tmp_path, on_error="skip", retries=0)
        assert [row["id"] for row in rows_of(options)] == ["q1", "q3"]
        # Refusals of single rows turn nothing off: three samples are still asked for at once.
        assert [request.get("n") for request in server.requests if text_of(request) == "what is the dog"] == [3]
        errors = [json.loads(line) for line in (tmp_path / "a.jsonl.errors").read_text().splitlines()]
        message = "--url: expected samples of 'q0', got a refusal: filtered."
        assert errors[0] == {"id": "q0", "error": message}
        assert [error["id"] for error in errors] == ["q0", "q2"]
        shown = f"{options.output}: 2 of 4 rows have no samples, and {options.output}.errors says why; the same command"
        assert shown in capsys.readouterr().err
        # The rows that there are stay where they are while others are tried again, and after that fails.
        before = options.output.read_bytes()
        server.answer = lambda *_: (401, "text/plain", "no")
        assert_refused(ValueError, ".*status 401", sample, options)
        assert options.output.read_bytes() == before
        server.answer = echo
        assert [row["id"] for row in rows_of(options)] == ["q1", "q3", "q0", "q2"]
        assert options.output.read_bytes().startswith(before)
        assert sorted(path.name for path in tmp_path.glob("a.jsonl*")) == ["a.jsonl", "a.jsonl.settings"]
        sample(options)
    assert "complete, nothing to do" in capsys.readouterr().err


def test_the_command_that_tries_rows_again_is_printed_without_password_and_key(tmp_path, capsys):
    prompts, output = save_prompts(tmp_path / "prompts.jsonl", 4), str(tmp_path / "a b.jsonl")
    with serve(filter_of("what", "what is the", status=403)) as server:
        url = server.url.replace("//", "//me:secret-word@") + "?api_key=sk-1"
        line = ["sample", str(prompts), "-n", "3", "--model", "my-lm", f"--url={url}", "--retries", "0"]
        assert main([*line, "--on-error", "skip", "--rest", "-o", output]) == 0
        printed = capsys.readouterr().err
        assert "secret-word" not in printed
        assert "sk-1" not in printed
        command = re.search("; this tries them again: manycaps (.*)", printed)[1]
        assert shlex.split(command) == [
            *("sample", str(prompts), "-n", "3", "--model", "my-lm", f"--url={server.url}", "--retries", "0"),
            *("--on-error", "skip", "-o", output),
        ]
        server.answer = echo
        assert main(shlex.split(command)) == 0
    assert len((tmp_path / "a b.jsonl").read_text().splitlines()) == 4


def test_a_row_that_stops_a_run_names_the_way_on(tmp_path):
    with serve(filter_of("what is")) as server:
        message = "--url: expected samples of 'q1', got a refusal: filtered. --on-error skip leaves out such rows.$"
        assert_refused(ValueError, message, sample, options_for(server.url, tmp_path))
    assert [json.loads(line)["id"] for line in (tmp_path / "a.jsonl.partial").read_text().splitlines()] == ["q0"]


def test_a_damaged_picture_is_skipped(tmp_path):
    photos = save_pictures(tmp_path / "photos", 3)
    (photos / "0.png").write_bytes(b"no picture")
    given = {"n": 2, "prompt": "what is it?", "on_error": "skip"}
    with serve(lambda body, _: completion(*["a dog"] * body.get("n", 1))) as server:
        options = SampleOptions("my-vlm", [str(photos)], tmp_path / "a.jsonl", url=server.url, **given)
        assert [row["id"] for row in rows_of(options)] == ["1.png", "2.png"]
    (error,) = map(json.loads, (tmp_path / "a.jsonl.errors").read_text().splitlines())
    assert re.match(".*0.png: expected an image", error["error"])


def test_a_server_that_is_down_is_no_error_of_rows(tmp_path):
    def go_down(body, _):
        return echo(body) if text_of(body) == "what" else (500, "text/plain", "down")

    save_prompts(tmp_path / "many.jsonl", 40)
    with serve(go_down) as server:
        options = options_for(server.url, tmp_path, on_error="skip", retries=0)
        options = dataclasses.replace(options, sources=[str(tmp_path / "many.jsonl")])
        assert_refused(ValueError, ".*status 500.* 20 rows in succession have failed", sample, options)
    (tmp_path / "b").mkdir()
    message = ".*, got no connection: Connection refused"
    assert_refused(ValueError, message, sample, options_for(server.url, tmp_path / "b", on_error="skip", retries=0))


def test_all_rows_that_fail_are_an_error(tmp_path):
    with serve(lambda body, _: (400, "a/b", "no") if "n" in body or body["seed"] else echo(body)) as server:
        message = "source: expected rows that can be sampled, got errors alone. .*a.jsonl.errors says why."
        assert_refused(ValueError, message, sample, options_for(server.url, tmp_path, on_error="skip"))


def test_answers_without_json_wait_as_busy_servers_do(tmp_path, monkeypatch):
    pauses = []

    async def asleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("manycaps.sampling.server_requests.asyncio.sleep", asleep)
    with serve(json_body("<html>")) as server, pytest.raises(ValueError, match="after 5 retries"):
        sample(options_for(server.url, tmp_path, retries=5))
    expected = [0.5, 1, 2, 4, 8]
    assert all(0.75 * most <= pause <= most for pause, most in zip(pauses, expected, strict=True))


def test_large_answers_are_asked_for_in_parts(tmp_path):
    with serve(echo) as server:
        check_whole(rows_of(options_for(server.url, tmp_path, setting=Setting(max_new_tokens=100_000), n=12)), n=12)
    assert max(request.get("n", 1) for request in server.requests) == 10


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"setting": Setting(greedy=True)}, "--url: expected options of sampling, got greedy."),
        ({"setting": Setting(num_beams=4)}, "--url: expected options of sampling, got beams4."),
        ({"setting": Setting(diverse=0.5)}, "--url: expected options of sampling, got diverse0.5."),
        ({"setting": Setting(top_k=5)}, "--url: expected a server that takes a chat, got a refusal: it takes neither"),
        ({"setting": Setting(min_p=0.1)}, "--url: expected a server that takes a chat, got a refusal: it takes neith"),
    ],
)
def test_settings_that_a_server_does_not_have(tmp_path, changed, message):
    with serve(refusal_of("top_k", "generation_config")) as server:
        assert_refused(ValueError, message, lambda: sample(options_for(server.url, tmp_path, **changed)))
    assert not [request for request in server.requests if not {"top_k", "generation_config"} & {*request}]


def test_a_dialect_takes_all_settings_of_a_comparison(tmp_path):
    with serve(refusal_of("top_k", "generation_config")) as server:
        options = options_for(server.url, tmp_path)
        load_sampler(options, items_of(options), [Setting(0.5), Setting(2.0)])
        message = "--url: expected a server that takes a chat, got a refusal: it takes neither --top-k nor --min-p."
        assert_refused(ValueError, message, load_sampler, options, items_of(options), [Setting(), Setting(top_k=5)])


def test_ctrl_c_waits_for_no_answer(tmp_path, monkeypatch):
    def first(body, _):
        return echo(body) if text_of(body) == "what" else time.sleep(30)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("manycaps.sampling.captions_file.CaptionsFile.add", interrupt)
    with serve(first) as server:
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            sample(options_for(server.url, tmp_path, timeout=60.0))
        assert time.monotonic() - start < 10


def test_requests_run_side_by_side(tmp_path):
    both = threading.Barrier(2, timeout=5)

    def together(body, _):
        if body.get("n", 1) > 1:
            both.wait()
        return echo(body)

    with serve(together) as server:
        check_whole(rows_of(options_for(server.url, tmp_path)))
