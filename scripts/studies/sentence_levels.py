"""Level, coverage and power of the tests by sentence: people against people, and texts with known damage.

python -m scripts.studies.sentence_levels [--trials 400] [--most-rows 1000] [--output FOLDER]
python -m scripts.studies.sentence_levels --data FOLDER [--trials 100] [--output FOLDER]

Without --data on made people: sentences are points around a topic that the texts of a row share, and words by Zipf's
law, as many as the row's own mean says; candidates and references are drawn alike. Texts have one sentence up to the
number of the cell. Numbers are what `human_parity` computes. Kinds: "rows": all rows are independent; "clusters": three
rows have the same references, and one label; "more": two systems of the same rows, equal but for chance, of whose
sentences a share lies far away in both; "one wrong": every text has the cell's number of sentences, and one of each
candidate's is about the topic of another row.

With --data, power on real captions by MiniLM. real_systems/coco_karpathy_test.json.gz: one caption with a damage of
`DAMAGES` beside three human ones. msvd_val_references.txt: paragraphs of five or eight human captions of a clip, beside
two such paragraphs of the same clip, as they are or with one sentence of another clip.

Written: sentence_levels.csv (with --data sentence_power.csv): for each cell the share of trials with p <= 0.05 of each
test, and for people the share of the 95% intervals that hold 0, the difference from people. Printed beside it is the
interval that 95% of such shares lie in if they are 5%; exits with 1 if a test finds people more often than the interval
that holds 99.9% says.
"""

import functools
import gzip
import json
import math
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import evaluate
import numpy as np

import manycaps
from manycaps.kit.ngrams import WordNumbers
from manycaps.kit.parity_corpus import TextValues, parity_result, row_columns
from manycaps.kit.parity_faults import FAULTS, CorpusFaults, more_faults_than
from manycaps.kit.parity_gaps import joint_p_value
from manycaps.kit.parity_sentences import SupportBlock
from manycaps.kit.parity_tails import CorpusTails, corpus_tails
from manycaps.kit.parity_texts import TextWords, corpus_faults, sentences_of_counts, text_words
from manycaps.kit.words_predictability import texts_of, wording_of
from manycaps.kit.words_tests import corpus_wording
from scripts.studies.caption_rows import read_all_images
from scripts.studies.homogeneity_level import OF_ALL, OF_ONE, binomial_interval
from scripts.studies.parity_pools import keep_distances
from scripts.studies.parity_speakers import euclidean_distances
from scripts.studies.study_frame import Line, StudyTable, print_table
from scripts.studies.study_options import Options, add_output, tool_parser

parser = tool_parser(__doc__)
add_output(parser)
parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets: power instead of level")
parser.add_argument("--trials", type=int, default=400, metavar="N", help="of a cell, default %(default)s")
parser.add_argument("--power-trials", type=int, default=200, metavar="N", help="of one of damage, default %(default)s")
parser.add_argument("--most-rows", type=int, default=1_000, metavar="N", help="cells of more rows are left out")
parse = parser.parse_args

LEVEL, CONFIDENCE_LEVEL = 0.05, 0.95

# Words by Zipf's law, and how many a sentence has at least.
N_WORDS, LEAST_WORDS = 40, 3

# Dimensions of the points of sentences, how far the topics of rows and the wrong sentences lie, and words for a step.
N_DIMENSIONS, FAR, WRONG, WORDS_PER_STEP = 3, 2.0, 20.0, 3.0

# Rows of a cluster, which have the same references.
PER_CLUSTER = 3

# The tests of which the joint one is made, and those of each kind of fault.
TESTS = ("human_parity", "gaps", "tails", "wording", "length")
KINDS = tuple(name.removesuffix("_share") for name in FAULTS)

KEY = ("kind", "n_candidates", "n_references", "most_sentences", "n_rows", "n_trials")
COLUMNS = (*TESTS, *KINDS, "faults", *(f"covered_{kind}" for kind in KINDS))

