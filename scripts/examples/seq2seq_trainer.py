"""Train a captioning model with Seq2SeqTrainer, compare sampled captions with people's, stop early by human parity.

python -m scripts.examples.seq2seq_trainer --output trained/
torchrun --nproc_per_node 2 scripts/examples/seq2seq_trainer.py --output trained/

Needs `pip install 'manycaps[embeddings,train]'`, transformers 5 of it, and `manycaps install-wordnet`; a copy of this
file runs from any folder. Images, model and tokenizer are made on the spot, small enough for a minute on a processor:
put your own in place of `squares`, `word_tokenizer` and `small_model`. What is after the line "The training" is
what you keep.
"""

import argparse
import functools
import itertools
import json
import pathlib
import random
import sys


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("trained"), metavar="FOLDER")
    parser.add_argument("--epochs", type=int, default=20, help="at most; early stopping ends sooner")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import datasets
import numpy as np
import torch
import transformers
from accelerate import PartialState
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import manycaps
from manycaps.integrations import SamplingTrainer, decode_candidates
from manycaps.kit.files import check_loaded_tensors

# Sampled candidates per image, and tokens of the longest caption.
N_CANDIDATES = 5
MAX_TOKENS = 40

TEMPLATES = [
    "a {size} {colour} square on the {side}",
    "there is a {colour} square on the {side} side",
    "on the {side} you can see a {size} {colour} square",
    "the {side} side of the picture shows a {size} square which is {colour}",
    "somebody has put a {size} {colour} square on the {side} side of the picture and has left all the rest of it empty",
    "a picture with nothing in it but a single {size} square that is {colour} and that lies on the {side} side of it",
]


def squares() -> tuple[datasets.Dataset, datasets.Dataset]:
    """Return training rows (image, caption) and evaluation rows (image, caption, references), on other images."""
    colours = {"red": 0, "green": 1, "blue": 2}
    train, test = [], []
    draw = random.Random(0)
    for copy, colour, size, side in itertools.product(range(4), colours, ("small", "large"), ("left", "right")):
        pixels = np.random.default_rng(len(train)).normal(0.0, 0.2, (3, 16, 16))
        width = 4 if size == "small" else 8
        first = (1 if side == "left" else 15 - width) + copy % 2 * (1 if side == "left" else -1)
        pixels[colours[colour], 4 : 4 + width, first : first + width] += 2.0
        captions = [template.format(colour=colour, size=size, side=side) for template in TEMPLATES]
        if copy == 3:
            test.append({"image": pixels, "caption": captions[0], "references": draw.sample(captions, 5)})
        else:
            train += [{"image": pixels, "caption": caption} for caption in captions]
    test = test[:-1]  # 11 rows: no multiple of any batch
    for row in test:
        row["caption"] = row["references"][0]
    return datasets.Dataset.from_list(train), datasets.Dataset.from_list(test)


