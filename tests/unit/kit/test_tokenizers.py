"""Tokenizers: PTB and its invariants, named ones equal to their libraries', warnings, and n-grams as numbers."""

import importlib
import importlib.metadata
import importlib.util
import io
import json
import re
import unicodedata
import urllib.error
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps import functional
from manycaps.kit import ngrams, words_ptb, words_tokenizers
from manycaps.kit.ngrams import NgramIndex, RowTexts, document_frequencies, number_keys
from manycaps.kit.ngrams_bleu import bleu_statistics
from manycaps.kit.ngrams_cider import cider_scores
from manycaps.kit.words_ptb import REMOVED_TOKENS, ptb_tokenize, ptb_tokens
from manycaps.kit.words_tokenizers import (
    SOURCES,
    TokenizerSource,
    check_named,
    is_named,
    load_tokenizer,
    tokenize_rows,
    versioned_name,
)
from tests.golden_folders import OWN_GOLDEN
from tests.language_captions import SENTENCES
from tests.refusals import assert_refused

# Pieces whose order and neighbours matter: random text alone would rarely put two of them together.
PIECES = (
    "a dog St. Mr etc. no. U.S. 5 10 1,000 1/2 ' 's n't ’ “ ” - -- – . ... … , : ! ? ( ) [ ] < > & &amp; @ # $ % * / _ "
    "\" ` é 中 ½ £ ❤ 🐶 com http:// www. gonna cannot '90s o'clock \u0301 \xad \u200b \ud800 \x00 \x85 \u2028"
).split(" ")
CAPTIONS = st.one_of(
    st.text(st.characters()), st.lists(st.sampled_from([*PIECES, " ", "\t", "\xa0"]), max_size=12).map("".join)
)


def test_what_breaks_a_line_or_cannot_be_seen_parts_words():
    """Java prints the same of each such caption alone; with others it begins a new line."""
    caption = "soft\xadhyphen zero\u200bwidth a\xa0b a\u2028b a\x85b a\x00b"
    assert ptb_tokens(caption) == "softhyphen zero width a b a b a b a b".split()


@given(CAPTIONS)
def test_tokens_are_clean_for_any_text(caption):
    tokens = ptb_tokens(caption)
    assert all(token and not re.search(r"\s", token) for token in tokens)
    assert REMOVED_TOKENS.isdisjoint(tokens)
    assert not any("\ud800" <= character <= "\udfff" for token in tokens for character in token)


@given(st.lists(CAPTIONS, max_size=6), st.randoms(use_true_random=False))
def test_neither_memory_nor_order_changes_the_tokens(captions, order):
    words_ptb._remembered.clear()
    fresh = [ptb_tokens(caption) for caption in captions]
    assert ptb_tokenize(captions) == fresh
    rows = list(range(len(captions)))
    order.shuffle(rows)
    assert ptb_tokenize(captions[row] for row in rows) == [fresh[row] for row in rows]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_words_looked_up_one_by_one_equal_the_whole_caption_scanned(caption):
    assert ptb_tokens(caption) == words_ptb._scan(caption)


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(words_ptb, "N_REMEMBERED_WORDS", 10)
    monkeypatch.setattr(words_ptb, "_remembered", {})
    captions = [f"word{chr(97 + i % 26)}x{'y' * (i // 26)}" for i in range(100)]
    assert ptb_tokenize(captions) == [[caption] for caption in captions]
    assert len(words_ptb._remembered) <= 10
    ptb_tokens("z" * (words_ptb.LONGEST_REMEMBERED_WORD + 1))
    assert all(len(word) <= words_ptb.LONGEST_REMEMBERED_WORD for word in words_ptb._remembered)


def test_threads_agree(monkeypatch):
    monkeypatch.setattr(words_ptb, "N_REMEMBERED_WORDS", 20)  # emptied again and again
    captions = [f"{piece} dog{i % 97} ran" for i, piece in enumerate(PIECES * 5)]
    expected = ptb_tokenize(captions)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ptb_tokenize, [captions] * 4)) == [expected] * 4


