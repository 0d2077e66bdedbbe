"""Numbers and tables as they are written: in a terminal, in Markdown, LaTeX and JSON, in a notebook and on a page.

Every table of the package is written here. `write_table` takes a table; what is more than a table, such as a line of
text between two of them, is aligned by `align_columns`, and `markdown_table` takes rows of texts.
"""

import html
import math
import re
import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# Letters of systems in tables, where there are no more of them.
LETTERS = "abcdefghijklmnop"

# How a terminal writes the letters, or the number, of systems above the line.
SUPERSCRIPTS = str.maketrans(LETTERS + string.digits, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁰¹²³⁴⁵⁶⁷⁸⁹")

# Special characters of LaTeX, and their escapes.
LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

# Letters of a line, with the space between columns, that fit one of two columns of a page; letters of an interval,
# which is in small print, count as a part of one.
MOST_NARROW, SMALL_LETTER, LETTERS_BETWEEN = 58.0, 0.75, 1.5

# Scales a table to the width of the line, unless it is narrower.
SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}"

# Cells of numbers alone, and the sign of one, which is no hyphen in print.
NUMBERS = re.compile(r"[-+.,e\d\s\[\]]+")
MINUS = re.compile(r"(?<!\w)-(?=\d)")


def as_digits(value: float) -> str:
    """Format a number with three decimals, or three significant digits where it is small.

    >>> as_digits(0.12345), as_digits(0.00012345), as_digits(0.0), as_digits(float("nan"))
    ('0.123', '0.000123', '0', 'not defined')
    """
    if math.isnan(value):
        return "not defined"
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.3g}"


def as_interval(low: float, high: float) -> str:
    """Format an interval as `as_digits`, its ends rounded outwards.

    >>> as_interval(0.1231, 0.1239), as_interval(-0.12345, 0.000061234), as_interval(0.25, math.inf)
    ('[0.123, 0.124]', '[-0.124, 6.13e-05]', '[0.250, inf]')
    """
    return f"[{_outwards(low, math.floor)}, {_outwards(high, math.ceil)}]"


def _outwards(end: float, whole: Callable[[float], int]) -> str:
    if not math.isfinite(end) or end == 0:
        return as_digits(end)
    decimals = 3 if abs(end) >= 0.01 else 2 - math.floor(math.log10(abs(end)))
    # 1e-6 of the last digit is the rounding of a float.
    inwards = 1e-6 if whole is math.floor else -1e-6
    return as_digits(whole(end * 10**decimals + inwards) / 10**decimals)


def column_form(values: Collection[float]) -> Callable[[float], str]:
    """Return what formats the numbers of a column with equally many decimals: three, or more where all are small.

    >>> [column_form([0.5251, 1.7e-9])(value) for value in (0.5251, 1.7e-9)], column_form([0.00012, 0.0])(0.00012)
    (['0.525', '0.000'], '0.000120')
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    decimals = 3 if largest >= 0.01 or largest == 0 else 2 - math.floor(math.log10(largest))
    return lambda value: "not defined" if math.isnan(value) else f"{value:.{decimals}f}"


# The values of a result that are infinite where no number of rows shows a difference, and one that is NaN where that is
# not looked at.
UNBOUNDED = ("rows_to_detect", "rows_to_detect_ci_low", "rows_to_detect_ci_high")
OF_UNBOUNDED = "human_parity_statistic"


def is_finite(value: object) -> bool:
    """Return whether a value is anything but NaN and infinity, which neither JSON nor a log of a training has."""
    return not isinstance(value, float) or math.isfinite(value)


def finite_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return numbers for a log, as floats; those that are NaN or infinite are left out.

    >>> finite_numbers({"p_value": 0.5, "rows_to_detect": math.inf, "n_rows": 3, "omitted_share": math.nan})
    {'p_value': 0.5, 'n_rows': 3.0}
    """
    return {name: float(value) for name, value in values.items() if is_finite(value) and is_finite(float(value))}