def word_tokenizer(captions: list[str]) -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer with one token a word."""
    words = sorted({word for caption in captions for word in caption.split()})
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[BOS]", "[EOS]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A [EOS]", special_tokens=[("[EOS]", 3)])
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def small_model(tokenizer: transformers.PreTrainedTokenizerFast) -> transformers.VisionEncoderDecoderModel:
    """Return a vision transformer with a text decoder, random weights."""
    torch.manual_seed(0)
    size = {"hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 96}
    encoder = transformers.ViTConfig(image_size=16, patch_size=4, **size)
    decoder = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **size)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id = tokenizer.bos_token_id, tokenizer.pad_token_id
    model = transformers.VisionEncoderDecoderModel(config)
    model.generation_config.decoder_start_token_id = tokenizer.bos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model


def bag_of_words(captions: list[str]) -> np.ndarray:
    """Embed captions as counts of their words; leave `encoder` out for MiniLM."""
    words = {word: i for i, word in enumerate(sorted({word for caption in captions for word in caption.split()}))}
    return np.array([[caption.split().count(word) for word in words] or [1] for caption in captions], dtype=float)


# The training.


def collate(tokenizer: transformers.PreTrainedTokenizerFast, rows: list[dict]) -> dict[str, torch.Tensor]:
    """Return a batch of rows, `pixel_values` and padded `labels`; -100 keeps padding out of the loss."""
    tokens = tokenizer([row["caption"] for row in rows], padding=True, return_tensors="pt")
    labels = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
    return {"pixel_values": torch.tensor([row["image"] for row in rows], dtype=torch.float32), "labels": labels}


class CaptionMetrics:
    """The `compute_metrics` of a data set with several references per row."""

    def __init__(self, tokenizer: transformers.PreTrainedTokenizerFast, rows: datasets.Dataset, table: pathlib.Path):
        self.tokenizer, self.rows, self.table = tokenizer, rows, table
        # Settings at load time, so that the calls below are plain. Are the captions like people's, and if not, why?
        self.human_parity = manycaps.load("human_parity", distance="meteor")
        self.trm_meteor = manycaps.load("trm_meteor", details=True)
        self.mmd_bert = manycaps.load("mmd_bert", encoder=bag_of_words, details=True)

    def __call__(self, evaluated: transformers.EvalPrediction) -> dict[str, float]:
        """Return scalars for the log; the sampled captions go to a file, one line a row."""
        # With several processes the last batch was filled up with rows of the first.
        samples, labels = (tokens[: len(self.rows)] for tokens in (evaluated.predictions, evaluated.label_ids))

        # The references never reach the model: they belong to the evaluation rows, in order. Labels prove the order.
        references = self.rows["references"]
        captions = self.tokenizer(list(self.rows["caption"]))["input_ids"]
        expected = self.tokenizer.batch_decode(captions, skip_special_tokens=True)
        if decode_candidates(labels, self.tokenizer) != [[caption] for caption in expected]:
            raise ValueError("evaluation rows: expected the order of the data set, got another. Do not shuffle them.")

        # Batches of different lengths are joined with -100, in predictions as in labels, which no tokenizer knows.
        predictions = decode_candidates(samples, self.tokenizer)
        results = [
            module.compute(predictions=predictions, references=list(references))
            for module in (self.human_parity, self.trm_meteor, self.mmd_bert)
        ]
        # Every process computes this, and must, for all have to stop together. One of them writes.
        if PartialState().is_main_process:
            with self.table.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"captions": row}) + "\n" for row in predictions)

        ended = (samples == self.tokenizer.eos_token_id).any(axis=1)  # (n_images, n_candidates)
        merged = {name: value for result in results for name, value in result.items()} | {"cut": 1 - ended.mean()}
        # Only numbers: lists and text would fill the logs and every checkpoint's trainer_state.json.
        return {name: float(value) for name, value in merged.items() if isinstance(value, (int, float))}


def make_trainer(output: pathlib.Path, epochs: int) -> SamplingTrainer:
    """Return a trainer that is ready to train."""
    train, test = squares()
    tokenizer = word_tokenizer(train["caption"])
    model = small_model(tokenizer)
    model.generation_config.do_sample = True
    model.generation_config.num_return_sequences = N_CANDIDATES

    output.mkdir(parents=True, exist_ok=True)
    settings = transformers.Seq2SeqTrainingArguments(
        output_dir=str(output),
        num_train_epochs=epochs,
        learning_rate=5e-3,
        per_device_train_batch_size=18,
        per_device_eval_batch_size=4,
        predict_with_generate=True,
        # Unset, generation stops at 20 tokens in the middle of longer captions.
        generation_max_length=MAX_TOKENS,
        # Every value of compute_metrics is a curve: tensorboard --logdir trained/
        report_to="tensorboard",
        # The model takes none of the columns by their names: the collator needs them all.
        remove_unused_columns=False,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        # T2 of the gaps falls while captions come nearer to people's (and where wrong captions cancel bland ones:
        # `manycaps.rewards.HumanParityCallback` does not stop by it). The p-value is 0.0 in one epoch after
        # the other, and triangle ranks hardly see captions that are wrong in part: neither tells epochs apart. Of
        # equal ones the first is kept. `rows_to_detect` (greater_is_better=True) weighs the tails as well: it is for
        # many rows, and 1 for captions that are far from people's.
        metric_for_best_model="human_parity_statistic",
        # Unset, larger is taken for better; T2 is a distance.
        greater_is_better=False,
        logging_strategy="epoch",
        disable_tqdm=True,
        use_cpu=True,
    )
    return SamplingTrainer(
        model=model,
        args=settings,
        train_dataset=train,
        eval_dataset=test,
        data_collator=functools.partial(collate, tokenizer),
        processing_class=tokenizer,
        compute_metrics=CaptionMetrics(tokenizer, test, output / "captions.jsonl"),
        callbacks=[transformers.EarlyStoppingCallback(early_stopping_patience=2)],
    )


def restore_best(trainer: SamplingTrainer) -> None:
    """Give the model all weights of the best checkpoint."""
    # load_best_model_at_end keeps that checkpoint, but reads it by name: with transformers 5.23 it leaves out the
    # attention of a ViT, whose names differ in files. from_pretrained knows them.
    folder = trainer.state.best_model_checkpoint
    best, info = type(trainer.model).from_pretrained(folder, output_loading_info=True)
    check_loaded_tensors(info, folder)
    trainer.model.load_state_dict(best.state_dict())


def main(output: pathlib.Path, epochs: int) -> dict[str, float]:
    """Train, then return the metrics of the best model."""
    trainer = make_trainer(output, epochs)
    if trainer.is_world_process_zero():
        print(f"processes: {trainer.args.world_size}", file=sys.stderr)
    trainer.train()
    restore_best(trainer)
    result = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(json.dumps(result, indent=2))
    trainer.accelerator.end_training()
    return result


if __name__ == "__main__":
    main(**vars(parse()))
