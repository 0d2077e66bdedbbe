"""Tables of captions: every kind and layout gives the same rows, every fault its message and no loss beside it."""

import errno
import gzip
import http.server
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
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manycaps.kit.files as kit_files
from manycaps.files.caption_tables import (
    BadRow,
    CaptionColumn,
    CaptionRow,
    bad_row_error,
    caption_lists,
    files,
    good_rows,
    open_captions,
    open_source,
    table_records,
    text_lines,
    text_records,
)
from manycaps.files.caption_tables.columns import find_layout, parse_columns
from manycaps.files.caption_tables.files import expand_braces, table_files, table_kind, whole
from manycaps.files.caption_tables.hub_records import hub_file
from manycaps.files.caption_tables.rows import SCHEMA
from manycaps.files.caption_tables.source import file_pieces
from manycaps.kit.errors import InputError
from manycaps.scoring import ScoreOptions, score
from tests.refusals import assert_refused

ROWS = [
    ("a", ["a dog", "a brown dog"], ["the dog runs", "a dog, running"]),
    ("b", ["a cat"], ["two cats \u2028 sleep", "cats"]),
    ("7", ["a man cooks", "a cook", "a man"], ["breakfast"]),
]

OBJECTS = [{"id": name, "predictions": ours, "references": theirs} for name, ours, theirs in ROWS]


def json_lines(objects):
    return "".join(json.dumps(value) + "\n" for value in objects)


def write(folder, name, content):
    """Write a text or bytes, compressed where the name says so, and return the path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith((".gz", ".tgz")) else data)
    return str(path)


def parquet_of(objects, **options):
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(objects), file, **options)
    return file.getvalue()


def arrow_of(objects, new=pa.ipc.new_stream):
    table, file = pa.Table.from_pylist(objects), io.BytesIO()
    with new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return file.getvalue()


def tar_of(samples):
    """A tar with lists of (name, content) as members."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in samples:
            data = content if isinstance(content, bytes) else content.encode("utf-8")
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def read(*arguments, **options):
    return list(open_source(*arguments, **options).rows())


def contents(rows):
    return [(row.id, row.predictions, row.references) for row in good_rows(rows)]


def with_bad_row(rows):
    """Split rows into the good ones and the only bad one."""
    (bad,) = (row for row in rows if isinstance(row, BadRow))
    return [row for row in rows if row is not bad], bad


def cells(rows, separator=","):
    """A table with one pair of captions a line."""
    lines = [separator.join(["image_id", "candidate", "reference"])]
    for name, ours, theirs in rows:
        for pair in itertools.zip_longest(ours, theirs, fillvalue=""):
            lines.append(separator.join([name, *('"' + cell.replace('"', '""') + '"' for cell in pair)]))
    return "\n".join(lines) + "\n"


PREDICTIONS = json_lines({"id": name, "captions": ours} for name, ours, _ in ROWS)
REFERENCES = json_lines({"id": name, "captions": theirs} for name, _, theirs in ROWS[::-1])
OBJECT_OF_IDS = {name: [{"caption": text} for text in theirs] for name, _, theirs in ROWS}

# Files of both sides in one, or of each side.
FORMS = {
    "nested.jsonl": [json_lines(OBJECTS)],
    "blank_lines.jsonl": ["\ufeff" + json_lines(OBJECTS).replace("\n", "\r\n\n")],
    "nested.jsonl.gz": [json_lines(OBJECTS)],
    "list.json": [json.dumps(OBJECTS)],
    "lines.json": [json_lines(OBJECTS)],
    "single.jsonl": [
        json_lines(
            {"_id": name, side: text}
            for name, ours, theirs in reversed(ROWS)
            for side, texts in (("prediction", ours), ("reference", theirs))
            for text in texts
        )
    ],
    "single.csv": [cells(ROWS)],
    "single.tsv": [cells(ROWS, "\t")],
    "single.tsv.gz": [cells(ROWS, "\t")],
    "a.parquet": [parquet_of(OBJECTS, row_group_size=2)],
    "stream.arrow": [arrow_of(OBJECTS)],
    "file.arrow": [arrow_of(OBJECTS, pa.ipc.new_file)],
    "sides.jsonl": [PREDICTIONS, REFERENCES],
    "sides.csv": [
        "id,caption\n" + "".join(f'{name},"{text}"\n' for name, *sides in ROWS[::-1] for text in sides[i])
        for i in (0, 1)
    ],
    "ids.json": [json.dumps({name: ours for name, ours, _ in ROWS}), json.dumps(OBJECT_OF_IDS)],
}


