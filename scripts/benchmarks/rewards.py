"""Rewards of a training step beside pycocoevalcap's CIDEr, and beside the bare sentence encoder.

A step of self-critical training: 64 images, 5 sampled captions each, 5 references. Both get what such code gives,
tokens joined by blanks, pycocoevalcap the references of the image for each of its captions; captions are new at each
step, references are not.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from pycocoevalcap.cider.cider import Cider
from tqdm import tqdm

from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.rewards import CiderReward, EnergyReward
from scripts.benchmarks.timing import Comparison, Work
from scripts.toy.scenes import draw_scene
from scripts.toy.speakers import Speaker, draw_captions

N_IMAGES, N_CANDIDATES, N_REFERENCES, N_STEPS = 64, 5, 5, 8

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 4, "N_STEPS": 2}


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    rng = np.random.default_rng(0)
    scenes = [draw_scene(rng) for _ in range(N_IMAGES)]
    references = [[plain(text) for text in draw_captions(Speaker(), scene, N_REFERENCES, rng)] for scene in scenes]
    steps = [
        [[plain(text) for text in draw_captions(Speaker(), scene, N_CANDIDATES, rng)] for scene in scenes]
        for _ in range(N_STEPS)
    ]
    n = N_IMAGES * N_CANDIDATES
    cider = CiderReward(references, tokenizer="none")
    energy = EnergyReward("cider", document_frequency=references, tokenizer="none")
    ours, energies, theirs, bert = (itertools.cycle(steps) for _ in range(4))

    def by_pycocoevalcap() -> None:
        step = next(theirs)
        sampled = {i: [text] for i, text in enumerate(text for row in step for text in row)}
        Cider().compute_score({i: references[i // N_CANDIDATES] for i in sampled}, sampled)

    work = Work("CiderReward, a step of 64 images x 5 captions", "captions", n, lambda: cider(next(ours), references))
    yield work.beside("pycocoevalcap's CIDEr", by_pycocoevalcap, claim=15)

    def reward_and_log() -> None:
        energy(next(energies), references)
        assert energy.last

    work = Work("EnergyReward('cider') with what it logs", "captions", n, reward_and_log)
    yield work.beside("pycocoevalcap's CIDEr", by_pycocoevalcap, claim=8)
    bert_energy, encoder = EnergyReward("bert"), SentenceEncoder()
    new = (f"{text} {i}" for i in itertools.count() for text in next(bert)[0])

    def fresh() -> list[list[str]]:
        """Captions that no encoder remembers."""
        return [[next(new) for _ in range(N_CANDIDATES)] for _ in range(N_IMAGES)]

    encoder.embed([text for row in references for text in row], ENCODER_DEFAULTS, tqdm)
    work = Work("EnergyReward('bert'), captions that are new", "captions", n, lambda: bert_energy(fresh(), references))
    yield work.beside(
        "the bare encoder",
        lambda: encoder.embed([text for row in fresh() for text in row], ENCODER_DEFAULTS, tqdm),
        claim=0.9,
    )


def plain(caption: str) -> str:
    """Return a caption as tokens joined by blanks.

    >>> plain("a star, all red")
    'a star all red'
    """
    return caption.replace(",", "")
