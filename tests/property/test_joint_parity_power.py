"""What the joint p-value finds in real captions of MiniLM: nothing that it found without the length is lost.

The study `sentence_levels` has 100 draws of each cell, of 200 rows as well, and paragraphs with one wrong sentence
(docs/long_texts.md).
"""

import numpy as np
import pytest

import manycaps
from manycaps.kit.parity_gaps import joint_p_value
from scripts.studies.sentence_levels import DAMAGES, TESTS, coco_images, damaged_captions, power_trial

pytestmark = [pytest.mark.slow, pytest.mark.realdata]

N_CORPORA, N_ROWS = 20, 60

# By damage the least share of corpora in which a difference is found: below what 100 corpora of the study find by three
# standard errors of so few.
LEAST = {
    "20% wrong": 0.8,
    "generic": 0.1,
    "begun alike": 0.95,
    "wrong sentence in 3": 1,
    "omitted half": 0.95,
    "repeated word": 0.2,
    "nonsense": 1,
}


@pytest.fixture(scope="module")
def images(data_folder):
    return coco_images(data_folder)


@pytest.fixture(scope="module")
def module():
    return manycaps.load("human_parity")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_length_costs_no_power(images, module, damage):
    rows, rng = damaged_captions(images, damage), np.random.default_rng(0)
    trials = [power_trial(module, rows, N_ROWS, rng) for _ in range(N_CORPORA)]
    joint, without_length = (np.array([of[name] for of in trials]) for name in ("human_parity", "without_length"))
    assert joint.tolist() == pytest.approx([joint_p_value(*(of[test] for test in TESTS[1:])) for of in trials])
    assert np.mean(joint <= 0.05) >= np.mean(without_length <= 0.05) - 0.02
    assert np.mean(joint <= 0.05) >= LEAST[damage]