@pytest.mark.parametrize(("name", "sides"), FORMS.items(), ids=FORMS)
def test_every_form_gives_the_same_rows(tmp_path, name, sides):
    paths = [[write(tmp_path, f"{i}/{name}", content)] for i, content in enumerate(sides)]
    assert sorted(contents(read(*paths))) == sorted(ROWS)
    limited = contents(read(*paths, limit=2))
    assert len(limited) == 2
    assert limited == contents(read(*paths))[:2]


def test_rows_know_their_place(tmp_path):
    write(tmp_path, "x/b.jsonl", json_lines(OBJECTS[2:]))
    write(tmp_path, "x/a.jsonl", json_lines(OBJECTS[:2]))
    write(tmp_path, "x/notes.md", "no table")
    rows = read([str(tmp_path / "x")])
    places = [(pathlib.Path(row.file).name, row.row, row.id) for row in rows]
    assert places == [("a.jsonl", 0, "a"), ("a.jsonl", 1, "b"), ("b.jsonl", 0, "7")]
    assert rows[2] == CaptionRow(str(tmp_path / "x" / "b.jsonl"), 0, "7", ROWS[2][1], ROWS[2][2], None, None)
    nested = str(tmp_path / "x" / "a.jsonl")
    assert len(read([nested, nested], limit=3)) == 3


def test_rows_without_ids_are_named_by_their_place(tmp_path):
    lists = json_lines([["a dog"], ["a cat"]])
    one, two = write(tmp_path, "1.jsonl", lists), write(tmp_path, "2.jsonl", lists)
    assert [row.id for row in read([one])] == ["0", "1"]
    assert [row.id for row in read([one, two])] == [f"{one}:0", f"{one}:1", f"{two}:0", f"{two}:1"]


def test_coco_results_and_annotations(tmp_path):
    results = [{"image_id": 5, "caption": "a dog"}, {"image_id": 9, "caption": "a cat"}]
    annotations = {
        "info": {},
        "images": [{"id": 9, "file_name": "9.jpg"}, {"id": 5, "file_name": "COCO_5.jpg"}],
        "annotations": [
            {"image_id": 9, "id": 1, "caption": "cats"},
            {"image_id": 5, "id": 2, "caption": "dogs"},
            {"image_id": 5, "id": 3, "caption": "one dog"},
        ],
    }
    ours, theirs = (write(tmp_path, f"{i}.json", json.dumps(side)) for i, side in enumerate((results, annotations)))
    rows = read([ours], [theirs], images="photos")
    assert contents(rows) == [("5", ["a dog"], ["dogs", "one dog"]), ("9", ["a cat"], ["cats"])]
    assert [row.image for row in rows] == ["photos/COCO_5.jpg", "photos/9.jpg"]


@pytest.mark.parametrize("n_bytes", [1, 60, 300, 10_000])
def test_pieces_hold_every_row_once(tmp_path, n_bytes):
    many = [{"id": str(i), "captions": ["x" * (i % 7), f'a "{i}",\n dog'], "n": i} for i in range(40)]
    files_of_rows = {
        "a.jsonl": json_lines(many),
        "b.csv": "id,caption\n" + "".join(f'{i},"a ""{i}"",\n dog"\n' for i in range(40)),
        "c.parquet": parquet_of(many, row_group_size=16),
        "d.tar": tar_of([(f"{i}.txt", text) for i in range(40) for text in many[i]["captions"][1:]]),
    }
    for name, content in files_of_rows.items():
        path = write(tmp_path, name, content)
        source = open_source([path])._replace()
        store = str(tmp_path / "store") if source.needs_store else None
        if store:
            source.fill_store(tmp_path / "store")
        pieces = list(source.pieces(n_bytes, store))
        again = pickle.loads(pickle.dumps(source))
        rows = [row for piece in pieces for row in again.read(piece, store)]
        assert rows == read([path])
        assert [row.id for row in rows] == [str(i) for i in range(40)]
        assert len(pieces) > 1 or n_bytes == 10_000
        assert store or all(piece.n_rows in (None, len(list(again.read(piece)))) for piece in pieces)