# Candidates, references and most sentences of the cells of people; rows; rows of cells with clusters.
SIZES = ((1, 2, 1), (1, 4, 1), (5, 5, 1), (10, 3, 1), (1, 2, 3), (1, 4, 3), (2, 4, 8), (5, 5, 2), (10, 3, 2))
ROWS = (10, 20, 60, 200, 1_000)
# Those of so many rows.
OF_MANY_ROWS = {1_000: ((1, 2, 1), (1, 4, 1), (5, 5, 1), (10, 3, 1), (1, 2, 3), (1, 4, 3), (2, 4, 8))}
CLUSTERED = ((1, 4, 3), (2, 3, 1))
CLUSTERED_ROWS = (60, 180, 600)

# Cells in which one of two equal systems has more faults, by the share of wrong sentences.
MORE, MORE_ROWS = {"more, 0% wrong": 0.0, "more, 15% wrong": 0.15}, (20, 60, 200, 1_000)

# Cells of power: sentences of a text, and rows.
ONE_WRONG, WRONG_OF, WRONG_ROWS = "one wrong", (3, 5, 8), (60, 200)


class MadeTexts(NamedTuple):
    """Rows of made texts, m candidates first."""

    n_candidates: int
    # int64, shape (n_rows, n_texts).
    n_sentences: np.ndarray
    # Points of sentences, (n_rows, n_texts, most, d), and numbers of words, (n_rows, n_texts, most, most_words), -1
    # where there is none; of what a text has not they say nothing.
    points: np.ndarray
    words: np.ndarray
    clusters: list[int] | None = None

    @property
    def is_sentence(self) -> np.ndarray:
        """Which places are sentences, shape (n_rows, n_texts, most)."""
        return np.arange(self.points.shape[2]) < self.n_sentences[..., None]

    def part(self, texts: Sequence[int], n_candidates: int) -> "MadeTexts":
        """Return some of the texts of every row."""
        chosen = list(texts)
        return MadeTexts(
            n_candidates, self.n_sentences[:, chosen], self.points[:, chosen], self.words[:, chosen], self.clusters
        )

    def support(self) -> SupportBlock:
        """Return how far each sentence is from the nearest one of each text."""
        n_rows, n_texts, most = self.points.shape[:3]
        distances = euclidean_distances(self.points.reshape(n_rows, n_texts * most, -1))
        distances = distances.reshape(n_rows, n_texts, most, n_texts, most)
        distances[~np.broadcast_to(self.is_sentence[:, None, None], distances.shape)] = math.inf
        support = distances.min(axis=4)
        support[~self.is_sentence] = 0.0
        return SupportBlock(np.arange(n_rows), self.n_candidates, self.n_sentences, support)

    def text_distances(self) -> np.ndarray:
        """Return the distances of whole texts, (n_rows, n_texts, n_texts): long ones are far from short ones."""
        weights = self.is_sentence / self.n_sentences[..., None]
        means = (self.points * weights[..., None]).sum(axis=2)
        n_words = ((self.words >= 0).sum(axis=3) * self.is_sentence).sum(axis=2)
        return euclidean_distances(np.concatenate([means, n_words[..., None] / WORDS_PER_STEP], axis=2))


class MadeSupport:
    """The support of made sentences, as `corpus_faults` reads it."""

    def __init__(self, texts: MadeTexts):
        self._block, self._n_candidates = texts.support(), texts.n_candidates
        self.n_rows = len(texts.n_sentences)

    def blocks(self) -> Iterator[SupportBlock]:
        """Yield all rows."""
        yield self._block

    @property
    def share_of_long_texts(self) -> float:
        """Share of people's texts that have several sentences."""
        return float((self._block.n_sentences[:, self._n_candidates :] > 1).mean())


