"""The tokenizer and the scorers of pycocoevalcap 1.2, without Java: the same calls, and the same numbers.

`gts` and `res` are dicts from an image's id to a list of captions, tokens joined by blanks: its references, and its one
candidate. Scores come in the order of `gts`. What pycocoevalcap asserts raises a `TypeError` or `ValueError` here.
"""

import functools
import os
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from tqdm import tqdm

from manycaps.kit.arrays import Floats, Ints
from manycaps.kit.errors import InputError, InputTypeError, quote_value
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.meteor15_scores import best_statistics, corpus_score, scores
from manycaps.kit.ngrams import NgramIndex
from manycaps.kit.ngrams_bleu import bleu_scores, bleu_statistics
from manycaps.kit.ngrams_cider import cider_scores
from manycaps.kit.ngrams_rouge import BETA, rouge_l_scores
from manycaps.kit.rows import check_no_written_list, looks_like_list
from manycaps.kit.words_ptb import tokenize_line

from . import guards
from .cider_counts import CiderScorer

# Captions by the id of their image, and the candidates of SCST: [{"image_id": 1, "caption": ["a dog"]}].
Captions = Mapping[Hashable, Sequence[str]]
SplitResults = Sequence[Mapping[str, Any]]

# What pycocoevalcap prints of an image's candidate, by its names.
COUNTS = ("testlen", "guess", "correct")

# Captions whose tokens are remembered, those used last: callers tokenise the same ones for every metric.
N_REMEMBERED = 1 << 16

_line = functools.lru_cache(N_REMEMBERED)(tokenize_line)


class PTBTokenizer:
    """Tokens of Stanford's PTB tokenizer, lower-case and without punctuation.

    Line breaks of any kind are blanks; in pycocoevalcap a carriage return or a Unicode line separator gives all later
    captions of the call to the wrong image. Characters that Java 3.4.1 cannot read are dropped, as there.

    >>> PTBTokenizer().tokenize({7: [{"caption": "A dog's toy."}]})
    {7: ["a dog 's toy"]}
    """

    def tokenize(self, captions_for_image: Mapping[Hashable, Sequence[Mapping[str, str]]]) -> dict[Any, list[str]]:
        """Tokenise captions; an image without captions is left out.

        Args:
            captions_for_image: lists of {"caption": "A dog."} by id.

        Returns:
            Lists of tokens joined by blanks, by id.

        Raises:
            TypeError: a caption is no {"caption": "A dog."}; the message names the first one.
            ValueError: a caption is a list that became text.
        """
        texts = {
            key: [_caption_of(caption, f"captions_for_image[{quote_value(key)}][{i}]") for i, caption in enumerate(own)]
            for key, own in captions_for_image.items()
            if len(own)
        }
        guards.warn(guards.without_spaces([text for own in texts.values() for text in own]))
        return {key: [_line(text) for text in own] for key, own in texts.items()}


def _caption_of(caption: Any, where: str) -> str:
    """Text of a caption as pycocotools has it."""
    try:
        text = caption["caption"]
    except (TypeError, KeyError, IndexError):
        text = None
    if not isinstance(text, str):
        raise InputTypeError(where, "{'caption': 'A dog.'}", quote_value(caption), "Leave it out, or give its text.")
    check_no_written_list(text, where)
    return _as_plain(text)


def _as_plain(text: str) -> str:
    """A string of a subclass, as NumPy's are, as its text."""
    return text if type(text) is str else str.__str__(text)


class _Scorer:
    """A scorer with the name under which pycocoevalcap prints it."""

    NAME: ClassVar[str]

    def method(self) -> str:
        """Return this name."""
        return self.NAME


class Bleu(_Scorer):
    """BLEU-1 to BLEU-n of the corpus, and of every image.

    >>> score, scores = Bleu(2).compute_score({1: ["a dog runs"]}, {1: ["a dog"]}, verbose=0)
    >>> [round(value, 4) for value in score]
    [0.6065, 0.6065]
    """

    NAME = "Bleu"

    def __init__(self, n: int = 4) -> None:
        self._n = n

    def compute_score(self, gts: Captions, res: Captions, verbose: int = 1) -> tuple[list[float], list[list[float]]]:
        """Return n values of the corpus, and n lists of values of the images.

        With `verbose` the sums of counts are printed; above 1 first the counts of every image, with the length of the
        reference that is nearest.
        """
        ngrams = _as_texts(gts, res).ngrams
        statistics = bleu_statistics(ngrams, self._n)
        total = statistics.sum(axis=0)
        if verbose > 1:
            lengths = np.split(ngrams.lengths, ngrams.candidates[1:])
            for row, texts in zip(bleu_statistics(ngrams).tolist(), lengths, strict=True):  # whatever n is, as there
                counts = _named_counts(row)
                print({"reflen": texts[1:].tolist()} | {key: counts[key] for key in COUNTS}, counts["reflen"])
        if verbose:
            counts = _named_counts(total.tolist())
            print(counts)
            print("ratio:", (counts["testlen"] + 1e-15) / (counts["reflen"] + 1e-9))
        corpus: list[float] = bleu_scores(total[None])[0].tolist()
        return corpus, bleu_scores(statistics).T.tolist()