def test_webdataset_tars(tmp_path):
    tar = tar_of(
        [
            ("000.jpg", b"\xff\xd8first"),
            ("000.txt", "a dog\na brown dog\n"),
            ("000.json", json.dumps({"caption": "the same again", "references": ["dogs"]})),
            ("x/001.txt", "a cat"),
            ("x/001.jpg", b"\xff\xd8second"),
            ("x/001.json", json.dumps({"references": ["cats", "two cats"]})),
        ]
    )
    first, second = ("000", ["a dog", "a brown dog"], ["dogs"]), ("x/001", ["a cat"], ["cats", "two cats"])
    for name in ("a.tar", "b.tar.gz", "c.tgz"):
        rows = read([write(tmp_path, name, tar)])
        assert contents(rows) == [first, second]
        assert [row.image for row in rows] == [b"\xff\xd8first", b"\xff\xd8second"]
    theirs = write(tmp_path, "r.jsonl", json_lines([{"id": "000", "references": ["a pup"]}]))
    good, bad = with_bad_row(read([str(tmp_path / "a.tar")], [theirs]))
    assert [(row.id, row.references, row.image) for row in good] == [("000", ["a pup"], b"\xff\xd8first")]
    assert bad[1:4] == (1, "x/001", InputError("id[1]", *NO_REFERENCES))


NO_REFERENCES = "references of the same id", "none", "Add them, or leave these predictions out."


def test_images_are_found_by_column_by_id_or_in_the_file(tmp_path):
    for name in ("a.png", "b"):
        write(tmp_path / "photos", name, b"pixels")
    folder = str(tmp_path / "photos")
    by_id = write(tmp_path, "a.jsonl", json_lines([{"id": "a", "caption": "x"}, {"id": "b", "caption": "y"}]))
    assert [row.image for row in read([by_id], images=folder)] == [f"{folder}/a.png", f"{folder}/b"]
    by_column = write(tmp_path, "b.jsonl", json_lines([{"image": "z/1.jpg", "caption": "x"}]))
    (row,) = read([by_column], images=folder)
    assert (row.id, row.image) == ("z/1.jpg", f"{folder}/z/1.jpg")
    inside = parquet_of([{"image": {"bytes": b"px", "path": None}, "caption": "x"}])
    assert read([write(tmp_path, "c.parquet", inside)], images=folder)[0].image == b"px"
    (bad,) = read([write(tmp_path, "d.jsonl", json_lines([{"id": "c", "captions": ["x"]}]))], images=folder)
    assert bad.reason.where == "image[0]"
    assert bad.reason.expected.startswith(f"a file c in {folder}, with or without one of the endings .jpg,")


@pytest.mark.parametrize("role", ["image", "video"])
def test_a_data_url_is_the_bytes_of_its_file_whatever_the_folder(role, tmp_path):
    urls = ["data:a/b;base64,cHg=", "DATA:;base64,cHg=", "data:a/b,px", "data:a/b;base64,!", "https://a.b/c"]
    table = json_lines([{"id": str(i), role: url, "caption": "x"} for i, url in enumerate(urls)])
    path = write(tmp_path, "a.jsonl", table)
    for folders in ({}, {f"{role}s": str(tmp_path)}):
        # Joined rows are reported behind the bad ones.
        *bad, first, second, address = read([path], **folders)
        assert [getattr(first, role), getattr(second, role)] == [b"px", b"px"]
        assert [row.reason.got[:19] for row in bad] == ["'data:a/b,px' (no ;", "'data:a/b;base64,!'"]
        # An address stays a name, of a file that is not there.
        assert getattr(address, role) == (f"{tmp_path}/{urls[-1]}" if folders else urls[-1])


