"""Do systems say the same of a row? Shares beside a loop, people's own value, and the table of `compare --full`."""

import itertools
import json

import numpy as np
import pytest

from manycaps.commands.command_line import main
from manycaps.comparison.read import PEOPLE, SystemRow
from manycaps.comparison.wrong_captions import shared_answers
from tests.comparison_cases import caption_rows, write_captions
from tests.oracles.tails_loop import shares_beyond

pytestmark = pytest.mark.usefixtures("undrawn_plots")


def word_distance(first, second):
    """One minus the shared words, as a share of all words: many ties."""
    first, second = set(first.split()), set(second.split())
    return 1 - len(first & second) / len(first | second)


def word_distances(rows):
    return [np.array([[word_distance(x, y) for y in row] for x in row]) for row in rows]


def sides_of(row):
    return {**row.captions, PEOPLE: row.references}


def odd_rows(rng, n_rows=25):
    """Rows of different sizes, one system with one caption each, and one that copies another."""
    rows = []
    for i in range(n_rows):
        texts = [" ".join(rng.choice(list("abcdef"), 3)) for _ in range(20)]
        sides = {"two": texts[:2], "one": texts[2:3], "copy": texts[:2], "many": texts[3 : 4 + int(rng.integers(1, 5))]}
        rows.append(SystemRow(str(i), sides, texts[10 : 12 + int(rng.integers(0, 4))]))
    return rows


@pytest.mark.parametrize("most", [1, 1 << 20])
def test_shares_are_those_of_a_loop_whatever_is_computed_at_once(most, monkeypatch):
    monkeypatch.setattr("manycaps.comparison.wrong_captions.MOST_DISTANCES", most)
    rows = odd_rows(np.random.default_rng(0))
    answers = shared_answers(rows, word_distances)
    names = [*rows[0].captions, PEOPLE]
    assert [(each.first, each.second) for each in answers] == list(itertools.combinations(names, 2))
    own = [[word_distance(x, y) for x, y in itertools.combinations(row.references, 2)] for row in rows]
    for each in answers:
        both = [(sides_of(row)[each.first], sides_of(row)[each.second]) for row in rows]
        crossing = [[word_distance(x, y) for x in first for y in second] for first, second in both]
        expected = shares_beyond(list(zip(own, crossing, strict=True)), -1)
        assert each.between == pytest.approx(np.mean([share for share, _ in expected]), abs=1e-12)
        assert np.mean([human_share for _, human_share in expected]) == pytest.approx(0.05, abs=1e-12)
        assert 0 <= each.ci_low <= each.between <= each.ci_high <= 1


def test_the_interval_holds_the_share_of_people():
    """Systems of human captions, as points: 5% lies in at least 90% of the intervals of 40 draws."""
    sides = [{name: [f"{i} {name} {k}" for k in range(2 + (name == "c"))] for name in "abc"} for i in range(30)]
    rows = [SystemRow("", {"a": each["a"], "b": each["b"]}, each["c"]) for each in sides]
    are_inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        points = {text: rng.normal(size=3) for each in sides for texts in each.values() for text in texts}

        def distances_of(texts, points=points):
            vectors = (np.array([points[text] for text in row]) for row in texts)
            return [np.linalg.norm(each[:, None] - each, axis=2) for each in vectors]

        are_inside += [each.ci_low <= 0.05 <= each.ci_high for each in shared_answers(rows, distances_of)]
    assert np.mean(are_inside) >= 0.9


@pytest.mark.parametrize("distance", ["cider", "meteor"])
def test_compare_full_prints_how_often_systems_say_the_same(distance, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = caption_rows(12)
    files = write_captions(tmp_path, {**rows, "copy": rows["base"]})
    systems = ["base", "copy", "other"]
    line = ["compare", *(files[name] for name in systems), "-r", files["references"], "--distance", distance]
    assert main([*line, "-m", "bleu_rouge", "--full", "-o", "out"]) == 0
    table = capsys.readouterr().out.partition("Do systems say the same?")[2]
    numbers = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))["human_parity"]
    shared = {(pair["first"], pair["second"]): pair for pair in numbers["shared_answers"]}
    assert list(shared) == list(itertools.combinations([*systems, PEOPLE], 2))
    for pair in shared.values():
        assert f"{100 * pair['between']:.1f}%" in table
        assert pair["within_first"] == numbers["systems"][pair["first"]]["near_duplicate_share"]
    # A third of the pairs of a system and its copy are of one caption twice; other images' captions are far away.
    assert shared["base", "copy"]["ci_low"] > 0.05 > shared["base", "other"]["between"]
    assert shared["base", PEOPLE] == shared["copy", PEOPLE] | {"first": "base"}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="homogeneity">Do systems say the same?</h2>' in page
    assert page.count("base, people</span>") == 1
