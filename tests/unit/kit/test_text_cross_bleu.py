"""BLEU of each candidate with each row, against the kernel that scores one row at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit.text_bleu import bleu_scores, bleu_statistics
from manycaps.kit.text_cross_bleu import CrossBleu

TEXT = st.lists(st.sampled_from("abc"), max_size=7)
ROWS = st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), ROWS, st.integers(1, 4))
def test_every_pair_equals_its_own_score(candidates, rows, order):
    table = CrossBleu(candidates, rows, order)
    expected = [
        [bleu_scores(bleu_statistics([candidate], [row]))[0, order - 1] for row in rows] for candidate in candidates
    ]
    assert table.scores(0, len(candidates)) == pytest.approx(np.array(expected), abs=1e-12)