class AddressHandler(http.server.BaseHTTPRequestHandler):
    """Serves one table, and refuses everything else."""

    def do_GET(self):
        found = self.path == "/a.jsonl"
        self.send_response(200 if found else 403)
        self.send_header("Content-Length", str(len(ADDRESS_LINE) if found else 0))
        self.end_headers()
        self.wfile.write(ADDRESS_LINE if found else b"")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


ADDRESS_LINE = b'{"predictions": ["a dog"], "references": ["dogs"]}\n'


def test_a_server_of_the_web_is_read_or_named():
    with http.server.HTTPServer(("127.0.0.1", 0), AddressHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            (row,) = read([f"{address}/a.jsonl"])
            with pytest.raises(ValueError, match=f"^{address}/b.jsonl: expected an address that can be read, got none"):
                read([f"{address}/b.jsonl"])
        finally:
            server.shutdown()
    assert row.predictions == ["a dog"]


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.jsonl").write_bytes(ADDRESS_LINE)
    assert [file.path for file in table_files(["~/a.jsonl"])] == [str(tmp_path / "a.jsonl")]


def test_addresses_are_read_by_fsspec():
    import fsspec

    memory = fsspec.filesystem("memory")
    for i, value in enumerate(OBJECTS):
        memory.pipe(f"/tables/{i}.jsonl", json_lines([value]).encode())
    memory.pipe("/photos/a.jpg", b"pixels")
    for address in ("memory://tables/{0..2}.jsonl", "memory://tables", "memory://tables/*.jsonl"):
        assert contents(read([address])) == ROWS
    assert read(["memory://tables/0.jsonl"], images="memory://photos")[0].image == b"pixels"
    (bad,) = read(["memory://tables/1.jsonl"], images="memory://photos")
    assert str(bad.reason).startswith("image[0]: expected a file at memory://photos/b.jpg, got none")


def second_object(**changes):
    """Lines of the three objects, the second of them changed."""
    return json_lines([OBJECTS[0], OBJECTS[1] | changes, OBJECTS[2]])


def table_with(line):
    return f'id,caption\na,a dog\n{line}\n7,"a man"\n'


NUMBER = "row[1]: expected an object or a list of captions, got int. Fix or delete this row."
NO_ID = "id[1]: expected an id (text or a whole number), got {}. Write it, or leave the row out."
HALF = "{}[1]: expected UTF-8 text, got half a character, '\\ud800'. Save the file as UTF-8, or leave the row out."
CELLS = "row[1]: expected 2 cells, got {}. Put a caption with separators into double quotes."


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "a.jsonl", json_lines(OBJECTS[:1]) + '{"id": "b",\n' + json_lines(OBJECTS[2:]),
            "row[1]: expected a line of JSON, got invalid JSON (Expecting property name enclosed in double quotes). "
            "Fix or delete this line.",
        ),
        ("number.jsonl", json_lines([OBJECTS[0], 3, OBJECTS[2]]), NUMBER),
        ("list.json", json.dumps([OBJECTS[0], 3, OBJECTS[2]]), NUMBER),
        ("empty.jsonl", second_object(predictions=[]), "predictions[1]: expected at least one caption, got an empty "),
        ("type.jsonl", second_object(references=[1]), "references[1][0]: expected a caption (a string), got int (1)."),
        ("none.jsonl", second_object(references=None), "references[1]: expected captions, got none. Write them, or l"),
        ("id.jsonl", second_object(id=None), NO_ID.format("none")),
        (
            "bytes.jsonl", json_lines(OBJECTS).encode().replace(b"a cat", b"a c\xff\xfet"),
            "predictions[1]: expected UTF-8 text, got the byte 0xff. Save the file as UTF-8, or leave the row out.",
        ),
        ("half.jsonl", second_object(id="a\ud800"), HALF.format("id")),
        ("quote.csv", table_with('b,"a cat'), "row[1]: expected cells, got unexpected end of data. Fix the quotes of"),
        ("three_cells.csv", table_with("b,a cat, sleeping"), CELLS.format(3)),
        ("no_caption.csv", table_with("b,"), "caption[1]: expected captions, got none. Write them, or leave the row "),
    ],
)  # fmt: skip
def test_a_bad_line_costs_no_other(tmp_path, name, content, reason):
    path = write(tmp_path, name, content)
    good, bad = with_bad_row(read([path]))
    assert (bad.file, bad.row) == (path, 1)
    assert str(bad.reason).startswith(reason)
    assert [row.id for row in good] == ["a", "7"]
    if not name.endswith("csv"):
        assert contents(good) == [ROWS[0], ROWS[2]]


