"""A file of samples that is written row by row, and resumed where it was stopped; and the settings beside it."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manycaps.kit.base_files import read_json
from manycaps.kit.base_messages import shown_path
from manycaps.saved_files import changed_values, check_can_be_written, lock_output, write_text_atomically

# Ending of the file of settings beside one of captions, and of an unfinished one.
SETTINGS, PARTIAL = ".settings", ".partial"

# What stands for a sample without a word, for programs that refuse an empty caption.
NOTHING = "."


class CaptionsFile:
    """Samples on the disk: `<path>.partial` until the last row is written, then `path`."""

    def __init__(self, path: pathlib.Path, settings: Mapping[str, Any]):
        self.path, self._settings = path, json.loads(json.dumps(settings))
        self._partial = path.with_name(path.name + PARTIAL)
        self._beside = path.with_name(path.name + SETTINGS)
        self._rows: Any = None

    @contextlib.contextmanager
    def opened(self, *, restart: bool) -> Iterator[list[str]]:
        """Open the file to append to it."""
        for path in (self.path, self._partial, self._beside):
            check_can_be_written(path)
        with self._partial.open("ab") if not self.is_complete or restart else open(os.devnull, "ab") as rows:
            lock_output(rows.fileno(), self._partial, "a file")
            if restart:
                rows.truncate(0)
                self.path.unlink(missing_ok=True)
            elif self.path.exists() or rows.tell():
                self._check_settings()
            write_text_atomically(self._beside, json.dumps(self._settings, indent=1) + "\n")
            self._rows = rows
            yield self._finished(rows)

    @property
    def is_complete(self) -> bool:
        """Whether all rows are there."""
        return self.path.exists()

    def add(self, rows: Sequence[tuple[str, Sequence[str]]]) -> int:
        """Append rows, and flush them to the disk."""
        lines = [{"id": name, "captions": [text or NOTHING for text in texts]} for name, texts in rows]
        self._rows.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
        self._rows.flush()
        return sum(not text for _, texts in rows for text in texts)

    def finish(self) -> None:
        """Give the file its name."""
        os.fsync(self._rows.fileno())
        os.replace(self._partial, self.path)

    def _finished(self, rows: Any) -> list[str]:
        """Ids of the rows that are whole; what follows the last of them is deleted."""
        if self.is_complete:
            return []
        content = self._partial.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        rows.truncate(len(whole))
        return [json.loads(line)["id"] for line in whole.splitlines()]

    def _check_settings(self) -> None:
        """Raise if the captions were made with other settings."""
        advice = "Give another file, or --restart to begin from scratch."
        made = sampling_settings(str(self.path), advice)
        if made is None:
            raise ValueError(
                f"--output: expected a new file, or one of the same command, got {shown_path(self.path)} without "
                f"settings. {advice}"
            )
        if changed := changed_values(made, {**dict.fromkeys(made), **self._settings}):
            raise ValueError(
                f"--output: expected a new file, or one of the same settings, got {shown_path(self.path)} with "
                f"{changed}. {advice}"
            )


def sampling_settings(path: str, advice: str = "Delete it, or sample again.") -> dict[str, Any] | None:
    """Return the settings beside a file of captions; None where there are none."""
    beside = pathlib.Path(path + SETTINGS)
    settings = read_json(beside, str(beside), advice) if beside.is_file() else None
    return settings if isinstance(settings, dict) else None
