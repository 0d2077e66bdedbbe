"""Statistic, distances and exact p-values against the golden samples, and against the loop over all triangles.

Golden values: golden/trm.json, made by naive enumeration (its `meta` has formula and versions). Tolerance 1e-12: both
sides divide whole numbers, so they differ by rounding alone.
"""

import json

import numpy as np
import pytest

from manycaps.kit.sets_splits import exact_splits, split_p_values
from manycaps.kit.sets_triangle_rank import null_statistics, triangle_rank_counts, triangle_rank_statistic
from manycaps.kit.text_cider import cider_d_scores, cider_distances
from manycaps.kit.text_meteor import meteor_distances, meteor_scores
from tests.each_case import each_case
from tests.golden_folders import OWN_GOLDEN
from tests.oracles import triangle_rank_loop


def exact_p_value(distance, n_candidates, kind):
    distances = np.asarray(distance)[None]
    observed = triangle_rank_statistic(triangle_rank_counts(distances, n_candidates), kind)
    splits = exact_splits(n_candidates, distances.shape[1] - n_candidates, 10**6)
    return split_p_values(observed, null_statistics(distances, splits, kind))[0]


@pytest.fixture(scope="module")
def samples(golden_folder):
    return json.loads((golden_folder / "trm.json").read_text())["samples"]


@each_case("metric", ["meteor", "cider", "bert"])
def test_statistic_and_counts_match_the_golden_samples(samples, metric):
    for sample in samples:
        golden = sample["metrics"][metric]
        counts = triangle_rank_counts(np.array(golden["distance"])[None], sample["n"])
        assert triangle_rank_statistic(counts, "pooled")[0] == pytest.approx(golden["Q_tol_1e_9"], abs=1e-12)
        assert counts[0] == pytest.approx(
            np.array(
                triangle_rank_loop.rank_counts(
                    golden["distance"], range(sample["n"]), range(sample["n"], len(golden["distance"]))
                )
            )
        )


@each_case("metric", ["meteor", "cider", "bert"])
def test_exact_p_values_match_the_golden_samples(samples, metric):
    n_checked = 0
    for sample in samples:
        golden = sample["metrics"][metric]
        if golden.get("p_tol_1e_9") is not None:
            p_value = exact_p_value(golden["distance"], sample["n"], "pooled")
            assert p_value == pytest.approx(golden["p_tol_1e_9"], abs=1e-12), sample["name"]
            n_checked += 1
    assert n_checked >= 14


@pytest.mark.parametrize("metric", ["meteor", "cider", "bert"])
def test_per_side_values_match_the_golden_samples(metric):
    n_statistics = n_p_values = 0
    for sample in json.loads((OWN_GOLDEN / "trm.json").read_text())["samples"]:
        distance, golden = sample["metrics"][metric]["distance"], sample["metrics"][metric].get("per_side")
        if golden is None:  # one caption on a side
            continue
        counts = triangle_rank_counts(np.array(distance)[None], sample["n"])
        statistic = triangle_rank_statistic(counts, "per_side")[0]
        assert statistic == pytest.approx(golden["Q_tol_1e_9"], abs=1e-12), sample["name"]
        n_statistics += 1
        if "p_tol_1e_9" in golden:
            p_value = exact_p_value(distance, sample["n"], "per_side")
            assert p_value == pytest.approx(golden["p_tol_1e_9"], abs=1e-12), sample["name"]
            n_p_values += 1
    assert n_statistics >= 20
    assert n_p_values >= 20


def test_meteor_distances_match_the_golden_samples(samples, lexicon):
    rows = [sample["tokens_meteor"] for sample in samples]
    for sample, distance in zip(samples, meteor_distances(rows, meteor_scores(rows, lexicon)), strict=True):
        assert distance == pytest.approx(np.array(sample["metrics"]["meteor"]["distance"]), abs=1e-12), sample["name"]


def test_cider_distances_match_the_golden_samples(samples, golden_frequencies):
    rows = [sample["tokens_cider"] for sample in samples]
    distances = cider_distances(rows, cider_d_scores(rows, *golden_frequencies))
    for sample, distance in zip(samples, distances, strict=True):
        assert distance == pytest.approx(np.array(sample["metrics"]["cider"]["distance"]), abs=1e-12), sample["name"]
