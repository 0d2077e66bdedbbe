"""Data of METEOR 1.5: the table of paraphrases, compiled once and whole, and files of another form."""

import gzip
import importlib.util
import multiprocessing
import os
import zipfile

import pytest
from tqdm import tqdm

from manycaps.kit import meteor15_data
from manycaps.kit.meteor15_data import (
    check_data_source,
    check_language,
    compile_table,
    find_data,
    load_lexicon,
    load_meteor15_data,
    table_folder,
)
from tests.meteor15_data import PARAPHRASES, write_data, write_jar, write_paraphrases
from tests.refusals import assert_refused
from tests.unit.kit.meteor15_cases import cache_of

pytestmark = pytest.mark.usefixtures("own_cache")


def phrases_of(table):
    """Source to paraphrases, read back from the tree."""
    words = list(table.words)

    def phrase(node):
        found = []
        while node:
            key = int(table.keys[node - 1])
            found.insert(0, words[key & 0xFFFFFFFF])
            node = key >> 32
        return " ".join(found)

    ranges = zip(table.first_target, table.first_target[1:], strict=False)
    return {
        phrase(node): [phrase(int(target)) for target in table.targets[begin:end]]
        for node, (begin, end) in enumerate(ranges)
        if end > begin
    }


def test_the_table_holds_every_entry_in_its_rank_order(tmp_path):
    paraphrases = PARAPHRASES | {f"w{i} x{i % 7}": [f"y{i}", f"x{i} w{i % 5}"] for i in range(2000)}
    write_paraphrases(tmp_path / "table.gz", paraphrases)
    assert phrases_of(compile_table(tmp_path / "table.gz", tqdm)) == paraphrases


def test_the_same_data_from_a_folder_and_from_a_jar(tmp_path):
    folder, jar = write_data(tmp_path / "folder"), write_jar(tmp_path / "jar")
    found = [load_meteor15_data(source, tqdm) for source in (folder, jar, jar.parent)]
    for data in found:
        assert data.function_words == found[0].function_words
        assert data.prefixes == found[0].prefixes == (frozenset({"Mr", "St"}), frozenset({"No", "pp"}))
        assert data.synsets == found[0].synsets
        assert data.base_forms == {"mice": ["mouse"], "mices": ["mouse"], "ran": ["run"]}
        assert phrases_of(data.paraphrases) == PARAPHRASES
        assert data.version == found[0].version


def test_the_table_is_compiled_once_for_each_content(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(meteor15_data, "compile_table", lambda *given: compiled.append(given) or compile_table(*given))
    folder = write_data(tmp_path / "folder")
    for _ in range(2):
        load_meteor15_data(folder, tqdm)
    load_meteor15_data(write_data(tmp_path / "copy"), tqdm)
    assert len(compiled) == 1
    assert load_lexicon(folder, tqdm) is load_lexicon(str(folder), tqdm)
    write_paraphrases(folder / "data" / "paraphrase-en.gz", {"a": ["b"]})
    assert phrases_of(load_meteor15_data(folder, tqdm).paraphrases) == {"a": ["b"]}
    assert len(compiled) == 2


def test_an_interrupted_compilation_leaves_nothing(tmp_path, own_cache, monkeypatch):
    folder = write_data(tmp_path / "folder")

    def interrupt(source, progress):
        raise KeyboardInterrupt

    for name in ("compile_table", "_write_table"):
        monkeypatch.setattr(meteor15_data, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            load_meteor15_data(folder, tqdm)
        monkeypatch.undo()
        monkeypatch.setattr(meteor15_data.huggingface_hub, "cached_assets_path", cache_of(own_cache))
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_meteor15_data(folder, tqdm)
    assert [path for path in own_cache.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    assert not list(own_cache.rglob("*.incomplete"))


def test_what_a_killed_process_left_is_overwritten(tmp_path):
    folder = write_data(tmp_path / "folder")
    version = load_meteor15_data(folder, tqdm).version
    left = table_folder(version).with_suffix(".incomplete")
    table_folder(version).rename(left)
    (left / "keys.npy").write_bytes(b"half")
    assert phrases_of(load_meteor15_data(folder, tqdm).paraphrases) == PARAPHRASES
    assert not left.exists()


def load_in_a_process(folder, cache):
    meteor15_data.huggingface_hub.cached_assets_path = cache_of(cache)
    return phrases_of(load_meteor15_data(folder, tqdm).paraphrases)


@pytest.mark.slow
def test_processes_that_compile_at_once(tmp_path, own_cache):
    folder = write_data(tmp_path / "folder")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(load_in_a_process, [(folder, own_cache)] * 2)
    assert found == [PARAPHRASES] * 2


def test_a_source_is_the_path_of_data(tmp_path, monkeypatch):
    for source in (3, b"meteor-1.5.jar", ["meteor-1.5.jar"]):
        message = "meteor15_data: expected the path of meteor-1.5.jar or of a folder, got "
        assert_refused(TypeError, message, check_data_source, source)
    message = "meteor15_data: expected meteor-1.5.jar, or its folder, got .*'.*', which has none. Run"
    for source in (tmp_path, tmp_path / "meteor-1.5.jar"):
        assert_refused(ValueError, message, find_data, source)
    write_jar(tmp_path)
    (tmp_path / "data" / "paraphrase-en.gz").unlink()
    message = "meteor15_data: expected data/paraphrase-en.gz beside the program, got none in '.*'. Run"
    assert_refused(ValueError, message, find_data, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = ".*pycocoevalcap is not installed. Run `pip install pycocoevalcap`, which"
    assert_refused(ImportError, message, find_data, None)


def test_files_of_another_form(tmp_path):
    jar = write_jar(tmp_path)
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("function/english.words", "the\n")
    message = "meteor15_data: expected the file nonbreaking/english.prefixes in meteor-1.5.jar, got KeyError ("
    assert_refused(ValueError, message, load_meteor15_data, jar, tqdm)
    jar.write_bytes(b"no archive")
    message = "meteor15_data: expected the file .* in meteor-1.5.jar, got BadZipFile ("
    assert_refused(ValueError, message, load_meteor15_data, jar, tqdm)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("function/english.words", b"the\n\xff\n", "the file function/english.words in .*, got UnicodeDecodeError ("),
        ("synonym/english.synsets", b"film\n101 many\n", "numbers of synsets behind every word, got '101 many'"),
    ],
)
def test_words_of_another_form(tmp_path, name, content, message):
    (write_data(tmp_path) / name).write_bytes(content)
    message = f"meteor15_data: expected {message}.*pip install pycocoevalcap"
    assert_refused(ValueError, message, load_meteor15_data, tmp_path, tqdm)


def gzip_bytes(content):
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "expected a whole gzip file, got table.gz"),
        (gzip_bytes(b"0.1\na\nb\n" * 999)[:40], "expected a whole gzip file, got table.gz"),
        (gzip_bytes(b"0.1\na\nb\n")[:10] + b"\xff" * 60, "expected a whole gzip file, got table.gz"),
        (gzip_bytes(b"0.1\na\nb\n0.1\nc"), "expected lines of probability, phrase and paraphrase in table.gz, got"),
        (gzip_bytes(b"0.1\na\n\xff\n"), "expected lines of probability, phrase and paraphrase in table.gz"),
        (gzip_bytes(b""), "expected entries in table.gz, got none"),
        (gzip_bytes(b"0.1\n" + b"a " * 127 + b"a\nb\n"), ".* in table.gz, got a phrase of 128 words. Get"),
    ],
)
def test_tables_of_another_form(tmp_path, content, message):
    (tmp_path / "table.gz").write_bytes(content)
    assert_refused(ValueError, f"meteor15_data: {message}", compile_table, tmp_path / "table.gz", tqdm)


