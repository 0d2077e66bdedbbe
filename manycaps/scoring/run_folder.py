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

from manycaps.files.saved_files import lock_output, replace_when_whole
from manycaps.kit.errors import InputError, InputOSError, quote_path, quote_value
from manycaps.kit.files import file_sha256, read_json

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


# What the manifest of a run says; another file of its name is not ours.
MANIFEST_KEYS = frozenset({"inputs", "metrics", "versions", "part_bytes"})

# Advice where a file of a run has other content.
HOW_TO_BEGIN_AGAIN = (
    "Nothing but `manycaps score` writes there: start from scratch with --restart, or use another folder."
)


class RunFolder:
    """Paths of a run's files."""

    def __init__(self, path: str | os.PathLike[str], run: str | None = None):
        """Take the folder, which need not be there, and the digest of its run; None: of the manifest in it."""
        self.path, self._run = pathlib.Path(path), run
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

    @property
    def run(self) -> str:
        """Digest of the manifest, which seals every part; raise a ValueError if there is none."""
        if self._run is None:
            if not self.manifest.is_file():
                raise InputError(quote_path(self.manifest), "the manifest of the run", "none", HOW_TO_BEGIN_AGAIN)
            self._run = run_digest(read_saved(self.manifest))
        return self._run

    def report(self, step: str, part: int) -> dict[str, Any] | None:
        """Return the report of a finished part; None if it is not finished."""
        return self._read_sealed(step, part)["report"] if self.part_file(step, part).exists() else None

    def check_files(self, step: str, part: int) -> None:
        """Raise a ValueError unless the files of a finished part hold what the run wrote."""
        for name, digest in self._read_sealed(step, part)["files"].items():
            path = self.path / name
            actual = file_sha256(path) if path.is_file() else None
            if actual != digest:
                got = "no such file" if actual is None else "other content"
                raise InputError(quote_path(path), "what a run has saved", got, HOW_TO_BEGIN_AGAIN)

    def finish(self, step: str, part: int, report: dict[str, Any], files: Sequence[pathlib.Path] = ()) -> None:
        """Write the report of a step on a part, which marks it as finished.

        The seal holds the step, the part, the digest of the run's manifest, and the digests of the files that the part
        has written, so that damage, and the parts of other runs, are found when the run resumes.
        """
        digests = {path.relative_to(self.path).as_posix(): file_sha256(path) for path in files}
        saved = {**self._place(step, part), "report": report, "files": digests}
        self.write_json(self.part_file(step, part), saved | {"digest": _digest(saved)})

    def _place(self, step: str, part: int) -> dict[str, Any]:
        """What the seal of a part says of its place."""
        return {"step": step, "part": part, "run": self.run}

    def _read_sealed(self, step: str, part: int) -> dict[str, Any]:
        """Read what `finish` has written; raise a ValueError if something else is in the file now."""
        path, place = self.part_file(step, part), self._place(step, part)
        saved = read_saved(path)
        digest = saved.pop("digest", None)
        if digest != _digest(saved):
            raise InputError(quote_path(path), "what a run has saved", "other content", HOW_TO_BEGIN_AGAIN)
        differs = next((name for name in place if saved.get(name) != place[name]), None)
        if differs is not None:
            got = "one of another run" if differs == "run" else f"{differs} {quote_value(saved.get(differs))}"
            raise InputError(quote_path(path), f"{step} of part {part} of this run", got, HOW_TO_BEGIN_AGAIN)
        return saved

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

    def check_ours(self) -> bool:
        """Say whether the folder holds a run; raise a ValueError if it holds files that no manifest says are ours."""
        if self.manifest.is_file():
            saved = read_saved(self.manifest)
            if saved.keys() >= MANIFEST_KEYS:
                return True
        there = next((path for path in [self.manifest, *self._own_files()] if path.exists()), None)
        if there is None:
            return False
        expected = "a new folder, or one that holds a run of `manycaps score`"
        got = f"one with {there.relative_to(self.path)} and no manifest of a run"
        raise InputError(quote_path(self.path), expected, got, "Give another folder with -o, or move these files away.")

    def remove_results(self) -> None:
        """Remove every file that a run writes, and no other; the manifest, which says that they are ours, is last."""
        for path in (*self._own_files(), self.manifest):
            path.unlink(missing_ok=True)

    def _own_files(self) -> Iterator[pathlib.Path]:
        """Yield the files of a run that are or may be there, but for the manifest."""
        yield from (self.summary, self.rejected, self.wording, self.store, self.document_frequency)
        for step in ("survey", "score", "earlier", "documents", "joined"):
            yield from self.parts.glob(f"{step}-*")
        yield from self.rows.glob("part-*.parquet")

    def _explain(self, error: OSError) -> OSError:
        """Explain an error of a full or read-only disk; return any other as it is."""
        advice = NO_ROOM.get(error.errno or 0)
        if advice is None:
            return error
        fix = f"{advice}, and give the same command again: finished parts stay."
        return InputOSError(self.path, "a folder that can hold the results", os.strerror(error.errno or 0), fix)


def read_saved(path: pathlib.Path) -> dict[str, Any]:
    """Read a JSON file that a run has written; raise a ValueError if something else is in it now."""
    saved = read_json(path, path.parent, HOW_TO_BEGIN_AGAIN)
    if not isinstance(saved, dict):
        raise InputError(quote_path(path), "what a run has saved", quote_value(saved), HOW_TO_BEGIN_AGAIN)
    return saved


def run_digest(manifest: dict[str, Any]) -> str:
    """Return the digest of a run's manifest, written or read."""
    return _digest(json.loads(json.dumps(manifest)))


def _digest(saved: dict[str, Any]) -> str:
    """SHA-256 of what is saved, which is the same when it is read back."""
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()


def as_json(value: Any) -> str:
    r"""Return JSON that is written the same way every time.

    >>> as_json({"a": [1, 0.5]})
    '{\n  "a": [\n    1,\n    0.5\n  ]\n}\n'
    """
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
