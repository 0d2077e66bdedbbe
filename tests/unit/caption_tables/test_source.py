"""Tables of captions: every kind and layout gives the same rows, every fault its message and no loss beside it."""

import errno
import gzip
import io
import itertools
import json
import os
import pathlib
import pickle
import random
import re
import string
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manycaps.caption_tables import (
    BadRow,
    CaptionColumn,
    CaptionRow,
    bad_row_message,
    caption_lists,
    files,
    good_rows,
    open_captions,
    open_source,
    table_records,
    text_records,
)
from manycaps.caption_tables.columns import find_layout, parsed_columns
from manycaps.caption_tables.files import expand_braces, table_files, table_kind, whole
from manycaps.caption_tables.hub_records import hub_file
from manycaps.caption_tables.rows import SCHEMA
from manycaps.caption_tables.source import file_pieces
from manycaps.scoring import ScoreOptions, score
from tests.each_case import each_case

ROWS = [
    ("a", ["a dog", "a brown dog"], ["the dog runs", "a dog, running"]),
    ("b", ["a cat"], ["two cats \u2028 sleep", "cats"]),
    ("7", ["a man cooks", "a cook", "a man"], ["breakfast"]),
]

OBJECTS = [{"id": name, "predictions": ours, "references": theirs} for name, ours, theirs in ROWS]


def json_lines(objects):
    return "".join(json.dumps(value) + "\n" for value in objects)


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def write_parquet(path, objects, **options):
    pq.write_table(pa.Table.from_pylist(objects), path, **options)
    return str(path)


def write_tar(path, samples, mode="w"):
    """Write lists of (name, content) as members."""
    with tarfile.open(path, mode) as archive:
        for name, content in samples:
            data = content if isinstance(content, bytes) else content.encode("utf-8")
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return str(path)


def read(*arguments, **options):
    return list(open_source(*arguments, **options).rows())


def contents(rows):
    return [(row.id, row.predictions, row.references) for row in good_rows(rows)]


def cells(rows, separator=","):
    """A table with one pair of captions a line."""
    lines = [separator.join(["image_id", "candidate", "reference"])]
    for name, ours, theirs in rows:
        for pair in itertools.zip_longest(ours, theirs, fillvalue=""):
            lines.append(separator.join([name, *('"' + cell.replace('"', '""') + '"' for cell in pair)]))
    return "\n".join(lines) + "\n"


FORMS = {
    "nested.jsonl": json_lines(OBJECTS),
    "blank_lines.jsonl": "\ufeff" + json_lines(OBJECTS).replace("\n", "\r\n\n"),
    "nested.jsonl.gz": json_lines(OBJECTS),
    "list.json": json.dumps(OBJECTS),
    "lines.json": json_lines(OBJECTS),
    "single.jsonl": json_lines(
        {"_id": name, side: text}
        for name, ours, theirs in reversed(ROWS)
        for side, texts in (("prediction", ours), ("reference", theirs))
        for text in texts
    ),
    "single.csv": cells(ROWS),
    "single.tsv": cells(ROWS, "\t"),
    "single.tsv.gz": cells(ROWS, "\t"),
}


@each_case("name", FORMS)
def test_every_form_gives_the_same_rows(tmp_path, name):
    rows = contents(read([write(tmp_path, name, FORMS[name])]))
    assert sorted(rows) == sorted(ROWS)


