"""CHAIR of real captions: the published program's objects of every caption and its values, and the gap's level."""

import gzip
import json

import numpy as np
import pytest

import manycaps
from manycaps import functional

SYSTEMS = ("viecap_coco", "viecap_coco_masked", "viecap_flickr30k")
KEYS = {"chair_s": "CHAIRs", "chair_i": "CHAIRi", "recall": "Recall"}

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def golden(data_folder):
    """What the published program says, and the captions that it read."""
    with gzip.open(data_folder / "golden" / "chair.json.gz") as file:
        values = json.load(file)
    with gzip.open(data_folder / "real_systems" / "coco_karpathy_test.json.gz") as file:
        captions = json.load(file)
    return (
        values
        | {"captions": captions["systems"], "references": [row["references"] for row in captions["rows"]]}
        | {"labels": [values["objects"][str(row["id"])] for row in captions["rows"]]}
    )


def assert_equal(result, expected):
    for key, name in KEYS.items():
        assert result[key] == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_objects_of_every_caption_are_the_published_programs(golden, system):
    result = manycaps.load("chair", details=True).compute(
        predictions=golden["captions"][system], objects=golden["labels"]
    )
    assert_equal(result, golden["systems"][system]["overall"])
    lists = zip(result["objects_per_candidate"], result["hallucinated_per_candidate"], strict=True)
    found = [[[mention[0] for mention in row[0]] for row in both] for both in lists]
    assert found == golden["systems"][system]["rows"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_values_by_references_are_the_published_programs(golden, system):
    references = [row[1:] for row in golden["references"]]
    result = functional.chair([[text] for text in golden["captions"][system]], references)
    assert_equal(result, golden["systems"][system]["by_references_2_to_5"])


def test_people_name_what_no_other_person_names(golden):
    people = [[row[0]] for row in golden["references"]]
    result = functional.chair(people, [row[1:] for row in golden["references"]])
    assert_equal(result, golden["systems"]["first_human_by_other_references"]["overall"])
    assert result["chair_p_value"] > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [50, 100])
def test_level_of_the_gap(golden, n_rows):
    """People against people: p up to 0.05 in 2 to 8% of 400 draws of 100 rows, and of 50."""
    rng = np.random.default_rng(n_rows)
    p_values = []
    for _ in range(400):
        rows = [golden["references"][i] for i in rng.choice(5000, n_rows, replace=False)]
        drawn = [rng.permutation(row[:5]).tolist() for row in rows]
        result = functional.chair([row[:1] for row in drawn], [row[1:] for row in drawn])
        p_values.append(result["chair_p_value"])
    assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.08
