"""Statistic, distances and exact p-values against the golden samples, and against the loop over all triangles.

Golden values: golden/trm.json, made by naive enumeration (its `meta` has formula and versions). Tolerance 1e-12: both
sides divide whole numbers, so they differ by rounding alone.
"""

import json

import numpy as np
import pytest

from manycaps.kit.meteor_nltk import distances_from_meteor, meteor_scores
from manycaps.kit.ngrams_cider import cider_d_scores, cider_distances
from manycaps.kit.triangle_rank import rank_statistic, triangle_rank_counts, triangle_rank_p_values
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines
from tests.oracles import triangle_rank_loop


@pytest.fixture(scope="module")
def samples(golden_folder):
    return json.loads((golden_folder / "trm.json").read_text())["samples"]


@pytest.mark.parametrize("metric", ["meteor", "cider", "bert"])
def test_statistics_and_exact_p_values_match_the_golden_samples(samples, metric):
    n_p_values = {"pooled": 0, "per_side": 0}
    for sample in samples:
        golden, n, texts = sample["metrics"][metric], sample["n"], range(sample["n"] + sample["m"])
        counts = triangle_rank_counts(np.array(golden["distance"])[None], n)
        assert (counts[0] == triangle_rank_loop.rank_counts(golden["distance"], texts[:n], texts[n:])).all()
        for kind, expected in (("pooled", golden), ("per_side", golden.get("per_side", {}))):
            if "Q_tol_1e_9" in expected:  # one caption on a side has no value of its own for "per_side"
                statistic = rank_statistic(counts, kind)[0]
                assert statistic == pytest.approx(expected["Q_tol_1e_9"], abs=1e-12), sample["name"]
            if expected.get("p_tol_1e_9") is not None:
                p_value = triangle_rank_p_values([golden["distance"]], n, kind, max_partitions=10**6)
                assert p_value == pytest.approx(expected["p_tol_1e_9"], abs=1e-12), sample["name"]
                n_p_values[kind] += 1
    assert n_p_values["pooled"] >= 14
    # Values on real captions are pooled ones alone.
    assert n_p_values["per_side"] >= 20 or not any("per_side" in s["metrics"][metric] for s in samples)


def test_meteor_distances_match_the_golden_samples(samples, lexicon):
    rows = [sample["tokens_meteor"] for sample in samples]
    for sample, distance in zip(samples, distances_from_meteor(rows, meteor_scores(rows, lexicon)), strict=True):
        assert distance == pytest.approx(np.array(sample["metrics"]["meteor"]["distance"]), abs=1e-12), sample["name"]


def test_cider_distances_match_the_golden_samples(samples, golden_frequencies):
    rows = [sample["tokens_cider"] for sample in samples]
    distances = cider_distances(rows, cider_d_scores(rows, *golden_frequencies))
    for sample, distance in zip(samples, distances, strict=True):
        assert distance == pytest.approx(np.array(sample["metrics"]["cider"]["distance"]), abs=1e-12), sample["name"]


def test_bert_distances_match_the_golden_samples(samples, golden_folder):
    vectors = np.load(golden_folder / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    texts = json.loads((golden_folder / "minilm_texts.json").read_text())
    numbers = {text: i for i, text in enumerate(texts if isinstance(texts, list) else texts["texts"])}
    for sample in samples:
        row = vectors[[numbers[text] for text in sample["candidates"] + sample["references"]]]
        distance = distances_from_cosines(cosine_similarities(row[None]))[0]
        assert distance == pytest.approx(np.array(sample["metrics"]["bert"]["distance"]), abs=1e-12), sample["name"]
