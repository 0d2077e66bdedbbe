"""The folder of a run: paths of its files, each written whole or not at all, and one run at a time."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from manycaps.kit.base import InputError, InputOSError, file_sha256, quote_path, quote_value, read_json
from manycaps.saved_files import lock_output, replace_when_whole

# Beginning of a file's name until it is complete; a run removes what killed processes left.
INCOMPLETE = ".incomplete-"

# Errors of a full disk or a read-only folder.
NO_ROOM = {
    errno.ENOSPC: "Make room",
    errno.EDQUOT: "Make room within the quota",
    errno.EROFS: "Make the folder writable",
    errno.EACCES: "Make the folder writable",
    errno.EPERM: "Make the folder writable",
}


# Advice where a file of a run has other content.
HOW_TO_BEGIN_AGAIN = (
    "Nothing but `manycaps score` writes there: start from scratch with --restart, or use another folder."
)


class RunFolder:
    """Paths of a run's files."""

    def __init__(self, path: str | os.PathLike[str]):
        """Take the folder; it need not be there."""
        self.path = pathlib.Path(path)
        self.rows = self.path / "rows"
        self.parts = self.path / "parts"
        self.manifest = self.path / "manifest.json"
        self.summary = self.path / "summary.json"
        self.rejected = self.path / "rejected.jsonl"
        self.wording = self.path / "wording.npz"
        self.store = self.parts / "joined.sqlite"
        self.document_frequency = self.parts / "document_frequency.json"

    @property
    def has_scores(self) -> bool:
        """Whether a part has been scored."""
        return self.summary.exists() or any(self.rows.glob("part-*.parquet"))

    def rows_file(self, part: int) -> pathlib.Path:
        """Return the scores of the rows of a part."""
        return self.rows / f"part-{part:05}.parquet"

    def part_file(self, step: str, part: int, ending: str = "json") -> pathlib.Path:
        """Return the file of a step's ("survey" or "score") report on a part; the JSON file is written last."""
        return self.parts / f"{step}-{part:05}.{ending}"

    def report(self, step: str, part: int) -> dict[str, Any] | None:
        """Return the report of a finished part; None if it is not finished."""
        path = self.part_file(step, part)
        return _read_sealed(path)["report"] if path.exists() else None

    def check_files(self, step: str, part: int) -> None:
        """Raise a ValueError unless the files of a finished part hold what the run wrote."""
        for name, digest in _read_sealed(self.part_file(step, part))["files"].items():
            path = self.path / name
            actual = file_sha256(path) if path.is_file() else None
            if actual != digest:
                got = "no such file" if actual is None else "other content"
                raise InputError(quote_path(path), "what a run has saved", got, HOW_TO_BEGIN_AGAIN)

    def finish(self, step: str, part: int, report: dict[str, Any], files: Sequence[pathlib.Path] = ()) -> None:
        """Write the report of a step on a part, which marks it as finished.

        The digests of the files that the part has written are kept, so that damage is found when the run resumes.
        """
        digests = {path.relative_to(self.path).as_posix(): file_sha256(path) for path in files}
        saved = {"report": report, "files": digests}
        self.write_json(self.part_file(step, part), saved | {"digest": _digest(saved)})

    def write(self, path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
        """Let `write` make a file under a temporary name, and rename it when it is on the disk.

        The OSError of a full or read-only disk says that finished parts stay.
        """
        temporary = path.with_name(f"{INCOMPLETE}{uuid.uuid4().hex}-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_when_whole(path, temporary, write)
        except OSError as error:
            raise self._explain(error) from error

    def write_json(self, path: pathlib.Path, value: Any, *, compact: bool = False) -> None:
        """Write a JSON file; a large one is better compact."""
        text = json.dumps(value, ensure_ascii=False) if compact else as_json(value)
        self.write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder for this process, unless it is in use, and remove partial files of killed ones."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise self._explain(error) from error
        with lock:
            lock_output(lock.fileno(), self.path, "a folder")
            self._remove_incomplete()
            try:
                yield
            finally:
                self._remove_incomplete()  # of workers of this run that were killed, whose parts others have done

    def _remove_incomplete(self) -> None:
        for folder in (self.path, self.rows, self.parts):
            for path in folder.glob(f"{INCOMPLETE}*"):
                path.unlink(missing_ok=True)

    def remove_results(self) -> None:
        """Remove every file that a run writes, and no other."""
        own = [self.summary, self.rejected, self.wording, self.manifest, self.store, self.document_frequency]
        for step in ("survey", "score", "earlier", "documents", "joined"):
            own += self.parts.glob(f"{step}-*")
        for path in (*own, *self.rows.glob("part-*.parquet")):
            path.unlink(missing_ok=True)

    def _explain(self, error: OSError) -> OSError:
        """Explain an error of a full or read-only disk; return any other as it is."""
        advice = NO_ROOM.get(error.errno or 0)
        if advice is None:
            return error
        reason = os.strerror(error.errno or 0)
        return InputOSError(
            self.path,
            "a folder that can hold the results",
            reason,
            f"{advice}, and give the same command again: finished parts stay.",
        )


def read_saved(path: pathlib.Path) -> dict[str, Any]:
    """Read a JSON file that a run has written; raise a ValueError if something else is in it now."""
    saved = read_json(path, path.parent, HOW_TO_BEGIN_AGAIN)
    if not isinstance(saved, dict):
        raise InputError(quote_path(path), "what a run has saved", quote_value(saved), HOW_TO_BEGIN_AGAIN)
    return saved


def _read_sealed(path: pathlib.Path) -> dict[str, Any]:
    """Read what `finish` has written; raise a ValueError if something else is in the file now."""
    saved = read_saved(path)
    digest = saved.pop("digest", None)
    if digest != _digest(saved):
        raise InputError(quote_path(path), "what a run has saved", "other content", HOW_TO_BEGIN_AGAIN)
    return saved


def _digest(saved: dict[str, Any]) -> str:
    """SHA-256 of what is saved, which is the same when it is read back."""
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()


def as_json(value: Any) -> str:
    r"""Return JSON that is written the same way every time.

    >>> as_json({"a": [1, 0.5]})
    '{\n  "a": [\n    1,\n    0.5\n  ]\n}\n'
    """
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
