"""Rows of human captions, whole or damaged, and what the distribution modules make of them.

Used by damage_study.py and level_study.py.
"""

import collections
import gzip
import json
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

import manycaps
from manycaps.kit.sets_corpus import CorpusTest
from manycaps.kit.sets_module import ComparableRows, compare_rows
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from scripts.studies.study_options import DAMAGES, MODULES

# Images of Flickr8k that are used; a random choice.
N_FLICKR8K_IMAGES = 1_000

Captions = Sequence[Sequence[str]]


def read_images(folder: pathlib.Path, data: str) -> list[list[str]]:
    """Return the captions that `read_all_images` finds; of Flickr8k those of a part of the images, drawn at random."""
    images = read_all_images(folder, data)
    if data != "Flickr8k":
        return images
    chosen = np.random.default_rng(0).choice(len(images), N_FLICKR8K_IMAGES, replace=False)
    return [images[i] for i in np.sort(chosen)]


def read_all_images(folder: pathlib.Path, data: str) -> list[list[str]]:
    """Return the human captions of each image or clip of a public data set, as in the file, repeated ones too."""
    if data == "COCO":
        return [row["references"] for row in json.loads((folder / "coco_val_1000.json").read_text(encoding="utf-8"))]
    if data == "MSVD":
        lines = (folder / "msvd_val_references.txt").read_text(encoding="utf-8").splitlines()
    else:
        with gzip.open(folder / "Flickr8k.token.txt.gz", "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
    captions: dict[str, list[str]] = collections.defaultdict(list)
    for line in lines:
        key, caption = line.split("\t", 1)
        # Flickr8k numbers the captions of an image, and misspells one image once: "2258277193_586949ec62.jpg.1#0".
        captions[re.sub(r"(\.jpg)?(\.1)?#\d$", "", key)].append(caption)
    return list(captions.values())


def draw_rows(
    images: Captions, chosen: Iterable[int], size: tuple[int, int], damage: str, rng: np.random.Generator
) -> tuple[list[list[str]], list[list[str]]]:
    """Split captions of each chosen image at random into candidates and references, then damage the candidates.

    Every damage takes the same random numbers, so that the rows of two damages differ in the damage alone, and what is
    replaced at one probability is replaced by the same caption at all larger ones.
    """
    predictions, references = [], []
    for i in chosen:
        drawn = [images[i][k] for k in rng.permutation(len(images[i]))[: sum(size)]]
        others = [images[k] for k in (i + rng.integers(1, len(images), size=size[0])) % len(images)]
        places, replaced = rng.random(size[0]), rng.random(size[0]) < DAMAGES[damage]
        candidates = drawn[:1] * size[0] if damage == "repeated" else drawn[: size[0]]
        for k in np.flatnonzero(replaced):
            candidates[k] = others[k][int(places[k] * len(others[k]))]
        predictions.append(candidates)
        references.append(drawn[size[0] :])
    return predictions, references


class CaptionMeasures:
    """What the modules make of rows of captions; each caption is tokenized and embedded once."""

    def __init__(self, captions: Iterable[str]):
        """Prepare captions: all that any row will have."""
        distinct = list(dict.fromkeys(captions))
        tokens = dict(zip(distinct, tokenize_captions(distinct), strict=True))
        vectors = SentenceEncoder().embed(distinct, ENCODER_DEFAULTS, tqdm)
        numbers = {caption: i for i, caption in enumerate(distinct)}
        options = {name: {"encoder": lambda texts: vectors[[numbers[text] for text in texts]]} for name in MODULES}
        options["trm_meteor"] = options["trm_cider"] = {"tokenizer": tokens.__getitem__}
        self._modules = {name: manycaps.load(name, **options[name]) for name in MODULES}

    def test(
        self, module: str, predictions: Captions, references: Captions, options: Mapping[str, Any]
    ) -> CorpusTest | None:
        """Test a corpus as the module does."""
        loaded = self._modules[module]
        options = {**loaded.load_options, **options}
        return compare_rows(loaded.rows_of(predictions, references, options), options, _no_bar).tests

    def rows(self, module: str, statistic: str, predictions: Captions, references: Captions) -> ComparableRows:
        """Return the rows as the module compares them; CIDEr-D counts its documents in the references of all."""
        loaded = self._modules[module]
        return loaded.rows_of(predictions, references, {**loaded.load_options, "statistic": statistic})


def _no_bar(steps: Iterable[Any], **_: Any) -> Iterable[Any]:
    return steps
