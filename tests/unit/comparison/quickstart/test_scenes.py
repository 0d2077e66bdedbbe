"""The quickstart: what it reads and runs, and every message of a file that cannot be read."""

import ast
import csv
import json
import re
import textwrap
import types

import numpy as np
import pytest

from manycaps.commands.command_line import main
from manycaps.commands.quickstart import SAMPLE
from manycaps.comparison.quickstart import comparison
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.comparison.read import ScoredSystem, SystemRow
from manycaps.comparison.significance import AgainstPeople
from manycaps.kit.errors import quote_path
from tests.comparison_cases import compared_systems
from tests.tools import ROOT

GOOD = {"references": ["a dog", "the dog"], "systems": {"mine": ["a puppy"], "other": ["a cat", "an animal"]}}


def scene(**changes):
    return {**GOOD, **changes}


def test_the_help_and_the_site_show_a_file_that_is_read(tmp_path):
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    [shown] = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "a.json").write_text(shown)
    assert [scene["scene"] for scene in read_scenes(tmp_path / "a.json")] == ["beach", "kitchen"]
    source = (ROOT / "manycaps" / "commands" / "quickstart.py").read_text("utf-8")
    assert textwrap.indent(shown, "    ") in ast.get_docstring(ast.parse(source))


def test_names_and_more_keys_are_optional_and_order_does_not_matter(tmp_path):
    second = {"scene": "beach", "url": 3, **GOOD, "systems": dict(reversed(GOOD["systems"].items()))}
    (tmp_path / "a.json").write_bytes(scenes(GOOD, second))
    assert read_scenes(tmp_path / "a.json") == [GOOD, second]


def scenes(*given):
    return json.dumps({"scenes": given}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, ": expected a JSON file, got PATH (No such file or directory). Write {"),
        (b"[]", ': expected an object with the key "scenes", got list ([]). Write {'),
        (b'{"scenes": {}}', ", scenes: expected a list of scenes, got an empty object. Write {"),
        (scenes(GOOD), ", scenes: expected at least 2 scenes, got 1. Add images with captions."),
        (scenes(GOOD, "beach"), ", scenes[1]: expected an object with references and systems, got str (beach)."),
        (scenes(GOOD, {"scene": "beach", "systems": {}}), ', scenes[1] (beach): expected the key "references", got a'),
        (
            scenes(GOOD, scene(scene="beach", systems={"mine": ["a puppy"], "theirs": ["a cat"]})),
            ", scenes[1] (beach), systems: expected the systems of the first scene, mine, other, got mine, theirs.",
        ),
    ],
)
def test_files_of_another_kind(tmp_path, content, message):
    assert_refused(tmp_path / "a.json", content, message)


# Changes of a scene that are refused, with the message from the key on; messages about captions are every module's.
WRONG = {
    TypeError: [
        ({"systems": ["a dog"]}, "systems: expected an object from names to captions, got list (['a dog']). Write {"),
        ({"references": "a dog"}, "references: expected a list of captions, got a string. Wrap it in a list: ['a"),
        ({"references": ["a dog", 3]}, "references[1]: expected a caption (a string), got int (3). Decode or drop"),
    ],
    ValueError: [
        ({"systems": {}}, "systems: expected at least one system, got none. Add the"),
        ({"systems": {"mine": [], "other": ["a cat"]}}, "systems.mine: expected at least one caption, got an empty l"),
        ({"references": ["a dog"]}, "systems.mine: expected at least 3 captions with the references, got 2. Add"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "changes", "message"), [(kind, *case) for kind, cases in WRONG.items() for case in cases]
)
def test_a_wrong_scene_is_named_with_its_key(tmp_path, kind, changes, message):
    for place, given in enumerate(((scene(**changes), GOOD), (GOOD, scene(**changes)))):
        assert_refused(tmp_path / "a.json", scenes(*given), f", scenes[{place}], {message}", kind)


def assert_refused(path, content, message, kind=(ValueError, TypeError)):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(kind) as error:
        read_scenes(path)
    assert str(error.value).startswith(f"{path}{message.replace('PATH', quote_path(path))}")


def test_captions_of_your_own_are_scored_alone(tmp_path, monkeypatch, capsys):
    report = comparison.SystemsReport("the table", [tmp_path / "one", tmp_path / "two"])
    asked = []
    monkeypatch.setattr(comparison, "compare_systems", lambda captions, *_, **__: asked.append(captions) or report)
    monkeypatch.setattr(comparison, "compare_image_metrics", lambda output: asked.append("made world") or report)
    monkeypatch.setattr(comparison, "missing_image_packages", lambda: asked.append("packages") or [])
    own = tmp_path / "own.json"
    assert main(["quickstart", "--captions", str(own)]) == 0
    assert asked == [own]
    assert main(["quickstart"]) == 0
    assert asked == [own, SAMPLE, "packages", "made world"]
    assert capsys.readouterr().out.count("the table") == 3


@pytest.mark.parametrize(("n_references", "n_files"), [(1, 2), (2, 3)])
def test_captions_of_your_own_are_compared_with_people_where_scenes_have_two_references(
    tmp_path, n_references, n_files
):
    systems = {"a/b": ["a puppy", "a dog"], "other": ["a cat", "an animal"]}
    given = [scene(references=["a dog", "the dog"][:n], systems=systems) for n in (n_references, 2)]
    (tmp_path / "own.json").write_bytes(scenes(*given))
    report = comparison.compare_systems(tmp_path / "own.json", tmp_path / "results")
    assert (comparison.NO_PEOPLE in report.text) == (n_references == 1)
    assert "a/b" in report.text
    assert "TRM-METEOR" in report.text
    assert all(path.is_file() for path in report.files)
    assert len(report.files) == n_files


@pytest.mark.parametrize(
    ("means", "names"), [([0.5, 0.3, 0.4], "'a'"), ([0.3, 0.5, 0.5], "'b' and 'c'"), ([0.5], "'a'")]
)
def test_systems_that_are_equally_good_are_all_named_first(means, names):
    systems = dict(zip("abc", np.array(means)[:, None] + [-0.1, 0.1], strict=False))
    scored = [ScoredSystem(name, {"meteor": rows}, {}) for name, rows in systems.items()]
    result = compared_systems(scored, [SystemRow(str(i), {}) for i in range(2)])
    assert comparison.explain(result) == f"Plain METEOR puts {names} first."


def test_files_of_the_user_are_not_replaced_by_the_sample(tmp_path, capsys):
    mine = tmp_path / "references.jsonl"
    mine.write_text("mine", encoding="utf-8")
    assert main(["quickstart", "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"--output: expected a folder without files of your own, got {quote_path(mine)}. Choose another folder.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["references.jsonl"]
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_name_that_begins_like_a_formula_is_text_in_the_table(tmp_path):
    names = ["=1+1", "+a", "-a", "@a", "\ta", "a=b", "mine, 2"]
    numbers = {"module": "trm_meteor", "title": "TRM-METEOR"} | dict.fromkeys(
        ("statistic", "excess", "ci_low", "ci_high", "z", "p_value", "smallest_p_value"), -0.5
    )
    result = types.SimpleNamespace(
        systems=names,
        metrics={"meteor": types.SimpleNamespace(systems={name: {"mean": -0.5} for name in names})},
        against_people=[AgainstPeople(system=name, **numbers) for name in names],
    )
    comparison.write_csv(tmp_path / "table.csv", result)
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == ["'=1+1", "'+a", "'-a", "'@a", "'\ta", "a=b", "mine, 2"]
    assert {cell for row in rows for cell in row[1:]} == {"-0.5"}
