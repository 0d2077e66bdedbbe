"""Ways to decode captions, their names, and the options that name who gives the captions; needs no package."""

import argparse
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

# Ways with a temperature, and ways without one.
SAMPLING = ("sampling", "top_k", "top_p", "nucleus")
SEARCHES = ("greedy", "beam", "best_beams", "diverse_beams")

# Candidates of an image.
N_CANDIDATES = 10

# As in appendix A.8 of Chan et al. (2022), https://arxiv.org/abs/2209.07518: "nucleus" has both of them.
TOP_K, TOP_P = 20, 0.9

# Beams of "beam", as Chan et al. show for CLIPcap in figure 4.
N_BEAMS = 8

# What a token costs for each earlier group that has chosen it at this step (Vijayakumar et al. 2018, whose best values
# lie between 0.2 and 0.8, https://arxiv.org/abs/1610.02424).
DIVERSITY_PENALTY = 0.5


class Setting(NamedTuple):
    """A way to decode, and its temperature; NaN has no place here, so searches have temperature 0.

    >>> str(Setting("nucleus", 0.5)), Setting.of("nucleus-0.5"), str(Setting("greedy"))
    ('nucleus-0.5', Setting(strategy='nucleus', temperature=0.5), 'greedy')
    """

    strategy: str
    temperature: float = 0.0

    def __str__(self) -> str:
        return f"{self.strategy}-{self.temperature:g}" if self.strategy in SAMPLING else self.strategy

    @classmethod
    def of(cls, name: str) -> "Setting":
        """Return the setting that a name stands for.

        Raises:
            ValueError: it stands for none.
        """
        strategy, _, temperature = name.partition("-")
        try:
            if strategy in SAMPLING and float(temperature) > 0:
                return cls(strategy, float(temperature))
            if name in SEARCHES:
                return cls(name)
        except ValueError:
            pass
        raise ValueError(
            f"{name}: expected the name of a setting, got another one. Write one of {', '.join(SAMPLING)} with a "
            f"temperature, such as sampling-0.7, or one of {', '.join(SEARCHES)}."
        )


SOURCES_HELP = """Without options, two simulated speakers say human captions about bundled scenes: of each image the
first caption with a weight of 1, the second of 1/2, the third of 1/3 (people as well), and with a probability of 2 or
20 percent a caption of another image; a setting works on these whole captions. --data and --corpus, or --references
without systems, let them say other captions. --captions names folders with one table of captions for each setting, its
name that of the setting (sampling-0.7.jsonl, greedy.csv), beside --references, joined by id. --models names folders of
transformers models: captioners of images take the column image of --references, all others the texts of --prompts, a
JSON object from id to text; their captions are kept in OUTPUT/captions, as --captions takes them."""


def add_source_options(parser: argparse.ArgumentParser, settings: Sequence[str]) -> None:
    """Add the options that name who gives the captions.

    Args:
        parser: of a study that has the options of `add_caption_options`.
        settings: names of the settings that are studied unless asked otherwise.
    """
    group = parser.add_argument_group("speakers and models", SOURCES_HELP)
    group.add_argument("--captions", nargs="+", default=[], metavar="NAME=FOLDER", help="captions of each setting")
    group.add_argument("--models", nargs="+", default=[], metavar="NAME=FOLDER", help="transformers models")
    group.add_argument("--prompts", type=pathlib.Path, metavar="FILE", help="texts for models that caption no image")
    group.add_argument("--max-tokens", type=int, default=40, metavar="N", help="of a caption by a model, default 40")
    group.add_argument("--settings", nargs="+", type=Setting.of, default=[Setting.of(name) for name in settings])
    group.add_argument("--trials", type=int, default=3, metavar="N", help="draws of images and captions, default 3")


def named_folders(given: Sequence[str], option: str) -> dict[str, pathlib.Path]:
    """Return the folders of NAME=FOLDER.

    Raises:
        ValueError: a name or a folder is missing.
    """
    folders = {}
    for item in given:
        name, separator, folder = item.partition("=")
        if not separator or not pathlib.Path(folder).is_dir():
            raise ValueError(f"{option}: expected NAME=FOLDER with a folder that exists, got {item!r}. Name both.")
        folders[name] = pathlib.Path(folder)
    return folders
