"""`manycaps sample` beside a bare loop over `generate` with the same batches, in float32.

A captioner (BLIP) and a language model (GPT-2) with random weights: no end token is likely, so that both write equally
many tokens. The bare loop decodes the same files, prepares the same inputs, and draws with top_k=0; it has one
generator for all rows, and writes nothing to the disk.
"""

import json
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import PIL.Image
import torch
import transformers

from manycaps.sampling import SampleOptions
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item
from manycaps.sampling.local_model import LocalModel
from manycaps.sampling.run import items_of, load_sampler, write_samples
from scripts.benchmarks.timing import Comparison, Work

N_ROWS, BATCH_SIZE, N_SAMPLES, N_TOKENS = 8, 4, 10, 12
WIDTH, N_LAYERS, N_WORDS = 256, 4, 20_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_ROWS": 2, "N_SAMPLES": 2, "N_TOKENS": 3, "WIDTH": 16, "N_LAYERS": 1, "N_WORDS": 50}


def save_model(kind: str, folder: pathlib.Path) -> None:
    """Write a BLIP or a GPT-2 with random weights, and a tokenizer of as many words as it has."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(N_WORDS - 5))]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    special = {"vocab_size": N_WORDS, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    torch.manual_seed(0)
    if kind == "language model":
        config = transformers.GPT2Config(n_embd=WIDTH, n_layer=N_LAYERS, n_head=2, **special)
        parts = (transformers.GPT2LMHeadModel(config), tokenizer)
    else:
        size = {"hidden_size": WIDTH, "num_hidden_layers": N_LAYERS, "num_attention_heads": 2}
        size |= {"intermediate_size": WIDTH, "projection_dim": 8}
        text = {**size, **special, "encoder_hidden_size": WIDTH, "sep_token_id": 3}
        vision = {**size, "image_size": 64, "patch_size": 16}
        config = transformers.BlipConfig(text_config=text, vision_config=vision, projection_dim=8)
        images = transformers.BlipImageProcessor(size={"height": 64, "width": 64})
        parts = (transformers.BlipForConditionalGeneration(config), transformers.BlipProcessor(images, tokenizer))
    for part in parts:
        part.save_pretrained(folder)


def save_rows(folder: pathlib.Path) -> None:
    """Write pictures, and prompts of one length."""
    rng = np.random.default_rng(0)
    for i in range(N_ROWS):
        PIL.Image.fromarray(rng.integers(256, size=(240, 320, 3), dtype=np.uint8)).save(folder / f"{i}.png")
    lines = [json.dumps({"id": str(i), "prompt": " ".join(f"w{10 * i + k}" for k in range(8))}) for i in range(N_ROWS)]
    (folder / "prompts.jsonl").write_text("\n".join(lines), encoding="utf-8")


def bare_loop(model: Any, tokenizer: Any, processor: Any, items: list[Item]) -> list[str]:
    """Sample as the documentation of transformers does."""
    texts = []
    for start in range(0, len(items), BATCH_SIZE):
        batch = items[start : start + BATCH_SIZE]
        if batch[0].image is not None:
            pictures = [PIL.Image.open(str(item.image)).convert("RGB") for item in batch]
            inputs = {"pixel_values": processor(images=pictures, return_tensors="pt")["pixel_values"]}
        else:
            prompts = [item.prompt for item in batch]
            inputs = dict(tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False))
        options = {"do_sample": True, "top_k": 0, "num_return_sequences": N_SAMPLES, "max_new_tokens": N_TOKENS}
        with torch.inference_mode():
            texts += tokenizer.batch_decode(model.generate(**inputs, **options), skip_special_tokens=True)
    return texts


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    # On few cores, threads that wait for each other would be most of what is measured.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save_rows(folder)
        for kind, source in (("captioner", folder), ("language model", folder / "prompts.jsonl")):
            (folder / kind).mkdir()
            save_model(kind, folder / kind)
            yield model_comparison(kind, folder / kind, str(source))


def model_comparison(kind: str, folder: pathlib.Path, source: str) -> Comparison:
    """Compare both loops with a model."""
    options = SampleOptions(
        str(folder),
        [source],
        folder / "samples.jsonl",
        n=N_SAMPLES,
        setting=Setting(max_new_tokens=N_TOKENS),
        device="cpu",
        batch_size=BATCH_SIZE,
        restart=True,
    )
    items = items_of(options)
    sampler = load_sampler(options, items, [options.setting])
    assert isinstance(sampler, LocalModel)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    processor = transformers.AutoProcessor.from_pretrained(folder)
    work = Work(
        f"{kind}, {N_SAMPLES} samples of {N_TOKENS} tokens",
        "samples",
        N_ROWS * N_SAMPLES,
        lambda: write_samples(sampler, items, options, options.setting, options.output),
    )
    theirs = "a bare loop of generate"
    return work.beside(theirs, lambda: bare_loop(sampler.model, tokenizer, processor, items), claim=0.95)
