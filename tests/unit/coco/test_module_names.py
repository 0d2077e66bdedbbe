"""The names of pycocoevalcap under `install()`: what callers put in their place, and what they find there."""

import sys

import pytest

from manycaps import coco

ANNOTATIONS = {"annotations": [{"image_id": 1, "caption": "A red dog."}, {"image_id": 2, "caption": "The cat."}]}
RESULTS = [{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat"}]


@pytest.fixture(autouse=True)
def _names():
    with coco.installed():
        yield


class Constant:
    """A scorer that a caller puts in the place of another, to skip it."""

    def compute_score(self, gts, res):
        return 0.5, [0.5] * len(gts)

    def method(self):
        return "constant"


def evaluated(*skipped):
    """The values of the corpus with some scorers skipped; METEOR always is."""
    for name in ("Meteor", *skipped):
        setattr(sys.modules["pycocoevalcap.eval"], name, Constant)
    annotated = coco.CaptionFile(ANNOTATIONS)
    evaluation = sys.modules["pycocoevalcap.eval"].COCOEvalCap(annotated, annotated.loadRes(RESULTS))
    evaluation.evaluate()
    assert set(evaluation.imgToEval[1]) == {"image_id", *evaluation.eval}
    return evaluation.eval


def test_scorers_that_a_caller_replaces_are_used(capsys):
    first = evaluated()
    assert first["METEOR"] == 0.5
    assert first["CIDEr"] != 0.5
    assert "SPICE" not in first
    assert evaluated("Cider", "Spice") == {**first, "CIDEr": 0.5, "SPICE": 0.5}
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2:] == ["computing constant score...", "SPICE: 0.500"]
