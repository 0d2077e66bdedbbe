"""Train a small causal language model towards people with GRPOTrainer of TRL: energy score, and human parity watched.

python -m scripts.examples.grpo_captions --output trained/
torchrun --nproc_per_node 2 -m scripts.examples.grpo_captions --output trained/

Needs `pip install 'manycaps[rl]'`, and runs from the repository's folder. Prompts are scenes of the made world in
words, references are what people say of them, and the model is made from a configuration and learns from them first:
put your own in place of `scenes`, `word_tokenizer` and `small_model`, and a copy runs from any folder. What is after
the line "The training" is what you keep.
"""

import argparse
import pathlib
import sys


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("trained"), metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=100, help="of GRPO, default %(default)s")
    parser.add_argument("--likelihood-steps", type=int, default=600, help="before them, default %(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import datasets
import numpy as np
import torch
import transformers
import trl
from tokenizers import Tokenizer, models, pre_tokenizers

from manycaps.rewards import EnergyReward, HumanParityCallback
from scripts.toy.captions import every_word
from scripts.toy.scenes import draw_scene
from scripts.toy.speakers import Speaker, draw_captions

N_REFERENCES = 5
MAX_TOKENS = 40


def scenes(seed: int, n: int) -> datasets.Dataset:
    """Return rows of a prompt, which lists what is in a scene, and what people say of it."""
    rows = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        scene = draw_scene(rng)
        groups = " ; ".join(f"{group.count} {group.size} {group.colour} {group.shape}" for group in scene.groups)
        prompt = f"{groups} ; {scene.relation or ''} {scene.background} :"
        rows.append({"prompt": prompt, "references": draw_captions(Speaker(), scene, N_REFERENCES, rng)})
    return datasets.Dataset.from_list(rows)


def word_tokenizer(texts: list[str]) -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer with one token a word."""
    words = sorted({word for text in texts for word in text.replace(",", " ,").split()} | set(every_word()))
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[EOS]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[EOS]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **names)


def small_model(tokenizer: transformers.PreTrainedTokenizerFast) -> transformers.GPT2LMHeadModel:
    """Return a causal language model, random weights."""
    torch.manual_seed(0)
    ends = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id, "bos_token_id": None}
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=96,
        n_embd=64,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **ends,
    )
    return transformers.GPT2LMHeadModel(config)


def learn_from_people(model: transformers.GPT2LMHeadModel, tokenizer, rows: datasets.Dataset, n_steps: int) -> None:
    """Maximise the likelihood of the references: a model that samples nothing like a caption gets no signal."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    for _ in range(n_steps):
        chosen = rng.choice(len(rows), 32, replace=False).tolist()
        texts = [
            f"{rows[i]['prompt']} {rng.choice(rows[i]['references']).replace(',', ' ,')} {tokenizer.eos_token}"
            for i in chosen
        ]
        tokens = tokenizer(texts, padding=True, return_tensors="pt")
        labels = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
        loss = model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


# The training.


def make_trainer(model, tokenizer, train: datasets.Dataset, test: datasets.Dataset, output: pathlib.Path, steps: int):
    """Return a trainer that is ready to train."""
    # MiniLM is the default distance; n-grams need no model, but the document frequencies of the training corpus.
    reward = EnergyReward("cider", document_frequency=list(train["references"]))
    settings = trl.GRPOConfig(
        output_dir=str(output),
        max_steps=steps,
        learning_rate=1e-4,
        per_device_train_batch_size=16,
        # Groups of three or more: with two the first term of the energy score has no baseline.
        num_generations=8,
        max_completion_length=MAX_TOKENS,
        # Divided by the standard deviation of their group, rows would weigh more the nearer they are to people.
        scale_rewards="none",
        # A KL term pulls towards the model of the start: this reward needs none.
        beta=0.0,
        temperature=1.0,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
    )
    watch = HumanParityCallback(test, every=50, distance="cider", n_candidates=5, max_new_tokens=MAX_TOKENS)
    return trl.GRPOTrainer(
        model=model,
        reward_funcs=[reward],
        args=settings,
        train_dataset=train,
        processing_class=tokenizer,
        callbacks=[watch],
    )


def main(output: pathlib.Path, steps: int, likelihood_steps: int) -> list[dict[str, float]]:
    """Train, and return what was logged."""
    train, test = scenes(0, 500), scenes(1, 40)
    tokenizer = word_tokenizer([*train["prompt"], *test["prompt"]])
    model = small_model(tokenizer)
    learn_from_people(model, tokenizer, train, likelihood_steps)
    trainer = make_trainer(model, tokenizer, train, test, output, steps)
    if trainer.is_world_process_zero():
        print(f"processes: {trainer.args.world_size}", file=sys.stderr)
    trainer.train()
    if trainer.is_world_process_zero():
        for line in trainer.state.log_history:
            shown = {name: value for name, value in line.items() if "EnergyReward/" in name or "human_parity" in name}
            print(line["step"], {name: round(value, 3) for name, value in shown.items()})
    trainer.accelerator.end_training()
    return trainer.state.log_history


if __name__ == "__main__":
    main(**vars(parse()))
