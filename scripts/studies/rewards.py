"""What rewards do to a captioner: scores of single captions make it repeat itself, the energy score brings it back.

python -m scripts.studies.rewards [--captioner FOLDER] [--seeds 5] [--steps 300] [--rewards NAME ...] [--output FOLDER]

A small captioner of the made world (`scripts/toy/train_captioner.py`; without --captioner it is trained first) is
trained with plain policy gradients on one reward, or a sum of two: from maximum likelihood, and from the model that 60
steps on CIDEr-D have collapsed. Every 50 steps it captions scenes that it was not trained on, 10 captions for each of
people's 10. `nats` is -log p of a human caption of other scenes, which no model can have below people's own; `right` is
the share of captions that people could say of the scene, by their exact probability.

Written: rewards.csv, a line for each start, reward, seed, step and measure; rewards_end.csv, the last step with its
range over seeds; and the picture.
"""

import copy
import functools
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from tqdm import tqdm

import manycaps
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.rewards import CiderReward, EnergyReward, MeteorReward, PacReward
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, study_settings, write_lines
from scripts.studies.study_options import Options, study_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture
from scripts.toy.caption_probabilities import caption_probability
from scripts.toy.captioner_rewards import (
    Advantages,
    CaptionedScenes,
    draw_captioned_scenes,
    less_others,
    sample_captions,
    train_with_rewards,
)
from scripts.toy.small_captioner import CaptionerRecipe, draw_held_out, load_captioner
from scripts.toy.speakers import Speaker

# Rewards and their weights, which give the parts of a sum about equal spreads.
REWARDS = {
    "CIDEr-D": {"cider": 1.0},
    "energy, n-grams": {"energy_ngrams": 1.0},
    "energy, n-grams + PAC-S": {"energy_ngrams": 1.0, "pac": 0.2},
    "energy, n-grams + CIDEr-D": {"energy_ngrams": 1.0, "cider": 0.05},
    "PAC-S": {"pac": 1.0},
    "energy, MiniLM": {"energy_bert": 1.0},
    "energy, MiniLM + PAC-S": {"energy_bert": 1.0, "pac": 0.2},
}

LIKELIHOOD, COLLAPSED = "maximum likelihood", "collapsed"

parser = study_parser(__doc__)
parser.add_argument("--captioner", type=pathlib.Path, metavar="FOLDER", help="a trained one; default: train it")
parser.add_argument("--likelihood-steps", type=int, default=1_500, metavar="N", help="default %(default)s")
parser.add_argument("--train-scenes", type=int, default=2_000, metavar="N", help="default %(default)s")
parser.add_argument("--scenes", type=int, default=200, metavar="N", help="held out, default %(default)s")
parser.add_argument("--seeds", "--trials", dest="trials", type=int, default=5, metavar="N", help="default 5")
parser.add_argument("--steps", type=int, default=300, metavar="N", help="on a reward, default %(default)s")
parser.add_argument("--collapse-steps", type=int, default=60, metavar="N", help="on CIDEr-D, default %(default)s")
parser.add_argument("--every", type=int, default=50, metavar="N", help="steps, default %(default)s")
parser.add_argument(
    *("--rewards", "--settings"), dest="settings", nargs="+", choices=REWARDS, default=list(REWARDS), metavar="NAME"
)
parser.add_argument("--starts", nargs="+", choices=(LIKELIHOOD, COLLAPSED), default=[LIKELIHOOD, COLLAPSED])
parse = parser.parse_args

NAME = "rewards"
KEY = ("start", "reward", "seed")
COLUMNS = ("step", "measure", "value")

# Captions of the captioner and of people for each held-out scene, and people's captions in the training.
N_CANDIDATES, N_REFERENCES, N_TRAIN_REFERENCES = 10, 10, 8

# First seeds of the scenes: of the training, of the measures, and of the likelihood.
TRAIN_SEED, HELD_OUT_SEED, LIKELIHOOD_SEED = 3_000_000, 4_000_000, 5_000_000

