"""Language models of other texts, by their frequencies of n-grams, for the wording of captions."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .errors import InputError, quote_value
from .files import check_count_table, is_count, read_json
from .words_tokenizers import Tokenizer, check_same_tokenizer

# Layout of the file of a language model: trigrams as three tokens joined by blanks, where an empty token is the mark
# before or after a caption; and how to make one.
LANGUAGE_MODEL_LAYOUT = '{"n_captions": 8092, "trigrams": {"  a": 312, " a dog": 40, ...}}'

HOW_TO_MAKE_A_MODEL = "Make one with `manycaps count-ngrams`."


class LanguageModel(NamedTuple):
    """How often each trigram occurs in a corpus of captions; see `LANGUAGE_MODEL_LAYOUT`."""

    trigrams: Mapping[str, int]
    n_captions: int


def check_language_model(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the counts are not read."""
    if source is not None:
        check_count_table(source, "language_model", "", HOW_TO_MAKE_A_MODEL)


def load_language_model(
    source: str | os.PathLike[str] | Mapping[str, Any] | None, tokenizer: Tokenizer | None = None
) -> LanguageModel | None:
    """Read and check the counts of a corpus: the path of a JSON file, or a mapping; None stays None.

    Their tokenizer, where they say which, is the one given.

    >>> load_language_model({"n_captions": 1, "trigrams": {"  a": 1, " a ": 1}})
    LanguageModel(trigrams={'  a': 1, ' a ': 1}, n_captions=1)
    """
    if source is None:
        return None
    table = source if isinstance(source, Mapping) else read_json(source, "language_model", HOW_TO_MAKE_A_MODEL)
    trigrams, n_captions = (
        (table.get("trigrams"), table.get("n_captions")) if isinstance(table, Mapping) else (None, None)
    )
    if not isinstance(trigrams, Mapping) or not trigrams or not is_count(n_captions, 1, 2**53):
        raise InputError(
            "language_model", f"the layout {LANGUAGE_MODEL_LAYOUT}", quote_value(table), HOW_TO_MAKE_A_MODEL
        )
    check_same_tokenizer(table, "language_model", tokenizer)
    for trigram, count in trigrams.items():
        if not isinstance(trigram, str) or trigram.count(" ") != 2 or not is_count(count, 1, 2**53):
            expected = "three tokens joined by blanks and a whole number from 1 on"
            raise InputError(
                f"language_model[{quote_value(trigram)}]", expected, quote_value(count), HOW_TO_MAKE_A_MODEL
            )
    return LanguageModel(trigrams, n_captions)


def caption_trigrams(tokens: Sequence[str]) -> list[str]:
    """Return the trigrams of a caption as a language model's file names them.

    >>> caption_trigrams(["a", "dog"])
    ['  a', ' a dog', 'a dog ']
    """
    marked = ["", "", *tokens, ""]
    return [" ".join(marked[i : i + 3]) for i in range(len(marked) - 2)]
