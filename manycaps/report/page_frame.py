"""The frame of all reports: one HTML page that makes no request to the network, light and dark, wide and narrow."""

import base64
import collections
import html
import io
import math
from collections.abc import Sequence

from manycaps.caption_tables import CaptionRow
from manycaps.comparison.systems import SystemRow
from manycaps.report.inline_svg import Plot

# Longer side of a thumbnail, in pixels.
LONGEST = 160

# Quality of its JPEG.
QUALITY = 70

STYLE = """
:root { color-scheme: light dark; --font: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --paper: #fcfcfa; --panel: #ffffff; --ink: #1c1d20; --soft: #55585f; --line: #dcdcd6; --grid: #e9e9e4;
  --published: #84878f; --series-0: #1f5fa8; --series-1: #b4480c; --series-2: #157347; --series-3: #8a3fa0;
  --series-4: #a3264c; --series-5: #5f6400; }
@media (prefers-color-scheme: dark) { :root { --paper: #16171a; --panel: #1e2024; --ink: #ececea; --soft: #b2b5bb;
  --line: #3a3d43; --grid: #2e3136; --published: #8d919a; --series-0: #7fb5f0; --series-1: #f2a66a; --series-2: #6fcf97;
  --series-3: #d0a2e2; --series-4: #f290aa; --series-5: #ccd268; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--font); }
main { max-width: 74rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .6rem; }
p, li, dd { max-width: 46rem; }
.soft, figcaption, dl { color: var(--soft); }
figure, .table { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  overflow-x: auto; }
figure { padding: 1rem; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
figcaption { font-size: .9rem; margin-top: .75rem; max-width: 46rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; padding: .7rem .55rem .2rem; color: var(--soft); font-size: .9rem;
  max-width: min(46rem, 84vw); }
th, td { padding: .4rem .55rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 600; vertical-align: bottom; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--panel); }
tbody tr.published th, tbody tr.published td { color: var(--soft); font-weight: 400; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .5em; }
dl { font-size: .9rem; display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 1rem 0 0; }
dt { font-weight: 600; color: var(--ink); } dd { margin: 0; }
details summary { cursor: pointer; margin-top: .75rem; }
a { color: var(--series-0); }
code { overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  main { padding: 1.25rem .9rem 3rem; } }
"""


def as_document(title: str, names: str, lead: str, body: str, style: str = "", script: str = "") -> str:
    """Put a whole HTML document together; title, names and lead are plain text, body is HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{html.escape(title)}: {html.escape(names)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<main>
<h1>{html.escape(title)}</h1>
<p class="soft">{html.escape(lead)}</p>
{body}
</main>
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""


def as_figure(plot: Plot) -> str:
    """Return a figure element with the drawing and its caption."""
    return f"<figure>{plot.svg}<figcaption>{html.escape(plot.caption)}</figcaption></figure>"


def as_plot_section(plot: Plot) -> str:
    """Return a figure under its title."""
    return f'<h2 id="{plot.name}">{html.escape(plot.title)}</h2>{as_figure(plot)}'


def as_table(title: str, head: str, body: str, name: str = "", kind: str = "", caption: str = "") -> str:
    """Return a table that scrolls by itself; the title is plain text, head, body and caption are HTML."""
    identifier = f' id="table-{name}"' if name else ""
    return f"""<div class="table{kind}" role="region" aria-label="{html.escape(title)}" tabindex="0"><table{identifier}>
{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"""


def as_caption_cell(captions: Sequence[str]) -> str:
    """Return a cell with a list of captions, each different one once, with how often it comes."""
    items = "".join(
        f"<li>{html.escape(caption)}{f' <b>({n} times)</b>' if n > 1 else ''}</li>"
        for caption, n in collections.Counter(captions).items()
    )
    return f'<td class="captions"><ul>{items}</ul></td>'


def picture_of(row: SystemRow | CaptionRow) -> str:
    """Return the image of a row as an img element of a few kilobytes; empty where it has none.

    Raises an ImportError without Pillow, and a ValueError or OSError if the image cannot be read.
    """
    if row.image is None:
        return ""
    # Only a page with images needs Pillow.
    from manycaps.kit.media_images import as_image_source, as_rgb_image

    where = f"images of the id {row.id!r}"
    small = as_rgb_image(as_image_source(row.image, where), where)
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
