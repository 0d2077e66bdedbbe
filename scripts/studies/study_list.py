"""The studies that `make studies` renews, the captions that each runs on, and the sentence that each program backs."""

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
    "human_ratings": {BUNDLED: "", "E2E": "", "SummEval": ""},
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

# By program: the sentence that it backs, and where it stands. A program that backs none goes, with its results.
SENTENCES: Mapping[str, str] = {
    "sensitivity": "Chan et al. (2022), Figure 3, Tables 1 and B.1: fewer candidates are needed (docs/studies.md)",
    "temperature": "Chan et al., Figure 5: the divergence is least between low and high temperatures (docs/studies.md)",
    "search": "Chan et al., Figure 6: greedy search has the best METEOR and a high divergence (docs/studies.md)",
    "quality_diversity": "Chan et al., Figures B.2 and B.3: triangle ranks see quality and diversity (docs/studies.md)",
    "central_captions": "Chan et al., Figures B.4 to B.7: central captions are sparse in detail (docs/studies.md)",
    "efficiency": "Chan et al., Table 2: rows per second beside the authors' programs (docs/studies.md)",
    "embeddings": "Chan et al., Appendix B.1: which embedding sees most (docs/studies.md)",
    "known_truth": "the excess of every set metric is lowest at the people, plain scores are not (docs/studies.md)",
    "rewards": "CIDEr-D collapses a captioner, the energy score does not (docs/training.md, docs/index.md)",
    "inference": "simulations count how often intervals, tests and detectable differences hold (docs/studies.md)",
    "human_parity_power": "T2 finds what TRM, MMD and Frechet miss (card of human_parity, docs/human_parity.md)",
    "human_parity_truth": "how often the sentences and the intervals are right (docs/studies.md)",
    "human_parity_experts": "the tail agrees with experts' ratings (docs/studies.md)",
    "human_ratings": "what agrees with the raters of 39 real systems (docs/studies.md, docs/human_parity.md)",
    "real_systems": "what is said of real captioners (README.md)",
    "damage_study": "what each set metric finds and what it misses (docs/studies.md)",
    "general_damage": "the same with other distances and kernels (cards of trm and mmd)",
    "level_study": "people are rejected in 5% of corpora (docs/studies.md)",
    "msvd_systems": "plain METEOR and CIDEr-D prefer the system that repeats itself (docs/studies.md)",
    "embedding_metric_sizes": "how to read a value, by the numbers of captions (docs/studies.md)",
    "compare_mauve": "what MAUVE sees beside the set metrics (docs/studies.md)",
    "leave_one_out": "how people score against each other on whole data sets (docs/studies.md)",
    "paired_test_study": "level and power of the test of two systems (docs/compare.md)",
    "judge_metrics": "METEOR, CIDEr-D and BLEU-4 on trial: what of wording they reward (docs/judges.md)",
    "homogeneity_level": "level and power of the test of two models (docs/studies.md, card of homogeneity)",
    "class_calibration": "the distance at which answers say the same (docs/studies.md, card of set_diversity)",
    "sentence_levels": "level, coverage and power of the tests by sentence (docs/human_parity.md, docs/long_texts.md)",
    "human_parity_level": "people against people: level of all tests of human parity (docs/human_parity.md)",
}
