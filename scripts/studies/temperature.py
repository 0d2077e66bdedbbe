"""Which temperature is nearest to people, and which one is best by each metric? Figure 5 of the distribution paper.

python -m scripts.studies.temperature [--data FOLDER --corpus MSVD] [--temperatures 0.5 1]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: as the temperature of sampling rises, METEOR falls monotonically,
so that it is best where one caption is said ten times, while the triangle-rank metric has its best value in between,
and may order two models differently at low and at high temperatures.

Two simulated speakers choose human captions: of each image the first caption with a weight of 1, the second of 1/2, the
third of 1/3 (people as well), and with a probability of 2 or 20 percent a caption of another image. Their settings are
compared by what `manycaps decoding` computes, beside the metrics of the paper. For a model of yours, use
`manycaps decoding`.

Written: temperature.csv, a line for each speaker, setting, trial and measure, with intervals over images;
temperature_best.csv, the best setting by each measure; and the picture. Needs scripts/requirements.txt and
metrics/trm_bert/requirements.txt.
"""

import argparse
import sys
from collections.abc import Sequence

from scripts.command_line import start_tool
from scripts.studies.study_frame import add_frame_options
from scripts.studies.study_options import add_caption_options

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)


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
from scripts.studies.study_pictures import BLUE, ORANGE, new_picture

NAME = "temperature"

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--trials", "1", "--temperatures", "0.5", "1")

PANELS = (
    *("energy_distance", "unlike_people_share", "ordinary_share", "near_duplicate_share"),
    *("trm_meteor", "mmd_bert", "meteor", "cider_d"),
)


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    settings = [Setting(temperature) for temperature in options.temperatures]
    title, lines = decoding_lines(options, NAME, settings)
    with new_picture(options.output, NAME, 14, 6.4) as figure:
        for axes, measure in zip(figure.subplots(2, 4).flat, PANELS, strict=True):
            for speaker, color, style in zip(MISTAKES, (BLUE, ORANGE), ("o-", "s--"), strict=True):
                values = curve(lines, settings, speaker=speaker, measure=measure)
                axes.plot(values.temperatures, values.middle, style, color=color, ms=4, label=speaker)
                axes.fill_between(values.temperatures, values.low, values.high, color=color, alpha=0.15, lw=0)
            label_panel(axes, measure, legend=measure == PANELS[0])
        figure.suptitle(f"{title}: sampling at several temperatures; bands: 95 % intervals over images, all trials")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
