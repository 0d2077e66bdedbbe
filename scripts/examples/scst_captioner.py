"""Train a small captioner of images with rewards in a plain loop: self-critical training, or the energy score.

python -m scripts.examples.scst_captioner --reward cider --output trained/
python -m scripts.examples.scst_captioner --reward energy --output trained/

Needs scripts/requirements.txt and scripts/requirements-training.txt. The captioner looks at pictures of the made world
through the image encoder of tiny-pac, and first learns what people say of them. Then it is trained on CIDEr-D less that
of its greedy caption, as Rennie et al. (2017) do, or on the energy score by n-grams: the first makes it say one caption
of an image, the second does not. What is after the line "The training" is what you keep.
"""

import argparse
import pathlib
from typing import Any


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reward", choices=("cider", "energy"), default="energy", help="default %(default)s")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("trained"), metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=60, help="on the reward, default %(default)s")
    parser.add_argument("--likelihood-steps", type=int, default=600, help="before them, default %(default)s")
    parser.add_argument("--scenes", type=int, default=1_000, help="of the training, default %(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parsed()  # answers --help before the packages are imported

import numpy as np
import torch
from tqdm import tqdm
from transformers.modeling_outputs import BaseModelOutput

import manycaps
from manycaps.made_world.toy_scores import CHECKPOINT
from manycaps.rewards import CiderReward, EnergyReward, self_critical
from scripts.toy.captioner_rewards import (
    CaptionedScenes,
    draw_captioned_scenes,
    log_probabilities,
    sample_captions,
    sample_tokens,
)
from scripts.toy.small_captioner import CaptionerRecipe, as_text, new_captioner, save_captioner, train_captioner

# Human captions of a scene, captions that are sampled, scenes of a step, and scenes that watch the training.
N_REFERENCES, N_CANDIDATES, N_SCENES, N_WATCHED = 8, 8, 16, 60
LEARNING_RATE = 3e-4


def greedy_captions(model: Any, states: torch.Tensor) -> list[list[str]]:
    """Return the likeliest caption of every scene, as lists of one."""
    tokens = model.generate(encoder_outputs=BaseModelOutput(last_hidden_state=states), do_sample=False)
    return [[as_text(row)] for row in tokens.tolist()]


def watched(model: Any, scenes: CaptionedScenes) -> str:
    """Say how far the captions of held-out scenes are from people's."""
    captions = sample_captions(model, scenes.states, N_CANDIDATES)
    result = manycaps.load("human_parity", distance="meteor").compute(
        predictions=captions, references=scenes.references
    )
    return (
        f"T2 {result['human_parity_statistic']:,.0f}, rows needed {result['rows_needed']:,.0f}, "
        f"near-duplicates {result['near_duplicate_share']:.0%}"
    )


def train(model: Any, scenes: CaptionedScenes, held_out: CaptionedScenes, reward: str, n_steps: int) -> dict[str, str]:
    """Train a captioner on a reward, and return how far its captions are from people's before and after."""
    cider, energy = CiderReward(scenes.references), EnergyReward("cider", document_frequency=scenes.references)
    optimizer = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=LEARNING_RATE)
    rng, before = np.random.default_rng(0), watched(model, held_out)
    # The training.
    for _ in tqdm(range(n_steps), desc=reward, unit="step"):
        chosen = rng.choice(len(scenes.references), N_SCENES, replace=False).tolist()
        states, references = scenes.states[chosen], [scenes.references[i] for i in chosen]
        tokens = sample_tokens(model, states, N_CANDIDATES)
        texts = [as_text(row) for row in tokens.tolist()]
        captions = [texts[start : start + N_CANDIDATES] for start in range(0, len(texts), N_CANDIDATES)]
        if reward == "cider":
            advantages = self_critical(
                cider(captions, references), cider(greedy_captions(model, states), references)[:, 0]
            )
        else:
            advantages = energy(captions, references)  # they have a baseline, and add up to 0
        weights = torch.from_numpy(advantages.reshape(-1)).float()
        loss = -(weights * log_probabilities(model, states.repeat_interleave(N_CANDIDATES, dim=0), tokens)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"before": before, "after": watched(model, held_out)}


def main(options: argparse.Namespace) -> dict[str, str]:
    """Train, print how far the captions are from people's, and write the captioner."""
    torch.manual_seed(0)
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
    train_captioner(model, 0, CaptionerRecipe(options.scenes, options.likelihood_steps), tqdm)
    scenes = draw_captioned_scenes(model, 1_000_000, options.scenes, N_REFERENCES)
    held_out = draw_captioned_scenes(model, 2_000_000, N_WATCHED, N_REFERENCES)
    lines = train(model, scenes, held_out, options.reward, options.steps)
    save_captioner(model, options.output)
    for when, line in lines.items():
        print(f"{when}: {line}")
    return lines


if __name__ == "__main__":
    main(parsed())
