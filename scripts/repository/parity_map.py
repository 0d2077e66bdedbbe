"""Draw docs/images/map.svg: real captioning systems and people, by faults and by the rows that detect a difference.

python -m scripts.repository.parity_map            write the picture
python -m scripts.repository.parity_map --check    change nothing, say whether it shows the numbers of the table

The numbers come from docs/studies/COCO/real_systems.csv, in percent, as `python -m scripts.studies.real_systems`
prints them: faults beyond people's and rows to detect, with the ends of their 95% intervals; an empty end is infinite.
"""

import csv
import math
import pathlib
import re
import sys
from collections.abc import Mapping, Sequence

from manycaps.report.page_frame import STYLE
from scripts.repository.sync_kit import is_check

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "map.svg"
TABLE = ROOT / "docs" / "studies" / "COCO" / "real_systems.csv"

# Width and height of the picture; its margins; the largest share of faults, in percent, and number of rows, as a power
# of ten. People, of whom no number of rows detects a difference, stand behind it.
WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 58, 70, 34, 52
LARGEST, MOST_ROWS = 40, 5

# Both sets of colours of the report pages: a picture in an <img> sees the scheme of the machine.
COLORS = re.search(r":root.*?\}\n@media.*?\} \}", STYLE, re.DOTALL)[0]  # type: ignore[index]

# Colours of the regions, in the order of the table, and where a name stands from its point.
REGIONS = (("#6b7280", -64, -22), ("#2563eb", 22, -8), ("#7c3aed", -96, 30), ("#c2410c", 22, -6), ("#b45309", -24, -48))


def x_of(rows: float) -> float:
    """Return where a number of rows is drawn."""
    return LEFT + min(math.log10(rows), MOST_ROWS) / MOST_ROWS * (WIDTH - LEFT - RIGHT)


def y_of(share: float) -> float:
    """Return where a share of faults is drawn."""
    return HEIGHT - BOTTOM - share / LARGEST * (HEIGHT - TOP - BOTTOM)


def text(x: float, y: float, words: str, more: str = "") -> str:
    """Return words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def region(row: Mapping[str, str], color: str, right: float, down: float) -> str:
    """Return a system's point, its name, and its region: quarters of ellipses to the ends of both intervals."""
    rows, low, high = (float(row[f"rows{end}"] or "inf") for end in ("", "_low", "_high"))
    x, y, west, east = x_of(rows), y_of(float(row["faults"])), x_of(low), x_of(high)
    north, south = y_of(float(row["faults_high"])), y_of(float(row["faults_low"]))
    corners = ((x, north, east - x, y - north), (east, y, east - x, y - north))
    corners += ((x, south, east - x, south - y), (west, y, x - west, south - y), (x, north, x - west, y - north))
    arcs = " ".join(f"A{wide:.1f} {high:.1f} 0 0 1 {to_x:.1f} {to_y:.1f}" for to_x, to_y, wide, high in corners[1:])
    return (
        f'<path d="M{x:.1f} {north:.1f} {arcs} Z" fill="{color}" fill-opacity="0.18" stroke="{color}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>'
        + text(x + right, y + down, row["system"], f'fill="{color}" font-weight="600"')
    )


def label(rows: Sequence[Mapping[str, str]]) -> str:
    """Return what the picture says in words."""
    systems = (f"{row['system']} {row['faults']}% faults, {row['rows'] or 'no'} rows to detect" for row in rows)
    return f"Real systems and people: {'; '.join(systems)}"


def picture(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the picture, on a panel that is legible on any page."""
    people, *systems = rows
    x, y = WIDTH - RIGHT / 2, y_of(float(people["faults"]))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-label="{label(rows)}">',
        f"<style>{COLORS} svg {{ font-family: sans-serif; font-size: 13px; fill: var(--ink) }}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="var(--panel)"/>',
    ]
    for share in range(0, LARGEST + 1, 10):
        parts += [
            f'<path d="M{LEFT} {y_of(share):.1f}H{WIDTH - RIGHT}" stroke="#8884" fill="none"/>',
            text(LEFT - 8, y_of(share) + 4, f"{share}%", 'text-anchor="end"'),
        ]
    for power in range(MOST_ROWS + 1):
        place = x_of(10**power)
        parts += [
            f'<path d="M{place:.1f} {y_of(0):.1f}V{y_of(LARGEST):.1f}" stroke="#8884" fill="none"/>',
            text(place, y_of(0) + 18, f"{10**power:,}", 'text-anchor="middle"'),
        ]
    parts += [
        text(LEFT, 20, "faults beyond people's: unsupported, odd wording, repeated", 'font-weight="600"'),
        text(
            WIDTH - RIGHT,
            HEIGHT - 12,
            "images that detect a difference from people in 80% of the cases",
            'text-anchor="end" font-weight="600"',
        ),
        text(x_of(2000), y_of(34), "regions: 95% intervals", 'fill-opacity="0.7"'),
        *(region(row, *place) for row, place in zip(systems, REGIONS, strict=True)),
        text(x, y + 7, "★", 'text-anchor="middle" style="font-size: 22px"'),
        text(x, y - 16, "people", 'text-anchor="middle" font-weight="600"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main(check: bool) -> int:
    """Write or check the picture; 0 if it is up to date afterwards."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if check and label(rows) not in PICTURE.read_text(encoding="utf-8"):
        print(f"docs/images/map.svg: expected '{label(rows)}'. Run `python -m scripts.repository.parity_map`.")
        return 1
    if not check:
        PICTURE.write_text(picture(rows), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(is_check(__doc__)))