def test_ids_missing_on_one_side(tmp_path):
    ours = write(tmp_path, "a.jsonl", json_lines([{"id": 1, "captions": ["x"]}, {"id": 2, "captions": ["y"]}]))
    theirs = write(tmp_path, "b.jsonl", json_lines([{"id": 2, "captions": ["z"]}, {"id": 3, "captions": ["w"]}]))
    rows = read([ours], [theirs])
    without_predictions = "predictions of the same id", "none", "Add them, or leave these references out."
    assert [row for row in rows if isinstance(row, BadRow)] == [
        BadRow(ours, 0, "1", InputError("id[0]", *NO_REFERENCES), True),
        BadRow(theirs, 1, "3", InputError("id[1]", *without_predictions), True),
    ]
    with pytest.raises(ValueError, match=r"a\.jsonl, id '1': id\[0\]: expected references of the same id, got none\."):
        list(good_rows(rows))


LETTERS = random.Random(0).choices(string.ascii_lowercase, k=9 * 20_000)
LONG_TAR = tar_of([(f"{i}.txt", "".join(LETTERS[i::9])) for i in range(9)])
THREE_OF_TAR = 3 * (512 + 20_480)
MANY = json_lines({"id": i, "captions": [f"a dog {i} runs {i * i}"]} for i in range(3000))


