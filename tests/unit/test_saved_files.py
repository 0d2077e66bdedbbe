"""Output files are whole or as they were, and what must not be replaced is refused before the work."""

import os
import stat

import pytest

from manycaps.saved_files import (
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
