"""What rewards do to a captioner: scores of single captions make it repeat itself, the energy score brings it back.

python -m scripts.studies.rewards [--captioner FOLDER] [--seeds 5] [--steps 300] [--rewards NAME ...] [--output FOLDER]

A small captioner of the made world (`scripts/toy/train_captioner.py`; without --captioner it is trained first) is
trained with plain policy gradients on one reward, or a sum of two: from maximum likelihood, and from the model that 60
steps on CIDEr-D have collapsed. Every 50 steps it captions scenes that it was not trained on, 10 captions for each of
people's 10. `nats` is -log p of a human caption of other scenes, which no model can have below people's own; `right` is
the share of captions that people could say of the scene, by their exact probability.

Written: rewards.csv, a line for each start, reward, seed, step and measure; rewards_end.csv, the last step with its
range over seeds; and the picture. Needs scripts/requirements.txt, scripts/requirements-training.txt and
metrics/human_parity/requirements.txt.
"""

import argparse
import copy
import functools
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import (
    Line,
    StudyTable,
    add_frame_options,
    matching,
    numbers,
    study_settings,
    write_lines,
)

# Rewards and their weights, which give the parts of a sum about equal spreads; the colours are those of the picture.
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


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
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
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "scripts/requirements-training.txt",
    "metrics/human_parity/requirements.txt",
)

import numpy as np
import torch
import transformers
from tqdm import tqdm

import manycaps
from manycaps.made_world.caption_probabilities import caption_probability
from manycaps.made_world.speakers import Speaker
from manycaps.made_world.toy_scores import CHECKPOINT
from manycaps.rewards import CiderReward, EnergyReward, MeteorReward, PacReward
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture
from scripts.toy.captioner_rewards import (
    Advantages,
    CaptionedScenes,
    RewardRecipe,
    draw_captioned_scenes,
    less_others,
    sample_captions,
    train_with_rewards,
)
from scripts.toy.small_captioner import CaptionerRecipe, draw_held_out, new_captioner, train_captioner

NAME = "rewards"
KEY = ("start", "reward", "seed")
LINE_COLUMNS = ("step", "measure", "value")

# Captions of the captioner and of people for each held-out scene, and people's captions in the training.
N_CANDIDATES, N_REFERENCES, N_TRAIN_REFERENCES = 10, 10, 8

# First seeds of the scenes: of the training, of the measures, and of the likelihood.
TRAIN_SEED, HELD_OUT_SEED, LIKELIHOOD_SEED = 3_000_000, 4_000_000, 5_000_000

# What `human_parity` is asked for, and what the table calls it.
PARITY = {
    "human_parity_p_value": "p",
    "human_parity_statistic": "T2",
    "rows_needed": "rows_needed",
    "unlike_people_share": "unlike_people",
    "ordinary_share": "ordinary",
    "near_duplicate_share": "near_duplicates",
}

COLOURS = dict(zip(REWARDS, (ORANGE, BLUE, GREEN, SKY, BLACK, PURPLE, "#e69f00"), strict=True))

# Panels of the picture: title, whether its axis is logarithmic, and which direction is better.
PANELS = {
    "T2": ("distance from people, T2", True, "lower is better"),
    "near_duplicates": ("near-duplicates, share of pairs", False, "people: 0.05"),
    "right": ("right captions, share", False, "higher is better"),
    "nats": ("nats of a human caption", False, "lower is better"),
    "cider_d": ("CIDEr-D", False, "higher scores better"),
}

# Options of the test run.
SMALL = (
    *("--likelihood-steps", "4", "--train-scenes", "20", "--scenes", "12", "--seeds", "1", "--steps", "2"),
    *("--collapse-steps", "1", "--every", "1", "--rewards", "CIDEr-D", "energy, n-grams + PAC-S"),
)


class Measures:
    """What is measured of a captioner: its captions of held-out scenes, and the likelihood of people's."""

    def __init__(self, model: transformers.VisionEncoderDecoderModel, n_scenes: int):
        self._held_out = draw_captioned_scenes(model, HELD_OUT_SEED, n_scenes, N_REFERENCES)
        self._parity = manycaps.load("human_parity")
        self._cider, self._meteor = CiderReward(self._held_out.references), MeteorReward()
        self._pac = PacReward(CHECKPOINT, device="cpu")

    def of(self, model: transformers.VisionEncoderDecoderModel, seed: int) -> dict[str, float]:
        """Return all measures; the seed is that of the sampling."""
        held_out, state = self._held_out, torch.get_rng_state()
        torch.manual_seed(seed)
        captions = sample_captions(model, held_out.states, N_CANDIDATES)
        torch.set_rng_state(state)  # the training goes on as if nothing had been measured
        found = self._parity.compute(predictions=captions, references=held_out.references)
        rows = zip(held_out.scenes, captions, strict=True)
        right = [caption_probability(Speaker(), scene, caption) > 0 for scene, row in rows for caption in row]
        nats = draw_held_out(model, LIKELIHOOD_SEED, len(captions))
        return {
            **{ours: found[name] for name, ours in PARITY.items()},
            "different": float(np.mean([len(set(row)) for row in captions])),
            "cider_d": float(self._cider(captions, held_out.references).mean()),
            "meteor": float(self._meteor(captions, held_out.references).mean()),
            "pac_s": float(self._pac(captions, images=held_out.pictures).mean()),
            "right": float(np.mean(right)),
            "nats": nats.nats(1.0),
            "nats_of_people": nats.nats_of_people,
        }


