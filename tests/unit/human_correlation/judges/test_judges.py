"""The judge command: tables in, trials out, people's rank, ratings, and every message."""

import importlib
import json

import numpy as np
import pytest

from manycaps.commands.command_line import main
from manycaps.human_correlation.judges import JudgeOptions, judge
from manycaps.kit.judge_slopes import judge_bias
from tests.simulated_judges import simulated_texts, truth_of, with_noise

N_ROWS = 40


@pytest.fixture(scope="module")
def cases():
    """Texts, references and systems, with a judge of length, people preferred by 2, and ratings."""
    rng = np.random.default_rng(0)
    texts, references, systems = simulated_texts(rng, n_rows=N_ROWS)
    ratings = truth_of(rng, texts)
    by_length = [[0.5 * len(text) for text in row] for row in texts]
    honest = [[value + 2.0 * (j == 3) for j, value in enumerate(row)] for row in with_noise(rng, ratings)]
    return texts, references, systems, {"by_length": by_length, "honest": honest, "rating": ratings}


def lines_of(cases):
    texts, _, systems, scores = cases
    return [
        {"id": f"row{i}", "system": systems[i][j], "text": " ".join(text)}
        | {name: values[i][j] for name, values in scores.items()}
        for i, row in enumerate(texts)
        for j, text in enumerate(row)
    ]


def write(path, lines):
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


@pytest.fixture
def files(tmp_path, cases):
    people = [{"id": f"row{i}", "references": [" ".join(text) for text in row]} for i, row in enumerate(cases[1])]
    return write(tmp_path / "scores.jsonl", lines_of(cases)), write(tmp_path / "references.jsonl", people)


def test_people_rank_and_biases_are_named(files, cases):
    found = judge(JudgeOptions([files[0]], references=[files[1]]))
    assert [trial.judge for trial in found.trials] == ["by_length", "honest", "rating"]
    by_length, honest, _ = found.trials
    assert by_length.bias.named == ["length"]
    assert honest.bias.named == []
    assert (honest.rank_of_people, honest.baseline, honest.systems[0].name) == (1, "people", "people")
    assert by_length.rank_of_people == 3  # of systems of 8, 11 and 14 words; people write 9
    other = next(system for system in honest.systems if system.name == "system0")
    means = [np.mean([row[j] for row in cases[3]["honest"]]) for j in (0, 3)]
    assert (other.mean, other.difference) == pytest.approx((means[0], means[0] - means[1]))
    assert other.preferred_share < 0.5
    assert other.adjusted_p_value < 0.05


