"""BLEU and ROUGE-L against the COCO caption code (pycocoevalcap 1.2), to 1e-12: corpora, single captions, odd texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge

from manycaps.functional import bleu, corpus_bleu, rouge_l
from manycaps.kit.words_ptb import ptb_tokens

TEXT = st.lists(st.sampled_from("a the dog cat runs red".split()), max_size=12)


def check(rows):
    """Compare all numbers of rows whose first text is the candidate."""
    texts = {i: [" ".join(tokens) for tokens in row] for i, row in enumerate(rows)}
    references, candidates = {i: row[1:] for i, row in texts.items()}, {i: row[:1] for i, row in texts.items()}
    ours = [row[:1] for row in rows], [row[1:] for row in rows]
    corpus, each = Bleu(4).compute_score(references, candidates, verbose=0)
    assert corpus_bleu(*ours) == pytest.approx(np.array(corpus), abs=1e-12)
    assert bleu(*ours) == pytest.approx(np.array(each).T, abs=1e-12)
    mean, each = Rouge().compute_score(references, candidates)
    assert rouge_l(*ours) == pytest.approx(each, abs=1e-12)
    assert rouge_l(*ours).mean() == pytest.approx(mean, abs=1e-12)


@settings(max_examples=25)
@given(st.lists(st.lists(TEXT, min_size=2, max_size=5), min_size=1, max_size=5))
def test_any_texts(rows):
    check(rows)


def test_captions(caption_samples):
    check(
        [[ptb_tokens(text) for text in [sample["candidates"][0], *sample["references"]]] for sample in caption_samples]
    )
