"""Which search gives captions like human ones? Figure 6 of the distribution paper, for any model.

python -m scripts.studies.search [--captions NAME=FOLDER ... --references FILE] [--models NAME=FOLDER ...]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: greedy and beam search, ten times the one caption they find, have
the best METEOR and a high divergence; nucleus sampling (top-p 0.9 and top-k 20) can be hotter than plain sampling
before it diverges. Here are also the ten best beams, diverse beam search (of models), top-k and top-p by themselves.

Written: search.csv, a line for each speaker, setting, trial and measure, with intervals over images; search_best.csv,
the best setting by each measure; and the picture, of the first speaker. Needs scripts/requirements.txt and
metrics/trm_bert/requirements.txt; models also need transformers.
"""

import argparse
import sys
from collections.abc import Sequence

from scripts.command_line import start_tool
from scripts.studies.decoding import SAMPLING, add_source_options
from scripts.studies.study_frame import add_frame_options, write_lines
from scripts.studies.study_options import add_caption_options

TEMPERATURES = (0.3, 0.6, 1.0, 1.5, 2.0)
SETTINGS = (
    *("greedy", "best_beams"),
    *(f"{strategy}-{temperature}" for strategy in SAMPLING for temperature in TEMPERATURES),
)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=200)
    add_source_options(parser, SETTINGS)
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

import numpy as np

from scripts.studies.decoding import SEARCHES
from scripts.studies.decoding_study import best_settings, curve, decoding_lines, label_panel
from scripts.studies.study_frame import matching, numbers
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, new_picture

NAME = "search"

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--trials", "1", "--settings", "greedy", "sampling-1", "nucleus-1")

PANELS = ("trm_meteor", "trm_cider", "mmd_bert", "meteor", "cider_d", "bert")
COLORS = dict(zip(SAMPLING, (BLUE, GREEN, PURPLE, ORANGE), strict=True))
STYLES = dict(zip(SEARCHES, ("-", "--", "-.", ":"), strict=True))


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    title, lines = decoding_lines(options, NAME)
    columns = ("speaker", "measure", "best_setting", "of_all_trials")
    write_lines(options.output / f"{NAME}_best.csv", columns, best_settings(lines))
    speaker = lines[0]["speaker"]
    with new_picture(options.output, NAME, 13, 6.8) as figure:
        panels = figure.subplots(2, 3)
        for axes, measure in zip(panels.flat, PANELS, strict=True):
            for strategy, color in COLORS.items():
                found = curve(lines, strategy, speaker=speaker, measure=measure)
                axes.plot(found.temperatures, found.middle, "o-", color=color, ms=4, label=strategy)
                axes.fill_between(found.temperatures, found.low, found.high, color=color, alpha=0.12, lw=0)
            for strategy, style in STYLES.items():
                if values := numbers(matching(lines, speaker=speaker, measure=measure, setting=strategy), "shown"):
                    axes.axhline(float(np.median(values)), color=BLACK, ls=style, lw=1.2, label=strategy)
            label_panel(axes, measure, first=False)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right center")
        figure.suptitle(f"{title}, {speaker}: ways to decode; bands: 95 % intervals over images, all trials")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
