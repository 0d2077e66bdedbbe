"""Faults by sentence beside people's ratings of summarisers and of descriptions of restaurants."""

import gzip
import json
import math

import numpy as np
import pytest
import scipy.stats

import manycaps

pytestmark = [pytest.mark.realdata, pytest.mark.slow]

SCALES = ("coherence", "consistency", "fluency", "relevance")


def rated_set(data_folder, name):
    with gzip.open(data_folder / "real_systems" / f"{name}.json.gz") as file:
        return json.load(file)


def results_of(systems, references):
    """The result of each system by name."""
    module = manycaps.load("human_parity", p_value="none")
    return {
        name: module.compute(predictions=[[text] for text in texts], references=references)
        for name, texts in systems.items()
    }


def correlation(results, key, ratings):
    names = list(results)
    return float(scipy.stats.spearmanr([results[name][key] for name in names], [ratings[name] for name in names])[0])


def test_faults_of_summarisers_are_those_that_raters_find(data_folder):
    rated = rated_set(data_folder, "summeval")
    results = results_of(rated["systems"], [row["references"] for row in rated["rows"]])
    means = {name: np.mean([np.mean(of[scale]) for scale in SCALES]) for name, of in rated["ratings"].items()}
    relevance = {name: np.mean(of["relevance"]) for name, of in rated["ratings"].items()}
    assert correlation(results, "faults", means) <= -0.45
    assert correlation(results, "unsupported_share", relevance) <= -0.5
    worst = sorted(means, key=means.get)[:2]
    assert sorted(results, key=lambda name: -results[name]["faults"])[:2] == sorted(
        worst, key=lambda name: -results[name]["faults"]
    )
    highlights = results["Human-H"]
    assert highlights["unsupported_share"] == pytest.approx(highlights["unsupported_share_of_people"], abs=0.02)


def test_omissions_of_descriptions_are_those_that_raters_find(data_folder):
    rated = rated_set(data_folder, "e2e_nlg")
    chosen = range(0, len(rated["rows"]), 4)
    systems = {name: [texts[i] for i in chosen] for name, texts in rated["systems"].items()}
    results = results_of(systems, [rated["rows"][i]["references"] for i in chosen])
    quality = correlation(results, "omitted_share", rated["human_win_rate"]["quality"])
    assert not math.isnan(quality)
    assert quality <= -0.6
