"""Terms of the columns of a comparison's table, by which `--table` chooses them. Light: it imports no package."""

from collections.abc import Sequence

from manycaps.catalog.modules import ROW_VALUES
from manycaps.kit.errors import InputError

# Columns that may be chosen: as many as fit the width of a page.
MOST_COLUMNS = 8

# Column of the groups of systems that do not differ, which are letters.
GROUP = "group"
COLUMNS_WITHOUT_NUMBERS = (GROUP,)

# Systems of which the best ones are marked; of more of them most would be, so that there are groups.
MOST_MARKED = 5

# Columns of systems beside people.
OF_PARITY = (
    *("faults", GROUP, "unsupported", "omitted", "odd wording", "repeated", "p", "rows to detect", "words per text"),
    *("generic", "predictable wording", "near-duplicates", "spread pairs", "wording gap"),
)

# What is added to the title of a metric that is an excess over chance, and the column of its test.
EXCESS, P_PEOPLE = " excess", "p people"


def plain_term(text: str) -> str:
    """Return a term without case, and with blanks in place of hyphens and underscores.

    >>> plain_term("Near-Duplicates"), plain_term("rows_to_detect")
    ('near duplicates', 'rows to detect')
    """
    return " ".join(text.replace("-", " ").replace("_", " ").replace("\n", " ").casefold().split())


def check_terms(columns: Sequence[str]) -> None:
    """Raise a ValueError unless these are 1 to eight different columns that some comparison has."""
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise InputError("--table", f"1 to {MOST_COLUMNS} columns", len(columns), "Leave some out.")
    plain = [plain_term(column) for column in columns]
    twice = next((column for i, column in enumerate(columns) if plain[i] in plain[:i]), None)
    if twice is not None:
        raise InputError("--table", "different columns", f"{twice!r} twice", "Leave one of them out.")
    titles = [f"{value.title}{EXCESS * value.is_excess}" for value in ROW_VALUES]
    known = {plain_term(title) for title in (*OF_PARITY, P_PEOPLE, *titles)}
    for column, term in zip(columns, plain, strict=True):
        if term not in known:
            listed = ", ".join(OF_PARITY)
            raise InputError("--table", f"some of {listed}, or metrics of -m", f"{column!r}", "Check the spelling.")
