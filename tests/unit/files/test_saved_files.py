"""Output files are whole or as they were, and what must not be replaced is refused before the work."""

import os
import pathlib
import stat

import pytest

from manycaps.commands.command_line import main
from manycaps.files.saved_files import (
    check_can_be_written,
    make_folder,
    write_atomically,
    write_folder_atomically,
    write_text_atomically,
)
from tests.refusals import assert_refused


def test_a_failing_writer_leaves_what_was_there(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(target):
        target.write_text("half")
        raise OSError(28, "No space left on device")

    assert_refused(OSError, ".*No space", write_atomically, path, fail)
    assert [child.name for child in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


def test_a_link_and_the_rights_of_its_target_stay(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text_atomically(link, "new")
    assert link.is_symlink()
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "got a folder. Give the name of a file."),
        ("pipe", "got a device or a pipe, which is never replaced. Give the name of a file."),
        ("device", "got a device or a pipe, which is never replaced. Give the name of a file."),
        ("loop", "got a link to itself. Delete it."),
        ("nowhere/file", "Make the folder first."),
    ],
)
def test_what_must_not_be_replaced_is_refused(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert_refused(OSError, f".*{message}$", check_can_be_written, tmp_path / name)


@pytest.mark.parametrize("source", ["rows.jsonl", "link.jsonl", "r*.jsonl"])
def test_what_is_read_is_not_replaced(tmp_path, source):
    (tmp_path / "rows.jsonl").write_text("{}")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "rows.jsonl")
    read = ["https://host/rows.jsonl", str(tmp_path / source)]
    assert_refused(OSError, ".*got one that is read", check_can_be_written, tmp_path / "rows.jsonl", read)
    check_can_be_written(tmp_path / "new.jsonl", read)


@pytest.mark.parametrize(
    "line",
    [
        "splits ROWS --by length -o ROWS",
        "core-set ROWS --test ROWS -o ROWS",
        "rows ROWS -o ROWS",
        "diversity ROWS -o ROWS",
        "count-ngrams ROWS --output ROWS",
        "count-document-frequency ROWS --output ROWS",
        "count-token-frequency ROWS --output ROWS",
        "coco-eval ROWS ROWS --output ROWS",
        "sample MODEL ROWS -o ROWS",
    ],
)
def test_no_command_writes_over_what_it_reads(tmp_path, capsys, line):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "references": ["a dog", "a cat"]}\n')
    text = rows.read_text()
    assert main(line.replace("ROWS", str(rows)).split()) != 0
    assert "got one that is read" in capsys.readouterr().err
    assert rows.read_text() == text


@pytest.mark.parametrize("name", ["a\ud800b", "a\0b"])
@pytest.mark.parametrize(
    "line",
    [
        "compare ROWS -r ROWS -o OUT",
        "splits ROWS --by length -o OUT",
        "rows ROWS -o OUT",
        "count-ngrams ROWS --output OUT",
        "sample --url http://localhost:1 --model m ROWS -o OUT",
        "decoding ROWS ROWS -r ROWS -o OUT",
        "export bleu_rouge OUT",
    ],
)
def test_a_name_that_no_file_can_have_is_refused_by_its_option(tmp_path, capsys, line, name):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "references": ["a dog", "a cat"]}\n')
    words = [word.replace("ROWS", str(rows)).replace("OUT", name) for word in line.split()]
    assert main(words) == 2
    assert "--" in (message := capsys.readouterr().err)
    assert f": expected a name that files can have, got {name!a}. Give another name." in message
    assert_refused(OSError, "path: expected a name that files can have", check_can_be_written, pathlib.Path(name))


def test_a_name_that_is_no_text_is_one_of_a_file(tmp_path, capsys):
    rows, name = tmp_path / "rows.jsonl", f"{tmp_path}/a\udcffb"
    rows.write_text('{"id": "a", "references": ["a dog", "a cat"]}\n')
    assert main(["count-ngrams", str(rows), "--output", name]) == 0
    assert os.path.isfile(name)
    assert capsys.readouterr().err


def test_a_folder_is_whole_or_not_there(tmp_path):
    def fail(folder):
        (folder / "a").write_text("half")
        raise ValueError("no")

    assert_refused(ValueError, "no$", write_folder_atomically, tmp_path / "new", fail)
    assert list(tmp_path.iterdir()) == []
    write_folder_atomically(tmp_path / "new", lambda folder: (folder / "a").write_text("whole"))
    assert (tmp_path / "new" / "a").read_text() == "whole"


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/deeper"):
        assert_refused(OSError, ".*expected a folder for output, got ", make_folder, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
