"""A server as the judge of two texts: every question once, answers kept in a file, killed and resumed."""

import collections
import copy
import itertools
import json
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import manycaps
from manycaps.sampling import SameMeaning
from tests.tools import ROOT
from tests.unit.sampling.test_server import KEY, completion, serve

# Captions of a row that mean the same begin with the same word.
ROWS = [["dog a", "dog b", "cat c"], ["dog b", "dog b", "man d"], ["cat c", "dog a", "dog e"]]


def texts_of(body):
    """Both texts of a request."""
    lines = body["messages"][-1]["content"].split("\n")[-2:]
    return tuple(json.loads(line.partition(": ")[2]) for line in lines)


def judge(body, _=1):
    first, second = texts_of(body)
    return completion("Yes." if first.split()[0] == second.split()[0] else "**no**, they differ")


def judge_of(server, folder, **changed):
    return SameMeaning(
        **{"url": server.url, "model": "my-lm", "cache": folder / "answers.jsonl", "retries": 1} | changed
    )


def different_answers(equivalent):
    module = manycaps.load("set_diversity", kernels=("ngram",), equivalent=equivalent, details=True)
    return module.compute(predictions=ROWS, references=ROWS[::-1])


def pairs_of_rows():
    return {pair for row in ROWS for pair in itertools.combinations(sorted(set(row)), 2)}


def test_set_diversity_asks_about_every_two_texts_once_in_the_order_of_the_alphabet(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serve(judge) as server:
        equivalent = judge_of(server, tmp_path)
        result = different_answers(equivalent)
        expected = different_answers(lambda first, second: first.split()[0] == second.split()[0])
        assert sorted(map(texts_of, server.requests)) == sorted(pairs_of_rows())
        assert all(request["temperature"] == 0 and request["key"] == f"Bearer {KEY}" for request in server.requests)
        # Neither a copy, another process, the other order, nor a text beside itself asks again.
        n_asked = len(server.requests)
        for again in (copy.deepcopy(equivalent), pickle.loads(pickle.dumps(equivalent)), judge_of(server, tmp_path)):
            assert [again("dog b", "dog a"), again("dog a", "cat c"), again("new", "new")] == [True, False, True]
        assert len(server.requests) == n_asked
    line = result.pop("signature")
    assert "equivalent:same_meaning(my-lm)" in line
    assert expected.pop("signature") == line.replace("same_meaning(my-lm)", "<lambda>")
    assert result == expected
    assert KEY not in (tmp_path / "answers.jsonl").read_text(encoding="utf-8")


PROGRAM = """
import itertools, sys
from manycaps.sampling import SameMeaning
judge = SameMeaning(url=sys.argv[1], model="my-lm", cache=sys.argv[2], concurrency=2)
print(judge.of_pairs(list(itertools.combinations([f"text {i}" for i in range(9)], 2))))
"""


def test_what_is_killed_resumes_and_no_question_is_answered_twice(tmp_path):
    """The server falls silent after 15 answers; what had not been answered is asked again, and nothing else."""
    answered, has_stopped = collections.Counter(), threading.Event()

    def until_it_stops(body, _):
        if len(answered) >= 15 and not has_stopped.is_set():
            has_stopped.set()
            threading.Event().wait(30)
        answered[texts_of(body)] += 1
        return judge(body)

    with serve(until_it_stops) as server:
        line = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path / "answers.jsonl")]
        with subprocess.Popen(line, cwd=ROOT) as process:
            assert has_stopped.wait(60)
            while len((tmp_path / "answers.jsonl").read_bytes().splitlines()) < 16:  # with the line of the settings
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        with (tmp_path / "answers.jsonl").open("ab") as file:
            file.write(b'{"texts": ["text 1", "te')
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[True] * 36}\n"
    assert len(answered) == 36
    assert sum(answered.values()) <= 37  # one was under way when the program was killed
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert lines[0]["model"] == "my-lm"
    assert sorted(tuple(row["texts"]) for row in lines[1:]) == sorted(answered)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (completion("perhaps"), "equivalent: expected yes or no for the texts 'a' and 'b', got 'perhaps'. Ask another"),
        (completion("yes or no"), "equivalent: expected yes or no for the texts 'a' and 'b', got 'yes or no'"),
        (completion("nobody knows"), "equivalent: expected yes or no for the texts 'a' and 'b', got 'nobody knows'"),
        ((500, "text/plain", "busy"), "--url: expected yes or no from .*, got status 500 (busy) for the texts 'a' and"),
        ((400, "text/plain", "filtered"), "--url: expected an answer for the texts 'a' and 'b', got a refusal: filter"),
        ((302, "text/plain", "", {"Location": "http://localhost:9/"}), "--url: expected yes or no from .* redirect"),
        ((200, "text/plain", "x" * (1 << 25)), "--url: expected yes or no from .* more than 16,777,216 bytes for the"),
    ],
)
def test_what_is_no_answer_names_the_pair_and_answers_before_it_are_kept(tmp_path, answer, message):
    with serve(lambda body, _: judge(body) if "a" not in texts_of(body) else answer) as server:
        equivalent = judge_of(server, tmp_path)
        assert equivalent("c", "d") is False
        with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
            equivalent("b", "a")
    assert len((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert judge_of(server, tmp_path)("d", "c") is False


def test_an_answer_may_follow_a_thought_and_end_in_words(tmp_path):
    texts = iter(["<think>Yes? Hmm.</think>\n\nNo.", "YES, both name no dog", '"No", since ...'])
    with serve(lambda body, _: completion(next(texts))) as server:
        equivalent = judge_of(server, tmp_path, concurrency=1)
        assert equivalent.of_pairs([("a", "b"), ("a", "c"), ("c", "b")]) == [False, True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my notes", "got another line at 1. Delete it, or name another file."),
        (b"my notes\n", "got another line at 1. Delete it, or name another file."),
        (b'{"model": "other"}\n', "with model 'other' instead of 'my-lm', question None instead of 'Do these"),
        (None, "got another line at 3. Delete it, or name another file."),
    ],
)
def test_a_file_of_something_else_is_named_and_left_as_it_is(tmp_path, content, message):
    path = tmp_path / "answers.jsonl"
    with serve(judge) as server:
        equivalent = judge_of(server, tmp_path)
        equivalent("a", "b")
        content = content or path.read_bytes() + b'{"texts": ["a"]}\n'
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"^cache: expected .*answers.jsonl', got .*|{message}") as raised:
            judge_of(server, tmp_path)("c", "d")
        assert message in str(raised.value)
    assert path.read_bytes() == content


def test_a_line_that_was_not_finished_is_deleted_and_an_odd_address_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with serve(judge) as server:
        for begun in (b"", b'{"model": "my-', path):
            path.write_bytes(begun if isinstance(begun, bytes) else path.read_bytes() + b'{"texts": ["x", "')
            assert judge_of(server, tmp_path)("dog\u2028x", "dog y") is True
        assert len(server.requests) == 2
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[1:-1]] == [
        {"texts": ["dog y", "dog\u2028x"], "same": True}
    ]
    with pytest.raises(ValueError, match="--url: expected the address of a server"):
        SameMeaning(url="localhost", model="my-lm", cache=path)
    with pytest.raises(TypeError, match="max_tokens: expected a whole number"):
        SameMeaning(url="http://localhost", model="my-lm", cache=path, max_tokens=1.5)
