"""manycaps diversity --sets: rows of several sources beside each other, paired tests, and messages."""

import json

import numpy as np
import pytest

import manycaps
from manycaps.commands import command_line
from manycaps.diversity import DiversityOptions, diversity
from manycaps.diversity.figures import COMPARED
from manycaps.diversity.sets import SET_VALUES, compare_sources
from manycaps.functional import holm_p_values, paired_test, self_bleu
from manycaps.kit.vectors_sentences import SentenceEncoder
from tests.refusals import assert_refused

SUBJECTS, VERBS = ("a dog", "two men", "the cat", "a red kite"), ("runs", "sleeps on a bench", "reads", "cooks rice")


def answers(n_rows=12, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return [[f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)}" for _ in range(n)] for _ in range(n_rows)]


def write(path, rows, ids=None, key="captions"):
    names = [f"p{i}" for i in range(len(rows))] if ids is None else ids
    records = [{key: row} for row in rows]
    for record, name in zip(records, names, strict=False):
        record["id"] = name
    lines = map(json.dumps, records)
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    base = answers()
    order = [f"p{i}" for i in range(len(base))][::-1]
    repeating = [[row[0], row[0], row[1], row[0]] for row in base]
    return (
        write(tmp_path / "base.jsonl", base),
        write(tmp_path / "tuned.jsonl", repeating[::-1], order),
        base,
        repeating,
    )


def test_sources_are_paired_by_id_and_tested(files):
    base, tuned, first, second = files
    measured = diversity(DiversityOptions([base, tuned], sets=True)).to_dict()
    values = [self_bleu([[text.split() for text in row] for row in rows]) for rows in (first, second)]
    assert measured["base"]["sets"]["self_bleu_4"] == pytest.approx(values[0].mean())
    assert measured["base"]["sets"]["self_bleu_4_ci_low"] < values[0].mean()
    pairs = {pair["value"]: pair for pair in measured[COMPARED]["pairs"]}
    expected = paired_test(*values)
    for name in ("difference", "p_value", "ci_low", "ci_high"):
        assert pairs["self_bleu_4"][name] == pytest.approx(getattr(expected, name))
    adjusted = holm_p_values([pair["p_value"] for pair in pairs.values()])
    assert [pair["adjusted_p_value"] for pair in pairs.values()] == pytest.approx(adjusted.tolist())
    assert pairs["vendi_ngram_1"]["rows_to_detect"] > expected.rows_to_detect  # at the level of seven tests


def test_one_source_and_rows_without_ids(tmp_path):
    path = write(tmp_path / "answers.jsonl", answers(), [])
    measured = diversity(DiversityOptions([path], sets=True)).to_dict()
    assert COMPARED not in measured
    both = [path, write(tmp_path / "others.jsonl", answers(seed=1), [])]
    assert {pair["n_rows"] for pair in diversity(DiversityOptions(both, sets=True)).to_dict()[COMPARED]["pairs"]} == {
        12
    }


def test_equal_numbers_of_texts_are_measured(tmp_path):
    rows = answers(n=6)
    paths = [write(tmp_path / "six.jsonl", rows), write(tmp_path / "four.jsonl", [row[:4] for row in rows])]
    with pytest.warns(UserWarning, match="different numbers of texts in 12 of 12 rows"):
        measured = diversity(DiversityOptions(paths, sets=True)).to_dict()
    assert {pair["difference"] for pair in measured[COMPARED]["pairs"]} == {0.0}
    assert {pair["p_value"] for pair in measured[COMPARED]["pairs"]} == {1.0}


def test_the_same_rows_under_another_name_have_the_same_weights(tmp_path):
    # self-CIDEr's document frequencies are counted in all sources together.
    rows = answers()
    paths = [write(tmp_path / f"{name}.jsonl", rows) for name in "ab"]
    measured = diversity(DiversityOptions([*paths, write(tmp_path / "c.jsonl", answers(seed=1))], sets=True)).to_dict()
    assert measured["a"]["sets"] == measured["b"]["sets"]
    assert len(measured[COMPARED]["pairs"]) == 3 * 7


def test_undefined_values_are_left_out_of_a_pair():
    values = {"a": {"self_bleu_4": np.array([0.5, np.nan, 0.25])}, "b": {"self_bleu_4": np.array([0.25, 0.5, 0.25])}}
    (pair,) = compare_sources(values, None)
    assert (pair.n_rows, pair.test.difference) == (2, 0.125)
    assert compare_sources({name: {"x": np.full(2, np.nan)} for name in "ab"}, None) == []


def test_clusters_make_fewer_independent_rows(files):
    base, tuned, *_ = files
    options = {"sources": [base, tuned], "sets": True}
    alone, together = (
        diversity(DiversityOptions(**options, clusters=pattern)).to_dict()[COMPARED]["pairs"][0]["p_value"]
        for pattern in ("p[0-9]+", "p1|p")
    )
    assert alone < together == 0.5


def test_terminal_and_page_name_what_was_measured(files, tmp_path, capsys):
    base, tuned, *_ = files
    page = tmp_path / "page.html"
    assert command_line.main(["diversity", base, tuned, "--sets", "-o", str(page)]) in (0, None)
    printed, html = capsys.readouterr().out, page.read_text(encoding="utf-8")
    for text in ("self-BLEU", "base - tuned", "rows to detect", "Holm"):
        assert text in printed
        assert text in html
    assert "joined by line breaks" in html


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sets": False, "equivalent": 0.2}, "--equivalent: expected --sets beside it, got none."),
        ({"sets": False, "clusters": "p"}, "--clusters: expected --sets beside it, got none."),
        ({"classes": "connected"}, "--classes: expected --equivalent beside it, got none."),
        ({"equivalent": 2.0}, "--equivalent: expected 0 or more and at most 1.99, got 2.0."),
    ],
)
def test_options_that_would_be_ignored_are_refused(change, message):
    assert_refused(ValueError, message, DiversityOptions, ["a.jsonl"], **{"sets": True, **change})


