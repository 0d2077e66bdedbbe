"""Tokenizers by name and by function."""

import pytest

from manycaps.kit import tokenization
from manycaps.kit.tokenization import TokenizerSource, tokenize_rows
from tests.language_captions import SENTENCES


def test_each_distinct_caption_is_tokenized_once_and_tokens_by_name_are_remembered(monkeypatch):
    asked = []

    def split(caption):
        asked.append(caption)
        return list(caption)

    assert tokenize_rows([["ab"], ["ab", "c"]], split) == [[["a", "b"]], [["a", "b"], ["c"]]]
    assert asked == ["ab", "c"]
    monkeypatch.setitem(tokenization.SOURCES, "char", TokenizerSource((), "", (), lambda: split))
    tokenization._named_tokens.cache_clear()
    for _ in range(2):
        assert tokenize_rows([["ab"], ["ab", "c"]], "char") == [[["a", "b"]], [["a", "b"], ["c"]]]
    assert asked == ["ab", "c"] * 2
    tokenization._named_tokens.cache_clear()


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
