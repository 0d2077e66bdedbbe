"""Sentences: the one division of texts into sentences, which every module and command uses."""

import importlib.metadata
import re
from collections.abc import Sequence

import sentencex

from .arrays import plain_arguments
from .errors import InputError, InputTypeError, quote_value
from .options import Option

# --------------------------------------------------------------------------------------------------------------------
# Rules of Wikimedia's sentencex: a mark of the language ends a sentence, unless it belongs to an abbreviation, a
# number, a quotation or a bracket; so do an empty line and an item of a list. It has no model to load, divides a
# million captions per second, and joins rather than cuts where it is in doubt. Beside it were tried pysbd (last release
# of 2021; 300 times slower; cuts "El Sr. García"), blingfire (cuts quotations in brackets; no rules per language),
# syntok (knows no Chinese or Japanese), and NLTK's punkt and spaCy's pipelines, which need a download.

# A letter of any script.
LETTER = re.compile(r"[^\W\d_]")

# A text that is one quotation: the quotes belong to its first and last sentence, and do not hold it together.
QUOTATION = re.compile(r"(\s*[\"'“‘«「]+)((?:[^\"“”«»「」'’]|(?<=\w)['’](?=\w))+)([\"'”’»」]+\s*)")

# A text of words and commas, with one mark at its end: one sentence in every language.
PLAIN = re.compile(r"[\w ,]*[.!?]?")

# Code of a language, with or without a region: "en", "pt-BR", "zh_Hant".
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def check_language(name: str, language: object) -> None:
    """Raise unless `language` is a code as of ISO 639."""
    advice = "Give the code of the captions' language, such as 'en', 'de' or 'zh'."
    if not isinstance(language, str):
        raise InputTypeError(name, "a language code", quote_value(language), advice)
    if not LANGUAGE_CODE.fullmatch(language):
        raise InputError(name, "a language code of two or three letters", quote_value(language), advice)


LANGUAGE: dict[str, Option] = {
    "language": Option(
        "en",
        check_language,
        'Code of the language whose rules divide texts into sentences (ISO 639, such as `"de"` or `"zh"`): '
        "abbreviations, and marks at the end of a sentence. Unknown ones have the rules of English.",
    )
}


def sentence_pieces(text: str, language: str = "en") -> list[str]:
    r"""Cut a text into its sentences with the blanks around them: joined, the pieces are the text.

    A piece without a letter, such as the number of a list's item or a lone full stop, belongs to the next sentence, or
    at the end to the last one. There is at least one piece, even of an empty text.

    >>> sentence_pieces("1. A dog runs at 5 p.m. It is wet!\n")
    ['1. A dog runs at 5 p.m. ', 'It is wet!\n']
    >>> sentence_pieces("")
    ['']
    """
    if PLAIN.fullmatch(text):
        return [text]
    quotation = QUOTATION.fullmatch(text)
    begin, inside, end = quotation.groups() if quotation else ("", text, "")
    pieces: list[str] = []
    waiting = begin
    for piece in sentencex.segment(re.split("[-_]", language)[0].lower(), inside):
        waiting += piece
        if LETTER.search(piece):
            pieces.append(waiting)
            waiting = ""
    if not pieces:
        return [text]
    pieces[-1] += waiting + end
    return pieces


@plain_arguments
def split_sentences(texts: Sequence[str], language: str = "en") -> list[list[str]]:
    r"""Divide texts into sentences, without the blanks around them.

    A caption without a full stop is one sentence, and so is a text without any word. Rules:
    https://github.com/wikimedia/sentencex.

    Args:
        texts: n texts.
        language: ISO code of the language whose rules are used; unknown ones have the rules of English.

    Returns:
        n lists of at least one sentence each.

    Raises:
        TypeError, ValueError: the language is no code.

    >>> split_sentences(["a dog runs", "Dr. Li paid $3.50. 'Stop!' he said.", "狗在跑。它很湿！", ""])
    [['a dog runs'], ['Dr. Li paid $3.50.', "'Stop!' he said."], ['狗在跑。', '它很湿！'], ['']]
    """
    check_language("language", language)
    return [[piece.strip() for piece in sentence_pieces(text, language)] for text in texts]


def sentence_rules(language: str) -> str:
    """Return the name of the rules, with their version, for signatures."""
    return f"sentencex-{importlib.metadata.version('sentencex')}/{language}"
