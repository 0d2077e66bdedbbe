"""BLEU and ROUGE-L as a module: the numbers of pycocoevalcap, and means over a row's candidates."""

import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge

import manycaps
from manycaps import functional
from tests.modules.sample_inputs import CAPTION_ROWS


def test_the_corpus_equals_the_coco_caption_code():
    candidates = [row[0] for row in CAPTION_ROWS["predictions"]]
    result = manycaps.load("bleu_rouge").compute(predictions=candidates, references=CAPTION_ROWS["references"])
    columns = ([[caption] for caption in candidates], CAPTION_ROWS["references"])
    own, theirs = (
        {i: [" ".join(t) for t in functional.ptb_tokenize(row)] for i, row in enumerate(column)} for column in columns
    )
    bleu, each = Bleu(4).compute_score(theirs, own, verbose=0)
    assert [result[f"bleu_{n}_corpus"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert [result[f"bleu_{n}"] for n in (1, 2, 3, 4)] == pytest.approx([sum(x) / len(x) for x in each], abs=1e-12)
    assert result["rouge_l"] == pytest.approx(Rouge().compute_score(theirs, own)[0], abs=1e-12)


def test_rows_are_means_over_candidates():
    result = manycaps.load("bleu_rouge", details=True).compute(**CAPTION_ROWS)
    for key in ("bleu_1", "bleu_4", "rouge_l"):
        each = result[f"{key}_per_candidate"]
        assert [len(row) for row in each] == [len(row) for row in CAPTION_ROWS["predictions"]]
        assert result[f"{key}_per_row"] == pytest.approx([sum(row) / len(row) for row in each], abs=1e-15)
