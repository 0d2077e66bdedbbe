"""First pass over the rows: count them, check them, and collect what scoring needs of all rows together.

State carried over from earlier parts, contents that came there and ids that are taken, is `EarlierParts`.
"""

import collections
import hashlib
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.files.caption_tables import BadRow, CaptionRow
from manycaps.files.caption_tables.rows import repeated_id_error
from manycaps.kit.errors import InputError
from manycaps.kit.ngrams import check_enough_documents, warn_of_no_weight
from manycaps.kit.sets_tests import row_keys
from manycaps.scoring.run_folder import RunFolder, read_saved
from manycaps.scoring.run_settings import RunPart, RunSettings, chunks
from manycaps.scoring.scorer import count_documents

# Digests sorted at once, 24 bytes each with the number of their part: about 50 MB.
DIGESTS_AT_ONCE = 2_000_000

# Digests of 16 bytes, and how they are stored.
DIGEST = np.dtype([("high", "<u8"), ("low", "<u8")])


class EarlierParts(NamedTuple):
    """State carried over from earlier parts."""

    # Contents of rows that came before, and how often: equal rows draw independently.
    keys: Mapping[bytes, int]
    # Rows whose ids are taken: their indices among the readable rows of the part, and the error of each.
    bad: Mapping[int, InputError]


def read_earlier(folder: RunFolder, part: int) -> EarlierParts:
    """Return the state carried over to a part; empty if there is none."""
    report = folder.report("earlier", part) or {"keys": {}, "bad": []}
    keys = {bytes.fromhex(key): count for key, count in report["keys"].items()}
    return EarlierParts(keys, {number: InputError(*reason) for number, reason in report["bad"]})


def write_earlier(folder: RunFolder, part: int, earlier: EarlierParts) -> None:
    """Write the state carried over to a part."""
    keys = {key.hex(): count for key, count in sorted(earlier.keys.items())}
    bad = [(number, earlier.bad[number].args) for number in sorted(earlier.bad)]
    folder.finish("earlier", part, {"keys": keys, "bad": bad})


def readable_rows(
    settings: RunSettings, part: RunPart, taken: Mapping[int, InputError]
) -> Iterator[tuple[list[CaptionRow], list[BadRow]]]:
    """Yield chunk by chunk the rows of a part that can be used, and the others.

    `taken` has the indices of rows whose ids are taken, among the rows that can be read, and the error of each.
    """
    place = 0
    for chunk in chunks(settings.rows(part)):
        good, bad = list[CaptionRow](), list[BadRow]()
        for row in chunk:
            if isinstance(row, BadRow):
                bad.append(row)
                continue
            if place in taken:
                bad.append(BadRow(row.file, row.row, row.id, taken[place]))
            else:
                good.append(row)
            place += 1
        yield good, bad


def survey_part(settings: RunSettings, part: RunPart) -> dict[str, Any]:
    """Read the rows of a part, write the survey of them unless it exists, and return how many are of each kind."""
    folder = settings.run_folder()
    report = folder.report("survey", part.number)
    if report is not None:
        return report
    scorers = settings.scorers()
    counter = next((scorer for scorer in scorers if scorer.counts_documents), None)
    has_keys = any(scorer.has_p_values for scorer in scorers)
    has_ids = settings.source.main.layout.id is not None
    ids, keys, counts = list[bytes](), list[bytes](), collections.Counter[str]()
    n_rows = n_bad = n_documents = n_compared = 0
    for rows, bad in readable_rows(settings, part, read_earlier(folder, part.number).bad):
        for row in bad:
            settings.refuse(row)
        n_rows, n_bad = n_rows + len(rows), n_bad + len(bad)
        n_compared += sum(len(row.references or ()) > 1 for row in rows)
        if has_ids:
            ids += [id_digest(row.id) for row in rows]
        if has_keys:
            # What the draws of rows depend on: their captions.
            key = row_keys([row.predictions or [] for row in rows], [row.references or [] for row in rows])
            keys += [key(i) for i in range(len(rows))]
        if counter is not None and rows:
            columns, _, _ = counter.accept(rows)
            counts.update(count_documents(columns["references"], counter.options["tokenizer"]))
            n_documents += len(columns["references"])
    files = [folder.part_file("survey", part.number, f"{name}.npy") for name in ("ids", "keys")]
    for path, digests in zip(files, (ids, keys), strict=True):
        write_digests(path, digests, folder)
    if counter is not None:
        files.append(folder.part_file("survey", part.number, "frequencies.json"))
        counted = {"n_documents": n_documents, "tokenizer": counter.options["tokenizer"], "counts": counts}
        folder.write_json(files[-1], counted, compact=True)
    report = {"n_rows": n_rows, "n_rejected": n_bad, "n_read": n_rows + n_bad, "n_compared": n_compared}
    folder.finish("survey", part.number, report, files)
    return report