def german_data(folder):
    """The small data with function words and prefixes of German."""
    write_data(folder)
    (folder / "function" / "german.words").write_text("der\ndie\n", encoding="utf-8")
    (folder / "nonbreaking" / "german.prefixes").write_text("# Titel\nDr\nNr #NUMERIC_ONLY#\n", encoding="utf-8")
    return folder


def test_the_data_of_a_language(tmp_path):
    folder = german_data(tmp_path)
    data = load_meteor15_data(folder, tqdm, "de")
    assert (data.code, data.language.name, data.version, data.synsets) == ("de", "german", "", {})
    assert data.prefixes == (frozenset({"Dr"}), frozenset({"Nr"}))
    assert {"the", "der"} & data.function_words == {"the"}, "the program takes the English ones for every language"
    assert load_meteor15_data(folder, tqdm, "de", "language").function_words == {"der", "die"}
    assert phrases_of(data.paraphrases) == {}
    # A table beside the program, or a file that is named.
    (folder / "data" / "paraphrase-en.gz").rename(tmp_path / "mine.gz")
    named = load_meteor15_data(folder, tqdm, "de", paraphrases=tmp_path / "mine.gz")
    (tmp_path / "mine.gz").rename(folder / "data" / "paraphrase-de.gz")
    beside = load_meteor15_data(folder, tqdm, "de")
    assert phrases_of(named.paraphrases) == phrases_of(beside.paraphrases) == PARAPHRASES
    assert len(beside.version) == 16


def test_a_lexicon_is_that_of_its_language(tmp_path):
    folder = german_data(tmp_path)
    words = load_lexicon(folder, tqdm, "de", "language").words("Die Häuser vom Dr. Weiß")
    lexicon = load_lexicon(folder, tqdm, "de", "language")
    assert words == ["die", "häuser", "vom", "dr.", "weiß"]
    assert [lexicon.form(word).is_function for word in words] == [True, False, False, False, False]
    assert lexicon.form("häuser").stem_hash == lexicon.form("haus").stem_hash
    assert load_lexicon(folder, tqdm).form("die").is_function is False


def test_options_of_a_language_are_checked(tmp_path):
    message = "language: expected one of 'en', 'de', 'fr', 'es', 'cs', 'ru', got 'xx'."
    assert_refused(ValueError, message, check_language, "xx", "english", None)
    message = "function_words: expected one of 'english', 'language', got 'own'."
    assert_refused(ValueError, message, check_language, "de", "own", None)
    message = "paraphrases: expected the path of a file of paraphrases, got int."
    assert_refused(TypeError, message, check_language, "de", "english", 3)
    message = "paraphrases: expected a file such as paraphrase-cz.gz, got .*no.gz'"
    assert_refused(ValueError, message, find_data, german_data(tmp_path), "cs", tmp_path / "no.gz")
