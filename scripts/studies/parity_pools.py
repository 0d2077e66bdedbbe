"""Pools of captions with their distances, and rows drawn from them: what the studies of `human_parity` run on.

Every distance is computed once, between all texts of an image's pool; a row is a choice of texts.
"""

import functools
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import manycaps
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.arrays import TokenList
from manycaps.kit.clip_encoder import CLIP_LOAD_DEFAULTS, ClipEncoder
from manycaps.kit.parity_corpus import parity_result, row_columns, symmetric
from manycaps.kit.parity_tails import CorpusTails, KeptDistances, corpus_tails
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.kit.words_predictability import WordingRows, wording_rows
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.studies.caption_rows import bundled_images, distinct_captions, read_images
from scripts.studies.study_options import CORPORA, EMBEDDINGS, Options, data_folder

# What is kept of every human caption, in this order: as it is, in its place one of another image, with one word
# replaced, cut after five words, and with an object replaced.
KINDS = ("people", "other", "word", "cut", "object")

# And, where they are asked for, worded as people would not: with one word doubled, without the last two words, and with
# all words in random order.
REWORDINGS = ("doubled", "ends cut", "shuffled")

# Words that a cut caption keeps.
N_KEPT_WORDS = 5

# Human captions of a bundled scene that are used: all scenes have as many.
N_BUNDLED = 16

# Texts of a row up to which twice as many are drawn as are asked for, and beyond which a third.
FEW_TEXTS, MANY_TEXTS = 5, 10

# Images compared at once.
BATCH = 20

CONFIDENCE_LEVEL = 0.95

# An object: a word between an article, with one word more or none, and what may follow a noun.
AFTER_NOUNS = "is|are|in|on|with|and|of|at|to|by|near|from|through|over"
OBJECT = re.compile(
    rf"(?<!\w)(?:a|an|the) (?:(?!(?:{AFTER_NOUNS})\b)\w+ )?(?!(?:{AFTER_NOUNS})\b)(\w+)(?= (?:{AFTER_NOUNS})\b|[ .]*$)",
    re.IGNORECASE,
)


class Damage(NamedTuple):
    """How candidates differ from people's captions."""

    # "people"; "half repeated": the second half says the first caption; "blandest": all say the caption that is nearest
    # to the others of the image; "bland": they are the nearest ones, each once; "copies": of the references.
    base: str = "people"
    # Each is then replaced, with a probability, by what `KINDS` says.
    kind: str = "other"
    share: float = 0.0
    # At last each but the first says what the first one says, with a probability.
    repeats: float = 0.0


DAMAGES: Mapping[str, Damage] = {
    "human": Damage(),
    "10% other": Damage(share=0.1),
    "20% other": Damage(share=0.2),
    "one word": Damage(kind="word", share=1.0),
    "five words": Damage(kind="cut", share=1.0),
    "half repeated": Damage("half repeated"),
    "blandest": Damage("blandest"),
    "30% object": Damage(kind="object", share=0.3),
    "copies": Damage("copies"),
}


REWORDED: Mapping[str, Damage] = {
    f"{percent}% {kind}": Damage(kind=kind, share=percent / 100) for kind in REWORDINGS for percent in (10, 20, 50)
}

# Of every image as many texts: its human captions, then as many of each further kind.
Pool = list[list[str]]


def make_pool(images: Sequence[Sequence[str]], n_people: int, seed: int, rewordings: Sequence[str] = ()) -> Pool:
    """Damage human captions in every way."""
    rng, word_rng = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    people = [[captions[k] for k in rng.permutation(len(captions))[:n_people]] for captions in images]
    others = (np.arange(len(people))[:, None] + rng.integers(1, len(people), (len(people), n_people))) % len(people)
    texts = []
    for mine, indices in zip(people, others, strict=True):
        wrong = [people[k][rng.integers(n_people)] for k in indices]
        foreign = [caption for k in indices for caption in people[k]]
        words = [word for caption in foreign for word in caption.split()]
        objects = [word for caption in foreign for word in OBJECT.findall(caption)]
        replaced = [replace_word(caption, words, rng) for caption in mine]
        cut = [" ".join(caption.split()[:N_KEPT_WORDS]) for caption in mine]
        texts.append([*mine, *wrong, *replaced, *cut, *(replace_object(caption, objects, rng) for caption in mine)])
        texts[-1] += [reword(caption, kind, word_rng) for kind in rewordings for caption in mine]
    return texts


def reword(caption: str, kind: str, rng: np.random.Generator) -> str:
    """Word a caption as people would not; the mark at its end stays.

    >>> reword("A dog runs .", "ends cut", np.random.default_rng(0))
    'A .'
    """
    text = caption.rstrip(" .")
    words, mark = text.split(), caption[len(text) :]
    if kind == "doubled":
        place = int(rng.integers(len(words)))
        words = [*words[: place + 1], *words[place:]]
    elif kind == "shuffled":
        words = [words[i] for i in rng.permutation(len(words))]
    else:
        words = words[:-2]
    return " ".join(words) + mark


