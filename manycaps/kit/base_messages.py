"""Values, paths and errors in messages: short and on one line; and packages that are missing."""

import difflib
import importlib.util
import os
from collections.abc import Iterable

# Longest value and longest text of an error in a message, in characters.
VALUE_CHARACTERS, REASON_CHARACTERS = 80, 160


def shown_value(value: object) -> str:
    """Return the `repr` of a value for a message, its beginning where it is long.

    >>> shown_value("exact"), len(shown_value("a" * 5000)), shown_value(10**5000)
    ("'exact'", 83, 'int')
    """
    if isinstance(value, str | bytes):
        value = value[: VALUE_CHARACTERS + 1]
    try:
        text = repr(value)
        text.encode()  # half a surrogate pair cannot be printed
    except Exception:  # that of an object of the user's, or of a number with too many digits
        return type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}..."


def shown_path(path: str | bytes | os.PathLike[str]) -> str:
    """Return a path for a message, its end where it is long.

    >>> shown_path("captions.json"), len(shown_path("a" * 5000))
    ("'captions.json'", 85)
    """
    text = os.fsdecode(path)
    shown = text if len(text) <= VALUE_CHARACTERS else text[-VALUE_CHARACTERS:]
    printable = shown.isprintable() and not any("\ud800" <= letter <= "\udfff" for letter in shown)
    return ("" if shown is text else "...") + (repr(shown) if printable else ascii(shown))


def spelling_advice(name: object, known: Iterable[str]) -> str:
    """Return the advice for a name that is none of those known: the nearest one, if it is near.

    >>> spelling_advice("trm_metor", ["trm_meteor", "trm_cider"]), spelling_advice("spice", ["trm_cider"])
    ('Did you mean trm_meteor? Check the spelling.', 'Check the spelling.')
    """
    near = difflib.get_close_matches(name, list(known), 1, 0.75) if isinstance(name, str) else []
    return f"Did you mean {near[0]}? Check the spelling." if near else "Check the spelling."


def first_names(names: Iterable[str]) -> str:
    """Return the first three of some names for a message.

    >>> first_names("abcd")
    'a, b, c, ...'
    """
    listed = list(names)
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


def is_in_house_form(error: BaseException) -> bool:
    """Return whether an error is one of this project, in the form `expected X, got Y`.

    >>> is_in_house_form(ValueError("seed: expected a number, got None.")), is_in_house_form(ValueError("a"))
    (True, False)
    """
    text = str(error)
    return ": expected " in text and ", got " in text


def reason_of(error: BaseException) -> str:
    """Return in a few words why something could not be used.

    >>> reason_of(FileNotFoundError(2, "No such file or directory")), reason_of(KeyError())
    ('No such file or directory', 'KeyError')
    """
    if isinstance(error, RecursionError):
        return "brackets nested too deeply"
    words = getattr(error, "strerror", None) or str(error)
    short = " ".join(str(words)[: 2 * REASON_CHARACTERS].split())[:REASON_CHARACTERS]
    return short.encode("ascii", "backslashreplace").decode() or type(error).__name__


def check_installed(packages: Iterable[str], wanted_by: str, advice: str) -> None:
    """Raise unless optional packages are installed; nothing is imported."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"{wanted_by}: expected the package {name}, got none. {advice}", name=name)
