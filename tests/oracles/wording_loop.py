"""Wording, one caption and one n-gram after the other, and phrases with all splits of their rows: slow and obvious."""

import collections
import itertools
import math

DISCOUNT = 0.75


def caption_ngrams(tokens):
    """Return the trigrams of a caption with two marks before and one after it."""
    marked = ["<s>", "<s>", *tokens, "</s>"]
    return [tuple(marked[i - 2 : i + 1]) for i in range(2, len(marked))]


class LoopModel:
    """Counts of trigrams, and of all that follows from them; `n_words` is V of `words_predictability`."""

    def __init__(self, trigrams, n_words):
        self.n_words = n_words
        self.counts = collections.Counter()
        for trigram in trigrams:
            self.counts.update([trigram, trigram[1:], trigram[2:]])

    def p(self, ngram):
        """Probability of the last word after the others."""
        if not ngram:
            return 1 / (self.n_words + 1)
        history, shorter = ngram[:-1], self.p(ngram[1:])
        following = [n for other, n in self.counts.items() if len(other) == len(ngram) and other[:-1] == history]
        if not following:
            return shorter
        discounted = max(self.counts[ngram] - DISCOUNT, 0) + DISCOUNT * len(following) * shorter
        return discounted / sum(following)

    def slor(self, tokens):
        """Mean of the log ratios over words and end."""
        ratios = [math.log(self.p(ngram) / self.p(ngram[2:])) for ngram in caption_ngrams(tokens)]
        return math.fsum(ratios) / len(ratios)


def loop_slor(candidates, references, clusters=None):
    """SLOR of all texts, row by row, candidates first; each row by the references of other clusters."""
    clusters = range(len(candidates)) if clusters is None else clusters
    n_words = len({word for row in references for text in row for word in text}) + 1
    values = []
    for mine, people, cluster in zip(candidates, references, clusters, strict=True):
        others = [
            ngram
            for row, other in zip(references, clusters, strict=True)
            if other != cluster
            for text in row
            for ngram in caption_ngrams(text)
        ]
        model = LoopModel(others, n_words)
        values += [model.slor(text) for text in (*mine, *people)]
    return values


def loop_influences(candidates, references):
    """What the sum of all other rows' gaps gains by each text among the references of its row."""

    def others_gaps(row, humans):
        kept = [people if i != row else humans for i, people in enumerate(references)]
        values = iter(loop_slor(candidates, [people or [[]] for people in kept]))
        gaps = []
        for mine, people in zip(candidates, kept, strict=True):
            slor = [next(values) for _ in (*mine, *(people or [[]]))]
            gaps.append(sum(slor[: len(mine)]) / len(mine) - sum(slor[len(mine) :]) / (len(slor) - len(mine)))
        return math.fsum(gap for i, gap in enumerate(gaps) if i != row)

    values = []
    for i, (mine, people) in enumerate(zip(candidates, references, strict=True)):
        values += [others_gaps(i, [*people, text]) - others_gaps(i, people) for text in mine]
        values += [others_gaps(i, people) - others_gaps(i, [*people[:j], *people[j + 1 :]]) for j in range(len(people))]
    return values


def phrase_p_value(rows):
    """Chance, over all splits of all rows, that candidates have a phrase as much more often as observed, or more.

    `rows` are (n_candidates, whether each text has the phrase) with candidates first.
    """

    def difference(m, has):
        return sum(has[:m]) / m - sum(has[m:]) / (len(has) - m)

    observed = sum(difference(m, has) for m, has in rows)
    splits = [[difference(m, [*chosen, *rest]) for chosen, rest in _splits(has, m)] for m, has in rows]
    sums = [sum(values) for values in itertools.product(*splits)]
    return sum(value >= observed - 1e-9 for value in sums) / len(sums)


def _splits(has, m):
    for places in itertools.combinations(range(len(has)), m):
        yield [has[i] for i in places], [value for i, value in enumerate(has) if i not in places]
