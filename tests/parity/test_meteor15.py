"""METEOR 1.5 against the Java program: golden statistics and scores in all languages, the slow loop, and the program.

Statistics are whole numbers and equal. Scores: 4e-16, because Java's own `Math.pow` moves by 2.2e-16 with the compiler
that HotSpot chooses.
"""

import gzip
import importlib.util
import json
import random
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tqdm import tqdm

from manycaps.kit import meteor15_data, meteor15_scores, meteor15_search
from manycaps.kit.meteor15_scores import best_statistics, corpus_score, pair_statistics, scores
from manycaps.kit.meteor15_search import BEAM_SIZE
from manycaps.kit.meteor15_words import LANGUAGES, Meteor15Lexicon
from tests.golden_folders import OWN_GOLDEN
from tests.language_captions import PARTS, paraphrases, segments
from tests.meteor15_data import WORDS, small_lexicon, write_data
from tests.oracles import meteor15_loop

SCORE_TOLERANCE = 4e-16
NEEDS_DATA = pytest.mark.skipif(importlib.util.find_spec("pycocoevalcap") is None, reason="needs pycocoevalcap's data")


def no_bar(steps, **_):
    return steps


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The lexicon of the small data, as the fast code and as the loop take it."""
    data = meteor15_data.load_meteor15_data(write_data(tmp_path_factory.mktemp("meteor15")), tqdm)
    return Meteor15Lexicon(data), small_lexicon()


@pytest.fixture(scope="module")
def english():
    """The lexicon of the program's own data."""
    return meteor15_data.load_lexicon(None, tqdm)


def compare_with_loop(texts, small):
    fast, slow = small
    pairs = [(i, j) for i in range(len(texts)) for j in range(len(texts))]
    found = pair_statistics(texts, *zip(*pairs, strict=True), fast)
    for (i, j), statistics in zip(pairs, found.tolist(), strict=True):
        assert statistics == meteor15_loop.statistics(texts[i], texts[j], slow), (texts[i], texts[j])
    assert scores(found).tolist() == [meteor15_loop.score_of(statistics) for statistics in found.tolist()]


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=11), min_size=1, max_size=4))
@settings(max_examples=150)
def test_any_pair_of_texts_as_in_the_loop(small, texts):
    compare_with_loop(texts, small)


def test_texts_with_more_paths_than_the_beam_has(small):
    generator = random.Random(0)
    few = "a a the the dog puppy man person of 20s 225".split()
    texts = [generator.choices(few, k=n) for n in (14, 17, 20, 14)]
    kept = []
    sort = meteor15_loop.best_paths

    def best_paths(paths):
        kept.append(len(paths))
        return sort(paths)

    meteor15_loop.best_paths = best_paths
    try:
        compare_with_loop(texts, small)
    finally:
        meteor15_loop.best_paths = sort
    assert max(kept) > 2 * BEAM_SIZE


@pytest.mark.slow
def test_texts_of_more_words_than_a_machine_word_has_bits(small):
    generator = random.Random(1)
    texts = [generator.choices(WORDS, k=n) for n in (63, 64, 65, 90)]
    compare_with_loop(texts, small)


def test_numbers_of_paths_that_do_not_fit_a_machine_word(small, monkeypatch):
    generator = random.Random(2)
    texts = [generator.choices(WORDS, k=15) for _ in range(4)]
    monkeypatch.setattr(meteor15_search, "MACHINE_WORD_BITS", 0)
    compare_with_loop(texts, small)


def test_texts_too_long_for_the_search_are_refused(small, monkeypatch):
    monkeypatch.setattr(meteor15_search, "RANK_BITS", 9)
    message = r"^texts: expected two that METEOR 1.5 can align, got \d+ words each\. Shorten texts of tho"
    with pytest.raises(ValueError, match=message):
        pair_statistics([["a", "a", "dog"] * 3], [0], [0], small[0])