def draw_texts(
    rng: np.random.Generator,
    n_rows: int,
    m: int,
    n: int,
    most: int,
    *,
    wrong: float = 0.0,
    is_clustered: bool = False,
    is_one_wrong: bool = False,
) -> MadeTexts:
    """Draw rows of m candidates and n references of one sentence up to `most`.

    Of the candidates' sentences the share `wrong` lies far away. With `is_one_wrong` all texts have `most` sentences,
    and of each candidate's one is about the topic of another row.
    """
    per_image = PER_CLUSTER if is_clustered else 1
    n_images, n_texts = n_rows // per_image, per_image * m + n
    topics = FAR * rng.normal(size=(n_images, 1, 1, N_DIMENSIONS))
    points = topics + rng.normal(size=(n_images, n_texts, most, N_DIMENSIONS))
    points[:, :-n] += WRONG * (rng.random((n_images, n_texts - n, most, 1)) < wrong)
    n_sentences = rng.integers(1, most + 1, size=(n_images, n_texts))
    if is_one_wrong:
        n_sentences[:] = most
        points[:, :-n, 0] += np.roll(topics, 1, axis=0)[:, :, 0] - topics[:, :, 0]
    means = rng.gamma(4, 2, size=(n_images, 1, 1))
    lengths = LEAST_WORDS + rng.poisson(means, size=(n_images, n_texts, most))
    chances = 1 / np.arange(1, N_WORDS + 1)
    words = rng.choice(N_WORDS, p=chances / chances.sum(), size=(*lengths.shape, int(lengths.max())))
    words[np.arange(words.shape[3]) >= lengths[..., None]] = -1
    images = np.repeat(np.arange(n_images), per_image)
    of_row = np.arange(len(images))[:, None] % per_image * m + np.arange(m)
    people = np.broadcast_to(np.arange(n_texts - n, n_texts), (len(images), n))
    chosen = images[:, None], np.concatenate([of_row, people], axis=1)
    clusters = images.tolist() if is_clustered else None
    return MadeTexts(m, n_sentences[chosen], points[chosen], words[chosen], clusters)


class Measured(NamedTuple):
    """What the faults of made texts are measured from, and they."""

    distances: np.ndarray
    tails: CorpusTails
    sizes: np.ndarray
    # The words of all texts, and how many each text has.
    words: np.ndarray
    n_words: np.ndarray
    scored: TextWords
    faults: CorpusFaults


def faults_of(texts: MadeTexts, seed: int) -> Measured:
    """Measure the faults of made texts, as `human_parity` does."""
    m, (n_rows, n_texts) = texts.n_candidates, texts.n_sentences.shape
    options = {"confidence_level": CONFIDENCE_LEVEL, "clusters": texts.clusters, "seed": seed}
    distances = texts.text_distances()
    tails = corpus_tails(keep_distances(distances, m), CONFIDENCE_LEVEL, texts.clusters, seed=seed)
    own = texts.words[texts.is_sentence]  # (n_sentences, most_words)
    words, lengths = own[own >= 0], (own >= 0).sum(axis=1)
    sizes, n_sentences = np.full((n_rows, 2), (m, n_texts - m)), texts.n_sentences.ravel()
    n_words = np.add.reduceat(lengths, np.cumsum(n_sentences) - n_sentences)
    sentences = sentences_of_counts(sizes, n_sentences, words, lengths, known_words(), None, texts.clusters)
    scored = text_words(sentences, is_tested=True)
    support: Any = MadeSupport(texts) if texts.points.shape[2] > 1 else None
    faults = corpus_faults(tails, support, scored, list(map(tuple, sizes.tolist())), options)
    return Measured(distances, tails, sizes, words, n_words, scored, faults)


def known_words() -> WordNumbers:
    """Return the vocabulary."""
    return WordNumbers({str(i): i for i in range(N_WORDS)})


