"""Numbered columns of captions, one caption each: all are read together, or refused with their names."""

import json

import pytest

from manycaps.files.caption_tables import CaptionColumn, caption_lists, good_rows, open_captions, open_source
from manycaps.files.caption_tables.columns import parse_columns
from manycaps.files.caption_tables.source import PIECE_BYTES
from tests.refusals import assert_refused
from tests.table_files import WRITERS
from tests.tools import write_jsonl
from tests.user_files import write_table


def record(number, n_captions, form="caption_{}", first=1):
    """A row with numbered captions, of which the text says row and number."""
    return {"id": f"r{number}", **{form.format(k): f"row {number} caption {k}" for k in range(first, n_captions + 1)}}


def captions(number, n_captions):
    return [f"row {number} caption {k}" for k in range(1, n_captions + 1)]


def read(paths, columns=None):
    """Captions of all rows of some files by every way of reading, which must agree."""
    source = open_source(paths, columns=columns)
    rows = [row.predictions for row in good_rows(source.rows())]
    named = None if columns is None else columns["predictions"]
    assert list(caption_lists(open_captions(paths, CaptionColumn(named)))) == rows
    if not source.needs_store:
        pieces = [row.predictions for piece in source.pieces(PIECE_BYTES) for row in source.read(piece)]
        assert pieces == rows
    people = [str(paths[0])]
    references = [row.references for row in good_rows(open_source(people, people, columns_of_sides(columns)).rows())]
    assert references == rows[: len(references)]
    return rows


def columns_of_sides(columns):
    return None if columns is None else {**columns, "references": columns["predictions"]}


@pytest.mark.parametrize("order", [(2, 5), (5, 2)], ids=["fewer_first", "more_first"])
@pytest.mark.parametrize("kind", WRITERS)
def test_numbered_columns_of_later_files_are_read(kind, order, tmp_path):
    paths = [tmp_path / f"{i}.{kind}" for i in range(2)]
    for number, (path, n_captions) in enumerate(zip(paths, order, strict=True)):
        WRITERS[kind](path, [record(2 * number, n_captions), record(2 * number + 1, n_captions)])
    expected = [captions(number, order[number // 2]) for number in range(4)]
    assert read(list(map(str, paths))) == expected


@pytest.mark.parametrize("kind", ["jsonl", "json", "tar"])
def test_numbered_columns_of_later_rows_are_read(kind, tmp_path):
    sizes = [5] * 120 + [7]
    path = tmp_path / f"rows.{kind}"
    WRITERS[kind](path, [record(number, size) for number, size in enumerate(sizes)])
    assert read([str(path)]) == [captions(number, size) for number, size in enumerate(sizes)]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("bare", "form"), [("caption", "caption.{}"), ("Caption", "Caption.{}"), ("sentence", "sentence.{}")]
)
def test_columns_that_pandas_has_numbered_are_read(bare, form, kind, tmp_path, recwarn):
    path = tmp_path / f"again.{kind}"
    rows = [record(number, 4, form, first=0) for number in range(3)]
    WRITERS[kind](path, [{bare if name == form.format(0) else name: row[name] for name in row} for row in rows])
    assert read([str(path)]) == [[f"row {number} caption {k}" for k in range(5)] for number in range(3)]
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("kind", WRITERS)
def test_a_column_without_a_number_is_read_with_numbered_ones_and_this_is_said(kind, tmp_path):
    path = tmp_path / f"bare.{kind}"
    rows = [record(number, 3, first=2) | {"caption": f"row {number} caption 1"} for number in range(3)]
    WRITERS[kind](path, rows)
    with pytest.warns(UserWarning, match=r"caption and caption_2 and caption_3 are read together as the captions of a"):
        assert read([str(path)]) == [captions(number, 3) for number in range(3)]


@pytest.mark.parametrize("later", [False, True], ids=["first_row", "later_row"])
@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"captions": ["a dog", "a cat"]}, "captions"),
        ({"sentences": ["a dog"]}, "sentences"),
        ({"text_1": "a dog", "text_2": "a cat"}, "text_1, text_2"),
        ({"text_1": "a dog", "text_2": "a cat", "text_3": "a hen"}, "text_1 ... text_3"),
    ],
)
def test_two_columns_of_captions_are_refused_with_their_names(more, shown, later, tmp_path):
    path = tmp_path / "both.jsonl"
    plain = [record(number, 2) for number in range(120 * later)]
    write_jsonl(path, [*plain, {**record(120, 2), **more}])
    message = f"{path}.*{shown}.*"
    assert_refused(ValueError, message, lambda: list(good_rows(open_source([str(path)]).rows())))
    assert_refused(ValueError, message, lambda: list(caption_lists(open_captions([str(path)]))))


