"""Code that calls pycocoevalcap runs unchanged on a machine without Java: how known projects call it.

Each test is written for this project after the calls that the project named makes.
"""

import contextlib
import importlib
import importlib.util
import json
import pickle
import subprocess
import sys
from collections import defaultdict

import pytest

from manycaps.integrations import coco
from manycaps.integrations.coco.module_names import FINDER
from tests.golden_folders import OWN_GOLDEN
from tests.parity.golden.make_coco_eval import coco_files

pytest.importorskip("pycocotools.coco")
if importlib.util.find_spec("pycocoevalcap") is None:
    pytest.skip("needs pycocoevalcap's data", allow_module_level=True)

KEYS = ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr"]


@pytest.fixture(scope="module")
def golden():
    """What pycocoevalcap computes with Java, with the captions of which it does."""
    annotations, results = coco_files()
    content = json.loads((OWN_GOLDEN / "coco_eval.json").read_text(encoding="utf-8"))
    return {**content, "results": results, "annotations": annotations["annotations"]}


@pytest.fixture(scope="module")
def dataset():
    return coco_files()[0]


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """No program can be started, whatever it is, but by what this yields."""
    start = subprocess.Popen.__init__

    def refuse(*arguments, **options):
        raise FileNotFoundError(f"no program: {arguments[0]}")

    def run(*command):
        with pytest.MonkeyPatch.context() as real:
            real.setattr(subprocess.Popen, "__init__", start)
            return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    with coco.installed():
        yield run


@pytest.fixture
def paths(golden, dataset, tmp_path):
    """Files of annotations and of results."""
    annotated = {**dataset, "info": {}, "licenses": [], "type": "captions"}
    made = tmp_path / "captions_val2014.json", tmp_path / "results.json"
    for path, content in zip(made, (annotated, golden["results"]), strict=True):
        path.write_text(json.dumps(content))
    return list(map(str, made))


def test_the_packages_own_example_lavis_and_nocaps(golden, paths, capsys):
    """Files read by pycocotools; a subset is set by `params`; the table of `eval`, and values of images."""
    from pycocoevalcap.eval import COCOEvalCap
    from pycocotools.coco import COCO

    annotated = COCO(paths[0])
    results = annotated.loadRes(paths[1])
    evaluation = COCOEvalCap(annotated, results)
    evaluation.params["image_id"] = results.getImgIds()
    evaluation.evaluate()
    assert list(evaluation.eval) == KEYS
    assert evaluation.eval == pytest.approx(golden["meta"]["eval"], abs=1e-15, rel=0)
    assert capsys.readouterr().out.splitlines()[-1] == golden["printed"][-1]
    assert {f"{name}: {value:.3f}" for name, value in evaluation.eval.items()} <= set(golden["printed"])
    assert {each["image_id"] for each in evaluation.evalImgs} == set(evaluation.imgToEval)


def test_lmms_eval(golden, dataset):
    """Every metric by itself, with all scorers made each time, and an index made by hand."""
    from pycocoevalcap.eval import Bleu, Cider, COCOEvalCap, Meteor, Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
    from pycocotools.coco import COCO

    values = {}
    for name in reversed(KEYS):
        scorers = {f"Bleu_{n}": Bleu(4) for n in (1, 2, 3, 4)}
        scorers |= {"METEOR": Meteor(), "ROUGE_L": Rouge(), "CIDEr": Cider()}
        annotated = COCO()
        annotated.dataset = dataset
        annotated.createIndex()
        evaluation = COCOEvalCap(annotated, annotated.loadRes(golden["results"]))
        ids = evaluation.params["image_id"]
        gts = PTBTokenizer().tokenize({key: evaluation.coco.imgToAnns[key] for key in ids})
        res = PTBTokenizer().tokenize({key: evaluation.cocoRes.imgToAnns[key] for key in ids})
        score, _ = scorers[name].compute_score(gts, res)
        values[name] = score[int(name[-1]) - 1] if type(score) == list else score  # noqa: E721  # as callers ask
    assert values == pytest.approx(golden["meta"]["eval"], abs=1e-15, rel=0)


