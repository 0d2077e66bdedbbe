"""The studies of docs/studies.md, and the captions that each runs on; needs no package."""

from collections.abc import Mapping, Sequence

# The captions of this project: what every study runs on without options.
BUNDLED = "bundled"

# Further arguments of a run, by --corpus.
Runs = Mapping[str, Sequence[str]]

# By study: its runs, the bundled one first.
STUDIES: Mapping[str, Runs] = {
    "sensitivity": {
        BUNDLED: ("--trials", "3"),
        "MSVD": ("--rows", "25", "--trials", "3"),
        "COCO": ("--rows", "500", "--trials", "3", "--systems", "human", "w = 1"),
        "Flickr8k": ("--rows", "500", "--trials", "3", "--systems", "human", "w = 0.5", "w = 1", "repeated"),
    },
    "temperature": {BUNDLED: (), "MSVD": ("--rows", "100")},
    "search": {BUNDLED: (), "MSVD": ("--rows", "100")},
    "quality_diversity": {BUNDLED: (), "MSVD": ()},
    "central_captions": {BUNDLED: (), "MSVD": ()},
    "efficiency": {BUNDLED: ()},
    "embeddings": {
        BUNDLED: ("--trials", "1", "--sizes", "5", "5", "--systems", "human", "w = 0.5", "repeated"),
        "MSVD": ("--rows", "25"),
    },
    "mauve_small_samples": {BUNDLED: (), "MSVD": ("--rows", "50")},
    "known_truth": {BUNDLED: ()},
    "trained_speaker": {BUNDLED: ()},
    # Five seeds of all rewards: three hours.
    "rewards": {BUNDLED: ("--scenes", "100")},
    "inference": {BUNDLED: ()},
    "human_parity_power": {BUNDLED: (), "MSVD": (), "Flickr8k": ()},
    "human_parity_truth": {
        BUNDLED: ("--simulations", "1000"),
        "MSVD": ("--simulations", "1000"),
        "Flickr8k": ("--simulations", "1000"),
    },
    "human_parity_pairs": {
        BUNDLED: ("--simulations", "150"),
        "MSVD": ("--simulations", "150"),
        "Flickr8k": ("--simulations", "150"),
    },
    "human_parity_experts": {BUNDLED: (), "Flickr8k": ()},
}
