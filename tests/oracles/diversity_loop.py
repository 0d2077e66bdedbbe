"""Diversity of captions with dictionaries and loops, straight from the definitions."""

import itertools
import math
from collections import Counter, defaultdict


def ngram_model(captions, order):
    """Context to {continuation: count}; the mark is None."""
    model = defaultdict(Counter)
    for tokens in captions:
        padded = [None] * (order - 1) + list(tokens) + [None] * (order - 1)
        for i in range(len(padded) - order + 1):
            model[tuple(padded[i : i + order - 1])][padded[i + order - 1]] += 1
    return dict(model)


def evs(model):
    return sum(len(following) > 1 for following in model.values()) / len(model)


def log_likelihood(model, tokens, order):
    padded = [None] * (order - 1) + list(tokens) + [None] * (order - 1)
    logs = []
    for i in range(len(padded) - order + 1):
        following = model.get(tuple(padded[i : i + order - 1]), {})
        count = following.get(padded[i + order - 1], 0)
        logs.append(max(math.log(count / sum(following.values())), -12.0) if count else -12.0)
    return sum(logs) / len(logs)


def mean(values):
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else math.nan


def ratio(part, whole):
    return part / whole if whole else math.nan


def figures(rows):
    """The figures of rows of token lists that have two definitions or more than one line."""
    captions = [tuple(tokens) for row in rows for tokens in row]
    everything = Counter(itertools.chain.from_iterable(captions))
    in_captions = Counter(itertools.chain.from_iterable(map(set, captions)))
    duplicates = Counter(captions)
    vocabularies = [Counter(itertools.chain.from_iterable(row)) for row in rows]
    equals = [Counter(map(tuple, row)) for row in rows]
    found = {
        "n_types": len(everything),
        "n_tokens": sum(everything.values()),
        "within_row_uniqueness_of_tokens": mean(
            ratio(sum(n == 1 for n in v.values()), sum(v.values())) for v in vocabularies
        ),
        "within_row_uniqueness_of_types": mean(ratio(sum(n == 1 for n in v.values()), len(v)) for v in vocabularies),
        "between_row_uniqueness_by_caption": mean(
            ratio(sum(n for word, n in v.items() if in_captions[word] == 1), sum(v.values())) for v in vocabularies
        ),
        "between_row_uniqueness_by_count": mean(
            ratio(sum(everything[word] == 1 for word in v), sum(v.values())) for v in vocabularies
        ),
        "distinct_within_row": mean(len(row) / sum(row.values()) for row in equals),
        "novel_within_row": mean(sum(n == 1 for n in row.values()) / sum(row.values()) for row in equals),
        "novel_in_data": sum(n == 1 for n in duplicates.values()) / len(captions),
        "n_distinct_captions": len(duplicates),
        "n_duplicate_captions": len(captions) - len(duplicates),
    }
    for order in (2, 3, 4):
        model = ngram_model(captions, order)
        found[f"evs_{order}"] = evs(model)
        found[f"log_likelihood_{order}"] = mean(log_likelihood(model, tokens, order) for tokens in captions)
        found[f"n_contexts_{order}"] = len(model)
        found[f"n_ngrams_{order}"] = sum(sum(following.values()) for following in model.values())
    return found


def head(counts, share):
    """Number of most frequent types that make up a share of the tokens."""
    total = running = 0
    for n, count in enumerate(sorted(counts, reverse=True), start=1):
        running += count
        total = sum(counts)
        if running / total >= share:
            return n
    return 0
