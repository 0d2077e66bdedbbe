"""The data of METEOR 1.5, read from the user's copy: words, synonyms and the table of paraphrases.

They are not a part of this collection: the package pycocoevalcap brings them, and so does the Java program. The table
of paraphrases (5 million entries) is compiled once into arrays that lie in the Hub's cache folder for other assets, and
is mapped into memory from then on.
"""

import functools
import importlib.util
import os
import pathlib
import shutil
import zipfile
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import filelock
import huggingface_hub
import numpy as np

from .base_files import file_sha256, is_regular_file, local_path, path_state
from .base_messages import reason_of, shown_path, shown_value
from .base_module import check_choice
from .meteor15_table import compile_table
from .meteor15_texts import Meteor15Data, Meteor15Lexicon, PhraseTable
from .meteor15_tokens import FUNCTION_WORDS, LANGUAGES, Language, Prefixes

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
    if source is not None and not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"meteor15_data: expected the path of {JAR_NAME} or of a folder, got {type(source).__name__}. Leave it out "
            f"for that of {PACKAGE}."
        )


def check_language(language: object, function_words: object, paraphrases: object) -> None:
    """Raise unless these are a language, whose function words count, and None or the path of its paraphrases."""
    check_choice("language", language, LANGUAGES)
    check_choice("function_words", function_words, FUNCTION_WORDS)
    if paraphrases is not None and not isinstance(paraphrases, str | os.PathLike):
        raise TypeError(
            f"paraphrases: expected the path of a file such as paraphrase-de.gz, got {type(paraphrases).__name__}. "
            "Leave it out for the table beside the program, or for none."
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
    return _remembered_lexicon(*paths, progress, language, function_words, state)


def _data_state(files: DataFiles) -> tuple[Hashable, ...]:
    """What changes with the data."""
    program = files.program
    parts = [program / name for name in TEXT_FOLDERS] if program.is_dir() else [program]
    return tuple(path_state(path) for path in (*parts, files.paraphrases) if path)


@functools.lru_cache(maxsize=1)
def _remembered_lexicon(
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
        raise ValueError(
            f"meteor15_data: expected {JAR_NAME}, or a folder that holds it, got {shown_path(path)}, which has none. "
            f"{HOW_TO_GET_DATA}"
        )
    return DataFiles(program, _find_paraphrases(program, LANGUAGES[language].table, paraphrases))


def _find_paraphrases(program: pathlib.Path, table: str, given: str | os.PathLike[str] | None) -> pathlib.Path | None:
    """The table of paraphrases: the one that was given, or that of a language beside the program; English has one."""
    folder, name = program if program.is_dir() else program.parent, f"paraphrase-{table}.gz"
    if given is not None:
        path = local_path(given)
        if not is_regular_file(path):
            raise ValueError(f"paraphrases: expected a file such as {name}, got {shown_path(path)}. Check the path.")
        return path
    for path in (folder / "data" / name, folder / name):
        if path.is_file():
            return path
    if table != "en":
        return None
    raise ValueError(
        f"meteor15_data: expected data/{name} beside the program, got none in {str(folder)!r}. {HOW_TO_GET_DATA}"
    )


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
        paraphrases=_mapped_table(files.paraphrases, version, progress) if files.paraphrases else NO_PARAPHRASES,
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
        raise ValueError(
            f"meteor15_data: expected numbers of synsets behind every word, got {shown_value(wrong)}. {HOW_TO_GET_DATA}"
        )
    return dict(zip(synsets[::2], synsets[1::2], strict=False)), base_forms


def table_folder(version: str) -> pathlib.Path:
    """Folder of the compiled table, in the Hub's cache folder for other assets."""
    name = f"{version}-{TABLE_FORMAT}"
    return pathlib.Path(huggingface_hub.cached_assets_path("manycaps", namespace="meteor15", subfolder="tables")) / name


def _package_folder() -> pathlib.Path:
    """Folder of the program in pycocoevalcap, which is not imported."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise ImportError(f"METEOR 1.5 needs its data, and {PACKAGE} is not installed. {HOW_TO_GET_DATA}")
    return pathlib.Path(package.submodule_search_locations[0]) / "meteor"


def _program_lines(program: pathlib.Path) -> Callable[[str], list[str]]:
    """Return a function from the name of a text file in the program to its lines."""

    def lines(name: str) -> list[str]:
        try:
            if program.is_dir():
                data = (program / name).read_bytes()
            else:
                with zipfile.ZipFile(program) as archive:
                    data = archive.read(name)
            return data.decode("utf-8").splitlines()
        except Exception as error:  # a damaged archive raises what zipfile, zlib and the codecs have
            raise ValueError(
                f"meteor15_data: expected the file {name} in {program.name}, got none that can be read "
                f"({reason_of(error)}). {HOW_TO_GET_DATA}"
            ) from error

    return lines


def _mapped_table(source: pathlib.Path, version: str, progress: Callable[..., Any]) -> PhraseTable:
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
    # Always the same name: what a killed process left is removed when the work is repeated.
    temporary = folder.with_suffix(".incomplete")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        for name in ("keys", "first_target", "targets"):
            np.save(temporary / f"{name}.npy", getattr(table, name))
        (temporary / "words.txt").write_text("\n".join(table.words), encoding="utf-8", newline="\n")
        for path in temporary.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
