"""Which search gives captions like human ones? Figure 6 of the distribution paper.

python -m scripts.studies.search [--data FOLDER --corpus MSVD] [--temperatures 0.5 1]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: greedy and beam search, ten times the one caption they find, have
the best METEOR and a high divergence; nucleus sampling (top-p 0.9 and top-k 20) can be hotter than plain sampling
before it diverges. Here are also the ten best beams, top-k and top-p by themselves. The speakers and what is computed
are those of `temperature`.

Written: search.csv, a line for each speaker, setting, trial and measure, with intervals over images; search_best.csv,
the best setting by each measure; and the picture, of the speaker with few mistakes. Needs scripts/requirements.txt and
metrics/trm_bert/requirements.txt.
"""

import argparse
import sys
from collections.abc import Sequence

from scripts.command_line import start_tool
from scripts.studies.study_frame import add_frame_options
from scripts.studies.study_options import add_caption_options

TEMPERATURES = (0.3, 0.6, 1.0, 1.5, 2.0)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=200)
    parser.add_argument("--temperatures", nargs="+", type=float, default=TEMPERATURES, help="default: %(default)s")
    parser.add_argument("--trials", type=int, default=3, metavar="N", help="draws of images and captions, default 3")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

from manycaps.sampling.decoding_setting import Setting
from scripts.studies.decoding_study import curve, decoding_lines, label_panel
from scripts.studies.simulated_speakers import MISTAKES
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, new_picture

NAME = "search"

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--trials", "1", "--temperatures", "1")

PANELS = ("energy_distance", "unlike_people_share", "near_duplicate_share", "trm_meteor", "meteor", "cider_d")

# As in appendix A.8 of Chan et al. (2022): nucleus sampling has both of them.
TOP_K, TOP_P = 20, 0.9

# Ways to sample, with their options and colours, and searches with their lines.
SAMPLING = {
    "sampling": ({}, BLUE),
    "top-k": ({"top_k": TOP_K}, GREEN),
    "top-p": ({"top_p": TOP_P}, PURPLE),
    "nucleus": ({"top_k": TOP_K, "top_p": TOP_P}, ORANGE),
}
SEARCHES = {"greedy": (Setting(greedy=True), "-"), "ten best beams": (Setting(num_beams=10), "-.")}


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    sampled = {
        way: [Setting(temperature, **given) for temperature in options.temperatures]
        for way, (given, _) in SAMPLING.items()
    }
    searches = [setting for setting, _ in SEARCHES.values()]
    title, lines = decoding_lines(options, NAME, [*searches, *(setting for way in sampled.values() for setting in way)])
    speaker = next(iter(MISTAKES))
    with new_picture(options.output, NAME, 13, 6.8) as figure:
        panels = figure.subplots(2, 3)
        for axes, measure in zip(panels.flat, PANELS, strict=True):
            for way, (_, color) in SAMPLING.items():
                values = curve(lines, sampled[way], speaker=speaker, measure=measure)
                axes.plot(values.temperatures, values.middle, "o-", color=color, ms=4, label=way)
                axes.fill_between(values.temperatures, values.low, values.high, color=color, alpha=0.12, lw=0)
            for search, (setting, style) in SEARCHES.items():
                values = curve(lines, [setting], speaker=speaker, measure=measure)
                axes.axhline(values.middle[0], color=BLACK, ls=style, lw=1.2, label=search)
            label_panel(axes, measure)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right center")
        figure.suptitle(f"{title}, {speaker}: ways to decode; bands: 95 % intervals over images, all trials")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
