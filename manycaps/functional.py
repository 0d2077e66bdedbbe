"""The maths of the modules as plain functions on arrays and token lists: no evaluate, datasets or torch is imported.

Rows come first: an array of distances or vectors holds n_rows images or videos with equally many texts each, candidates
before references; token lists come as one list of texts per row, and rows may differ in size. All results are exact in
float64, and the same as those of the modules.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from .comparison.paired_tests import CorpusBleuTest, PairedTest, holm_p_values, paired_corpus_bleu_test, paired_test
from .kit.base import (
    CaptionRows,
    Floats,
    TokenRows,
    as_caption_rows,
    as_finite,
    as_rows,
    check_candidates,
    check_choice,
    check_row_counts,
    check_token_rows,
    joint_rows,
    joint_vectors,
    plain_arguments,
    row_means,
)
from .kit.caption_sets import MAX_SPLITS, as_p_values, comparison_p_values, row_splits, split_p_values
from .kit.caption_sets import combined_p_value as _combined_p_value
from .kit.caption_sets import harmonic_mean_p as _harmonic_mean_p
from .kit.caption_wording import HumanWording, human_wording
from .kit.clip_scores import PAC_WEIGHT, check_weight
from .kit.clip_scores import pac_s as _pac_s
from .kit.clip_scores import ref_pac_s as _ref_pac_s
from .kit.diversity_sets import compression_ratio, div_n, mbleu, self_bleu, self_cider, unique_share, vendi_score
from .kit.kernel_tests import (
    ESTIMATORS,
    check_bandwidth,
    cmmd,
    frechet_comparison,
    gaussian_kernel,
    gaussian_kernel_of_distances,
    kernel_mmd_p_values,
    kernel_mmd_squared,
    kid,
    laplace_kernel,
    mmd_comparison,
    polynomial_kernel,
    squared_distances,
)
from .kit.kernel_tests import frechet_squared as _frechet_squared
from .kit.kernel_tests import mmd_squared as _mmd_squared
from .kit.meteor15_scores import best_statistics
from .kit.meteor15_scores import scores as _meteor15_scores
from .kit.meteor_nltk import Lexicon, meteor_scores, multi_reference_meteor, wordnet_lexicon
from .kit.meteor_nltk import meteor_distances as _meteor_distances
from .kit.ngram_scores import (
    NgramIndex,
    bleu_rows,
    bleu_scores,
    cider_d_scores,
    cider_distances,
    counted_documents,
    multi_reference_cider_d,
    rouge_l_scores,
)
from .kit.ngram_scores import corpus_bleu as _corpus_bleu
from .kit.object_words import (
    checked_objects,
    coco_vocabulary,
    compared_rows,
    object_sums,
    object_values,
    own_vocabulary,
)
from .kit.parity_tails import ParityPlan
from .kit.parity_tests import (
    HumanGaps,
    HumanTails,
    ParityTest,
    human_gaps,
    human_parity_test,
    human_tails,
    plan_human_parity,
    plan_wrong_captions,
)
from .kit.tokenization import Tokenizer, check_tokenizer, tokenize_captions, tokenize_rows
from .kit.training_rewards import energy_rewards, kernel_rewards, self_critical
from .kit.triangle_rank import STATISTICS, check_statistic_sizes, null_statistics, triangle_rank_counts
from .kit.triangle_rank import triangle_rank_statistic as _triangle_rank_statistic
from .kit.vector_rows import cosine_distances as _cosine_distances
from .kit.vector_rows import cosine_similarities

__all__ = [
    "CorpusBleuTest",
    "HumanGaps",
    "HumanTails",
    "HumanWording",
    "Lexicon",
    "PairedTest",
    "ParityPlan",
    "ParityTest",
    "bleu",
    "chair",
    "cider_d",
    "cider_d_distances",
    "cmmd",
    "combined_p_value",
    "compression_ratio",
    "corpus_bleu",
    "cosine_distances",
    "div_n",
    "energy_rewards",
    "frechet_p_values",
    "frechet_squared",
    "gaussian_kernel",
    "harmonic_mean_p",
    "holm_p_values",
    "human_gaps",
    "human_parity_test",
    "human_tails",
    "human_wording",
    "kernel_mmd_p_values",
    "kernel_mmd_squared",
    "kernel_rewards",
    "kid",
    "laplace_kernel",
    "mbleu",
    "meteor",
    "meteor15",
    "meteor_distances",
    "mmd_p_values",
    "mmd_squared",
    "pac_s",
    "paired_corpus_bleu_test",
    "paired_test",
    "plan_human_parity",
    "plan_wrong_captions",
    "polynomial_kernel",
    "ptb_tokenize",
    "ref_pac_s",
    "rouge_l",
    "self_bleu",
    "self_cider",
    "self_critical",
    "tokenize",
    "triangle_rank_p_values",
    "triangle_rank_statistic",
    "unique_share",
    "vendi_score",
]


# Texts.


def ptb_tokenize(captions: Sequence[str]) -> list[list[str]]:
    """Split captions into the tokens that the COCO caption code scores.

    Those of Stanford's PTBTokenizer as the COCO caption code calls it, lower-case and without punctuation
    (Chen et al. 2015, section 4.1, https://arxiv.org/abs/1504.00325).

    Args:
        captions: n texts.

    Returns:
        n lists of tokens.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.

    >>> ptb_tokenize(["A dog .", "Two dogs' toys"])
    [['a', 'dog'], ['two', 'dogs', 'toys']]
    """
    return tokenize_captions(captions)


def tokenize(captions: Sequence[str], tokenizer: Tokenizer = "ptb") -> list[list[str]]:
    """Split captions in any language into tokens, as the option `tokenizer` of the modules does.

    Args:
        captions: n texts.
        tokenizer: "ptb"; "none", split at white space; "char", "13a", "intl", "zh", "ja-mecab", "ko-mecab" and "spm",
            exactly sacrebleu's; "13a-caption" and the like, "zh-jieba", "th" (pythainlp's), "spacy:de" and the like
            (spaCy's), which bring captions to NFKC and lower case, and drop punctuation in every script; or a function
            from one caption to its list of tokens.

    Returns:
        n lists of tokens.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.
        ValueError: there is no tokenizer of that name.
        ImportError: its package is not installed; the message has the command.
        OSError: the model of "spm" cannot be downloaded.

    >>> tokenize(["一只狗。"], "char"), tokenize(["一只狗。"], "char-caption")
    ([['一', '只', '狗', '。']], [['一', '只', '狗']])
    """
    check_tokenizer(tokenizer)
    if isinstance(captions, str) or not all(isinstance(caption, str) for caption in captions):
        return tokenize_captions(captions)  # says which one
    return [list(tokens) for tokens in tokenize_rows([list(captions)], tokenizer)[0]]


def meteor(candidates: TokenRows, references: TokenRows, lexicon: Lexicon | None = None) -> Floats:
    """Score the candidates of every row against all references of the row by METEOR.

    METEOR = (1 - 0.5 (chunks / matches)^3) P R / (0.9 P + 0.1 R) against the best reference, mean over the candidates
    (Banerjee and Lavie 2005, https://aclanthology.org/W05-0909, with the parameters and the matching order of NLTK).

    Args:
        candidates: n_rows lists of token lists, at least one text per row; letter case is ignored.
        references: the same for the references.
        lexicon: stems and synonyms; None for Porter's stems and WordNet 3.0, which NLTK must find.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to below 1 (best).

    Raises:
        TypeError: a text is not a list of tokens.
        ValueError: the columns differ in length, or a row has no text on one side.
        LookupError: WordNet is needed and not installed.

    >>> class NoLexicon:
    ...     def stem(self, word):
    ...         return word.removesuffix("s")
    ...     def synonyms(self, stem):
    ...         return frozenset()
    >>> meteor([[["a", "dog", "barks"]]], [[["a", "dog", "bark"], ["a", "cat"]]], NoLexicon()).round(4).tolist()
    [0.9815]
    """
    rows, sizes = joint_rows(candidates, references)
    scores = meteor_scores(rows, wordnet_lexicon() if lexicon is None else lexicon)
    return np.array([multi_reference_meteor(s[None], n)[0] for s, n in zip(scores, sizes, strict=True)])


def chair(
    candidates: CaptionRows,
    references: CaptionRows | None = None,
    objects: Sequence[Collection[str]] | None = None,
    *,
    vocabulary: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float]:
    """Find objects in captions that are not in the image: CHAIR (Rohrbach et al. 2018), and people's own value.

    CHAIR-i = hallucinated mentions / mentions, CHAIR-s = captions with one / captions
    (https://arxiv.org/abs/1809.02156, section 3.1).

    Args:
        candidates: n_rows lists of captions, at least one per row.
        references: n_rows lists of human captions, whose objects are in the image.
        objects: n_rows lists of names of objects in the image.
        vocabulary: names of objects, each with a list of words; None for COCO's 80 objects.

    Returns:
        "chair_i", "chair_s", "recall" and the other values of the module `chair`, by name, 0 to 1; the gap -1 to 1.

    Raises:
        TypeError, ValueError: a column is none, or they differ in length; a name is unknown; neither references nor
            objects are given.

    >>> round(chair([["a dog on a bed"]], [["a puppy sleeps", "a dog"]])["chair_i"], 2)
    0.5
    """
    known = coco_vocabulary() if vocabulary is None else own_vocabulary(vocabulary)
    rows = as_caption_rows(candidates, "candidates")
    if references is None and objects is None:
        raise ValueError("references: expected human captions, or objects, got neither. Give one of them.")
    people = [[] for _ in rows] if references is None else as_caption_rows(references, "references")
    check_row_counts(len(rows), len(people))
    labels = None if objects is None else checked_objects(objects, len(rows), known)
    return object_values(object_sums(compared_rows(rows, people, labels, known)))


def meteor15(
    candidates: TokenRows,
    references: TokenRows,
    meteor15_data: str | os.PathLike[str] | None = None,
    *,
    language: str = "en",
    function_words: str = "english",
    paraphrases: str | os.PathLike[str] | None = None,
) -> Floats:
    """Score the candidates of every row against all references of the row by METEOR 1.5, as captioning papers do.

    F (1 - 0.6 (chunks / matches)^0.2), F = 1 / (0.15 / P + 0.85 / R) in English, of matches by form, stem, synonyms and
    paraphrases, against the best reference; mean over the candidates (Denkowski and Lavie 2014,
    https://aclanthology.org/W14-3348). The score of a corpus is another one: that of the module `meteor15`.

    Args:
        candidates: n_rows lists of token lists, at least one text per row; METEOR 1.5 splits the tokens, joined by
            spaces, into words of its own.
        references: the same for the references.
        meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; None for that of pycocoevalcap.
        language: "en", "de", "fr", "es", "cs" or "ru".
        function_words: "english", as the Java program has them for every language, or "language" for its own.
        paraphrases: path of a table such as paraphrase-de.gz; None for the one beside the program, without which other
            languages than English match words by form and stem alone.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 1 (best).

    Raises:
        TypeError: a text is not a list of tokens, or the data are not given as a path.
        ValueError: the columns differ in length, a row has no text on one side, or the data are missing.
        ImportError: pycocoevalcap is needed and not installed.

    >>> meteor15([[["a", "man", "watches", "a", "film"]]], [[["a", "man", "watches", "a", "movie"]]]).round(4).tolist()
    [0.9455]
    """
    # What reads files is imported where files are read.
    from .kit.meteor15_scores import check_data_source, check_language, load_lexicon

    check_data_source(meteor15_data)
    check_language(language, function_words, paraphrases)
    joint_rows(candidates, references)
    texts, others = ([[" ".join(tokens) for tokens in row] for row in column] for column in (candidates, references))
    lexicon = load_lexicon(meteor15_data, tqdm, language, function_words, paraphrases)
    statistics = best_statistics(texts, others, lexicon, lambda batches, **_: batches)
    per_candidate = _meteor15_scores(statistics, lexicon.data.language)
    return np.array(row_means(per_candidate, [len(row) for row in candidates]))


def meteor_distances(texts: TokenRows, lexicon: Lexicon | None = None) -> list[Floats]:
    """Give the METEOR distance of all pairs of texts of a row: d(x, y) = 1 - METEOR(reference x, hypothesis y).

    Texts with equal tokens have distance 0. For `triangle_rank_statistic`, stack rows of equal sizes.

    Args:
        texts: n_rows lists of token lists, at least one text per row.
        lexicon: as for `meteor`.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 to 1, not symmetric.

    Raises:
        TypeError, ValueError, LookupError: as `meteor`.

    >>> class NoLexicon:
    ...     def stem(self, word):
    ...         return word
    ...     def synonyms(self, stem):
    ...         return frozenset()
    >>> meteor_distances([[["a", "dog"], ["a", "cat"]]], NoLexicon())[0].tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    check_token_rows(texts, "texts")
    distances: list[Floats] = _meteor_distances(texts, meteor_scores(texts, lexicon or wordnet_lexicon()))
    return distances


def cider_d(
    candidates: TokenRows,
    references: TokenRows,
    document_frequency: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Floats:
    """Score the candidates of every row against all references of the row by CIDEr-D.

    Mean over the references and over the candidates of 10 exp(-(l_c - l_r)^2 / 72) times the clipped tf-idf cosine,
    averaged over n-grams of 1 to 4 tokens (Vedantam et al. 2015, section 4, https://arxiv.org/abs/1411.5726), as the
    COCO caption code computes it.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.
        document_frequency: path of a JSON file, or a mapping, of the layout
            {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}; None counts in the references, where every
            row is a document.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 10 (best).

    Raises:
        TypeError: a text is not a list of tokens, or the table is of another type.
        ValueError: the columns differ in length, a row has no text on one side, the table has another layout, or it is
            None and there is one row.

    >>> rows = [[["a", "red", "dog"]], [["a", "cat"]]]
    >>> cider_d(rows, rows).round(4).tolist()
    [7.5, 5.0]
    """
    rows, sizes = joint_rows(candidates, references)
    counts, n_documents = counted_documents(references, document_frequency)
    scores = cider_d_scores(rows, counts, n_documents)
    return np.array([multi_reference_cider_d(s[None], n)[0] for s, n in zip(scores, sizes, strict=True)])


def bleu(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score the candidates of every row against all references of the row by BLEU-1 to BLEU-4.

    Brevity penalty times the geometric mean of the clipped precisions of n-grams of 1 to N tokens, of each candidate
    alone (Papineni et al. 2002, https://aclanthology.org/P02-1040); mean over the candidates. As in the COCO caption
    code the reference of the nearest length counts, and 1e-15 and 1e-9 keep a precision of 0 above 0: without a common
    4-gram BLEU-4 is about 0.0001. The score of a corpus is another one: `corpus_bleu`.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.

    Returns:
        float64 array, shape (n_rows, 4), 0 (worst) to 1 (best).

    Raises:
        TypeError: a text is not a list of tokens.
        ValueError: the columns differ in length, or a row has no text on one side.

    >>> bleu([[["a", "red", "dog"]]], [[["a", "dog"], ["a", "red", "cat"]]])[0, :2].round(4).tolist()
    [1.0, 0.7071]
    """
    statistics, sizes = bleu_rows(candidates, references)
    return np.stack([np.array(row_means(scores, sizes)) for scores in bleu_scores(statistics).T], axis=1)


def corpus_bleu(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score all candidates together by BLEU-1 to BLEU-4, as papers report it.

    The n-grams and lengths of all candidates are summed before anything is divided; otherwise as `bleu`.

    Args:
        candidates: as for `bleu`.
        references: as for `bleu`.

    Returns:
        float64 array, shape (4,), 0 (worst) to 1 (best).

    Raises:
        TypeError, ValueError: as `bleu`.

    >>> corpus_bleu([[["a", "dog"]], [["a", "cat"]]], [[["a", "dog"]], [["the", "cow"]]])[:2].round(4).tolist()
    [0.5, 0.5]
    """
    return _corpus_bleu(bleu_rows(candidates, references)[0])


def rouge_l(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score the candidates of every row against all references of the row by ROUGE-L.

    (1 + 1.44) P R / (R + 1.44 P), P and R the shares of the candidate and of a reference in their longest common
    subsequence, each the best over the references, as in the COCO caption code (Lin 2004, section 3.1,
    https://aclanthology.org/W04-1013); mean over the candidates. The score of a corpus is the mean.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 1 (best).

    Raises:
        TypeError, ValueError: as `bleu`.

    >>> rouge_l([[["a", "red", "dog"]]], [[["a", "dog"]]]).round(4).tolist()
    [0.8299]
    """
    sizes = joint_rows(candidates, references)[1]
    return np.array(row_means(rouge_l_scores(NgramIndex.of_rows(candidates, references)), sizes))


def cider_d_distances(texts: TokenRows, document_frequency: str | os.PathLike[str] | Mapping[str, Any]) -> list[Floats]:
    """Give the CIDEr-D distance of all pairs of texts of a row: d(x, y) = 10 - CIDEr-D(candidate x, reference y).

    Texts with equal tokens have distance 0. For `triangle_rank_statistic`, stack rows of equal sizes.

    Args:
        texts: n_rows lists of token lists, at least one text per row.
        document_frequency: as for `cider_d`; must be given, since texts do not say which of them are references.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 to 10, not symmetric.

    Raises:
        TypeError, ValueError: as `cider_d`.

    >>> cider_d_distances([[["a"], ["b"]]], {"n_documents": 2, "document_frequency": {}})[0].tolist()
    [[0.0, 10.0], [10.0, 0.0]]
    """
    check_token_rows(texts, "texts")
    counts, n_documents = counted_documents(texts, document_frequency)
    distances: list[Floats] = cider_distances(texts, cider_d_scores(texts, counts, n_documents))
    return distances


# Vectors and distances.


@plain_arguments
def cosine_distances(vectors: npt.ArrayLike) -> Floats:
    """Give the cosine distance of all pairs of texts of a row: d(x, y) = 1 - cosine.

    Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518; the authors' program takes the similarity
    itself for the distance.

    Args:
        vectors: floating-point array, shape (n_rows, n_texts, d), finite, no vector all zeros.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 to 2, symmetric.

    Raises:
        ValueError: another shape, or a vector that is not finite or all zeros.

    >>> cosine_distances([[[2.0, 0.0], [0.0, 3.0]]]).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    rows = as_rows(vectors, "vectors")
    is_zero = ~rows.any(axis=2)
    if is_zero.any():
        row, text = np.argwhere(is_zero)[0].tolist()
        raise ValueError(
            f"vectors[{row}][{text}]: expected a vector that is not all zeros, which has no cosine, got zeros. Leave "
            "this text out."
        )
    return _cosine_distances(cosine_similarities(rows))


@plain_arguments
def triangle_rank_statistic(distances: npt.ArrayLike, n_candidates: int, statistic: str = "per_side") -> Floats:
    """Compare candidates and references of every row by the ranks of their distances.

    Q = sum over k of |I_k / I - 1/3|, I_k the triangles in which the edge inside a set is the shortest, the middle or
    the longest (Chan et al. 2022, equations 3 and 4, https://arxiv.org/abs/2209.07518). "per_side" adds a Q for each
    set, as the authors' program does; "pooled" is equation 4 as printed. Every triangle is counted, ties within 1e-9
    under each rank that they allow.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), finite; [r, i, j] is d(text i, text j) of row
            r, not necessarily symmetric; the first `n_candidates` texts are candidates.
        n_candidates: number of candidates of every row, 1 to n_texts - 1; at least three texts in all.
        statistic: "per_side" or "pooled".

    Returns:
        float64 array, shape (n_rows,): 0 (one distribution) to 8/3 ("per_side") or 4/3 ("pooled").

    Raises:
        TypeError: `n_candidates` is not a whole number.
        ValueError: another shape, number or name.

    >>> triangle_rank_statistic([[[0.0, 1.0, 5.0], [2.0, 0.0, 6.0], [5.0, 6.0, 0.0]]], 2).round(4).tolist()
    [1.3333]
    """
    rows = _as_distances(distances, n_candidates, statistic)
    return _triangle_rank_statistic(triangle_rank_counts(rows, n_candidates), statistic)


@plain_arguments
def triangle_rank_p_values(
    distances: npt.ArrayLike,
    n_candidates: int,
    statistic: str = "per_side",
    *,
    n_resamples: int | None = None,
    max_splits: int = MAX_SPLITS,
    seed: int = 0,
) -> Floats:
    """Share of the splits of every row whose triangle-rank statistic is at least the observed one.

    Under the hypothesis that candidates and references are samples of one distribution, every split of a row's texts
    into sets of the observed sizes is equally likely: a permutation test (Chan et al. 2022, section 3.1), exact if all
    splits are enumerated.

    Args:
        distances: as for `triangle_rank_statistic`; for "per_side" at most 200 texts per row.
        n_candidates: as for `triangle_rank_statistic`.
        statistic: "per_side" or "pooled".
        n_resamples: number of random splits, at least 1; None enumerates all of them.
        max_splits: most splits of a row that may be enumerated.
        seed: of the random splits, at least 0.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1; ties within 1e-9 count as reached.

    Raises:
        TypeError: a number is not a whole number.
        ValueError: another shape, number or name, or more than `max_splits` splits.

    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> triangle_rank_p_values(np.abs(points[:, None] - points)[None], 3).tolist()
    [0.1]
    """
    rows = _as_distances(distances, n_candidates, statistic)
    n_rows, n_texts = rows.shape[:2]
    options = {"statistic": statistic, "p_value": "exact"}
    check_statistic_sizes([(n_candidates, n_texts - n_candidates)] * n_rows, ("candidates", "references"), options)
    splits = row_splits(n_candidates, n_texts, n_resamples, max_splits, seed)
    return split_p_values(
        _triangle_rank_statistic(triangle_rank_counts(rows, n_candidates), statistic),
        null_statistics(rows, splits, statistic),
    )


@plain_arguments
def mmd_squared(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float = "median", estimator: str = "unbiased"
) -> Floats:
    """Squared maximum mean discrepancy of candidates and references of every row, with a Gaussian kernel.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y), k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al.
    2012, equations 2 to 5, https://jmlr.org/papers/v13/gretton12a.html; Chan et al. 2022, equation 6).

    Args:
        candidates: floating-point array, shape (n_rows, n, d), finite; n is at least 2, 1 for "biased".
        references: floating-point array, shape (n_rows, m, d), likewise.
        sigma: bandwidth: "median" or "mean" of the distances of two texts of the row, halved, or a positive number.
        estimator: "unbiased", "biased" or "authors" (that of the authors' program).

    Returns:
        float64 array, shape (n_rows,), at most 2; "biased" is at least 0, "unbiased" has mean 0 when both sets are
        samples of one distribution.

    Raises:
        ValueError: another shape, number or name.

    >>> mmd_squared([[[0.0], [0.0]]], [[[1.0], [1.0]]], sigma=1.0).round(4).tolist()
    [0.7869]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    return _mmd_squared(rows, n_candidates, sigma, estimator)


@plain_arguments
def mmd_p_values(
    candidates: npt.ArrayLike,
    references: npt.ArrayLike,
    sigma: str | float = "median",
    estimator: str = "unbiased",
    *,
    n_resamples: int | None = None,
    max_splits: int = MAX_SPLITS,
    seed: int = 0,
) -> Floats:
    """Share of the splits of every row whose squared MMD is at least the observed one.

    Args:
        candidates: as for `mmd_squared`, as are the next three.
        references: the other set of every row.
        sigma: bandwidth; it belongs to the joint set, which no split changes.
        estimator: "unbiased", "biased" or "authors".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_splits: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `mmd_squared` and `triangle_rank_p_values`.

    >>> mmd_p_values([[[0.0], [0.1]]], [[[5.0], [5.1]]]).round(4).tolist()
    [0.3333]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_splits, seed)
    return comparison_p_values(
        mmd_comparison(gaussian_kernel_of_distances(squared_distances(rows), sigma), n_candidates, estimator), splits
    )


@plain_arguments
def frechet_squared(candidates: npt.ArrayLike, references: npt.ArrayLike) -> Floats:
    """Squared Fréchet distance of candidates and references of every row.

    |mu1 - mu2|^2 + Tr(C1 + C2 - 2 (C1 C2)^(1/2)), covariances with n - 1 (Dowson and Landau 1982,
    https://doi.org/10.1016/0047-259X(82)90077-X; Heusel et al. 2017, equation 6, https://arxiv.org/abs/1706.08500).

    Args:
        candidates: floating-point array, shape (n_rows, n, d), finite; n is at least 2.
        references: floating-point array, shape (n_rows, m, d), likewise.

    Returns:
        float64 array, shape (n_rows,), at least 0 (equal means and covariances), in squared units of the vectors.

    Raises:
        ValueError: another shape or number.

    >>> frechet_squared([[[0.0], [2.0]]], [[[3.0], [7.0]]]).round(4).tolist()
    [18.0]
    """
    rows, n_candidates = joint_vectors(candidates, references, least=2)
    return _frechet_squared(rows, n_candidates)


@plain_arguments
def frechet_p_values(
    candidates: npt.ArrayLike,
    references: npt.ArrayLike,
    *,
    n_resamples: int | None = None,
    max_splits: int = MAX_SPLITS,
    seed: int = 0,
) -> Floats:
    """Share of the splits of every row whose squared Fréchet distance is at least the observed one.

    Args:
        candidates: as for `frechet_squared`.
        references: as for `frechet_squared`.
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_splits: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `frechet_squared` and `triangle_rank_p_values`.

    >>> frechet_p_values([[[0.0], [0.1]]], [[[5.0], [5.1]]]).round(4).tolist()
    [0.3333]
    """
    rows, n_candidates = joint_vectors(candidates, references, least=2)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_splits, seed)
    return comparison_p_values(frechet_comparison(rows, n_candidates), splits)


# Cosines of images and captions.


@plain_arguments
def pac_s(cosines: npt.ArrayLike, weight: float = PAC_WEIGHT) -> Floats:
    """Score captions by their cosines with their images: PAC-S = w max(cos, 0).

    Sarto et al. (2023), equation 1, https://arxiv.org/abs/2303.12112; CLIP-S (Hessel et al. 2021) has w = 2.5.

    Args:
        cosines: floating-point array, any shape, of features of CLIP; rounding above 1 is clipped.
        weight: w, above 0.

    Returns:
        float64 array of that shape, 0 (worst) to w (best).

    Raises:
        TypeError: the weight is not a number.
        ValueError: the weight is not positive, or a cosine is not finite.

    >>> pac_s([0.5, -0.5]).tolist()
    [1.0, 0.0]
    """
    check_weight(weight)
    return _pac_s(as_finite(cosines, "cosines"), weight)


@plain_arguments
def ref_pac_s(pac_scores: npt.ArrayLike, reference_cosines: npt.ArrayLike) -> Floats:
    """Harmonic mean of PAC-S and the largest cosine with a reference, cut off at 0.

    RefPAC-S = 2 PAC-S R / (PAC-S + R), R = max(0, largest cosine) (Sarto et al. 2023, equations 5 and 6,
    https://arxiv.org/abs/2303.12112).

    Args:
        pac_scores: floating-point array, shape (n,), as from `pac_s`.
        reference_cosines: floating-point array, shape (n,): the largest cosine of each caption with a reference.

    Returns:
        float64 array, shape (n,), 0 (worst) to 4/3 (best, for w = 2); 0 where either is 0.

    Raises:
        ValueError: the shapes differ, or a number is not finite.

    >>> ref_pac_s([1.0, 2.0], [1.0, -0.5]).tolist()
    [1.0, 0.0]
    """
    scores, cosines = as_finite(pac_scores, "pac_scores"), as_finite(reference_cosines, "reference_cosines")
    if scores.shape != cosines.shape:
        raise ValueError(
            f"reference_cosines: expected shape {scores.shape}, that of pac_scores, got {cosines.shape}. Give one "
            "cosine per score."
        )
    return _ref_pac_s(scores, cosines)


# Systems.


@plain_arguments
def combined_p_value(p_values: npt.ArrayLike) -> float:
    """p-value of "every row's candidates and references share a distribution", asymptotically exact.

    Wilson (2019, https://doi.org/10.1073/pnas.1814092116), equation 4: 1 / harmonic mean tends to a Landau
    distribution.

    Args:
        p_values: shape (n_rows,), at least one, each above 0 and at most 1.

    Returns:
        Float between 0 and 1. One row: its own p-value.

    Raises:
        ValueError: no p-values, or one that is not above 0 and at most 1.

    >>> round(combined_p_value([0.5, 0.1]), 4)
    0.2316
    """
    return _combined_p_value(as_p_values(p_values, at_least_one=True))


@plain_arguments
def harmonic_mean_p(p_values: npt.ArrayLike) -> float:
    """Harmonic mean of p-values, equal weights (Wilson 2019); `combined_p_value` is the calibrated p-value.

    Args:
        p_values: as for `combined_p_value`.

    Returns:
        Float above 0 and at most 1.

    Raises:
        ValueError: as for `combined_p_value`.

    >>> round(harmonic_mean_p([0.5, 0.1]), 4)
    0.1667
    """
    return _harmonic_mean_p(as_p_values(p_values, at_least_one=True))


# Checks.


def _as_distances(distances: npt.ArrayLike, n_candidates: int, statistic: str) -> Floats:
    """Distances as float64, checked as `triangle_rank_statistic` says."""
    rows = as_rows(distances, "distances")
    n_texts = rows.shape[1]
    if rows.shape[2] != n_texts or n_texts < 3:
        raise ValueError(
            f"distances: expected shape (n_rows, n_texts, n_texts) with at least 3 texts, got {rows.shape}. A triangle "
            "needs three texts."
        )
    check_candidates(n_candidates, n_texts, 1)
    check_choice("statistic", statistic, STATISTICS)
    return rows


def _as_kernel_rows(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float, estimator: str
) -> tuple[Floats, int]:
    """Both sets as `joint_vectors`, checked as `mmd_squared` says."""
    check_choice("estimator", estimator, ESTIMATORS)
    check_bandwidth(sigma)
    return joint_vectors(candidates, references, least=1 if estimator == "biased" else 2)
