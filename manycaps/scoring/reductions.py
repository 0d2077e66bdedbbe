"""Reductions: what a part keeps of its rows for values of the corpus, and how all parts are put together."""

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from manycaps.catalog.modules import BLEU_SUMS, CHAIR_SUMS, COCO_SUMS, METEOR_SUMS, MOMENTS, PARITY, WORD_COUNTS

if TYPE_CHECKING:
    from manycaps.kit.parity_sentences import SentenceSupport
    from manycaps.kit.parity_tails import Distances
    from manycaps.kit.parity_texts import TextWords
    from manycaps.kit.words_predictability import Texts, WordingRows
    from manycaps.kit.words_tests import Phrase

Arrays = Mapping[str, np.ndarray]

# Column of human parity: one triangle of the distances of a row's texts, out of which the tails of all rows are made.
DISTANCE_COLUMN = "human_parity_distances"

# Options that run a model or a tagger over all captions, where words are counted.
MODEL_OPTIONS = ("pos", "semantic", "encoder")


def columns_of_tests(name: str) -> list[str]:
    """Return the columns of a metric's tests, in the order of `RowTests`.

    >>> columns_of_tests("trm")
    ['trm_p_value', 'trm_excess', 'trm_null_variance', 'trm_null_unit']
    """
    return [f"{name}_p_value", f"{name}_excess", f"{name}_null_variance", f"{name}_null_unit"]


class Reduction(Protocol):
    """State kept of rows for a value of the corpus."""

    def add(self, part: Any) -> None:
        """Take in the scores of a chunk of rows."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is kept, as arrays without objects."""

    def merge(self, arrays: Arrays) -> None:
        """Take in the arrays of another part, which comes after all those before."""

    def values(self) -> dict[str, Any]:
        """Return the values of the corpus."""


def reduction_of(reduction: str, module: Any, options: Mapping[str, Any]) -> Reduction | None:
    """Return what a metric needs beside the values of its rows, by its record's `reduction`; None for most."""
    if reduction in STATISTIC_SUMS:
        return STATISTIC_SUMS[reduction](options)
    if reduction == WORD_COUNTS:
        return CodedData(options)
    if reduction == PARITY:
        return GatheredWording(options)
    if is_pooled(options):
        return GatheredEmbeddings(module, options) if gathers(reduction, options) else PooledMoments()
    return None


def is_pooled(options: Mapping[str, Any]) -> bool:
    """Return whether a value over all captions together is asked for."""
    return bool(options.get("pooled"))


def gathers(reduction: str, options: Mapping[str, Any]) -> bool:
    """Return whether a value of the corpus needs all vectors at once.

    A distance of moments has enough with sums over the vectors; its test, and a kernel, have not.

    >>> [gathers(MOMENTS, {"pooled": True, "p_value": p_value}) for p_value in ("none", "exact")]
    [False, True]
    """
    return is_pooled(options) and (reduction != MOMENTS or options["p_value"] != "none")


