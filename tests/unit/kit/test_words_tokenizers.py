"""Tokenizers by name: their libraries' tokens, what is missing, warnings, and spaCy's tags."""

import importlib
import importlib.metadata
import importlib.util
import io
import json
import re
import sys
import unicodedata
import urllib.error

import pytest

from manycaps import functional
from manycaps.kit import words_tokenizers
from manycaps.kit.diversity_captions import CaptionDiversity, PartOfSpeechCount
from manycaps.kit.words_tokenizers import (
    SOURCES,
    TokenizerSource,
    as_tagger,
    check_named,
    is_named,
    load_spacy_tokenizer,
    load_tokenizer,
    tokenize_rows,
    versioned_name,
)
from tests.golden_folders import OWN_GOLDEN
from tests.language_captions import SENTENCES
from tests.refusals import assert_refused

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


# ---- parts of speech ----

TAGS = {"dog": "NOUN", "rex": "PROPN", "runs": "VERB", "is": "AUX", "a": "DET", "cat": "NOUN"}


def test_spacy_pipelines_count_lemmas_or_words(tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is optional and not installed")

    @spacy.Language.component("tag_by_table")
    def tag_by_table(document):
        for token in document:
            token.pos_ = TAGS.get(token.lower_, "X")
            token.lemma_ = "run" if token.lower_ == "runs" else ""
        return document

    pipeline = spacy.blank("en")
    with pytest.raises(ValueError, match=r"pos: expected a pipeline that sets parts of speech, got none for 'a dog'"):
        list(as_tagger(pipeline)(["a dog"]))
    pipeline.add_pipe("tag_by_table")
    count = PartOfSpeechCount(as_tagger(pipeline))
    count.update([["A Dog runs", "Rex is a dog", "A Dog runs"]])
    assert count.parts["noun"].counts.tolist() == [3, 1]
    assert list(count._word_numbers["verb"]) == ["run"]
    assert list(count._word_numbers["noun"]) == ["dog", "rex"]
    # By its name.
    pipeline.to_disk(tmp_path / "tagger")
    assert list(as_tagger(str(tmp_path / "tagger"))(["a dog"])) == [[("a", "DET"), ("dog", "NOUN")]]
    assert_refused(ValueError, "pos: expected the name of an installed spaCy pipeline, ", as_tagger, "no_such_pipeline")
    assert load_spacy_tokenizer()("A  Dog.") == ["a", " ", "dog", "."]


def test_without_spacy_the_message_has_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    message = r"tokenizer='spacy': expected the package spacy, got none\. Run `pip install sp"
    with pytest.raises(ImportError, match=message):
        CaptionDiversity("spacy")
    assert_refused(ImportError, ".*pos='en_core_web_sm': expected the package spacy", as_tagger, "en_core_web_sm")


@pytest.mark.parametrize("tags", [3, ["dog"], [("dog",)], [("dog", 3)], "dog"])
def test_bad_tags_are_named(tags):
    with pytest.raises(TypeError) as error:
        list(as_tagger(lambda _: tags)(["a dog"]))
    assert str(error.value).startswith("pos: expected a list of (word, tag) pairs for the caption 'a dog', got ")
