"""Which temperature is best, by each metric? Figure 5 of the distribution paper, for any model.

python -m scripts.studies.temperature [--captions NAME=FOLDER ... --references FILE] [--models NAME=FOLDER ...]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: as the temperature of sampling rises, METEOR falls monotonically,
so that it is best where one caption is said ten times, while the triangle-rank metric has its best value in between,
and may order two models differently at low and at high temperatures.

Written: temperature.csv, a line for each speaker, setting, trial and measure, with intervals over images;
temperature_best.csv, the best setting by each measure; and the picture. Needs scripts/requirements.txt and
metrics/trm_bert/requirements.txt; models also need transformers.
"""

import argparse
import sys
from collections.abc import Sequence

from scripts.command_line import start_tool
from scripts.studies.decoding import add_source_options
from scripts.studies.study_frame import add_frame_options, write_lines
from scripts.studies.study_options import add_caption_options

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=200)
    add_source_options(parser, [f"sampling-{temperature}" for temperature in TEMPERATURES])
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

from scripts.studies.decoding_study import best_settings, curve, decoding_lines, label_panel
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, PURPLE, new_picture

NAME = "temperature"

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--trials", "1", "--settings", "sampling-0.5", "sampling-1")

PANELS = ("trm_meteor", "trm_cider", "trm_bert", "mmd_bert", "meteor", "cider_d", "bert", "fid_bert")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    title, lines = decoding_lines(options, NAME)
    columns = ("speaker", "measure", "best_setting", "of_all_trials")
    write_lines(options.output / f"{NAME}_best.csv", columns, best_settings(lines))
    speakers = list(dict.fromkeys(line["speaker"] for line in lines))
    with new_picture(options.output, NAME, 14, 6.4) as figure:
        panels = figure.subplots(2, 4).flat
        for axes, measure in zip(panels, PANELS, strict=True):
            for i, speaker in enumerate(speakers):
                color = (BLUE, ORANGE, GREEN, PURPLE)[i % 4]
                found = curve(lines, "sampling", speaker=speaker, measure=measure)
                axes.plot(found.temperatures, found.middle, ("o-", "s--")[i % 2], color=color, ms=4, label=speaker)
                axes.fill_between(found.temperatures, found.low, found.high, color=color, alpha=0.15, lw=0)
            label_panel(axes, measure, first=measure == PANELS[0])
        figure.suptitle(f"{title}: sampling at several temperatures; bands: 95 % intervals over images, all trials")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