def test_parquet(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", OBJECTS, row_group_size=2)
    assert contents(read([path])) == ROWS


def test_rows_know_their_place(tmp_path):
    write(tmp_path, "x/b.jsonl", json_lines(OBJECTS[2:]))
    write(tmp_path, "x/a.jsonl", json_lines(OBJECTS[:2]))
    write(tmp_path, "x/notes.md", "no table")
    rows = read([str(tmp_path / "x")])
    assert [(pathlib.Path(row.file).name, row.row, row.id) for row in rows] == [
        ("a.jsonl", 0, "a"),
        ("a.jsonl", 1, "b"),
        ("b.jsonl", 0, "7"),
    ]
    assert rows[2] == CaptionRow(str(tmp_path / "x" / "b.jsonl"), 0, "7", ROWS[2][1], ROWS[2][2], None, None)


def test_rows_without_ids_are_named_by_their_place(tmp_path):
    lists = json_lines([["a dog"], ["a cat"]])
    one, two = write(tmp_path, "1.jsonl", lists), write(tmp_path, "2.jsonl", lists)
    assert [row.id for row in read([one])] == ["0", "1"]
    assert [row.id for row in read([one, two])] == [f"{one}:0", f"{one}:1", f"{two}:0", f"{two}:1"]


def test_predictions_and_references_of_two_files_are_joined_by_id(tmp_path):
    ours = write(tmp_path, "ours.jsonl", json_lines({"id": name, "captions": p} for name, p, _ in ROWS))
    theirs = write(
        tmp_path, "theirs.csv", "id,caption\n" + "".join(f'{n},"{text}"\n' for n, _, r in ROWS[::-1] for text in r)
    )
    assert contents(read([ours], [theirs])) == ROWS


def test_coco_results_and_annotations(tmp_path):
    results = write(
        tmp_path, "results.json", json.dumps([{"image_id": 5, "caption": "a dog"}, {"image_id": 9, "caption": "a cat"}])
    )
    annotations = {
        "info": {},
        "images": [{"id": 9, "file_name": "9.jpg"}, {"id": 5, "file_name": "COCO_5.jpg"}],
        "annotations": [
            {"image_id": 9, "id": 1, "caption": "cats"},
            {"image_id": 5, "id": 2, "caption": "dogs"},
            {"image_id": 5, "id": 3, "caption": "one dog"},
        ],
    }
    references = write(tmp_path, "captions_val.json", json.dumps(annotations))
    rows = read([results], [references], images="photos")
    assert contents(rows) == [("5", ["a dog"], ["dogs", "one dog"]), ("9", ["a cat"], ["cats"])]
    assert [row.image for row in rows] == ["photos/COCO_5.jpg", "photos/9.jpg"]


def test_objects_from_ids_to_captions(tmp_path):
    named = {name: ours for name, ours, _ in ROWS}
    as_coco_code = {name: [{"caption": text} for text in texts] for name, _, texts in ROWS}
    ours, theirs = write(tmp_path, "a.json", json.dumps(named)), write(tmp_path, "b.json", json.dumps(as_coco_code))
    assert contents(read([ours], [theirs])) == ROWS


def test_named_columns(tmp_path):
    path = write(
        tmp_path, "a.jsonl", json_lines({"name": n, "samples": p, "candidates": [], "gold": r} for n, p, r in ROWS)
    )
    columns = parsed_columns("predictions=samples,references=gold,id=name")
    assert contents(read([path], columns=columns)) == ROWS


def test_a_quoted_cell_may_hold_newlines(tmp_path):
    path = write(tmp_path, "a.csv", 'id,caption\n1,"a\ndog"\n2,a cat\n')
    assert contents(read([path])) == [("1", ["a\ndog"], None), ("2", ["a cat"], None)]


def test_limit_reads_the_first_rows(tmp_path):
    nested = write(tmp_path, "a.jsonl", FORMS["nested.jsonl"])
    single = write(tmp_path, "b.csv", FORMS["single.csv"])
    compressed = write(tmp_path, "c.jsonl.gz", FORMS["nested.jsonl"])
    for path in (nested, single, compressed):
        assert contents(read([path], limit=2)) == ROWS[:2]
    assert len(read([nested, nested], limit=4)) == 4
    ours = write(tmp_path, "d.jsonl", json_lines({"id": name, "captions": p} for name, p, _ in ROWS))
    theirs = write(tmp_path, "e.jsonl", json_lines({"id": name, "captions": r} for name, _, r in ROWS[::-1]))
    assert contents(read([ours], [theirs], limit=1)) == ROWS[:1]


@pytest.mark.parametrize("n_bytes", [1, 60, 300, 10_000])
def test_pieces_hold_every_row_once(tmp_path, n_bytes):
    many = [{"id": str(i), "captions": ["x" * (i % 7), f'a "{i}",\n dog'], "n": i} for i in range(40)]
    quoted = "id,caption\n" + "".join(f'{i},"a ""{i}"",\n dog"\n' for i in range(40))
    paths = [
        write(tmp_path, "a.jsonl", json_lines(many)),
        write(tmp_path, "b.csv", quoted),
        write_parquet(tmp_path / "c.parquet", many, row_group_size=16),
        write_tar(tmp_path / "d.tar", [(f"{i}.txt", text) for i in range(40) for text in many[i]["captions"][1:]]),
    ]
    for path in paths:
        source = open_source([path])._replace()
        store = str(tmp_path / "store")
        if source.needs_store:
            source.fill_store(tmp_path / "store")
        pieces = list(source.pieces(n_bytes, store if source.needs_store else None))
        again = pickle.loads(pickle.dumps(source))
        rows = [row for piece in pieces for row in again.read(piece, store if source.needs_store else None)]
        assert rows == read([path])
        assert [row.id for row in rows] == [str(i) for i in range(40)]
        assert len(pieces) > 1 or n_bytes == 10_000
        assert all(piece.n_rows in (None, len(list(again.read(piece)))) for piece in pieces if not source.needs_store)


def test_webdataset_tars(tmp_path):
    samples = [
        ("000.jpg", b"\xff\xd8first"),
        ("000.txt", "a dog\na brown dog\n"),
        ("000.json", json.dumps({"caption": "the same again", "references": ["dogs"]})),
        ("x/001.txt", "a cat"),
        ("x/001.jpg", b"\xff\xd8second"),
        ("x/001.json", json.dumps({"references": ["cats", "two cats"]})),
    ]
    for name, mode in (("a.tar", "w"), ("b.tar.gz", "w:gz"), ("c.tgz", "w:gz")):
        rows = read([write_tar(tmp_path / name, samples, mode)])
        assert contents(rows) == [
            ("000", ["a dog", "a brown dog"], ["dogs"]),
            ("x/001", ["a cat"], ["cats", "two cats"]),
        ]
        assert [row.image for row in rows] == [b"\xff\xd8first", b"\xff\xd8second"]


def test_references_of_another_file_join_the_samples_of_a_tar(tmp_path):
    tar = write_tar(tmp_path / "a.tar", [("1.jpg", b"1"), ("1.txt", "a dog"), ("2.jpg", b"2"), ("2.txt", "a cat")])
    theirs = write(tmp_path, "r.jsonl", json_lines([{"id": 1, "references": ["dogs"]}]))
    first, second = read([tar], [theirs])
    assert (first.id, first.predictions, first.references, first.image) == ("1", ["a dog"], ["dogs"], b"1")
    assert second == BadRow(
        tar,
        1,
        "2",
        "id[1]: expected references of the same id, got none. Add them, or leave these predictions out.",
        True,
    )


def test_images_are_found_by_column_by_id_or_in_the_file(tmp_path):
    for name in ("a.png", "b"):
        write(tmp_path / "photos", name, b"pixels")
    folder = str(tmp_path / "photos")
    by_id = write(tmp_path, "a.jsonl", json_lines([{"id": "a", "caption": "x"}, {"id": "b", "caption": "y"}]))
    assert [row.image for row in read([by_id], images=folder)] == [f"{folder}/a.png", f"{folder}/b"]
    by_column = write(tmp_path, "b.jsonl", json_lines([{"image": "z/1.jpg", "caption": "x"}]))
    (row,) = read([by_column], images=folder)
    assert (row.id, row.image) == ("z/1.jpg", f"{folder}/z/1.jpg")
    inside = write_parquet(tmp_path / "c.parquet", [{"image": {"bytes": b"px", "path": None}, "caption": "x"}])
    assert read([inside], images=folder)[0].image == b"px"
    missing = write(tmp_path, "d.jsonl", json_lines([{"id": "c", "captions": ["x"]}]))
    (bad,) = read([missing], images=folder)
    assert bad.reason.startswith(f"image[0]: expected a file c in {folder}, with or without one of the endings .jpg,")


def test_addresses_are_read_by_fsspec(tmp_path):
    import fsspec

    files = fsspec.filesystem("memory")
    for i, value in enumerate(OBJECTS):
        files.pipe(f"/tables/{i}.jsonl", json_lines([value]).encode())
    files.pipe("/photos/a.jpg", b"pixels")
    assert contents(read(["memory://tables/{0..2}.jsonl"])) == ROWS
    assert contents(read(["memory://tables"])) == ROWS
    assert contents(read(["memory://tables/*.jsonl"])) == ROWS
    assert read(["memory://tables/0.jsonl"], images="memory://photos")[0].image == b"pixels"
    (bad,) = read(["memory://tables/1.jsonl"], images="memory://photos")
    assert bad.reason.startswith("image[0]: expected a file at memory://photos/b.jpg, got none")


BAD_LINES = {
    "a.jsonl": json_lines(OBJECTS[:1]) + '{"id": "b",\n' + json_lines(OBJECTS[2:]),
    "number.jsonl": json_lines([OBJECTS[0], 3, OBJECTS[2]]),
    "list.json": json.dumps([OBJECTS[0], 3, OBJECTS[2]]),
    "empty.jsonl": json_lines([OBJECTS[0], OBJECTS[1] | {"predictions": []}, OBJECTS[2]]),
    "type.jsonl": json_lines([OBJECTS[0], OBJECTS[1] | {"references": [1]}, OBJECTS[2]]),
    "none.jsonl": json_lines([OBJECTS[0], OBJECTS[1] | {"references": None}, OBJECTS[2]]),
    "id.jsonl": json_lines([OBJECTS[0], OBJECTS[1] | {"id": None}, OBJECTS[2]]),
    "id_type.jsonl": json_lines([OBJECTS[0], OBJECTS[1] | {"id": [1]}, OBJECTS[2]]),
    "bytes.jsonl": json_lines(OBJECTS).encode().replace(b"a cat", b"a c\xff\xfet"),
}

BAD_LINE_REASONS = {
    "a.jsonl": "row[1]: expected a line of JSON, got none (Expecting property name enclosed in double quotes). Fix or "
    "delete this line.",
    "number.jsonl": "row[1]: expected an object or a list of captions, got int. Fix or delete this row.",
    "list.json": "row[1]: expected an object or a list of captions, got int. Fix or delete this row.",
    "empty.jsonl": "predictions[1]: expected at least one caption, got an empty list. Leave the row out of both "
    "columns.",
    "type.jsonl": "references[1][0]: expected a caption (a string), got int (1). Decode or drop this caption.",
    "none.jsonl": "references[1]: expected captions, got none. Write them, or leave the row out.",
    "id.jsonl": "id[1]: expected an id (text or a whole number), got none. Write it, or leave the row out.",
    "id_type.jsonl": "id[1]: expected an id (text or a whole number), got list ([1]). Write it, or leave the row out.",
    "bytes.jsonl": "predictions[1]: expected UTF-8 text, got the byte 0xff. Save the file as UTF-8, or leave the row "
    "out.",
}


@each_case("name", BAD_LINES)
def test_a_bad_line_costs_no_other(tmp_path, name):
    path = write(tmp_path, name, BAD_LINES[name])
    rows = read([path])
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    assert (bad.file, bad.row, bad.reason) == (path, 1, BAD_LINE_REASONS[name])
    assert contents(row for row in rows if row is not bad) == [ROWS[0], ROWS[2]]


@each_case(
    ("line", "reason"),
    [
        ('2,"a cat', "row[1]: expected cells, got unexpected end of data. Fix the quotes of this line."),
        ("2", "row[1]: expected 2 cells, got 1. Put a caption with separators into double quotes."),
        ("2,a cat, sleeping", "row[1]: expected 2 cells, got 3. Put a caption with separators into double quotes."),
        ("2,", "caption[1]: expected captions, got none. Write them, or leave the row out."),
        (",a cat", "id[1]: expected an id (text or a whole number), got none. Write it, or leave the row out."),
    ],
)
def test_a_bad_line_of_a_table_costs_no_other(tmp_path, line, reason):
    path = write(tmp_path, "a.csv", f'id,caption\n1,a dog\n{line}\n3,"a man"\n4,a boat\n')
    rows = read([path])
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    assert (bad.row, bad.reason) == (1, reason)
    assert [row.id for row in rows if row is not bad] == ["1", "3", "4"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("column", ["id", "image"])
def test_half_a_character_in_a_name_is_bad(tmp_path, name, column):
    objects = [{**OBJECTS[i], "image": f"{i}.jpg"} for i in range(3)]
    objects[1][column] = "a\ud800"
    path = write(tmp_path, name, json.dumps(objects) if name == "a.json" else json_lines(objects))
    rows = read([path])
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    assert bad.reason == (
        f"{column}[1]: expected UTF-8 text, got half a character, '\\ud800'. Save the file as UTF-8, or leave the row "
        "out."
    )
    assert [row.id for row in rows if row is not bad] == ["a", "7"]


def test_a_path_that_is_not_utf_8_is_refused(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json_lines(OBJECTS))
    with pytest.raises(ValueError, match=r"^(\.\.\.)?'.*caf\\udce9.jsonl': expected a path in UTF-8, got other bytes"):
        open_source([path])


def test_names_of_columns_that_are_none(tmp_path):
    path = write(tmp_path, "a.csv", "id,cap\rtion\n1,a dog\n")
    with pytest.raises(ValueError, match=r"^.*a.csv: expected column names in the first line, got new-line"):
        open_source([path])


def test_duplicate_ids_of_lists_are_bad(tmp_path):
    path = write(tmp_path, "a.json", json.dumps([OBJECTS[0], OBJECTS[1], OBJECTS[0]]))
    (bad,) = [row for row in read([path]) if isinstance(row, BadRow)]
    assert bad == BadRow(path, 2, "a", "id[2]: expected a unique id, got that of row 0. Leave one of them out.")
    other = write(tmp_path, "b.json", json.dumps(OBJECTS[:1]))
    (bad,) = [row for row in read([write(tmp_path, "c.json", json.dumps(OBJECTS)), other]) if isinstance(row, BadRow)]
    assert f"got that of row 0 of {tmp_path / 'c.json'}. Leave" in bad.reason


def test_ids_missing_on_one_side(tmp_path):
    ours = write(tmp_path, "a.jsonl", json_lines([{"id": 1, "captions": ["x"]}, {"id": 2, "captions": ["y"]}]))
    theirs = write(tmp_path, "b.jsonl", json_lines([{"id": 2, "captions": ["z"]}, {"id": 3, "captions": ["w"]}]))
    rows = read([ours], [theirs])
    assert [row for row in rows if isinstance(row, BadRow)] == [
        BadRow(
            ours,
            0,
            "1",
            "id[0]: expected references of the same id, got none. Add them, or leave these predictions out.",
            True,
        ),
        BadRow(
            theirs,
            1,
            "3",
            "id[1]: expected predictions of the same id, got none. Add them, or leave these references out.",
            True,
        ),
    ]
    with pytest.raises(ValueError, match=r"a\.jsonl, id '1': id\[0\]: expected references of the same id, got none\."):
        list(good_rows(rows))


def test_a_truncated_tar_keeps_the_samples_before(tmp_path):
    path = tmp_path / "a.tar"
    words = random.Random(0).choices(string.ascii_lowercase, k=9 * 20_000)
    write_tar(path, [(f"{i}.txt", "".join(words[i::9])) for i in range(9)])
    data = path.read_bytes()
    for name, content in (("b.tar", data[: len(data) // 2]), ("c.tar.gz", gzip.compress(data)[:-20_000])):
        cut = tmp_path / name
        cut.write_bytes(content)
        *rows, bad = read([str(cut)])
        assert [row.id for row in rows] == [str(i) for i in range(len(rows))]
        assert bad.row == len(rows) > 0
        assert "expected a whole tar, got one that ends or is damaged here" in bad.reason


def test_a_truncated_parquet_file_is_one_bad_row_of_its_folder(tmp_path):
    whole = write_parquet(tmp_path / "a.parquet", OBJECTS)
    data = pathlib.Path(whole).read_bytes()
    cut = write(tmp_path, "b.parquet", data[:-100])
    write_parquet(tmp_path / "c.parquet", OBJECTS)
    rows = read([str(tmp_path)])
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    assert (bad.file, bad.row) == (cut, 0)
    assert bad.reason.startswith("expected a whole parquet file, got one that cannot be read (")
    assert len(rows) == 7
    with pytest.raises(ValueError, match=r"b\.parquet: expected a whole parquet file, got one that cannot be read"):
        open_source([cut])


def test_a_damaged_row_group_costs_no_other(tmp_path):
    many = [{"id": i, "captions": [f"dog {i} " + "x" * 50]} for i in range(30)]
    path = pathlib.Path(write_parquet(tmp_path / "a.parquet", many, row_group_size=10, compression="zstd"))
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    first = column.dictionary_page_offset or column.data_page_offset
    data[first : first + 60] = bytes(60)
    path.write_bytes(bytes(data))
    rows = read([str(path)])
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    assert "expected parquet data from here to the end of its row group, got damage" in bad.reason
    assert {row.row for row in rows if row is not bad} >= {*range(10), *range(20, 30)}


def test_an_empty_file_beside_others_is_a_bad_row(tmp_path):
    write(tmp_path, "a.jsonl", FORMS["nested.jsonl"])
    empty = write(tmp_path, "b.jsonl", "")
    bad = read([str(tmp_path)])[-1]
    assert bad == BadRow(
        empty, 0, None, "expected at least one row, got an empty file. Leave it out, or write it again."
    )
    assert bad_row_message(bad).startswith(f"{empty}: expected at least one row")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_a_bad_row(tmp_path):
    write(tmp_path, "a.jsonl", FORMS["nested.jsonl"])
    path = write(tmp_path, "b.jsonl", FORMS["nested.jsonl"])
    os.chmod(path, 0)
    assert "expected a file that can be read, got Permission denied" in read([str(tmp_path)])[-1].reason


def test_a_file_that_fails_while_it_is_read_is_a_bad_row(tmp_path, monkeypatch):
    path = write(tmp_path, "a.jsonl", FORMS["nested.jsonl"])
    source = open_source([path])

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("manycaps.caption_tables.text_records.open_bytes", fail)
    assert list(source.rows()) == [
        BadRow(
            path,
            0,
            None,
            "expected a file that can be read, got Input/output error. Check its permissions and the disk.",
        )
    ]


@each_case(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "a.jsonl: expected at least one row, got none. Give a file with captions."),
        ("a.csv", "id,caption\n", "a.csv: expected at least one row, got none. Give a file with captions."),
        ("a.json", "[", "a.json: expected JSON, got none (Expecting value: line 1 column 2 (char 1)). Write the file"),
        ("a.jsonl", '{"id": 1}\n', "a.jsonl: expected a column of predictions, such as predictions, candidates,"),
        (
            "a.jsonl",
            '{"text": "a", "caption": "b"}\n',
            "a.jsonl: expected one column of predictions, got caption and text. Choose with --columns predictions=NAME",
        ),
    ],
)
def test_what_concerns_all_rows_raises(tmp_path, name, content, message):
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError) as error:
        open_source([path])
    assert str(error.value).startswith(f"{tmp_path}/{message}")


def test_sources_that_are_not_there(tmp_path):
    for source in (tmp_path / "none.jsonl", tmp_path / "*.csv"):
        with pytest.raises(ValueError, match=r"expected a file, a folder or a pattern of files, got none\. Check the"):
            table_files([str(source)])
    with pytest.raises(ValueError, match=r": expected at least one table in the folder, got none\."):
        table_files([str(tmp_path)])
    with pytest.raises(ValueError, match=r"a\.docx: expected a table that ends in \.parquet, .*, got \.docx\."):
        table_files([write(tmp_path, "a.docx", "x")])


def test_join_needs_ids(tmp_path):
    ours = write(tmp_path, "a.jsonl", json_lines([["a dog"]]))
    theirs = write(tmp_path, "b.jsonl", json_lines([{"id": 1, "captions": ["x"]}]))
    with pytest.raises(ValueError, match=r"a\.jsonl: expected a column of ids to join predictions and references by"):
        open_source([ours], [theirs])


def test_mistaken_columns(tmp_path):
    for text in ("predictions", "captions=a", "id="):
        with pytest.raises(ValueError, match="^--columns: expected a list such as predictions=samples,id=image_id of"):
            parsed_columns(text)
    with pytest.raises(ValueError, match=r"a: expected a column 'x' of id, got text\. Check --columns\."):
        find_layout(["text"], {"id": "x"}, ["predictions"], "a")


def test_names_of_files():
    assert expand_braces("a{0..2}{x,y}") == ["a0x", "a0y", "a1x", "a1y", "a2x", "a2y"]
    assert expand_braces("a{8..11}.tar") == ["a8.tar", "a9.tar", "a10.tar", "a11.tar"]
    assert expand_braces("{x}") == ["{x}"]
    for pattern, n in (("{0..999999999999}", "1,000,001"), ("{0..999}" * 3, "1,000,000,000"), ("{9..0}", "0")):
        with pytest.raises(ValueError, match=f"expected braces for 1 to 1,000,000 names, got {n}. Write"):
            expand_braces(pattern)
    with pytest.raises(
        ValueError, match="no-such://x.csv: expected a path, or an address that fsspec can open, got ne"
    ):
        table_files(["no-such://x.csv"])
    assert [table_kind(name) for name in ("a.parquet.gz", "b", ".csv", "c.CSV")] == [None, None, None, (".csv", False)]


def test_description_says_how_files_are_understood(tmp_path):
    path = write(tmp_path, "single.csv", FORMS["single.csv"])
    assert open_source([path]).description() == {
        "predictions": {
            "files": 1,
            "bytes": os.path.getsize(path),
            "columns": {"predictions": "candidate", "references": "reference", "id": "image_id"},
            "one_caption_a_line": True,
        }
    }


def test_references_alone_will_do_where_either_side_does(tmp_path):
    people = [{"id": name, "references": captions} for name, _, captions in ROWS]
    for path in (
        write(tmp_path, "a.jsonl", json_lines(people)),
        write(tmp_path, "a.json", json.dumps(people)),
        write_parquet(tmp_path / "a.parquet", people),
    ):
        with pytest.raises(ValueError, match="expected a column of predictions, such as predictions"):
            open_source([path])
        rows = read([path], either=True)
        assert [(row.id, row.predictions, row.people) for row in rows] == [(name, None, refs) for name, _, refs in ROWS]
    both = read([write(tmp_path, "b.jsonl", json_lines(OBJECTS))], either=True)
    assert [row.people for row in both] == [references for _, _, references in ROWS]
    unnamed = read([write(tmp_path, "c.jsonl", json_lines([["a dog"]]))], either=True)
    assert unnamed[0].people == ["a dog"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_has_a_caption_a_line_and_an_empty_line_between_rows(tmp_path, name):
    path = write(tmp_path, name, "\ufeff\na dog\r\n a brown dog\n\n \na cat \u2028 sleeps\n\na man")
    rows = [["a dog", "a brown dog"], ["a cat \u2028 sleeps"], ["a man"]]
    source = open_source([path])
    assert [row.predictions for row in good_rows(source.rows())] == rows
    pieces = list(source.pieces(1))
    assert len(pieces) == (1 if name.endswith("gz") else 3)
    assert [row.predictions for piece in pieces for row in good_rows(source.read(piece))] == rows


def test_text_with_carriage_returns_alone_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"row\[0\]: expected lines that end in a line feed, got carriage returns al"):
        open_source([write(tmp_path, "a.txt", "a dog\ra cat\r")])


def test_text_in_a_folder_of_tables_is_no_table(tmp_path):
    write(tmp_path, "a.jsonl", json_lines(OBJECTS))
    write(tmp_path, "README.txt", "a caption?")
    assert [pathlib.Path(file.path).name for file in table_files([str(tmp_path)])] == ["a.jsonl"]
    assert table_files([str(tmp_path / "README.txt")])[0].kind == ".txt"


def write_arrow(path, objects, new=pa.ipc.new_stream):
    table = pa.Table.from_pylist(objects)
    with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return str(path)


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file], ids=["stream", "file"])
def test_arrow_files(tmp_path, new):
    path = write_arrow(tmp_path / "a.arrow", OBJECTS, new)
    assert contents(read([path])) == ROWS
    (tmp_path / "b.arrow").write_bytes(b"no Arrow at all")
    with pytest.raises(ValueError, match=r"b\.arrow: expected an Arrow file, got one that cannot be read \("):
        open_source([str(tmp_path / "b.arrow")])


