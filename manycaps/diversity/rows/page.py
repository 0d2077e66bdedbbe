"""Chosen rows as one HTML page without any request to the network."""

import html
from collections.abc import Sequence

from manycaps.files.result_tables import Cell, Table, page_table
from manycaps.report.page_frame import as_document, as_picture

from .ordered import RowChoice, ShownCaption, ShownRow, weighted_mean

# Digits of a score: BLEU-4 of captions without a common 4-gram is not 0, and its order says nothing.
DIGITS = 3

# Digits of a distance.
DISTANCE_DIGITS = 2


def rows_page(chosen: RowChoice) -> str:
    """Return the whole page, as HTML."""
    rows = chosen.rows
    n_rows = f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}"
    return as_document(
        "Rows of captions", chosen.name, f"{n_rows}, {chosen.choice}.", rows_sections(chosen), "rows.css"
    )


def rows_sections(chosen: RowChoice) -> str:
    """Return how to read the numbers, and a section for each row."""
    sections = "".join(_section(shown, i, chosen) for i, shown in enumerate(chosen.rows))
    return f"""<ul>
<li>Captions are ordered by their distance to the mean of the row's human captions: {html.escape(chosen.distance)}.
0 is at the mean.</li>
<li>{html.escape(chosen.metric)}: score of a caption against the other human captions of its row; higher is better.
</li>
<li><span class="mark nearest">nearest to the mean</span> <span class="mark best">best</span>
<span class="mark worst">worst</span> by {html.escape(chosen.metric)}, unless many share that number.</li>
</ul>
{sections}"""


def _section(shown: ShownRow, number: int, chosen: RowChoice) -> str:
    picture = as_picture(shown.row.image, shown.row.id)
    n_captions = sum(caption.n for caption in shown.people)
    tables = [_table(shown.people, f"{n_captions} human captions", chosen)]
    if shown.system:
        tables.append(_table(shown.system, "Captions of the system, scored against human captions", chosen))
    kind = "row pictured" if picture else "row"
    sides = {"human captions": shown.people, "captions of the system": shown.system}
    means = "; ".join(_means(side, captions, chosen.metric) for side, captions in sides.items() if captions)
    return f"""<section aria-labelledby="row-{number}">
<h2 id="row-{number}">{html.escape(shown.row.id)}</h2>
<p class="soft">{html.escape(means)}</p>
<div class="{kind}">{picture}<div>{"".join(tables)}</div></div>
</section>
"""


def _means(side: str, captions: Sequence[ShownCaption], metric: str) -> str:
    """Both means of one side of a row, repeated captions included."""
    distance, score = weighted_mean(captions, "distance"), weighted_mean(captions, "score")
    return f"{side}: mean distance {distance:.2f}, mean {metric} {score:.{DIGITS}f}"


def _table(captions: Sequence[ShownCaption], title: str, chosen: RowChoice) -> str:
    _, nearest = marked_ends([caption.distance for caption in captions], DISTANCE_DIGITS)
    best, worst = marked_ends([caption.score for caption in captions], DIGITS)
    are_nearest = [round(caption.distance, DISTANCE_DIGITS) == nearest for caption in captions]
    table = Table(
        "",
        ["caption", "distance", chosen.metric],
        [_row(caption, near, best, worst) for caption, near in zip(captions, are_nearest, strict=True)],
        row_kinds=["nearest-row" if near else "" for near in are_nearest],
    )
    return f"<h3>{html.escape(title)}</h3>\n{page_table(title, table, n_heads=0)}"


def marked_ends(values: Sequence[float], digits: int) -> tuple[float | None, float | None]:
    """Return the largest and smallest value as shown; None for one that more than two, and more than a third, share.

    >>> marked_ends([0.25, 0.5, 0.0001, 0.0], 3), marked_ends([0.1, 0.1, 0.1], 3)
    ((0.5, 0.0), (None, None))
    """
    shown = [round(value, digits) for value in values]
    most = max(2, len(shown) // 3)
    largest, smallest = (end if shown.count(end) <= most else None for end in (max(shown), min(shown)))
    return (largest, smallest) if max(shown) > min(shown) else (None, None)


def _row(caption: ShownCaption, is_nearest: bool, best: float | None, worst: float | None) -> list[Cell]:
    marks = ['<span class="mark nearest">nearest to the mean</span>'] if is_nearest else []
    score = round(caption.score, DIGITS)
    marks += ['<span class="mark best">best</span>'] if score == best else []
    marks += ['<span class="mark worst">worst</span>'] if score == worst else []
    times = f" <b>({caption.n} times)</b>" if caption.n > 1 else ""
    text = f"{html.escape(caption.text)}{times}{''.join(marks)}"
    numbers = [Cell(f"{caption.distance:.{DISTANCE_DIGITS}f}"), Cell(f"{score:.{DIGITS}f}")]
    return [Cell("", html=text, kind="caption"), *numbers]