def measure(texts: MadeTexts, seed: int) -> tuple[dict[str, Any], CorpusFaults]:
    """Return what `human_parity` says of rows of made texts, and their faults."""
    of, clusters = faults_of(texts, seed), texts.clusters
    whole = wording_of(texts_of(of.sizes, of.words, of.n_words, known_words(), clusters), is_tested=True)
    wording = corpus_wording(whole, clusters, CONFIDENCE_LEVEL)
    length = of.scored.length(clusters, CONFIDENCE_LEVEL, of.sizes)
    options = {"p_value": "chi-squared", "confidence_level": CONFIDENCE_LEVEL, "clusters": clusters}
    columns = row_columns(of.distances, texts.n_candidates)
    result = parity_result(columns, of.tails, options, None, wording, TextValues(of.faults, length))
    return result, of.faults


def p_values_of(result: Mapping[str, Any]) -> list[float]:
    """Return the p-values of all tests, and those of the faults."""
    return [result.get(f"{name}_p_value", math.nan) for name in (*TESTS, *KINDS, "faults")]


def holds_nothing(faults: CorpusFaults) -> list[float]:
    """Say of each kind whether the interval of the share less people's holds 0: 1, 0, or NaN where there is none."""
    held = []
    for name in FAULTS:
        kind = faults.kinds.get(name)
        held.append(math.nan if kind is None else float(kind.low <= 0 <= kind.high))
    return held


def people_trial(kind: str, m: int, n: int, most: int, n_rows: int, trial: int) -> list[float]:
    """Return the p-values of people against people, and whether the intervals hold."""
    rng = np.random.default_rng((trial, m, n, most, n_rows, len(kind)))
    layout = {"is_clustered": kind == "clusters", "is_one_wrong": kind == ONE_WRONG}
    result, faults = measure(draw_texts(rng, n_rows, m, n, most, **layout), trial)
    return [*p_values_of(result), *holds_nothing(faults)]


def more_trial(wrong: float, m: int, n: int, most: int, n_rows: int, trial: int) -> float:
    """Return the p-value of "the first of two equal systems has more faults"."""
    rng = np.random.default_rng((trial, m, n, most, n_rows, round(100 * wrong)))
    both = draw_texts(rng, n_rows, 2 * m, n, most, wrong=wrong)
    people = range(2 * m, 2 * m + n)
    first, second = (faults_of(both.part([*own, *people], m), trial).faults for own in (range(m), range(m, 2 * m)))
    return more_faults_than(first, second, None)


