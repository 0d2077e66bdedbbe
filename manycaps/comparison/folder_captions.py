"""Captions of the rows that `manycaps score` has scored, read again from the files that it names."""

import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manycaps.caption_tables import CaptionRow, Source, open_source
from manycaps.caption_tables.files import is_local
from manycaps.comparison.scored_systems import SystemRow
from manycaps.scoring.run_folder import read_saved

# What to do where the captions are not to be had.
REMEDY = "Compare the files of captions in place of the folders, or leave --with-captions out."


def folder_rows(folders: Mapping[str, str], ids: Sequence[str]) -> list[SystemRow]:
    """Return the scored rows with the captions of all systems, and with the references of the baseline.

    Args:
        folders: from the name of each system to its folder of a finished run; the first is the baseline.
        ids: of the rows, in the order that is wanted.

    Returns:
        The rows.

    Raises:
        ValueError: a file is gone, has changed, or is not understood as it was.
    """
    read = {name: _captions(path) for name, path in folders.items()}
    for name, rows in read.items():
        lacking = next((each for each in ids if each not in rows), None)
        if lacking is not None:
            raise ValueError(f"{folders[name]}: expected captions of the id {lacking!r}, got none. {REMEDY}")
    references = next(iter(read.values()))
    return [
        SystemRow(
            each, {name: rows[each].predictions or [] for name, rows in read.items()}, references[each].references
        )
        for each in ids
    ]


def folder_options(folder: str, modules: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the options that modules were given in a finished run."""
    options = _summary(folder).get("options", {})
    return {module: dict(options.get(module, {})) for module in modules}


def _captions(folder: str) -> dict[str, CaptionRow]:
    """Rows by their ids; of several the first, which is the one that was scored."""
    found: dict[str, CaptionRow] = {}
    for row in _opened(folder).rows():
        if isinstance(row, CaptionRow):
            found.setdefault(row.id, row)
    return found


def _opened(folder: str) -> Source:
    """The input of a run, understood as it was."""
    inputs = _summary(folder).get("inputs", {})
    files, sides = dict(inputs.get("files", {})), dict(inputs.get("understood", {}))
    for path, (n_bytes, modified) in files.items():
        state = _state(path)
        if state != (n_bytes, modified):
            got = "none" if state is None else "another one"
            raise ValueError(f"{folder}: expected the file {path} that it was scored from, got {got}. {REMEDY}")
    for columns in _columns(sides):
        n_main = sides["predictions"]["files"]
        source = open_source(list(files)[:n_main], list(files)[n_main:], columns, limit=inputs.get("limit"))
        if source.description() == sides:
            return source
    raise ValueError(
        f"{folder}: expected to be told how its files were understood, got nothing that fits them. {REMEDY}"
    )


def _columns(sides: Mapping[str, Any]) -> Iterator[dict[str, str] | None]:
    """Ways to name the columns: not at all, and as the run has understood them."""
    if sides:
        yield None
        yield {role: name for side in sides.values() for role, name in side["columns"].items()}


def _state(path: str) -> tuple[int, int | None] | None:
    """Size and time of the last change of a local file; None where there is none. Others are taken as they are."""
    if not is_local(path):
        import fsspec

        return int(fsspec.core.url_to_fs(path)[0].size(path)), None
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _summary(folder: str) -> dict[str, Any]:
    return read_saved(pathlib.Path(folder) / "summary.json")