@pytest.mark.parametrize("name", ["MOST_CELLS", "MOST_MATCHES"])
def test_a_pair_that_takes_too_much_is_refused(small, monkeypatch, name):
    monkeypatch.setattr(meteor15_scores, name, 80)
    texts = [["a", "dog"], ["a"] * 9]
    message = (
        r"^texts: expected two that METEOR 1\.5 can align within bounds, got 9 words, many of them matches, that begin "
        r"'a a a a a a a a a'\. Shorten texts of thousands of words\.$"
    )
    with pytest.raises(ValueError, match=message):
        pair_statistics(texts, [0, 1, 0], [0, 1, 1], small[0])
    assert pair_statistics(texts, [0, 0], [0, 1], small[0])[0, 4:6].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("module", "name", "size"),
    [
        (meteor15_scores, "MAX_PAIRS", 5),
        (meteor15_scores, "MAX_CELLS", 5),
        (meteor15_scores, "MAX_WORDS", 5),
        (meteor15_search, "PAIRS_PER_SEARCH", 7),
    ],
)
def test_batches_and_searches_of_any_size(small, monkeypatch, module, name, size):
    generator = random.Random(3)
    texts = [generator.choices(WORDS, k=generator.randrange(12)) for _ in range(9)]
    pairs = np.indices((9, 9)).reshape(2, -1)
    whole = pair_statistics(texts, *pairs, small[0])
    monkeypatch.setattr(module, name, size)
    assert pair_statistics(texts, *pairs, small[0]).tolist() == whole.tolist()


def test_the_first_of_equally_good_references_counts(small):
    fast, slow = small
    references = [["a dog", "a cat"], ["the dog", "a dog runs", "a dog runs"], ["x y", "z"]]
    candidates = [["a dog", "cats"], ["a puppy runs"], ["of x"]]
    found = best_statistics(candidates, references, fast, no_bar)
    expected = [
        meteor15_loop.best_statistics(text.split(), [reference.split() for reference in row], slow)
        for texts, row in zip(candidates, references, strict=True)
        for text in texts
    ]
    assert found.tolist() == expected
    assert corpus_score(found) == meteor15_loop.corpus_score(expected)


def test_no_pairs(small):
    assert pair_statistics([], [], [], small[0]).shape == (0, 23)


def statistics_of(pairs, lexicon):
    """The statistics of texts, each against its best reference."""
    return best_statistics([[text] for text, _ in pairs], [others for _, others in pairs], lexicon, no_bar)


def check_scores(found, expected, settings=LANGUAGES["en"]):
    """Compare scores with the expected ones of the segments and, last, of the corpus."""
    *expected_segments, expected_corpus = map(float, expected)
    assert scores(found, settings) == pytest.approx(expected_segments, abs=SCORE_TOLERANCE, rel=0)
    assert corpus_score(found, settings) == pytest.approx(expected_corpus, abs=SCORE_TOLERANCE, rel=0)


def compare_with_golden(golden, lexicon):
    found = statistics_of([(s["hypothesis"], s["references"]) for s in golden], lexicon)
    expected = np.array([s["statistics"] for s in golden])
    wrong = np.flatnonzero((found != expected).any(axis=1))
    assert [golden[i] for i in wrong[:3]] == []
    assert scores(found) == pytest.approx([float(s["score"]) for s in golden], abs=SCORE_TOLERANCE, rel=0)
    return found


@NEEDS_DATA
def test_golden_segments(english):
    golden = json.loads((OWN_GOLDEN / "meteor15.json").read_text(encoding="utf-8"))
    found = compare_with_golden(golden["segments"], english)
    assert len(found) > 500
    # Every kind of match is there, on both sides.
    assert (found[:, [*range(4, 12), *range(12, 20)]].max(axis=0) > 0).sum() >= 14
    assert corpus_score(found) == pytest.approx(float(golden["meta"]["corpus_score"]), abs=SCORE_TOLERANCE, rel=0)


@pytest.mark.slow
@NEEDS_DATA
@pytest.mark.realdata
@pytest.mark.parametrize("part", ["flickr_loo4", "flickr_single", "coco", "msvd_loo", "long_adv", "uni_adv", "edge"])
def test_golden_segments_of_real_captions(data_folder, english, part):
    with gzip.open(data_folder / "golden" / "meteor15.json.gz", "rt", encoding="utf-8") as file:
        segments = json.load(file)[part]
    assert len(segments) > 200
    compare_with_golden(segments, english)


@NEEDS_DATA
@pytest.mark.realdata
def test_the_corpus_score_of_coco(data_folder, english):
    rows = json.loads((data_folder / "coco_val_1000.json").read_text(encoding="utf-8"))
    candidates, references = ([row[side] for row in rows] for side in ("candidates", "references"))
    found = best_statistics(candidates, references, english, no_bar)
    assert round(corpus_score(found), 6) == 0.189302
    assert round(scores(found).mean(), 6) == 0.194009