def test_a_truncated_arrow_file_keeps_the_rows_before(tmp_path):
    path = write_arrow(tmp_path / "a.arrow", OBJECTS)
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole[: len(whole) - 200])
    *good, bad = read([path])
    assert contents(good) == ROWS[:2]
    assert (bad.row, bad.reason.partition(", got")[0]) == (2, "row[2]: expected Arrow data from here on")


def test_folders_that_datasets_saved(tmp_path):
    for split, objects in (("train", OBJECTS), ("validation", OBJECTS[:1])):
        folder = tmp_path / "saved" / split
        folder.mkdir(parents=True)
        write_arrow(folder / "data-00000-of-00001.arrow", objects)
        write_arrow(folder / "cache-1.arrow", objects)
        (folder / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    assert contents(read([str(tmp_path / "saved" / "train")])) == ROWS
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "validation"]}')
    assert contents(read([str(tmp_path / "saved")])) == ROWS
    column = CaptionColumn("predictions")
    assert list(caption_lists(open_captions([str(tmp_path / "saved")], column, "validation"))) == [ROWS[0][1]]
    with pytest.raises(ValueError, match=r"saved: expected a saved split 'test', got \['train', 'validation'\]\. Name"):
        open_captions([str(tmp_path / "saved")], column, "test")
    (tmp_path / "saved" / "train" / "state.json").write_text('{"_data_files": [{"filename": "../a.arrow"}]}')
    with pytest.raises(ValueError, match=r"state\.json: expected the names of files, got \['\.\./a\.arrow'\]\. Save"):
        open_source([str(tmp_path / "saved" / "train")])


