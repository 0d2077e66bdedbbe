"""Which temperature and which search are best for a trained captioner, by each metric, and by held-out likelihood?

python -m scripts.studies.trained_speaker [--captioner FOLDER] [--scenes 100] [--seeds 5] [--output FOLDER]

A small captioner learns what people of the made world say (`scripts/toy/train_captioner.py`; without --captioner it is
trained first), and is decoded by transformers' own `generate`. Its best temperature is known: the one at which human
captions of other scenes are likeliest, `held_out_nats` per caption. A metric that measures the distance to people
should choose it too. `sayable` is the share of captions that people could say of the scene, by their exact probability.
The metrics, and z, are those of `known_truth`.

Written: trained_speaker.csv, a line for each search, setting, seed (scenes, people and sampling) and measure;
trained_speaker_best.csv, the best temperature by each measure with the 95 % interval over seeds (Student's t); and the
picture.
"""

import pathlib

from scripts.studies.study_options import Options, add_world_options, start_study, study_parser

parser = study_parser(__doc__)
parser.add_argument("--captioner", type=pathlib.Path, metavar="FOLDER", help="a trained one; default: train it")
parser.add_argument("--train-scenes", type=int, default=8_000, metavar="N", help="default %(default)s")
parser.add_argument("--train-steps", type=int, default=1_500, metavar="N", help="default %(default)s")
parser.add_argument("--train-seed", type=int, default=0, metavar="N", help="default %(default)s")
add_world_options(parser, 100, (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0))
parsed = start_study(
    *(__name__, parser, "scripts", "scripts/requirements-training.txt", "metrics/trm_bert", "metrics/emscore_pac"),
    *("metrics/meteor15", "metrics/bleu_rouge", "measurements/vdtk_diversity", "measurements/set_diversity"),
    needs_wordnet=True,
)

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from tqdm import tqdm

from manycaps.sampling.token_choice import DiverseTokens
from scripts.studies.best_temperatures import best_temperature, interval
from scripts.studies.speaker_measures import LINE_COLUMNS, MEASURES, SpokenWorld, World, draw_world
from scripts.studies.study_frame import Line, StudyTable, distinct, matching, numbers, study_settings, write_lines
from scripts.studies.study_pictures import label_axes, new_picture
from scripts.toy.caption_probabilities import caption_probability
from scripts.toy.small_captioner import CaptionerRecipe, as_pixel_values, as_text, draw_held_out, load_captioner
from scripts.toy.speakers import Speaker

NAME = "trained_speaker"
KEY = ("search", "setting", "seed")

# Settings of the searches: words, share of the probability, least number of beams, and what a repeated word costs.
SEARCHES = {"top-k": ("5", "20"), "top-p": ("0.8", "0.95"), "beams": ("10",), "diverse beams": ("0.5", "2")}

# Scenes of a seed on which the held-out likelihood is measured: not those of the metrics or of the training.
HELD_OUT_SEED, N_HELD_OUT = 2_000_000, 500

NATS = "held_out_nats"

# What stands for a caption without a word.
NOTHING = "nothing"

Captioner = transformers.VisionEncoderDecoderModel


@torch.no_grad()
def captions_of(model: Captioner, world: World, n: int, search: str, setting: str, seed: int) -> list[list[str]]:
    """Return n captions of every scene, by the `generate` of transformers."""
    pixels = as_pixel_values((clip[0] for clip in world.clips), model.config.encoder.image_size)
    torch.manual_seed(seed)
    if search == "diverse beams":
        groups = DiverseTokens(n, float(setting))
        tokens = model.generate(pixel_values=pixels.repeat_interleave(n, dim=0), logits_processor=[groups])
    else:
        tokens = model.generate(pixel_values=pixels, num_return_sequences=n, **options_of(search, setting, n))
    # A caption without a word has no METEOR and no cosine; people say something of every scene.
    texts = [as_text(row) or NOTHING for row in tokens.tolist()]
    return [texts[start : start + n] for start in range(0, len(texts), n)]


def options_of(search: str, setting: str, n: int) -> dict[str, Any]:
    """Return the options of `generate`.

    >>> options_of("top-k", "5", 10)
    {'do_sample': True, 'top_k': 5}
    """
    if search == "beams":
        return {"num_beams": max(int(setting), n), "do_sample": False}
    changed = {"temperature": ("temperature", float), "top-k": ("top_k", int), "top-p": ("top_p", float)}
    option, kind = changed[search]
    # transformers samples from the 50 likeliest words unless top_k says otherwise.
    return {"do_sample": True, "top_k": 0} | {option: kind(setting)}


def sayable_share(world: World, captions: Sequence[Sequence[str]]) -> float:
    """Return the share of captions that people could say, mean over scenes."""
    rows = zip(world.scenes, captions, strict=True)
    return float(
        np.mean([[caption_probability(Speaker(), scene, caption) > 0 for caption in row] for scene, row in rows])
    )


