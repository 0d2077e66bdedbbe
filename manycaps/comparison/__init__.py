"""Comparison of captioning systems: paired tests, tables, and a page."""

from typing import TYPE_CHECKING, Any

from .compare_options import CompareOptions

if TYPE_CHECKING:
    from .compared_systems import SystemComparison

__all__ = ["CompareOptions", "SystemComparison", "compare"]


def __getattr__(name: str) -> Any:
    """Import the class of results when it is asked for: it needs most of the package."""
    if name == "SystemComparison":
        from .compared_systems import SystemComparison

        return SystemComparison
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    from manycaps.comparison.run import compare_by_options

    return compare_by_options(options)