@each_case(
    ("name", "is_hub"),
    [
        *((name, True) for name in ("someone/captions", "flickr8k")),
        *((name, False) for name in ("a.csv", "/a", "a/b/c", "../a", "s3://a", "{a,b}", "", "a" * 5000)),
    ],
    ids=range(10),
)
def test_names_on_the_hub(name, is_hub):
    assert (hub_file(name, None, "train") is not None) == is_hub


def test_a_truncated_gz_file_keeps_the_rows_before(tmp_path):
    objects = [{"id": i, "captions": [f"a dog {i} runs {i * i}"]} for i in range(3000)]
    path = write(tmp_path, "a.jsonl.gz", json_lines(objects))
    (tmp_path / "a.jsonl.gz").write_bytes((tmp_path / "a.jsonl.gz").read_bytes()[:-2000])
    *good, bad = read([path])
    assert 1000 < len(good) == bad.row < 3000
    assert bad.reason.startswith(f"row[{bad.row}]: expected a whole .gz file, got one that ends or has damage here (")


def test_captions_of_one_column(tmp_path):
    path = write(tmp_path, "a.jsonl", json_lines(OBJECTS))
    with pytest.raises(ValueError, match=r"expected one column of captions, got predictions and references\. Name the"):
        open_captions([path])
    assert list(caption_lists(open_captions([path], CaptionColumn("references")))) == [row[2] for row in ROWS]
    single = write(tmp_path, "b.csv", "caption\na dog\na cat\n")
    assert list(caption_lists(open_captions([single]))) == [["a dog"], ["a cat"]]
    with pytest.raises(ValueError, match=r"expected lists of captions in caption, or a column that names the item of"):
        open_captions([single], CaptionColumn("caption", needs_group=True))


