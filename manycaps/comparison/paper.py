"""One table for a paper: systems beside people and by their metrics, in columns that the reader chooses."""

import math
import re
from collections.abc import Sequence

from manycaps.comparison.metric_words import is_of_corpus, metric_header
from manycaps.comparison.read import PEOPLE
from manycaps.comparison.significance import Comparison
from manycaps.comparison.system_tables import TWO_LINES
from manycaps.comparison.table_terms import (
    COLUMNS_WITHOUT_NUMBERS,
    EXCESS,
    GROUP,
    MOST_COLUMNS,
    MOST_MARKED,
    OF_PARITY,
    P_PEOPLE,
    plain_term,
)
from manycaps.comparison.words import Words
from manycaps.files.result_tables import Cell, Table, as_interval
from manycaps.kit.errors import InputError

# Columns of a table whose columns were not chosen; metrics of -m take the place of the last ones.
USUAL = ("faults", GROUP, "unsupported", "omitted", "odd wording", "repeated", "rows to detect", "words per text")
MOST_METRICS = 4

# Rows of a table for a paper that have a second line, of intervals: more would not fit a page.
MOST_WITH_INTERVALS = 24

DIGIT = re.compile(r"\d")


def paper_table(comparison: Comparison, words: Words, columns: Sequence[str] | None, *, whole: bool = False) -> Table:
    """Return the table of these columns, a row for each system and one for people.

    Args:
        comparison: the result.
        words: what is said of it.
        columns: terms of the table's head, in any case, with blanks, hyphens or underscores; None takes the usual ones.
        whole: whether None stands for all columns.

    Raises:
        ValueError: the table has no such column, or nothing was measured of it.
    """
    table = _joined(comparison, words)
    shown = [i for i in range(1, len(table.header)) if _has_number(table, i)]
    if columns is None:
        usual = _usual_columns(comparison, words, table)
        chosen = shown if whole else [i for title in usual for i in shown if table.header[i] == title]
    else:
        chosen = [i for term in columns for i in _places(term, table, shown)]
    header = [table.header[i] for i in (0, *chosen)]
    rows = [[row[i] for i in (0, *chosen)] for row in table.rows]
    if whole and columns is None:
        return table._replace(header=header, rows=rows)
    if not any(cell.letters for row in rows for cell in row):  # then no letter stands for a system
        names = [row[0] for row in words.tables["answer"].rows or rows]
        rows = [[name, *row[1:]] for name, row in zip(names, rows, strict=True)]
    rows = [row for row in rows if any(cell.text for cell in row[1:])]  # people have no metrics
    if len(rows) > MOST_WITH_INTERVALS:
        rows = [[cell._replace(interval="") for cell in row] for row in rows]
    titles = [TWO_LINES.get(title, title.replace(EXCESS, EXCESS.replace(" ", "\n"))) for title in header]
    chosen_table = Table("", titles, rows, align="l" + "r" * len(chosen))
    return chosen_table._replace(caption=_caption(comparison, header, rows))


def _joined(comparison: Comparison, words: Words) -> Table:
    """All columns of both tables, with the intervals of means."""
    answer, metrics = words.tables["answer"], words.tables["systems"]
    metric_cells = {name: list(row) for name, row in zip(comparison.systems, metrics.rows, strict=False)}
    for key, compared in comparison.metrics.items():
        place = metrics.header.index(metric_header(key))
        for name, cells in metric_cells.items():
            mean = compared.systems[name]
            if not is_of_corpus(compared) and not math.isnan(mean["ci_low"]):
                cells[place] = cells[place]._replace(interval=as_interval(mean["ci_low"], mean["ci_high"]))
    rows = answer.rows or [[Cell(name)] for name in comparison.systems]
    nothing = [Cell("")] * len(metrics.header)
    joined = []
    for row in rows:
        first, *others = metric_cells.get(row[0].text, [row[0], *nothing[1:]])
        joined.append([first, *row[1:], *others])
    caption = f"{answer.caption} {metrics.caption}".strip()
    return Table(caption, [*(answer.header or ["system"]), *metrics.header[1:]], joined)


def _usual_columns(comparison: Comparison, words: Words, table: Table) -> list[str]:
    """Titles of the usual columns that the table has, with metrics where they were chosen or there are only these."""
    usual = [title for title in USUAL if title in table.header]
    metrics = [metric_header(key) for key in comparison.metrics]
    if not usual or words.asked or not words.systems:
        metrics = metrics[: MOST_METRICS if usual else MOST_COLUMNS]
        return [*usual[: MOST_COLUMNS - len(metrics)], *metrics]
    return usual


def _has_number(table: Table, place: int) -> bool:
    """Whether a column has a number of some system, or the groups, which are letters."""
    cells = [row[place] for row in table.rows if row[0].text != PEOPLE]
    is_group = table.header[place] in COLUMNS_WITHOUT_NUMBERS
    return any(DIGIT.search(cell.text) or (is_group and cell.text) for cell in cells)


def _places(term: str, table: Table, shown: Sequence[int]) -> list[int]:
    """The columns of a term, of those with numbers: several tests against people have one term."""
    titles = list(dict.fromkeys(table.header[i] for i in shown))
    places = [i for i in shown if plain_term(table.header[i]) == plain_term(term)]
    if not places:
        is_there = plain_term(term) in map(plain_term, (*OF_PARITY, *table.header))
        got = f"{term!r}, of which nothing was measured" if is_there else f"{term!r}"
        raise InputError("--table", f"some of {', '.join(titles)}", got, "Choose others; -m adds metrics.")
    return places


def _caption(comparison: Comparison, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A caption of at most 60 words, for a paper that says in its text what the columns are."""
    n_systems, cells = len(comparison.systems), [cell for row in rows for cell in row]
    marks = " (marked: best, or not shown to be worse)" if any(cell.is_best for cell in cells) else ""
    who = "Systems beside people" if any(row[0].text == PEOPLE for row in rows) else "Systems"
    said = [f"{who} on {comparison.n_rows:,} row{'s' * (comparison.n_rows > 1)}{marks}."]
    if "faults" in header:
        said.append("Faults: what lies beyond people's rates of unsupported, omitted, oddly worded and repeated texts.")
    if GROUP in header:
        said.append("Systems of a common group were not shown to differ.")
    has_letters = any(cell.letters for cell in cells)
    if has_letters and n_systems > MOST_MARKED:
        said.append("Superscripts: groups not shown to differ.")
    elif has_letters:
        said.append("Superscripts: systems that are significantly worse.")
    if any(cell.interval for cell in cells):
        said.append(f"Brackets: 95% intervals{', not corrected for several systems' * (n_systems > 1)}.")
    if n_systems > 1 and (marks or has_letters or {"p", P_PEOPLE, GROUP} & set(header)):
        said.append("Tests: Holm, 5%." if P_PEOPLE not in header else "Tests: Holm, 5%; p people is not corrected.")
    return " ".join(said)