# What `human_parity` is asked for, and what the table calls it.
PARITY = {
    "human_parity_p_value": "p",
    "human_parity_statistic": "T2",
    "rows_to_detect": "rows_to_detect",
    "unlike_people_share": "unlike_people",
    "generic_share": "generic",
    "near_duplicate_share": "near_duplicates",
}

COLOURS = dict(zip(REWARDS, (ORANGE, BLUE, GREEN, SKY, BLACK, PURPLE, "#e69f00"), strict=True))

# Panels of the picture: title, scale of the axis, and which direction is better.
PANELS = {
    "T2": ("distance from people, T2", "log", "lower is better"),
    "near_duplicates": ("near-duplicates, share of pairs", "linear", "people: 0.05"),
    "right": ("right captions, share", "linear", "higher is better"),
    "nats": ("nats of a human caption", "linear", "lower is better"),
    "cider_d": ("CIDEr-D", "linear", "higher scores better"),
}

Captioner = transformers.VisionEncoderDecoderModel


class Measures:
    """What is measured of a captioner: its captions of held-out scenes, and the likelihood of people's."""

    def __init__(self, model: Captioner, n_scenes: int):
        self._held_out = draw_captioned_scenes(model, HELD_OUT_SEED, n_scenes, N_REFERENCES)
        self._parity = manycaps.load("human_parity")
        self._cider, self._meteor = CiderReward(self._held_out.references), MeteorReward()
        self._pac = PacReward(CHECKPOINT, device="cpu")

    def measure(self, model: Captioner, seed: int) -> dict[str, float]:
        """Measure the captioner; the seed is for the sampling."""
        held_out, state = self._held_out, torch.get_rng_state()
        torch.manual_seed(seed)
        captions = sample_captions(model, held_out.states, N_CANDIDATES)
        torch.set_rng_state(state)  # the training continues as if nothing had been measured
        result = self._parity.compute(predictions=captions, references=held_out.references)
        rows = zip(held_out.scenes, captions, strict=True)
        nats = draw_held_out(model, LIKELIHOOD_SEED, len(captions))
        return {
            **{ours: result[name] for name, ours in PARITY.items()},
            "different": float(np.mean([len(set(row)) for row in captions])),
            "cider_d": float(self._cider(captions, held_out.references).mean()),
            "meteor": float(self._meteor(captions, held_out.references).mean()),
            "pac_s": float(self._pac(captions, images=held_out.pictures).mean()),
            "right": float(np.mean([[caption_probability(Speaker(), s, c) > 0 for c in row] for s, row in rows])),
            "nats": nats.nats(1.0),
            "nats_of_people": nats.nats_of_people,
        }


def advantages_of(weights: Mapping[str, float], scenes: CaptionedScenes) -> Advantages:
    """Return the sum of some rewards; of scores of single captions less the mean of the other captions."""
    made: dict[str, Callable[..., Any]] = {
        "cider": lambda: CiderReward(scenes.references),
        "energy_ngrams": lambda: EnergyReward("cider", document_frequency=scenes.references),
        "energy_bert": lambda: EnergyReward("bert", encoder_options={"device": "cpu"}),
        "pac": lambda: PacReward(CHECKPOINT, device="cpu"),
    }
    rewards = {name: made[name]() for name in weights}

    def advantages(rows: list[list[str]], chosen: Sequence[int]) -> np.ndarray:
        references, pictures = ([column[i] for i in chosen] for column in (scenes.references, scenes.pictures))
        total = np.zeros((len(rows), len(rows[0])))
        for name, weight in weights.items():
            given = rewards[name](rows, references, pictures)
            total += weight * (given if name.startswith("energy") else less_others(given))
        return total

    return advantages