def test_tables_of_anything(tmp_path):
    path = write(tmp_path, "a.csv", "img,score\n1.jpg,3\n")
    assert list(table_records(path)) == [{"img": "1.jpg", "score": "3"}]
    with pytest.raises(ValueError, match=r"b\.jsonl: row\[1\]: expected a line of JSON, got none"):
        list(table_records(write(tmp_path, "b.jsonl", '{"a": 1}\n{\n')))


IN_UTF_16 = {
    "a.csv": 'id,caption\r\n1,ein Hünd\r\n1,"zwei, \u2028 Katzen"\r\n',
    "a.tsv": "id\tcaption\n1\tein Hünd\n1\tzwei, \u2028 Katzen\n",
    "a.jsonl": '{"id": 1, "captions": ["ein Hünd", "zwei, \u2028 Katzen"]}\n',
    "a.json": '{"id": 1, "captions": ["ein Hünd"]}\n{"id": 2, "captions": ["zwei, \u2028 Katzen"]}\n',
    "a.txt": "ein Hünd\nzwei, \u2028 Katzen\n",
}


@each_case("name", [*IN_UTF_16, *(f"{name}.gz" for name in IN_UTF_16)])
@each_case("encoding", ["utf-16-le", "utf-16-be"])
def test_tables_in_utf_16_as_spreadsheet_programs_write_them(name, encoding, tmp_path):
    path = write(tmp_path, name, ("\ufeff" + IN_UTF_16[name.removesuffix(".gz")]).encode(encoding))
    source = open_source([path])
    captions = [row.predictions for row in good_rows(source.rows())]
    assert [text for row in captions for text in row] == ["ein Hünd", "zwei, \u2028 Katzen"]
    (file,) = table_files([path])
    assert list(file_pieces(file, 1)) == [whole(file)]