@pytest.mark.slow
@NEEDS_DATA
@pytest.mark.java
@pytest.mark.skipif(not shutil.which("java"), reason="needs Java")
def test_the_program_itself(english):
    from tests.parity.golden.make_meteor15 import answers

    generator = random.Random(5)
    rows = json.loads((OWN_GOLDEN / "captions.json").read_text(encoding="utf-8"))["rows"]
    words = sorted({word for row in rows for text in row["references"] for word in text.split()})
    odd = [*"20s 225 as c5 “ -- a--b p.m. No. 5 don't ... 1,000 Ž İ 😀".split(), "\u2003"]
    texts = [" ".join(generator.choices(words[::3] + odd, k=generator.randrange(1, 40))) for _ in range(400)]
    pairs = [(text, list(others)) for text, *others in zip(texts, texts[1:], texts[7:], strict=False)]
    statistics, expected, expected_corpus = answers(pairs)
    found = statistics_of(pairs, english)
    wrong = np.flatnonzero((found != np.array(statistics)).any(axis=1))
    assert [pairs[i] for i in wrong] == []
    check_scores(found, [*expected, expected_corpus])


@NEEDS_DATA
def test_line_breaks_and_bars_are_text(english):
    """They break the program's protocol; here they are white space, and words."""
    plain, broken = "a dog runs", "a dog\nruns"
    found = best_statistics([[plain]] * 2, [[plain], [broken]], english, no_bar)
    assert found[0].tolist() == found[1].tolist()
    [bars] = best_statistics([["a ||| b"]], [["a ||| b"]], english, no_bar).tolist()
    assert bars[:2] == [5, 5]


def as_printed(statistics, language):
    """The columns as the program prints them: one kind after the other of those that the language has."""
    printed = np.array(statistics)
    printed[:, 4:20] = 0
    kinds = [kind for kind, weight in enumerate(LANGUAGES[language].weights) if weight]
    for place, kind in enumerate(kinds):
        printed[:, 4 + 4 * place : 8 + 4 * place] = statistics[:, 4 + 4 * kind : 8 + 4 * kind]
    return printed


@NEEDS_DATA
@pytest.mark.parametrize("language", PARTS)
def test_golden_segments_of_other_languages(language):
    golden = json.loads((OWN_GOLDEN / "meteor15_languages.json").read_text(encoding="utf-8"))[language]
    rows = [line.split() for line in golden[:-1]]
    found = statistics_of(segments(language, len(rows)), meteor15_data.load_lexicon(None, tqdm, language))
    assert len(found) == 120
    expected = [[int(number) for number in row[:-1]] for row in rows]
    assert as_printed(found, language)[:, [*range(12), *range(20, 23)]].tolist() == expected
    check_scores(found, [*(row[-1] for row in rows), golden[-1]], LANGUAGES[language])
    # Stems match in every language that has a stemmer.
    assert (found[:, 8:12].sum() > 5) == (LANGUAGES[language].weights[1] > 0)


@pytest.mark.slow
@NEEDS_DATA
@pytest.mark.java
@pytest.mark.skipif(not shutil.which("java"), reason="needs Java")
@pytest.mark.parametrize("language", PARTS)
@pytest.mark.parametrize("data", ["stems", "paraphrases", "own function words"])
def test_the_program_itself_in_other_languages(language, data, tmp_path):
    from tests.parity.golden.make_meteor15 import FOLDER, answers, modules

    table = tmp_path / "paraphrase.gz"
    with gzip.open(table, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(f"0.1\n{phrase}\n{other}\n" for phrase, other in paraphrases(language))
    given, options = {"paraphrases": table}, ["-a", str(table)]
    if data == "stems":
        given, options = {}, modules(language)
    if data == "own function words":
        given["function_words"] = "language"
        name = f"function/{LANGUAGES[language].name}.words"
        shutil.unpack_archive(FOLDER / "meteor-1.5.jar", tmp_path / "program", "zip")
        options = [*options, "-s", str(tmp_path / "program" / name)]
    pairs, words = segments(language, 1000), meteor15_data.load_lexicon(None, tqdm, language, **given)
    statistics, expected, expected_corpus = answers(pairs, language, options)
    found = statistics_of(pairs, words)
    assert as_printed(found, language).tolist() == statistics
    check_scores(found, [*expected, expected_corpus], words.data.language)
    assert (found[:, 16:20].sum() > 100) == (data != "stems")
