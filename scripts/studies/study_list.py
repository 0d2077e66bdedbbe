"""The studies of docs/studies.md that `make studies` renews, and the captions that each runs on.

A program backs what a document says beside its command; one that no document names goes, with its results.
"""

from collections.abc import Mapping

# The captions of this project: what every study runs on without options.
BUNDLED = "bundled"

# By study: further arguments of its runs, by --corpus, the bundled one first.
STUDIES: Mapping[str, Mapping[str, str]] = {
    "sensitivity": {
        BUNDLED: "--trials 3",
        "MSVD": "--rows 25 --trials 3",
        "COCO": "--rows 500 --trials 3 --systems human 'w = 1'",
        "Flickr8k": "--rows 500 --trials 3 --systems human 'w = 0.5' 'w = 1' repeated",
    },
    "temperature": {BUNDLED: "", "MSVD": "--rows 100"},
    "search": {BUNDLED: "", "MSVD": "--rows 100"},
    "quality_diversity": {BUNDLED: "", "MSVD": ""},
    "central_captions": {BUNDLED: "", "MSVD": ""},
    "efficiency": {BUNDLED: ""},
    "embeddings": {BUNDLED: "--trials 1 --sizes 5 5 --systems human 'w = 0.5' repeated", "MSVD": "--rows 25"},
    "known_truth": {BUNDLED: ""},
    # Five seeds of all rewards: three hours.
    "rewards": {BUNDLED: "--scenes 100"},
    "inference": {BUNDLED: ""},
    "human_parity_power": {BUNDLED: "", "MSVD": "", "Flickr8k": ""},
    # An hour of one core each.
    "human_parity_truth": {BUNDLED: "--simulations 100", "MSVD": "--simulations 100", "Flickr8k": "--simulations 300"},
    "human_parity_experts": {BUNDLED: "", "Flickr8k": ""},
    "human_ratings": {BUNDLED: "", "E2E": ""},
    "real_systems": {BUNDLED: "", "COCO": ""},
}

# By study: arguments of the test run.
SMALL: Mapping[str, str] = {
    "sensitivity": "--rows 4 --sizes 4 4 --draws 199 --systems human repeated",
    "temperature": "--rows 4 --sizes 4 4 --trials 1 --temperatures 0.5 1",
    "search": "--rows 4 --sizes 4 4 --trials 1 --temperatures 1",
    "quality_diversity": "--rows 4 --sizes 4 4 --unique 1 4 --correct 0 4",
    "central_captions": "--rows 6",
    "efficiency": "--rows 2 --scenes 1 --repeats 1 --no-encoder",
    "embeddings": "--rows 4 --sizes 4 4 --systems human repeated --trials 1 --draws 199",
    "known_truth": "--scenes 6 --seeds 2 --sizes 3 3 --temperatures 0 0.9 1 1.1 --fewer 2 --splits 19",
    "rewards": """--likelihood-steps 4 --train-scenes 20 --scenes 12 --seeds 1 --steps 2 --collapse-steps 1 --every 2
        --rewards CIDEr-D 'energy, n-grams + PAC-S'""",
    "inference": "--simulations 4",
    "human_parity_power": "--simulations 4 --joint 4 --drawn 140 --distances MiniLM",
    "human_parity_truth": "--simulations 2 --scenes 12 --drawn 120 --distances meteor",
    "human_parity_experts": "--distances meteor",
    "human_ratings": "--measures meteor metrics",
    "real_systems": "--distance meteor",
}