def _named_counts(statistics: Sequence[int]) -> dict[str, Any]:
    """Statistics of BLEU under the names of pycocoevalcap."""
    *counts, length, reference_length = statistics
    n = len(counts) // 2
    return {"testlen": length, "reflen": reference_length, "guess": counts[n:], "correct": counts[:n]}


class Cider(_Scorer):
    """CIDEr-D, which pycocoevalcap calls CIDEr: with clipping and length penalty. CIDEr of the paper is `PlainCider`.

    >>> gts = {1: ["a red dog"], 2: ["the cat"]}
    >>> score, scores = Cider().compute_score(gts, gts)
    >>> float(score), scores.tolist()
    (6.25, [7.5, 5.0])
    """

    NAME = "CIDEr"

    def __init__(
        self,
        test: object = None,  # noqa: ARG002  # callers give n and sigma by place
        refs: object = None,  # noqa: ARG002
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        """Take the largest n and the standard deviation of the penalty; as there, `test` and `refs` are unused."""
        self._n, self._sigma = n, sigma

    def compute_score(self, gts: Captions, res: Captions) -> tuple[np.floating[Any], Floats]:
        """Return the mean over images, and the value of every image."""
        texts = _as_texts(gts, res)
        ngrams = texts.ngrams
        lengths = [ngrams.lengths[side] for side in (ngrams.is_candidate, ~ngrams.is_candidate)]
        guards.warn(guards.too_few_documents(len(gts)), guards.same_references(texts.references))
        guards.warn(guards.too_long(lengths[0], lengths[1], self._sigma))
        values = cider_scores(ngrams, self._n, sigma=self._sigma)
        return np.mean(values), values


class CiderD(_Scorer):
    """CIDEr-D as self-critical training calls it (pyciderevalcap): candidates in a list, frequencies from a file.

    >>> reward = CiderD(df={"n_documents": 10, "document_frequency": {"a": 10}})
    >>> reward.compute_score({7: ["a red dog"]}, [{"image_id": 7, "caption": ["a red dog"]}])[1].tolist()
    [7.5]
    """

    NAME = "CIDEr-D"

    IS_CLIPPED = True

    def __init__(
        self, n: int = 4, sigma: float = 6.0, df: str | os.PathLike[str] | Mapping[str, Any] = "corpus"
    ) -> None:
        """Take the largest n, the standard deviation of the penalty, and document frequencies.

        Args:
            n: largest n.
            sigma: in bigrams.
            df: "corpus" counts in the references of a call; else the path of the pickle of SCST code, also as the name
                of a file data/NAME.p; or a table of `manycaps count-document-frequency`, as a path or a mapping. Read
                when first needed, without running code.
        """
        self._n, self._sigma, self._df = n, sigma, df
        # As callers reach for it: a table is read when it is first needed.
        self.cider_scorer = CiderScorer(df, n=n, sigma=sigma, is_clipped=self.IS_CLIPPED)

    def compute_score(self, gts: Captions, res: SplitResults) -> tuple[np.floating[Any], Floats]:
        """Return the mean over candidates, and the value of every candidate, in the order of `res`."""
        candidates: dict[Hashable, Any] = {i: entry["caption"] for i, entry in enumerate(res)}
        missing = [entry["image_id"] for entry in res if entry["image_id"] not in gts]
        if missing:
            got = f"{len(missing)} others such as {quote_value(missing[0])}"
            raise InputError("res", "images of gts", got, "Give the references of all images.")
        texts = _as_texts({i: gts[entry["image_id"]] for i, entry in enumerate(res)}, candidates)
        if self.cider_scorer.is_counted:
            guards.warn(guards.too_few_documents(len(res)), guards.same_references(texts.references))
        values = self.cider_scorer.ciders(texts.ngrams, is_counted=self.cider_scorer.is_counted)
        return np.mean(values), values

    def my_compute_score(
        self,
        gts: Sequence[Sequence[str]],
        res: Sequence[Sequence[str]],
        avg_refs: bool = True,  # noqa: ARG002  # as there, without an effect
    ) -> tuple[np.floating[Any], Floats]:
        """Score several candidates of every image, with the frequencies of `cider_scorer`.

        Args:
            gts: n_images lists of references.
            res: n_images lists of candidates, as many of each image.
            avg_refs: unused.

        Returns:
            The mean, and a float64 array, shape (n_images, n_candidates): the means over references.
        """
        pairs = zip(gts, res, strict=True)
        values = np.array([self.cider_scorer.my_get_cider(own, texts).mean(axis=1) for own, texts in pairs])
        return np.mean(values), values

    def my_self_cider(self, res: Sequence[Sequence[str]]) -> list[Floats]:
        """Score the captions of every image against each other, with the frequencies of `cider_scorer`.

        Args:
            res: n_images lists of captions.

        Returns:
            For each image a float64 array, shape (n_captions, n_captions), 0 to 10: divided by 10, its eigenvalues
            make self-CIDEr.
        """
        return [self.cider_scorer.my_get_self_cider(own) for own in res]


class PlainCider(CiderD):
    """CIDEr of the paper, without clipping and length penalty: `pyciderevalcap.cider.cider.Cider`."""

    NAME = "CIDEr"

    IS_CLIPPED = False

    def __init__(self, n: int = 4, df: str | os.PathLike[str] | Mapping[str, Any] = "corpus") -> None:
        """Take the largest n, and document frequencies as `CiderD`."""
        super().__init__(n, df=df)


class Meteor(_Scorer):
    """METEOR 1.5. Its data come from the installed package pycocoevalcap, unless a path is given.

    A reference with "|||" or a line break is one text here; there it breaks the protocol of the Java program. `lock`
    and `meteor_p`, which callers hold and stop, stand for what is not needed here.
    """

    NAME = "METEOR"

    def __init__(self, meteor15_data: str | os.PathLike[str] | None = None) -> None:
        """Take the path of meteor-1.5.jar, or of a folder that holds it; the data are read when first needed."""
        self._data = meteor15_data

    def __getstate__(self) -> dict[str, Any]:
        return {"_data": self._data}

    @functools.cached_property
    def lock(self) -> "threading.Lock":
        """A lock of this scorer's own."""
        return threading.Lock()

    @functools.cached_property
    def meteor_p(self) -> "NoProcess":
        """What stands for the Java process."""
        return NoProcess()

    def compute_score(self, gts: Captions, res: Captions) -> tuple[float, list[float]]:
        """Return the value of the corpus, from summed statistics, and the value of every image."""
        statistics = self._statistics(_as_texts(gts, res))
        return corpus_score(statistics), scores(statistics).tolist()

    def _statistics(self, texts: "_Texts") -> Ints:
        own = [[text.replace("|||", "").replace("  ", " ")] for text in texts.candidates]
        return best_statistics(own, texts.references, load_lexicon(self._data, tqdm), _without_progress)

    def _stat(self, hypothesis_str: str, reference_list: Sequence[str]) -> str:
        """Return the statistics of a candidate as the line that the Java program prints."""
        (statistics,) = self._statistics(_as_texts({0: reference_list}, {0: [hypothesis_str]})).tolist()
        return " ".join(str(float(number)) for number in statistics)

    def _score(self, hypothesis_str: str, reference_list: Sequence[str]) -> float:
        """Return the value of a candidate."""
        return self.compute_score({0: reference_list}, {0: [hypothesis_str]})[0]


class NoProcess:
    """The process of a program that is not run: it can be stopped and waited for, and has nothing to read or write."""

    pid = returncode = None

    @property
    def stdin(self) -> "NoProcess":
        """What stands for its pipes: they can be closed and flushed."""
        return self

    stdout = stderr = stdin

    def _stop(self, *_arguments: object, **_options: object) -> int:
        """Return at once."""
        return 0

    kill = terminate = wait = poll = close = flush = _stop

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"meteor_p.{name}: expected compute_score, _stat or _score, got a call to the Java process, which is not "
            "run here. Call one of these."
        )