class StatisticSums:
    """Sums of the statistics of candidates, by the name of what they give, and lists of all rows' statistics."""

    def __init__(
        self,
        sums_of: Callable[[Any], Arrays],
        values_of: Callable[[Arrays], dict[str, Any]],
        lists: Collection[str] = (),
    ) -> None:
        """Take how the statistics of some rows are added up, what their sums give, and the names of lists."""
        self._sums_of, self._values_of, self._lists = sums_of, values_of, lists
        self._sums: dict[str, np.ndarray] = {}

    def add(self, part: Any) -> None:
        """Take in the statistics of every candidate of some rows."""
        self.merge(self._sums_of(part))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums."""
        return self._sums

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        for name, more in arrays.items():
            known = self._sums.get(name)
            both = more if known is None else np.concatenate([known, more]) if name in self._lists else known + more
            self._sums[name] = both

    def values(self) -> dict[str, Any]:
        """Return the scores of the corpus."""
        return self._values_of(self._sums)


def _bleu_sums(_: Mapping[str, Any]) -> StatisticSums:
    from manycaps.kit.ngrams_bleu import bleu_of_sums

    def values(sums: Arrays) -> dict[str, Any]:
        scores = bleu_of_sums(sums["statistics"][None]).tolist()
        return {f"bleu_{n}_corpus": score for n, score in enumerate(scores, start=1)}

    return StatisticSums(lambda part: {"statistics": part.sum(axis=0)}, values)


def _meteor_sums(options: Mapping[str, Any]) -> StatisticSums:
    from manycaps.kit.meteor15_scores import corpus_statistics, scores
    from manycaps.kit.meteor15_words import LANGUAGES

    def sums(part: Sequence[Sequence[Sequence[int]]]) -> Arrays:
        return {"statistics": corpus_statistics(np.array([candidate for row in part for candidate in row]))}

    def values(sums: Arrays) -> dict[str, Any]:
        return {"meteor15": float(scores(sums["statistics"][None], LANGUAGES[options["language"]])[0])}

    return StatisticSums(sums, values)


def _coco_sums(options: Mapping[str, Any]) -> StatisticSums:
    """Sums of BLEU and METEOR 1.5, which the module adds up itself."""
    from manycaps.kit.coco_scores import corpus_numbers
    from manycaps.kit.meteor15_words import LANGUAGES

    return StatisticSums(lambda part: part, lambda sums: corpus_numbers(sums, LANGUAGES[options["language"]]))


def _object_sums(options: Mapping[str, Any]) -> StatisticSums:
    """Counts of named objects, and the shares of every row, for chair."""
    from manycaps.kit.object_words import ObjectSums, object_values

    def values(sums: Arrays) -> dict[str, Any]:
        return dict(object_values(ObjectSums(**sums), options["confidence_level"], options["clusters"]))

    return StatisticSums(lambda part: part._asdict(), values, lists=["shares"])


STATISTIC_SUMS = {CHAIR_SUMS: _object_sums, METEOR_SUMS: _meteor_sums, BLEU_SUMS: _bleu_sums, COCO_SUMS: _coco_sums}


class PooledMoments:
    """Means and covariances of embeddings, for fid_bert."""

    def __init__(self) -> None:
        from manycaps.kit import frechet

        self._sides = {"candidates": frechet.Moments(), "references": frechet.Moments()}

    def add(self, part: Any) -> None:
        """Take in some embedded rows."""
        for side, counts in zip(self._sides.values(), part.counts(), strict=True):
            side.add(part.vectors, counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums of both sides."""
        return {f"{name}:{key}": array for name, side in self._sides.items() for key, array in side.arrays().items()}

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        for name, side in self._sides.items():
            side.merge({key.partition(":")[2]: array for key, array in arrays.items() if key.startswith(f"{name}:")})

    def values(self) -> dict[str, Any]:
        """Return the distance of the corpus."""
        from manycaps.kit import frechet

        return {"fid_bert_pooled": float(frechet.frechet_squared_of_moments(*self._sides.values()))}


