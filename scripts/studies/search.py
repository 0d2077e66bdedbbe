"""Which search gives captions like human ones? Figure 6 of the distribution paper.

python -m scripts.studies.search [--data FOLDER --corpus MSVD] [--temperatures 0.5 1]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: greedy and beam search, ten times the one caption they find, have
the best METEOR and a high divergence; nucleus sampling (top-p 0.9 and top-k 20) can be hotter than plain sampling
before it diverges. Here are also the ten best beams, top-k and top-p by themselves. The speakers and what is computed
are as in `temperature`.

Written: search.csv, a line for each speaker, setting, trial and measure, with intervals over images; and the picture,
of the speaker with few mistakes.
"""

from manycaps.sampling.decoding_setting import Setting
from scripts.studies.decoding_study import MISTAKES, Curve, run_decoding_study
from scripts.studies.study_options import Options, decoding_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE

parser = decoding_parser(__doc__, (0.3, 0.6, 1.0, 1.5, 2.0))
parse = parser.parse_args

PANELS = ("energy_distance", "unlike_people_share", "near_duplicate_share", "trm_meteor", "meteor", "cider_d")

# As in appendix A.8 of Chan et al. (2022): nucleus sampling has both of them.
TOP_K, TOP_P = 20, 0.9

# Ways to sample, with their options and colours.
SAMPLING = {
    "sampling": ({}, BLUE),
    "top-k": ({"top_k": TOP_K}, GREEN),
    "top-p": ({"top_p": TOP_P}, PURPLE),
    "nucleus": ({"top_k": TOP_K, "top_p": TOP_P}, ORANGE),
}


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    speaker = next(iter(MISTAKES))
    curves = [
        Curve("greedy", speaker, [Setting(greedy=True)], BLACK, "-"),
        Curve("ten best beams", speaker, [Setting(num_beams=10)], BLACK, "-."),
    ]
    for way, (given, color) in SAMPLING.items():
        settings = [Setting(temperature, **given) for temperature in options.temperatures]
        curves.append(Curve(way, speaker, settings, color, "o-"))
    run_decoding_study(options, "search", curves, PANELS, f"{speaker}, ways to decode")


if __name__ == "__main__":
    main(parse())