def finite(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinity are None, and a named tuple is a dict, at any depth.

    >>> finite({"rows_to_detect": math.inf, "per_row": [0.5, math.nan]})
    {'rows_to_detect': None, 'per_row': [0.5, None]}
    """
    if hasattr(value, "_asdict"):
        return finite(value._asdict())
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value if is_finite(value) else None


def without_null(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a result as they were before `finite`: None is NaN, or infinity of the rows that are needed.

    >>> without_null({"rows_to_detect": None, "rows_to_detect_ci_high": None, "p_value": None, "n_rows": 3})
    {'rows_to_detect': inf, 'rows_to_detect_ci_high': inf, 'p_value': nan, 'n_rows': 3}
    >>> without_null({"rows_to_detect": None, "human_parity_statistic": None})  # one reference in every row
    {'rows_to_detect': nan, 'human_parity_statistic': nan}
    """
    unbounded = math.nan if OF_UNBOUNDED in result and result[OF_UNBOUNDED] is None else math.inf
    return {
        key: (unbounded if key in UNBOUNDED else math.nan) if value is None else value for key, value in result.items()
    }


class Cell(NamedTuple):
    """Content of a cell of a table."""

    text: str
    is_best: bool = False
    letters: str = ""
    # The number in full precision, and another one to sort by: an excess by its distance from 0.
    value: float | None = None
    sort: float | None = None
    # Its interval, as it is printed.
    interval: str = ""
    # On a page: HTML in place of the text, and the class of the cell.
    html: str = ""
    kind: str = ""


def number_cell(
    value: float, form: Callable[[float], str] = as_digits, is_best: bool = False, letters: str = ""
) -> Cell:
    """Return the cell of a number."""
    return Cell(form(value), is_best, letters, value)


class Table(NamedTuple):
    """A table of any format."""

    # May be empty; "marked:" in it becomes the mark of the format.
    caption: str
    # A line feed divides a title in a text.
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    # Of the label in LaTeX.
    name: str = "systems"
    # A letter for each column, "l" or "r"; empty: to the left, and in LaTeX by what a column holds.
    align: str = ""
    # Classes of the rows on a page; empty: none has any.
    row_kinds: Sequence[str] = ()


def write_table(table: Table, form: str) -> str:
    """Write a table as "text", "md", "latex" or "html", without a line feed at its end.

    >>> table = Table("", ["metric", "value"], [[Cell("a_b"), Cell("0.5", True)], [Cell("c"), Cell("12")]], align="lr")
    >>> print(write_table(table, "text"))
    metric  value
    a_b      0.5*
    c         12
    >>> print(write_table(table, "md"))
    | metric | value |
    |:---|---:|
    | a_b | **0.5** |
    | c | 12 |
    """
    return {"text": _text, "md": _markdown, "latex": _latex, "html": _html}[form](table)


def align_columns(rows: Sequence[Sequence[str]], align: str = "") -> list[str]:
    """Return the lines of rows of texts in columns, two blanks apart; `align` is as in `Table`.

    >>> align_columns([["", "share"], ["base", "5%"]], "lr")
    ['      share', 'base     5%']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    justify = [{"l": str.ljust, "r": str.rjust}[letter] for letter in align or "l" * len(widths)]
    return [
        "  ".join(put(text, width) for put, text, width in zip(justify, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def markdown_table(rows: Sequence[Sequence[str]], rules: Sequence[str] = ()) -> str:
    """Return a table in Markdown, the first row its head; `rules` stand below the columns of the head.

    >>> print(markdown_table([["key", "n"], ["a", "1"]], [":---", "---:"]))
    | key | n |
    |:---|---:|
    | a | 1 |
    """
    head, *lines = map(markdown_line, rows)
    return "\n".join([head, f"|{'|'.join(rules or [' --- '] * len(rows[0]))}|", *lines])


def markdown_line(cells: Iterable[str]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def _text(table: Table) -> str:
    letters = table.align or "l" * len(table.header)
    n_lines = 1 + max(title.count("\n") for title in table.header)
    columns = []
    for title, letter, *cells in zip(table.header, letters, *table.rows, strict=True):
        # In a column that is aligned to the right, a blank stands for the star that a cell does not have.
        blank = " " * (letter == "r" and any(cell.is_best for cell in cells))
        texts = [cell.text + ("*" if cell.is_best else blank) + cell.letters.translate(SUPERSCRIPTS) for cell in cells]
        if not table.align and any(cell.interval for cell in cells):
            texts = [f"{text} {cell.interval}" for text, cell in zip(texts, cells, strict=True)]
        lines = title.split("\n")  # of which the last one stands above the cells
        columns.append([*[""] * (n_lines - len(lines)), *lines, *texts])
    caption = [table.caption.replace("marked:", "*:"), ""] if table.caption else []
    return "\n".join([*caption, *align_columns(list(zip(*columns, strict=True)), letters)])


def _markdown(table: Table) -> str:
    def write_cell(cell: Cell) -> str:
        text = cell.text.replace("|", "\\|").replace("<", "&lt;")
        above = f"<sup>{cell.letters}</sup>" if cell.letters else ""
        return f"{f'**{text}**' if cell.is_best else text}{above} {cell.interval}".rstrip()

    caption = [table.caption.replace("marked:", "bold:"), ""] if table.caption else []
    rows = [[write_cell(cell) for cell in row] for row in table.rows]
    rules = [{"l": ":---", "r": "---:"}[letter] for letter in table.align]
    return "\n".join([*caption, markdown_table([[_one_line(title) for title in table.header], *rows], rules)])


def _one_line(title: str) -> str:
    r"""A title that a text and LaTeX write in two lines.

    >>> _one_line("near-\nduplicates"), _one_line("rows to\ndetect")
    ('near-duplicates', 'rows to detect')
    """
    return title.replace("-\n", "-").replace("\n", " ")


def _latex(table: Table) -> str:
    """With a caption the whole table, without one its lines alone."""

    def write_cell(cell: Cell) -> str:
        text = with_minus(cell.text)
        return (rf"\textbf{{{text}}}" if cell.is_best else text) + (f"$^{{{cell.letters}}}$" if cell.letters else "")

    def with_minus(text: str) -> str:
        return MINUS.sub("$-$", escape_latex(text)) if NUMBERS.fullmatch(text) else escape_latex(text)

    def write_title(title: str, letter: str) -> str:
        lines = r"\\".join(escape_latex(line) for line in title.split("\n"))
        return rf"\shortstack[{letter}]{{{lines}}}" if "\n" in title else lines

    # Columns of numbers are aligned to the right.
    letters = table.align or "".join(
        "r" if any(cell.value is not None for cell in column) else "l" for column in zip(*table.rows, strict=True)
    )
    lines = [r"\toprule", " & ".join(map(write_title, table.header, letters)) + r" \\", r"\midrule"]
    for row in table.rows:
        lines.append(" & ".join(map(write_cell, row)) + r" \\")
        # Intervals are on a line of their own: beside the values they would make a table too wide for a page.
        if any(cell.interval for cell in row):
            intervals = (rf"{{\scriptsize {with_minus(cell.interval)}}}" if cell.interval else "" for cell in row)
            lines.append(" & ".join(intervals) + r" \\[2pt]")
    lines.append(r"\bottomrule")
    opening, closing = rf"\begin{{tabular}}{{{letters}}}", r"\end{tabular}"
    if not table.caption:
        return "\n".join([opening, *lines, closing])
    caption = escape_latex(table.caption.replace("marked:", "bold:"))
    # Over both columns of a page, where it has two; a table that is wider than the page is scaled down.
    environment = (
        "table*" if sum(map(_n_letters, zip(table.header, *table.rows, strict=True))) > MOST_NARROW else "table"
    )
    return "\n".join(
        [
            r"% \usepackage{booktabs,graphicx}",
            rf"\begin{{{environment}}}",
            r"  \setlength{\belowcaptionskip}{4pt}",
            rf"  \caption{{{caption}}}",
            rf"  \label{{tab:{table.name}}}",
            r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"  {SHRUNK}{{%",
            f"  {opening}",
            *(f"    {line}" for line in lines),
            f"  {closing}}}",
            rf"\end{{{environment}}}",
        ]
    )


def _n_letters(column: Sequence[Any]) -> float:
    """Width of a column, in letters: a title, and its cells."""
    title, *cells = column
    lines = [*map(len, title.split("\n")), *(len(cell.text) + SMALL_LETTER * len(cell.letters) for cell in cells)]
    return max(*lines, *(SMALL_LETTER * len(cell.interval) for cell in cells), 0) + LETTERS_BETWEEN


def escape_latex(text: str) -> str:
    r"""Write text for LaTeX.

    >>> escape_latex("50% of a_b")
    '50\\% of a\\_b'
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


def _html(table: Table) -> str:
    """As a notebook shows it, without a style of its own."""
    caption = f"<caption>{html.escape(table.caption.replace('marked:', 'bold:'))}</caption>" if table.caption else ""
    head = "".join(f"<th>{html.escape(_one_line(text))}</th>" for text in table.header)
    rows = ("".join(f"<td>{_html_cell(cell, '<b>{}</b>', '{}')}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page_table(
    title: str,
    table: Table,
    anchor: str = "",
    kind: str = "",
    *,
    n_left: int = 1,
    n_heads: int = 1,
    sorts: bool = False,
) -> str:
    """Return a table of a page, which scrolls by itself.

    Args:
        title: what a screen reader calls it.
        table: its caption, if it has one, stands inside it.
        anchor: the table is `table-ANCHOR`.
        kind: further class of the frame.
        n_left: columns above which the heading is aligned to the left.
        n_heads: columns of each row that are its heading.
        sorts: whether a heading is a button that sorts the table, by comparison.js: numbers by `data-sort` or
            `data-value`, the largest first, else by text.
    """
    button = '<button type="button">{}</button>' if sorts else "{}"
    head = "".join(
        f'<th scope="col"{_class("left" if i < n_left else "")}>{button.format(html.escape(text))}</th>'
        for i, text in enumerate(table.header)
    )
    body = ""
    for kind_of_row, row in zip(table.row_kinds or [""] * len(table.rows), table.rows, strict=True):
        cells = (_page_cell(cell, 'th scope="row"' if i < n_heads else "td") for i, cell in enumerate(row))
        body += f"<tr{_class(kind_of_row)}>{''.join(cells)}</tr>"
    caption = f"<caption>{html.escape(table.caption.replace('marked:', 'star:'))}</caption>\n" if table.caption else ""
    frame = f'class="table{kind and f" {kind}"}" role="region" aria-label="{html.escape(title)}" tabindex="0"'
    identifier = f' id="table-{anchor}"' if anchor else ""
    return f"""<div {frame}><table{identifier}>
{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"""


def _page_cell(cell: Cell, opening: str) -> str:
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    value += "" if cell.sort is None else f' data-sort="{cell.sort!r}"'
    content = _html_cell(cell, '<span class="best">{}</span>', "<span>{}</span>")
    return f"<{opening}{_class(cell.kind)}{value}>{content}</{opening[:2]}>"


def _html_cell(cell: Cell, best: str, other: str) -> str:
    """Content of a cell: the text in a frame, the letters of worse systems, and the interval."""
    above = f"<sup>{cell.letters}</sup>" if cell.letters else ""
    text = cell.html or (best if cell.is_best else other).format(html.escape(cell.text))
    return f"{text}{above} {html.escape(cell.interval)}".rstrip()


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
