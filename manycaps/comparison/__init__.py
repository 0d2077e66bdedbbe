"""Comparison of captioning systems: paired tests, tables, and a page."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manycaps.caption_tables.columns import Columns
    from manycaps.comparison.compared_systems import SystemComparison


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """What `manycaps compare` is told, with its defaults; `manycaps compare --help` says more.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --n-resamples.
    """

    # Files of captions, one or several for every row, or folders that `manycaps score` wrote: two or more of one kind.
    systems: Sequence[str]
    # Files of human captions; none where they stand beside the captions of the systems.
    references: Sequence[str] = ()
    # Modules to compare by; None: those for which the rows have references, images or videos.
    metrics: Sequence[str] | None = None
    # Of the systems; None: those of their files.
    names: Sequence[str] | None = None
    # Name of the system that the others are compared with; None: the first.
    baseline: str | None = None
    # Read what folders of scores were scored from, for the page and for the comparison of systems as sets.
    with_captions: bool = False
    # From roles to names of columns, or both as text: "predictions=samples,id=image_id". A file as it is given may have
    # a mapping of its own, and a role in the text may follow it: "references.csv:references=human".
    columns: "Columns | str | None" = None
    # Compare the rows that all files have; otherwise a row that is missing in one is an error.
    common_rows: bool = False
    # Folders, or addresses, of images and videos.
    images: str | None = None
    videos: str | None = None
    # Regular expression: rows whose ids have the same match belong together. None: rows of one image or video do.
    clusters: str | None = None
    # Rows to read; None: all.
    limit: int | None = None
    # Also compare every two systems as sets, by the set metrics with one of them in place of the references.
    full: bool = False
    # Distance of captions for the answer beside people: "bert", "meteor", "meteor15" or "cider"; None: "bert" where a
    # sentence encoder is installed, else "meteor".
    distance: str | None = None
    # Gap in the unit of that distance up to which systems count as equivalent; None: not asked.
    margin: float | None = None
    # Options of the modules that have them: tokenizer, language of METEOR 1.5, sentence encoder, what it does with long
    # texts ("truncate" or "window"), weights, the data of METEOR 1.5, the best candidate of each row as well, device of
    # all networks.
    tokenizer: str | None = None
    language: str | None = None
    encoder: str | None = None
    long_texts: str | None = None
    checkpoint: str | None = None
    variant: str | None = None
    meteor15_data: str | None = None
    best_of: bool = False
    device: str | None = None
    # Random splits and sign flips of the tests.
    n_resamples: int = 9_999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.comparison.run import check_options

        check_options(self)


def compare(options: CompareOptions) -> "SystemComparison":
    """Compare captioning systems: which one is nearer to people, and how sure is that?

    Every two systems are compared row by row, and the distribution metrics compare each system with people; see
    docs/compare.md. Progress is shown on standard error.

    Args:
        options: systems, references, metrics and the rest.

    Returns:
        The comparison, which a notebook shows as tables. `to_dict()` has every number, and `save(folder)` writes the
        page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> def write(name, key, *rows):
    ...     _ = (folder / name).write_text(json.dumps([{"id": i, key: row} for i, row in enumerate(rows)]))
    ...     return str(folder / name)
    >>> people = write("people.json", "references", ["a dog runs", "a brown dog"], ["two cats", "cats sleep"])
    >>> first = write("first.json", "captions", ["a brown dog runs"], ["two cats sleep"])
    >>> second = write("second.json", "captions", ["a man"], ["two men sleep"])
    >>> comparison = compare(CompareOptions([first, second], references=[people], metrics=["trm_cider"]))
    >>> comparison.to_dict()["metrics"]["cider_d"]["pairs"][0]["test"]["n_smaller"]
    2
    >>> comparison.save(folder / "report")
    >>> sorted(path.name for path in (folder / "report").iterdir())
    ['comparison.json', 'index.html']
    """
    from manycaps.comparison.run import compared

    return compared(options)
