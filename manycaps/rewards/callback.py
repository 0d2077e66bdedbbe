"""Human parity while a model is trained: a callback of transformers' Trainer and of TRL's trainers."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import transformers

from manycaps.catalog.installed_modules import load
from manycaps.files.result_tables import finite_numbers

from ..kit.errors import InputTypeError, quote_value
from ..kit.options import check_whole_number
from ..sampling.answers import without_thoughts
from ..sampling.generation import decoded_texts, drop_own_settings, n_prompt_tokens
from .caption_reward import as_references, process_group

# Values of `human_parity` that are logged, where they are defined.
LOGGED = (
    "human_parity_p_value",
    "human_parity_statistic",
    "rows_to_detect",
    "faults",
    "unsupported_share",
    "omitted_share",
    "odd_wording_share",
    "repeated_share",
    "words_per_text",
    "words_per_text_of_people",
    "unlike_people_share",
    "generic_share",
    "near_duplicate_share",
    "fidelity_gap",
    "diversity_gap",
    "energy_distance",
)

# The nearness of captions that were not compared.
WORST = (-math.inf, -math.inf)

# What stands for a caption without a word.
NOTHING = "."


class HumanParityCallback(transformers.TrainerCallback):
    """Captions held-out rows every few steps with the model in training, and compares them with people's.

    The model samples by its own `generate`, at temperature 1 from all words; there is no second copy of it, and the
    random numbers of the training stay as they are. Several processes share the rows. Values are logged as the
    trainer's own are, under "human_parity/...": in its history, and in TensorBoard, W&B and whatever else it reports
    to. They are in `last`, too. What is undefined or infinite, such as the rows needed by a model that no number of
    rows distinguishes, is left out.

    Args:
        dataset: rows with a prompt and human texts, a list in every row; ten rows at least, 50 to 200 are better.
        every: steps between two comparisons; the first is before the training.
        n_candidates: captions of each row, at least 2.
        batch_size: rows that are captioned at once.
        patience: stop the training when captions have come no nearer to people's, as `nearness` has it, for so many
            comparisons in a row; None: never.
        inputs: from a list of rows to the arguments of `generate`, such as pixel_values; None: the tokens of the
            column prompt, which the captions continue.
        references: name of the column of human texts.
        max_new_tokens: of a caption.
        seed: of the sampling, the same for every comparison.
        log: a function that gets the values in place of the trainer's log.
        options: of the module `human_parity`, such as distance.

    Raises:
        TypeError, ValueError: an option that is of no use, or rows without references.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        every: int = 100,
        n_candidates: int = 10,
        batch_size: int = 16,
        patience: int | None = None,
        inputs: Callable[[list[Mapping[str, Any]]], Mapping[str, Any]] | None = None,
        references: str = "references",
        max_new_tokens: int = 64,
        seed: int = 0,
        log: Callable[[dict[str, float]], Any] | None = None,
        **options: Any,
    ):
        check_whole_number("every", every, 1)
        check_whole_number("n_candidates", n_candidates, 2)
        check_whole_number("batch_size", batch_size, 1)
        if patience is not None:
            check_whole_number("patience", patience, 1)
        self._rows: list[Mapping[str, Any]] = [dict(row) for row in dataset]
        self._references = as_references([row.get(references) for row in self._rows], references)
        self._every, self._n, self._batch_size, self._patience = every, n_candidates, batch_size, patience
        self._inputs, self._max_new_tokens, self._seed, self._log = inputs, max_new_tokens, seed, log
        self._module = load("human_parity", **options)
        self._best, self._n_worse = WORST, 0
        self.last: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **trainer_parts: Any) -> Any:
        """Compare before the first step."""
        self._best, self._n_worse = WORST, 0
        return self._compare(args, state, control, trainer_parts) if state.global_step == 0 else control

    def on_step_end(self, args: Any, state: Any, control: Any, **trainer_parts: Any) -> Any:
        """Compare after every few steps."""
        return control if state.global_step % self._every else self._compare(args, state, control, trainer_parts)

    def _compare(self, args: Any, state: Any, control: Any, trainer_parts: Mapping[str, Any]) -> Any:
        """Caption, compare, log, and stop if asked to."""
        captions = self._captions(trainer_parts["model"], trainer_parts.get("processing_class"))
        result = self._module.compute(predictions=captions, references=self._references)
        values = finite_numbers({name: result[name] for name in LOGGED})
        self.last = {f"human_parity/{name.removeprefix('human_parity_')}": value for name, value in values.items()}
        should_log = control.should_log
        if self._log is not None:
            self._log(dict(self.last))
        else:
            log_as_trainer(args, state, control, self.last)
        control.should_log = should_log  # a log of ours is not the loss's, which is due at the same step
        near = nearness(result)
        self._best, self._n_worse = max(self._best, near), 0 if near > self._best else self._n_worse + 1
        if self._patience is not None and self._n_worse >= self._patience:
            control.should_training_stop = True
        return control

    def _known(self, captions: list[list[str]]) -> list[list[str]]:
        """Captions with a full stop for each of which the encoder of the distance knows nothing."""
        options = self._module.load_options
        if options["distance"] != "bert":
            return captions
        known = self._module.encoder.known((text for row in captions for text in row), options)
        if known is None:
            return captions
        return [[NOTHING if known[text].is_unknown else text for text in row] for row in captions]

    def _captions(self, model: Any, processor: Any) -> list[list[str]]:
        """Captions of all rows, by all processes together."""
        distributed = process_group()
        rank, n_processes = (distributed.get_rank(), distributed.get_world_size()) if distributed else (0, 1)
        own = self._known(list(self._sample(model, processor, self._rows[rank::n_processes])))
        if distributed is None:
            return own
        parts: list[list[list[str]]] = [[]] * n_processes
        distributed.all_gather_object(parts, own)
        return [parts[i % n_processes][i // n_processes] for i in range(len(self._rows))]

    @torch.no_grad()
    def _sample(self, model: Any, processor: Any, rows: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
        """Sample the captions of some rows."""
        was_training, settings = model.training, drop_own_settings(model)
        model.eval()
        try:
            with torch.random.fork_rng():
                torch.manual_seed(self._seed)
                for start in range(0, len(rows), self._batch_size):
                    yield from self._sample_batch(model, processor, list(rows[start : start + self._batch_size]))
        finally:
            model.train(was_training)
            for part, own in settings:
                part.generation_config = own

    def _sample_batch(self, model: Any, processor: Any, rows: list[Mapping[str, Any]]) -> Iterator[list[str]]:
        tokenizer, device = getattr(processor, "tokenizer", processor), next(model.parameters()).device
        given = prompt_tokens(tokenizer, rows) if self._inputs is None else self._inputs(rows)
        inputs = {name: value.to(device) if hasattr(value, "to") else value for name, value in given.items()}
        tokens = model.generate(
            **inputs,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            num_return_sequences=self._n,
            max_new_tokens=self._max_new_tokens,
        )
        tokens = tokens[:, n_prompt_tokens(model, tokens, inputs.get("input_ids")) :]
        texts = [without_thoughts(text)[0] or NOTHING for text in decoded_texts(tokenizer, tokens)]
        for start in range(0, len(texts), self._n):
            yield texts[start : start + self._n]


def log_as_trainer(args: Any, state: Any, control: Any, values: Mapping[str, float]) -> None:
    """Log values as `transformers.Trainer.log` does: into its history, and to all callbacks that report.

    A callback is given neither the trainer nor its other callbacks, and returns no values: the object that calls it is
    found among the frames of the call. Without one, as in a loop of one's own, the history alone has the values.
    """
    logs = dict(values) if state.epoch is None else {**values, "epoch": state.epoch}
    state.log_history.append({**logs, "step": state.global_step})
    handler = calling_handler()
    if handler is not None:
        handler.on_log(args, state, control, logs)


def calling_handler() -> transformers.trainer_callback.CallbackHandler | None:
    """Return what calls the callbacks of a trainer, if it has called the function that asks."""
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, transformers.trainer_callback.CallbackHandler):
            return caller
        frame = frame.f_back
    return None


def nearness(result: Mapping[str, float]) -> tuple[float, float]:
    """Say how near to people's captions a result of `human_parity` is: of two results, the nearer one is larger.

    It is the number of rows that detect a difference from people: the fewer of those that the gaps and that the tails
    need. T2 alone is no such measure: wrong captions move both gaps up and bland ones move them down, so
    that a bland model which errs in every fifth caption can have people's T2. Equal numbers of rows, which are whole
    and 1 for a model that has learned little, are ordered by T2; models of which no number of rows detects a difference
    are equal.

    >>> nearness({"rows_to_detect": 12.0, "human_parity_statistic": 40.0})
    (12.0, -40.0)
    """
    rows, statistic = float(result["rows_to_detect"]), float(result["human_parity_statistic"])
    if math.isnan(rows):
        return WORST
    return rows, 0.0 if math.isinf(rows) else -statistic


def prompt_tokens(tokenizer: Any, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the tokens of the prompts of some rows, padded on the left: plain ones, or conversations."""
    prompts = [row.get("prompt") for row in rows]
    missing = [prompt for prompt in prompts if not isinstance(prompt, str | list)]
    if missing:
        fix = "Or give inputs=..., a function from rows to the arguments of generate."
        raise InputTypeError("prompt", "a text or a conversation in every row", quote_value(missing[0]), fix)
    texts = [
        prompt
        if isinstance(prompt, str)
        else tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        for prompt in prompts
    ]
    encoded = tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
    return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}
