# Vendored from manycaps/shared_messages.py. Edit it there, then run `make format`.
"""Values, paths and errors in messages: short and on one line, whatever they are."""

import os

# Most letters of a value and of the words of an error.
VALUE_LETTERS, REASON_LETTERS = 80, 160


def shown_value(value: object) -> str:
    """Return the `repr` of a value for a message, its beginning where it is long.

    >>> shown_value("exact"), len(shown_value("a" * 5000)), shown_value(10**5000)
    ("'exact'", 83, 'int')
    """
    if isinstance(value, str | bytes):
        value = value[: VALUE_LETTERS + 1]
    try:
        text = repr(value)
        text.encode()  # half a surrogate pair cannot be printed
    except Exception:  # that of an object of the user's, or of a number with too many digits
        return type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= VALUE_LETTERS else f"{text[:VALUE_LETTERS]}..."


def shown_path(path: str | bytes | os.PathLike[str]) -> str:
    """Return a path for a message, its end where it is long.

    >>> shown_path("captions.json"), len(shown_path("a" * 5000))
    ("'captions.json'", 85)
    """
    text = os.fsdecode(path)
    shown = text if len(text) <= VALUE_LETTERS else text[-VALUE_LETTERS:]
    printable = shown.isprintable() and not any("\ud800" <= letter <= "\udfff" for letter in shown)
    return ("" if shown is text else "...") + (repr(shown) if printable else ascii(shown))


def is_in_house_form(error: BaseException) -> bool:
    """Say whether an error is one of this project, which says what was expected and what was got.

    >>> is_in_house_form(ValueError("seed: expected a number, got None.")), is_in_house_form(ValueError("a"))
    (True, False)
    """
    text = str(error)
    return ": expected " in text and ", got " in text


def reason_of(error: BaseException) -> str:
    """Say in a few words why something could not be used.

    >>> reason_of(FileNotFoundError(2, "No such file or directory")), reason_of(KeyError())
    ('No such file or directory', 'KeyError')
    """
    if isinstance(error, RecursionError):
        return "too many brackets inside each other"
    words = getattr(error, "strerror", None) or str(error)
    short = " ".join(str(words)[: 2 * REASON_LETTERS].split())[:REASON_LETTERS]
    return short.encode("ascii", "backslashreplace").decode() or type(error).__name__
