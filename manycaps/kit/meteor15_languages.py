"""The languages of METEOR 1.5: what distinguishes their scores, words and data."""

from typing import NamedTuple


class Language(NamedTuple):
    """Parameters of a language for the task "rank" (Denkowski and Lavie 2014, table 1)."""

    # Of the files with function words and abbreviations in the program, and of the table of paraphrases beside it.
    name: str
    table: str
    alpha: float
    beta: float
    gamma: float
    delta: float
    # Of exact, stem, synonym and paraphrase matches; 0 where a language has none of a kind.
    weights: tuple[float, float, float, float]


LANGUAGES = {
    "en": Language("english", "en", 0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6)),
    "de": Language("german", "de", 0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.2)),
    "fr": Language("french", "fr", 0.90, 1.4, 0.60, 0.65, (1.0, 0.2, 0.0, 0.4)),
    "es": Language("spanish", "es", 0.65, 1.3, 0.50, 0.80, (1.0, 0.8, 0.0, 0.6)),
    "cs": Language("czech", "cz", 0.95, 0.2, 0.60, 0.80, (1.0, 0.0, 0.0, 0.4)),
    "ru": Language("russian", "ru", 0.75, 1.4, 0.70, 0.50, (1.0, 0.5, 0.0, 0.5)),
}
ENGLISH = LANGUAGES["en"]

# Whose function words count: the program, called with a language alone, takes the English ones for every language.
FUNCTION_WORDS = ("english", "language")