def best(lines: Sequence[Line], temperatures: Sequence[float]) -> list[list[Any]]:
    """Return for every measure the temperature at which it is best."""
    found = []
    for name, direction in {NATS: "lowest", **{name: measure.best for name, measure in MEASURES.items()}}.items():
        mine = matching(lines, search="temperature", measure=name)
        curves = [np.array(numbers(mine, "value", seed=seed)) for seed in distinct(mine, "seed")]
        places = [best_temperature(np.array(temperatures), curve, direction) for curve in curves]
        found.append([name, direction, *interval(places)])
    return found


def draw_picture(lines: Sequence[Line], found: Sequence[Sequence[Any]], output: Any) -> None:
    """Draw the nats of held-out captions and z against the temperature, and the best temperature by each measure."""
    sampled = matching(lines, search="temperature")
    temperatures = sorted(map(float, distinct(sampled, "setting")))
    with new_picture(output, NAME, 11, 5.5) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        for name, measure in MEASURES.items():
            if name.endswith("_excess") or name in ("meteor", "cider_d", "bleu_4", "pac_score"):
                mine = matching(sampled, measure=name)
                curve = [np.mean(numbers(mine, "z", setting=f"{t:g}")) for t in temperatures]
                left.plot(temperatures, curve, measure.style, color=measure.colour, marker=".", label=measure.title)
        left.set_yscale("symlog", linthresh=3)
        left.legend(fontsize=8)
        better = "solid: excess, lower is better; dashed: higher is better"
        y = "z: distance from people, null standard deviations"
        label_axes(left, "temperature of the captioner", y, better=better)
        titles = {name: f"{m.title}{', excess' if 'excess' in name else ''}" for name, m in MEASURES.items()}
        titles[NATS] = "held-out likelihood (the truth)"
        for place, (name, _, centre, low, high) in enumerate(reversed(found)):
            colour = "#000000" if name == NATS else MEASURES[name].colour
            right.plot([centre], [place], "D" if name == NATS else "o", color=colour)
            right.plot([low, high], [place, place], "-", color=colour)
            if name == NATS:
                right.axvline(centre, color="#888888", lw=0.8)
        right.set_yticks(range(len(found)), [titles[name] for name, *_ in reversed(found)])
        label_axes(right, "best temperature, 95 % interval over seeds", "measure")
        figure.suptitle("A trained captioner of the made world: its best temperature by each metric")


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    n, m = options.sizes
    searches = [("temperature", f"{temperature:g}") for temperature in options.temperatures]
    searches += [(search, setting) for search, settings in SEARCHES.items() for setting in settings]
    cells = [(*search, seed) for seed in range(options.seed, options.seed + options.seeds) for search in searches]
    recipe = CaptionerRecipe(n_scenes=options.train_scenes, n_steps=options.train_steps)
    captioner = functools.cache(lambda: load_captioner(options.captioner, options.train_seed, recipe, tqdm))

    @functools.lru_cache(maxsize=1)
    def held_out(seed: int, n_scenes: int) -> Any:
        return draw_held_out(captioner(), HELD_OUT_SEED + seed, n_scenes)

    @functools.lru_cache(maxsize=1)
    def decoded(seed: int) -> tuple[SpokenWorld, dict[tuple[str, str], list[list[str]]]]:
        """A world, and its captions by every search, embedded together before anything is measured."""
        world = draw_world(seed, options.scenes, n, m)
        said = {search: captions_of(captioner(), world, n, *search, seed) for search in searches}
        captions = (caption for rows in said.values() for row in rows for caption in row)
        return SpokenWorld(world, options.splits, captions), said

    def study(search: str, setting: str, seed: int) -> Iterator[list[Any]]:
        spoken, by_search = decoded(seed)
        captions, unknown = by_search[search, setting], (np.nan,) * 3
        yield from spoken.lines(spoken.values(captions), n)
        yield ["sayable", m, len(captions), sayable_share(spoken.world, captions), 1.0, *unknown]
        if search == "temperature":
            n_held_out = N_HELD_OUT if len(captions) >= N_HELD_OUT // 10 else len(captions)
            nats = held_out(seed, n_held_out).nats(float(setting))
            yield [NATS, 0, n_held_out, nats, np.nan, *unknown]

    lines = StudyTable(options.output, NAME, KEY, LINE_COLUMNS, study_settings(options)).fill(cells, study)
    found = best(lines, options.temperatures)
    columns = ["measure", "best", "best_temperature", "low", "high"]
    write_lines(options.output / f"{NAME}_best.csv", columns, found)
    draw_picture(lines, found, options.output)


if __name__ == "__main__":
    main(parsed())
