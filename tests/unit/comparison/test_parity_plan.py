"""`manycaps plan` and `functional.plan_human_parity`: the closed form against simulated power, and messages."""

import json

import numpy as np
import pytest

from manycaps.commands.command_line import main
from manycaps.functional import human_parity_test, plan_human_parity, plan_wrong_captions
from manycaps.kit.parity_gaps import row_gaps
from tests.comparison_cases import caption_rows, write_captions
from tests.refusals import assert_refused
from tests.simulated_people import distances_of, drawn_distances


def distances(rng, n_rows, m, n, shift=0.0):
    return drawn_distances(rng, n_rows, m, n, lambda _, texts: texts + np.array([shift, 0.0, 0.0, 0.0]))


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(1, 5), (5, 5)])
def test_the_rows_of_a_plan_find_its_gap(m, n):
    """The gap of shifted points, found in as many of 200 corpora as was planned, or more: the other gap helps."""
    rng = np.random.default_rng(0)
    gap = row_gaps(distances(rng, 20_000, m, n, shift=0.8), m).fidelity.mean()
    plan = plan_human_parity(distances(rng, 300, m, n), m, gap=gap, power=0.8)
    found = np.mean(
        [human_parity_test(distances(rng, int(plan.fidelity_rows), m, n, 0.8), m).p_value <= 0.05 for _ in range(200)]
    )
    assert found >= 0.8 - 3 * np.sqrt(0.8 * 0.2 / 200)
    assert m > 1 or found <= 0.8 + 3 * np.sqrt(0.8 * 0.2 / 200) + 0.05
    assert np.isnan(plan.diversity_rows) == (m == 1)


def wrong_texts(rng, n_rows, m, n, share):
    """Candidates of people, as many wrong ones, and references; and rows in which a share is wrong."""
    texts = rng.normal(size=(n_rows, 2 * m + n, 4))
    texts[:, m : 2 * m] += rng.choice([-4, 4], size=(n_rows, m, 4))
    is_wrong = rng.random((n_rows, m, 1)) < share
    chosen = np.concatenate([np.where(is_wrong, texts[:, m : 2 * m], texts[:, :m]), texts[:, 2 * m :]], axis=1)
    return [distances_of(texts), distances_of(chosen)]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n", "share"), [(1, 4, 0.1), (3, 3, 0.06)])
def test_the_rows_of_a_plan_find_its_share_of_wrong_captions(m, n, share):
    """In 80% of 150 corpora, within 4% and three standard errors."""
    rng, n_corpora = np.random.default_rng(m), 150
    pilot, _ = wrong_texts(rng, 400, m, n, share)
    n_rows = int(plan_wrong_captions(pilot, m, share))
    _, corpora = wrong_texts(rng, n_corpora * n_rows, m, n, share)
    found = np.mean([human_parity_test(corpus, m).p_value <= 0.05 for corpus in np.split(corpora, n_corpora)])
    assert found == pytest.approx(0.8, abs=0.04 + 3 * np.sqrt(0.16 / n_corpora))


def test_a_plan_of_its_own_least_gap_needs_its_own_rows():
    pilot = distances(np.random.default_rng(1), 50, 3, 4)
    plan = plan_human_parity(pilot, 3, n_rows=400)
    again = plan_human_parity(pilot, 3, gap=plan.fidelity_gap)
    assert (plan.n_rows, again.fidelity_rows) == (400, 400)


def test_messages():
    pilot = distances(np.random.default_rng(2), 5, 2, 3)
    for options, error, message in (
        ({"n_rows": 0}, ValueError, "n_rows: expected a whole number of at least 1, got 0"),
        ({"gap": -0.1}, ValueError, "gap: expected a number above 0"),
        ({"power": 1.0}, ValueError, "power: expected a number above 0.05 and below 1, got 1.0"),
        ({"power": "high"}, TypeError, "power: expected a number, got str"),
    ):
        assert_refused(error, message, plan_human_parity, pilot, 2, **options)
    equal, message = np.ones((12, 7, 7)) - np.eye(7), "distances: expected rows whose gaps differ from split to split"
    assert_refused(ValueError, message, plan_wrong_captions, equal, 2, 0.1)


def test_command(tmp_path, capsys):
    rows = caption_rows(12)
    files = write_captions(tmp_path, {name: rows[name] for name in ("base", "references")})
    arguments = ["plan", files["base"], "-r", files["references"], "--distance", "meteor"]

    def must_fail(status, message, *more):
        assert main([*arguments, *more]) == status
        assert message in capsys.readouterr().err

    assert main([*arguments, "--find", "0.05", "--rows", "200"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Pilot: 12 rows, distance meteor."
    assert lines[1].startswith("200 rows find a fidelity gap of 0.0")
    assert lines[1].endswith(" at least 80% of the time at a level of 5%, if all rows share the gap.")
    assert lines[2].startswith("To find 0.05 as often takes ")
    assert main([*arguments, "--wrong", "0.2"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert line.startswith("To find 20% wrong captions, taken from other rows, as often takes ")
    must_fail(2, "--wrong: expected a pilot of at least 10 rows, got 9. Add rows.", "--wrong", "0.2", "--limit", "9")
    must_fail(2, "--wrong: expected a number above 0 and below 1, got 1.5.", "--wrong", "1.5")
    must_fail(2, "--power: expected a number above 0.05 and below 1, got 2.0.", "--power", "2")
    assert main([*arguments, "-f", "json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["n_rows"], numbers["fidelity_rows"], numbers["distance"]) == (12, None, "meteor")
    assert numbers["wrong_rows"] is None
    assert main([*arguments, "--limit", "1", "--find", "9"]) == 0
    assert [line[:12] for line in capsys.readouterr().out.splitlines()] == [
        "Pilot: 1 row",
        "1 row finds ",
        "To find 9 as",
    ]
    equal = write_captions(tmp_path, {"equal": [["a dog"] * 3] * 12})["equal"]
    assert main(["plan", equal, "-r", equal, "--distance", "meteor", "--wrong", "0.1"]) == 1
    assert "equal.jsonl: expected rows with captions at different distances from each other" in capsys.readouterr().err
    single = write_captions(tmp_path, {"references": [row[:1] for row in rows["references"]]})
    assert main(["plan", files["base"], "-r", single["references"], "--distance", "meteor"]) == 1
    assert "references[0]: expected at least two references" in capsys.readouterr().err
    assert main(["plan", files["base"], "--distance", "meteor"]) == 1
    assert "base.jsonl, row 0: expected references, got none. Give them with -r FILE." in capsys.readouterr().err
