"""Draw docs/images/map.svg: real captioning systems around people, by their faults and by their blandness.

python -m scripts.repository.parity_map            write the picture
python -m scripts.repository.parity_map --check    change nothing, say whether it shows the numbers of the table

The numbers come from docs/studies/COCO/real_systems.csv, in percent, as `python -m scripts.studies.real_systems`
prints them: values, and the ends of their 95% intervals.
"""

import csv
import pathlib
import re
import sys
from collections.abc import Mapping, Sequence

from manycaps.report.page_frame import STYLE
from scripts.repository.sync_kit import is_check

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "map.svg"
TABLE = ROOT / "docs" / "studies" / "COCO" / "real_systems.csv"

# Width and height of the picture; its margins; the largest share on each axis, in percent.
WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 34, 52
LARGEST = 40

# Both sets of colours of the report pages: a picture in an <img> sees the scheme of the machine.
COLORS = re.search(r":root.*?\}\n@media.*?\} \}", STYLE, re.DOTALL)[0]  # type: ignore[index]

# Colours of the regions, in the order of the table, and where a name stands from its point.
REGIONS = (("#6b7280", 42, 12), ("#2563eb", -40, -26), ("#7c3aed", -92, 34), ("#c2410c", 40, -8), ("#b45309", 36, 4))


def x_of(share: float) -> float:
    """Return where a share of formulaic captions is drawn."""
    return LEFT + share / LARGEST * (WIDTH - LEFT - RIGHT)


def y_of(share: float) -> float:
    """Return where a share of faults is drawn."""
    return HEIGHT - BOTTOM - share / LARGEST * (HEIGHT - TOP - BOTTOM)


def text(x: float, y: float, words: str, more: str = "") -> str:
    """Return words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def region(row: Mapping[str, str], color: str, right: float, down: float) -> str:
    """Return a system's point, its name, and its region: quarters of ellipses to the ends of both intervals."""
    x, y = x_of(float(row["formulaic"])), y_of(float(row["faults"]))
    west, east = x_of(float(row["formulaic_low"])), x_of(float(row["formulaic_high"]))
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
    systems = (f"{row['system']} {row['faults']}% faults, {row['formulaic']}% formulaic" for row in rows)
    return f"Real systems around people: {'; '.join(systems)}"


def picture(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the picture, on a panel that is legible on any page."""
    people, *systems = rows
    x, y = x_of(float(people["formulaic"])), y_of(float(people["faults"]))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-label="{label(rows)}">',
        f"<style>{COLORS} svg {{ font-family: sans-serif; font-size: 13px; fill: var(--ink) }}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="var(--panel)"/>',
    ]
    for share in range(0, LARGEST + 1, 10):
        parts += [
            f'<path d="M{x_of(share):.1f} {y_of(0):.1f}V{y_of(LARGEST):.1f}M{x_of(0):.1f} {y_of(share):.1f}'
            f'H{x_of(LARGEST):.1f}" stroke="#8884" fill="none"/>',
            text(x_of(share), y_of(0) + 18, f"{share}%", 'text-anchor="middle"'),
            text(LEFT - 8, y_of(share) + 4, f"{share}%", 'text-anchor="end"'),
        ]
    parts += [
        f'<path d="M{x:.1f} {y_of(0):.1f}V{y_of(LARGEST):.1f}M{x_of(0):.1f} {y:.1f}H{x_of(LARGEST):.1f}" '
        'stroke="#888" stroke-dasharray="5 4" fill="none"/>',
        text(LEFT, 20, "faults: captions that people would not write", 'font-weight="600"'),
        text(
            x_of(LARGEST),
            HEIGHT - 12,
            "formulaic: more predictable than 19 of 20 human captions",
            'text-anchor="end" font-weight="600"',
        ),
        text(x_of(24), y_of(30), "dashed: people's own shares", 'fill-opacity="0.7"'),
        text(x_of(24), y_of(30) + 18, "regions: 95% intervals", 'fill-opacity="0.7"'),
        *(region(row, *place) for row, place in zip(systems, REGIONS, strict=True)),
        text(x, y + 7, "★", 'text-anchor="middle" style="font-size: 22px"'),
        text(x - 10, y + 32, "people", 'text-anchor="middle" font-weight="600"'),
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
