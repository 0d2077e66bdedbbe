"""Tokenizers by name and by function."""

import pytest

from manycaps.kit.text_tokens import check_tokenizer, same_tokens, tokenize_rows, tokenizer_name


def test_each_distinct_caption_is_tokenized_once():
    calls = []

    def split(caption):
        calls.append(caption)
        return caption.split()

    assert tokenize_rows([["a b", "c"], ["a b", "a b"]], split) == [[["a", "b"], ["c"]], [["a", "b"], ["a", "b"]]]
    assert calls == ["a b", "c"]


@pytest.mark.parametrize("tokens", ["a b", None, [1, 2], {"a": 1}])
def test_what_a_function_returns_is_checked(tokens):
    with pytest.raises(TypeError, match=r"^tokenizer: expected a list of strings for the caption 'a b', got "):
        tokenize_rows([["a b"]], lambda caption: tokens)


def test_a_functions_own_error_comes_through():
    with pytest.raises(ZeroDivisionError):
        tokenize_rows([["a b"]], lambda caption: 1 / 0)


def test_names_and_kinds():
    check_tokenizer("ptb")
    check_tokenizer(str.split)
    assert tokenizer_name("ptb") == "ptb"
    with pytest.raises(ValueError, match="^tokenizer: expected 'ptb' or a function, got 'pbt'"):
        check_tokenizer("pbt")
    with pytest.raises(
        TypeError, match="^tokenizer: expected 'ptb' or a function from a caption to its tokens, got int"
    ):
        check_tokenizer(3)


def test_same_tokens_compares_sequences():
    assert same_tokens([["a", "b"], ["a b"], ["a", "b"], []]).astype(int).tolist() == [
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 0, 0, 1],
    ]