# Repeated, each of these makes some shape look far ahead and fail.
@pytest.mark.parametrize(
    "unit", ["a", "a.", "a,", "a-", "a@", "%.", "<a ", '<a b="', "(555) ", "no. ", "n't", "www.", "!", "'", "é", "🐶"]
)
def test_time_grows_with_the_length_and_no_faster(unit, monkeypatch):
    """Counts characters looked at, not seconds: every shape sees at most `LONGEST_SHAPE` characters per token."""
    n_scanned = 0
    scan = words_ptb._shape_at

    def count_scan(text, start):
        nonlocal n_scanned
        n_scanned += 1
        return scan(text, start)

    monkeypatch.setattr(words_ptb, "_shape_at", count_scan)
    n_places = []
    for n in (500, 5_000):
        n_scanned = 0
        ptb_tokens((unit * n)[:n])
        n_places.append(max(n_scanned, 1))
    assert n_places[1] <= 11 * n_places[0]
    assert n_places[1] <= 5_000


def test_a_long_word_stays_whole():
    for word in ("x" * 100_000, "a-" * 1_000 + "a"):
        assert ptb_tokens(word) == [word]


def test_the_error_names_the_caption():
    assert_refused(TypeError, "caption: expected a string, got NoneType", ptb_tokens, None)
    assert_refused(TypeError, "captions[1]: expected a string, got int", ptb_tokenize, ["a", 5])
    message = "captions: expected an iterable of strings, got one string"
    assert_refused(TypeError, message, ptb_tokenize, "a dog")


# Tokenizers by name: equal to the libraries' own, what is brought into one form, and every message.

# What is no text, and dropped.
NOT_TEXT = re.compile("[\0\ud800-\udfff]")


@pytest.mark.parametrize("name", ["char", "13a", "intl", "zh", "ja-mecab", "ko-mecab"])
def test_under_sacrebleus_names_the_tokens_are_its_own(name):
    """On captions in all languages, and on the project's own, hard ones among them: as its corpus BLEU makes them."""
    from sacrebleu.metrics import BLEU

    golden = json.loads((OWN_GOLDEN / "captions.json").read_text(encoding="utf-8"))["rows"]
    texts = [text for row in golden for side in ("candidates", "references") for text in row[side]]
    texts += [text for own in SENTENCES.values() for text in own]
    texts += ["Ａ  DOG，\nruns-\non &amp; ½ … ﬁ", "  a dog .  \n", "«A» 1,000.5% 'tis"]
    texts = [text for text in dict.fromkeys(texts) if not NOT_TEXT.search(text)]
    assert len(texts) > 600
    made = BLEU(tokenize=name)._preprocess_segment
    wrong = [
        text
        for text, tokens in zip(texts, functional.tokenize(texts, name), strict=True)
        if tokens != made(text).split()
    ]
    assert wrong == []
    version = importlib.metadata.version("sacrebleu")
    if name != "char":
        assert versioned_name(f"{name}-caption").startswith(f"{name}-caption/sacrebleu-{version}")


# Written down from what the libraries print.
@pytest.mark.parametrize(
    ("name", "caption", "tokens"),
    [
        ("zh-jieba", "一只棕色的狗，在沙滩上跑！", "一只 棕色 的 狗 在 沙滩 上 跑"),
        ("zh-caption", "３只狗（大）", "3 只 狗 大"),
        ("13a-caption", "A DOG's &quot;toy&quot;, 3.5-inch.", "a dog's toy 3.5 inch"),
        ("ja-mecab-caption", "茶色の犬が、走っています。", "茶色 の 犬 が 走っ て い ます"),
        ("ko-mecab-caption", "갈색 개가 달린다.", "갈색 개 가 달린다"),
        ("th", "สุนัขสีน้ำตาล", "สุนัข สีน้ำตาล"),
        ("intl-caption", "भूरा कुत्ता दौड़ता है।", unicodedata.normalize("NFKC", "भूरा कुत्ता दौड़ता है")),
        ("spacy:de", "„Ein Hund“ läuft, z.B. 50 %!", "ein hund läuft z.b. 50 %"),
        ("char-caption", "Ａ 狗。", "a 狗"),
        ("none", "Ein Hund, d.h.", "Ein Hund, d.h."),
        ("char", "\ud800a\0b\n", "a b"),
        ("ja-mecab", "。", "。"),
        ("ja-mecab-caption", "。", ""),
    ],
)
def test_tokens(name, caption, tokens):
    assert functional.tokenize([caption], name) == [tokens.split()]