@each_case(
    ("content", "name"),
    [
        ("id,caption\n".encode("utf-32"), "UTF-32"),
        ("id,caption\n".encode("utf-16-le"), "UTF-16 without one"),
        ("id,caption\n".encode("utf-16-be"), "UTF-16 without one"),
        ("\ufeffid,caption\n".encode("gb18030"), "GB 18030"),
    ],
)
def test_other_encodings_are_refused_by_name(content, name, tmp_path):
    path = write(tmp_path, "a.csv", content)
    with pytest.raises(ValueError) as found:
        open_source([path])
    wanted = "expected text in UTF-8, or in UTF-16 with a byte order mark"
    assert str(found.value) == f"{path}: {wanted}, got {name}. Save the file as UTF-8."


def test_utf_16_that_breaks_off_keeps_the_rows_before(tmp_path):
    path = write(tmp_path, "a.csv", "id,caption\n1,a dog\n2,two cats\n".encode("utf-16")[:-3])
    bad, good = open_source([path]).rows()
    assert good.predictions == ["a dog"]
    assert bad.reason.startswith("row[1]: expected UTF-16 up to the end of the file, got ")


@each_case("open_table", [open_source, open_captions])
def test_two_columns_of_one_name_are_refused(open_table, tmp_path):
    path = write(tmp_path, "a.csv", "id,caption,caption\n1,a dog,two cats\n")
    with pytest.raises(ValueError) as found:
        open_table([path])
    assert str(found.value) == (
        f"{path}: expected every column name once, got 'caption' 2 times. Give the columns different names: the cells "
        "of one alone would be read."
    )
    nameless = write(tmp_path, "b.csv", "id,caption,,\n1,a dog,,\n1,two cats,,\n")
    assert [row.predictions for row in good_rows(open_table([nameless]).rows())] == [["a dog", "two cats"]]


