"""Which temperature and which search are best for a trained captioner, by each metric, and by held-out likelihood?

python -m scripts.studies.trained_speaker [--captioner FOLDER] [--scenes 100] [--seeds 5] [--output FOLDER]

A small captioner learns what people of the made world say (`scripts/toy/train_captioner.py`; without --captioner it is
trained first). transformers' own `generate` samples its captions at several temperatures, from the likeliest words
alone (top-k, top-p), and lists those of a beam search, and of a diverse one. It predicts the next word, so its best
temperature is known: the one at which human captions of other scenes are likeliest, `held_out_nats` per caption. A
metric that measures the distance to people should choose it too. `sayable` is the share of captions that people could
say of the scene, by their exact probability. The metrics, and z, are those of `known_truth`.

Written: trained_speaker.csv, a line for each search, setting, seed (scenes, people and sampling) and measure;
trained_speaker_best.csv, the best temperature by each measure with the 95 % interval over seeds (Student's t); and the
picture. Needs scripts/requirements.txt, scripts/requirements-training.txt, metrics/trm_bert/requirements.txt,
metrics/emscore_pac/requirements.txt, metrics/meteor15/requirements.txt, metrics/bleu_rouge/requirements.txt,
measurements/vdtk_diversity/requirements.txt and measurements/set_diversity/requirements.txt.
"""

import argparse
import functools
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, study_settings, write_lines

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    parser.add_argument("--captioner", type=pathlib.Path, metavar="FOLDER", help="a trained one; default: train it")
    parser.add_argument("--train-scenes", type=int, default=8_000, metavar="N", help="default %(default)s")
    parser.add_argument("--train-steps", type=int, default=1_500, metavar="N", help="default %(default)s")
    parser.add_argument("--train-seed", type=int, default=0, metavar="N", help="default %(default)s")
    parser.add_argument("--scenes", type=int, default=100, metavar="N", help="of each seed, default %(default)s")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="worlds, default %(default)s")
    parser.add_argument(
        "--sizes", nargs=2, type=int, default=(10, 10), metavar=("N", "M"), help="candidates, references"
    )
    parser.add_argument("--temperatures", nargs="+", type=float, default=TEMPERATURES, help="default: %(default)s")
    parser.add_argument("--splits", type=int, default=99, metavar="N", help="of a row, default %(default)s")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "scripts/requirements-training.txt",
    "metrics/trm_bert/requirements.txt",
    "metrics/emscore_pac/requirements.txt",
    "metrics/meteor15/requirements.txt",
    "metrics/bleu_rouge/requirements.txt",
    "measurements/vdtk_diversity/requirements.txt",
    "measurements/set_diversity/requirements.txt",
    needs_wordnet=True,
)

import numpy as np
import torch
import transformers
from tqdm import tqdm

from manycaps.made_world.caption_probabilities import caption_probability
from manycaps.made_world.speakers import Speaker
from manycaps.made_world.toy_scores import CHECKPOINT
from manycaps.sampling.token_choice import DiverseTokens
from scripts.studies.best_temperatures import best_temperature, interval
from scripts.studies.speaker_measures import LINE_COLUMNS, MEASURES, SpokenWorld, World, draw_world
from scripts.studies.study_pictures import label_axes, new_picture
from scripts.toy.small_captioner import (
    CaptionerRecipe,
    as_pixel_values,
    as_text,
    draw_held_out,
    new_captioner,
    train_captioner,
)

NAME = "trained_speaker"
KEY = ("search", "setting", "seed")

# Settings of the searches: words, share of the probability, least number of beams, and what a repeated word costs.
SEARCHES = {"top-k": ("5", "20"), "top-p": ("0.8", "0.95"), "beams": ("10",), "diverse beams": ("0.5", "2")}

# Scenes of a seed on which the held-out likelihood is measured: not those of the metrics or of the training.
HELD_OUT_SEED, N_HELD_OUT = 2_000_000, 500

NATS = "held_out_nats"

# What stands for a caption without a word.
NOTHING = "nothing"

# Options of the test run.
SMALL = (
    *("--train-scenes", "64", "--train-steps", "4", "--scenes", "4", "--seeds", "2", "--sizes", "3", "3"),
    *("--temperatures", "0.5", "1", "2", "--splits", "19"),
)


class Captioner:
    """A trained captioner, and what it says of the pictures of a world."""

    def __init__(self, model: transformers.VisionEncoderDecoderModel):
        self._model = model
        self._held_out = functools.lru_cache(maxsize=1)(
            lambda seed, n_scenes: draw_held_out(model, HELD_OUT_SEED + seed, n_scenes)
        )

    def nats(self, seed: int, n_scenes: int, temperature: float) -> float:
        """Return -log p of captions that people say of other scenes, mean over captions."""
        return self._held_out(seed, n_scenes).nats(temperature)

    @torch.no_grad()
    def captions(self, world: World, n: int, search: str, setting: str, seed: int) -> list[list[str]]:
        """Return n captions of every scene, by the `generate` of transformers."""
        pixels = as_pixel_values((clip[0] for clip in world.clips), self._model.config.encoder.image_size)
        torch.manual_seed(seed)
        if search == "diverse beams":
            groups = DiverseTokens(n, float(setting))
            tokens = self._model.generate(pixel_values=pixels.repeat_interleave(n, dim=0), logits_processor=[groups])
        else:
            options = options_of(search, setting, n)
            tokens = self._model.generate(pixel_values=pixels, num_return_sequences=n, **options)
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
    # transformers samples from the 50 likeliest words unless it is told not to.
    sampled: dict[str, Any] = {"do_sample": True, "top_k": 0}
    changed = {"temperature": ("temperature", float), "top-k": ("top_k", int), "top-p": ("top_p", float)}
    option, kind = changed[search]
    return sampled | {option: kind(setting)}


