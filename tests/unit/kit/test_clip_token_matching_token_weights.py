"""Weights of tokens: the authors' formula, tables that are read, tables that are refused."""

import json

import numpy as np
import pytest

from manycaps.kit.clip_token_matching import (
    EQUAL_WEIGHTS,
    TokenFrequency,
    check_idf,
    count_tokens,
    inverse_document_frequency,
    load_token_frequency,
)
from tests.each_case import each_case
from tests.oracles.emscore_loop import weights_by_document_frequency

START, END = 49406, 49407
VOCABULARY = {"a</w>": 320, "dog</w>": 1929, "cat</w>": 2368}
GOOD = {"n_documents": 3, "document_frequency": {"a</w>": 3, "dog</w>": 1}}


def documents(n, rng):
    return [(START, *rng.integers(1, 30, rng.integers(0, 12)).tolist(), END) for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 12, 200])
def test_weights_are_the_authors(n):
    rng = np.random.default_rng(n)
    texts = [*documents(n, rng), (START, 3, END)]
    expected = weights_by_document_frequency(texts)
    weights = inverse_document_frequency(count_tokens(texts), START, END)
    for ids in (*texts, (START, 9999, 0, END)):
        assert weights.of(ids).tolist() == pytest.approx([expected[i] for i in ids], abs=1e-12)


def test_the_end_token_has_a_large_weight():
    texts = [(START, 1, 2, 3 + i, END) for i in range(10)]
    weights = inverse_document_frequency(count_tokens(texts), START, END).of(texts[0])
    assert weights.tolist()[:3] == [0, 0, 0]
    assert 0 < weights[4] < weights[3]
    assert weights[4] > max(weights[:3])


def test_captions_without_any_difference_have_no_weights():
    for texts in ([(START, 5, 6, END)], [(START, 5, END)] * 3, [(START, END)]):
        with pytest.raises(ValueError, match="^idf: expected captions that differ in their words, got"):
            inverse_document_frequency(count_tokens(texts), START, END)


def test_equal_weights():
    assert EQUAL_WEIGHTS.of((START, 5, END)).tolist() == [1, 1, 1]


def test_a_file_and_a_mapping_give_the_same(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(GOOD))
    expected = TokenFrequency({320: 3, 1929: 1}, 3)
    assert all(load_token_frequency(source, VOCABULARY) == expected for source in (path, str(path), GOOD))


@each_case(
    "table",
    [
        {},
        {"dog</w>": 3},
        {"document_frequency": {"dog</w>": 1}},
        {"n_documents": 3},
        {"n_documents": 0, "document_frequency": {}},
        {"n_documents": 3.0, "document_frequency": {"dog</w>": 1}},
        {"n_documents": True, "document_frequency": {"dog</w>": 1}},
        {"n_documents": 3, "document_frequency": [1]},
    ],
)
def test_another_layout_is_refused(table):
    with pytest.raises(ValueError, match=r'^idf: expected the layout \{"n_documents": 8092'):
        load_token_frequency(table, VOCABULARY)


@each_case("count", [0, 4, -1, 1.5, "2", None, True])
def test_impossible_counts_are_named(count):
    with pytest.raises(ValueError, match=r"^idf\['dog</w>'\]: expected a whole number from 1 to n_documents=3, got"):
        load_token_frequency({"n_documents": 3, "document_frequency": {"a</w>": 3, "dog</w>": count}}, VOCABULARY)


@pytest.mark.parametrize("token", ["dog", 1929, ""])
def test_unknown_tokens_are_named(token):
    with pytest.raises(ValueError, match=r"^idf\[.*\]: expected a token of CLIP's vocabulary, such as 'dog</w>'"):
        load_token_frequency({"n_documents": 3, "document_frequency": {token: 1}}, VOCABULARY)


@pytest.mark.parametrize("content", [b"\x80\x04\x95pickle", b"{", b"\xff\xfe", b"[1, 2]"])
def test_what_is_no_table_is_refused_and_never_run(content, tmp_path):
    path = tmp_path / "table.p"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="^idf: expected "):
        load_token_frequency(path, VOCABULARY)


def test_sources_are_checked_without_reading():
    for source in (True, False, GOOD):
        check_idf(source)
    with pytest.raises(ValueError, match="^idf: expected a JSON file, got no file at '/no/such/file'"):
        check_idf("/no/such/file")
    with pytest.raises(TypeError, match="^idf: expected True, False, a path to a JSON file or a mapping, got int"):
        check_idf(1)