def test_the_model_of_spm_is_read_from_where_sacrebleu_keeps_it(tmp_path, monkeypatch):
    import sacrebleu.tokenizers.tokenizer_spm as spm
    import sentencepiece

    monkeypatch.setattr(spm, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ein hund läuft", "eine katze schläft", "zwei hunde schlafen"] * 9),
        model_writer=(model := io.BytesIO()),
        vocab_size=24,
        minloglevel=2,
    )
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").write_bytes(model.getvalue())
    own = spm.TokenizerSPM("flores101")("ein hund, schläft.").split()
    assert {",", "."} < set(own)
    assert load_tokenizer("spm")("ein hund, schläft.") == own
    for_captions = load_tokenizer("spm-caption")("ein hund, schläft.")
    assert for_captions == [piece for piece in own if piece not in (",", ".", "▁")]


def test_without_a_network_spm_says_where_its_model_belongs(tmp_path, monkeypatch):
    import sacrebleu.tokenizers.tokenizer_spm as spm

    def refuse(*_):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(spm, "download_file", refuse)
    message = (
        "tokenizer: expected the model of 'spm' from https://dl.fbaipublicfiles.com/.*.model, got URLError (.*no "
        f"network.*). Download it elsewhere and put it at {tmp_path}/models/sacrebleu_tokenizer_spm.model.$"
    )
    assert_refused(OSError, message, functional.tokenize, ["a"], "spm")


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda each: None if each == "sentencepiece" else find(each))
    message = (
        "tokenizer='spm': expected the package sentencepiece, got none. Run `pip install 'sacrebleu>=2.6' "
        "'sentencepiece'`.$"
    )
    assert_refused(ImportError, message, check_named, "spm")


def test_spacy_says_what_it_lacks():
    message = "tokenizer: expected a language or an installed pipeline of spaCy, got 'qq'"
    assert_refused(ValueError, message, load_tokenizer, "spacy:qq")
    if importlib.util.find_spec("sudachipy") is None:
        message = "tokenizer: expected what spaCy needs for 'ja', got none (Japanese"
        assert_refused(ImportError, message, load_tokenizer, "spacy:ja")


def test_what_is_no_name():
    assert not any(map(is_named, ("spacy", "spacy:", "spacy:../x", "ptb", "raw", "")))


def test_every_name_loads_what_its_distributions_say():
    for name, source in SOURCES.items():
        assert all(importlib.metadata.version(each) for each in source.distributions), name
        assert all(importlib.util.find_spec(each) for each in source.packages), name


# Tokenizers by name and by function.


def test_each_distinct_caption_is_tokenized_once_and_tokens_by_name_are_remembered(monkeypatch):
    asked = []

    def split(caption):
        asked.append(caption)
        return list(caption)

    assert tokenize_rows([["ab"], ["ab", "c"]], split) == [[["a", "b"]], [["a", "b"], ["c"]]]
    assert asked == ["ab", "c"]
    monkeypatch.setitem(words_tokenizers.SOURCES, "char", TokenizerSource((), "", (), lambda: split))
    words_tokenizers._token_cache.cache_clear()
    for _ in range(2):
        assert tokenize_rows([["ab"], ["ab", "c"]], "char") == [[["a", "b"]], [["a", "b"], ["c"]]]
    assert asked == ["ab", "c"] * 2
    words_tokenizers._token_cache.cache_clear()


