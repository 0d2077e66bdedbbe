"""Protocols on small made rows: Flickr8k-CF, rows without references or judgements, and two metrics side by side."""

import json
import types

import numpy as np
import pytest

from manycaps.commands import command_line
from manycaps.human_correlation.benchmark_rows import without_judged_references
from manycaps.human_correlation.benchmarks import BENCHMARKS
from tests.large_packages import OnFirstUse
from tests.refusals import assert_refused

protocols = OnFirstUse("manycaps.human_correlation.protocols")

DOGS, CATS = ["A dog runs .", "A dog", "The dog", "A dog"], ["A cat", "Two cats sleep"]

# Two judged captions are references of their image: one of the words "A dog", which stands there twice, and "A cat".
CROWD = [
    {"img": "dogs.jpg", "cand": "A  dog", "refs": DOGS, "human_score": [1.0, 1.0, 0.0]},
    {"img": "dogs.jpg", "cand": "A cat", "refs": DOGS, "human_score": [0.0, 0.0, 0.0, 1.0]},
    {"img": "cats.jpg", "cand": "A cat", "refs": CATS, "human_score": [1.0, 1.0, 1.0]},
    {"img": "cats.jpg", "cand": "Cats sleep", "refs": CATS, "human_score": [None]},
]


@pytest.fixture
def run(tmp_path, capsys):
    """Run the command on rows, and return its status, output and error."""

    def run_command(rows, *more, benchmark="composite", metric="bleu_rouge", key="rouge_l"):
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = ["--benchmark", benchmark, "--metric", metric, "--data", str(tmp_path / "rows.jsonl")]
        command += ["--key", key] if key else []
        status = command_line.main(["human-correlation", *command, *more])
        printed = capsys.readouterr()
        return status, printed.out, printed.err.splitlines()[-1] if printed.err else ""

    return run_command


def test_judged_captions_of_an_image_are_no_references_of_it():
    rows = without_judged_references(CROWD)
    assert [row["refs"] for row in rows[:2]] == [["A dog runs .", "The dog", "A dog"]] * 2
    assert [row["refs"] for row in rows[2:]] == [["Two cats sleep"]] * 2
    assert CROWD[0]["refs"] is DOGS
    assert len(DOGS) == 4
    twice = without_judged_references([*CROWD, CROWD[0]])
    assert twice[0]["refs"] == ["A dog runs .", "The dog"]
    alone = [{**CROWD[2], "refs": ["A cat"]}]
    message = "refs[0]: expected a reference that is not a judged caption of"
    assert_refused(ValueError, message, without_judged_references, alone)


def test_a_share_of_yes_is_one_data_point():
    def score(rows, captions):
        return np.array([2.0, 1.0, 3.0, 4.0])

    found = protocols.correlation(CROWD, BENCHMARKS["flickr8k-cf"], score)
    # Shares 2/3, 1/4 and 1 in the order of the scores; the last caption has no judgement.
    assert found.figures == {"tau_b": 100.0, "tau_c": 100.0, "n_rows": 4, "n_judgements": 10}
    points = protocols.correlation(CROWD, BENCHMARKS["composite"], score).figures
    assert points["tau_b"] < 100
    assert points["n_judgements"] == 10
    assert found.clusters[0] == found.clusters[1] != found.clusters[2]


def test_flickr8k_cf_by_the_command(run):
    lines = [line.split() for line in run(CROWD, benchmark="flickr8k-cf")[1].splitlines()]
    # The published ROUGE-L, and the module's own name beside a key that has no published value.
    assert lines[2][2:3] == ["19.9"]
    assert run(CROWD, key="bleu_2")[1].startswith("bleu_rouge bleu_2 on composite, in percent")
    alone = [*CROWD[:2], {**CROWD[2], "refs": ["A cat"]}]
    status, _, error = run(alone, benchmark="flickr8k-cf")
    assert status == 1
    assert error.startswith("refs[2]: expected a reference that is not a judged caption of the image, got none of 1.")
    assert run(alone)[0] == 0, "composite has the references as they are"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"refs": None}, "refs[0]: expected at least one reference for this metric, got None. Write them, leave"),
        ({"human_score": [None, None]}, "human_score: expected a number in one of the rows, got none in 3. Give judg"),
        ({"human_score": 10**400}, "human_score[0]: expected a number or a list of numbers, got 1000000"),
        ({"video": 5}, "video[0]: expected a path, got 5. Write it, or leave the row out."),
    ],
    ids=["no references", "no judgements", "too large", "no path"],
)
def test_rows_that_cannot_be_scored(run, change, message):
    for benchmark in ("composite", "flickr8k-cf"):
        rows = [{"img": f"{i}.jpg", "cand": "a dog", "refs": ["the dog"], "human_score": 1.0} for i in range(3)]
        status, out, error = run([row | change for row in rows], benchmark=benchmark)
        assert (status, out) == (1, "")
        assert error.startswith(message)
    choice = {"img": "a.jpg", "better": "a dog", "worse": "a cat", "refs": ["dogs"], "category": "HC"}
    for change, message in (
        ({"refs": None}, "refs[1]: expected at least one reference for this metric, got None."),
        ({"category": None}, "category[1]: expected a category as of the other rows, got none."),
    ):
        status, _, error = run([choice, choice | change], benchmark="pascal-50s")
        assert (status, error[: len(message)]) == (1, message)


WORDS = "dog cat man child red blue runs sleeps on the beach street".split()


