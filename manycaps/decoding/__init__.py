"""Settings of decoding beside people: sampled, compared, and the nearest one chosen."""

from typing import TYPE_CHECKING, Any

from .decoding_options import DecodingOptions

if TYPE_CHECKING:
    from .run import ComparedSettings

__all__ = ["ComparedSettings", "DecodingOptions", "decoding"]


def __getattr__(name: str) -> Any:
    """Import the class of results when it is asked for: it needs most of the package."""
    if name == "ComparedSettings":
        from .run import ComparedSettings

        return ComparedSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def decoding(options: DecodingOptions) -> "ComparedSettings":
    """Find the setting of decoding that is nearest to people.

    Args:
        options: settings of a model, or files of samples; and references.

    Returns:
        The settings, which a notebook shows as on the page. `to_dict()` has every number, and `save(folder)` writes
        the page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.
    """
    from manycaps.decoding.run import compared_settings

    return compared_settings(options)
