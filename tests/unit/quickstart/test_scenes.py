"""The caption file of the quickstart: what is read, and every message of a file that cannot be."""

import ast
import json
import pathlib
import re
import textwrap

import pytest

from manycaps.quickstart.scenes import read_scenes
from tests.each_case import each_case

ROOT = pathlib.Path(__file__).resolve().parents[3]

GOOD = {"references": ["a dog", "the dog"], "systems": {"mine": ["a puppy"], "other": ["a cat", "an animal"]}}


def scene(**changes):
    return {**GOOD, **changes}


def write(path, scenes):
    path.write_text(json.dumps({"scenes": scenes}), encoding="utf-8")
    return path


def test_the_bundled_sample_is_read_as_it_is():
    path = ROOT / "manycaps" / "quickstart" / "captions.json"
    assert read_scenes(path) == json.loads(path.read_text(encoding="utf-8"))["scenes"]


def test_the_help_and_the_site_show_a_file_that_is_read(tmp_path):
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    [shown] = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "a.json").write_text(shown)
    assert [scene["scene"] for scene in read_scenes(tmp_path / "a.json")] == ["beach", "kitchen"]
    source = (ROOT / "manycaps" / "commands" / "quickstart.py").read_text("utf-8")
    assert textwrap.indent(shown, "    ") in ast.get_docstring(ast.parse(source))


def test_names_and_more_keys_are_optional_and_order_does_not_matter(tmp_path):
    second = {"scene": "beach", "url": 3, **GOOD, "systems": dict(reversed(GOOD["systems"].items()))}
    assert read_scenes(write(tmp_path / "a.json", [GOOD, second])) == [GOOD, second]


@each_case(
    ("content", "message"),
    [
        (None, ": expected a JSON file, got PATH (No such file or directory). Write {"),
        (b"\xff", ": expected a JSON file, got PATH ('utf-8' codec can't decode byte 0xff in position 0: invalid"),
        (b'{"scenes":\n[}', ": expected a JSON file, got PATH (Expecting value: line 2 column 2 (char 12)). Write {"),
        (b"[" * 100_000, ": expected a JSON file, got PATH (brackets nested too deeply). Write {"),
        (b"[]", ': expected an object with the key "scenes", got list ([]). Write {'),
        (b'{"captions": []}', ': expected an object with the key "scenes", got an object with the keys captions. Wri'),
        (b'{"scenes": {}}', ", scenes: expected a list of scenes, got an empty object. Write {"),
    ],
)
def test_files_of_another_kind(tmp_path, content, message):
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((ValueError, TypeError)) as error:
        read_scenes(path)
    assert str(error.value).startswith(f"{path}{message.replace('PATH', repr(str(path)))}")


@each_case(
    ("kind", "scenes", "message"),
    [
        (ValueError, [], "scenes: expected at least 2 scenes, got 0. Add images with captions."),
        (ValueError, [GOOD], "scenes: expected at least 2 scenes, got 1. Add images with captions."),
        (TypeError, [GOOD, "beach"], "scenes[1]: expected an object with references and systems, got str (beach)."),
        (
            ValueError,
            [GOOD, {"scene": "beach", "systems": {}}],
            'scenes[1] (beach): expected the key "references", got an object with the keys scene, systems. Write {',
        ),
        (ValueError, [{"references": ["a"]}, GOOD], 'scenes[0]: expected the key "systems", got an object with the'),
        (
            TypeError,
            [scene(systems=["a dog"]), GOOD],
            "scenes[0], systems: expected an object from names to captions, got list (['a dog']). Write {",
        ),
        (ValueError, [scene(systems={}), GOOD], "scenes[0], systems: expected at least one system, got none. Add the"),
        (TypeError, [scene(references=None), GOOD], "scenes[0], references: expected a list of captions, got None."),
        (
            TypeError,
            [scene(references="a dog"), GOOD],
            "scenes[0], references: expected a list of captions, got a string. Wrap it in a list: ['a dog'].",
        ),
        (
            TypeError,
            [GOOD, scene(references=["a dog", 3])],
            "scenes[1], references[1]: expected a caption (a string), got int (3). Decode or drop this caption.",
        ),
        (
            ValueError,
            [scene(references=[]), GOOD],
            "scenes[0], references: expected at least one caption, got an empty list. Add captions.",
        ),
        (
            ValueError,
            [GOOD, scene(systems={"mine": [], "other": ["a cat"]})],
            "scenes[1], systems.mine: expected at least one caption, got an empty list. Add captions.",
        ),
        (
            ValueError,
            [GOOD, scene(systems={"mine": ["a cat", "\ud83d"], "other": ["a cat"]})],
            "scenes[1], systems.mine[1]: expected valid Unicode, got the lone surrogate '\\ud83d' at character 0.",
        ),
        (
            ValueError,
            [GOOD, scene(scene="beach", systems={"mine": ["a puppy"], "theirs": ["a cat"]})],
            "scenes[1] (beach), systems: expected those of the first scene, mine, other, got mine, theirs. Give every",
        ),
        (
            ValueError,
            [scene(references=["a dog"]), GOOD],
            "scenes[0], systems.mine: expected at least 3 captions with the references, got 2. Add captions.",
        ),
        (
            ValueError,
            [GOOD, scene(references=["a dog"] * 13, systems={"mine": ["a puppy"] * 13, "other": ["a cat"]})],
            "scenes[1], systems.mine: expected at most 1,000,000 splits into candidates and references, got 10,400,600 "
            "of 13 + 13 captions. Leave captions out.",
        ),
    ],
)
def test_a_wrong_scene_is_named_with_its_key(tmp_path, kind, scenes, message):
    path = write(tmp_path / "a.json", scenes)
    with pytest.raises(kind) as error:
        read_scenes(path)
    assert str(error.value).startswith(f"{path}, {message}")