@each_case("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.txt"])
def test_a_line_without_end_is_bad_and_the_rows_before_are_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr(text_records, "MAX_LINE_BYTES", 1_000)
    first = {"a.csv": "id,caption\n1,a dog\n", "a.txt": "a dog\n\n"}.get(name, '{"id": 1, "captions": ["a dog"]}\n')
    path = write(tmp_path, name, first + "x" * 2_000 + "\n" + first)
    for n_bytes in (1, 1 << 20):
        pieces = file_pieces(table_files([path])[0], n_bytes)
        good, bad = (record for piece in pieces for record in text_records.text_records(piece))
        assert "a dog" in json.dumps(good.values)
        assert bad == (
            1,
            "row[1]: expected lines of at most 1,000 bytes, got a longer one, behind which nothing is read. Write a "
            "row a line, or leave the file out.",
        )


def test_an_ocean_of_empty_lines_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_records, "MAX_EMPTY_LINES", 10)
    path = write(tmp_path, "a.csv", "id,caption\n1,a dog\n" + "\n" * 10 + "2,a cat\n" + " \n" * 11 + "3,a bird\n")
    bad, *good = open_source([path]).rows()
    assert [row.predictions for row in good] == [["a dog"], ["a cat"]]
    assert bad.reason == (
        "row[2]: expected captions, got more than 10 empty lines, behind which nothing is read. Delete them, or leave "
        "the file out."
    )


