"""COCO's files as they are, and the names of pycocoevalcap under install()."""

import importlib
import inspect
import json
import math
import pathlib
import sys

import numpy as np
import pytest

from manycaps.commands.command_line import main
from manycaps.integrations import coco
from tests.modules.sample_inputs import small_meteor15_data
from tests.refusals import assert_refused

ANNOTATIONS = {
    "info": {"year": 2014},
    "images": [{"id": 9, "file_name": "9.jpg"}, {"id": 4}, {"id": 7}],
    "annotations": [
        {"image_id": 4, "id": 1, "caption": "A man watches a film."},
        {"image_id": 9, "id": 2, "caption": "A dog runs on the beach."},
        {"image_id": 4, "id": 3, "caption": "a person and a movie"},
        {"image_id": 7, "id": 4, "caption": "Nobody is here."},
    ],
}
RESULTS = [{"image_id": 4, "caption": "a man watches a movie"}, {"image_id": 9, "caption": "A dog runs."}]


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "annotations.json", tmp_path / "results.json"
    for path, content in zip(paths, (ANNOTATIONS, RESULTS), strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    return paths


def test_a_file_as_pycocotools_reads_it(files, capsys):
    pycocotools = pytest.importorskip("pycocotools.coco")
    ours, theirs = coco.CaptionFile(files[0]), pycocotools.COCO(str(files[0]))
    pairs = [(ours, theirs), (ours.loadRes(files[1]), theirs.loadRes(str(files[1])))]
    for mine, other in pairs:
        assert mine.getImgIds() == other.getImgIds()
        for key in (9, 4, 7, 1):
            captions = [[each["caption"] for each in side.imgToAnns[key]] for side in (mine, other)]
            assert captions[0] == captions[1]


@pytest.mark.parametrize(
    "as_id", [np.int64, np.int32, np.uint8, np.float64, np.float32, float, lambda number: np.arange(10)[number]]
)
def test_ids_of_numpy_and_floats_name_the_images_that_they_equal(as_id, capsys):
    """As in pycocotools: data loaders give such ids, and JSON of other programs has 4.0."""
    pycocotools = pytest.importorskip("pycocotools.coco")
    results = [{**entry, "image_id": as_id(entry["image_id"])} for entry in RESULTS]
    theirs = pycocotools.COCO()
    theirs.dataset = ANNOTATIONS
    theirs.createIndex()
    other = theirs.loadRes([dict(entry) for entry in results])
    retyped_annotations = {
        name: [{**entry, key: as_id(entry[key])} for entry in ANNOTATIONS[name]]
        for name, key in (("images", "id"), ("annotations", "image_id"))
    }
    for annotations, own in ((ANNOTATIONS, results), (retyped_annotations, results), (retyped_annotations, RESULTS)):
        mine = coco.CaptionFile(annotations).loadRes(own)
        assert mine.getImgIds() == [9, 4]
        for key in (9, 4, 7):
            captions = [[entry["caption"] for entry in side.imgToAnns[key]] for side in (mine, other)]
            assert captions[0] == captions[1]


@pytest.mark.parametrize("key", [None, math.nan, [4], {"id": 4}, np.array([4]), 4j])
def test_ids_that_equal_no_image_are_refused(key):
    message = "results[0]: expected an object with image_id and caption, got"
    assert_refused(ValueError, message, coco.CaptionFile(ANNOTATIONS).loadRes, [{"image_id": key, "caption": "a dog"}])


def test_captions_of_an_image_may_be_an_array():
    captions = np.empty(2, object)
    captions[:] = [{"caption": "A dog."}, {"caption": "a cat"}]
    assert coco.PTBTokenizer().tokenize({1: captions, 2: captions[:0]}) == {1: ["a dog", "a cat"]}


def test_files_objects_and_lists_give_the_same(files, capsys):
    data = small_meteor15_data()
    found = coco.evaluate_files(*files, data)
    assert capsys.readouterr().out == ""
    assert coco.evaluate_files(files[0], RESULTS, data).eval == found.eval
    assert found.params["image_id"] == [9, 4] == [each["image_id"] for each in found.evalImgs]
    assert list(found.eval) == ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr"]
    assert found.imgToEval[4]["Bleu_4"] > found.imgToEval[9]["Bleu_4"]


def test_the_command(files, tmp_path, capsys):
    output = tmp_path / "scores.json"
    arguments = ["coco-eval", *map(str, files), "--meteor15-data", small_meteor15_data()]
    assert main([*arguments, "--output", str(output)]) == 0
    printed = capsys.readouterr()
    found = json.loads(output.read_text(encoding="utf-8"))
    assert printed.out.splitlines() == [f"{name}: {value:.3f}" for name, value in found["eval"].items()]
    assert printed.err.splitlines() == ["2 images", str(output)]
    assert found["n_images"] == len(found["images"]) == 2
    # What is warned of is said.
    files[1].write_text(json.dumps(RESULTS[:1]), encoding="utf-8")
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("warning: res: expected at least 2 images, in whose references")
    assert "CIDEr: 0.000" in printed.out


@pytest.mark.parametrize(
    ("annotations", "results", "message"),
    [
        ([], RESULTS, "annotations.json': expected an object with \"annotations\", got []. Give COCO's layout"),
        ({"annotations": [{"image_id": 1}]}, RESULTS, "annotations[0]: expected an object with image_id and caption"),
        ({"annotations": [], "images": [{"no": 1}]}, RESULTS, "images[0]: expected an object with an id, got"),
        (ANNOTATIONS, {}, "results.json': expected a list of captions, got {}. Give [{"),
        (ANNOTATIONS, [{"image_id": [4], "caption": "a"}], "[0]: expected an object with image_id and caption, got"),
        (ANNOTATIONS, [{"image_id": "4", "caption": "a"}], "got none of these in 1 row, the first with the id '4'."),
        ({**ANNOTATIONS, "annotations": []}, RESULTS, "res: expected one candidate for each of the 0 images of gts"),
    ],
)  # fmt: skip
def test_bad_files(annotations, results, message, tmp_path, capsys):
    paths = tmp_path / "annotations.json", tmp_path / "results.json"
    for path, content in zip(paths, (annotations, results), strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    assert main(["coco-eval", *map(str, paths), "--meteor15-data", small_meteor15_data()]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert main(["coco-eval", str(tmp_path / "none.json"), "results.json"]) == 1
    assert "none.json': expected a JSON file, got" in capsys.readouterr().err


# The names of pycocoevalcap under `install()`: what callers put in their place, and what they find there.

ANNOTATIONS_OF_NAMES = {
    "annotations": [{"image_id": 1, "caption": "A red dog."}, {"image_id": 2, "caption": "The cat."}]
}
RESULTS_OF_NAMES = [{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat"}]


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


def evaluate(*skipped):
    """The values of the corpus with some scorers skipped; METEOR always is."""
    module = importlib.import_module("pycocoevalcap.eval")
    for name in ("Meteor", *skipped):
        setattr(module, name, Constant)
    annotated = coco.CaptionFile(ANNOTATIONS_OF_NAMES)
    evaluation = module.COCOEvalCap(annotated, annotated.loadRes(RESULTS_OF_NAMES))
    evaluation.evaluate()
    assert set(evaluation.imgToEval[1]) == {"image_id", *evaluation.eval}
    return evaluation.eval


def test_scorers_that_a_caller_replaces_are_used(capsys):
    first = evaluate()
    assert first["METEOR"] == 0.5
    assert first["CIDEr"] != 0.5
    assert "SPICE" not in first
    assert evaluate("Cider", "Spice") == {**first, "CIDEr": 0.5, "SPICE": 0.5}
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


def test_sources_are_those_of_the_classes():
    module = importlib.import_module("pycocoevalcap.cider.cider")
    assert "class Cider" in inspect.getsource(module)
    assert inspect.getsource(module.Cider) == inspect.getsource(coco.Cider)
