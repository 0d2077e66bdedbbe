"""BLEU of one caption and longest common subsequences as loops, straight from the equations and COCO's conventions."""

import math


def ngrams(tokens, order):
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


def bleu_statistics(candidate, references):
    """Matches and numbers of the 1- to 4-grams, and both lengths."""
    matches = [
        sum(
            min(ngrams(candidate, order).count(ngram), max(ngrams(r, order).count(ngram) for r in references))
            for ngram in set(ngrams(candidate, order))
        )
        for order in (1, 2, 3, 4)
    ]
    numbers = [len(ngrams(candidate, order)) for order in (1, 2, 3, 4)]
    nearest = min((abs(len(reference) - len(candidate)), len(reference)) for reference in references)[1]
    return [*matches, *numbers, len(candidate), nearest]


def bleu(statistics):
    """BLEU-1 to BLEU-4 of the statistics of one candidate, or of their sums."""
    product, scores = 1.0, []
    ratio = (statistics[8] + 1e-15) / (statistics[9] + 1e-9)
    penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    for order in (1, 2, 3, 4):
        product *= (statistics[order - 1] + 1e-15) / (statistics[order + 3] + 1e-9)
        scores.append(penalty * product ** (1 / order))
    return scores


def common_length(first, second):
    """Length of the longest common subsequence, by recursion on the last words."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, word in enumerate(first, start=1):
        for j, other in enumerate(second, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if word == other else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]
