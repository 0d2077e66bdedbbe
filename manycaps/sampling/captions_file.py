"""A file of samples that is written row by row, and resumed where it was stopped; and the files beside it."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manycaps.files.sampling_settings import COUNTED, COUNTS, ERRORS, PARTIAL, SETTINGS, sampling_settings
from manycaps.files.saved_files import (
    check_can_be_written,
    lock_output,
    name_changes,
    write_atomically,
    write_text_atomically,
)
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.files import is_count, read_json
from manycaps.sampling.answers import Sample

# What stands for a sample without a visible character: many tools drop an empty caption, or refuse it.
NOTHING = "."


class CaptionsFile:
    """Samples on the disk: `<path>.partial` until the last row is written, then `path`."""

    def __init__(self, path: pathlib.Path, settings: Mapping[str, Any]):
        self.path, self._settings = path, json.loads(json.dumps(settings))
        self._partial, self._beside, self.errors = (
            path.with_name(path.name + ending) for ending in (PARTIAL, SETTINGS, ERRORS)
        )
        self._rows: Any = None
        # Of all samples that the file has: their number, and how many show nothing, were cut at the largest number of
        # tokens, and began with thoughts. After a killed run the samples since it began are missing here.
        self.counts = collections.Counter[str]()

    @contextlib.contextmanager
    def open(self, *, restart: bool) -> Iterator[list[str]]:
        """Open the file to append to it."""
        for path in (self.path, self._partial, self._beside, self.errors):
            check_can_be_written(path)
        if self.path.exists() and self.errors.exists() and not self._partial.exists() and not restart:
            self._check_settings()
            write_atomically(self._partial, lambda target: shutil.copyfile(self.path, target))
        with self._partial.open("ab") if not self.is_complete or restart else open(os.devnull, "ab") as rows:
            lock_output(rows.fileno(), self._partial, "a file")
            if restart:
                rows.truncate(0)
                self.path.unlink(missing_ok=True)
            elif self.path.exists() or rows.tell():
                self._check_settings()
            finished = self._read_finished(rows)
            self.counts = collections.Counter({} if restart else _counts_beside(self._beside))
            self._write_settings()
            # Rows that failed before are tried again.
            self.errors.unlink(missing_ok=True)
            self._rows = rows
            try:
                yield finished
            finally:
                self._write_settings()

    @property
    def is_complete(self) -> bool:
        """Whether all rows are there."""
        return self.path.exists() and not self._partial.exists() and not self.errors.exists()

    def _write_settings(self) -> None:
        """Write the settings, with what was counted."""
        counted = {**self._settings, COUNTS: {name: self.counts[name] for name in COUNTED}}
        write_text_atomically(self._beside, json.dumps(counted, indent=1) + "\n")

    def add(self, rows: Sequence[tuple[str, Sequence[Sample]]]) -> int:
        """Append rows, and flush them to the disk; return how many samples show nothing."""
        shown = [(name, [each.text if _is_visible(each.text) else NOTHING for each in own]) for name, own in rows]
        _append(self._rows, [{"id": name, "captions": texts} for name, texts in shown])
        samples = [sample for _, own in rows for sample in own]
        n_empty = sum(not _is_visible(sample.text) for sample in samples)
        n_cut, n_thoughts = (sum(getattr(each, name) for each in samples) for name in ("is_cut", "has_thoughts"))
        self.counts.update(dict(zip(COUNTED, (len(samples), n_empty, n_cut, n_thoughts), strict=True)))
        return n_empty

    def add_errors(self, errors: Mapping[str, Exception]) -> None:
        """Append to the errors of rows that are left out."""
        with self.errors.open("ab") as file:
            _append(file, [{"id": name, "error": str(error)} for name, error in errors.items()])

    def finish(self) -> None:
        """Give the file its name."""
        if not self._rows.tell():
            raise InputError("source", "rows that can be sampled", "errors alone", f"{self.errors} says why.")
        os.fsync(self._rows.fileno())
        os.replace(self._partial, self.path)

    def _read_finished(self, rows: Any) -> list[str]:
        """Ids of the rows that are whole; what follows the last of them is deleted."""
        if self.is_complete:
            return []
        content = self._partial.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        names = [self._name_of(line, number) for number, line in enumerate(whole.split(b"\n")[:-1], start=1)]
        rows.truncate(len(whole))
        return names

    def _name_of(self, line: bytes, number: int) -> str:
        """The id of a finished row."""
        try:
            row = json.loads(line.decode())
            name, captions = row["id"], row["captions"]
            is_whole = (
                isinstance(name, str) and isinstance(captions, list) and all(isinstance(c, str) for c in captions)
            )
            if is_whole and len(captions) == self._settings.get("n", len(captions)):
                return str(name)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        expected = f"rows of samples in {quote_path(self._partial)}"
        fix = "Delete it, or give --restart to begin from scratch."
        raise InputError("--output", expected, f"another line at {number}", fix)

    def _check_settings(self) -> None:
        """Raise if the captions were made with other settings."""
        advice = "Give another file, or --restart to begin from scratch."
        made = sampling_settings(str(self.path), advice)
        expected = "a new file, or one of the same settings"
        if made is None:
            raise InputError("--output", expected, f"{quote_path(self.path)} without settings", advice)
        if changed := name_changes(made, {**dict.fromkeys(made), **self._settings}):
            raise InputError("--output", expected, f"{quote_path(self.path)} with {changed}", advice)


def _append(file: Any, lines: Sequence[Mapping[str, Any]]) -> None:
    file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    file.flush()


def _is_visible(text: str) -> bool:
    r"""Whether a sample shows anything: blanks, controls and marks without width do not.

    >>> _is_visible(" 狗"), _is_visible("\u200b\ufeff \x00")
    (True, False)
    """
    return any(letter.isprintable() and letter != " " for letter in text)


def _counts_beside(path: pathlib.Path) -> dict[str, int]:
    """What an earlier run has counted."""
    settings = read_json(path, str(path), "Delete it, or sample again.") if path.is_file() else None
    counts = settings.get(COUNTS) if isinstance(settings, dict) else None
    given = counts if isinstance(counts, dict) else {}
    return {name: given[name] for name in COUNTED if is_count(given.get(name), 0, 2**53)}
