"""The maths of the modules as plain functions on arrays and token lists: no evaluate, datasets or torch is imported.

Rows come first: an array of distances or vectors holds n_rows images or videos with equally many texts each, candidates
before references; token lists come as one list of texts per row, and rows may differ in size. All results are exact in
float64, and the same as the modules'.
"""

from .kit.clip_pac import pac_s, ref_pac_s
from .kit.energy_rewards import energy_rewards, kernel_rewards, self_critical
from .kit.frechet import frechet_p_values, frechet_squared
from .kit.judge_slopes import JudgeBias, judge_bias
from .kit.meteor15_scores import meteor15
from .kit.meteor_nltk import Lexicon, meteor, meteor_distances
from .kit.mmd_pooled import cmmd, kid
from .kit.mmd_rows import (
    gaussian_kernel,
    kernel_mmd_p_values,
    kernel_mmd_squared,
    laplace_kernel,
    mmd_p_values,
    mmd_squared,
    polynomial_kernel,
)
from .kit.mutual_divergence import MutualDivergence, mutual_divergence
from .kit.neighbour_spheres import DensityCoverage, density_coverage
from .kit.ngrams_rouge import bleu, cider_d, cider_d_distances, corpus_bleu, rouge_l
from .kit.novel_ngrams import novelty
from .kit.object_words import chair
from .kit.paired_tests import CorpusBleuTest, PairedTest, holm_p_values, paired_corpus_bleu_test, paired_test
from .kit.parity_arrays import (
    HumanGaps,
    HumanTails,
    ParityTest,
    SentenceFaults,
    human_gaps,
    human_parity_test,
    human_tails,
    plan_human_parity,
    plan_wrong_captions,
    sentence_faults,
)
from .kit.parity_gaps import ParityPlan
from .kit.parity_sentences import split_sentences
from .kit.sets_distinct import answer_classes, distinct_k, div_n, semantic_entropy, unique_share, utility_k, vendi_score
from .kit.sets_diversity import compression_ratio, mbleu, self_bleu, self_cider
from .kit.sets_homogeneity import HomogeneityTest, homogeneity_matrix, homogeneity_test
from .kit.sets_tests import combined_p_value, harmonic_mean_p
from .kit.triangle_rank import triangle_rank_p_values, triangle_rank_statistic
from .kit.vectors_rows import cosine_distances
from .kit.words_ptb import ptb_tokenize
from .kit.words_tests import HumanWording, human_wording
from .kit.words_tokenizers import tokenize

__all__ = [  # noqa: RUF022
    # Tokens.
    "ptb_tokenize",
    "split_sentences",
    "tokenize",
    # Captions against references.
    "bleu",
    "chair",
    "cider_d",
    "corpus_bleu",
    "meteor",
    "meteor15",
    "rouge_l",
    "Lexicon",
    # Images and captions.
    "MutualDivergence",
    "mutual_divergence",
    "pac_s",
    "ref_pac_s",
    # Distances and kernels of the texts of a row.
    "cider_d_distances",
    "cosine_distances",
    "gaussian_kernel",
    "laplace_kernel",
    "meteor_distances",
    "polynomial_kernel",
    # Two sets of every row, and p-values of rows.
    "combined_p_value",
    "frechet_p_values",
    "frechet_squared",
    "harmonic_mean_p",
    "kernel_mmd_p_values",
    "kernel_mmd_squared",
    "mmd_p_values",
    "mmd_squared",
    "triangle_rank_p_values",
    "triangle_rank_statistic",
    # Two sets of features.
    "DensityCoverage",
    "cmmd",
    "density_coverage",
    "kid",
    # Diversity of sets, and what is novel in them.
    "answer_classes",
    "compression_ratio",
    "distinct_k",
    "div_n",
    "mbleu",
    "novelty",
    "self_bleu",
    "self_cider",
    "semantic_entropy",
    "unique_share",
    "utility_k",
    "vendi_score",
    # Human parity.
    "HumanGaps",
    "HumanTails",
    "HumanWording",
    "ParityPlan",
    "ParityTest",
    "SentenceFaults",
    "human_gaps",
    "human_parity_test",
    "human_tails",
    "human_wording",
    "plan_human_parity",
    "plan_wrong_captions",
    "sentence_faults",
    # Systems.
    "HomogeneityTest",
    "CorpusBleuTest",
    "PairedTest",
    "holm_p_values",
    "homogeneity_matrix",
    "homogeneity_test",
    "paired_corpus_bleu_test",
    "paired_test",
    # Judges.
    "JudgeBias",
    "judge_bias",
    # Rewards for training.
    "energy_rewards",
    "kernel_rewards",
    "self_critical",
]
