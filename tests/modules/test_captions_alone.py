"""Captions without references: set_diversity and novelty, in Python, by `manycaps score` and on their pages."""

import json
import math

import numpy as np
import pytest

import manycaps
from manycaps.functional import self_bleu, self_cider
from manycaps.kit.sets_tests import interval_of_rows
from manycaps.scoring import ScoreOptions
from manycaps.scoring.score import score
from tests.modules.sample_inputs import CAPTION_ROWS, bag_of_words
from tests.refusals import assert_refused

ROWS = CAPTION_ROWS["predictions"]
TOKENS = [[text.split() for text in row] for row in ROWS]


def alone(rows=ROWS, **options):
    return manycaps.load("set_diversity").compute(**{"predictions": rows, "kernels": ("ngram",), **options})


def test_values_of_people_are_left_out():
    result = alone(details=True)
    assert not [key for key in result if "references" in key or "difference" in key]
    assert not [key for key, value in result.items() if isinstance(value, float) and math.isnan(value)]
    assert result["self_bleu_4_per_row"] == pytest.approx(self_bleu(TOKENS).tolist(), abs=1e-12)
    assert result["self_cider_per_row"] == pytest.approx(self_cider(TOKENS).tolist(), abs=1e-12)
    assert "document_frequency:predictions" in result["signature"]


def test_values_are_those_beside_references():
    table = {"n_documents": 9, "document_frequency": {"a": 5, "dog": 2}}
    beside = alone(references=CAPTION_ROWS["references"], sizes="all", document_frequency=table)
    own = alone(document_frequency=table)
    assert own == {key: beside[key] for key in own}
    assert set(own) < set(beside)


@pytest.mark.parametrize("how", ["strings", "add", "add_batch"])
def test_other_ways_to_give_captions(how):
    module = manycaps.load("set_diversity", kernels=("ngram",))
    if how == "strings":
        assert alone([row[0] for row in ROWS])["n_captions"] == len(ROWS)
        return
    for row in ROWS:
        module.add(prediction=row) if how == "add" else module.add_batch(predictions=[row])
    assert module.compute() == alone()


def test_rows_with_and_without_references_are_refused():
    module = manycaps.load("set_diversity", kernels=("ngram",))
    module.add_batch(predictions=ROWS[:1], references=CAPTION_ROWS["references"][:1])
    module.add_batch(predictions=ROWS[1:2])
    message = "references[1]: expected references in every row, or in none, got none (1 of 2 such rows)."
    assert_refused(ValueError, message, module.compute)


def test_classes_and_their_entropy():
    def same_first_word(first, second):
        return first.split()[0] == second.split()[0]

    result = alone(equivalent=same_first_word, details=True)
    assert result["n_classes_per_row"] == [2.0, 1.0, 2.0, 2.0]  # a, two; a; a, people; children, a
    shares = [(2 / 3, 1 / 3), (1.0,), (3 / 4, 1 / 4), (1 / 2, 1 / 2)]
    expected = [-sum(p * math.log(p) for p in row) for row in shares]
    assert result["semantic_entropy_per_row"] == pytest.approx(expected)
    assert result["k"] == 2


def test_the_first_text_of_a_class_decides():
    # Cosine distances: chain of neighbours 0.134, ends 0.5.
    angles = {"one": 0.0, "two": math.pi / 6, "three": math.pi / 3}

    def embed(texts):
        return np.array([[math.cos(angles[text]), math.sin(angles[text])] for text in texts])

    options = {"equivalent": 0.2, "encoder": embed}
    for rule, expected in (("connected", 1.0), ("first", 2.0)):
        result = alone([["one", "two", "three"]] * 2, classes=rule, details=True, **options)
        assert result["n_classes"] == expected
        assert ("classes:first" in result["signature"]) == (rule == "first")
    assert_refused(ValueError, "classes: expected equivalent=0.3 beside it", alone, classes="first")


def test_quality_counts_once_a_class_of_any_rule_with_its_interval():
    angles = {"one": 0.0, "two": math.pi / 6, "three": math.pi / 3}

    def embed(texts):
        return np.array([[math.cos(angles[text]), math.sin(angles[text])] for text in texts])

    rows, quality = [["one", "two", "three"], ["one", "one", "one"]], [[1, 9, 4], [2, 3, 3]]
    options = {"equivalent": 0.2, "encoder": embed, "answer_order": "given", "quality": quality}
    total = 1 + 0.8 + 0.8**2
    for rule, expected in (("connected", [1 / total, 2 / total]), ("first", [(1 + 4 * 0.8**2) / total, 2 / total])):
        result = alone(rows, classes=rule, details=True, confidence_level=0.9, **options)
        assert result["quality_utility_k_per_row"] == pytest.approx(expected, abs=1e-12)
        ends = result["quality_utility_k_ci_low"], result["quality_utility_k_ci_high"]
        assert ends == pytest.approx(interval_of_rows(result["quality_utility_k_per_row"], 0.9))
        assert result["quality_utility_k"] == pytest.approx(sum(expected) / 2, abs=1e-12)


