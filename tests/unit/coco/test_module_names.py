"""The names of pycocoevalcap under `install()`: what callers put in their place, and what they find there."""

import importlib
import inspect
import pathlib
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
    """A scorer that a caller puts in place of another, to skip it."""

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


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A package pyciderevalcap as self-critical repositories bring it, which comes onto `sys.path` late."""
    folder = tmp_path / "cider" / "pyciderevalcap"
    for name in ("ciderD/ciderD.py", "ciderD/ciderD_scorer.py", "cider/cider.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"NAME = {name!r}\nclass CiderD: pass\n")
        (folder / name).with_name("__init__.py").write_text("")
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_a_package_that_comes_onto_the_path_later(repository):
    """Its other modules and names are there, and the classes stay these."""
    ciderd = importlib.import_module("pyciderevalcap.ciderD.ciderD")
    assert importlib.import_module("pyciderevalcap.ciderD.ciderD_scorer").NAME == "ciderD/ciderD_scorer.py"
    assert (ciderd.NAME, ciderd.CiderD) == ("ciderD/ciderD.py", coco.CiderD)
    assert ciderd.__file__ == str(repository / "ciderD" / "ciderD.py")
    assert sys.modules["pyciderevalcap"].__file__ == str(repository / "__init__.py")


def test_names_of_the_installed_package_where_callers_import_them():
    from pycocoevalcap.bleu.bleu import BleuScorer
    from pycocoevalcap.cider.cider import CiderScorer
    from pycocoevalcap.meteor.meteor import METEOR_JAR
    from pycocoevalcap.rouge.rouge import my_lcs
    from pycocoevalcap.tokenizer.ptbtokenizer import PUNCTUATIONS, STANFORD_CORENLP_3_4_1_JAR

    assert BleuScorer("a dog", ["a dog"]).compute_score("closest")[0][0] == pytest.approx(1.0)
    assert CiderScorer("a dog", ["a dog"]).size() == 1
    assert my_lcs("a red dog".split(), "a dog".split()) == 2
    assert ";" in PUNCTUATIONS
    for module, jar in (("meteor.meteor", METEOR_JAR), ("tokenizer.ptbtokenizer", STANFORD_CORENLP_3_4_1_JAR)):
        assert (pathlib.Path(sys.modules[f"pycocoevalcap.{module}"].__file__).parent / jar).is_file()
    message = r"^pycocoevalcap\.bleu\.bleu\.Blue: expected a name of manycaps\.coco or of"
    with pytest.raises(AttributeError, match=message):
        sys.modules["pycocoevalcap.bleu.bleu"].Blue  # noqa: B018


def test_sources_and_reloads():
    module = importlib.import_module("pycocoevalcap.cider.cider")
    assert "class Cider" in inspect.getsource(module)
    assert inspect.getsource(module.Cider) == inspect.getsource(coco.Cider)
    module.Cider = Constant
    assert importlib.reload(module) is module
    assert module.Cider is coco.Cider
    assert importlib.reload(sys.modules["pycocoevalcap"]) is sys.modules["pycocoevalcap"]
    assert importlib.reload(importlib.import_module("pycocoevalcap.eval")).Meteor is coco.Meteor
