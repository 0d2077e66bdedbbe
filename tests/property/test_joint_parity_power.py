"""What the joint p-value finds in real captions of MiniLM: nothing that it found without the length is lost."""

import gzip
import json

import numpy as np
import pytest

import manycaps
from manycaps.kit.parity_power import joint_p_value

pytestmark = [pytest.mark.slow, pytest.mark.realdata]

N_IMAGES, N_CORPORA = 600, 100

NONSENSE = "blorf wug snarp tiv quab melk drint foost"


def sentence(text):
    return f"{text.strip().rstrip('.')}."


def wrong_in(n):
    """One sentence of another image, and n - 1 true ones."""
    return lambda _, own, other: " ".join([sentence(other[1]), *(sentence(text) for text in own[: n - 1])])


# By damage, what a system says of an image: its captions and another image's; and the least share of corpora of 60 and
# of 200 rows in which a difference is found.
DAMAGES = {
    "20% wrong": (lambda i, own, other: other[0] if i % 5 == 0 else own[0], (0.5, 0.95)),
    "generic": (lambda _, own, __: min(own[:2], key=len), (0.35, 0.8)),
    "begun alike": (lambda _, own, __: f"this is a photo of {own[0]}", (0.95, 1)),
    "wrong sentence in 3": (wrong_in(3), (1, 1)),
    "omitted half": (lambda _, own, __: " ".join(own[0].split()[: max(1, len(own[0].split()) // 2)]), (0.95, 1)),
    "repeated word": (lambda _, own, __: f"{own[0].rstrip('.')} {own[0].rstrip('.').split()[-1]}", (0.4, 0.9)),
    "nonsense": (lambda _, own, __: f"{own[0].rstrip('.')} {NONSENSE}", (1, 1)),
}


@pytest.fixture(scope="module")
def images(data_folder):
    with gzip.open(data_folder / "real_systems" / "coco_karpathy_test.json.gz") as file:
        return [row["references"][:5] for row in json.load(file)["rows"][:N_IMAGES]]


@pytest.fixture(scope="module")
def module():
    return manycaps.load("human_parity")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_length_costs_no_power(images, module, damage):
    damaged, least = DAMAGES[damage]
    texts = [damaged(i, own, images[i - 7]) for i, own in enumerate(images)]
    rng = np.random.default_rng(0)
    for n_rows, least_found in zip((60, 200), least, strict=True):
        found, found_without = [], []
        for _ in range(N_CORPORA if n_rows == 60 else N_CORPORA // 4):
            chosen = np.sort(rng.choice(N_IMAGES, n_rows, replace=False))
            result = module.compute(
                predictions=[[texts[i]] for i in chosen], references=[images[i][2:] for i in chosen], details=True
            )
            p_values = [result[f"{test}_p_value"] for test in ("gaps", "tails", "wording", "length")]
            assert result["human_parity_p_value"] == pytest.approx(joint_p_value(*p_values))
            found.append(result["human_parity_p_value"] <= 0.05)
            found_without.append(joint_p_value(*p_values[:3]) <= 0.05)
        print(damage, n_rows, np.mean(found), np.mean(found_without))
        assert np.mean(found) >= np.mean(found_without) - 0.02
        assert np.mean(found) >= least_found
