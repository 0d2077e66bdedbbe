"""Rows of captions, chosen and ordered to be looked at, and a page."""

from typing import TYPE_CHECKING, Any

from .rows_options import RowsOptions

if TYPE_CHECKING:
    from .chosen import ChosenRows

__all__ = ["ChosenRows", "RowsOptions", "rows"]


def __getattr__(name: str) -> Any:
    """Import the class of results when it is asked for: it needs most of the package."""
    if name == "ChosenRows":
        from .chosen import ChosenRows

        return ChosenRows
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def rows(options: RowsOptions) -> "ChosenRows":
    """Choose rows, and order their captions by their distance to the mean.

    Args:
        options: files, and which rows of them are wanted.

    Returns:
        The rows, which a notebook shows as on the page. `to_dict()` has their captions with distances and scores, and
        `save(path)` writes the page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> _ = path.write_text('[{"id": "1", "captions": ["birds", "a dog runs", "a dog runs"]}]')
    >>> [caption["text"] for caption in rows(RowsOptions([str(path)])).to_dict()["rows"][0]["people"]]
    ['a dog runs', 'birds']
    """
    from manycaps.rows.chosen import chosen

    return chosen(options)