@pytest.mark.parametrize(
    ("name", "data", "least"),
    [
        ("a.tar", LONG_TAR[: len(LONG_TAR) // 2], 1),
        ("a.tar.gz", gzip.compress(LONG_TAR)[:-20_000], 1),
        # Between two members, in the header of the fourth, and with another one in its place.
        *(("a.tar", LONG_TAR[:THREE_OF_TAR] + rest, 2) for rest in (b"", LONG_TAR[:100], b"x" * 512)),
        ("a.jsonl.gz", gzip.compress(MANY.encode())[:-2000], 1000),
        ("a.arrow", arrow_of(OBJECTS)[:-200], 2),
        ("a.csv", "id,caption\n0,a dog\n1,two cats\n".encode("utf-16")[:-3], 1),
    ],
    ids=range(8),
)
def test_a_truncated_file_keeps_the_rows_before(tmp_path, name, data, least):
    (tmp_path / name).write_bytes(data)
    good, bad = with_bad_row(read([str(tmp_path / name)]))
    assert bad.row == len(good) >= least
    expected = {"a.csv": "UTF-16 up to the end of the file, got "}.get(
        name, f"a whole {name[1:]} file, got damage from"
    )
    assert str(bad.reason).startswith(f"row[{bad.row}]: expected {expected}")
    if name != "a.arrow":
        assert [row.id for row in good] == [str(i) for i in range(len(good))]


def test_a_damaged_row_group_costs_the_rows_before_it_nothing_nor_those_of_other_pieces(tmp_path):
    many = [{"id": i, "captions": [f"dog {i} " + "x" * 50]} for i in range(30)]
    data = bytearray(parquet_of(many, row_group_size=10, compression="zstd"))
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(1)
    first = group.column(1).dictionary_page_offset or group.column(1).data_page_offset
    data[first : first + 60] = bytes(60)
    source = open_source([write(tmp_path, "a.parquet", bytes(data))])
    good, bad = with_bad_row(list(source.rows()))
    assert [row.row for row in good] == list(range(10))
    assert str(bad.reason).startswith("row[10]: expected a whole .parquet file, got damage from here on (")
    pieces = list(source.pieces(group.total_byte_size // 2))
    good, _ = with_bad_row([row for piece in pieces for row in source.read(piece)])
    assert {row.row for row in good} >= {*range(10), *range(20, 30)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("b.parquet", parquet_of(OBJECTS)[:-100]),
        ("b.arrow", b"no Arrow at all"),
        ("b.jsonl.gz", None),
        ("b.tar", b"no tar"),
    ],
)
def test_a_file_of_another_kind_is_one_bad_row_of_its_folder(name, content, tmp_path):
    for other in "ac":
        write(tmp_path, f"{other}.parquet", parquet_of([{**one, "id": other + one["id"]} for one in OBJECTS]))
    (tmp_path / name).write_bytes(content or b'["a dog"]\n')
    good, bad = with_bad_row(read([str(tmp_path)]))
    assert (bad.file, bad.row, len(good)) == (str(tmp_path / name), 0, 6)
    message = f"row[0]: expected a whole {name[1:]} file, got damage from here on ("
    assert str(bad.reason).startswith(message)
    assert str(bad.reason).endswith("). Fetch it again, or name it by what it holds.")
    assert_refused(ValueError, f"{bad.file}: {message}", open_source, [bad.file])


def test_a_file_that_cannot_be_read_is_a_bad_row_beside_others(tmp_path, monkeypatch):
    path = write(tmp_path, "a.jsonl", json_lines(OBJECTS))
    empty = write(tmp_path, "b.jsonl", "")
    source = open_source([str(tmp_path)])
    bad = list(source.rows())[-1]
    reason = InputError("", "at least one row", "an empty file", "Leave it out, or write it again.")
    assert bad == BadRow(empty, 0, None, reason)
    assert str(bad_row_error(bad)).startswith(f"{empty}: expected at least one row")
    if os.geteuid():  # root may read every file
        os.chmod(empty, 0)
        assert "expected a file that can be read, got Permission denied" in str(read([str(tmp_path)])[-1].reason)

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("manycaps.files.caption_tables.text_records.open_bytes", fail)
    reason = InputError("", "a file that can be read", "Input/output error", "Check its permissions and the disk.")
    assert next(iter(source.rows())) == BadRow(path, 0, None, reason)


NAME = "id,caption\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", ": expected at least one row, got none. Give a file with captions."),
        ("a.csv", NAME, ": expected at least one row, got none. Give a file with captions."),
        ("a.json", "[", ": expected JSON, got invalid JSON (Expecting value: line 1 column 2 (char 1)). Write "),
        ("a.jsonl", '{"id": 1}\n', ": expected a column of predictions, such as predictions, candidates,"),
        ("a.jsonl", '{"text": "a", "caption": "b"}\n', ": expected one column of predictions, got caption and text. "),
        ("a.csv", "id,cap\rtion\n1,a dog\n", ": expected column names in the first line, got new-line"),
        ("a.txt", "a dog\ra cat\r", ": row[0]: expected lines that end in a line feed, got carriage returns al"),
        ("a.csv", "id,caption\r1,a dog\r", ": expected lines that end in a line feed, got carriage returns alone. Sa"),
        ("a.jsonl", '["a"]\r["b"]\r', ": row[0]: expected lines that end in a line feed, got carriage returns al"),
        ("a.csv", "id,caption,caption\n1,a dog,two cats\n", ": expected every column name once, got 'caption' 2 time"),
    ],
)  # fmt: skip
def test_what_concerns_all_rows_raises(tmp_path, name, content, message):
    path = write(tmp_path, name, content)
    assert_refused(ValueError, f"{path}{message}", open_source, [path])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ScoreOptions(["trm_meteor"], ["a.jsonl"], ""),
            "--output: expected the name of a folder, got an empty",
        ),
        (lambda: table_files(["none.jsonl"]), "expected a file, a folder or a pattern of files, got none. Check the"),
        (lambda: table_files(["empty"]), ": expected at least one table in the folder, got none."),
        (lambda: table_files(["a.docx"]), r"a.docx: expected a table that ends in .parquet, "),
        (lambda: open_source(["lists.jsonl"], ["ids.jsonl"]), "lists.jsonl: expected a column of ids to join predicti"),
        (lambda: open_source(["caf\udce9.jsonl"]), "'caf\\udce9.jsonl': expected a path in UTF-8, got other bytes"),
        (lambda: open_captions(["both.jsonl"]), "expected one column of captions, got predictions and references. Nam"),
        (
            lambda: open_captions(["single.csv"], CaptionColumn("caption", needs_group=True)),
            "expected lists of captions in caption, or a column that names the item of",
        ),
        (lambda: list(table_records("both.jsonl")), "both.jsonl: row[3]: expected a line of JSON, got invalid JSON"),
        (lambda: parse_columns("captions=a"), "--columns: expected a list such as predictions=samples,id=image_i"),
        (
            lambda: find_layout(["text"], {"id": "x"}, ["predictions"], "a"),
            "a: expected a column 'x' of id, got text. Check --columns.",
        ),
        *(
            (lambda text=text: expand_braces(text), f"expected braces for 1 to 1,000,000 names, got {n}. Write")
            for text, n in (("{0..999999999999}", "1,000,001"), ("{0..999}" * 3, "1,000,000,000"), ("{9..0}", "0"))
        ),
    ],
)
def test_sources_and_options_that_cannot_be_used(tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write(tmp_path, "a.docx", "x")
    write(tmp_path, "caf\udce9.jsonl", json_lines(OBJECTS))
    write(tmp_path, "lists.jsonl", json_lines([["a dog"]]))
    write(tmp_path, "ids.jsonl", json_lines([{"id": 1, "captions": ["x"]}]))
    write(tmp_path, "both.jsonl", json_lines(OBJECTS) + "{\n")
    write(tmp_path, "single.csv", "caption\na dog\na cat\n")
    assert_refused(ValueError, f".*{message}", call)


def test_columns_without_names_are_not_read(tmp_path):
    nameless = write(tmp_path, "b.csv", "id,caption,,\n1,a dog,,\n1,two cats,,\n")
    for open_table in (open_source, open_captions):
        assert [row.predictions for row in good_rows(open_table([nameless]).rows())] == [["a dog", "two cats"]]


def test_names_of_files():
    assert expand_braces("a{0..2}{x,y}") == ["a0x", "a0y", "a1x", "a1y", "a2x", "a2y"]
    assert expand_braces("a{8..11}.tar") == ["a8.tar", "a9.tar", "a10.tar", "a11.tar"]
    assert expand_braces("{x}") == ["{x}"]
    assert [table_kind(name) for name in ("a.parquet.gz", "b", ".csv", "c.CSV")] == [None, None, None, (".csv", False)]
    for name in ("someone/captions", "flickr8k"):
        assert hub_file(name, None, "train") is not None
    for name in ("a.csv", "/a", "a/b/c", "../a", "s3://a", "{a,b}", "", "a" * 5000):
        assert hub_file(name, None, "train") is None


def test_references_alone_will_do_where_either_side_does(tmp_path):
    people = [{"id": name, "references": captions} for name, _, captions in ROWS]
    forms = {"a.jsonl": json_lines(people), "a.json": json.dumps(people), "a.parquet": parquet_of(people)}
    for name, content in forms.items():
        path = write(tmp_path, name, content)
        assert_refused(ValueError, ".*expected a column of predictions, such as predictions", open_source, [path])
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
    # In a folder of tables, text is no table.
    write(tmp_path, "b.jsonl", json_lines(OBJECTS))
    assert [pathlib.Path(file.path).name for file in table_files([str(tmp_path)])] == ["b.jsonl"]


def test_folders_that_datasets_saved(tmp_path):
    saved, column = tmp_path / "saved", CaptionColumn("predictions")
    for split, objects in (("train", OBJECTS), ("validation", OBJECTS[:1])):
        for name in ("data-00000-of-00001.arrow", "cache-1.arrow"):
            write(saved / split, name, arrow_of(objects))
        write(saved / split, "state.json", '{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    assert contents(read([str(saved / "train")])) == ROWS
    write(saved, "dataset_dict.json", '{"splits": ["train", "validation"]}')
    assert contents(read([str(saved)])) == ROWS
    assert list(caption_lists(open_captions([str(saved)], column, "validation"))) == [ROWS[0][1]]
    with pytest.raises(ValueError, match=r"saved: expected a saved split 'test', got \['train', 'validation'\]\. Name"):
        open_captions([str(saved)], column, "test")
    write(saved, "train/state.json", '{"_data_files": [{"filename": "../a.arrow"}]}')
    with pytest.raises(ValueError, match=r"state\.json: expected the names of files, got \['\.\./a\.arrow'\]\. Save"):
        open_source([str(saved / "train")])


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_paragraphs_in_utf_16(name, encoding, tmp_path):
    path = write(tmp_path, name, "\ufeffein Hünd\nzwei, \u2028 Katzen\n".encode(encoding))
    captions = [row.predictions for row in good_rows(open_source([path]).rows())]
    assert [text for row in captions for text in row] == ["ein Hünd", "zwei, \u2028 Katzen"]
    [file] = table_files([path])
    assert list(file_pieces(file, 1)) == [whole(file)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.txt"])
def test_a_line_without_end_is_bad_and_the_rows_before_are_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "MAX_LINE_BYTES", 1_000)
    first = {"a.csv": "id,caption\n1,a dog\n", "a.txt": "a dog\n\n"}.get(name, '{"id": 1, "captions": ["a dog"]}\n')
    path = write(tmp_path, name, first + "x" * 2_000 + "\n" + first)
    for n_bytes in (1, 1 << 20):
        pieces = file_pieces(table_files([path])[0], n_bytes)
        good, bad = (record for piece in pieces for record in text_records.text_records(piece))
        assert "a dog" in json.dumps(good.values)
        assert bad.row == 1
        assert str(bad.reason) == (
            "row[1]: expected lines of at most 1,000 bytes, got a longer one, after which nothing is read. Write one "
            "row per line, or leave the file out."
        )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json.gz", " " * (1 << 20)),
        ("a.csv.gz", "id,caption\n" + "1,a dog\n" * 40_000),
        ("a.tar.gz", tar_of([("a.txt", "a dog " * 40_000)])),
    ],
    ids=["json", "csv", "tar"],
)
def test_a_compressed_file_expands_within_a_limit(name, content, tmp_path, monkeypatch):
    monkeypatch.setattr(kit_files, "EXPANSION_BYTES", 1 << 16)
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError) as error:
        list(good_rows(open_source([path]).rows()))
    assert re.search(
        r": expected a \.gz file that expands to at most 200 times its size, got one of [\d,]+ bytes and more\. "
        r"If it is right, unpack it \(`gunzip`\)\.$",
        str(error.value),
    )
    assert str(error.value).startswith(path)


