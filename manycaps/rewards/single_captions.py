"""Scores of single captions as rewards: what self-critical training uses, and what makes a captioner repeat itself."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from manycaps.catalog.installed_modules import load

from ..kit.arrays import Floats, TokenRows
from ..kit.meteor_nltk import METEORS, meteor_scorer
from ..kit.ngrams import MAX_ORDER, NgramIndex, tuple_frequency
from ..kit.ngrams_bleu import bleu_scores, bleu_statistics
from ..kit.ngrams_cider import cider_scores
from ..kit.object_words import coco_vocabulary, compare_rows, own_vocabulary, shares_in_image
from ..kit.options import check_choice, check_whole_number
from ..kit.words_tokenizers import Tokenizer, check_tokenizer, ngram_tokens, tokenize_rows
from .caption_reward import CaptionReward, RewardedRows, different_share
from .distances import Documents, as_documents, has_word


class SingleCaptionReward(CaptionReward):
    """A score of one caption at a time: its optimum is the one text that scores best, whatever people vary.

    `last` has the mean score and the share of different captions in a group, which falls when a model collapses. To
    watch more beside such a reward, give TRL an `EnergyReward` of weight 0 with it.
    """

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return the scores of all candidates, row after row: float64 array, shape (n_candidates in all,)."""
        raise NotImplementedError

    def rewards_of(self, rows: RewardedRows) -> list[Floats]:
        """Return the rewards of each row."""
        scores = np.asarray(self.scores_of(rows), np.float64)
        ends = np.cumsum([len(row) for row in rows.candidates])
        texts = [text for row in rows.candidates for text in row]
        groups = [range(end - len(row), end) for end, row in zip(ends, rows.candidates, strict=True)]
        self.last = {"score": float(scores.mean())} | different_share(texts, groups)
        return np.split(scores, ends[:-1])


class TokenReward(SingleCaptionReward):
    """A score of tokens."""

    def __init__(self, *, tokenizer: Tokenizer = "ptb", references: str = "references", name: str | None = None):
        super().__init__(references=references, name=name)
        check_tokenizer(tokenizer)
        self._tokenizer = tokenizer

    def ngrams(self, rows: RewardedRows) -> NgramIndex:
        """Return the n-grams of candidates and references."""
        return NgramIndex.of_rows(*(ngram_tokens(side, self._tokenizer) for side in rows[:2]))


class CiderReward(TokenReward):
    """CIDEr-D, 0 to 10, with document frequencies of the training corpus: the reward of self-critical training.

    Args:
        document_frequency: a table, its path, or all lists of references of the training corpus.
        tokenizer: as the option of the modules; "none" for texts that are tokens already, joined by blanks.
        references: name of the column of human texts.
        name: what TRL's logs call it.

    Raises:
        TypeError, ValueError: no document frequencies, or others than these.

    >>> reward = CiderReward([["a red dog"], ["a cat"]])
    >>> reward([["a red dog", ""]], [["a red dog"]]).round(4).tolist()
    [[7.5, 0.0]]
    """

    def __init__(
        self,
        document_frequency: Documents | None = None,
        *,
        tokenizer: Tokenizer = "ptb",
        references: str = "references",
        name: str | None = None,
    ):
        super().__init__(tokenizer=tokenizer, references=references, name=name)
        counts, self._n_documents = as_documents(document_frequency, tokenizer)
        # By tokens: a step looks thousands of n-grams up, and joining them would take longer than that.
        self._counts = {tuple(ngram.split(" ")): count for ngram, count in counts.items()}

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return CIDEr-D of all candidates."""
        return cider_scores(self.ngrams(rows), frequency=tuple_frequency(self._counts), n_documents=self._n_documents)


class BleuReward(TokenReward):
    """BLEU of a single caption, 0 to 1, as the COCO caption code computes it.

    Args:
        order: longest n-gram, 1 to 4.
        tokenizer: as the option of the modules.
        references: name of the column of human texts.
        name: what TRL's logs call it.

    >>> BleuReward(order=1)([["a dog", ""]], [["a dog", "a cat"]]).round(4).tolist()
    [[1.0, 0.0]]
    """

    def __init__(
        self,
        order: int = MAX_ORDER,
        *,
        tokenizer: Tokenizer = "ptb",
        references: str = "references",
        name: str | None = None,
    ):
        super().__init__(tokenizer=tokenizer, references=references, name=name)
        check_whole_number("order", order, 1, MAX_ORDER)
        self._order = order

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return BLEU of all candidates."""
        return bleu_scores(bleu_statistics(self.ngrams(rows)))[:, self._order - 1]


