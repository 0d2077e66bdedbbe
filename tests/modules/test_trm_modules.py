"""What the triangle-rank modules add to the other distribution modules: statistic, tokenizer, document frequencies."""

import json

import numpy as np
import pytest

from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.oracles import triangle_rank_loop


@pytest.fixture(params=["trm_meteor", "trm_cider"])
def name(request):
    return request.param


@pytest.fixture
def module(name):
    return evaluate.load(name)


@each_case("value", ["pool", None.__class__, 1])
def test_unknown_statistics_are_refused(name, module, value):
    with pytest.raises(ValueError, match=r"^statistic: expected one of 'per_side', 'pooled', got "):
        module.compute(**CAPTION_ROWS, statistic=value)
    with pytest.raises(ValueError, match=r"^statistic: expected one of "):
        evaluate.load(name, statistic=value)


def test_per_side_is_at_least_the_pooled_deviation(name, module):
    pooled = module.compute(**CAPTION_ROWS, details=True, statistic="pooled")[f"{name}_per_row"]
    per_side = module.compute(**CAPTION_ROWS, details=True)[f"{name}_per_row"]
    # The pooled shares are a weighted mean of the sides' shares: the triangle inequality.
    assert all(a <= b + 1e-12 for a, b in zip(pooled, per_side, strict=True))


@pytest.mark.parametrize("row", [(["a dog"], ["b", "c"]), (["b", "c"], ["a dog"])])
def test_a_side_of_one_caption_adds_nothing(name, module, row):
    rows = {"predictions": CAPTION_ROWS["predictions"] + [row[0]], "references": CAPTION_ROWS["references"] + [row[1]]}
    per_side, pooled = (
        module.compute(**rows, p_value="exact", details=True, statistic=statistic)
        for statistic in ("per_side", "pooled")
    )
    # There is one kind of triangle only, so that both statistics are the same.
    assert per_side[f"{name}_per_row"][4] == pooled[f"{name}_per_row"][4]
    assert per_side[f"{name}_p_value_per_row"][4] == pooled[f"{name}_p_value_per_row"][4]


def test_per_side_p_values_of_very_large_rows_are_refused(module):
    row = [f"caption number {i}" for i in range(101)]
    rows = {"predictions": [row, row], "references": [row, row]}
    with pytest.raises(ValueError, match=r"^predictions\[0\], references\[0\]: expected at most 200 captions in all"):
        module.compute(**rows, statistic="per_side", p_value="permutation")


def half_words(caption):
    return [half for word in caption.split() for half in (word[:2], word[2:]) if half]


def test_a_user_tokenizer_replaces_ptb(name, module):
    assert module.compute(**CAPTION_ROWS, tokenizer=str.split) == evaluate.load(name, tokenizer=str.split).compute(
        **CAPTION_ROWS
    )
    halves = module.compute(**CAPTION_ROWS, tokenizer=half_words, details=True)
    assert "tokenizer:half_words" in halves["signature"]
    assert halves[name] != module.compute(**CAPTION_ROWS)[name]


def test_a_bad_tokenizer_loses_no_row(module):
    module.add_batch(**CAPTION_ROWS)
    with pytest.raises(TypeError, match="^tokenizer: expected a list of strings for the caption 'a dog "):
        module.compute(tokenizer=str.lower)
    with pytest.raises(ValueError, match="^tokenizer: expected one of 'ptb', .*, got 'spacy'"):
        module.compute(tokenizer="spacy")
    assert module.compute() == module.compute(**CAPTION_ROWS)


def test_captions_that_differ_in_case_and_punctuation_alone_are_equal(name, module):
    rows = [["A dog runs .", "a dog runs!"], ["A cat.", "a cat", "the cow"]]
    result = module.compute(predictions=rows, references=rows, details=True)
    # All four captions of the first row are equal: every edge is 0, every triangle counts under every rank.
    assert result[f"{name}_per_row"][0] == pytest.approx(0.0)


def test_an_empty_caption_is_equal_to_another_empty_one_alone(module):
    result = module.compute(predictions=[["", "..."], ["a"]], references=[["!", ""], ["b", "c"]], details=True)
    assert result["n_rows"] == 2
    assert np.isfinite([value for value in result.values() if isinstance(value, float)]).all()


TABLE = {"n_documents": 50, "document_frequency": {"a": 45, "dog": 9, "a dog": 7, "train": 4, "kite": 2}}


def test_document_frequency_as_mapping_and_file_at_load_and_compute_time(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    module = evaluate.load("trm_cider")
    expected = module.compute(**CAPTION_ROWS, document_frequency=TABLE, details=True)
    assert module.compute(**CAPTION_ROWS, document_frequency=path, details=True) == expected
    loaded = evaluate.load("trm_cider", document_frequency=str(path), details=True)
    assert loaded.compute(**CAPTION_ROWS) == expected
    assert "document_frequency:table|n_documents:50" in expected["signature"]
    own = module.compute(**CAPTION_ROWS, details=True)
    assert "document_frequency:references|n_documents:4" in own["signature"]
    assert own["cider_d"] != expected["cider_d"]


def test_one_row_alone_has_no_document_frequencies_and_is_kept():
    module = evaluate.load("trm_cider")
    module.add(prediction=["a dog", "a cat"], reference=["a dog", "the kite"])
    with pytest.raises(
        ValueError, match="^references: expected at least 2 rows to count document frequencies in, got 1"
    ):
        module.compute()
    assert module.compute(document_frequency=TABLE)["n_rows"] == 1


def test_golden_samples_from_captions_to_p_values(golden_folder):
    samples = json.loads((golden_folder / "trm.json").read_text())["samples"]
    samples = [s for s in samples if s["metrics"]["meteor"].get("p_tol_1e_9") is not None]
    module = evaluate.load("trm_meteor", p_value="exact", details=True, statistic="pooled")
    result = module.compute(
        predictions=[s["candidates"] for s in samples], references=[s["references"] for s in samples]
    )
    for i, sample in enumerate(samples):
        golden = sample["metrics"]["meteor"]
        assert result["trm_meteor_per_row"][i] == pytest.approx(golden["Q_tol_1e_9"], abs=1e-12), sample["name"]
        assert result["trm_meteor_p_value_per_row"][i] == pytest.approx(golden["p_tol_1e_9"], abs=1e-12), sample["name"]


def test_small_rows_equal_the_loop_from_captions_on(lexicon):
    from manycaps.kit.text_meteor import meteor_distances, meteor_scores

    result = evaluate.load("trm_meteor").compute(**CAPTION_ROWS, p_value="exact", details=True)
    for i, (candidates, references) in enumerate(zip(*CAPTION_ROWS.values(), strict=True)):
        tokens = [caption.split() for caption in candidates + references]
        distance = meteor_distances([tokens], meteor_scores([tokens], lexicon))[0]
        n = len(candidates)
        expected = triangle_rank_loop.statistic(distance, range(n), range(n, len(tokens)), "per_side")
        assert result["trm_meteor_per_row"][i] == pytest.approx(expected, abs=1e-12)
        expected = triangle_rank_loop.exact_p_value(distance, n, "per_side")
        assert result["trm_meteor_p_value_per_row"][i] == pytest.approx(expected, abs=1e-12)
