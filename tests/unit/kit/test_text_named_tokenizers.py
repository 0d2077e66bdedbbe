"""Tokenizers by name: equal to those of the libraries, what is brought into one form, and every message."""

import importlib
import importlib.metadata
import importlib.util
import io
import json
import re
import unicodedata
import urllib.error

import pytest

from manycaps import functional
from manycaps.kit.tokenization import SOURCES, check_named, is_named, named_tokenizer, versioned_name
from tests.golden_folders import OWN_GOLDEN
from tests.language_captions import SENTENCES
from tests.refusals import assert_refused

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
    assert named_tokenizer("spm")("ein hund, schläft.") == own
    for_captions = named_tokenizer("spm-caption")("ein hund, schläft.")
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
    assert_refused(ValueError, message, named_tokenizer, "spacy:qq")
    if importlib.util.find_spec("sudachipy") is None:
        message = "tokenizer: expected what spaCy needs for 'ja', got none (Japanese"
        assert_refused(ImportError, message, named_tokenizer, "spacy:ja")


def test_what_is_no_name():
    assert not any(map(is_named, ("spacy", "spacy:", "spacy:../x", "ptb", "raw", "")))


def test_every_name_loads_what_its_distributions_say():
    for name, source in SOURCES.items():
        assert all(importlib.metadata.version(each) for each in source.distributions), name
        assert all(importlib.util.find_spec(each) for each in source.packages), name