def find_repeated(folder: RunFolder, n_parts: int, name: str, step: str = "survey") -> dict[int, dict[bytes, int]]:
    """Find the digests ("keys" or "ids" of a step) of each part that also occur in earlier parts, and how often."""
    arrays = [np.load(folder.part_file(step, part, f"{name}.npy"), mmap_mode="r") for part in range(n_parts)]
    n_ranges = 1 + sum(map(len, arrays)) // DIGESTS_AT_ONCE
    earlier: dict[int, dict[bytes, int]] = collections.defaultdict(dict)
    for i in range(n_ranges):
        for digest, parts, counts in _several(arrays, i, n_ranges):
            before = np.cumsum(counts) - counts
            for part, n_before in zip(parts[1:].tolist(), before[1:].tolist(), strict=True):
                earlier[part][digest] = n_before
    return dict(earlier)


def find_repeated_ids(
    settings: RunSettings, parts: Sequence[RunPart], step: str = "survey"
) -> Iterator[tuple[BadRow, int, int]]:
    """Yield rows whose id an earlier row has: the bad row, its part, and its index among the part's readable rows."""
    folder = settings.run_folder()
    wanted = {digest for repeated in find_repeated(folder, len(parts), "ids", step).values() for digest in repeated}
    for part in parts:
        wanted |= _within(np.load(folder.part_file(step, part.number, "ids.npy")))
    first: dict[str, CaptionRow] = {}
    for part in parts if wanted else ():
        rows = (row for row in settings.rows(part) if isinstance(row, CaptionRow))
        for number, row in enumerate(rows):
            if id_digest(row.id) not in wanted:
                continue
            before = first.setdefault(row.id, row)
            if before is not row:
                reason = repeated_id_error(row.row, row.file, before.file, before.row)
                yield BadRow(row.file, row.row, row.id, reason), part.number, number


def merge_documents(folder: RunFolder, n_parts: int) -> None:
    """Add up the document frequencies of all parts, and write them as a table."""
    counts: collections.Counter[str] = collections.Counter()
    n_documents, tokenizer = 0, None
    for part in range(n_parts):
        path = folder.part_file("survey", part, "frequencies.json")
        saved = read_saved(path)
        tokenizer = saved.get("tokenizer")
        counts.update(saved["counts"])
        n_documents += saved["n_documents"]
    check_enough_documents(n_documents)
    warn_of_no_weight(n_documents if counts and min(counts.values()) == n_documents else 0)
    table: dict[str, Any] = {"n_documents": n_documents} | ({} if tokenizer is None else {"tokenizer": tokenizer})
    table["document_frequency"] = dict(sorted(counts.items()))
    folder.write_json(folder.document_frequency, table, compact=True)
    folder.finish("documents", 0, {"n_documents": n_documents}, [folder.document_frequency])


def _several(arrays: Sequence[np.ndarray], i: int, n_ranges: int) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
    """Digests of one range that more than one part has, with these parts and how often each."""
    bounds = [(k << 64) // n_ranges for k in (i, i + 1)]
    chosen, numbers = [], []
    for part, array in enumerate(arrays):
        high = array["high"]
        inside = np.asarray(array[(high >= bounds[0]) & (high <= min(bounds[1] - 1, 2**64 - 1))])
        chosen.append(inside)
        numbers.append(np.full(len(inside), part))
    # NumPy gives the result of `concatenate` the byte order of the machine.
    digests, parts = np.concatenate(chosen).astype(DIGEST), np.concatenate(numbers)
    order = np.lexsort((parts, digests["low"], digests["high"]))
    digests, parts = digests[order], parts[order]
    if not len(digests):
        return
    starts = np.flatnonzero(np.r_[True, digests[1:] != digests[:-1]])
    ends = np.r_[starts[1:], len(digests)]
    for start, end in zip(
        starts[parts[starts] != parts[ends - 1]], ends[parts[starts] != parts[ends - 1]], strict=True
    ):
        yield digests[start].tobytes(), *np.unique(parts[start:end], return_counts=True)


def _within(ids: np.ndarray) -> set[bytes]:
    """Digests that one part has more than once."""
    distinct, counts = np.unique(ids, return_counts=True)
    return {digest.tobytes() for digest in distinct[counts > 1]}


def id_digest(name: str) -> bytes:
    """Return 16 bytes that stand for an id."""
    return hashlib.blake2b(name.encode("utf-8", errors="surrogateescape"), digest_size=16).digest()


def write_digests(path: pathlib.Path, digests: Sequence[bytes], folder: RunFolder) -> None:
    """Write digests as an array that can be mapped."""
    array = np.frombuffer(b"".join(digests), dtype=DIGEST)

    def save(temporary: pathlib.Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, array)

    folder.write(path, save)