def test_the_command_has_the_slopes_of_the_plain_function(files, cases, capsys):
    texts, references, systems, scores = cases
    expected = judge_bias(scores["by_length"], texts, references, systems)
    assert main(["judge", files[0], "-r", files[1], "-j", "by_length", "-f", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["judges"]
    assert found["named"] == expected.named
    assert found["bias"]["slopes"]["length"]["slope"] == pytest.approx(expected.slopes["length"].slope)
    assert len(found["bias"]["differences"]) == 6


@pytest.mark.parametrize("form", ["text", "md", "latex"])
def test_forms_of_the_answer(files, form, capsys):
    assert main(["judge", files[0], "-r", files[1], "-j", "by_length", "-f", form]) == 0
    printed = capsys.readouterr().out
    assert "length" in printed
    assert ("rewards length" in printed) == (form != "latex")


def test_the_page_has_every_judge_and_makes_no_request(tmp_path, files, cases, capsys):
    lines = [{**line, "system": f"<{line['system']}>"} for line in lines_of(cases)]
    scores = write(tmp_path / "odd.jsonl", lines)
    given = ["judge", scores, "-r", files[1], "--people", "<people>"]
    assert main([*given, "-o", str(tmp_path / "judge.html")]) == 0
    page = (tmp_path / "judge.html").read_text()
    assert page.count("<h2>") == 3
    assert "by_length rewards length" in page
    assert "&lt;people&gt;" in page
    assert "<people>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert main([*given, "-o", scores]) == 1  # it would be lost
    assert "one that is read" in capsys.readouterr().err


def test_ratings_are_a_column_beside_the_judges(files):
    found = judge(JudgeOptions([files[0]], references=[files[1]], judges=["by_length"], ratings="rating"))
    assert [trial.judge for trial in found.trials] == ["by_length"]
    assert set(found.trials[0].bias.slopes) == {"length", "predictability", "copied_bigrams", "genericness", "rating"}


def test_small_scores_may_be_good(files):
    turned = judge(JudgeOptions([files[0]], references=[files[1]], judges=["by_length"], lower_is_better=True))
    assert turned.trials[0].rank_of_people == 2
    assert turned.trials[0].bias.slopes["length"].slope < 0


def test_without_people_the_first_system_is_the_baseline(tmp_path, files, cases):
    lines = [line for line in lines_of(cases) if line["system"] != "people"]
    found = judge(JudgeOptions([write(tmp_path / "s.jsonl", lines)], references=[files[1]], judges=["honest"]))
    assert (found.trials[0].rank_of_people, found.trials[0].baseline) == (0, "system0")


def test_lists_of_texts_and_scores_are_the_same_as_lines(tmp_path, files, cases):
    texts, _, systems, scores = cases
    lines = [
        {
            "id": f"row{i}",
            "system": name,
            "captions": [" ".join(texts[i][j])] * 2,
            "honest": [scores["honest"][i][j]] * 2,
        }
        for i, row in enumerate(systems)
        for j, name in enumerate(row)
    ]
    found = judge(JudgeOptions([write(tmp_path / "s.jsonl", lines)], references=[files[1]])).trials[0]
    single = judge(JudgeOptions([files[0]], references=[files[1]], judges=["honest"])).trials[0]
    assert found.systems[0].mean == pytest.approx(single.systems[0].mean)
    assert found.bias.slopes["length"].slope == pytest.approx(single.bias.slopes["length"].slope)


def without(cases, key):
    return [{name: value for name, value in line.items() if name != key} for line in lines_of(cases)]


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        (lambda c: without(c, "text"), [], "expected the text that was scored, in a column such as"),
        (
            lambda c: lines_of(c),
            ["--people", "nobody"],
            "--people: expected one of 'system0', 'system1', 'system2', 'people'",
        ),
        (lambda c: lines_of(c), ["--baseline", "x"], "--baseline: expected one of 'system0'"),
        (lambda c: lines_of(c), ["--ratings", "stars"], "--ratings: expected one of several columns of numbers"),
        (lambda c: lines_of(c), ["-j", "stars"], "expected a column 'stars'"),
        (
            lambda c: [*lines_of(c), {"id": "row99", "system": "system0", "text": "w1", "by_length": 1.0}],
            [],
            "--references: expected human texts for every scored id, such as 'row99', got none for 1 of 41",
        ),
        (lambda c: [line for line in lines_of(c) if line["system"] == "people"], [], "expected texts of two systems"),
    ],
)
def test_what_is_refused(tmp_path, files, cases, capsys, change, given, message):
    path = write(tmp_path / "changed.jsonl", change(cases))
    assert main(["judge", path, "-r", files[1], *given]) != 0
    assert message in capsys.readouterr().err


def test_references_are_needed(files, capsys):
    with pytest.raises(SystemExit):
        main(["judge", files[0]])
    assert "-r/--references" in capsys.readouterr().err
    with pytest.raises(ValueError, match="--references: expected human texts, got none"):
        JudgeOptions([files[0]], references=[])


def test_people_who_are_the_only_reference_are_left_out(tmp_path, cases):
    texts, references, _, _ = cases
    people = [
        {"id": f"row{i}", "references": [" ".join(text) for text in (row[:1] if i < 5 else row)]}
        for i, row in enumerate(references)
    ]
    scores = write(tmp_path / "scores.jsonl", lines_of(cases))
    found = judge(JudgeOptions([scores], references=[write(tmp_path / "r.jsonl", people)], judges=["honest"]))
    assert found.notes == ["left out 5 of people's texts that are the only reference of their row."]
    assert next(system.n_texts for system in found.trials[0].systems if system.name == "people") == len(texts) - 5


@pytest.mark.realdata
def test_the_worked_example_runs(data_folder, tmp_path, capsys):
    study = importlib.import_module("scripts.studies.judge_metrics")
    arguments = ["--data", str(data_folder), "--corpus", "SummEval", "--rows", "12", "--output", str(tmp_path)]
    study.main(study.parse(arguments))
    printed = capsys.readouterr().out
    assert "CIDEr-D: people rank" in printed
    assert "Spearman's rho with the raters" in printed
