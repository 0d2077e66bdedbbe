"""Train a captioner of images with rewards in a plain loop: self-critical training, or the energy score.

python -m scripts.toy.train_captioner --output captioner/
python -m scripts.examples.scst_captioner captioner/ --reward cider --output trained/
python -m scripts.examples.scst_captioner captioner/ --reward energy --output trained/

Needs `pip install 'manycaps[sample]'`, and runs from the repository's folder. The captioner is a folder of
transformers' VisionEncoderDecoderModel with tokenizer and image processor, as the first line makes one of the made
world; pictures and what people say of them are drawn: put your own in place of `draw_scenes`, and a copy runs from any
folder. It is trained on CIDEr-D less the CIDEr-D of its greedy caption, as Rennie et al. (2017) do, or on the energy
score by n-grams: the first makes it say one caption of an image, the second does not. What is after the line "The
training" is what you keep.
"""

import argparse
import pathlib
from typing import Any


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captioner", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--reward", choices=("cider", "energy"), default="energy", help="default %(default)s")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("trained"), metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=60, help="default %(default)s")
    parser.add_argument("--scenes", type=int, default=500, help="of the training, default %(default)s")
    parser.add_argument("--watched", type=int, default=60, help="held-out scenes, default %(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import numpy as np
import torch
import transformers
from tqdm import tqdm

import manycaps
from manycaps.kit.files import check_loaded_tensors
from manycaps.rewards import CiderReward, EnergyReward, self_critical
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene
from scripts.toy.speakers import Speaker, draw_captions

# Human captions of a scene, captions that are sampled, and scenes of a step.
N_REFERENCES, N_CANDIDATES, N_SCENES = 8, 8, 16
LEARNING_RATE = 3e-4


class Captioner:
    """A captioner with what turns pictures into pixels and tokens into captions."""

    def __init__(self, folder: pathlib.Path):
        """Load a folder of transformers."""
        self.model, info = transformers.VisionEncoderDecoderModel.from_pretrained(folder, output_loading_info=True)
        # transformers makes up tensors that a folder lacks, and only warns.
        check_loaded_tensors(info, str(folder))
        self.model.encoder.requires_grad_(False)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.processor = transformers.AutoImageProcessor.from_pretrained(folder)

    @torch.no_grad()
    def generate(self, pixels: torch.Tensor, **options: Any) -> tuple[torch.Tensor, list[list[str]]]:
        """Return tokens, (n_pictures * n, n_tokens), and n captions of each picture."""
        tokens = self.model.generate(pixels, top_k=0, **options)
        texts = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        n = len(texts) // len(pixels)
        return tokens, [texts[start : start + n] for start in range(0, len(texts), n)]

    def sample(self, pixels: torch.Tensor) -> tuple[torch.Tensor, list[list[str]]]:
        """Sample captions by the model's own probabilities: top_k=0 is "from all words"."""
        return self.generate(pixels, do_sample=True, num_return_sequences=N_CANDIDATES)

    def log_probabilities(self, pixels: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return log p of captions, shape (n,), with the picture of each."""
        log_p = self.model(pixels, decoder_input_ids=tokens[:, :-1]).logits.log_softmax(dim=2)
        token_log_p = log_p.gather(2, tokens[:, 1:, None])[..., 0]
        return token_log_p.masked_fill(tokens[:, 1:] == self.tokenizer.pad_token_id, 0.0).sum(dim=1)


def draw_scenes(captioner: Captioner, seed: int, n: int) -> tuple[torch.Tensor, list[list[str]]]:
    """Return pictures as pixels, (n, 3, side, side), and what people say of them."""
    pictures, references = [], []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        scene = draw_scene(rng)
        pictures.append(draw_picture(rng, scene))
        references.append(draw_captions(Speaker(), scene, N_REFERENCES, rng))
    return captioner.processor(images=pictures, return_tensors="pt").pixel_values, references


def describe_distance(captioner: Captioner, pixels: torch.Tensor, references: list[list[str]]) -> str:
    """Say how far the captions of held-out scenes are from people's."""
    _, captions = captioner.sample(pixels)
    result = manycaps.load("human_parity", distance="meteor").compute(predictions=captions, references=references)
    return (
        f"T2 {result['human_parity_statistic']:,.0f}, rows needed {result['rows_to_detect']:,.0f}, "
        f"near-duplicates {result['near_duplicate_share']:.0%}"
    )


def main(options: argparse.Namespace) -> dict[str, str]:
    """Train, print how far the captions are from people's before and after, and write the captioner."""
    torch.manual_seed(0)
    captioner, rng = Captioner(options.captioner), np.random.default_rng(0)
    pictures, people = draw_scenes(captioner, 1_000_000, options.scenes)
    held_out = draw_scenes(captioner, 2_000_000, options.watched)
    lines = {"before": describe_distance(captioner, *held_out)}
    cider, energy = CiderReward(people), EnergyReward("cider", document_frequency=people)
    learned = [weight for weight in captioner.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=LEARNING_RATE)
    # The training.
    for _ in tqdm(range(options.steps), desc=options.reward, unit="step"):
        chosen = rng.choice(len(people), N_SCENES, replace=False).tolist()
        pixels, references = pictures[chosen], [people[i] for i in chosen]
        tokens, captions = captioner.sample(pixels)
        if options.reward == "cider":
            _, greedy = captioner.generate(pixels, do_sample=False)
            advantages = self_critical(cider(captions, references), cider(greedy, references))
        else:
            advantages = energy(captions, references)  # they have a baseline, and add up to 0
        weights = torch.from_numpy(advantages.reshape(-1)).float()
        log_p = captioner.log_probabilities(pixels.repeat_interleave(N_CANDIDATES, dim=0), tokens)
        optimizer.zero_grad()
        (-(weights * log_p).mean()).backward()
        optimizer.step()
    lines["after"] = describe_distance(captioner, *held_out)
    for part in (captioner.model, captioner.tokenizer, captioner.processor):
        part.save_pretrained(options.output)
    for when, line in lines.items():
        print(f"{when}: {line}")
    return lines


if __name__ == "__main__":
    main(parse())