def advantages_of(weights: dict[str, float], scenes: CaptionedScenes) -> Advantages:
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

    def __init__(self, options: argparse.Namespace):
        torch.set_num_threads(1)
        self._options = options
        self._model = self._likelihood_model()
        self._scenes = draw_captioned_scenes(self._model, TRAIN_SEED, options.train_scenes, N_TRAIN_REFERENCES)
        self._measures = Measures(self._model, options.scenes)
        self._collapsed = functools.lru_cache(maxsize=1)(self._collapse)

    def _likelihood_model(self) -> transformers.VisionEncoderDecoderModel:
        if self._options.captioner:
            return transformers.VisionEncoderDecoderModel.from_pretrained(self._options.captioner).eval()
        model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
        recipe = CaptionerRecipe(n_steps=self._options.likelihood_steps)
        train_captioner(model, 0, recipe._replace(n_scenes=max(64, 4 * self._options.train_scenes)), tqdm)
        return model

    def _collapse(self, seed: int) -> transformers.VisionEncoderDecoderModel:
        model = copy.deepcopy(self._model)
        cider = advantages_of(REWARDS["CIDEr-D"], self._scenes)
        train_with_rewards(
            model, self._scenes, cider, RewardRecipe(), seed, self._options.collapse_steps, lambda _: None
        )
        return model

    def run(self, start: str, reward: str, seed: int) -> list[list[Any]]:
        """Return the lines of a run."""
        model = copy.deepcopy(self._model if start == LIKELIHOOD else self._collapsed(seed))
        n_steps, lines = self._options.steps, []

        def watch(step: int) -> None:
            if step % self._options.every == 0 or step == n_steps:
                lines.extend([step, *item] for item in self._measures.of(model, seed).items())

        watch(0)
        advantages = advantages_of(REWARDS[reward], self._scenes)
        train_with_rewards(model, self._scenes, advantages, RewardRecipe(), seed, n_steps, watch)
        return lines


def ends(lines: Sequence[Line]) -> list[list[Any]]:
    """Return every measure of the first and of the last step of each run: its mean and its range over seeds."""
    steps = sorted({int(line["step"]) for line in lines})
    table = []
    for start, reward in dict.fromkeys((line["start"], line["reward"]) for line in lines):
        for step in (steps[0], steps[-1]):
            mine = matching(lines, start=start, reward=reward, step=step)
            for measure in dict.fromkeys(line["measure"] for line in mine):
                values = numbers(mine, "value", measure=measure)
                table.append([start, reward, step, measure, len(values), np.mean(values), min(values), max(values)])
    return table


def draw_picture(lines: Sequence[Line], output: pathlib.Path) -> None:
    """Draw the measures of `PANELS` against the steps, a row of panels for each start."""
    starts = list(dict.fromkeys(line["start"] for line in lines))
    with new_picture(output, NAME, 17, 3.6 * len(starts) + 0.5) as figure:
        grid = figure.subplots(len(starts), len(PANELS), sharex=True, squeeze=False)
        for start, row in zip(starts, grid, strict=True):
            for (measure, (title, is_log, better)), axes in zip(PANELS.items(), row, strict=True):
                mine = matching(lines, start=start, measure=measure)
                for reward in dict.fromkeys(line["reward"] for line in mine):
                    steps = sorted({int(line["step"]) for line in matching(mine, reward=reward)})
                    curve = [np.mean(numbers(mine, "value", reward=reward, step=step)) for step in steps]
                    axes.plot(steps, curve, ".-", color=COLOURS[reward], label=reward)
                if is_log:
                    axes.set_yscale("log")
                label_axes(axes, "steps" if start == starts[-1] else "", title, better=better)
            row[0].set_title(f"from {start}" if start == LIKELIHOOD else "from the model collapsed by CIDEr-D")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    table = StudyTable(options.output, NAME, KEY, LINE_COLUMNS, study_settings(options) | {"starts": None})
    cells = [
        (start, reward, seed)
        for seed in range(options.seed, options.seed + options.trials)
        for reward in options.settings
        for start in options.starts
        if (start, reward) != (COLLAPSED, "CIDEr-D")  # the run from maximum likelihood, continued
    ]
    study = functools.cache(lambda: Study(options))
    lines = table.fill(cells, lambda start, reward, seed: study().run(start, reward, seed))
    columns = ["start", "reward", "step", "measure", "n_seeds", "mean", "least", "most"]
    write_lines(options.output / f"{NAME}_end.csv", columns, ends(lines))
    draw_picture(lines, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
