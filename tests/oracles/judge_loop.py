"""Features of texts, and slopes with the jackknife, by loops over their definitions."""

import math

import numpy as np
import scipy.stats

from tests.oracles.wording_loop import loop_slor


def features_loop(texts, references, are_people):
    """Features of every text, row by row."""
    n_rows, flags = len(texts), iter(are_people)
    documents = {}
    for row in references:
        for word in {word for text in row for word in text}:
            documents[word] = documents.get(word, 0) + 1
    every, slor = iter(loop_slor(texts, references)), []
    for row, people in zip(texts, references, strict=True):
        slor += [next(every) for _ in (*row, *people)][: len(row)]
    slor = iter(slor)

    def vector(text):
        weighted = {
            word: text.count(word) * math.log((1 + n_rows) / max(documents.get(word, 0), 1)) for word in set(text)
        }
        length = math.sqrt(sum(value**2 for value in weighted.values()))
        return {word: value / length for word, value in weighted.items()} if length else {}

    features = []
    for row, people in zip(texts, references, strict=True):
        for text in row:
            others = list(people)
            if next(flags) and text in others:
                others.remove(text)
            pairs = {tuple(text[i : i + 2]) for i in range(max(1, len(text) - 1))}
            copied = [
                sum(any(tuple(other[i : i + len(pair)]) == pair for i in range(len(other))) for pair in pairs)
                for other in others
            ]
            cosines = [
                sum(value * vector(other).get(word, 0.0) for word, value in vector(text).items()) for other in others
            ]
            features.append(
                [
                    math.log2(max(len(text), 1)),
                    next(slor),
                    sum(copied) / len(pairs) / len(others),
                    sum(cosines) / len(others),
                ]
            )
    return np.array(features)


def slopes_loop(scores, features, systems, labels):
    """Slope, interval and p-value of every feature, with a dummy for each row and each system."""
    rows = np.array([i for i, row in enumerate(scores) for _ in row])
    names = [name for row in systems for name in row]
    known = sorted(set(names))
    values = np.array([value for row in scores for value in row], dtype=float)
    groups = np.array([labels[i] for i in rows])

    def fit(chosen):
        design = np.column_stack(
            [
                features[chosen],
                *[(rows[chosen] == i).astype(float) for i in range(len(scores))],
                *[np.array([names[i] == name for i in chosen], dtype=float) for name in known[1:]],
            ]
        )
        return np.linalg.lstsq(design, values[chosen], rcond=None)[0][: features.shape[1]]

    every = np.arange(len(values))
    whole, clusters = fit(every), sorted(set(groups.tolist()))
    without = np.array([fit(every[groups != cluster]) for cluster in clusters])
    n = len(clusters)
    errors = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = scipy.stats.t.ppf(0.975, n - 1) * errors
    p_values = 2 * scipy.stats.t.sf(np.abs(whole) / errors, n - 1)
    return [tuple(column) for column in np.array([whole, whole - reach, whole + reach, p_values]).T]