class Rouge(_Scorer):
    """ROUGE-L; `beta`, the weight of recall over precision, can be set.

    >>> round(Rouge().calc_score(["a red dog"], ["a dog"]), 4)
    0.8299
    """

    NAME = "Rouge"

    def __init__(self) -> None:
        self.beta = BETA

    def calc_score(self, candidate: Sequence[str], refs: Sequence[str]) -> float:
        """Score one candidate, in a list, against its references."""
        return float(_as_texts({0: refs}, {0: candidate}).rouge(self.beta)[0])

    def compute_score(self, gts: Captions, res: Captions) -> tuple[np.floating[Any], Floats]:
        """Return the mean over images, and the value of every image."""
        values = _as_texts(gts, res).rouge(self.beta)
        return np.mean(values), values


class Spice(_Scorer):
    """SPICE is not offered: it can be made, since callers make all scorers, and raises when it is to compute."""

    NAME = "SPICE"

    def compute_score(self, gts: Captions, res: Captions) -> tuple[float, list[Any]]:
        """Raise `NotImplementedError`."""
        raise NotImplementedError(
            "SPICE: expected another metric, got one that is not computed here. Run pycocoevalcap's own, which needs "
            "Java, without `manycaps.integrations.coco.install()`."
        )


class _Texts:
    """Candidates and references of a call, examined and split into words once for all scorers."""

    def __init__(self, candidates: tuple[str, ...], references: tuple[tuple[str, ...], ...]) -> None:
        self.candidates, self.references = candidates, references
        self._texts = [text for mine, others in zip(candidates, references, strict=True) for text in (mine, *others)]
        self._together = " ".join(self._texts)
        # Whether words are the same, split at white space or at single blanks.
        self._is_plain = "  " not in f" {self._together} " and self._together.isprintable()
        self.warnings = (
            guards.empty_candidates(candidates),
            guards.decoder_signs(candidates, references),
            guards.tokenisation_warning(self._texts),
        )

    @functools.cached_property
    def ngrams(self) -> NgramIndex:
        """N-grams of the words between white space, for BLEU and CIDEr."""
        if self._is_plain:
            lengths = [text.count(" ") + 1 for text in self._texts]
        else:
            lengths = [len(text.split()) for text in self._texts]
        return self._build_index(self._together.split(), lengths)

    def rouge(self, beta: float) -> Floats:
        """Return ROUGE-L of every candidate; words are split at single spaces alone, as there."""
        if self._is_plain:
            return rouge_l_scores(self.ngrams, beta)
        lengths = [text.count(" ") + 1 for text in self._texts]
        return rouge_l_scores(self._build_index(self._together.split(" "), lengths), beta)

    def _build_index(self, words: list[str], lengths: list[int]) -> NgramIndex:
        n_references = np.array([len(row) for row in self.references], np.int64)
        return NgramIndex(words, np.array(lengths, np.int64), np.ones_like(n_references), n_references)


