"""Images and prompts out of folders, tars and tables."""

import io
import pathlib
import tarfile

import pyarrow
import pyarrow.parquet
import pytest

from manycaps.sampling import SampleOptions
from manycaps.sampling.items import read_items
from tests.refusals import assert_refused
from tests.tiny_models import save_pictures
from tests.tools import write_jsonl

OUTPUT = pathlib.Path("samples.jsonl")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return save_pictures(tmp_path_factory.mktemp("items") / "photos", 3)


def read(*sources, **changed):
    return list(read_items(SampleOptions("model", [str(source) for source in sources], OUTPUT, **changed)))


def test_a_folder_of_images(photos, tmp_path):
    assert [item.id for item in read(photos)] == ["0.png", "1.png", "2.png"]
    assert [item.id for item in read(photos, stems=True, limit=2)] == ["0", "1"]
    assert [(item.id, item.prompt) for item in read(photos / "1.png", prompt="what?")] == [("1.png", "what?")]
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.png").write_bytes((photos / "0.png").read_bytes())
    (tmp_path / "a.JPG").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no image")
    assert [item.id for item in read(tmp_path)] == ["a.JPG", "deep/b.png"]


def test_tables_of_images(photos, tmp_path):
    content = (photos / "0.png").read_bytes()
    with tarfile.open(tmp_path / "images.tar", "w") as archive:
        for name in ("x.png", "y.png"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert [(item.id, item.image) for item in read(tmp_path / "images.tar")] == [("x", content), ("y", content)]
    table = pyarrow.table({"image": [{"bytes": content, "path": "p.png"}], "id": [7], "question": ["what?"]})
    pyarrow.parquet.write_table(table, tmp_path / "images.parquet")
    (item,) = read(tmp_path / "images.parquet")
    assert (item.id, item.image, item.prompt) == ("7", content, "what?")
    rows = write_jsonl(tmp_path / "rows.jsonl", [{"image": "0.png"}, {"image": "1.png"}])
    assert [(i.id, i.image) for i in read(rows, images=str(photos))] == [
        ("0.png", str(photos / "0.png")),
        ("1.png", str(photos / "1.png")),
    ]
    rows = write_jsonl(tmp_path / "named.jsonl", [{"key": "0", "other": "1.png"}])
    (item,) = read(rows, columns={"id": "key", "image": "other"}, images=str(photos))
    assert (item.id, item.image) == ("0", str(photos / "1.png"))
    (item,) = read(write_jsonl(tmp_path / "ids.jsonl", [{"id": "2"}]), images=str(photos))
    assert (item.id, item.image) == ("2", str(photos / "2.png"))


def test_prompts(tmp_path):
    rows = write_jsonl(tmp_path / "prompts.jsonl", [{"prompt": "a dog"}, {"prompt": "a cat"}])
    assert [(item.id, item.prompt, item.image) for item in read(rows)] == [("0", "a dog", None), ("1", "a cat", None)]


@pytest.mark.parametrize(
    ("rows", "changed", "message"),
    [
        ([{"id": 1, "prompt": "a"}, {"id": 1, "prompt": "b"}], {}, "expected ids that differ, got '1' also at "),
        ([{"id": 1, "prompt": " "}], {}, "prompt[0]: expected a text, got ' '. Write it, or leave the row out."),
        ([{"id": 1, "words": "a"}], {}, "expected a column of images (image, jpg,"),
        ([{"id": 1, "image": 7}], {}, "image[0]: expected a path or the bytes of a file, got int (7)."),
        ([{"id": 1, "prompt": "a"}], {"columns": {"id": "key"}}, "expected a column 'key' of id, got "),
        ([{"id": 1, "image": "9.png"}, 5], {}, "row[1]: expected an object or a list of captions, got int."),
    ],
)
def test_messages(tmp_path, rows, changed, message):
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    assert_refused(ValueError, f".*{message}", read, path, **changed)
    assert_refused(ValueError, f".*{path}", read, path, **changed)


def test_an_id_that_occurs_in_two_folders(photos):
    message = ".*0.png: expected ids that differ, got '0.png' also at image "
    assert_refused(ValueError, message, read, photos, photos)