class MeteorReward(TokenReward):
    """METEOR against the best reference, 0 to 1.

    Args:
        meteor: "nltk", or "1.5" as in captioning papers, with data that `pip install pycocoevalcap` brings.
        meteor15_data: path of meteor-1.5.jar, or of a folder that holds it.
        tokenizer: as the option of the modules.
        references: name of the column of human texts.
        name: what TRL's logs call it.
    """

    def __init__(
        self,
        meteor: str = "nltk",
        *,
        meteor15_data: str | os.PathLike[str] | None = None,
        tokenizer: Tokenizer = "ptb",
        references: str = "references",
        name: str | None = None,
    ):
        super().__init__(tokenizer=tokenizer, references=references, name=name)
        check_choice("meteor", meteor, METEORS)
        self._score = meteor_scorer(meteor, meteor15_data, tqdm)

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return METEOR of all candidates."""
        sides: list[TokenRows] = [tokenize_rows(side, self._tokenizer) for side in rows[:2]]
        joint = [[*mine, *theirs] for mine, theirs in zip(*sides, strict=True)]
        scores = zip(self._score(joint), sides[0], strict=True)
        return np.concatenate([row[len(mine) :, : len(mine)].max(axis=0) for row, mine in scores])


class ChairReward(SingleCaptionReward):
    """Share of the objects that a caption names which are in the image, 0 to 1: 1 - CHAIR-i of the caption.

    What is in the image is what its references name. A caption that names nothing has 1: give a reward for content
    beside it.

    Args:
        vocabulary: names of objects, each with a list of words, as of the module `chair`; default: COCO's 80 objects.
        references: name of the column of human texts.
        name: what TRL's logs call it.

    >>> ChairReward()([["a dog on a bed", "a dog"]], [["a puppy sleeps"]]).tolist()
    [[0.5, 1.0]]
    """

    def __init__(
        self,
        vocabulary: Mapping[str, Sequence[str]] | None = None,
        *,
        references: str = "references",
        name: str | None = None,
    ):
        super().__init__(references=references, name=name)
        self._vocabulary = coco_vocabulary() if vocabulary is None else own_vocabulary(vocabulary)

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return the shares of all candidates."""
        return shares_in_image(compare_rows(rows.candidates, rows.references, None, self._vocabulary))


class PacReward(SingleCaptionReward):
    """PAC-S of caption and image, 0 to 2 with the default weight; a caption without a word has 0.

    Features of images and texts are computed once, as long as they are in memory.

    Args:
        checkpoint: weights, as for the module `pac_score`; None for the published ones.
        images: name of the column of images.
        name: what TRL's logs call it.
        options: others of the module, such as variant, model, device and dtype.
    """

    NEEDS_REFERENCES = False
    NEEDS_IMAGES = True
    MODULE = "pac_score"

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        references: str = "references",
        images: str = "image",
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(references=references, images=images, name=name)
        given = options | ({} if checkpoint is None else {"checkpoint": checkpoint})
        self._module = load(self.MODULE, **given | {"details": True})

    def scores_of(self, rows: RewardedRows) -> Floats:
        """Return the module's scores of all candidates."""
        texts = [[text if has_word(text) else "." for text in row] for row in rows.candidates]
        references = {"references": rows.references} if self.NEEDS_REFERENCES else {}
        images = [] if rows.images is None else list(rows.images)
        result: Mapping[str, Any] = self._module.compute(predictions=texts, images=images, **references)
        scores = [score for row in result[f"{self.MODULE}_per_candidate"] for score in row]
        have_words = [has_word(text) for row in rows.candidates for text in row]
        return np.where(have_words, scores, 0.0)


class RefPacReward(PacReward):
    """RefPAC-S of caption, image and references, 0 to 1; arguments as for `PacReward`, and `references`."""

    NEEDS_REFERENCES = True
    MODULE = "ref_pac_score"