def test_a_folder_of_too_many_files_is_no_folder_of_tables(tmp_path, monkeypatch):
    for i in range(6):
        write(tmp_path, f"{i % 2}/{i}.jsonl", json_lines(OBJECTS))
    assert [file.path for file in table_files([str(tmp_path)])] == sorted(map(str, tmp_path.rglob("*.jsonl")))
    monkeypatch.setattr(files, "MOST_NAMES", 5)
    with pytest.raises(ValueError) as error:
        table_files([str(tmp_path)])
    assert str(error.value) == (
        f"{tmp_path}: expected a folder of at most 5 files, got one of more. Name the folder of the tables itself, or "
        "a pattern such as captions/*.parquet."
    )


def test_a_full_disk_under_joined_rows_is_an_error_of_the_disk(tmp_path, monkeypatch):
    """SQLite says so in an error of its own, which no caller expects."""
    monkeypatch.setattr("manycaps.files.caption_tables.rows.SCHEMA", SCHEMA + "PRAGMA max_page_count = 20;")
    captions = [{"id": str(i), "caption": f"a dog number {i} runs on the beach"} for i in range(5_000)]
    path = write(tmp_path, "a.jsonl", json_lines(captions))
    with pytest.raises(OSError) as error:
        read([path])
    assert (error.value.errno, pathlib.Path(error.value.filename).name) == (errno.ENOSPC, "joined.sqlite")
    with pytest.raises(OSError) as error:
        score(ScoreOptions(["vdtk_diversity"], inputs=[path], output=tmp_path / "scores"))
    assert str(error.value) == (
        f"{tmp_path / 'scores'}: expected a folder that can hold the results, got No space left on device. Make room, "
        "and give the same command again: finished parts stay."
    )
