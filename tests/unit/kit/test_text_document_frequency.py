"""Tables of document frequencies, of n-grams and of CLIP's tokens: what is read, what is refused."""

import json

import pytest

from manycaps.kit.clip_token_matching import TokenFrequency, check_idf, load_token_frequency
from manycaps.kit.text_document_frequency import DocumentFrequency, check_document_frequency, load_document_frequency
from tests.each_case import each_case
from tests.refusals import assert_refused

VOCABULARY = {"a</w>": 320, "dog</w>": 1929, "cat</w>": 2368}


def load_tokens(source):
    return load_token_frequency(source, VOCABULARY)


# By option: how a table is read and checked, an entry, and what the table of this entry is.
TABLES = {
    "document_frequency": (
        load_document_frequency,
        check_document_frequency,
        "a dog",
        DocumentFrequency({"a dog": 1}, 3),
    ),
    "idf": (load_tokens, check_idf, "dog</w>", TokenFrequency({1929: 1}, 3)),
}
of_every_table = pytest.mark.parametrize("name", TABLES)


@of_every_table
def test_a_file_and_a_mapping_give_the_same(name, tmp_path):
    load, check, entry, expected = TABLES[name]
    table = {"n_documents": 3, "document_frequency": {entry: 1}}
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    for source in (path, str(path), table):
        check(source)
        assert load(source) == expected
    path.write_bytes(b"\x80\x04\x95pickle")
    assert_refused(ValueError, f"{name}: expected a JSON file, got", load, path)
    assert_refused(ValueError, f"{name}: expected a JSON file, got no file at '/no/such/file'", check, "/no/such/file")
    assert_refused(TypeError, f"{name}: expected .*a path to a JSON file or a mapping, got int", check, 3)


# Tables of n-grams and of tokens are read by one function.
@each_case(
    "table",
    [
        {"a": 3},
        {"n_documents": 0, "document_frequency": {}},
        {"n_documents": 3.0, "document_frequency": {"a": 1}},
        {"n_documents": True, "document_frequency": {"a": 1}},
        {"n_documents": 3, "document_frequency": [1]},
    ],
)
def test_another_layout_is_refused(table):
    message = 'document_frequency: expected the layout {"n_documents": 8092'
    assert_refused(ValueError, message, load_document_frequency, table)


@each_case("count", [0, 4, 1.5, "2", True])
def test_impossible_counts_are_named(count):
    message = "document_frequency['a dog']: expected a whole number from 1 to n_documents=3, got"
    table = {"n_documents": 3, "document_frequency": {"a dog": count}}
    assert_refused(ValueError, message, load_document_frequency, table)


def test_what_only_one_of_the_tables_refuses():
    single = {"n_documents": 1, "document_frequency": {"a": 1}}
    assert_refused(ValueError, "document_frequency: expected the layout", load_document_frequency, single)
    for token in ("dog", ""):
        table = {"n_documents": 3, "document_frequency": {token: 1}}
        message = "idf[.*]: expected a token of CLIP's vocabulary, such as 'dog</w>'"
        assert_refused(ValueError, message, load_tokens, table)