def replace_word(caption: str, words: Sequence[str], rng: np.random.Generator) -> str:
    """Put another word in place of one.

    >>> replace_word("dog", ["cat"], np.random.default_rng(0))
    'cat'
    """
    tokens = caption.split()
    place = int(rng.integers(len(tokens)))
    others = [word for word in words if word != tokens[place]] or list(words)
    return " ".join([*tokens[:place], others[rng.integers(len(others))], *tokens[place + 1 :]])


def replace_object(caption: str, objects: Sequence[str], rng: np.random.Generator) -> str:
    """Put another object in place of one; a caption in which none is found stays as it is.

    >>> replace_object("A big dog is on the beach .", ["boat"], np.random.default_rng(1))
    'A big boat is on the beach .'
    """
    mentions = list(OBJECT.finditer(caption))
    if not mentions:
        return caption
    start, end = mentions[rng.integers(len(mentions))].span(1)
    others = [word for word in objects if word.lower() != caption[start:end].lower()]
    return f"{caption[:start]}{others[rng.integers(len(others))]}{caption[end:]}" if others else caption


def text_distances(pool: Pool, n_people: int, distance: str) -> np.ndarray:
    """Return the distances of all texts of each image: (n_images, n_texts, n_texts).

    CIDEr-D counts its documents in the human captions of all images of the pool.
    """
    distinct = distinct_captions(pool)
    tokens = dict(zip(distinct, ptb_tokenize(distinct), strict=True))
    module = manycaps.load("human_parity", distance=distance, tokenizer=tokens.__getitem__)
    people = [texts[:n_people] for texts in pool]
    compare, _ = module.text_distances(people, module.load_options)
    starts = range(0, len(pool), BATCH)
    parts = [np.stack(compare(pool[start : start + BATCH])) for start in tqdm(starts, desc=distance)]
    return symmetric(np.concatenate(parts))


def embed_texts(texts: Sequence[Sequence[str]], name: str) -> np.ndarray:
    """Return the vectors of all texts of each image, by MiniLM or by the text encoder of tiny-pac: (n, n_texts, d)."""
    distinct = sorted({text for image_texts in texts for text in image_texts})
    if name == "MiniLM":
        vectors = SentenceEncoder().embed(distinct, ENCODER_DEFAULTS, tqdm)
    else:
        encoder = ClipEncoder({**CLIP_LOAD_DEFAULTS, "checkpoint": str(CHECKPOINT), "device": "cpu"}, tqdm)
        features = encoder.encode_texts(distinct, 64)
        vectors = features.distinct[features.rows]
    places = {text: i for i, text in enumerate(distinct)}
    return np.stack([vectors[[places[text] for text in image_texts]] for image_texts in texts]).astype(np.float64)


def vector_distances(vectors: np.ndarray) -> np.ndarray:
    """Return the cosine distances of all texts of each image."""
    return distances_from_cosines(cosine_similarities(vectors))


def ordinary(distances: np.ndarray, n_people: int) -> np.ndarray:
    """Order the human captions of each image, the one nearest to the others first: (n_images, n_people)."""
    people = distances[:, :n_people, :n_people]
    return people.sum(axis=2).argsort(axis=1, kind="stable")


