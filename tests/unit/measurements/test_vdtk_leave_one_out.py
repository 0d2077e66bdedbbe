"""Leave-one-out by hand and by the COCO caption code: draws, scores of every kind, masking, messages."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from tqdm import tqdm

from manycaps import functional
from manycaps.kit import text_cider_table
from manycaps.kit.leave_one_out_draws import draws, iteration_values, summary
from manycaps.kit.leave_one_out_masking import masked_captions, without_tail
from manycaps.kit.leave_one_out_options import check_interval, check_metrics, check_numbers
from manycaps.kit.leave_one_out_scores import METRICS, Sources, scored_texts
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.text_cider_table import CiderTable
from manycaps.kit.text_ngrams import RowTexts
from tests.each_case import each_case
from tests.meteor15_data import write_data
from tests.oracles import triangle_rank_loop

WORDS = "a the dog cat runs red".split()
ROWS = st.lists(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=2, max_size=5), min_size=2, max_size=4)


class SuffixLexicon:
    """Stems without an s, and no synonyms."""

    def stem(self, word):
        return word.removesuffix("s")

    def synonyms(self, stem):
        return frozenset()


def own_values(rows, draw, metrics, meteor15=None):
    """Values of one iteration."""
    vectors = [np.random.default_rng(len(row)).normal(size=(len(row), 3)) for row in rows]
    tables = scored_texts(rows, metrics, Sources(SuffixLexicon, lambda: meteor15, lambda: vectors, "biased"))
    values = iteration_values(tables, RowTexts(map(len, rows)), [draw])
    return {key: value for key, (value,) in values.corpus.items()}


def as_columns(rows, draw):
    """Hypothesis and references of every row of a draw, as token lists."""
    texts = RowTexts(map(len, rows))
    flat = [tokens for row in rows for tokens in row]
    position, other = texts.members(np.arange(len(rows)), draw.references)
    references = [[flat[i] for i in other[position == row]] for row in range(len(rows))]
    return [[flat[i] for i in hypotheses] for hypotheses in draw.hypotheses], references


def one_draw(rows, n_references, seed=0, n_hypotheses=1):
    texts = RowTexts(map(len, rows))
    return next(draws([[str(text) for text in row] for row in rows], texts, 1, n_references, seed, n_hypotheses))


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sampled_from([None, 1, 2]))
def test_an_iteration_equals_the_coco_caption_code(rows, n_references):
    draw = one_draw(rows, n_references)
    hypotheses, references = as_columns(rows, draw)
    assume(any(tokens for row in references for tokens in row))  # else the COCO caption code fails
    values = own_values(rows, draw, ("bleu", "rouge_l", "cider_d", "meteor"))
    theirs = [{i: [" ".join(t) for t in row] for i, row in enumerate(column)} for column in (references, hypotheses)]
    bleu = Bleu(4).compute_score(*theirs, verbose=0)[0]
    assert [values[f"bleu_{n}"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert values["rouge_l"] == pytest.approx(Rouge().compute_score(*theirs)[0], abs=1e-12)
    assert values["cider_d"] == pytest.approx(Cider().compute_score(*theirs)[0], abs=1e-12)
    meteor = functional.meteor(hypotheses, references, SuffixLexicon())
    assert values["meteor"] == pytest.approx(meteor.mean(), abs=1e-12)


@pytest.mark.parametrize("n_references", [None, 2])
def test_meteor15_and_triangle_ranks_of_an_iteration(tmp_path, n_references):
    rows = [["a big dog runs", "a large puppy ran", "the dog", "a dog"], ["the movie", "the film", "a film", "films"]]
    rows = [[text.split() for text in row] for row in rows]
    data = write_data(tmp_path)
    draw = one_draw(rows, n_references, seed=3)
    lexicon = load_lexicon(data, tqdm)
    values = own_values(rows, draw, ("meteor15", "trm_meteor", "trm_cider"), lexicon)
    hypotheses, references = as_columns(rows, draw)
    # Of two rows with as many words the corpus is not the mean: the module meteor15 has it.
    from manycaps import load

    columns = {"predictions": hypotheses, "references": references}
    joined = {name: [[" ".join(tokens) for tokens in row] for row in column] for name, column in columns.items()}
    expected = load("meteor15", meteor15_data=data).compute(**joined)["meteor15"]
    assert values["meteor15"] == pytest.approx(expected, abs=1e-12)
    assert expected > 0
    texts = [[*h, *r] for h, r in zip(hypotheses, references, strict=True)]
    distances = functional.meteor_distances(texts, SuffixLexicon())
    each = [triangle_rank_loop.statistic(d, [0], range(1, len(d)), "per_side") for d in distances]
    assert values["trm_meteor"] == pytest.approx(np.mean(each), abs=1e-12)
    assert 0 <= values["trm_cider"] <= 4 / 3


def test_parts_do_not_matter(monkeypatch):
    rows = [[["a", "dog", "runs"], ["a", "dog"], ["the", "dog", "runs"]], [["a", "cat"], ["a", "cat", "runs"]]]
    draw = one_draw(rows, None)
    whole = CiderTable(rows).scores(draw.hypotheses[:, 0], draw.references)
    monkeypatch.setattr(text_cider_table, "MAX_TERMS", 1)
    assert CiderTable(rows).scores(draw.hypotheses[:, 0], draw.references) == pytest.approx(whole, abs=1e-15)


@pytest.mark.parametrize(("sizes", "n_references", "n_drawn"), [([3, 2], None, [2, 1]), ([6, 2], 3, [3, 1])])
def test_draws_take_every_caption_equally_often_and_never_as_its_own_reference(sizes, n_references, n_drawn):
    rows, texts, n = [[f"{i} {k}" for k in range(size)] for i, size in enumerate(sizes)], RowTexts(sizes), 600
    hypotheses, others = np.zeros(sum(sizes)), np.zeros(sum(sizes))
    for draw in draws(rows, texts, n, n_references, seed=1):
        position, members = texts.members(np.arange(2), draw.references)
        assert np.bincount(position).tolist() == n_drawn
        assert len({*members.tolist(), *draw.hypotheses.ravel().tolist()}) == sum(n_drawn) + 2
        hypotheses[draw.hypotheses] += 1
        others[members] += 1
    for counted, shares in ((hypotheses, [1, 1]), (others, n_drawn)):
        expected = np.repeat([share / size for share, size in zip(shares, sizes, strict=True)], sizes)
        assert counted == pytest.approx(n * expected, abs=4 * np.sqrt(n / 4))


def test_what_is_drawn_for_a_row_does_not_depend_on_its_place():
    rows = [["a", "b", "c"], ["d", "e"], ["a", "b", "c"]]
    first = [d.hypotheses[:, 0] for d in draws(rows, RowTexts([3, 2, 3]), 60, None, 0)]
    second = [d.hypotheses[:, 0] for d in draws(rows[1:] + rows[:1], RowTexts([2, 3, 3]), 60, None, 0)]
    places = np.array(first) - [0, 3, 5]
    assert (places == (np.array(second) - [0, 2, 5])[:, [1, 0, 2]]).all()
    assert (places[:, 0] != places[:, 2]).any()  # equal rows draw independently
    other = [d.hypotheses[:, 0] for d in draws(rows, RowTexts([3, 2, 3]), 60, None, 1)]
    assert not np.array_equal(first, other)


def test_one_iteration_has_no_standard_error():
    assert summary([0.5], 0.95)[:3] == (0.5, 0.5, 0.5)
    assert np.isnan(summary([0.5], 0.95)[3])


TAGS = {"a": "DET", "the": "DET", "red": "ADJ", "dog": "NOUN", "runs": "VERB", "rex": "PROPN", ".": "PUNCT"}


def tagged(caption):
    return [(word, TAGS[word.lower()]) for word in caption.replace(".", " .").split()]


def test_nouns_proper_nouns_and_verbs_are_masked_and_nothing_else():
    rows = [["A dog runs.", "the red dog"], ["Rex runs"]]
    masked = masked_captions(rows, tagged)
    tokens = functional.ptb_tokenize([caption for row in masked for caption in row])
    assert [["unknown" if t.startswith("unknown") else t for t in row] for row in tokens] == [
        ["a", "unknown", "unknown"],
        ["the", "red", "unknown"],
        ["unknown", "unknown"],
    ]
    unknown = [token for row in tokens for token in row if token.startswith("unknown")]
    assert len(set(unknown)) == len(unknown) == 5
    # No unknown is a word of the captions.
    words = masked_captions([["unknown0x dog"]], lambda c: [("unknown0x", "ADJ"), ("dog", "NOUN")])
    assert words == [["unknown0x  unknownq0x "]]
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    for word, tag in TAGS.items():
        ruler.add(patterns=[[{"LOWER": word}]], attrs={"POS": tag})
    assert masked_captions(rows, pipeline) == masked


def test_the_tail_becomes_unknown():
    rows = [[["a", "dog"], ["a", "cat"]], [["a", "dog"], ["b"]]]
    # 7 tokens: a (3) and dog (2) make up 5/7; b and cat, once each, are the tail.
    assert without_tail(rows, 5 / 7) == [[["a", "dog"], ["a", "unknown0x"]], [["a", "dog"], ["unknown1x"]]]
    assert without_tail(rows, 0.72) == [[["a", "dog"], ["a", "unknown0x"]], [["a", "dog"], ["b"]]]


# Calls with the message that refuses them.
REFUSED = {
    TypeError: [
        (lambda: check_metrics("bleu"), "metrics: expected a list or tuple of names, got str. Give for"),
        (lambda: check_numbers(1, 1.5, 1, 0), "n_references: expected a whole number, got float. Give an int"),
        (lambda: check_interval(None), "confidence_level: expected a number, got None. Give a float such"),
        (
            lambda: masked_captions([["a dog"]], lambda c: "NOUN"),
            "pos: expected a list of (word, tag) pairs for the caption 'a dog', got str",
        ),
    ],
    ValueError: [
        (lambda: check_metrics(()), "metrics: expected at least one name, got none. Give for example"),
        (lambda: check_metrics(["spice"]), "metrics[0]: expected one of 'bleu', 'rouge_l', 'cider_d', "),
        (lambda: check_metrics(["bleu", "bleu"]), "metrics[1]: expected each metric once, got 'bleu' aga"),
        (lambda: check_numbers(0, None, 1, 0), "n_iterations: expected a whole number of at least 1, got 0."),
        (lambda: check_numbers(1, 0, 1, 0), "n_references: expected a whole number of at least 1, got 0."),
        (lambda: check_numbers(1, None, 1, -1), "seed: expected a whole number of at least 0, got -1."),
        (lambda: check_interval(95), "confidence_level: expected a number between 0 and 1, got 95. Write"),
        (
            lambda: masked_captions([["a dog"]], lambda c: [("cat", "NOUN")]),
            "pos: expected the words of the caption 'a dog' in their order, got 'cat'. Return them as they are",
        ),
    ],
}


@each_case(("error", "call", "message"), [(error, *case) for error, cases in REFUSED.items() for case in cases])
def test_messages(error, call, message):
    with pytest.raises(error) as found:
        call()
    assert str(found.value).startswith(message)


def test_every_metric_has_its_keys():
    rows = [[["a", "dog"], ["a", "cat"], ["x"], ["y"]], [["x", "y"], ["x", "y"], ["y"], ["z"]]]
    for metric, keys in METRICS.items():
        if metric != "meteor15":
            assert tuple(own_values(rows, one_draw(rows, None, n_hypotheses=2), (metric,))) == keys
