"""`manycaps decoding`: from a model, within a budget, and from files; its screen, page and messages."""

import argparse
import json

import numpy as np
import pytest

from manycaps.catalog.command_options import add_options, options_of
from manycaps.commands.command_line import main
from manycaps.sampling.answers import Sample
from manycaps.sampling.decoding import DecodingOptions
from manycaps.sampling.decoding.decoding_options import SettingGrid
from manycaps.sampling.decoding.run import plan_of
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import RowError
from tests.refusals import assert_refused
from tests.tiny_models import save_pictures
from tests.tiny_pipelines import WORDS, save_captioner

pytestmark = pytest.mark.usefixtures("undrawn_plots")

N_ROWS = 30

OF_TESTS = ("-n", "3", "--max-new-tokens", "8", "--distance", "meteor", "--n-resamples", "199")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A captioner, pictures, human captions of all but two, and samples of three temperatures."""
    folder = tmp_path_factory.mktemp("decoding")
    save_captioner(folder / "model")
    save_pictures(folder / "photos", N_ROWS + 2)
    rng = np.random.default_rng(0)
    people = [[" ".join(rng.choice(WORDS[6:], 5)) for _ in range(4)] for _ in range(N_ROWS)]
    lines = [json.dumps({"id": f"{i}.png", "references": row}) + "\n" for i, row in enumerate(people)]
    (folder / "references.jsonl").write_text("".join(lines))
    assert main(model_line(folder, folder / "out", "--temperature", "0.5,1,2", "--greedy")) == 0
    return folder


def model_line(folder, output, *options):
    rows = [str(folder / "model"), str(folder / "photos"), "-r", str(folder / "references.jsonl"), "-o", str(output)]
    return ["decoding", *rows, *OF_TESTS, *options]


def test_the_screen_the_page_and_the_numbers(folder, capsys, tmp_path, drawn_plots):
    before = {path.name: path.read_bytes() for path in (folder / "out" / "samples").iterdir()}
    assert main(model_line(folder, folder / "out", "--temperature", "0.5,1,2", "--greedy")) == 0
    # A second run samples nothing.
    assert {path.name: path.read_bytes() for path in (folder / "out" / "samples").iterdir()} == before
    names = ["t0.5", "t1", "t2", "greedy"]
    assert sorted(before) == sorted(f"{name}.jsonl{end}" for name in names for end in ("", ".settings"))
    printed = capsys.readouterr()
    left_out = "2 of 32 rows have fewer than two references (id '30.png', ...): they are left out.\n"
    assert printed.err.count(left_out) == 1
    screen = printed.out
    _, header, *lines = screen.split("\n\n")[0].splitlines()
    assert header.split("  ")[0] == "setting"
    assert {line.split()[0] for line in lines} == {*names, "people"}
    assert lines[0].endswith("best")
    for said in ("Most human-like: ", "human-like is not the same as good", "On 15 others it has p "):
        assert said in " ".join(screen.split())
    numbers = json.loads((folder / "out" / "decoding.json").read_text())
    assert set(numbers["settings"]) == set(names)
    # Human captions of 30 of the 32 pictures.
    assert all(result["n_rows"] == 30 for result in numbers["settings"].values())
    assert set(numbers["plain"]) == {*names, "people"}
    assert numbers["decoding"]["t0.5"]["temperature"] == 0.5
    assert lines[0].startswith(numbers["best"])
    page = (folder / "out" / "index.html").read_text()
    for said in ("unsupported", "near-duplicates", "energy distance", "METEOR", "CIDEr-D", "people", "temperature"):
        assert said in page
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org", "")


def test_files_give_the_same_answer(folder, capsys, tmp_path):
    # Only these rows: files of samples and references must have the same.
    kept = [f"{i}.png" for i in range(N_ROWS)]
    files = [folder / "out" / "samples" / f"{name}.jsonl" for name in ("t0.5", "t1", "t2", "greedy")]
    assert [json.loads(line)["id"] for line in files[0].read_text().splitlines()] == sorted(kept)
    line = ["decoding", *map(str, files), "-r", str(folder / "references.jsonl"), "-o", str(tmp_path / "out")]
    assert main([*line, "--distance", "meteor", "--n-resamples", "199", "-f", "json"]) == 0
    mine, other = json.loads(capsys.readouterr().out), json.loads((folder / "out" / "decoding.json").read_text())
    assert mine["settings"] == other["settings"]
    assert mine["decoding"] == other["decoding"]
    assert (mine["best"], mine["p_value"]) == (other["best"], other["p_value"])


def test_a_budget_is_kept_and_tests_on_rows_of_its_own(folder, capsys, tmp_path):
    line = model_line(folder, tmp_path / "out", "--temperature", "0.5,1,2,4", "--budget", "110")
    assert main([*line, "-f", "json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    files = {path.name: path.read_text().splitlines() for path in (tmp_path / "out" / "samples").glob("*.jsonl")}
    assert sum(map(len, files.values())) <= 110
    (half,) = numbers["halves"]
    tested = {json.loads(line)["id"] for line in files[f"{numbers['best']}.test.jsonl"]}
    choosing = {json.loads(line)["id"] for name, lines in files.items() if ".test" not in name for line in lines}
    assert half["result"]["n_rows"] == len(tested) == 15
    assert tested.isdisjoint(choosing)
    assert half["n_chosen"] == numbers["settings"][numbers["best"]]["n_rows"]


def test_a_plan_shares_the_budget_out():
    plan = plan_of(1_000, 8, 1_200, 0)
    assert (plan.n_rounds, plan.n_a_round, len(plan.testing), len(plan.choosing)) == (3, 300, 300, 700)
    assert set(plan.testing).isdisjoint(plan.choosing)
    message = "--budget: expected at least 321 rows for 8 settings, got 300. Give more"
    assert_refused(ValueError, message, plan_of, 1_000, 8, 300, 0)


def test_every_combination_is_a_setting():
    parser = argparse.ArgumentParser()
    add_options(parser, SettingGrid)
    line = "--temperature 0.5,1 --top-p 0.9,1 --top-k 5 --num-beams 4 --diverse 0.5 --greedy"
    settings = options_of(parser.parse_args(line.split()), SettingGrid).settings()
    assert [setting.name for setting in settings] == [
        *("t0.5-p0.9-k5", "t1-p0.9-k5", "t0.5-k5", "t1-k5", "beams4", "diverse0.5", "greedy")
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"files": ["a.jsonl"]}, "settings: expected two or more that differ, got a.jsonl."),
        ({"settings": [Setting(), Setting()]}, "settings: expected two or more that differ, got t1, t1."),
        ({"files": ["a", "b"], "budget": 9}, "--budget: expected a model to sample, got files of samples. Leave it o"),
        ({"files": ["a", "b"], "distance": "far"}, "--distance: expected one of 'bert', 'meteor', 'meteor15', 'cider'"),
    ],
)
def test_messages_of_options(tmp_path, given, message):
    assert_refused(ValueError, message, DecodingOptions, ["r.jsonl"], tmp_path, **given)


def test_messages_about_rows(folder, tmp_path, capsys):
    assert main(model_line(folder, tmp_path / "a", "--temperature", "0.5,1", "--stems")) == 2
    assert "--references: expected ids that the source has, such as '0', got none of" in capsys.readouterr().err
    assert main(model_line(folder, tmp_path / "b", "--temperature", "0.5,1", "--limit", "12")) == 1
    assert "rows: expected 20 or more with references, half of them to choose" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.jsonl"))


class StandIn:
    """Samples captions of odd characters, and fails at one row of one setting."""

    facts = {"model": "stand-in"}  # noqa: RUF012

    def check(self, item):
        """Take every item."""

    def samples(self, items, setting, n, seed, finished=()):
        rng = np.random.default_rng([seed, round(100 * setting.temperature)])
        for item in items:
            texts = [Sample("\u2028".join(rng.choice(WORDS[6:], 3)) + "\x85b\u2029c\x1d") for _ in range(n)]
            yield [
                (item.id, RowError("row", "texts", "none") if (item.id, setting.name) == ("7.png", "t0.5") else texts)
            ]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [[], ["--budget", "54"]])
def test_samples_with_line_separators_and_a_row_that_one_setting_lacks(folder, tmp_path, monkeypatch, capsys, budget):
    monkeypatch.setattr("manycaps.sampling.decoding.run.load_sampler", lambda *_: StandIn())
    line = model_line(folder, tmp_path / "out", "--temperature", "0.5,1", "--on-error", "skip", *budget, "-f", "json")
    for _ in range(2):  # the second run reads what the first has written
        assert main(line) == 0
        numbers = json.loads(capsys.readouterr().out)
        rows = {result["n_rows"] for result in numbers["settings"].values()}
        assert len(rows) == 1
        assert budget or rows == {N_ROWS - 1}
    for path in (tmp_path / "out" / "samples").glob("*.jsonl"):
        rows = map(json.loads, path.read_text().split("\n")[:-1])
        assert all("\u2028" in text for row in rows for text in row["captions"])


@pytest.mark.parametrize("name", ["people", "People"])
def test_a_setting_named_as_people_is_refused(folder, tmp_path, capsys, name):
    content = (folder / "out" / "samples" / "t1.jsonl").read_text()
    files = [tmp_path / f"{name}.jsonl", tmp_path / "other.jsonl"]
    for file in files:
        file.write_text(content)
    line = ["decoding", *map(str, files), "-r", str(folder / "references.jsonl"), "-o", str(tmp_path / "out")]
    assert main([*line, "--distance", "meteor"]) == 1
    assert f"{name!r}, which stands for the human captions in the answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ("", "rows that all files have: manycaps compare --common-rows."),
        ('{"id": "one", "references": ["a dog"]}\n', "id 'one'): manycaps compare --common-rows leaves them out."),
    ],
)
def test_samples_without_references_are_named_with_the_command_that_leaves_them_out(
    folder, tmp_path, capsys, references, message
):
    files, content = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], (folder / "out" / "samples" / "t1.jsonl").read_text()
    for file in files:
        file.write_text(content + '{"id": "one", "captions": ["a dog", "a cat", "a cow"]}\n')
    (tmp_path / "references.jsonl").write_text((folder / "references.jsonl").read_text() + references)
    line = ["decoding", *map(str, files), "-r", str(tmp_path / "references.jsonl"), "-o", str(tmp_path / "out")]
    assert main([*line, "--distance", "meteor"]) == 1
    assert message in capsys.readouterr().err


def test_settings_beside_a_file_that_are_none(folder, tmp_path, capsys):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        file.write_text((folder / "out" / "samples" / "t1.jsonl").read_text())
    (tmp_path / "a.jsonl.settings").write_text('{"temperature": "hot"}')
    line = ["decoding", *map(str, files), "-r", str(folder / "references.jsonl"), "-o", str(tmp_path / "out")]
    assert main([*line, "--distance", "meteor"]) == 1
    printed = capsys.readouterr().err
    assert "a.settings: expected settings of `manycaps sample`, got others (--temperature:" in printed
    assert printed.endswith("). Delete it, or sample again.\n")


def test_a_page_that_is_not_of_this_command_is_not_replaced(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("manycaps.sampling.decoding.run.load_sampler", lambda *_: StandIn())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("mine")
    line = model_line(folder, tmp_path / "out", "--temperature", "0.5,1", "--on-error", "skip")
    assert main(line) == 1
    assert "or one that this command has written, got one with index.html and no decoding.json." in (
        capsys.readouterr().err
    )
    assert (tmp_path / "out" / "index.html").read_text() == "mine"