def test_intervals_are_over_rows_or_clusters():
    labels = ["a", "a", "b", "c"]
    result = alone(confidence_level=0.9, details=True)
    clustered = alone(confidence_level=0.9, clusters=labels)
    values = result["unique_share_per_row"], result["self_bleu_4_per_row"]
    for key, own in zip(("unique_share", "self_bleu_4"), values, strict=True):
        ends = result[f"{key}_ci_low"], result[f"{key}_ci_high"]
        assert ends == pytest.approx(interval_of_rows(own, 0.9), nan_ok=True)
        ends = clustered[f"{key}_ci_low"], clustered[f"{key}_ci_high"]
        assert ends == pytest.approx(interval_of_rows(own, 0.9, labels), nan_ok=True)
    assert not [key for key in alone() if "_ci_" in key]
    assert_refused(ValueError, "clusters: expected confidence_level=0.95 beside it", alone, clusters=labels)
    message = "clusters: expected one label for each of the 4 rows of captions, got 1."
    assert_refused(ValueError, message, alone, clusters=["a"], confidence_level=0.9)


def test_a_row_without_a_value_is_left_out_of_its_interval():
    rows = [*ROWS, ["a single one"]]
    result = alone(rows, confidence_level=0.95, details=True)
    assert math.isnan(result["self_bleu_4_per_row"][-1])
    assert result["self_bleu_4_ci_low"] == pytest.approx(interval_of_rows(result["self_bleu_4_per_row"][:-1], 0.95)[0])


def test_novelty_beside_training_captions():
    module = manycaps.load("novelty")
    training = ["a dog runs on the beach", "a kite"]
    result = module.compute(predictions=ROWS, training=training, details=True)
    beside = module.compute(predictions=ROWS, references=CAPTION_ROWS["references"], training=training, details=True)
    assert result == {key: beside[key] for key in result}
    assert {key for key in beside if key not in result} == {f"{key}_of_people" for key in NOVELTIES}
    message = "training: expected training captions, got none, and no references of other rows in their place."
    assert_refused(ValueError, message, module.compute, predictions=ROWS)


NOVELTIES = ("novel_share", *(f"novel_{n}gram_share" for n in (1, 2, 3, 4)), "longest_copied_run")


def test_score_takes_files_without_references(tmp_path):
    path, table = tmp_path / "answers.jsonl", tmp_path / "table.json"
    lines = [json.dumps({"id": str(i), "predictions": row}) for i, row in enumerate(ROWS)]
    path.write_text("\n".join(lines), encoding="utf-8")
    table.write_text(json.dumps({"n_documents": 9, "document_frequency": {"a": 5}}), encoding="utf-8")
    given = {"kernels": ["ngram"], "document_frequency": str(table)}
    scored = score(ScoreOptions(metrics={"set_diversity": given}, inputs=[str(path)], output=tmp_path / "scores"))
    found = scored.to_dict()["metrics"]["set_diversity"]
    own = alone(document_frequency=str(table))
    assert {key: found[key] for key in ("self_cider", "vendi_ngram_2", "n_captions")} == pytest.approx(
        {key: own[key] for key in ("self_cider", "vendi_ngram_2", "n_captions")}
    )
    assert not [key for key in found if "references" in key]
    options = ScoreOptions(metrics=["chair"], inputs=[str(path)], output=tmp_path / "other")
    assert_refused(ValueError, "-m chair: expected references, got none in the files.", score, options)


def test_a_page_with_an_empty_box_of_references():
    module = manycaps.load("set_diversity", encoder=bag_of_words)
    pages = pytest.importorskip("manycaps.pages.module_page", reason="gradio is not installed", exc_type=ImportError)
    form = pages.module_form("Set Diversity", module)
    boxes = ["\n\n".join("\n".join(row) for row in ROWS), "", "equal"]
    answer, drawing, others = form.measure(*boxes)
    assert "self_cider" in answer
    assert "references" not in answer + others
    assert drawing is not None
