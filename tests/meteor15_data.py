"""Small data of METEOR 1.5, written for the tests in the form of the program's own, and read back line by line."""

import gzip
import pathlib
import zipfile
from types import SimpleNamespace

from manycaps.kit.meteor15_words import english_stem

FUNCTION_WORDS = "the , . to of and a in 's on".split()
PREFIXES = ["# People and things.", "Mr", "St", "No #NUMERIC_ONLY#", "pp #NUMERIC_ONLY#"]
SYNSETS = {
    "film": "101 102",
    "movie": "101",
    "dog": "201 202",
    "puppy": "202",
    "mouse": "301",
    "rodent": "301",
    "cook": "401 402",
    "chef": "402",
    "run": "501",
    "sprint": "501",
    "big": "601",
    "large": "601 602",
    "great": "602",
}
EXCEPTIONS = {"mouse": "mice mices", "run": "ran"}
# Source, then paraphrases in rank order; sources in alphabetical order.
PARAPHRASES = {
    "a lot of": ["many", "much", "a great many"],
    "couch": ["sofa", "the couch"],
    "in front of": ["before", "ahead of", "in the front of"],
    "many": ["a lot of", "a great many"],
    "man": ["person", "a person", "guy"],
    "near the": ["close to the", "by the"],
    "person": ["man", "individual"],
    "sofa": ["couch"],
    "the couch": ["a sofa", "the sofa", "couch"],
}

# Words that meet in every way: equal hashes ("20s" and "225"), stems, synonyms, paraphrases of one word and of several.
WORDS = (
    "a a the the of , . dog dogs puppy film films movie mice mouse rodent cook cooks chef run runs ran sprint big "
    "large great man person guy individual couch sofa many much lot in front before ahead near close to by 20s 225 x"
).split()


def write_data(folder: pathlib.Path) -> pathlib.Path:
    """Write the data as an unpacked program, and return its folder."""
    lines = {
        "function/english.words": FUNCTION_WORDS,
        "nonbreaking/english.prefixes": PREFIXES,
        "synonym/english.synsets": [line for pair in SYNSETS.items() for line in pair],
        "synonym/english.exceptions": [line for pair in EXCEPTIONS.items() for line in pair],
    }
    for name, content in lines.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    write_paraphrases(folder / "data" / "paraphrase-en.gz")
    return folder


def write_paraphrases(path: pathlib.Path, paraphrases: dict[str, list[str]] = PARAPHRASES) -> None:
    """Write a table of paraphrases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [f"0.01\n{source}\n{target}\n" for source, targets in paraphrases.items() for target in targets]
    path.write_bytes(gzip.compress("".join(entries).encode(), mtime=0))


def write_jar(folder: pathlib.Path) -> pathlib.Path:
    """Write the data as the program is published, a jar with the table beside it, and return the jar."""
    unpacked = write_data(folder / "unpacked")
    jar = folder / "meteor-1.5.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in sorted(unpacked.glob("*/english.*")):
            archive.write(path, path.relative_to(unpacked).as_posix())
    (unpacked / "data").rename(folder / "data")
    return jar


def small_lexicon() -> SimpleNamespace:
    """The same data as the slow oracle takes them."""
    base_forms: dict[str, list[str]] = {}
    for base, forms in EXCEPTIONS.items():
        for form in forms.split():
            base_forms.setdefault(form, []).append(base)
    return SimpleNamespace(
        function_words=set(FUNCTION_WORDS),
        ordinary_prefixes={"Mr", "St"},
        numeric_prefixes={"No", "pp"},
        synsets={word: set(numbers.split()) for word, numbers in SYNSETS.items()},
        base_forms=base_forms,
        paraphrases={
            tuple(source.split()): [tuple(target.split()) for target in targets]
            for source, targets in PARAPHRASES.items()
        },
        stem=english_stem,
    )
