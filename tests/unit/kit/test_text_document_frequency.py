"""Tables of document frequencies: what is read, what is refused."""

import json

import pytest

from manycaps.kit.text_document_frequency import check_document_frequency, load_document_frequency
from tests.each_case import each_case

GOOD = {"n_documents": 3, "document_frequency": {"a": 3, "a dog": 1}}


def test_a_file_and_a_mapping_give_the_same(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(GOOD))
    assert load_document_frequency(path) == load_document_frequency(str(path)) == load_document_frequency(GOOD)


@each_case(
    "table",
    [
        {},
        {"a": 3},
        {"document_frequency": {"a": 1}},
        {"n_documents": 3},
        {"n_documents": 1, "document_frequency": {"a": 1}},
        {"n_documents": 3.0, "document_frequency": {"a": 1}},
        {"n_documents": True, "document_frequency": {"a": 1}},
        {"n_documents": 3, "document_frequency": [1]},
    ],
)
def test_another_layout_is_refused(table, tmp_path):
    with pytest.raises(ValueError, match=r'^document_frequency: expected the layout \{"n_documents": 8092'):
        load_document_frequency(table)
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match=r'^document_frequency: expected the layout \{"n_documents": 8092'):
        load_document_frequency(path)


@each_case("count", [0, 4, -1, 1.5, "2", None, True])
def test_impossible_counts_are_named(count):
    with pytest.raises(
        ValueError, match=r"^document_frequency\['dog'\]: expected a whole number from 1 to n_documents=3"
    ):
        load_document_frequency({"n_documents": 3, "document_frequency": {"a": 3, "dog": count}})


@pytest.mark.parametrize("content", [b"\x80\x04\x95pickle", b"{", b"\xff\xfe", b"[1, 2]"])
def test_what_is_no_table_is_refused_and_never_run(content, tmp_path):
    path = tmp_path / "table.p"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="^document_frequency: expected "):
        load_document_frequency(path)


def test_sources_are_checked_without_reading():
    check_document_frequency(None)
    check_document_frequency(GOOD)
    with pytest.raises(ValueError, match="^document_frequency: expected a JSON file, got no file at '/no/such/file'"):
        check_document_frequency("/no/such/file")
    with pytest.raises(TypeError, match="^document_frequency: expected a path to a JSON file or a mapping, got int"):
        check_document_frequency(3)