_texts = functools.lru_cache(1)(_Texts)


def _as_texts(gts: Captions, res: Captions) -> _Texts:
    """Candidates and references in the order of `gts`, checked and examined."""
    if gts.keys() != res.keys():
        missing = [key for key in gts if key not in res] or [key for key in res if key not in gts]
        expected = f"one candidate for each of the {len(gts)} images of gts"
        got = f"{len(res)} images; {quote_value(missing[0])} is in one of them alone"
        fix = "Leave out images without a candidate: coco_eval.params['image_id'] = coco_result.getImgIds()."
        raise InputError("res", expected, got, fix)
    if not gts:
        raise InputError("gts", "at least one image", "none", "Give captions by the id of their image.")
    for key, own in gts.items():
        _check_texts("gts", key, own)
        _check_texts("res", key, res[key])
        if len(res[key]) != 1:
            fix = "Score several candidates of an image by the module coco_caption."
            raise InputError(f"res[{quote_value(key)}]", "a list of one candidate", len(res[key]), fix)
    # Of candidates, which a model in training samples, some may look as they like.
    columns = {"gts": gts} | ({"res": res} if all(looks_like_list(own[0]) for own in res.values()) else {})
    for name, column in columns.items():
        written = next((key for key, own in column.items() if any(map(looks_like_list, own))), None)
        if written is not None:
            check_no_written_list(next(filter(looks_like_list, column[written])), f"{name}[{quote_value(written)}]")
    references = tuple(tuple(map(_as_plain, own)) for own in gts.values())
    texts = _texts(tuple(_as_plain(res[key][0]) for key in gts), references)
    guards.warn(*texts.warnings)
    return texts


def _check_texts(name: str, key: Hashable, texts: object) -> None:
    """Raise unless this is a list of at least one string."""
    if not isinstance(texts, list | tuple) or not all(issubclass(kind, str) for kind in {type(text) for text in texts}):
        fix = "Give tokens joined by spaces, as PTBTokenizer().tokenize returns them."
        raise InputTypeError(f"{name}[{quote_value(key)}]", "a list of strings", quote_value(texts), fix)
    if not texts:
        raise InputError(f"{name}[{quote_value(key)}]", "at least one caption", "none", "Leave the image out.")


def _without_progress(steps: Any, **_about: Any) -> Any:
    """Show nothing."""
    return steps
