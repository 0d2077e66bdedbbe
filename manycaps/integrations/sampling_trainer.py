"""A Seq2SeqTrainer that keeps the sampled candidates of an image together."""

from collections.abc import Mapping
from typing import Any

import torch
import transformers

from manycaps.kit.errors import InputError


class SamplingTrainer(transformers.Seq2SeqTrainer):
    """Seq2SeqTrainer whose predictions have shape (n_images, n_tokens, n_candidates) where it samples several.

    A `Seq2SeqTrainer` takes every sample for an image of its own: with `num_return_sequences=3` it drops samples of
    the last batch, and predictions no longer meet their labels. Everything else is as in `Seq2SeqTrainer`, and so is
    all of it with one candidate per image. `decode_candidates` turns predictions into texts:

    ```python
    def compute_metrics(evaluated):
        predictions = decode_candidates(evaluated.predictions, tokenizer)
        return human_parity.compute(predictions=predictions, references=evaluation_rows["references"])


    trainer = SamplingTrainer(model, arguments, eval_dataset=evaluation_rows, compute_metrics=compute_metrics)
    trainer.evaluate(do_sample=True, num_return_sequences=3, max_length=40)
    ```
    """

    def prediction_step(
        self, model: torch.nn.Module, inputs: Any, *arguments: Any, **keywords: Any
    ) -> tuple[Any, Any, Any]:
        """Fold the (n_images * n_candidates, n_tokens) of `generate`: tokens second, the axis that is padded."""
        loss, samples, labels = super().prediction_step(model, inputs, *arguments, **keywords)
        if not isinstance(samples, torch.Tensor) or samples.ndim != 2:
            return loss, samples, labels
        n_images = n_rows(inputs)
        n_candidates, left = divmod(len(samples), n_images)
        if left:
            got = f"{len(samples)} of {n_images} images"
            raise InputError("samples", "the same number for every image", got, "Set num_return_sequences.")
        if n_candidates > 1:
            samples = samples.reshape(n_images, n_candidates, -1).transpose(1, 2)
        return loss, samples, labels


def n_rows(inputs: Mapping[str, Any]) -> int:
    """Return the number of images in a batch: of its labels, or else of its first column."""
    columns = [inputs.get("labels"), *inputs.values()]
    return next(len(column) for column in columns if isinstance(column, torch.Tensor) and column.ndim)
