"""Input of which numbers say nothing is warned of, with the remedy; clean input is not."""

import json
import warnings

import pytest

from manycaps import coco
from tests.each_case import each_case
from tests.golden_folders import OWN_GOLDEN

TWO = {1: ["a dog runs"], 2: ["the cat"]}


def tokenized(captions):
    return coco.PTBTokenizer().tokenize({key: [{"caption": text}] for key, text in captions.items()})


def test_clean_captions_warn_of_nothing():
    golden = json.loads((OWN_GOLDEN / "captions.json").read_text(encoding="utf-8"))["rows"]
    rows = [row for row in golden if not row["_id"].startswith("nasty/")]
    sides = [{row["_id"]: row[name] for row in rows} for name in ("references", "candidates")]
    sides[1] = {key: texts[:1] for key, texts in sides[1].items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gts, res = (
            coco.PTBTokenizer().tokenize({key: [{"caption": text} for text in texts] for key, texts in side.items()})
            for side in sides
        )
        for scorer in (coco.Bleu(), coco.Rouge(), coco.Cider()):
            scorer.compute_score(gts, res)
        coco.Rouge().compute_score(*[{1: ["they meet at 5 p.m."], 2: ["the st. bernard lives in the u.s."]}] * 2)
        # Rewards of training are numbers of words, and one image is enough where there is a table.
        table = {"n_documents": 10, "document_frequency": {"12 7": 3}}
        coco.CiderD(df=table).compute_score({0: ["12 7 0"]}, [{"image_id": 0, "caption": ["12 7 0"]}])


@each_case(
    ("compute", "message"),
    [
        (
            lambda: coco.Cider().compute_score({1: ["a dog"]}, {1: ["a dog"]}),
            r"^res: expected at least 2 images, in whose references document frequencies are counted, got 1: every "
            r"weight is log\(1 / 1\) = 0, and so is CIDEr\. Score all images in one call",
        ),
        (
            lambda: coco.Bleu().compute_score(TWO, {1: ["A dog runs"], 2: ["the cat"]}, verbose=0),
            r"^captions: expected tokens of PTBTokenizer, got 1 of 4 captions with capitals or a final period \('A dog "
            r"runs'\).*Call PTBTokenizer\(\)\.tokenize on candidates and references first\.$",
        ),
        (
            lambda: coco.Cider().compute_score(TWO, {1: [" ".join(["a dog"] * 15)], 2: [" ".join(["the cat"] * 15)]}),
            r"^res: expected candidates about as long as references, got 30\.0 words on average beside 2\.5: the "
            r"length penalty of CIDEr-D leaves 2\.7e-05 of a score\. Ask the model for captions like the references",
        ),
        (
            lambda: tokenized({1: "一只狗在海滩上奔跑", 2: "หมาวิ่งบนชายหาด"}),
            r"^captions: expected words with spaces between them, got 2 of 2 in a script without .*Split them into",
        ),
        (
            lambda: coco.Bleu().compute_score(TWO, {1: [""], 2: ["the cat"]}, verbose=0),
            r"^res: expected a word in every candidate, got 1 of 2 without: they score 0 and count in the means\.",
        ),
    ],
)
def test_warnings(compute, message):
    with pytest.warns(coco.CaptionWarning, match=message) as caught:
        compute()
    # At the caller's line, not in the package.
    assert {warning.filename for warning in caught} == {__file__}
