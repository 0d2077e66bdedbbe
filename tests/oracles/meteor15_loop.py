"""METEOR 1.5 pair by pair in plain Python: the matches, the beam search and the score, as the Java program has them.

Denkowski and Lavie (2014), https://aclanthology.org/W14-3348, English, task "rank". A lexicon gives `function_words`,
`ordinary_prefixes`, `numeric_prefixes` (sets), `synsets` (word to set), `base_forms` (inflected form to words),
`paraphrases` (phrase to phrases, in rank order; tuples of words) and `stem`.
"""

import math
import re
from typing import NamedTuple

LETTERS = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"
SPACE = " \t\n\x0b\f\r"
CONTROLS = "".join(map(chr, range(33)))
KINDS = ("exact", "stem", "synonym", "paraphrase")
WEIGHTS = (1.0, 0.6, 0.8, 0.6)
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
BEAM = 40

# Suffixes of an inflected form, and of its base form.
MORPHOLOGY = (
    "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y s: ies:y es:e es: ed:e ed: ing:e ing: er: est: er:e est:e"
)


class Match(NamedTuple):
    kind: int
    j: int
    i: int
    reference_length: int
    hypothesis_length: int


class Path(NamedTuple):
    gain: int = 0
    chunks: int = 0
    distance: int = 0
    next_j: int = 0
    last_end: int = -1
    used: frozenset = frozenset()
    matches: tuple = ()


def words_of(text):
    return re.split("[ \t\n\r\f]+", text.strip(" \t\n\r\f")) if text.strip(" \t\n\r\f") else []


def normalize(text, lexicon):
    text = f" {text.strip(CONTROLS)} "
    text = re.sub(rf"([^{LETTERS}0-9{SPACE}.'`,\-‘’])", r" \1 ", text)
    text = re.sub(r"\.(\.+)", r" DOTMULTI\1", text)
    while "DOTMULTI." in text:
        text = re.sub(r"DOTMULTI\.([^.])", r"DOTDOTMULTI \1", text)
        text = text.replace("DOTMULTI.", "DOTDOTMULTI")
    for before, after in (("[^0-9]", "[^0-9]"), ("[0-9]", "[^0-9]"), ("[^0-9]", "[0-9]")):
        text = re.sub(f"({before}),({after})", r"\1 , \2", text)
    text = re.sub("[`‘’]", "'", text)
    text = re.sub("“|”|''", ' " ', text).replace("–", "-").replace("--", "-")
    text = re.sub(rf"([{LETTERS}0-9.])-([{LETTERS}0-9])", r"\1 \2", text)
    for before, after in (
        (f"[^{LETTERS}]", f"[^{LETTERS}]"),
        (f"[^{LETTERS}0-9]", f"[{LETTERS}]"),
        (f"[{LETTERS}]", f"[^{LETTERS}]"),
    ):
        text = re.sub(f"({before})'({after})", r"\1 ' \2", text)
    text = re.sub(f"([{LETTERS}])'([{LETTERS}])", r"\1 '\2", text)
    text = re.sub("([0-9])'(s)", r"\1 '\2", text)
    text = " ".join(with_full_stops_apart(words_of(text), lexicon))
    while "DOTDOTMULTI" in text:
        text = text.replace("DOTDOTMULTI", "DOTMULTI.")
    text = text.replace("DOTMULTI", ".")
    return re.sub("[ \u2000-\u200a\u202f\u205f\u3000\u00a0]+", " ", text).strip(CONTROLS).lower()


def with_full_stops_apart(words, lexicon):
    for word, following in zip(words, [*words, ""][1:], strict=True):
        before = word[:-1]
        if not word.endswith(".") or not before:
            yield word
        elif "." in before and re.search(f"[{LETTERS}]", before):
            yield before.replace(".", "")
        elif (
            before in lexicon.ordinary_prefixes
            or re.match("[a-z]", following)
            or (before in lexicon.numeric_prefixes and re.match("[0-9]", following))
        ):
            yield word
        else:
            yield f"{before} ."


def java_hash(word):
    units = word.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + 256 * high + low) % 2**32
    return value


def base_form(word, lexicon):
    if len(word) <= 2 or word.endswith("ss"):
        return word
    for rule in MORPHOLOGY.split():
        suffix, replacement = rule.split(":")
        if word.endswith(suffix) and (base := word[: len(word) - len(suffix)] + replacement) in lexicon.synsets:
            return base
    return word


def all_synsets(word, lexicon):
    found = set(lexicon.synsets.get(word, ()))
    for base in lexicon.base_forms.get(word, [base_form(word, lexicon)]):
        found |= set(lexicon.synsets.get(base, ()))
    return found


def places_of(phrase, words):
    return [i for i in range(len(words) - len(phrase) + 1) if tuple(words[i : i + len(phrase)]) == phrase]


def matches_at(j, hypothesis, reference, lexicon):
    """All matches that start at reference word j, in the order in which the search tries them."""
    matches = []
    word = reference[j]
    stem = java_hash(lexicon.stem(word))
    for i, other in enumerate(hypothesis):
        if java_hash(other) == java_hash(word):
            matches.append(Match(0, j, i, 1, 1))
    if [java_hash(word) for word in hypothesis] == [java_hash(word) for word in reference]:
        return matches
    different = [(i, other) for i, other in enumerate(hypothesis) if java_hash(other) != java_hash(word)]
    matches += [Match(1, j, i, 1, 1) for i, other in different if java_hash(lexicon.stem(other)) == stem]
    meanings = all_synsets(word, lexicon)
    matches += [Match(2, j, i, 1, 1) for i, other in different if meanings & all_synsets(other, lexicon)]
    for length in range(1, len(reference) - j + 1):
        for phrase in lexicon.paraphrases.get(tuple(reference[j : j + length]), ()):
            matches += [Match(3, j, i, length, len(phrase)) for i in places_of(phrase, hypothesis)]
    for i in range(len(hypothesis)):
        for length in range(1, len(hypothesis) - i + 1):
            for phrase in lexicon.paraphrases.get(tuple(hypothesis[i : i + length]), ()):
                if tuple(reference[j : j + len(phrase)]) == phrase:
                    matches.append(Match(3, j, i, len(phrase), length))
    return matches


