"""What self-critical training code reads and sets behind its CIDEr classes: counted documents, and values of pairs."""

import copy
import functools
import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.kit.arrays import Floats
from manycaps.kit.errors import InputError, InputTypeError, quote_value
from manycaps.kit.ngrams import LENGTH_SIGMA, MAX_ORDER, Frequency, NgramIndex, tuple_frequency
from manycaps.kit.ngrams_cider import cider_scores

from . import guards
from .frequencies import load_frequencies

FrequencyTable = str | os.PathLike[str] | Mapping[str, Any]


class CiderScorer:
    """Texts and document frequencies of `CiderD` and `PlainCider`, under the names of pyciderevalcap.

    `crefs` and `ctest` hold texts. `document_frequency` and `ref_len`, the logarithm of the number of documents, are
    taken from the table `df_mode`, unless they are counted or set.

    >>> scorer = CiderScorer()
    >>> for references in (["a red dog"], ["a cat"]):
    ...     scorer += (None, references)
    >>> scorer.compute_doc_freq()
    >>> scorer.ref_len = math.log(len(scorer.crefs))
    >>> scorer.my_get_self_cider(["a red dog", "a cat"]).round(4).tolist()
    [[7.5, 0.0], [0.0, 5.0]]
    """

    def __init__(
        self,
        df_mode: FrequencyTable = "corpus",
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = MAX_ORDER,
        sigma: float = LENGTH_SIGMA,
        *,
        is_clipped: bool = True,
    ) -> None:
        """Take document frequencies as `CiderD`; a table is read when it is first needed."""
        self.df_mode, self.n, self.sigma, self.is_clipped = df_mode, n, sigma, is_clipped
        self.crefs: list[Sequence[str]] = []
        self.ctest: list[str | None] = []
        self._ref_len: float | None = None
        self.cook_append(test, refs)

    @property
    def is_counted(self) -> bool:
        """Whether frequencies are counted in the references of a call."""
        return isinstance(self.df_mode, str) and self.df_mode == "corpus"

    @functools.cached_property
    def document_frequency(self) -> Mapping[tuple[str, ...], float]:
        """Number of documents with an n-gram, by its tokens; it can be set."""
        return defaultdict(float) if self.is_counted else load_frequencies(self.df_mode).table

    @property
    def ref_len(self) -> float | None:
        """Logarithm of the number of documents; None until they are counted."""
        if self._ref_len is None and not self.is_counted:
            return math.log(load_frequencies(self.df_mode).n_documents)
        return self._ref_len

    @ref_len.setter
    def ref_len(self, logarithm: float | None) -> None:
        self._ref_len = logarithm

    def cook_append(self, test: str | None, refs: Sequence[str] | None) -> None:
        """Add a candidate, or None, and its references."""
        if refs is not None:
            self.crefs.append(refs)
            self.ctest.append(test)

    def __iadd__(self, other: "tuple[str | None, Sequence[str]] | CiderScorer") -> "CiderScorer":
        if isinstance(other, tuple):
            self.cook_append(*other)
        else:
            self.ctest.extend(other.ctest)
            self.crefs.extend(other.crefs)
        return self

    def size(self) -> int:
        """Return the number of candidates."""
        return len(self.crefs)

    def clear(self) -> None:
        """Clear all texts; frequencies stay."""
        self.crefs, self.ctest = [], []

    def copy_empty(self) -> "CiderScorer":
        """Return a scorer with these frequencies and without texts."""
        new = copy.copy(self)
        new.clear()
        return new

    def copy(self) -> "CiderScorer":
        """Return a scorer with these frequencies and texts."""
        new = self.copy_empty()
        new += self
        return new

    def compute_doc_freq(self) -> None:
        """Count the documents of each n-gram in all references, each row of them a document, beside those before."""
        counts = defaultdict(float, self.document_frequency)
        for references in self.crefs:
            for ngram in {ngram for text in references for ngram in self._ngrams(text)}:
                counts[ngram] += 1
        self.document_frequency = counts

    def _ngrams(self, text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[i : i + n]) for n in range(1, self.n + 1) for i in range(len(words) - n + 1)}

    def compute_score(self, option: object = None, verbose: object = 0) -> tuple[np.floating[Any], Floats]:  # noqa: ARG002
        """Return the mean over candidates, and the value of every candidate."""
        if not self.crefs or None in self.ctest:
            fix = "Add pairs: cider_scorer += (candidate, references)."
            raise InputError("cider_scorer", "a candidate beside all references", "none for some", fix)
        if self.is_counted:
            self.document_frequency, self.ref_len = {}, math.log(len(self.crefs))
            self.compute_doc_freq()
            guards.warn(guards.too_few_documents(len(self.crefs)), guards.same_references(self.crefs))
        candidates = [[text.split()] for text in self.ctest if text is not None]
        references = [[text.split() for text in own] for own in self.crefs]
        values = self.ciders(NgramIndex.of_rows(candidates, references), is_counted=self.is_counted)
        return np.mean(values), values

    def ciders(self, ngrams: NgramIndex, *, is_counted: bool) -> Floats:
        """Score candidates; frequencies are counted in the references, or those that were counted before."""
        frequency, n_documents = (None, 0.0) if is_counted else self._frequency()
        return cider_scores(
            ngrams, self.n, sigma=self.sigma, is_clipped=self.is_clipped, frequency=frequency, n_documents=n_documents
        )

    def _frequency(self) -> tuple[Frequency, float]:
        """Frequencies that were counted, set or read, and the number of documents."""
        if "document_frequency" not in vars(self) and self._ref_len is None and not self.is_counted:
            counted = load_frequencies(self.df_mode)
            return counted.frequency, counted.n_documents
        if self.ref_len is None:
            fix = (
                "Add references by += (None, references), call compute_doc_freq() and set ref_len; or give df= a file."
            )
            raise InputError("cider_scorer.ref_len", "the logarithm of the number of documents", "None", fix)
        documents, counts = math.exp(self.ref_len), self.document_frequency
        # Of a whole number its logarithm comes back to the last bit.
        whole = round(documents)
        return tuple_frequency(counts), whole if math.isclose(whole, documents) else documents

    def my_get_cider(self, gts: Sequence[str], res: Sequence[str]) -> Floats:
        """Score texts against each of some references.

        Args:
            gts: m references.
            res: n texts.

        Returns:
            float64 array, shape (n, m), 0 (worst) to 10 (best).
        """
        for name, texts in (("gts", gts), ("res", res)):
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise InputTypeError(
                    name, "a list of strings for each image", quote_value(texts), "Give lists of texts."
                )
        pairs = [(text.split(), reference.split()) for text in res for reference in gts]
        if not pairs:
            return np.zeros((len(res), len(gts)))
        ngrams = NgramIndex.of_rows([[text] for text, _ in pairs], [[reference] for _, reference in pairs])
        return self.ciders(ngrams, is_counted=False).reshape(len(res), len(gts))

    def my_get_self_cider(self, res: Sequence[str]) -> Floats:
        """Score texts against each other: float64 array, shape (n, n), 0 to 10."""
        return self.my_get_cider(res, res)
