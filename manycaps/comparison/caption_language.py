"""Whether captions are English, which the default sentence encoder is for."""

import itertools
import re
from collections.abc import Iterable

# Small words of English captions, and of those in other languages of Europe; words of both count for neither.
ENGLISH = frozenset("the a an of and with is are on at to by for from as their his her two".split())
OTHERS = frozenset(
    "der die das ein eine einen einem und auf mit ist im le les un une des et dans sur avec est du el los las una y en "
    "con il lo gli uno e della sul di um uma os o no na com het een van op met den det och en p\u00e5 med er i w z na "
    "si se jest".split()
)

# Captions that are looked at.
MOST_CAPTIONS = 1_000

# Shares of letters with accents or of another script, and of words among `OTHERS`, from which on a text is not English.
LEAST_LETTERS, LEAST_WORDS = 0.05, 0.1

LETTERS, WORDS = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")


def looks_english(captions: Iterable[str]) -> bool:
    """Whether captions are in English, as far as their letters and small words say; of tags alone, too.

    >>> looks_english(["a dog runs on the beach"]), looks_english(["ein Hund rennt auf dem Strand"])
    (True, False)
    """
    text = " ".join(itertools.islice(captions, MOST_CAPTIONS)).lower()
    letters, words = LETTERS.findall(text), WORDS.findall(text)
    if sum(not letter.isascii() for letter in letters) > LEAST_LETTERS * len(letters):
        return False
    n_english, n_other = (sum(word in small for word in words) for small in (ENGLISH - OTHERS, OTHERS - ENGLISH))
    return n_other < max(n_english, LEAST_WORDS * len(words))
