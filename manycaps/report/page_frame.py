"""The frame of all reports: one HTML page that makes no request to the network, light and dark, wide and narrow."""

import base64
import collections
import html
import io
import math
import pathlib
from collections.abc import Sequence

from manycaps.files.result_tables import Cell
from manycaps.report.inline_svg import Plot

# Longer side of a thumbnail, in pixels.
LONGEST = 160

# Quality of its JPEG.
QUALITY = 70

# Styles and scripts of pages lie beside this file; this is the style of all of them.
FOLDER = pathlib.Path(__file__).parent
STYLE = (FOLDER / "page.css").read_text(encoding="utf-8")


def as_document(title: str, names: str, lead: str, body: str, style: str = "", script: str = "") -> str:
    """Put a whole HTML document together; title, names and lead are plain text, body is HTML.

    `style` and `script` are the names of files beside this one.
    """
    own_style, own_script = ((FOLDER / name).read_text(encoding="utf-8") if name else "" for name in (style, script))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{html.escape(title)}: {html.escape(names)}</title>
<style>
{STYLE}{own_style}</style>
</head>
<body>
<main>
<h1>{html.escape(title)}</h1>
<p class="soft">{html.escape(lead)}</p>
{body}
</main>
{f"<script>{own_script}</script>" if script else ""}
</body>
</html>
"""


def as_figure(plot: Plot) -> str:
    """Return a figure element with the drawing and its caption."""
    return f"<figure>{plot.svg}<figcaption>{html.escape(plot.caption)}</figcaption></figure>"


def as_plot_section(plot: Plot) -> str:
    """Return a figure under its title."""
    return f'<h2 id="{plot.name}">{html.escape(plot.title)}</h2>{as_figure(plot)}'


def caption_cell(captions: Sequence[str]) -> Cell:
    """Return a cell with a list of captions, each different one once, with how often it comes."""
    items = "".join(
        f"<li>{html.escape(caption)}{f' <b>({n} times)</b>' if n > 1 else ''}</li>"
        for caption, n in collections.Counter(captions).items()
    )
    return Cell("", html=f"<ul>{items}</ul>", kind="captions")


def id_cell(row_id: str, below: str = "") -> Cell:
    """Return the cell of a row's id, with HTML below."""
    return Cell("", html=f"{html.escape(row_id)}{below}")


def as_picture(image: str | bytes | None, row_id: str) -> str:
    """Return the image of a row, a path or encoded bytes, as an img element of a few kilobytes; empty for none.

    Raises an ImportError without Pillow, and a ValueError or OSError if the image cannot be read.
    """
    if image is None:
        return ""
    # Only a page with images needs Pillow.
    from manycaps.kit.images import as_image_source, as_rgb_image

    where = f"images of the id {row_id!r}"
    small = as_rgb_image(as_image_source(image, where), where)
    small.thumbnail((LONGEST, LONGEST))
    file = io.BytesIO()
    small.save(file, format="JPEG", quality=QUALITY)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img src="data:image/jpeg;base64,{data}" alt="" loading="lazy">'


def as_report_number(value: float | None, form: str) -> str:
    """Format a figure; a dash where there is none.

    >>> as_report_number(0.1234, ".1%"), as_report_number(None, ",d"), as_report_number(float("nan"), ".2f")
    ('12.3%', '–', 'not defined')
    """
    if value is None:
        return "–"
    return "not defined" if math.isnan(value) else format(value, form)
