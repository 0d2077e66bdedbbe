"""Captions by any transformers model that generates text, decoded by its own `generate`."""

import hashlib
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transformers
from tqdm import tqdm

from manycaps.caption_tables import CaptionRow
from manycaps.kit.media_images import as_image_source, as_rgb_image
from scripts.studies.decoding import DIVERSITY_PENALTY, N_BEAMS, TOP_K, TOP_P, Setting


class DiverseGroups(transformers.LogitsProcessor):
    """Diverse beam search with groups of one beam: each group avoids what earlier ones chose at the same step.

    Vijayakumar et al. (2018), section 3, Hamming diversity, https://arxiv.org/abs/1610.02424; the groups are the
    sequences of one batch, and greedy decoding chooses what is found here.
    """

    def __call__(self, _: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Lower the scores of tokens by `DIVERSITY_PENALTY` for each earlier group that chose them."""
        scores = torch.log_softmax(scores, dim=-1)
        counts = torch.zeros_like(scores[0])
        for group in range(len(scores)):
            scores[group] -= DIVERSITY_PENALTY * counts
            counts[scores[group].argmax()] += 1
        return scores


def generate_options(setting: Setting, n: int) -> dict[str, Any]:
    """Return the arguments of `generate` for n captions of one image; those of a search are n equal ones or n beams."""
    if setting.strategy == "greedy":
        return {"do_sample": False, "num_beams": 1}
    if setting.strategy == "beam":
        return {"do_sample": False, "num_beams": N_BEAMS}
    if setting.strategy == "best_beams":
        return {"do_sample": False, "num_beams": n, "num_return_sequences": n}
    if setting.strategy == "diverse_beams":
        return {"do_sample": False, "num_beams": 1, "logits_processor": [DiverseGroups()]}
    return {
        "do_sample": True,
        "num_return_sequences": n,
        "temperature": setting.temperature,
        # 0 and 1 leave out what a model's own configuration may ask for.
        "top_k": TOP_K if setting.strategy in ("top_k", "nucleus") else 0,
        "top_p": TOP_P if setting.strategy in ("top_p", "nucleus") else 1.0,
    }


class CaptionModel:
    """A model that captions images, continues prompts, or rewrites them, out of a folder; no code in it is run."""

    def __init__(self, folder: pathlib.Path, max_tokens: int):
        """Load the model.

        Args:
            folder: with config.json, safetensors, and what the tokenizer and the image processor need.
            max_tokens: most tokens of a caption.
        """
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        self._takes_images = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        self._takes_images |= config.model_type == "vision-encoder-decoder"
        if config.model_type == "vision-encoder-decoder":
            kind: Any = transformers.VisionEncoderDecoderModel
        elif self._takes_images:
            kind = transformers.AutoModelForImageTextToText
        elif config.is_encoder_decoder:
            kind = transformers.AutoModelForSeq2SeqLM
        else:
            kind = transformers.AutoModelForCausalLM
        self._continues = kind is transformers.AutoModelForCausalLM
        self._model = kind.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        if self._takes_images:
            self._images = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True)
        self._max_tokens = max_tokens

    def captions(
        self, people: Mapping[str, CaptionRow], prompts: Mapping[str, str] | None, setting: Setting, n: int, seed: int
    ) -> dict[str, list[str]]:
        """Return n captions of every image, or of every prompt.

        Args:
            people: rows by id; with images where the model takes them.
            prompts: texts by id where it does not.
            setting: how to decode.
            n: captions of each.
            seed: the draws of an image depend on it, on the setting and on the id alone.

        Returns:
            Captions by id.

        Raises:
            ValueError: an image or a prompt is missing.
        """
        said = {}
        for name in tqdm(people, desc=str(setting), unit="image"):
            digest = hashlib.blake2b(f"{seed} {setting} {name}".encode(), digest_size=7).digest()
            torch.manual_seed(int.from_bytes(digest, "big"))
            said[name] = self._captions_of(self._inputs(people[name], prompts), setting, n)
        return said

    def _inputs(self, row: CaptionRow, prompts: Mapping[str, str] | None) -> dict[str, torch.Tensor]:
        if self._takes_images:
            if row.image is None:
                raise ValueError(f"image[{row.row}]: expected an image of id {row.id!r}, got none. Add a column image.")
            where = f"image[{row.row}]"
            image = as_rgb_image(as_image_source(row.image, where), where)
            return {"pixel_values": self._images(image, return_tensors="pt")["pixel_values"]}
        if prompts is None or row.id not in prompts:
            raise ValueError(f"--prompts: expected a text of id {row.id!r}, got none. The model captions no image.")
        return dict(self._tokenizer(prompts[row.id], return_tensors="pt"))

    def _captions_of(self, inputs: dict[str, torch.Tensor], setting: Setting, n: int) -> list[str]:
        options = generate_options(setting, n)
        if setting.strategy == "diverse_beams":
            inputs = {key: value.repeat_interleave(n, dim=0) for key, value in inputs.items()}
        with torch.inference_mode():
            tokens = self._model.generate(**inputs, **options, max_new_tokens=self._max_tokens)
        if self._continues:
            tokens = tokens[:, inputs["input_ids"].shape[1] :]
        texts: Sequence[str] = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        # A caption without words is one that no metric takes: a full stop is what it says.
        return [text.strip() or "." for text in texts] * (n if len(texts) == 1 else 1)