def covered_words(match):
    """The words that a match takes, on both sides."""
    return {("reference", match.j + k) for k in range(match.reference_length)} | {
        ("hypothesis", match.i + k) for k in range(match.hypothesis_length)
    }


def fixed_matches(matches_by_start):
    coverage = {}
    for match in (match for matches in matches_by_start for match in matches):
        for word in covered_words(match):
            coverage[word] = coverage.get(word, 0) + 1
    return {
        matches[0].j: matches[0]
        for matches in matches_by_start
        if len(matches) == 1 and all(coverage[word] == 1 for word in covered_words(matches[0]))
    }


def gain(match):
    if match.kind == 0:
        return match.hypothesis_length + match.reference_length
    # The Java program adds half weights to whole numbers.
    return match.hypothesis_length // 2 + match.reference_length // 2


def with_match(path, match):
    is_new_chunk = path.last_end not in (-1, match.i)
    return path._replace(
        gain=path.gain + gain(match),
        chunks=path.chunks + is_new_chunk,
        next_j=match.j + match.reference_length,
        last_end=match.i + match.hypothesis_length,
        used=path.used | covered_words(match),
        matches=(*path.matches, match),
    )


def best_paths(paths):
    return sorted(paths, key=lambda path: (-path.gain, path.chunks, path.distance))[:BEAM]


def align(hypothesis, reference, lexicon):
    """The path that the beam search ends with."""
    matches_by_start = [matches_at(j, hypothesis, reference, lexicon) for j in range(len(reference))]
    fixed = fixed_matches(matches_by_start)
    paths = [Path()]
    for j, matches in enumerate(matches_by_start):
        following = []
        for path in best_paths(paths):
            if path.next_j > j:
                following.append(path)
                continue
            if j in fixed:
                match = fixed[j]
                following.append(with_match(path, match)._replace(distance=path.distance + abs(match.j - match.i)))
                continue
            distance = path.distance
            for match in matches:
                if not covered_words(match) & path.used:
                    # The Java program adds the distance to the path that was copied, not to the copy.
                    following.append(with_match(path, match)._replace(distance=distance))
                    distance += abs(match.j - match.i)
            closed = path.chunks + (path.last_end != -1)
            following.append(path._replace(chunks=closed, distance=distance, next_j=j + 1, last_end=-1))
        paths = following
    ended = [path._replace(chunks=path.chunks + (path.last_end != -1)) for path in best_paths(paths)]
    return best_paths(ended)[0]


def statistics(hypothesis, reference, lexicon):
    """The 23 numbers of a pair of token lists."""
    path = align(hypothesis, reference, lexicon)
    is_function = [[word in lexicon.function_words for word in text] for text in (hypothesis, reference)]
    counts = [[0, 0, 0, 0] for _ in KINDS]
    for match in path.matches:
        spans = ((match.i, match.hypothesis_length), (match.j, match.reference_length))
        for side, (start, length) in enumerate(spans):
            for place in range(start, start + length):
                counts[match.kind][side + 2 * is_function[side][place]] += 1
    m1, m2 = (sum(kind[side] + kind[side + 2] for kind in counts) for side in (0, 1))
    lengths = [len(hypothesis), len(reference), *map(sum, is_function)]
    return [*lengths, *(number for kind in counts for number in kind), path.chunks, m1, m2]


def score_of(statistics):
    lengths, n_function, chunks = statistics[:2], statistics[2:4], statistics[20]
    m1, m2 = statistics[21:]
    kinds = [statistics[4 + 4 * kind : 8 + 4 * kind] for kind in range(4)]
    shares = []
    for side in (0, 1):
        weighted = 0.0
        for weight, kind in zip(WEIGHTS, kinds, strict=True):
            weighted += kind[side] * weight * DELTA
        for weight, kind in zip(WEIGHTS, kinds, strict=True):
            weighted += kind[side + 2] * weight * (1.0 - DELTA)
        length = DELTA * (lengths[side] - n_function[side]) + (1.0 - DELTA) * n_function[side]
        shares.append(weighted / length if length else math.nan)
    precision, recall = shares
    if not precision > 0 or not recall > 0:
        return 0.0
    f_mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
    # One chunk of everything is not fragmented.
    is_whole = chunks == 1 and m1 == lengths[0] and m2 == lengths[1]
    fragmentation = 0.0 if is_whole else chunks / ((m1 + m2) / 2)
    return f_mean * (1.0 - GAMMA * math.pow(fragmentation, BETA))


def best_statistics(hypothesis, references, lexicon):
    """The statistics against the reference with the highest score, the first among equals."""
    return max((statistics(hypothesis, reference, lexicon) for reference in references), key=score_of)


def corpus_score(rows):
    total = [sum(column) for column in zip(*rows, strict=True)]
    total[20] = sum(row[20] for row in rows if not (row[20] == 1 and row[21:] == row[:2]))
    return score_of(total)