UNSPACED = [*(SENTENCES[name][0] for name in ("zh", "ja", "th")), "狗在奔跑", "一只名叫 Rex 的狗在沙滩上奔跑"]
IN_WORDS = ["一只 棕色 的 狗 在 沙滩 上 奔跑", "茶色 の 犬 が 砂浜 を 走っ て い ます", "สุนัข สี น้ำตาล วิ่ง บน ชายหาด"]
SPACED = [*SENTENCES["ko"], *SENTENCES["hi"], *IN_WORDS, "A café — “naïve” 😀", "a sign that says 出口处停车", ""]


@pytest.mark.parametrize("caption", UNSPACED)
def test_scripts_without_blanks_warn_with_the_list(caption):
    for tokenizer in ("ptb", "13a", "intl-caption"):
        expected = f"^tokenizer: expected captions with spaces between words for '{tokenizer}'.*'zh-jieba'.*'th'"
        with pytest.warns(UserWarning, match=expected):
            tokenize_rows([["a dog", caption]], tokenizer)


@pytest.mark.filterwarnings("error")
def test_nothing_warns_where_words_are_apart_or_the_tokenizer_knows_the_script():
    assert all(tokenize_rows([SPACED], tokenizer) for tokenizer in ("ptb", "intl"))
    assert all(tokenize_rows([UNSPACED], tokenizer) for tokenizer in ("none", "char", "zh", list))


# Masks of texts, and n-grams of candidates and their references.


@pytest.mark.parametrize("sizes", [[1], [3, 1, 2], [64, 65, 1], [130, 2]], ids=lambda sizes: "_".join(map(str, sizes)))
def test_members_are_those_of_the_masks(sizes):
    texts, rng = RowTexts(sizes), np.random.default_rng(0)
    sets = [np.flatnonzero(rng.random(size) < 0.5) for size in sizes]
    group = np.repeat(np.arange(len(sizes)), [len(own) for own in sets])
    masks = texts.masks(group, np.concatenate(sets), len(sizes))
    position, text = texts.members(np.arange(len(sizes)), masks)
    assert [(text[position == i] - texts.first[i]).tolist() for i in range(len(sizes))] == [s.tolist() for s in sets]


@given(st.integers(0, 62), st.data())
def test_keys_are_numbered_as_numpy_numbers_them(bits, data):
    """Small keys are counted, others sorted with their place in them, and those with no bits left by NumPy."""
    keys = np.array(data.draw(st.lists(st.integers(0, 1 << bits), max_size=9)), np.int64)
    for found, expected in zip(number_keys(keys), np.unique(keys, return_inverse=True), strict=True):
        assert found.dtype == np.int64
        assert found.tolist() == expected.tolist()


TEXT = st.lists(st.sampled_from("a the dog cat runs".split()), max_size=9)
ROWS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=4)), min_size=2, max_size=4
)


def index_of(rows):
    return NgramIndex.of_rows(*zip(*rows, strict=True))


@given(ROWS)
def test_rows_by_themselves_have_the_same_bits(rows):
    """Neither the other rows nor what is kept changes a digit."""
    counts = document_frequencies([own for _, own in rows])
    given = {"frequency": ngrams.joined_frequency(counts), "n_documents": len(rows)}
    counted = cider_scores(index_of(rows)).tolist()
    assert cider_scores(index_of(rows), **given).tolist() == counted
    alone = [value for row in rows for value in cider_scores(index_of([row]), **given).tolist()]
    assert alone == counted


def test_nothing_kept_and_every_way_to_sort(monkeypatch):
    rows = [([["a", "dog", "a", "dog"], []], [["a", "dog"], ["dog", "a", "dog"]]), ([["a"]], [["a", "cat", "runs"]])]
    texts = index_of(rows)
    expected = bleu_statistics(texts), cider_scores(texts)
    assert texts.orders(4) is not texts.orders(4)
    monkeypatch.setattr(ngrams, "MOST_KEPT_WORDS", 0)
    monkeypatch.setattr(ngrams, "KEY_BITS", 1)
    texts = index_of(rows)
    for first, second in zip(expected, (bleu_statistics(texts), cider_scores(texts)), strict=True):
        assert first.tolist() == second.tolist()
    assert texts._kept == []
