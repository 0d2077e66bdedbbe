"""How often are the sentences of `manycaps compare` about a system false, of real captions with known damage?

The truth is what the numbers of all images say. A sentence is false where it names a share that lies, over all images,
no higher than people's, or a length that is not another one.
"""

import gzip
import json

import numpy as np
import pytest

from manycaps.comparison.parity import compare_parity, parity_of_systems
from manycaps.comparison.parity_scores import parity_of_captions
from manycaps.comparison.read import SystemRow
from manycaps.comparison.system_lines import verdict_of
from manycaps.kit.parity_faults import FAULTS

pytestmark = [pytest.mark.slow, pytest.mark.realdata]

# Images, drawn rows of each of the corpora, and corpora: a sentence fails that is false in 7 of 40, as 90% of those are
# that are false in a quarter.
N_IMAGES, N_ROWS, N_CORPORA = 400, 60, 40

# By the name of a sentence, the share that it names.
SHARES = {name.removesuffix("_share"): name for name in FAULTS} | {
    "generic": "generic_share",
    "predictable_wording": "predictable_share",
}


def sentence(text):
    return f"{text.strip().rstrip('.')}."


def shuffled(rng, text):
    return " ".join(rng.permutation(text.rstrip(".").split()))


def central(_, own, __):
    """The caption that shares most words with the others."""
    words = [set(text.lower().rstrip(".").split()) for text in own]
    return max(own[:2], key=lambda text: sum(len(set(text.lower().split()) & other) for other in words))


# By world what a system says, from a generator, the image's captions and another image's.
WORLDS = {
    "people": lambda _, own, __: own[0],
    "wrong": lambda rng, own, other: other[0] if rng.random() < 0.3 else own[0],
    "generic": central,
    "shuffled": lambda rng, own, __: shuffled(rng, own[0]) if rng.random() < 0.5 else own[0],
    "repeated": lambda rng, own, __: f"{own[0].rstrip('.')} {own[0].split()[-1]}" if rng.random() < 0.5 else own[0],
    "begun alike": lambda _, own, __: f"this is a photo of {own[0]}",
    "joined": lambda _, own, __: f"{sentence(own[0])} {sentence(own[1])}",
    "cut": lambda _, own, __: " ".join(own[0].split()[:5]),
    "copied": lambda rng, own, __: own[2] if rng.random() < 0.5 else own[0],
    "wrong and repeated": lambda rng, own, other: (
        other[0] if rng.random() < 0.2 else f"{own[0].rstrip('.')} {own[0].split()[-1]}"
    ),
}


@pytest.fixture(scope="module")
def images(data_folder):
    with gzip.open(data_folder / "real_systems" / "coco_karpathy_test.json.gz") as file:
        return [row["references"][:5] for row in json.load(file)["rows"][:N_IMAGES]]


def system_of(images, texts, chosen):
    """What is said of a system, by MiniLM, on some images."""
    rows = [SystemRow(str(i), {"system": [texts[i]]}, images[i][2:]) for i in chosen]
    scores = parity_of_captions(rows, {"distance": "bert"})
    compared = compare_parity(parity_of_systems(scores.rows, None), None, distance="bert", n_resamples=99, seed=0)
    return compared.systems["system"]


def people_of(system, key):
    return system.get(f"{key}_of_people", 0.05)


def false_sentences(said, truth, system):
    """The sentences that do not hold of all images."""
    false = {name for name in said if name in SHARES and truth[SHARES[name]] <= people_of(truth, SHARES[name]) + 0.003}
    gap, true_gap = (each["words_per_text"] - each["words_per_text_of_people"] for each in (system, truth))
    if "other_length" in said and gap * true_gap <= 0:
        false.add("other_length")
    if "copied" in said and truth["copied_share"] <= people_of(truth, "copied_share") + 0.003:
        false.add("copied")
    return false


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("world", WORLDS)
def test_sentences_about_a_system_are_seldom_false(images, world):
    rng = np.random.default_rng([*WORLDS].index(world))
    texts = [WORLDS[world](rng, own, images[i - 7]) for i, own in enumerate(images)]
    truth = system_of(images, texts, range(N_IMAGES))
    counts = dict.fromkeys(["different", *SHARES, "other_length", "copied"], 0)
    for _ in range(N_CORPORA):
        system = system_of(images, texts, np.sort(rng.choice(N_IMAGES, N_ROWS, replace=False)))
        said = verdict_of(system).said
        for name in false_sentences(said, truth, system):
            counts[name] += 1
        counts["different"] += world == "people" and "differs_from_people" in said
    most = N_CORPORA * 0.05 + 3 * np.sqrt(N_CORPORA * 0.05 * 0.95)
    assert {name: count for name, count in counts.items() if count > most} == {}