def load_captioner(options: argparse.Namespace) -> Captioner:
    """Load the captioner, or train it."""
    torch.set_num_threads(1)
    if options.captioner:
        return Captioner(transformers.VisionEncoderDecoderModel.from_pretrained(options.captioner).eval())
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", options.train_seed)
    recipe = CaptionerRecipe(n_scenes=options.train_scenes, n_steps=options.train_steps)
    train_captioner(model, options.train_seed, recipe, tqdm)
    return Captioner(model)


class DecodedWorld:
    """One world, and what a captioner says of it by every search, embedded together before anything is measured."""

    def __init__(
        self, captioner: Captioner, world: World, n: int, n_splits: int, searches: Sequence[tuple[str, str]], seed: int
    ):
        self.said = {search: captioner.captions(world, n, *search, seed) for search in searches}
        captions = (caption for rows in self.said.values() for row in rows for caption in row)
        self.spoken = SpokenWorld(world, n_splits, captions)


def study(captioner: Captioner, decoded: DecodedWorld, search: str, setting: str, seed: int) -> list[list[Any]]:
    """Return the lines of a search."""
    spoken, said = decoded.spoken, decoded.said[search, setting]
    sayable = np.array(
        [
            np.mean([caption_probability(Speaker(), scene, caption) > 0 for caption in row])
            for scene, row in zip(spoken.world.scenes, said, strict=True)
        ]
    )
    lines = spoken.lines(spoken.values(said), len(said[0]))
    n_references = len(spoken.world.references[0])
    lines.append(["sayable", n_references, len(said), sayable.mean(), 1.0, np.nan, np.nan, np.nan])
    if search == "temperature":
        n_held_out = N_HELD_OUT if len(said) >= N_HELD_OUT // 10 else len(said)
        nats = captioner.nats(seed, n_held_out, float(setting))
        lines.append([NATS, 0, n_held_out, nats, np.nan, np.nan, np.nan, np.nan])
    return lines


def best(lines: Sequence[Line], temperatures: Sequence[float]) -> list[list[Any]]:
    """Return for every measure the temperature at which it is best."""
    found = []
    for name, direction in {NATS: "lowest", **{name: measure.best for name, measure in MEASURES.items()}}.items():
        mine = matching(lines, search="temperature", measure=name)
        seeds = list(dict.fromkeys(line["seed"] for line in mine))
        places = []
        for seed in seeds:
            curve = {float(line["setting"]): float(line["value"]) for line in matching(mine, seed=seed)}
            values = np.array([curve[temperature] for temperature in temperatures])
            places.append(best_temperature(np.array(temperatures), values, direction))
        found.append([name, direction, *interval(places)])
    return found


def draw_picture(lines: Sequence[Line], found: Sequence[Sequence[Any]], output: Any) -> None:
    """Draw the nats of held-out captions and z against the temperature, and the best temperature by each measure."""
    sampled = matching(lines, search="temperature")
    temperatures = sorted({float(line["setting"]) for line in sampled})
    with new_picture(output, NAME, 11, 5.5) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        for name, measure in MEASURES.items():
            if name.endswith("_excess") or name in ("meteor", "cider_d", "bleu_4", "pac_score"):
                of_measure = matching(sampled, measure=name)
                curve = [np.mean([float(x["z"]) for x in matching(of_measure, setting=f"{t:g}")]) for t in temperatures]
                left.plot(temperatures, curve, measure.style, color=measure.colour, marker=".", label=measure.title)
        left.set_yscale("symlog", linthresh=3)
        left.legend(fontsize=8)
        label_axes(
            left,
            "temperature of the captioner",
            "z: distance from people, null standard deviations",
            better="solid: excess, lower is better; dashed: higher is better",
        )
        titles = {NATS: "held-out likelihood (the truth)"}
        titles |= {name: f"{m.title}{', excess' if 'excess' in name else ''}" for name, m in MEASURES.items()}
        for place, (name, _, centre, low, high) in enumerate(reversed(found)):
            colour = "#000000" if name == NATS else MEASURES[name].colour
            right.plot([centre], [place], "D" if name == NATS else "o", color=colour)
            right.plot([low, high], [place, place], "-", color=colour)
            if name == NATS:
                right.axvline(centre, color="#888888", lw=0.8)
        right.set_yticks(range(len(found)), [titles[name] for name, *_ in reversed(found)])
        label_axes(right, "best temperature, 95 % interval over seeds", "measure")
        figure.suptitle("A trained captioner of the made world: its best temperature by each metric")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    n, m = options.sizes
    table = StudyTable(options.output, NAME, KEY, LINE_COLUMNS, study_settings(options))
    searches = [("temperature", f"{temperature:g}") for temperature in options.temperatures]
    searches += [(search, setting) for search, settings in SEARCHES.items() for setting in settings]
    cells = [(*search, seed) for seed in range(options.seed, options.seed + options.seeds) for search in searches]
    captioner = functools.cache(lambda: load_captioner(options))

    @functools.lru_cache(maxsize=1)
    def decoded(seed: int) -> DecodedWorld:
        world = draw_world(seed, options.scenes, n, m)
        return DecodedWorld(captioner(), world, n, options.splits, searches, seed)

    lines = table.fill(cells, lambda search, setting, seed: study(captioner(), decoded(seed), search, setting, seed))
    found = best(lines, options.temperatures)
    columns = ["measure", "best", "best_temperature", "low", "high"]
    write_lines(options.output / f"{NAME}_best.csv", columns, found)
    draw_picture(lines, found, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