@each_case("name", ["a.json.gz", "a.csv.gz", "a.tar.gz"])
def test_a_compressed_file_expands_within_a_limit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "EXPANSION_BYTES", 1 << 18)
    content = {"a.json.gz": b" " * (1 << 20), "a.csv.gz": b"id,caption\n" + b"1,a dog\n" * 200_000}.get(name)
    path = str(tmp_path / name)
    if content is None:
        write_tar(path, [("a.txt", "a dog " * 200_000)], "w:gz")
    else:
        write(tmp_path, name, content)
    found = [bad_row_message(row) for row in caption_rows_of(path) if isinstance(row, BadRow)]
    assert re.fullmatch(
        rf"{path}: expected a \.gz file that expands to at most 200 times its size, got one of [\d,]+ bytes and more\. "
        r"If it is right, unpack it \(`gunzip`\)\.",
        found[0],
    )


def caption_rows_of(path):
    try:
        return list(open_source([path]).rows())
    except ValueError as error:
        file, _, reason = str(error).partition(": ")
        return [BadRow(file, 0, None, reason)]


def test_a_folder_of_too_many_files_is_no_folder_of_tables(tmp_path, monkeypatch):
    for i in range(6):
        write(tmp_path, f"{i % 2}/{i}.jsonl", json_lines(OBJECTS))
    assert [file.path for file in table_files([str(tmp_path)])] == sorted(map(str, tmp_path.rglob("*.jsonl")))
    monkeypatch.setattr(files, "MOST_NAMES", 5)
    with pytest.raises(ValueError) as found:
        table_files([str(tmp_path)])
    assert str(found.value) == (
        f"{tmp_path}: expected a folder of at most 5 files, got one of more. Name the folder of the tables itself, or "
        "a pattern such as captions/*.parquet."
    )


def test_a_full_disk_under_joined_rows_is_an_error_of_the_disk(tmp_path, monkeypatch):
    """SQLite says so in an error of its own, which no caller expects."""
    monkeypatch.setattr("manycaps.caption_tables.rows.SCHEMA", SCHEMA + "PRAGMA max_page_count = 20;")
    captions = [{"id": str(i), "caption": f"a dog number {i} runs on the beach"} for i in range(5_000)]
    path = write(tmp_path, "a.jsonl", json_lines(captions))
    with pytest.raises(OSError) as found:
        read([path])
    assert (found.value.errno, pathlib.Path(found.value.filename).name) == (errno.ENOSPC, "joined.sqlite")
    options = ScoreOptions(["vdtk_diversity"], inputs=[path], output=tmp_path / "scores")
    with pytest.raises(OSError) as found:
        score(options)
    assert str(found.value) == (
        f"{tmp_path / 'scores'}: expected a folder that can hold the results, got No space left on device. Make room, "
        "and give the same command again: finished parts stay."
    )
