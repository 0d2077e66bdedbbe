"""Systems out of files of captions: the same rows for all, read and checked."""

import re
from collections.abc import Iterable, Mapping, Sequence

from manycaps.caption_tables import CaptionRow, good_rows, open_source
from manycaps.comparison.scored_systems import SystemRow


def read_systems(
    files: Mapping[str, str],
    references: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    images: str | None = None,
    videos: str | None = None,
    limit: int | None = None,
) -> list[SystemRow]:
    """Read the captions of several systems, and put them together by the ids of their rows.

    Args:
        files: from the name of each system to its file, folder or pattern; the first is the baseline.
        references: as for `open_source`, as are the others.
        columns: from roles to names of columns.
        images: folder or address of images.
        videos: folder or address of videos.
        limit: rows to read; None: all.

    Returns:
        The rows in the order of the baseline's, with references, images and videos where the files have them.

    Raises:
        ValueError: a file cannot be read, an id comes twice, or the systems have different rows or references.
    """
    systems = {}
    for name, file in files.items():
        try:
            source = open_source([file], references, columns, images, videos, limit)
            systems[name] = _by_id(file, good_rows(source.rows()))
        except ValueError as error:
            # What is wrong with the references may be so for one of the systems.
            raise error if str(error).startswith(file) else ValueError(f"{file}: {error}") from None
    baseline, *others = systems
    for name in others:
        check_same_ids(files[name], list(systems[name]), files[baseline], list(systems[baseline]))
        _check_same_references(files[name], systems[name], files[baseline], systems[baseline])
    return [
        SystemRow(
            row.id,
            {name: systems[name][row.id].predictions or [] for name in systems},
            row.references,
            row.image,
            row.video,
        )
        for row in systems[baseline].values()
    ]


def _by_id(file: str, rows: Iterable[CaptionRow]) -> dict[str, CaptionRow]:
    """Rows by their ids, which must be different."""
    found: dict[str, CaptionRow] = {}
    for row in rows:
        if row.id in found:
            raise ValueError(
                f"{file}, id {row.id!r}: expected every id once, got it in rows {found[row.id].row} and {row.row}. "
                "Put the captions of one image into one row, or give the rows ids of their own."
            )
        if not row.predictions:
            raise ValueError(f"{file}, id {row.id!r}: expected captions, got none. Leave the row out of all systems.")
        found[row.id] = row
    if not found:
        raise ValueError(f"{file}: expected at least one row, got none. Give a file with captions.")
    return found


def check_same_ids(name: str, ids: Sequence[str], baseline: str, expected: Sequence[str]) -> None:
    """Raise unless a system has the rows of the baseline, in any order.

    Args:
        name: of the system's file or folder.
        ids: of its rows.
        baseline: of the baseline's file or folder.
        expected: ids of the baseline's rows.

    Raises:
        ValueError: rows are missing, or there are others.
    """
    for what, some, others in (("none with", expected, set(ids)), ("one more, with", ids, set(expected))):
        different = [each for each in some if each not in others]
        if different:
            raise ValueError(
                f"{name}: expected the rows of {baseline}, got {what} the id {different[0]!r} ({len(different)} such "
                "rows in all). Give all systems the same rows."
            )


def _check_same_references(
    name: str, rows: Mapping[str, CaptionRow], baseline: str, expected: Mapping[str, CaptionRow]
) -> None:
    different = [key for key, row in expected.items() if rows[key].references != row.references]
    if different:
        raise ValueError(
            f"{name}, id {different[0]!r}: expected the references of {baseline}, got others ({len(different)} such "
            "rows in all). Give the references once, with -r."
        )


def clusters_of(rows: Sequence[SystemRow], pattern: str | None) -> list[str] | None:
    """Say which rows belong together.

    Args:
        rows: all rows.
        pattern: regular expression: rows whose ids have the same match belong together. None: rows of one image or
            video file do.

    Returns:
        A label for each row; None where every row is independent.

    Raises:
        ValueError: the pattern is no regular expression, or does not match an id.

    >>> clusters_of([SystemRow("1#0", {}), SystemRow("1#1", {}), SystemRow("2#0", {})], "^[^#]+")
    ['1', '1', '2']
    """
    if pattern is None:
        media = [row.image or row.video for row in rows]
        known = [each for each in media if isinstance(each, str)]
        return known if len(known) == len(rows) > len(set(known)) else None
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"--clusters: expected a regular expression, got {pattern!r} ({error}). Mend it.") from None
    labels = []
    for row in rows:
        match = expression.search(row.id)
        if match is None:
            raise ValueError(f"--clusters: expected {pattern!r} in every id, got {row.id!r}. Mend the expression.")
        labels.append(match.group())
    return labels
