"""The table of paraphrases of METEOR 1.5, turned from 16 million lines of text into arrays that can be mapped."""

import array
import functools
import gzip
import importlib.util
import io
import os
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any, BinaryIO, NamedTuple

import filelock
import huggingface_hub
import numpy as np
import numpy.typing as npt

from .arrays import Ints
from .errors import InputError, InputImportError, as_input_errors, check_kind, quote_path, quote_value, reason_of
from .files import file_sha256, is_regular_file, local_path, path_state, write_folder
from .meteor15_words import (
    FUNCTION_WORDS,
    LANGUAGES,
    WORD_BITS,
    Language,
    Meteor15Data,
    Meteor15Lexicon,
    PhraseTable,
    Prefixes,
)
from .ngrams import number_keys
from .options import Option, by_value, check_choice

# Most words of a phrase, for numbers of a byte; the English table's have up to 7.
MOST_PHRASE_WORDS = 127

# Entries between two steps of the progress bar.
STEP = 50_000


def compile_table(source: pathlib.Path, progress: Callable[..., Any]) -> PhraseTable:
    """Read a compressed table of paraphrases: lines of probability, phrase and paraphrase."""
    size = source.stat().st_size
    with source.open("rb") as packed, progress(total=size, unit="B", unit_scale=True, desc="paraphrases") as bar:
        try:
            words, numbers, n_words, is_source = _number_phrases(_entries(packed, bar))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            got = f"{source.name} ({error})"
            raise InputError("meteor15_data", "a whole gzip file", got, "Get it again.") from error
        except ValueError as error:
            expected = f"lines of probability, phrase and paraphrase in {source.name}"
            raise InputError("meteor15_data", expected, reason_of(error), "Get the file again.") from error
    if not words:
        raise InputError("meteor15_data", f"entries in {source.name}", "none", "Get the file again.")
    keys, node = _as_tree(numbers, n_words)
    # Every paraphrase has the source that was named last before it.
    sources = node[is_source][np.cumsum(is_source)[~is_source] - 1]
    return _group_paraphrases(words, keys, sources, node[~is_source])


def _entries(packed: BinaryIO, bar: Any) -> Iterator[tuple[str, str]]:
    """Phrase and paraphrase of every entry, each with the end of its line."""
    phrase, paraphrase, read = "", "\n", 0
    with io.TextIOWrapper(gzip.open(packed), encoding="utf-8", newline="\n") as file:
        for i, _probability in enumerate(file):
            phrase, paraphrase = next(file, ""), next(file, "")
            yield phrase, paraphrase
            if i % STEP == 0:
                bar.update(packed.tell() - read)
                read = packed.tell()
    if not paraphrase.endswith("\n"):
        raise ValueError(f"{phrase + paraphrase!r:.40} at its end")


