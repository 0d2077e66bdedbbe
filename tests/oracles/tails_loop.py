"""Tails of people's distances, one text after the other, with exact weights: slow and obvious."""

from fractions import Fraction

TAIL = Fraction(1, 20)

# Values of one corpus of moderate size are equal if they are this near.
TOLERANCE = 1e-9


def people_and_candidates(row, m, *, compares_pairs):
    """The distances of people and of candidates that a tail compares, of one row."""
    texts = range(len(row))
    candidates, people = list(texts[:m]), list(texts[m:])
    if compares_pairs:
        return [row[i][j] for i in people for j in people if i < j], [
            row[i][j] for i in candidates for j in candidates if i < j
        ]
    others = {j: [k for k in people if k != j] for j in people}
    return [sum(row[j][k] for k in others[j]) / len(others[j]) for j in people], [
        sum(row[c][k] for k in others[j]) / len(others[j]) for c in candidates for j in people
    ]


def tail_shares(rows, sign, *, compares_pairs):
    """Shares of each row beyond people's quantile, of candidates and of people.

    Args:
        rows: (distances, n_candidates) of every row.
        sign: 1 for the large distances, -1 for the small ones.
        compares_pairs: whether pairs are compared.
    """
    compared = [people_and_candidates(row, m, compares_pairs=compares_pairs) for row, m in rows]
    return shares_beyond([(people, candidates) for people, candidates in compared if candidates], sign)


def shares_beyond(compared, sign):
    """Shares beyond people's quantile, of other distances and of people's own, out of both for every row."""
    weighted = [(sign * value, Fraction(1, len(people) * len(compared))) for people, _ in compared for value in people]
    quantile = max(at for at, _ in weighted if sum(weight for value, weight in weighted if value >= at) >= TAIL)
    above = sum(weight for value, weight in weighted if value > quantile + TOLERANCE)
    equal = sum(weight for value, weight in weighted if abs(value - quantile) <= TOLERANCE)
    fraction = min(1.0, float((TAIL - above) / equal))

    def share(values):
        counts = [
            1.0 if sign * value > quantile + TOLERANCE else fraction if sign * value >= quantile - TOLERANCE else 0.0
            for value in values
        ]
        return sum(counts) / len(counts)

    return [(share(others), share(people)) for people, others in compared]


def split_share(rows, keys, sign, *, compares_pairs):
    """Share of the candidates of all rows beyond people's quantile, if the texts of each row are ordered by keys.

    Args:
        rows: (distances, n_candidates, weight) of the rows that are taken; the weight is a whole number.
        keys: of each row a number for each of its texts.
        sign, compares_pairs: as for `tail_shares`.
    """
    split = []
    for (row, m, weight), text_keys in zip(rows, keys, strict=True):
        order = sorted(range(len(row)), key=text_keys.__getitem__)
        split += [([[row[i][j] for j in order] for i in order], m)] * weight
    shares = [candidates for candidates, _ in tail_shares(split, sign, compares_pairs=compares_pairs)]
    return sum(shares) / len(shares)