def some_rows(n_images=12, n_captions=3):
    rng = np.random.default_rng(2)
    made = []
    for i in range(n_images * n_captions):
        candidate, *references = (" ".join(rng.choice(WORDS, 5)) for _ in range(3))
        judgement = float(rng.integers(1, 5))
        made.append({"img": f"{i // n_captions}.jpg", "cand": candidate, "refs": references, "human_score": judgement})
    return made


def test_two_metrics_are_tested_on_the_same_rows(run):
    alone = [run(some_rows(), key=key)[1].strip() for key in ("rouge_l", "bleu_1")]
    status, out, error = run(some_rows(), "--against", "bleu_rouge", "--against-key", "bleu_1")
    assert status == 0, error
    first, second, differences = out.strip().split("\n\n")
    assert [first, second] == alone
    assert "12 clusters" in first
    lines = differences.splitlines()
    assert lines[0] == "rouge_l minus bleu_1, paired by row"
    taus = [float(table.splitlines()[2].split()[1]) for table in alone]
    name, value, p_value, *ends = lines[2].replace("[", "").replace("]", "").replace(",", "").split()
    assert name == "tau_b"
    assert float(value) == pytest.approx(taus[0] - taus[1], abs=0.011)
    assert float(ends[0]) < float(value) < float(ends[1])
    assert (float(p_value) < 0.05) == (float(ends[0]) > 0 or float(ends[1]) < 0)
    same = run(some_rows(), "--against", "bleu_rouge", "--against-key", "rouge_l")[1]
    assert same.strip().splitlines()[-1].split() == ["tau_c", "+0.00", "1", "[+0.00,", "+0.00]"]


def test_a_row_without_a_video_is_refused_by_a_metric_of_videos():
    module = types.SimpleNamespace(features={"predictions": None, "videos": None})
    message = "--data: expected the column video for a metric of videos, got rows without it."
    score = protocols.scorer_of(module, None, 1.0)
    assert_refused(ValueError, message, score, [{"video": "a.mp4"}, {"video": None}], ["a", "b"])


def test_messages_of_the_second_metric(run):
    no_metric = "--against: expected a metric for the other options of --against, got none"
    bad_json = ("--against", "bleu_rouge", "--against-option", "one")
    against = ("--against", "meteor15")
    for benchmark, more, message in (
        ("composite", ("--against-key", "bleu_1"), f"{no_metric}. Name"),
        ("composite", bad_json, "--against-option one: expected [MODULE.]NAME=VALUE, got no equals sign"),
        ("coco-systems", against, "--against: expected a benchmark of judged captions, got coco-systems, which has"),
    ):
        status, _, error = run(some_rows(), *more, benchmark=benchmark)
        assert status == 2
        assert error.startswith(message)


def rows_of(benchmark):
    """Rows of every kind, with four references."""
    rows = []
    for i, (row, other, third) in enumerate(zip(some_rows(), some_rows()[5:], some_rows()[9:], strict=False)):
        texts = {"cand": row["cand"]} if BENCHMARKS[benchmark].kind != "choice" else {}
        texts |= {} if texts else {"better": row["cand"], "worse": other["cand"], "category": "HC HI".split()[i % 2]}
        refs = [*row["refs"], *third["refs"]]
        rows.append({"img": row["img"], "video": row["img"], "refs": refs, "human_score": row["human_score"], **texts})
    return rows


@pytest.mark.parametrize(
    ("benchmark", "published"),
    [
        ("flickr8k-expert", ["-", "32.1"]),
        ("flickr8k-cf", ["-", "19.9"]),
        ("composite", ["-", "30.0"]),
        ("foil", ["54.6", "70.4"]),
        ("vatex-eval", ["12.5", "-"]),
    ],
)
def test_a_number_of_references_is_applied_and_published_values_are_of_that_number(run, benchmark, published):
    rows = rows_of(benchmark)
    whole, first = run(rows, benchmark=benchmark), run(rows, "--references", "1", benchmark=benchmark)
    alone = run([{**row, "refs": row["refs"][:1]} for row in rows], benchmark=benchmark)
    tables = [[line.split() for line in out.splitlines()[2:]] for _, out, _ in (first, alone, whole)]
    assert [line[:2] for line in tables[0]] == [line[:2] for line in tables[1]] != [line[:2] for line in tables[2]]
    figure = "accuracy" if benchmark == "foil" else "tau_b"
    assert [next(line[2] for line in table if line[0] == figure) for table in (tables[0], tables[2])] == published
    status, _, error = run(rows, "--references", "5", benchmark=benchmark)
    assert (status, error[:66]) == (2, "--references: expected at most 4, the references of row 0, got 5. ")


def test_so_many_references_are_drawn():
    drawn = set()

    def score(rows, captions):
        drawn.update(tuple(row["refs"]) for row in rows)
        return np.zeros(len(captions))

    protocols.choice(rows_of("pascal-50s"), BENCHMARKS["pascal-50s"], score, 0, 2)
    assert {len(refs) for refs in drawn} == {2}
    assert len({refs for refs in drawn if refs[0] in rows_of("pascal-50s")[0]["refs"]}) > 1


def test_a_number_of_references_is_refused_where_it_means_nothing(run):
    for benchmark, metric, message in (
        ("activitynet-foil", "bleu_rouge", "--references: expected none for activitynet-foil, whose sentences"),
        ("composite", "pac_score", "--references: expected a metric that takes some, got pac_score. Leave it out."),
    ):
        status, _, error = run(rows_of(benchmark), "--references", "1", benchmark=benchmark, metric=metric, key=None)
        assert status
        assert error.startswith(message)