def shares_found(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the share of trials with p <= 0.05, or in which the interval holds, of those in which there is one."""
    table = np.array(values, dtype=np.float64)
    n_tests, n_known = len(TESTS) + len(KINDS) + 1, (~np.isnan(table)).sum(axis=0)
    hits = np.concatenate([table[:, :n_tests] <= LEVEL, table[:, n_tests:] == 1], axis=1)
    return np.where(n_known > 0, hits.sum(axis=0) / np.maximum(1, n_known), math.nan).tolist()


def level_cells(options: Options) -> list[tuple[str, int, int, int, int, int]]:
    """Return the cells of people."""
    cells = [("rows", *size, n_rows, options.trials) for n_rows in ROWS for size in OF_MANY_ROWS.get(n_rows, SIZES)]
    cells += [("clusters", *size, n_rows, options.trials) for n_rows in CLUSTERED_ROWS for size in CLUSTERED]
    cells += [(kind, 1, 4, 3, n_rows, options.trials) for kind in MORE for n_rows in MORE_ROWS]
    cells += [(ONE_WRONG, 1, 4, most, n_rows, options.power_trials) for most in WRONG_OF for n_rows in WRONG_ROWS]
    return [cell for cell in cells if cell[4] <= options.most_rows]


def level_lines(kind: str, m: int, n: int, most: int, n_rows: int, n_trials: int) -> list[list[float]]:
    """Return the line of a cell."""
    if kind in MORE:
        p_values = [more_trial(MORE[kind], m, n, most, n_rows, trial) for trial in range(n_trials)]
        found = dict.fromkeys(COLUMNS, math.nan) | {"faults": float(np.mean(np.array(p_values) <= LEVEL))}
        return [[*found.values()]]
    return [shares_found([people_trial(kind, m, n, most, n_rows, trial) for trial in range(n_trials)])]


def is_within(line: Line) -> bool:
    """Whether no test of a cell finds people more often than chance explains; of damaged texts it may."""
    if line["kind"] == ONE_WRONG:
        return True
    most = binomial_interval(int(line["n_trials"]), OF_ALL)[1]
    return not any(float(line[name]) > most for name in (*TESTS, *KINDS, "faults"))


# --------------------------------------------------------------------------------------------------------------------
# Power, on real captions.

# Images of COCO, rows of a corpus, and the part of the trials that it has.
N_IMAGES, COCO_ROWS = 600, {60: 1.0, 200: 0.25}

# Sentences of a paragraph of MSVD's captions, paragraphs of a clip and a row, and rows: of nearly all clips in the end.
PARAGRAPHS, PER_CLIP, MSVD_ROWS = (5, 8), 3, (60, 90)

NONSENSE = "blorf wug snarp tiv quab melk drint foost"

POWER_KEY = ("corpus", "damage", "n_rows", "n_trials")
POWER_COLUMNS = (*TESTS, *KINDS, "faults", "without_length")


def as_sentence(text: str) -> str:
    """End a caption with a full stop.

    >>> as_sentence("a dog runs ")
    'a dog runs.'
    """
    return f"{text.strip().rstrip('.')}."


def wrong_in(n: int) -> Callable[[int, Sequence[str], Sequence[str]], str]:
    """Return a speaker of one sentence of another image, and of n - 1 true ones."""
    return lambda _, own, other: " ".join(map(as_sentence, [other[1], *own[: n - 1]]))


# By damage, what a system says of an image, from its number, its captions and another image's.
DAMAGES: Mapping[str, Callable[[int, Sequence[str], Sequence[str]], str]] = {
    "20% wrong": lambda i, own, other: other[0] if i % 5 == 0 else own[0],
    "generic": lambda _, own, __: min(own[:2], key=len),
    "begun alike": lambda _, own, __: f"this is a photo of {own[0]}",
    "wrong sentence in 3": wrong_in(3),
    "omitted half": lambda _, own, __: " ".join(own[0].split()[: max(1, len(own[0].split()) // 2)]),
    "repeated word": lambda _, own, __: f"{own[0].rstrip('.')} {own[0].rstrip('.').split()[-1]}",
    "nonsense": lambda _, own, __: f"{own[0].rstrip('.')} {NONSENSE}",
}


class RealRows(NamedTuple):
    """Rows from which corpora are drawn."""

    # Of every row texts that people wrote, and beside each what stands in its place if it is the candidate.
    people: Sequence[Sequence[str]]
    damaged: Sequence[Sequence[str]]
    # Texts that are never candidates.
    n_references: int

    def draw(self, rng: np.random.Generator, n_rows: int) -> dict[str, list[list[str]]]:
        """Draw different rows, and of each its candidate; the other texts are references."""
        predictions, references = [], []
        for i in np.sort(rng.choice(len(self.people), n_rows, replace=False)).tolist():
            n_texts = len(self.people[i])
            chosen = int(rng.integers(n_texts - self.n_references))
            predictions.append([self.damaged[i][chosen]])
            references.append([text for k, text in enumerate(self.people[i]) if k != chosen])
        return {"predictions": predictions, "references": references}


def coco_images(folder: pathlib.Path) -> list[list[str]]:
    """Return five human captions of each image."""
    with gzip.open(folder / "real_systems" / "coco_karpathy_test.json.gz") as file:
        return [row["references"][:5] for row in json.load(file)["rows"][:N_IMAGES]]


def damaged_captions(images: Sequence[Sequence[str]], damage: str) -> RealRows:
    """Return rows of one damaged caption and the last three of each image."""
    texts = [DAMAGES[damage](i, own, images[i - 7]) for i, own in enumerate(images)]
    people = [["", *own[2:]] for own in images]
    return RealRows(people, [[text] for text in texts], 3)


def paragraphs(clips: Sequence[Sequence[str]], n: int, *, is_wrong: bool) -> RealRows:
    """Return paragraphs of n captions of each clip that has enough, of which one may be of another clip."""
    rng, people, damaged = np.random.default_rng(n), [], []
    chosen = [own for own in clips if len(own) >= PER_CLIP * n]
    for i, own in enumerate(chosen):
        order = rng.permutation(len(own))[: PER_CLIP * n].reshape(PER_CLIP, n).tolist()
        parts = [[as_sentence(own[k]) for k in part] for part in order]
        people.append([" ".join(part) for part in parts])
        for part, place in zip(parts if is_wrong else (), rng.integers(n, size=PER_CLIP), strict=False):
            other = chosen[i - 7]
            part[place] = as_sentence(other[int(rng.integers(len(other)))])
        damaged.append([" ".join(part) for part in parts])
    return RealRows(people, damaged, 0)


def power_trial(module: Any, rows: RealRows, n_rows: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the p-values of a corpus, and the joint one without the length, by the names of the columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = module.compute(**rows.draw(rng, n_rows), details=True)
    p_values = dict(zip(POWER_COLUMNS, p_values_of(result), strict=False))
    return p_values | {"without_length": joint_p_value(*(p_values[test] for test in TESTS[1:4]))}


def power_cells(options: Options) -> list[tuple[str, str, int, int]]:
    """Return the cells of real captions."""
    cells = [
        ("COCO", damage, n_rows, round(part * options.trials))
        for damage in DAMAGES
        for n_rows, part in COCO_ROWS.items()
    ]
    settings = [f"{wrong} wrong in {n}" for n in PARAGRAPHS for wrong in ("none", "one")]
    return cells + [("MSVD", setting, n_rows, options.trials) for setting in settings for n_rows in MSVD_ROWS]


def power_lines(options: Options) -> Callable[..., list[list[float]]]:
    """Return the function that computes the line of a cell."""
    evaluate.utils.logging.disable_progress_bar()
    module = manycaps.load("human_parity")
    images = functools.cache(lambda: coco_images(options.data))
    clips = functools.cache(lambda: [[*dict.fromkeys(own)] for own in read_all_images(options.data, "MSVD")])

    def study(corpus: str, damage: str, n_rows: int, n_trials: int) -> list[list[float]]:
        if corpus == "COCO":
            rows = damaged_captions(images(), damage)
        else:
            wrong, n = damage.split(" wrong in ")
            rows = paragraphs(clips(), int(n), is_wrong=wrong == "one")
        rng = np.random.default_rng(0)
        found = [[*power_trial(module, rows, n_rows, rng).values()] for _ in range(n_trials)]
        table = np.array(found)
        known = ~np.isnan(table).all(axis=0)
        return [np.where(known, (table <= LEVEL).mean(axis=0), math.nan).tolist()]

    return study


def main(options: Options) -> int:
    """Fill a table, print it, and return 1 if a level is wrong."""
    if options.data:
        lines = StudyTable(options.output, "sentence_power", POWER_KEY, POWER_COLUMNS, {}).fill(
            power_cells(options), power_lines(options)
        )
        print_table([*POWER_KEY, *POWER_COLUMNS], ([*line.values()] for line in lines))
        return 0
    lines = StudyTable(options.output, "sentence_levels", KEY, COLUMNS, {}).fill(level_cells(options), level_lines)
    low, high = binomial_interval(options.trials, OF_ONE)
    print(f"shares of 5% lie in {low:.3f} to {high:.3f}")
    print_table([*KEY, *COLUMNS], ([*line.values()] for line in lines))
    return int(not all(map(is_within, lines)))


if __name__ == "__main__":
    sys.exit(main(parse()))
