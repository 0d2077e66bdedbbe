"""Train with both trainers of TRL for a few steps; the tests start this program with one process and with two.

Arguments: a folder, and the number of steps. Every process writes what its rewards got and returned into rank0.json and
so on: for each trainer the calls, each with prompts, completions, references and rewards.
"""

import json
import os
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import trl  # noqa: E402, the line before makes it possible

from manycaps.rewards import CiderReward, EnergyReward  # noqa: E402
from tests.example_programs import example  # noqa: E402

# Completions of a process at once: a group of four is spread over two of three processes' worth.
N_OWN, N_GENERATIONS = 6, 4


class Recorded:
    """A reward that notes its calls."""

    def __init__(self, reward, calls):
        self.reward, self.calls, self.__name__ = reward, calls, reward.__name__

    def __call__(self, **given):
        rewards = self.reward(**given)
        self.calls.append(
            {name: given[name] for name in ("prompts", "completions", "references")} | {"rewards": rewards}
        )
        return rewards


def train(kind, program, rows, tokenizer, folder, n_steps):
    """Train, and return the calls of the energy reward and the trainer's log."""
    calls = []
    corpus = list(rows["references"])
    config, trainer = (trl.GRPOConfig, trl.GRPOTrainer) if kind == "grpo" else (trl.RLOOConfig, trl.RLOOTrainer)
    options = {"scale_rewards": "none"} if kind == "grpo" else {}
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    settings = config(
        output_dir=str(folder / kind),
        max_steps=n_steps,
        per_device_train_batch_size=2 * N_OWN // n_processes,
        num_generations=N_GENERATIONS,
        max_completion_length=12,
        beta=0.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        **options,
    )
    energy = Recorded(EnergyReward("cider", document_frequency=corpus), calls)
    run = trainer(
        model=program.small_model(tokenizer),
        reward_funcs=[energy, CiderReward(corpus)],
        args=settings,
        train_dataset=rows,
        processing_class=tokenizer,
    )
    run.train()
    return {"calls": calls, "log": run.state.log_history}


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, n_steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    program = example("grpo_captions")
    rows = program.scenes(0, 30)
    tokenizer = program.word_tokenizer(rows["prompt"])
    seen = {kind: train(kind, program, rows, tokenizer, folder, n_steps) for kind in ("grpo", "rloo")}
    (folder / f"rank{os.environ.get('RANK', '0')}.json").write_text(json.dumps(seen))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
