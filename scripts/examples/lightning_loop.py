"""Train a captioning model with Lightning, and log how human-like its sampled captions are after every epoch.

python -m scripts.examples.lightning_loop --output trained/
tensorboard --logdir trained/

Needs `pip install "manycaps[train]" lightning`, and `manycaps install-wordnet`. Images, model and tokenizer are from
seq2seq_trainer.py: put your own in their place.
"""

import argparse
import json
import pathlib


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("trained"), metavar="FOLDER")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1, help="each with a part of the rows")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import functools

import lightning
import torch
import transformers
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.strategies import DDPStrategy

import manycaps
from manycaps.integrations import as_log, fold_candidates
from scripts.examples.seq2seq_trainer import MAX_TOKENS, N_CANDIDATES, collate, small_model, squares, word_tokenizer


class Captioner(lightning.LightningModule):
    """A captioner that samples candidates for the validation rows, and compares all of them at the end of an epoch."""

    def __init__(self, model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.human_parity = manycaps.load("human_parity", distance="meteor")
        self.sampled: list[dict] = []

    def training_step(self, batch: dict[str, torch.Tensor], _number: int) -> torch.Tensor:
        """Return the loss of a batch."""
        loss = self.model(pixel_values=batch["pixel_values"], labels=batch["labels"]).loss
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: dict, _number: int) -> None:
        """Sample candidates for a batch, and keep them with their references."""
        tokens = self.model.generate(
            batch["pixel_values"], do_sample=True, num_return_sequences=N_CANDIDATES, max_length=MAX_TOKENS
        )
        texts = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        rows = zip(batch["id"], fold_candidates(texts, N_CANDIDATES), batch["references"], strict=True)
        self.sampled += [dict(zip(("id", "captions", "references"), row, strict=True)) for row in rows]

    def on_validation_epoch_end(self) -> None:
        """Gather the rows of all processes, once each, and log the numbers."""
        parts: list = [self.sampled]
        if self.trainer.world_size > 1:
            parts = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, self.sampled)
        # A sampler of several processes repeats rows to fill the last batch.
        rows = {row["id"]: row for part in parts for row in part}
        self.sampled = []
        if self.trainer.sanity_checking:
            return
        ordered = [rows[i] for i in sorted(rows)]
        result = self.human_parity.compute(
            predictions=[row["captions"] for row in ordered], references=[row["references"] for row in ordered]
        )
        # Every process has the same numbers; one of them writes.
        self.log_dict(as_log(result)[0], rank_zero_only=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.AdamW(self.parameters(), lr=5e-3)


def collate_with_references(tokenizer: transformers.PreTrainedTokenizerBase, rows: list[dict]) -> dict:
    """Return a batch with the id and the references of each row: they never reach the model."""
    return collate(tokenizer, rows) | {name: [row[name] for row in rows] for name in ("id", "references")}


def main(output: pathlib.Path, epochs: int, processes: int) -> dict[str, float]:
    """Train, and return what was logged last."""
    lightning.seed_everything(0)
    train, test = squares()
    tokenizer = word_tokenizer(train["caption"])
    module = Captioner(small_model(tokenizer), tokenizer)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=processes,
        # The pooled features of the image encoder have no part in the loss.
        strategy="auto" if processes == 1 else DDPStrategy(start_method="spawn", find_unused_parameters=True),
        max_epochs=epochs,
        logger=TensorBoardLogger(output),
        log_every_n_steps=1,
        enable_progress_bar=False,
    )
    rows = test.add_column("id", list(range(len(test))))
    trainer.fit(
        module,
        torch.utils.data.DataLoader(train, 18, shuffle=True, collate_fn=functools.partial(collate, tokenizer)),
        torch.utils.data.DataLoader(rows, 4, collate_fn=functools.partial(collate_with_references, tokenizer)),
    )
    result = {name: float(value) for name, value in trainer.logged_metrics.items()}
    print(json.dumps(result, indent=2))
    return result


if __name__ == "__main__":
    main(**vars(parse()))
