"""The seven numbers of COCO's caption evaluation: of every candidate, and of a corpus from sums, which parts add."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .arrays import Floats, Ints, Progress, TokenRows, first_largest
from .meteor15_scores import best_statistics, corpus_statistics
from .meteor15_scores import scores as meteor15_scores
from .meteor15_words import ENGLISH, Language, Meteor15Lexicon
from .ngrams import MAX_ORDER, DocumentFrequency, NgramIndex, joined_frequency, warn_of_equal_documents
from .ngrams_bleu import bleu_scores, bleu_statistics
from .ngrams_cider import cider_scores
from .ngrams_rouge import rouge_l_scores

# What COCO's evaluation calls its numbers; ROUGE-L and CIDEr of a corpus are means.
BLEUS = tuple(f"Bleu_{n}" for n in range(1, MAX_ORDER + 1))
METEOR, ROUGE_L, CIDER = "METEOR", "ROUGE_L", "CIDEr"

# Behind the name of a number where each row has its best candidate alone.
BEST_OF = "_best_of"


class CocoScores(NamedTuple):
    """Scores of candidates, row after row."""

    # float64 arrays, shape (n_candidates,), by the name of the number.
    scores: Mapping[str, Floats]
    # Statistics of BLEU, shape (n_candidates, 10), and of METEOR 1.5, shape (n_candidates, 23).
    bleu: Ints
    meteor: Ints


def coco_scores(
    candidates: TokenRows,
    references: TokenRows,
    lexicon: Meteor15Lexicon,
    progress: Progress,
    documents: DocumentFrequency | None = None,
) -> CocoScores:
    """Score every candidate against all references of its row.

    Numbers equal pycocoevalcap 1.2's, to the last bit but for METEOR: 2e-16. METEOR is for the lexicon's
    language. No token holds a blank. `documents` are document frequencies for CIDEr-D; None counts in the references.
    Of one row, which has none, CIDEr is NaN; of rows with the same references it is 0, with a warning.
    """
    ngrams = NgramIndex.of_rows(candidates, references)
    bleu = bleu_statistics(ngrams)
    texts, others = ([[" ".join(tokens) for tokens in row] for row in side] for side in (candidates, references))
    meteor = best_statistics(texts, others, lexicon, progress)
    scores = dict(zip(BLEUS, bleu_scores(bleu).T, strict=True))
    scores |= {METEOR: meteor15_scores(meteor, lexicon.data.language), ROUGE_L: rouge_l_scores(ngrams)}
    if documents is not None:
        scores[CIDER] = cider_scores(
            ngrams, frequency=joined_frequency(documents.counts), n_documents=documents.n_documents
        )
    else:
        warn_of_equal_documents(references)
        scores[CIDER] = cider_scores(ngrams) if len(candidates) > 1 else np.full(len(meteor), np.nan)
    return CocoScores(scores, bleu, meteor)


def best_candidates(scored: CocoScores, sizes: Sequence[int]) -> dict[str, Ints]:
    """Return the number of the best candidate of each row, the first among equals, by the name of each number."""
    return {name: first_largest(values, np.array(sizes)) for name, values in scored.scores.items()}


def corpus_sums(scored: CocoScores, best: Mapping[str, Ints]) -> dict[str, Ints]:
    """Add up the statistics of a corpus: whole numbers, which parts of any sizes add up to."""
    everyone = np.arange(len(scored.bleu))
    chosen = dict.fromkeys((*BLEUS, METEOR), everyone) | {f"{name}{BEST_OF}": these for name, these in best.items()}
    return {
        name: corpus_statistics(scored.meteor[these]) if name.startswith(METEOR) else scored.bleu[these].sum(axis=0)
        for name, these in chosen.items()
        if name.removesuffix(BEST_OF) in (*BLEUS, METEOR)
    }


def corpus_numbers(sums: Mapping[str, Ints], language: Language = ENGLISH) -> dict[str, float]:
    """Turn sums into the numbers of the corpus: BLEU-1 to 4 and METEOR, 0 (worst) to 1 (best).

    >>> corpus_numbers({"Bleu_1": np.array([1, 0, 0, 0, 2, 1, 0, 0, 2, 2])})["Bleu_1"].__round__(4)
    0.5
    """
    return {
        name: float(meteor15_scores(total[None], language)[0])
        if name.startswith(METEOR)
        else float(bleu_scores(total[None])[0, BLEUS.index(name.removesuffix(BEST_OF))])
        for name, total in sums.items()
    }