class Study:
    """The captioner of maximum likelihood, the collapsed ones, and the runs from them."""

    def __init__(self, options: Options):
        self._options = options
        recipe = CaptionerRecipe(n_scenes=max(64, 4 * options.train_scenes), n_steps=options.likelihood_steps)
        self._model = load_captioner(options.captioner, 0, recipe, tqdm)
        self._scenes = draw_captioned_scenes(self._model, TRAIN_SEED, options.train_scenes, N_TRAIN_REFERENCES)
        self._measures = Measures(self._model, options.scenes)
        self._collapsed = functools.lru_cache(maxsize=1)(self._collapse)

    def _collapse(self, seed: int) -> Captioner:
        return self._train(self._model, "CIDEr-D", seed, self._options.collapse_steps, lambda *_: None)

    def _train(self, start: Captioner, reward: str, seed: int, n_steps: int, watch: Callable[..., None]) -> Captioner:
        """Train a copy of a captioner; `watch` is called with it and with the number of every step."""
        model = copy.deepcopy(start)
        watch(model, 0)
        advantages = advantages_of(REWARDS[reward], self._scenes)
        watch_step = functools.partial(watch, model)
        train_with_rewards(model, self._scenes, advantages, seed, n_steps, watch_step)
        return model

    def lines(self, start: str, reward: str, seed: int) -> list[list[Any]]:
        """Return the lines of a run."""
        n_steps, lines = self._options.steps, []

        def watch(model: Captioner, step: int) -> None:
            if step % self._options.every == 0 or step == n_steps:
                lines.extend([step, *item] for item in self._measures.measure(model, seed).items())

        self._train(self._model if start == LIKELIHOOD else self._collapsed(seed), reward, seed, n_steps, watch)
        return lines


def ends(lines: Sequence[Line]) -> Iterator[list[Any]]:
    """Yield every measure of the first and of the last step of each run: its mean and its range over seeds."""
    steps = sorted({int(line["step"]) for line in lines})
    for start, reward in distinct(lines, "start", "reward"):
        for step in (steps[0], steps[-1]):
            mine = matching_lines(lines, start=start, reward=reward, step=step)
            for measure in distinct(mine, "measure"):
                values = numbers(mine, "value", measure=measure)
                yield [start, reward, step, measure, len(values), np.mean(values), min(values), max(values)]


def draw_picture(lines: Sequence[Line], output: pathlib.Path) -> None:
    """Draw the measures of `PANELS` against the steps, a row of panels for each start."""
    starts, steps = distinct(lines, "start"), sorted({int(line["step"]) for line in lines})
    with new_picture(output, NAME, 17, 3.6 * len(starts) + 0.5) as figure:
        grid = figure.subplots(len(starts), len(PANELS), sharex=True, squeeze=False)
        for (i, j), axes in np.ndenumerate(grid):
            measure, (title, scale, better) = list(PANELS.items())[j]
            mine = matching_lines(lines, start=starts[i], measure=measure)
            for reward in distinct(mine, "reward"):
                curve = [np.mean(numbers(mine, "value", reward=reward, step=step)) for step in steps]
                axes.plot(steps, curve, ".-", color=COLOURS[reward], label=reward)
            axes.set_yscale(scale)
            label_axes(axes, "steps" if i == len(starts) - 1 else "", title, better=better)
            if j == 0:
                axes.set_title(
                    f"from {LIKELIHOOD}" if starts[i] == LIKELIHOOD else "from the model collapsed by CIDEr-D"
                )
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    cells = [
        (start, reward, seed)
        for seed in range(options.seed, options.seed + options.trials)
        for reward in options.settings
        for start in options.starts
        if (start, reward) != (COLLAPSED, "CIDEr-D")  # the run from maximum likelihood, continued
    ]
    study = functools.cache(lambda: Study(options))
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options) | {"starts": None})
    lines = table.fill(cells, lambda *cell: study().lines(*cell))
    columns = ["start", "reward", "step", "measure", "n_seeds", "mean", "least", "most"]
    write_lines(options.output / f"{NAME}_end.csv", columns, ends(lines))
    draw_picture(lines, options.output)


if __name__ == "__main__":
    main(parse())
