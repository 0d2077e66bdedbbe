"""`--option [MODULE.]NAME=VALUE`: one door, the same at every command that runs modules."""

import json

import pytest

from manycaps.catalog.module_options import DECIDED, assign_module_options, read_module_options
from manycaps.commands.command_line import main
from manycaps.kit.errors import InputError
from tests.comparison_cases import caption_rows, write_captions
from tests.refusals import assert_refused


def test_values_are_json_or_text():
    read = read_module_options(["a=1", "b=true", "c=de", "d=[1, 2]", "e=x=y", "m.f=", "a=2"])
    assert read == {"a": 2, "b": True, "c": "de", "d": [1, 2], "e": "x=y", "m.f": ""}
    assert read_module_options({"a": 1}) == {"a": 1}
    assert read_module_options(None) == {}


def test_what_is_given_for_one_module_is_stronger():
    given = {"meteor15.tokenizer": "none", "tokenizer": "zh-jieba", "language": "de"}
    assert assign_module_options(given, ["cider_d", "meteor15"]) == {
        "cider_d": {"tokenizer": "zh-jieba"},
        "meteor15": {"tokenizer": "none", "language": "de"},
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"langauge": "de"}, "--option langauge: expected an option of cider_d, got none of these. They have"),
        ({"meteor15.language": "de"}, "--option meteor15.language: expected an option of cider_d, got none of these"),
        ({"details": True}, "--option details: expected an option of cider_d, got one that the command decides itself"),
    ],
)
def test_an_option_that_no_module_has_is_refused(given, message):
    assert_refused(InputError, message, assign_module_options, given, ["cider_d"], DECIDED)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Captions of two systems and of people, in a folder that is the working one."""
    monkeypatch.chdir(tmp_path)
    return write_captions(tmp_path, caption_rows(24))


COMMANDS = {
    "compare": "compare base.jsonl repeating.jsonl -r references.jsonl --distance cider -m cider_d -f json",
    "plan": "plan base.jsonl -r references.jsonl --distance meteor --find 0.1 -f json",
    "decoding": "decoding base.jsonl repeating.jsonl -r references.jsonl --distance cider -f json",
    "diversity": "diversity base.jsonl repeating.jsonl --sets --output page.html -f json",
    "score": "score -m cider_d -i base.jsonl -r references.jsonl -o scores -f json",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_runs_modules_refuses_an_unknown_option(command, files, capsys):
    assert main([*COMMANDS[command].split(), "--option", "no_such=1"])
    error = " ".join(capsys.readouterr().err.split())
    assert "--option no_such: expected an option of" in error
    assert "They have" in error


@pytest.mark.parametrize(
    ("command", "option", "place"),
    [
        ("compare", "cider_d.tokenizer=none", ("signatures", "base", "cider_d")),
        ("compare", "human_parity.tokenizer=none", ("signatures", "base", "human_parity")),
        ("compare", "tokenizer=none", ("signatures", "base", "cider_d")),
        ("decoding", "human_parity.tokenizer=none", ("signature",)),
        ("score", "tokenizer=none", ("metrics", "cider_d", "signature")),
    ],
)
def test_every_command_gives_an_option_to_its_module(command, option, place, files, capsys):
    assert main([*COMMANDS[command].split(), "--option", option]) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    for name in place:
        found = found[name]
    assert "tokenizer:none" in found


def test_a_plan_takes_options_of_its_module(files, capsys):
    """Characters in place of words give other distances, and another plan."""
    plans = []
    for more in ((), ("--option", "tokenizer=char")):
        assert main([*COMMANDS["plan"].split(), *more]) == 0, capsys.readouterr().err
        plans.append(json.loads(capsys.readouterr().out))
    assert plans[0].keys() == plans[1].keys()
    assert plans[0] != plans[1]