def test_the_reward_of_ofa_and_of_self_critical_training(tmp_path):
    """CIDEr-D of five samples an image, with document frequencies of the training set in a pickle."""
    from pyciderevalcap.ciderD.ciderD import CiderD

    words = defaultdict(float, {("a",): 90.0, ("dog",): 10.0, ("a", "dog"): 8.0, ("runs",): 20.0})
    path = tmp_path / "coco-train-words.p"
    path.write_bytes(pickle.dumps({"document_frequency": words, "ref_len": 100}))
    scorer = CiderD(df=str(path))
    references = [["a dog runs fast", "the dog runs"], ["two red kites fly"]]
    sampled = ["a dog runs fast", "a dog", "red kites fly", "two red kites fly", "a cat"]
    image = [0, 0, 1, 1, 1]
    gts = {i: references[image[i]] for i in range(5)}
    res = [{"image_id": i, "caption": [sampled[i]]} for i in range(5)]
    mean, rewards = scorer.compute_score(gts, res)
    assert rewards.shape == (5,)
    assert rewards.argsort()[::-1].tolist()[0] == 3
    assert rewards[3] == pytest.approx(10.0)
    assert rewards[4] == 0.0
    assert mean == pytest.approx(rewards.mean())
    # A batch of one image is a reward, too.
    assert scorer.compute_score({0: references[0]}, res[:1])[1] == pytest.approx(rewards[:1])


def captions_of(golden):
    """References of each image."""
    captions = defaultdict(list)
    for each in golden["annotations"]:
        captions[each["image_id"]].append(each["caption"])
    return captions


def test_vlmevalkit_gives_raw_strings(golden, dataset):
    """Captions go to the scorers as they are: the numbers of pycocoevalcap, and a warning that says what they are."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    gts = captions_of(golden)
    res = {each["image_id"]: [each["caption"]] for each in golden["results"]}
    raw = {}
    for scorer in (Bleu(4), Rouge(), Cider()):
        with pytest.warns(coco.CaptionWarning, match="expected tokens of PTBTokenizer, got"):
            raw[scorer.method()] = scorer.compute_score(gts, res)[0]
    assert raw["CIDEr"] < golden["meta"]["eval"]["CIDEr"]
    with outside():
        theirs = [
            getattr(importlib.import_module(f"pycocoevalcap.{name.lower()}.{name.lower()}"), name)
            for name in ("Bleu", "Rouge", "Cider")
        ]
        assert all(not each.__module__.startswith("manycaps") for each in theirs)
        assert list(raw.values()) == [each().compute_score(gts, res)[0] for each in theirs]


@contextlib.contextmanager
def outside():
    """Within the block, the names belong to the installed package."""

    def take_names():
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("pycocoevalcap")}

    stand_ins = take_names()
    sys.meta_path.remove(FINDER)
    yield
    sys.meta_path.insert(0, FINDER)
    take_names()
    sys.modules.update(stand_ins)


def test_names_come_and_go():
    assert importlib.import_module("pycocoevalcap.eval").Cider is coco.Cider
    assert importlib.import_module("pyciderevalcap.cider.cider").Cider is coco.PlainCider
    with coco.installed():
        pass
    assert importlib.import_module("pycocoevalcap.eval").Cider is coco.Cider
    before = dict(sys.modules)
    coco.install()
    assert sys.modules == before


WITHOUT_THE_PACKAGE = """
import importlib.util, sys
from importlib.machinery import PathFinder
find, find_in = importlib.util.find_spec, PathFinder.find_spec
importlib.util.find_spec = lambda name, *more: None if name == 'pycocoevalcap' else find(name, *more)
PathFinder.find_spec = lambda name, *more: None if name.startswith('pycocoevalcap') else find_in(name, *more)
import manycaps.integrations.coco
manycaps.integrations.coco.install()
from pycocoevalcap.eval import Bleu, Meteor
gts = {1: ['a dog runs'], 2: ['the cat']}
print(Bleu(1).compute_score(gts, gts, verbose=0)[0][0] > 0.99)
try:
    Meteor().compute_score(gts, gts)
except ImportError as error:
    print(error)
"""


def test_a_process_without_the_package(programs):
    """The names are there where pycocoevalcap is not installed; METEOR alone says that it needs data."""
    is_scored, message = programs("-c", WITHOUT_THE_PACKAGE).stdout.splitlines()
    assert is_scored == "True"
    assert message.startswith(
        "METEOR 1.5: expected its data, got none: pycocoevalcap is not installed. Run `pip install pycocoeval"
    )