def draw_places(
    order: np.ndarray, images: np.ndarray, size: tuple[int, int], damage: Damage, rng: np.random.Generator
) -> np.ndarray:
    """Draw the texts of rows of images, (n_rows,), as places in the pool: (n_rows, n_texts), candidates first.

    Every damage takes the same random numbers; `order` comes from `ordinary`.
    """
    (m, n), n_people = size, order.shape[1]
    drawn = rng.random((len(images), n_people)).argsort(axis=1)
    is_replaced = rng.random((len(images), m)) < damage.share
    candidates, references = drawn[:, :m].copy(), drawn[:, m : m + n]
    if damage.base == "half repeated":
        candidates[:, m - m // 2 :] = candidates[:, :1]
    elif damage.base == "copies":
        candidates = references[:, np.arange(m) % n]
    elif damage.base != "people":
        ranked = order[images]
        is_free = ~(ranked[:, :, None] == references[:, None]).any(axis=2)
        first = np.argsort(~is_free, axis=1, kind="stable")[:, : 1 if damage.base == "blandest" else m]
        candidates = np.broadcast_to(np.take_along_axis(ranked, first, axis=1), candidates.shape)
    # A caption of another image has its own place, so that no two candidates say the same one.
    step = (*KINDS, *REWORDINGS).index(damage.kind) * n_people
    replaced = (drawn[:, :m] if damage.kind == "other" else candidates) + step
    texts = np.where(is_replaced, replaced, candidates)
    is_repeated = rng.random((len(images), m)) < damage.repeats
    return np.concatenate([np.where(is_repeated, texts[:, :1], texts), references], axis=1)


def take(values: np.ndarray, images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the values of pairs of the texts of rows: (n_rows, n_texts, n_texts)."""
    return values[images[:, None, None], places[:, :, None], places[:, None, :]]


def tails_of(distances: np.ndarray, n_candidates: int, clusters: Sequence[Hashable] | None = None) -> CorpusTails:
    """Return the tails of a corpus of rows of equal sizes, shape (n_rows, n_texts, n_texts)."""
    return corpus_tails(keep_distances(distances, n_candidates), CONFIDENCE_LEVEL, clusters)


def keep_distances(distances: np.ndarray, n_candidates: int) -> KeptDistances:
    """Keep the distances of rows of equal sizes."""
    kept = KeptDistances(len(distances))
    kept.add(distances, n_candidates, range(len(distances)))
    return kept


def parity_of(
    distances: np.ndarray,
    n_candidates: int,
    columns: Mapping[str, np.ndarray] | None = None,
    p_value: str = "chi-squared",
) -> dict[str, Any]:
    """Return the result of the module for rows of equal sizes; `columns` come from `row_columns`, if known."""
    options = {"p_value": p_value, "confidence_level": CONFIDENCE_LEVEL, "clusters": None}
    known = row_columns(distances, n_candidates) if columns is None else columns
    return parity_result(known, tails_of(distances, n_candidates), options)


class PoolRows(NamedTuple):
    """Rows of equal sizes, candidates first, some of each image."""

    # float64 array, shape (n_rows, n_texts, n_texts).
    distances: np.ndarray
    # Whole numbers, shapes (n_rows,) and (n_rows, n_texts): the image of each row, and its texts in the pool.
    images: np.ndarray
    places: np.ndarray


class ParityCorpus:
    """A pool, its distances, and rows of it; each is computed when it is first asked for."""

    def __init__(
        self, images: Sequence[Sequence[str]], n_people: int, n_drawn: int, seed: int, rewordings: Sequence[str] = ()
    ):
        """Take human captions, how many of an image are used, how many rows of 5 + 5 are drawn in all, and a seed."""
        self.n_images, self.n_people, self._n_drawn, self._seed = len(images), n_people, n_drawn, seed
        self._pool = make_pool(images, n_people, seed, rewordings)
        self.vectors = functools.cache(lambda name: embed_texts(self._pool, name))
        self.distances = functools.cache(self._distances)
        # METEOR says which captions are the most ordinary, whatever is measured.
        self._order = functools.cache(lambda: ordinary(self.distances("meteor"), n_people))

    def _distances(self, name: str) -> np.ndarray:
        if name in EMBEDDINGS:
            return vector_distances(self.vectors(name))
        return text_distances(self._pool, self.n_people, name)

    @functools.cached_property
    def _tokens(self) -> dict[str, TokenList]:
        distinct = distinct_captions(self._pool)
        return dict(zip(distinct, ptb_tokenize(distinct), strict=True))

    def wording(self, images: np.ndarray, places: np.ndarray, n_candidates: int) -> WordingRows:
        """Score the wording of rows, whose texts are `places` in the pool, candidates first."""
        rows = [
            [self._tokens[self._pool[image][place]] for place in row]
            for image, row in zip(images.tolist(), places.tolist(), strict=True)
        ]
        return wording_rows([row[:n_candidates] for row in rows], [row[n_candidates:] for row in rows])

    def _rows(
        self, distance: str, images: np.ndarray, size: tuple[int, int], damage: Damage, rng: np.random.Generator
    ) -> PoolRows:
        places = draw_places(self._order(), images, size, damage, rng)
        return PoolRows(take(self.distances(distance), images, places), images, places)

    def rows(self, distance: str, size: tuple[int, int], damage: Damage) -> PoolRows:
        """Draw rows, as many of each image; rows of two damages differ in the damage alone."""
        n_texts = sum(size)
        n_rows = 2 * self._n_drawn if n_texts <= FEW_TEXTS else self._n_drawn // (3 if n_texts > MANY_TEXTS else 1)
        images = np.repeat(np.arange(self.n_images), max(1, n_rows // self.n_images))
        return self._rows(distance, images, size, damage, np.random.default_rng((self._seed, *size)))

    def corpora(self, distance: str, size: tuple[int, int], damage: Damage, n_corpora: int, n_rows: int) -> PoolRows:
        """Draw corpora of rows of different images, one after the other, or of all images; no two share a row."""
        rng = np.random.default_rng((self._seed, *size, n_rows))
        images = rng.random((n_corpora, self.n_images)).argsort(axis=1)[:, :n_rows].ravel()
        return self._rows(distance, images, size, damage, rng)

    def trials(self, n_trials: int, n_rows: int, n_all: int, seed: Sequence[int]) -> np.ndarray:
        """Draw different images, or all, and one of the rows of each out of n_all rows: (n_trials, n_rows)."""
        rng, n_each = np.random.default_rng((*seed, 1)), n_all // self.n_images
        images = rng.random((n_trials, self.n_images)).argsort(axis=1)[:, :n_rows]
        return images * n_each + rng.integers(n_each, size=images.shape)


def read_pool(options: Options, rewordings: Sequence[str] = ()) -> ParityCorpus:
    """Return the captions that the options of `add_parity_options` name."""
    n_people = CORPORA[options.corpus] if options.corpus else N_BUNDLED
    images = read_images(data_folder(options), options.corpus) if options.corpus else bundled_images()
    enough = [captions for captions in images if len(captions) >= n_people]
    return ParityCorpus(enough, n_people, options.drawn, options.seed, rewordings)
