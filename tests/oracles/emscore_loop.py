"""EMScore as its equations and the authors' program have it: plain loops, one cosine at a time."""

import collections
import math


def cosine(x, y):
    return math.fsum(map(lambda a, b: a * b, x, y)) / math.hypot(*x) / math.hypot(*y)


def mean(vectors):
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def weighted_mean(values, weights):
    return math.fsum(map(lambda value, weight: value * weight, values, weights)) / math.fsum(weights)


def video_values(tokens, weights, frames, zeros_win=False):
    """Coarse, P, R and F against a video; `zeros_win` is the authors' padding, which beats negative cosines."""
    table = [[cosine(token, frame) for frame in frames] for token in tokens]
    best_frames = [max(row) for row in table]
    if zeros_win:
        best_frames = [max(value, 0.0) for value in best_frames]
    precision = weighted_mean(best_frames, weights)
    recall = math.fsum(max(column) for column in zip(*table, strict=True)) / len(frames)
    coarse = cosine(tokens[-1], mean([[x / math.hypot(*frame) for x in frame] for frame in frames]))
    return coarse, precision, recall, 2 * precision * recall / (precision + recall)


def reference_values(tokens, weights, reference_tokens, reference_weights):
    """The same against one reference."""
    table = [[cosine(token, other) for other in reference_tokens] for token in tokens]
    precision = weighted_mean([max(row) for row in table], weights)
    recall = weighted_mean([max(column) for column in zip(*table, strict=True)], reference_weights)
    return table[-1][-1], precision, recall, 2 * precision * recall / (precision + recall)


def weights_by_document_frequency(documents, length=77):
    """The authors' table of weights: every text filled up with zeros, the largest number is the end token."""
    counts = collections.Counter()
    for ids in documents:
        counts.update(set(list(ids) + [0] * (length - len(ids))))
    weights = {i: math.log((len(documents) + 1) / (count + 1)) for i, count in counts.items()}
    weights[max(weights)] = sum(weights.values()) / len(weights)
    return collections.defaultdict(lambda: math.log(len(documents) + 1), weights)
