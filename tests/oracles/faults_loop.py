"""Faults of texts, sentence by sentence and reference by reference: slow and obvious."""

import itertools

TAIL = 0.05

# Values of one corpus of moderate size are equal if they are this near, and so are sums of weights.
TOLERANCE, ROUNDING = 1e-9, 1e-12


def weighted_share(people, others):
    """Share of others beyond people's 95% quantile; both are pairs of values and weights."""
    quantile = max(at for at, _ in people if sum(w for value, w in people if value >= at) >= TAIL - ROUNDING)
    above = sum(w for value, w in people if value > quantile + TOLERANCE)
    equal = sum(w for value, w in people if abs(value - quantile) <= TOLERANCE)
    fraction = min(1.0, (TAIL - above) / equal)
    far = sum(w for value, w in others if value > quantile + TOLERANCE)
    return far + fraction * sum(w for value, w in others if abs(value - quantile) <= TOLERANCE)


def support(distance, sentence, spans):
    """Distance of a sentence from the nearest of some spans."""
    return min(distance(sentence, span) for span in spans)


def unsupported(sentence, references, distance):
    """Mean over references, each a list of spans, of the distance from the nearest span."""
    return sum(support(distance, sentence, spans) for spans in references) / len(references)


def omitted(spans, references, distance):
    """Mean over references, each a list of sentences, of the mean distance of these from the nearest span of a text."""
    means = [
        sum(support(distance, sentence, spans) for sentence in sentences) / len(sentences) for sentences in references
    ]
    return sum(means) / len(means)


def text_shares(rows, distance):
    """Return by row (unsupported share, omitted share) of the candidates: beyond people's 95% quantiles.

    `rows` are pairs of candidates and references, each a list of texts (sentences, spans).
    """
    peoples = {"unsupported": [], "omitted": []}
    for _, references in rows:
        for j, (sentences, spans) in enumerate(references):
            others = references[:j] + references[j + 1 :]
            weight = 1 / (len(rows) * len(references))
            for sentence in sentences:
                value = unsupported(sentence, [s for _, s in others], distance)
                peoples["unsupported"].append((value, weight / len(sentences)))
            peoples["omitted"].append((omitted(spans, [s for s, _ in others], distance), weight))
    shares = []
    for candidates, references in rows:
        found = {"unsupported": [], "omitted": []}
        for sentences, spans in candidates:
            for j in range(len(references)):
                others = references[:j] + references[j + 1 :]
                weight = 1 / (len(candidates) * len(references))
                for sentence in sentences:
                    value = unsupported(sentence, [s for _, s in others], distance)
                    found["unsupported"].append((value, weight / len(sentences)))
                found["omitted"].append((omitted(spans, [s for s, _ in others], distance), weight))
        shares.append(tuple(weighted_share(peoples[kind], found[kind]) for kind in peoples))
    return shares


def repeats(sentences):
    """What a text, a list of sentences of tokens, says twice."""
    found = {("word", a) for tokens in sentences for a, b in itertools.pairwise(tokens) if a == b}
    for tokens in sentences:
        triples = [tuple(tokens[i : i + 3]) for i in range(len(tokens) - 2)]
        found |= {("three words", triple) for triple in triples if triples.count(triple) > 1}
    longer = [tuple(tokens) for tokens in sentences if len(tokens) > 1]
    return found | {("sentence", tokens) for tokens in longer if longer.count(tokens) > 1}


def repeated_shares(candidates, references):
    """Return the shares of candidates and of references that repeat what no other reference of the row does."""
    own = [repeats(text) for text in references]
    others = [set().union(*own[:j], *own[j + 1 :]) for j in range(len(own))]
    of_people = sum(bool(mine - rest) for mine, rest in zip(own, others, strict=True)) / len(own)
    found = [repeats(text) for text in candidates]
    return sum(bool(mine - rest) for mine in found for rest in others) / (len(found) * len(others)), of_people
