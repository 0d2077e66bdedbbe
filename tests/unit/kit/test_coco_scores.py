"""The seven numbers of coco_caption: those of pycocoevalcap, several candidates, oracles, languages."""

import math

import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

import manycaps
from manycaps import functional
from manycaps.integrations.coco import Meteor
from manycaps.kit.ngrams import document_frequencies
from tests.modules.sample_inputs import CAPTION_ROWS, small_meteor15_data

# The seven numbers as a module: pycocoevalcap's, several candidates, the oracle, and document frequencies.

KEYS = ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr"]


@pytest.fixture(scope="module")
def module():
    return manycaps.load("coco_caption", meteor15_data=small_meteor15_data())


def package_values(candidates, references):
    """Values of the classes of pycocoevalcap, and METEOR's of this project, for one candidate a row."""
    texts = (
        {i: [" ".join(tokens) for tokens in functional.ptb_tokenize(row)] for i, row in enumerate(column)}
        for column in (references, [[caption] for caption in candidates])
    )
    gts, res = texts
    corpus, each = Bleu(4).compute_score(gts, res, verbose=0)
    found = dict(zip(KEYS, zip(corpus, each, strict=True), strict=False))
    found["METEOR"] = Meteor(small_meteor15_data()).compute_score(gts, res)
    return found | {"ROUGE_L": Rouge().compute_score(gts, res), "CIDEr": Cider().compute_score(gts, res)}


def test_one_candidate_a_row_is_the_coco_caption_code(module):
    candidates = [row[0] for row in CAPTION_ROWS["predictions"]]
    result = module.compute(predictions=candidates, references=CAPTION_ROWS["references"], details=True)
    expected = package_values(candidates, CAPTION_ROWS["references"])
    for key in KEYS:
        corpus, each = expected[key]
        assert result[key] == pytest.approx(corpus, abs=1e-15), key
        assert result[f"{key}_per_row"] == [float(value) for value in each], key
    assert result["METEOR_mean"] == pytest.approx(sum(expected["METEOR"][1]) / 4, abs=1e-15)


def test_several_candidates_are_means_and_the_best_of_each_row_is_an_oracle(module):
    result = module.compute(**CAPTION_ROWS, best_of=True, details=True)
    for key in KEYS:
        each = result[f"{key}_per_candidate"]
        assert [len(row) for row in each] == [len(row) for row in CAPTION_ROWS["predictions"]]
        assert result[f"{key}_per_row"] == pytest.approx([sum(row) / len(row) for row in each], abs=1e-15)
        best = [max(range(len(row)), key=row.__getitem__) for row in each]  # the first among equals
        assert result[f"{key}_best_of_per_row"] == [max(row) for row in each]
        chosen = [row[i] for row, i in zip(CAPTION_ROWS["predictions"], best, strict=True)]
        expected = package_values(chosen, CAPTION_ROWS["references"])[key][0]
        assert result[f"{key}_best_of"] == pytest.approx(expected, abs=1e-15), key
    assert not any(key.endswith("_best_of") for key in module.compute(**CAPTION_ROWS))


def test_document_frequencies(module):
    table = document_frequencies(functional.ptb_tokenize(row) for row in CAPTION_ROWS["references"])
    given = {"n_documents": 4, "document_frequency": table}
    counted = module.compute(**CAPTION_ROWS, details=True)
    from_table = module.compute(**CAPTION_ROWS, document_frequency=given, details=True)
    assert from_table["CIDEr_per_candidate"] == counted["CIDEr_per_candidate"]
    assert "document_frequency:references|n_documents:4" in counted["signature"]
    assert "document_frequency:table|n_documents:4" in from_table["signature"]
    one = {name: rows[:1] for name, rows in CAPTION_ROWS.items()}
    alone = module.compute(**one)
    assert math.isnan(alone["CIDEr"])
    assert 0 < alone["METEOR"] < 1
    assert module.compute(**one, document_frequency=given)["CIDEr"] == pytest.approx(counted["CIDEr_per_row"][0])


def test_meteor_of_another_language():
    columns = {
        "predictions": [["Zwei Hunde laufen am Strand.", "eine Frau liest"], ["zwei Frauen lasen Bücher"]],
        "references": [["Ein Hund läuft über den Strand.", "Hunde am Strand"], ["Die Frau las ein Buch"]],
    }
    german = manycaps.load("coco_caption", language="de", best_of=True, details=True)
    found = german.compute(**columns)
    english = german.compute(**columns, language="en", meteor15_data=small_meteor15_data())
    expected = manycaps.load("meteor15", language="de", details=True).compute(**columns)
    assert found["METEOR"] == expected["meteor15"] != english["METEOR"]
    assert found["METEOR_per_candidate"] == expected["meteor15_per_candidate"]
    assert found["METEOR_best_of"] != english["METEOR_best_of"]
    assert found["CIDEr"] == english["CIDEr"]
    assert "|language:de|stems:" in found["signature"]
    assert "language" not in english["signature"]
    with pytest.raises(ValueError, match="language: expected one of 'en', 'de', .*, got 'xx'"):
        german.compute(**columns, language="xx")
