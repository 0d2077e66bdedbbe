# Vendored from manycaps/shared_signature.py. Edit it there, then run `python scripts/sync_shared.py`.
"""One line that says how a number was made, in the manner of sacrebleu's signatures."""

# Version of the collection; the same as in pyproject.toml and CITATION.cff, which a test compares.
VERSION = "0.1.0"


def signature(name: str, **parts: object) -> str:
    """Join what determines a score into one line.

    Args:
        name: the module's name.
        parts: settings and versions, in the order in which they are to be read; None is left out.

    Returns:
        "name|version:...|key:value|...".

    >>> signature("trm", seed=0, checkpoint=None)
    'trm|version:0.1.0|seed:0'
    """
    given = {"version": VERSION} | {key: value for key, value in parts.items() if value is not None}
    return "|".join([name] + [f"{key}:{value}" for key, value in given.items()])
