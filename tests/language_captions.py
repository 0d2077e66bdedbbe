"""Captions in other languages than English: varied sentences put together by chance, always the same ones.

Five languages are METEOR 1.5's, with forms of words that stemmers join, quotation marks, apostrophes,
abbreviations and numbers; the others are for tokenizers.
"""

import json
import pathlib
import random

CONTENT = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

# By language: who (singular and plural, with an article), what they do (both), where, how, and what a scene ends with.
PARTS = {language: tuple(parts.values()) for language, parts in CONTENT["parts"].items()}

# Captions without blanks between words, or with punctuation of their own.
SENTENCES = CONTENT["sentences"]


def caption(language: str, who: int, generator: random.Random) -> str:
    """Return a sentence about the same people or things in other words."""
    subjects, verbs, places, manners = PARTS[language]
    number = generator.randrange(2)
    parts = [
        subjects[who][number],
        generator.choice(verbs)[number],
        generator.choice(places),
        generator.choice(manners),
    ]
    if generator.random() < 0.3:
        parts[2:] = parts[:1:-1]
    if generator.random() < 0.2:
        parts[1:1] = [generator.choice([",", "-", "--", "..."])]
    text = " ".join(filter(None, parts)) + generator.choice(["", ".", ".", "!", " ."])
    return text[0].upper() + text[1:] if generator.random() < 0.7 else text


def segments(language: str, n_segments: int = 1000, n_references: int = 3) -> list[tuple[str, list[str]]]:
    """Return captions, each with references about the same or, at times, other people or things."""
    generator = random.Random(f"METEOR 1.5, {language}")
    found = []
    for _ in range(n_segments):
        who = generator.randrange(len(PARTS[language][0]))
        others = [who if generator.random() < 0.8 else generator.randrange(len(PARTS[language][0]))] * n_references
        references = [caption(language, other, generator) for other in others]
        found.append((caption(language, who, generator), references))
    return found


def paraphrases(language: str) -> list[tuple[str, str]]:
    """Return phrases with paraphrases, as a table has them: sorted by bytes, the better ones first."""
    _, verbs, places, manners = PARTS[language]
    phrases = [*(verb.lower() for pair in verbs for verb in pair), *filter(None, (*places, *manners))]
    generator = random.Random(f"paraphrases, {language}")
    pairs = {(phrase, other) for phrase in phrases for other in generator.sample(phrases, 3) if phrase != other}
    return sorted(pairs, key=lambda pair: (pair[0].encode(), pair[1].encode()))
