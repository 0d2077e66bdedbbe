"""The energy score as a reward: its only optimum is to write as people do."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.files.result_tables import finite_numbers

from ..kit.arrays import Floats
from ..kit.energy_rewards import PROPER_QUALITY, energy_rewards, kernel_rewards
from ..kit.errors import InputError
from ..kit.options import check_choice
from ..kit.parity_gaps import row_gaps
from ..kit.parity_tails import TESTED, KeptDistances, corpus_tails
from ..kit.words_tokenizers import Tokenizer
from .caption_reward import CaptionReward, RewardedRows
from .distances import Documents, EmbeddingDistances, kernel_of_distances, row_distances

# Kernels by name, and their bandwidth unless it is given.
KERNELS = ("gaussian", "laplace")
SIGMA = 0.5

# Completions of a row from which on a trainer may subtract their mean.
LEAST_GENERATIONS = 3


class EnergyReward(CaptionReward):
    """The energy score of each candidate in its group: the only optimum is people's own distribution of captions.

    reward_i = mean distance from the other candidates - mean distance from the references, each less a baseline of the
    other candidates, which leaves the gradient without bias (`manycaps.functional.energy_rewards` has the equation and
    its source). The rewards of a group add up to 0, so that GRPO's subtraction of the mean changes nothing; its
    division by the standard deviation would: give `scale_rewards="none"`. The mean reward says nothing: watch what is
    logged, `energy_distance`, `fidelity_gap`, `diversity_gap` and the shares of the tails, 0.05 each for people.

    "bert" and "cider" are Euclidean, and so of strong negative type: nothing but people's distribution has the smallest
    energy distance, as far as the distance tells texts apart. METEOR is not of negative type, and neither is a function
    unless its author says so: there, another optimum can exist.

    Args:
        distance: "bert" (sqrt(2 - 2 cosine) of sentence embeddings), "cider" (the same of tf-idf n-grams), "meteor"
            (1 - METEOR), or a function from two lists of n texts to n distances.
        kernel: None, or "gaussian" or "laplace" of the distance, for the squared maximum mean discrepancy.
        sigma: bandwidth of the kernel, in the unit of the distance, default 0.5.
        quality: weight of the pull towards the references against the push apart, 0 to 1. 0.5 is the proper score;
            above it the optimum is less varied than people, at 1 the most central text alone; below it, more varied.
        document_frequency: for "cider", from the training corpus: a table, its path, or all lists of references.
        tokenizer: for "cider" and "meteor".
        encoder_options: for "bert": encoder, device, dtype and batch_size.
        references: name of the column of human texts, a list in every row.
        name: what TRL's logs call it.

    Raises:
        TypeError, ValueError: an option that is of no use.

    >>> reward = EnergyReward(lambda xs, ys: [float(x != y) for x, y in zip(xs, ys)])
    >>> reward([["a dog", "a cat", "a cat"]], [["a dog", "a cat"]]).tolist()
    [[1.0, -0.5, -0.5]]
    """

    NEEDS_GROUPS = True

    def __init__(
        self,
        distance: Any = "bert",
        kernel: str | None = None,
        *,
        sigma: float | None = None,
        quality: float = PROPER_QUALITY,
        document_frequency: Documents | None = None,
        tokenizer: Tokenizer = "ptb",
        encoder_options: Mapping[str, Any] | None = None,
        references: str = "references",
        name: str | None = None,
    ):
        super().__init__(references=references, name=name)
        self._tokenizer, self._sigma = tokenizer, SIGMA if sigma is None else sigma
        if kernel is not None:
            check_choice("kernel", kernel, KERNELS)
            kernel_of_distances(np.zeros(1), kernel, self._sigma)
        elif sigma is not None:
            raise InputError("sigma", "none, unless there is a kernel", "some", "It would be ignored: leave it out.")
        energy_rewards(np.zeros((1, 3, 3)), 2, quality)  # raises where it is no number from 0 to 1
        self._kernel, self._quality = kernel, quality
        self._distances = row_distances(
            distance, documents=document_frequency, tokenizer=tokenizer, encoder=encoder_options or {}
        )

    def check_sizes(self, sizes: Sequence[int], where: str) -> None:
        """Raise unless every group has enough candidates."""
        least = LEAST_GENERATIONS if where == "num_generations" else 2
        short = next((i for i, size in enumerate(sizes) if size < least), None)
        if short is not None:
            expected, got = f"groups of at least {least} captions of one row", f"{sizes[short]} in group {short}"
            fix = "Sample more per row; a group that is spread over processes must be complete."
            raise InputError(where, expected, got, fix)

    def rewards_of(self, rows: RewardedRows) -> list[Floats]:
        """Return the rewards of each row."""
        texts = [[*mine, *theirs] for mine, theirs in zip(rows.candidates, rows.references, strict=True)]
        sizes = [(len(mine), len(theirs)) for mine, theirs in zip(rows.candidates, rows.references, strict=True)]
        if isinstance(self._distances, EmbeddingDistances):
            self._distances.check_references(rows.references)
        distances = self._distances(texts)
        rewards: list[Floats] = [np.zeros(0)] * len(sizes)
        by_size = {size: [i for i, own in enumerate(sizes) if own == size] for size in dict.fromkeys(sizes)}
        for (m, _), numbers in by_size.items():
            stacked = np.stack([distances[i] for i in numbers])
            if self._kernel is None:
                row_rewards = energy_rewards(stacked, m, self._quality)
            else:
                row_rewards = kernel_rewards(kernel_of_distances(stacked, self._kernel, self._sigma), m, self._quality)
            for i, values in zip(numbers, row_rewards, strict=True):
                rewards[i] = values
        self.last = monitor({size: np.stack([distances[i] for i in numbers]) for size, numbers in by_size.items()})
        return rewards


def monitor(distances: Mapping[tuple[int, int], Floats]) -> dict[str, float]:
    """Return what shows a collapse: how far the candidates are from people, and how many lie in people's tails.

    The distances are within the rows with equally many candidates and references, shape (n_rows, n_texts, n_texts).
    The result has means over rows of `energy_distance`, `fidelity_gap` and `diversity_gap`, and shares of the tails,
    0.05 each for people; nothing of rows with a single reference.
    """
    known = {size: rows for size, rows in distances.items() if size[1] > 1}
    if not known:
        return {}
    kept = KeptDistances(sum(map(len, known.values())))
    fidelity: list[float] = []
    diversity: list[float] = []
    first = 0
    for (m, _), rows in known.items():
        kept.add(rows, m, range(first, first + len(rows)))
        gaps = row_gaps(rows, m)
        fidelity.extend(gaps.fidelity)
        diversity.extend(gaps.diversity)
        first += len(rows)
    shares = corpus_tails(kept, None, None).shares
    means = {"fidelity_gap": float(np.mean(fidelity)), "diversity_gap": float(np.mean(diversity))}
    means["energy_distance"] = 2 * means["fidelity_gap"] - means["diversity_gap"]
    return finite_numbers(means | {name: shares[name].value for name in TESTED})
