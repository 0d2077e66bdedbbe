"""Speakers who choose whole captions by every setting."""

import numpy as np
import pytest

from manycaps.sampling.decoding_setting import Setting
from scripts.studies.simulated_speakers import SimulatedSpeaker, decoded, zipf

IMAGES = [[f"{image}{caption}" for caption in range(8)] for image in "abcd"]


def share(setting, index, n=20_000):
    indices = decoded(np.array([0.1, 0.6, 0.3]), setting, n, np.random.default_rng(0))
    return indices.count(index) / n


def test_whole_captions_are_decoded_as_tokens_are():
    assert share(Setting(), 1) == pytest.approx(0.6, abs=0.01)
    # 0.6^2 / (0.1^2 + 0.6^2 + 0.3^2) = 0.7826.
    assert share(Setting(0.5), 1) == pytest.approx(0.7826, abs=0.01)
    # Top-p 0.9 keeps 0.6 and 0.3, whose sum reaches it.
    assert share(Setting(top_p=0.9), 0) == 0
    assert share(Setting(top_p=0.9), 1) == pytest.approx(2 / 3, abs=0.01)
    assert decoded(zipf(30), Setting(50.0, top_k=20), 2000, np.random.default_rng(0)).count(25) == 0
    rng = np.random.default_rng(0)
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting(greedy=True), 2, rng) == [1, 1]
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting(num_beams=4), 4, rng) == [1, 2, 0, 1]


def test_speakers_differ_in_their_mistakes_and_share_their_references():
    careful, careless = (SimulatedSpeaker(IMAGES, mistakes, (50, 5), 3) for mistakes in (0.0, 0.9))
    rows, others = (speaker.rows(Setting(), (0, 0)) for speaker in (careful, careless))
    assert rows.references == others.references == careful.rows(Setting(greedy=True), (0, 0)).references
    for candidates, references in zip(rows.candidates, rows.references, strict=True):
        assert {caption[0] for caption in candidates} == {references[0][0]}
    wrong = [c[0] != r[0][0] for row, r in zip(others.candidates, others.references, strict=True) for c in row]
    assert np.mean(wrong) == pytest.approx(0.9, abs=0.1)