def _number_phrases(
    entries: Iterator[tuple[str, str]],
) -> tuple[dict[str, int], npt.NDArray[np.int32], npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Number the words, and list the phrases, each source once before its paraphrases.

    Returns the number of every word; the words of all phrases, as numbers; how many words each phrase has; and whether
    it is a source.
    """
    words: dict[str, int] = {}
    numbers, n_words, is_source = array.array("i"), array.array("b"), array.array("b")
    source = ""
    for phrase, paraphrase in entries:
        for line in (paraphrase,) if phrase == source else (phrase, paraphrase):
            line_words = line[:-1].split(" ")
            if len(line_words) > MOST_PHRASE_WORDS:
                raise ValueError(f"a phrase of {len(line_words)} words")
            numbers.extend([words.setdefault(word, len(words)) for word in line_words])
            n_words.append(len(line_words))
        is_source.extend((0,) if phrase == source else (1, 0))
        source = phrase
    return words, np.array(numbers, np.int32), np.array(n_words, np.int8), np.array(is_source, np.bool_)


def _as_tree(words: npt.NDArray[np.int32], n_words: npt.NDArray[np.int8]) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Number the phrases as nodes of a tree of words, level by level: the nodes' keys, and the node of each phrase."""
    first = np.cumsum(n_words, dtype=np.int64) - n_words
    node = np.zeros(len(n_words), np.int32)
    keys: list[Ints] = []
    n_nodes = 0
    for level in range(int(n_words.max())):
        longer = np.flatnonzero(n_words > level)
        pairs = node[longer].astype(np.int64) << WORD_BITS | words[first[longer] + level]
        level_keys, number = number_keys(pairs)
        node[longer] = number + n_nodes + 1
        n_nodes += len(level_keys)
        keys.append(level_keys)
    return np.concatenate(keys), node


def _group_paraphrases(
    words: dict[str, int], keys: Ints, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> PhraseTable:
    """Sort the paraphrases by the node of their source; under a source they keep the file's order."""
    order = np.argsort(sources, kind="stable")
    n_targets = np.bincount(sources, minlength=len(keys) + 1)
    first_target = np.append(0, np.cumsum(n_targets)).astype(np.int32)
    return PhraseTable(words, keys, first_target, targets[order])


# Location of the program in pycocoevalcap 1.2, and its file name.
PACKAGE, JAR_NAME = "pycocoevalcap", "meteor-1.5.jar"

# Folders of the program's texts.
TEXT_FOLDERS = ("function", "nonbreaking", "synonym")

# Advice if the data are missing, at the end of the errors.
HOW_TO_GET_DATA = (
    "Run `pip install pycocoevalcap`, which brings them, or give meteor15_data= the path of meteor-1.5.jar, with "
    "data/paraphrase-en.gz beside it."
)

# Behind a prefix whose full stop belongs to it before a number only.
NUMERIC_ONLY = "#NUMERIC_ONLY#"

# The table of a language that has none.
NO_PARAPHRASES = PhraseTable({}, np.zeros(0, np.int64), np.zeros(2, np.int32), np.zeros(0, np.int32))

# Version of the compiled table; a new number invalidates old files.
TABLE_FORMAT = 1


class DataFiles(NamedTuple):
    """Paths of the data."""

    # The program, or a folder into which it was unpacked.
    program: pathlib.Path
    # None where a language other than English has no table.
    paraphrases: pathlib.Path | None


def check_data_source(source: object) -> None:
    """Raise unless `source` is None or a path."""
    check_kind(
        "meteor15_data", source, str | os.PathLike | None, f"the path of {JAR_NAME} or of a folder", HOW_TO_GET_DATA
    )


METEOR15_DATA: dict[str, Option] = {
    "meteor15_data": Option(
        None,
        by_value(check_data_source),
        "Of METEOR 1.5: path of `meteor-1.5.jar`, or of a folder that holds it, with `data/paraphrase-en.gz` "
        "beside it; by default the one in the package pycocoevalcap (`pip install pycocoevalcap`), which is compiled "
        "once, at the first use, in about 10 seconds.",
        licence="METEOR 1.5's data come with `pycocoevalcap`, beside Java programs under the GPL, which are not run.",
    )
}


def check_language(language: object, function_words: object, paraphrases: object) -> None:
    """Raise unless these are a language, whose function words count, and None or the path of its paraphrases."""
    check_choice("language", language, LANGUAGES)
    check_choice("function_words", function_words, FUNCTION_WORDS)
    check_paraphrases(paraphrases)


def check_paraphrases(paraphrases: object) -> None:
    """Raise unless `paraphrases` is None or a path."""
    check_kind(
        "paraphrases", paraphrases, str | os.PathLike | None, "the path of a file of paraphrases", "Leave it out."
    )


def load_lexicon(
    source: str | os.PathLike[str] | None,
    progress: Callable[..., Any],
    language: str = "en",
    function_words: str = "english",
    paraphrases: str | os.PathLike[str] | None = None,
) -> Meteor15Lexicon:
    """Load the data, as `load_meteor15_data`, cached for this process until their files change."""
    paths = (None if path is None else os.fspath(path) for path in (source, paraphrases))
    state = _data_state(find_data(source, language, paraphrases))
    return _load_lexicon(*paths, progress, language, function_words, state)


def _data_state(files: DataFiles) -> tuple[Hashable, ...]:
    """What changes with the data."""
    program = files.program
    parts = [program / name for name in TEXT_FOLDERS] if program.is_dir() else [program]
    return tuple(path_state(path) for path in (*parts, files.paraphrases) if path)


@functools.lru_cache(maxsize=1)
def _load_lexicon(
    source: str | None,
    paraphrases: str | None,
    progress: Callable[..., Any],
    language: str,
    function_words: str,
    _state: tuple[Hashable, ...],
) -> Meteor15Lexicon:
    return Meteor15Lexicon(load_meteor15_data(source, progress, language, function_words, paraphrases))


def find_data(
    source: str | os.PathLike[str] | None, language: str = "en", paraphrases: str | os.PathLike[str] | None = None
) -> DataFiles:
    """Find the data without reading them.

    `source` is the path of meteor-1.5.jar, or of a folder that holds it or its unpacked files; None for
    pycocoevalcap's. `language` is a key of `LANGUAGES`. `paraphrases` is the path of their table; None for the file of
    its usual name beside the program, without which a language other than English has no paraphrases.
    """
    path = _package_folder() if source is None else local_path(source)
    program = path / JAR_NAME if is_regular_file(path / JAR_NAME) else path
    if not is_regular_file(program) and not is_regular_file(program / "function" / "english.words"):
        raise InputError(
            "meteor15_data", f"{JAR_NAME}, or its folder", f"{quote_path(path)}, which has none", HOW_TO_GET_DATA
        )
    return DataFiles(program, _find_paraphrases(program, LANGUAGES[language].table, paraphrases))


def _find_paraphrases(program: pathlib.Path, table: str, given: str | os.PathLike[str] | None) -> pathlib.Path | None:
    """The table of paraphrases: the one that was given, or a language's beside the program; English has one."""
    folder, name = program if program.is_dir() else program.parent, f"paraphrase-{table}.gz"
    if given is not None:
        path = local_path(given)
        if not is_regular_file(path):
            raise InputError("paraphrases", f"a file such as {name}", quote_path(path), "Check the path.")
        return path
    for path in (folder / "data" / name, folder / name):
        if path.is_file():
            return path
    if table != "en":
        return None
    raise InputError("meteor15_data", f"data/{name} beside the program", f"none in {str(folder)!r}", HOW_TO_GET_DATA)


def load_meteor15_data(
    source: str | os.PathLike[str] | None,
    progress: Callable[..., Any],
    language: str = "en",
    function_words: str = "english",
    paraphrases: str | os.PathLike[str] | None = None,
) -> Meteor15Data:
    """Read the data, and compile the table of paraphrases if that has not been done; arrays are mapped from the disk.

    `function_words` is "english", as the program has it for every language, or "language" for its own; `progress` is a
    tqdm class for the compilation; the others are as for `find_data`. Raises ImportError and ValueError as `find_data`;
    ValueError also for files of another form.
    """
    files, settings = find_data(source, language, paraphrases), LANGUAGES[language]
    lines = _program_lines(files.program)
    prefixes = _prefixes(lines, settings)
    synsets, base_forms = _synonyms(lines) if language == "en" else ({}, {})
    version = file_sha256(files.paraphrases)[:16] if files.paraphrases else ""
    words = "english" if function_words == "english" else settings.name
    return Meteor15Data(
        function_words=frozenset(line.split()[0] for line in lines(f"function/{words}.words") if line.strip()),
        prefixes=prefixes,
        synsets=synsets,
        base_forms=base_forms,
        paraphrases=_map_table(files.paraphrases, version, progress) if files.paraphrases else NO_PARAPHRASES,
        version=version,
        code=language,
        language=settings,
    )


def _prefixes(lines: Callable[[str], list[str]], language: Language) -> Prefixes:
    """Words of a language whose full stop is a part of them."""
    entries = [
        line.strip() for line in lines(f"nonbreaking/{language.name}.prefixes") if line.strip() and line[0] != "#"
    ]
    numeric = {line.split()[0] for line in entries if NUMERIC_ONLY in line}
    return Prefixes(frozenset(line for line in entries if NUMERIC_ONLY not in line), frozenset(numeric))


def _synonyms(lines: Callable[[str], list[str]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Synsets of words, and base forms of irregular ones."""
    synsets = lines("synonym/english.synsets")
    exceptions = lines("synonym/english.exceptions")
    base_forms: dict[str, list[str]] = {}
    for base, forms in zip(exceptions[::2], exceptions[1::2], strict=False):
        for form in forms.split():
            base_forms.setdefault(form, []).append(base)
    wrong = next((line for line in synsets[1::2] if not line.replace(" ", "0").isdecimal()), None)
    if wrong is not None:
        raise InputError("meteor15_data", "numbers of synsets behind every word", quote_value(wrong), HOW_TO_GET_DATA)
    return dict(zip(synsets[::2], synsets[1::2], strict=False)), base_forms


def table_folder(version: str) -> pathlib.Path:
    """Return the folder of the compiled table, in the Hub's cache folder for other assets."""
    name = f"{version}-{TABLE_FORMAT}"
    return pathlib.Path(huggingface_hub.cached_assets_path("manycaps", namespace="meteor15", subfolder="tables")) / name


def _package_folder() -> pathlib.Path:
    """Folder of the program in pycocoevalcap, which is not imported."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise InputImportError("METEOR 1.5", "its data", f"none: {PACKAGE} is not installed", HOW_TO_GET_DATA)
    return pathlib.Path(package.submodule_search_locations[0]) / "meteor"


def _program_lines(program: pathlib.Path) -> Callable[[str], list[str]]:
    """Return a function from the name of a text file in the program to its lines."""

    def lines(name: str) -> list[str]:
        with as_input_errors("meteor15_data", f"the file {name} in {program.name}", HOW_TO_GET_DATA):
            if program.is_dir():
                data = (program / name).read_bytes()
            else:
                with zipfile.ZipFile(program) as archive:
                    data = archive.read(name)
            return [line.rstrip("\n") for line in io.StringIO(data.decode("utf-8"), newline=None)]

    return lines


def _map_table(source: pathlib.Path, version: str, progress: Callable[..., Any]) -> PhraseTable:
    """The compiled table, memory-mapped; compiled first if needed, by one process at a time."""
    folder = table_folder(version)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                _write_table(compile_table(source, progress), folder)
    arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("keys", "first_target", "targets")]
    words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")
    return PhraseTable({word: number for number, word in enumerate(words)}, *arrays)


def _write_table(table: PhraseTable, folder: pathlib.Path) -> None:
    """Write a table under a temporary name, and rename it when it is on the disk."""

    def write(temporary: pathlib.Path) -> None:
        for name in ("keys", "first_target", "targets"):
            np.save(temporary / f"{name}.npy", getattr(table, name))
        (temporary / "words.txt").write_text("\n".join(table.words), encoding="utf-8", newline="\n")

    write_folder(folder, folder.with_suffix(".incomplete"), write)
