"""Published diversity of four captioning data sets and one of plain text, for comparison tables.

Chan et al. (2022), What's in a Caption?, https://arxiv.org/abs/2205.06253. Shares are fractions of 1. The keys are
those of vdtk_diversity whose definition the paper's tables follow.
"""

# Figures of one data set by result key.
Published = dict[str, float]

# Tables S4 (types, head, uniqueness) and 2 (tokens per caption, EVS, ED@10); novelty from section 5. The uniqueness is
# that of tokens, the novelty that of distinct captions: measured on parts of MSVD and MS-COCO, see the module's card.
PUBLISHED: dict[str, Published] = {
    "MSVD": {
        "n_types": 9455,
        "head_90": 944,
        "within_row_uniqueness_of_tokens": 0.118,
        "between_row_uniqueness_by_caption": 0.0121,
        "tokens_per_caption": 7.03,
        "evs_2": 0.4783,
        "evs_3": 0.2529,
        "evs_4": 0.1467,
        "ed_10": 2.90,
        "distinct_within_row": 0.853,
    },
    "MSR-VTT": {
        "n_types": 22780,
        "head_90": 1636,
        "within_row_uniqueness_of_tokens": 0.2155,
        "between_row_uniqueness_by_caption": 0.0076,
        "tokens_per_caption": 9.32,
        "evs_2": 0.5296,
        "evs_3": 0.2644,
        "evs_4": 0.1368,
        "ed_10": 2.88,
        "distinct_within_row": 0.9266,
    },
    "VATEX": {
        "n_types": 31364,
        "head_90": 1363,
        "within_row_uniqueness_of_tokens": 0.2487,
        "between_row_uniqueness_by_caption": 0.0033,
        "tokens_per_caption": 15.29,
        "evs_2": 0.5484,
        "evs_3": 0.3260,
        "evs_4": 0.1886,
        "ed_10": 3.38,
        "distinct_within_row": 1.0,
    },
    "MS-COCO": {
        "n_types": 35341,
        "head_90": 824,
        "within_row_uniqueness_of_tokens": 0.3376,
        "between_row_uniqueness_by_caption": 0.0022,
        "tokens_per_caption": 11.33,
        "evs_2": 0.5391,
        "evs_3": 0.3259,
        "evs_4": 0.2056,
        "ed_10": 3.51,
        "distinct_within_row": 0.999,
    },
    "WikiText-103": {"tokens_per_caption": 87.04, "evs_2": 0.9519, "evs_3": 0.3449, "evs_4": 0.1781, "ed_10": 3.72},
}

# Table S5: nouns and verbs.
PUBLISHED_PARTS_OF_SPEECH: dict[str, Published] = {
    name: dict(
        zip(
            (
                "noun_within_row_uniqueness_of_tokens",
                "noun_between_row_uniqueness_by_caption",
                "verb_within_row_uniqueness_of_tokens",
                "verb_between_row_uniqueness_by_caption",
                "noun_n_types",
                "verb_n_types",
                "noun_head_90",
                "verb_head_90",
                "noun_tokens_per_caption",
                "verb_tokens_per_caption",
            ),
            row,
            strict=True,
        )
    )
    for name, row in {
        "MSVD": (0.126, 0.019, 0.148, 0.015, 4985, 1773, 755, 229, 2.39, 1.10),
        "MSR-VTT": (0.231, 0.012, 0.294, 0.008, 12697, 3639, 1512, 293, 3.28, 1.32),
        "VATEX": (0.269, 0.0067, 0.357, 0.003, 16670, 4975, 1161, 338, 4.37, 2.10),
        "MS-COCO": (0.349, 0.0041, 0.558, 0.002, 20155, 4200, 723, 184, 3.71, 1.02),
    }.items()
}