class GatheredEmbeddings:
    """All embeddings with their captions: what a module needs to pool the corpus itself."""

    def __init__(self, module: Any, options: Mapping[str, Any]) -> None:
        self._module, self._options = module, options
        self._vectors: dict[str, np.ndarray] = {}
        self._rows: dict[str, list[list[str]]] = {"predictions": [], "references": []}

    def add(self, part: tuple[Mapping[str, list[list[str]]], Any]) -> None:
        """Take in the captions of some rows, and the rows embedded."""
        columns, embedded = part
        for name, numbers in (("predictions", embedded.predictions), ("references", embedded.references)):
            for captions, places in zip(columns[name], numbers, strict=True):
                self._rows[name].append(list(captions))
                for caption, number in zip(captions, places.tolist(), strict=True):
                    self._vectors.setdefault(caption, embedded.vectors[number])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return vectors and rows."""
        if not self._vectors:
            return {}
        numbers = {caption: i for i, caption in enumerate(self._vectors)}
        rows = {name: [[numbers[caption] for caption in row] for row in side] for name, side in self._rows.items()}
        return {
            "vectors": np.stack(list(self._vectors.values())),
            "captions": as_bytes(list(self._vectors)),
            "rows": as_bytes(rows),
        }

    def merge(self, arrays: Arrays) -> None:
        """Take in the rows of another part."""
        if not arrays:
            return
        captions = json.loads(arrays["captions"].tobytes())
        for caption, vector in zip(captions, arrays["vectors"], strict=True):
            self._vectors.setdefault(caption, vector)
        for name, side in json.loads(arrays["rows"].tobytes()).items():
            self._rows[name] += [[captions[number] for number in row] for row in side]

    def values(self) -> dict[str, Any]:
        """Return what the module says of all rows together."""
        from manycaps.kit.vectors_rows import embed_caption_rows

        embedded = embed_caption_rows(
            self._rows["predictions"],
            self._rows["references"],
            lambda captions: np.stack([self._vectors[caption] for caption in captions]),
        )
        values: dict[str, Any] = self._module.SETS.corpus_values(embedded, self._options, self._module.progress)
        return values


class CodedData:
    """Words of all captions as numbers, for vdtk_diversity, whose counts are made of them in the order of the rows."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from manycaps.kit import diversity_captions, diversity_counts
        from manycaps.kit.ngrams import WordNumbers

        self._options = options
        self._codes = diversity_counts
        self._words = WordNumbers()
        self._kept: list[Any] = []
        self._diversity = diversity_captions.CaptionDiversity()
        self._tokenizer = options["tokenizer"]
        if self._tokenizer == "spacy":
            from manycaps.kit.words_tokenizers import load_spacy_tokenizer

            self._tokenizer = load_spacy_tokenizer()

    def add(self, part: Sequence[Sequence[str]]) -> None:
        """Take in the captions of some rows."""
        from manycaps.kit.words_tokenizers import tokenize_rows

        rows = tokenize_rows(list(part), self._tokenizer)
        self._kept.append(self._codes.number_captions(rows, self._words))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the words, and the rows as their numbers."""
        fields = ("words", "n_tokens", "n_captions")
        coded = {
            name: np.concatenate([np.empty(0, np.uint32), *(getattr(row, name) for row in self._kept)])
            for name in fields
        }
        return {
            "names": as_bytes(list(self._words)),
            **{name: numbers.astype("<u4") for name, numbers in coded.items()},
        }

    def merge(self, arrays: Arrays) -> None:
        """Count the rows of a part."""
        from manycaps.kit.ngrams import number_words

        numbers = number_words(json.loads(arrays["names"].tobytes()), self._diversity.word_numbers)
        words, n_tokens, n_captions = (arrays[name].astype(np.int64) for name in ("words", "n_tokens", "n_captions"))
        if len(n_captions):
            self._diversity.update_coded(self._codes.CodedCaptions(numbers[words], n_tokens, n_captions))

    def values(self) -> dict[str, Any]:
        """Return the figures of all rows."""
        figures: dict[str, Any] = self._diversity.figures(self._options["head_shares"], self._options["lengths"])
        return figures


class GatheredWording:
    """Words of all captions as numbers, for human_parity, whose n-gram model needs the references of all rows.

    With a language model of another corpus the wording of every caption is known at once, and kept in their place. The
    words of sentences, and their support in other texts, are kept beside those of captions.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        from manycaps.kit import words_predictability, words_tests
        from manycaps.kit.ngrams import WordNumbers

        self._tokenizer, self._language = options["tokenizer"], options["language"]
        self._wording, self._phrases = words_predictability, words_tests
        self._model = words_predictability.load_language_model(options["language_model"], self._tokenizer)
        self._vocabulary = WordNumbers()
        self._kept: dict[str, list[np.ndarray]] = {}

    def add(self, part: Mapping[str, Sequence[Any]]) -> None:
        """Take in the captions of some rows, and the support of their sentences where it is known."""
        from manycaps.kit.ngrams import word_ids
        from manycaps.kit.words_tokenizers import tokenize_rows

        candidates, references = (tokenize_rows(part[name], self._tokenizer) for name in ("predictions", "references"))
        rows = list(zip(candidates, references, strict=True))
        kept: dict[str, np.ndarray] = {"sizes": np.array([(len(mine), len(people)) for mine, people in rows])}
        if self._model is None:
            texts = (text for mine, people in rows for text in (*mine, *people))
            kept["words"], kept["lengths"] = word_ids(texts, self._vocabulary)
        else:
            coded = self._wording.number_texts(candidates, references, model=self._model)
            kept["slor"] = self._wording.wording_of(coded, is_tested=False).slor
            kept["seen"] = np.array([self._wording.seen_references(coded)])
        kept |= self._sentences(part)
        for name, array in kept.items():
            self._kept.setdefault(name, []).append(array)

    def _sentences(self, part: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
        """Words of the sentences of all texts, and how many sentences each text has."""
        from manycaps.kit.ngrams import word_ids
        from manycaps.kit.parity_sentences import split_sentences
        from manycaps.kit.words_tokenizers import tokenize_rows

        sides = zip(part["predictions"], part["references"], strict=True)
        texts = [text for row in sides for side in row for text in side]
        divided = split_sentences(texts, self._language)
        words, lengths = word_ids(
            (tokens for row in tokenize_rows(divided, self._tokenizer) for tokens in row), self._vocabulary
        )
        support = part.get("support", [])
        return {
            "sentence_words": words,
            "sentence_lengths": lengths,
            "n_sentences": np.array([len(sentences) for sentences in divided]),
            "support": np.concatenate([np.empty(0), *support]),
            "support_sizes": np.array([len(row) for row in support], dtype=np.int64),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the words, and the rows as their numbers; or the wording."""
        joined = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        return joined | ({"names": as_bytes(list(self._vocabulary))} if joined else {})

    def merge(self, arrays: Arrays) -> None:
        """Take in the rows of another part."""
        kept = dict(arrays)
        if "names" in kept:
            from manycaps.kit.ngrams import number_words

            numbers = number_words(json.loads(kept.pop("names").tobytes()), self._vocabulary)
            kept |= {name: numbers[kept[name]] for name in ("words", "sentence_words") if name in kept}
        for name, array in kept.items():
            self._kept.setdefault(name, []).append(array)

    def values(self) -> dict[str, Any]:
        """Return nothing: `wording` is put together with the distances."""
        return {}

    def wording(self, clusters: Sequence[Hashable] | None = None) -> "WordingRows":
        """Return the wording of all rows."""
        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        if "slor" in kept:
            self._wording.SeenReferences(*kept["seen"].sum(axis=0).tolist()).warn()
            return self._wording.WordingRows(kept["sizes"], kept["slor"], *np.zeros((2, len(kept["slor"]))))
        return self._wording.wording_of(self._texts(kept, clusters), is_tested=True)

    def phrases(self, clusters: Sequence[Hashable] | None = None) -> "list[Phrase]":
        """Return the phrases that give the candidates away; none where a model of another corpus kept no words."""
        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        return [] if "slor" in kept else self._phrases.telling_phrases(self._texts(kept, clusters), clusters)

    def sentences(self, clusters: Sequence[Hashable] | None = None) -> "TextWords":
        """Return the words of the sentences of all rows."""
        from manycaps.kit.parity_texts import sentences_of_counts, text_words

        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        coded = kept["sentence_words"], kept["sentence_lengths"], self._vocabulary
        sentences = sentences_of_counts(kept["sizes"], kept["n_sentences"], *coded, self._model, clusters)
        return text_words(sentences, is_tested=self._model is None)

    def sentence_arrays(self, clusters: Sequence[Hashable] | None = None) -> dict[str, np.ndarray]:
        """Return what `manycaps compare` makes the sentences of all rows of, and their support.

        By a model of another corpus their scores as well, since it may be gone by then.
        """
        arrays = {name: np.concatenate(self._kept[name]) for name in SENTENCE_ARRAYS}
        arrays["names"] = as_bytes(list(self._vocabulary))
        if self._model is not None:
            arrays["sentence_scores"] = self.sentences(clusters).scores.scores
        return arrays

    def support(self, distances: "Distances") -> "SentenceSupport | None":
        """Return the support of the sentences of all rows; None where every text is one sentence.

        Of rows of such texts it is their distances.
        """
        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        return support_of_arrays(kept["sizes"], kept, distances)

    def _texts(self, kept: Mapping[str, np.ndarray], clusters: Sequence[Hashable] | None) -> "Texts":
        return self._wording.texts_of(kept["sizes"], kept["words"], kept["lengths"], self._vocabulary, clusters)


# What `GatheredWording` keeps of sentences.
SENTENCE_ARRAYS = ("sentence_words", "sentence_lengths", "n_sentences", "support", "support_sizes")


def support_of_arrays(
    sizes: np.ndarray, kept: Mapping[str, np.ndarray], distances: "Distances"
) -> "SentenceSupport | None":
    """Return the support of the sentences of all rows, of the numbers of texts and of arrays of `SENTENCE_ARRAYS`.

    None where every text is one sentence. Of rows of such texts it is their distances.
    """
    from manycaps.kit.parity_sentences import SentenceSupport

    support_sizes = kept["support_sizes"]
    if not support_sizes.any():
        return None
    found = SentenceSupport([(int(m), int(n)) for m, n in sizes.tolist()])
    rows = np.split(kept["support"], np.cumsum(support_sizes)[:-1])
    counts = np.split(kept["n_sentences"], np.cumsum(sizes.sum(axis=1))[:-1])
    for block in distances.blocks():
        for row, matrix in zip(block.rows.tolist(), block.distances, strict=True):
            support = rows[row].reshape(-1, len(counts[row])) if support_sizes[row] else matrix
            found.add(row, counts[row].tolist(), support)
    return found


def as_bytes(value: Any) -> np.ndarray:
    """Return JSON as an array of bytes, which NumPy stores without objects."""
    return np.frombuffer(json.dumps(value).encode("utf-8"), dtype=np.uint8)
