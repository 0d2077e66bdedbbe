"""Which temperature is nearest to people, and which one is best by each metric? Figure 5 of the distribution paper.

python -m scripts.studies.temperature [--data FOLDER --corpus MSVD] [--temperatures 0.5 1]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: as the temperature of sampling rises, METEOR falls monotonically,
so that it is best where one caption is said ten times, while the triangle-rank metric has its best value in between,
and may order two models differently at low and at high temperatures. Here two simulated speakers are compared
(`decoding_study.py`); for a model of yours, use `manycaps decoding`.

Written: temperature.csv, a line for each speaker, setting, trial and measure, with intervals over images; and the
picture.
"""

from manycaps.sampling.decoding_setting import Setting
from scripts.studies.decoding_study import MISTAKES, Curve, run_decoding_study
from scripts.studies.study_options import Options, decoding_parser
from scripts.studies.study_pictures import BLUE, ORANGE

parser = decoding_parser(__doc__, (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0))
parse = parser.parse_args

PANELS = (
    *("energy_distance", "unlike_people_share", "generic_share", "near_duplicate_share"),
    *("trm_meteor", "mmd_bert", "meteor", "cider_d"),
)


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    settings = [Setting(temperature) for temperature in options.temperatures]
    looks = ((BLUE, "o-"), (ORANGE, "s--"))
    curves = [Curve(speaker, speaker, settings, *look) for speaker, look in zip(MISTAKES, looks, strict=True)]
    run_decoding_study(options, "temperature", curves, PANELS, "sampling at several temperatures")


if __name__ == "__main__":
    main(parse())
