"""Diversity of captions: figures of caption files beside those of published data sets, and a page."""

from typing import TYPE_CHECKING, Any

from .diversity_options import DiversityOptions

if TYPE_CHECKING:
    from .measured import MeasuredDiversity

__all__ = ["DiversityOptions", "MeasuredDiversity", "diversity"]


def __getattr__(name: str) -> Any:
    """Import the class of results when it is asked for: it needs most of the package."""
    if name == "MeasuredDiversity":
        from .measured import MeasuredDiversity

        return MeasuredDiversity
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def diversity(options: DiversityOptions) -> "MeasuredDiversity":
    """Measure the diversity of caption files.

    Args:
        options: sources, and how they are read and measured.

    Returns:
        The figures, which a notebook shows as tables beside published ones. `to_dict()` has them by source, and
        `save(path)` writes the page.

    Raises:
        TypeError, ValueError, OSError: a source or an option cannot be used.
        ImportError: a package is missing.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> _ = path.write_text('[["a dog", "a dog runs"], ["two cats"]]')
    >>> diversity(DiversityOptions([str(path)])).to_dict()["captions"]["n_types"]
    5
    """
    from manycaps.diversity.measured import measured

    return measured(options)
