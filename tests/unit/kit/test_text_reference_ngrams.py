"""N-grams of candidates and their references: hand cases, several candidates a row, and every way to sort and keep."""

from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import text_reference_ngrams
from manycaps.kit.text_cider import document_frequencies
from manycaps.kit.text_reference_ngrams import ReferenceNgrams
from tests.oracles import bleu_rouge_loop

TEXT = st.lists(st.sampled_from("a the dog cat runs".split()), max_size=9)
ROWS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=4)), min_size=2, max_size=4
)


def of_rows(rows):
    return ReferenceNgrams.of_rows(*zip(*rows, strict=True))


def test_orders_by_hand():
    [first, second] = of_rows([([["a", "dog", "a"]], [["a", "dog"], ["a", "a"]])]).orders(2)
    assert first.frequency.tolist() == [2, 1, 2, 1, 1]  # "a" of three texts, "dog" of two
    assert first.text.tolist() == [0, 1, 2, 0, 1]
    assert first.documents.tolist() == [1, 1]
    matched = list(zip(first.text[first.of_candidate], first.text[first.of_reference], strict=True))
    assert matched == [(0, 1), (0, 2), (0, 1)]
    assert second.frequency.tolist() == [1, 1, 1, 1]


@given(ROWS)
def test_statistics_of_bleu_equal_the_loop(rows):
    expected = [bleu_rouge_loop.bleu_statistics(text, own) for texts, own in rows for text in texts]
    assert of_rows(rows).bleu_statistics().tolist() == [list(each) for each in expected]


@given(ROWS)
def test_rows_by_themselves_have_the_same_bits(rows):
    """Neither the other rows nor what is kept changes a digit."""
    counts = document_frequencies([own for _, own in rows])
    given = {"frequency": lambda ngram: counts.get(" ".join(ngram), 0), "n_documents": len(rows)}
    counted = of_rows(rows).ciders().tolist()
    assert of_rows(rows).ciders(**given).tolist() == counted
    alone = [value for row in rows for value in of_rows([row]).ciders(**given).tolist()]
    assert alone == counted


def test_nothing_kept_and_every_way_to_sort(monkeypatch):
    rows = [([["a", "dog", "a", "dog"], []], [["a", "dog"], ["dog", "a", "dog"]]), ([["a"]], [["a", "cat", "runs"]])]
    texts = of_rows(rows)
    expected = texts.bleu_statistics(), texts.ciders()
    assert texts.orders(4) is not texts.orders(4)
    monkeypatch.setattr(text_reference_ngrams, "MOST_KEPT_WORDS", 0)
    monkeypatch.setattr(text_reference_ngrams, "KEY_BITS", 1)
    texts = of_rows(rows)
    for first, second in zip(expected, (texts.bleu_statistics(), texts.ciders()), strict=True):
        assert first.tolist() == second.tolist()
    assert texts._kept == []


def test_the_candidate_comes_first():
    rows = [([["dog", "dog", "cat"]], [["dog", "cat", "cow"]]), ([["a"]], [["b"]])]
    turned = [(own, texts) for texts, own in rows]
    assert of_rows(rows).bleu_statistics()[0, :4].tolist() == [2, 1, 0, 0]
    table = {"frequency": lambda ngram: 1.0, "n_documents": 10}
    assert of_rows(rows).ciders(**table)[0] < of_rows(turned).ciders(**table)[0]
