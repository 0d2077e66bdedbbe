"""The next token of every sequence, by random numbers of its own: batch, shard and order change nothing.

transformers draws the tokens of a batch from one generator, so that a row's samples depend on its neighbours. Here the
token chosen by inverting the cumulative probabilities at a random number that belongs to the row, the sample and the
step is given the largest score; the loop of `generate` takes the largest, which costs less than a draw.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers
from transformers.generation import logits_process

from manycaps.kit.arrays import Floats
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.row_numbers import random_numbers


class TokenChoice(transformers.LogitsProcessor):
    """Marks one token of each sequence; for `choose_tokens`."""

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Set the scores of the chosen tokens to infinity: shape (n_sequences, n_tokens)."""
        chosen = self.choose(input_ids, scores)
        scores.scatter_(1, chosen, torch.inf)
        return scores

    def choose(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.Tensor:
        """Return the chosen tokens: int64, shape (n_sequences, 1)."""
        raise NotImplementedError


def choose_tokens(model: Any, *inputs: Any, generation_config: Any, **options: Any) -> Any:
    """Run the loop of `generate` for several sequences a row, with the largest score in place of a draw.

    `generate` calls it as its `custom_generate`, with inputs that it has prepared for sampling.
    """
    generation_config.do_sample = False
    return type(model)._sample(model, *inputs, generation_config=generation_config, **options)


class SampledTokens(TokenChoice):
    """Sampling at a temperature, from all tokens or the likeliest ones.

    The options are applied by the classes of transformers, in its order: temperature, top-k, top-p, min-p. The random
    numbers come from `random_numbers`, shape (n_sequences, n_steps).
    """

    def __init__(self, setting: Setting, numbers: Floats, device: torch.device):
        self._warpers: list[transformers.LogitsProcessor] = []
        if setting.temperature != 1:
            self._warpers.append(logits_process.TemperatureLogitsWarper(float(setting.temperature)))
        if setting.top_k:
            self._warpers.append(logits_process.TopKLogitsWarper(setting.top_k))
        if setting.top_p < 1:
            self._warpers.append(logits_process.TopPLogitsWarper(float(setting.top_p)))
        if setting.min_p:
            self._warpers.append(logits_process.MinPLogitsWarper(float(setting.min_p)))
        # Apple's GPUs have no float64.
        self._dtype = torch.float32 if device.type == "mps" else torch.float64
        self._numbers = torch.from_numpy(numbers.T.copy()).to(device, self._dtype)[..., None]
        self._step = 0
        self._total: torch.Tensor | None = None

    def choose(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.Tensor:
        """Invert the cumulative probabilities at this step's random numbers."""
        for warper in self._warpers:
            scores = warper(input_ids, scores)
        cumulative = torch.cumsum(torch.softmax(scores, dim=-1), dim=-1, dtype=self._dtype)
        self._total = total = cumulative[:, -1:]
        # The first token whose sum is above the number: never one whose probability is 0.
        tokens = torch.searchsorted(cumulative, self._numbers[self._step] * total, right=True)
        self._step += 1
        return tokens.clamp_(max=scores.shape[-1] - 1)

    @property
    def has_overflowed(self) -> bool:
        """Whether the last probabilities were not numbers; once they are not, later ones are not either."""
        return self._total is not None and not bool(torch.isfinite(self._total).all())


class DiverseTokens(TokenChoice):
    """Diverse beam search with groups of one beam: a sample avoids what earlier ones of its row chose at this step.

    Vijayakumar et al. (2018), section 3, Hamming diversity, https://arxiv.org/abs/1610.02424. The samples of a row lie
    side by side; the penalty is what a token's log-probability loses for each earlier sample that chose it.
    """

    def __init__(self, n_groups: int, penalty: float):
        self._n_groups, self._penalty = n_groups, penalty

    def choose(self, _: torch.LongTensor, scores: torch.FloatTensor) -> torch.Tensor:
        """Choose the best token of each sample in turn."""
        grouped = torch.log_softmax(scores, dim=-1).reshape(-1, self._n_groups, scores.shape[-1])
        counts = torch.zeros_like(grouped[:, 0])
        chosen = []
        for group in range(self._n_groups):
            best = (grouped[:, group] - self._penalty * counts).argmax(dim=1, keepdim=True)
            counts.scatter_add_(1, best, torch.ones_like(best, dtype=counts.dtype))
            chosen.append(best)
        return torch.cat(chosen, dim=1).reshape(-1, 1)


def token_choice(
    setting: Setting, names: Sequence[str], n: int, n_steps: int, seed: int, device: torch.device
) -> TokenChoice | None:
    """Return what chooses the tokens of a batch of rows, n sequences each; None where `generate` searches by itself."""
    if setting.diverse is not None:
        return DiverseTokens(n, setting.diverse)
    if not setting.is_sampled:
        return None
    numbers = np.concatenate([random_numbers(seed, name, n, n_steps) for name in names])
    return SampledTokens(setting, numbers, device)
