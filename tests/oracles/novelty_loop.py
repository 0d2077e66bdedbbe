"""Novelty of a caption beside training captions, by sets of tuples."""


def ngrams(tokens, order):
    """N-grams of one order, in the order of the text."""
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


def novelty(tokens, training):
    """Whether the caption is novel, its novel n-grams and all of them by order, and its longest copied run."""
    training = [list(caption) for caption in training]
    known = {order: {g for caption in training for g in ngrams(caption, order)} for order in range(1, len(tokens) + 1)}
    counts = [
        (sum(g not in known.get(order, ()) for g in ngrams(tokens, order)), len(ngrams(tokens, order)))
        for order in (1, 2, 3, 4)
    ]
    copied = [order for order in known if any(g in known[order] for g in ngrams(tokens, order))]
    return list(tokens) not in training, [n for n, _ in counts], [n for _, n in counts], max(copied, default=0)