def test_columns_with_other_names_are_read_by_their_common_name(tmp_path):
    header = ["name", "human_1", "human_2", "machine", "machine.1", "machine.2"]
    path = write_table(tmp_path / "both.csv", header, [["x", "a", "b", "c", "d", "e"], ["y", "f", "g", "h", "i", "j"]])
    chosen = parse_columns("id=name,references=human,predictions=machine")
    rows = list(good_rows(open_source([path], columns=chosen).rows()))
    assert [(row.predictions, row.references) for row in rows] == [
        (["c", "d", "e"], ["a", "b"]),
        (["h", "i", "j"], ["f", "g"]),
    ]
    assert list(caption_lists(open_captions([path], CaptionColumn("human")))) == [["a", "b"], ["f", "g"]]


def test_numbered_columns_beside_a_named_one_are_not_taken_for_its_own_and_this_is_said(tmp_path):
    """A table with a column for each of three systems, of which two are versions."""
    path = write_table(tmp_path / "systems.csv", ["id", "qwen", "qwen-2", "blip2"], [["1", "a", "b", "c"]])
    with pytest.warns(UserWarning, match=r"systems\.csv: qwen-2 is not read beside qwen, which --columns names\."):
        rows = list(good_rows(open_source([path], columns={"predictions": "qwen"}).rows()))
    assert [row.predictions for row in rows] == [["a"]]


def test_one_numbered_column_is_read_alone_where_it_is_named(tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "caption", "caption_1", "caption_2"], [["1", "a", "b", "c"]])
    chosen = {"predictions": "caption_1", "references": "caption_2"}
    [row] = good_rows(open_source([path], columns=chosen).rows())
    assert (row.predictions, row.references) == (["b"], ["c"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"a.jpg": record(0, 2), "b.jpg": record(1, 2)}, [captions(0, 2), captions(1, 2)]),
        (record(0, 3), [captions(0, 3)]),
        ({"text_1": ["a dog"], "text_2": ["a cat"]}, [["a dog"], ["a cat"]]),
    ],
    ids=["rows_by_name", "one_row", "names_with_numbers"],
)
def test_objects_of_json_with_numbered_names(content, expected, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(content))
    source = open_source([str(tmp_path / "a.json")])
    assert [row.predictions for row in good_rows(source.rows())] == expected


def test_empty_cells_are_counted_by_the_file_with_the_fewest_columns(tmp_path):
    few, many = (str(tmp_path / name) for name in ("few.csv", "many.csv"))
    write_table(tmp_path / "few.csv", ["id", "caption_1", "caption_2"], [["1", "a dog", ""]])
    write_table(tmp_path / "many.csv", ["id", "caption_1", "caption_2", "caption_3"], [["2", "a", "b", "c"]])
    with pytest.warns(UserWarning, match=r"1 of 5 captions is empty, in 1 row, and left out\."):
        list(open_source([few, many]).rows())
    with pytest.warns(UserWarning, match=r"1 of 5 captions is empty, in 1 row, and left out\."):
        list(open_source([many, few]).rows())
