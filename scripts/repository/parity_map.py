"""Draw docs/images/map.svg: systems of the bundled sample around people, as the page of `manycaps compare` shows them.

python -m scripts.repository.parity_map            write the picture
python -m scripts.repository.parity_map --check    change nothing, say whether it shows today's numbers

Beside the three systems of the sample there is `mixed`: seven captions of `diverse` and three of `off_topic`. Needs
metrics/human_parity/requirements.txt and matplotlib.
"""

import argparse
import pathlib
import re
import sys
from collections.abc import Sequence

from manycaps.comparison.parity import ComparedParity, compared_parity
from manycaps.comparison.read import SystemRow
from manycaps.comparison.score import parity_of_captions
from manycaps.quickstart.scenes import read_scenes
from manycaps.report.comparison_page import map_plot
from manycaps.report.page_frame import STYLE


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, only report")
    return parser.parse_args(arguments)


ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "map.svg"
SAMPLE = ROOT / "manycaps" / "quickstart" / "captions.json"

# Width, height and margin of the picture around the drawing, in its units.
MARGIN = 12

# Both sets of colours of the report pages: a picture in an <img> sees the scheme of the machine.
COLORS = re.search(r":root.*?\}\n@media.*?\} \}", STYLE, re.DOTALL)[0]  # type: ignore[index]


def sample_parity() -> ComparedParity:
    """Compare the systems of the sample, and the mixed one, with people."""
    rows = []
    for i, scene in enumerate(read_scenes(SAMPLE)):
        systems = scene["systems"]
        mixed = systems["diverse"][:7] + systems["off_topic"][:3]
        rows.append(SystemRow(str(i), {**systems, "mixed": mixed}, scene["references"]))
    found = parity_of_captions(rows, {"distance": "bert"})
    return compared_parity(found.rows, None, distance="bert", note="", n_resamples=9_999, seed=0)


def picture(parity: ComparedParity) -> str:
    """Return the map as a file of its own: with its colours, on a panel that is legible on any page."""
    plot = map_plot(parity)
    if plot is None:
        raise ValueError("captions: expected several per row and system, got single ones. Restore the sample.")
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', plot.svg)[0]
    box = f"{-MARGIN} {-MARGIN} {float(width) + 2 * MARGIN:g} {float(height) + 2 * MARGIN:g}"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    panel = f'<rect x="{-MARGIN}" y="{-MARGIN}" width="100%" height="100%" rx="8" fill="var(--panel)"/>'
    opening, body = plot.svg.split(">", 1)
    opening = re.sub(r'viewBox="[^"]+"', f'{names} viewBox="{box}"', opening)
    lines = f"{opening}><style>{COLORS}</style>{panel}{body}".splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def label(svg: str) -> str:
    """Return what a picture says in words; coordinates vary with the rounding of float32."""
    return re.findall(r'aria-label="([^"]+)"', svg)[0]


def main(check: bool) -> int:
    """Write or check the picture; 0 if it is up to date afterwards."""
    drawn = picture(sample_parity())
    if check and label(PICTURE.read_text(encoding="utf-8")) != label(drawn):
        print(f"docs/images/map.svg: expected '{label(drawn)}'. Run `python -m scripts.repository.parity_map`.")
        return 1
    if not check:
        PICTURE.write_text(drawn, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed().check))
