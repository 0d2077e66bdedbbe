"""Conclusions over a corpus: captions of another image are found, whatever the smallest p-value of a row."""

import numpy as np
import pytest

from manycaps.made_world.captions import draw_caption
from manycaps.made_world.scenes import draw_scene
from manycaps.pages.verdict import verdict
from tests.large_packages import evaluate
from tests.modules.sample_inputs import bag_of_words

# Draws of the corpus test: its p-value cannot be smaller than 1 / (N_RESAMPLES + 1).
N_RESAMPLES = 999


def made_rows(n_rows, n_captions):
    """Different captions of one scene of the made world in each row."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n_rows):
        scene, captions = draw_scene(rng), {}
        while len(captions) < n_captions:
            captions[draw_caption(rng, scene)] = None
        rows.append(list(captions))
    return rows


def next_row(rows):
    return rows[1:] + rows[:1]


def load(folder, **options):
    own = {"encoder": bag_of_words} if folder.name.endswith("bert") or folder.name in ("mmd", "trm") else {}
    return evaluate.load(str(folder), p_value="exact", n_resamples=N_RESAMPLES, **own, **options)


def test_captions_of_another_image_differ_where_no_row_can_have_a_small_p_value(distribution_folder):
    name, module = distribution_folder.name, load(distribution_folder, confidence_level=0.95)
    rows = made_rows(450, 5)
    references, candidates = [row[:3] for row in rows], [row[3:] for row in rows]

    human = module.compute(predictions=candidates, references=references)
    assert abs(human[f"{name}_z"]) < 3
    assert human[f"{name}_excess_ci_low"] < 0 < human[f"{name}_excess_ci_high"]
    assert "cannot be distinguished from the human captions" in verdict(human, name, name)

    other = module.compute(predictions=next_row(candidates), references=references)
    assert other[f"{name}_corpus_p_value"] == other[f"{name}_smallest_corpus_p"] == 1 / (N_RESAMPLES + 1)
    assert other[f"{name}_z"] > 20
    assert "the candidates differ from the human captions" in verdict(other, name, name)
    # The combination of the rows' p-values sees nothing: none of them can be below 1/10.
    assert other[f"{name}_smallest_p"] == pytest.approx(0.1)
    assert other[f"{name}_harmonic_mean_p"] > 0.1
    assert other[f"{name}_p_value"] > 0.3