def test_other_rows_are_refused(files, tmp_path):
    base, *_ = files
    other = write(tmp_path / "other.jsonl", answers(11))
    message = f"{other}: expected the rows of {base}, since --sets compares them row by row, got none with the id 'p11'"
    assert_refused(ValueError, message, diversity, DiversityOptions([base, other], sets=True))
    options = DiversityOptions([base], sets=True, clusters="^q")
    assert_refused(ValueError, "--clusters: expected '^q' in every id, got 'p0'.", diversity, options)


def test_every_value_has_one_title():
    assert len({value.title for value in SET_VALUES}) == len(SET_VALUES)


def test_sources_are_tested_for_what_they_say(files, tmp_path):
    base, tuned, first, second = files
    third = write(tmp_path / "third.jsonl", answers(seed=1))
    found = diversity(DiversityOptions([base, tuned, third], sets=True)).to_dict()[COMPARED]["homogeneity"]
    module = manycaps.load("homogeneity", details=True)
    expected = module.compute(predictions=first, others={"tuned": second, "third": answers(seed=1)})
    assert found["homogeneity_matrix"] == pytest.approx(np.array(expected["homogeneity_matrix"]))
    assert min(test["adjusted_p_value"] for test in found["tests"]) == pytest.approx(expected["homogeneity_p_value"])
    assert (found["sources"], found["distance"]) == (["base", "tuned", "third"], "n-grams")


def test_rows_with_one_text_have_no_test_of_homogeneity(tmp_path):
    paths = [write(tmp_path / f"{seed}.jsonl", answers(n=1, seed=seed)) for seed in (0, 1)]
    assert "homogeneity" not in diversity(DiversityOptions(paths, sets=True)).to_dict()[COMPARED]


def test_embeddings_serve_values_and_tests(files, monkeypatch):
    def embed(self, texts, options, progress):
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    base, tuned, *_ = files
    load = manycaps.load

    def load_patched(name, **options):
        module = load(name, **options)
        monkeypatch.setattr(type(module.encoder), "embed", embed)
        return module

    monkeypatch.setattr("manycaps.catalog.installed_modules.load", load_patched)
    monkeypatch.setattr(SentenceEncoder, "embed", embed)
    options = DiversityOptions([base, tuned], sets=True, equivalent=0.001)
    measured = diversity(options).to_dict()
    assert measured[COMPARED]["homogeneity"]["distance"] == "sentence embeddings"
    assert {"n_classes", "semantic_entropy", "distinct_k", "k", "pairwise_distance"} <= measured["base"]["sets"].keys()
