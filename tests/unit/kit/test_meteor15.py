"""METEOR 1.5: words and stems, scores of pairs and of several references, and its data."""

import gzip
import importlib.util
import multiprocessing
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tqdm import tqdm

import manycaps
from manycaps.kit import meteor15_data, meteor15_scores
from manycaps.kit.meteor15_data import (
    check_data_source,
    check_language,
    compile_table,
    find_data,
    load_lexicon,
    load_meteor15_data,
    table_folder,
)
from manycaps.kit.meteor15_scores import best_statistics
from manycaps.kit.meteor15_words import Meteor15Lexicon, Prefixes, java_hash, load_stemmer, meteor15_words
from manycaps.kit.words_ptb import ptb_tokenize
from tests.meteor15_data import PARAPHRASES, small_lexicon, write_data, write_jar, write_paraphrases
from tests.modules.sample_inputs import small_meteor15_data
from tests.oracles import meteor15_loop
from tests.refusals import assert_refused

PREFIXES = Prefixes(frozenset({"Mr", "St"}), frozenset({"No", "pp"}))


# The expected words come from the Java program's Normalizer.
@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "", ""),
        ("en", "A dog.", "a dog ."),
        ("en", "A dog. runs", "a dog. runs"),
        ("en", "a--b --c", "a b -c"),
        ("en", "It's 5's t-shirt", "it 's 5 's t shirt"),
        ("en", "the dogs' 'tis", "the dogs ' ' tis"),
        ("en", "wait... what.. 3.5 .5", "wait ... what .. 3.5 .5"),
        ("en", "p.m. Mr. No. 5 No. x", "pm mr. no. 5 no. x"),
        ("en", "1,000,a, b,c ,2", "1,000 , a , b , c , 2"),
        ("en", "“a” ''b'' ‘c’ `d`", "\" a \" \" b \" ' c ' ' d '"),
        ("en", "x–y a/b #1", "x - y a / b # 1"),
        ("en", "Ž İ 😀 a\u2003b\u00a0c", "ž i̇ 😀 a b c"),
        ("fr", "L'eau d’un 'x' 5's aujourd'hui", "l' eau d' un ' x ' 5 ' s aujourd' hui"),
        ("de", "wie's 5's ‚x‘ „so“", "wie ' s 5 ' s ‚ x ' „ so \""),
        ("cs", "d'Artagnan", "d ' artagnan"),
        ("ru", "т.е. «Дом» No. 5", "те « дом » no. 5"),
        ("es", "¿Qué? ¡Sí, 1.000!", "¿ qué ? ¡ sí , 1.000 !"),
    ],
)
def test_words(language, text, words):
    assert meteor15_words(text, PREFIXES, language) == words.split(" ") * bool(words)


@given(st.text(st.sampled_from("ab1 .'-,’‘`\"–—“”sZéЖ\t\x0b\n\x1f\u2003\u00a0İΣ😀!"), max_size=16))
@settings(max_examples=300)
def test_any_text_as_in_the_slow_version(text):
    slow = meteor15_loop.normalize(text, small_lexicon())
    assert meteor15_words(text, PREFIXES) == meteor15_loop.words_of(slow)


def test_hashes_are_those_of_java():
    # Values of "".hashCode(), "a", "dog", "film-maker" and "😀" in Java.
    expected = {"": 0, "a": 97, "dog": 99644, "😀": 1772899}
    assert {word: java_hash(word) for word in expected} == expected
    assert java_hash("60s") == java_hash("625")
    assert java_hash("a" * 40) == meteor15_loop.java_hash("a" * 40)


# Stems of the program's own stemmers: where the libraries have others, and one of each rule of the French algorithm.
STEMS = {
    "en": (
        "added ad running run skies sky generally general ionization ioniz sensationally sensat organizer organ "
        "sizer sizer prize prize realizers realiz t-shirt’ t-shirt’ ‘and ‘and"
    ),
    "de": "verhältnisse verhaltniss ergebnissen ergebniss häuser haus läuft lauft straßen strass kniss kniss",
    "fr": (
        "jouaient jou continuellement continuel majestueuse majestu yeux yeux françaises français indicatrice indiqu "
        "aiguë aiguë éd ed yuri yur yayi yai seiya seii chevaux cheval constamment const finissaient fin nation nation"
    ),
    "es": "informacion informacion constitucion constitucion informaciones inform jugaban jug poseíamos pos",
    "ru": "её её ребёнка ребёнк следующая след воюющие воюющ собаки собак",
    "cs": "psi psi",
}


@pytest.mark.parametrize("language", STEMS)
def test_stems(language):
    words = STEMS[language].split()
    stem = load_stemmer(language)
    assert {word: stem(word) for word in words[::2]} == dict(zip(words[::2], words[1::2], strict=True))


def test_a_missing_stemmer_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = "Russian stems: expected the package snowballstemmer, got none. Run `pip in"
    assert_refused(ImportError, message, load_stemmer, "ru")
    assert load_stemmer("fr")("jouaient") == "jou"


# METEOR 1.5 of all pairs of a row and of the best reference, as the modules meteor15 and trm_meteor return them.

ROWS = [
    ["a big dog runs", "the large puppy ran in front of the sofa", "a film, before a movie!", "a big dog runs"],
    ["the chef cooks", "a person near the couch"],
]
SIDES = {"predictions": [ROWS[0][:2]], "references": [ROWS[0][2:]]}
# Nothing matches "films": of references with the score 0 the first counts.
CANDIDATES = [["a big dog runs.", "films"], ["the chef cooks"], [""]]
REFERENCES = [["the large puppy", "a puppy ran", "a dog"], ["a cook, a chef"], ["a couch", ""]]
LEXICON = small_lexicon()


def words(text):
    return meteor15_loop.words_of(meteor15_loop.normalize(text, LEXICON))


def expected_matrix(row):
    texts = [words(" ".join(tokens)) for tokens in row]
    return [
        [meteor15_loop.score_of(meteor15_loop.statistics(hypothesis, reference, LEXICON)) for hypothesis in texts]
        for reference in texts
    ]


def expected_statistics():
    return [
        [meteor15_loop.best_statistics(words(text), list(map(words, others)), LEXICON) for text in texts]
        for texts, others in zip(CANDIDATES, REFERENCES, strict=True)
    ]


def new_lexicon():
    return Meteor15Lexicon(load_meteor15_data(small_meteor15_data(), tqdm))


def load(name="meteor15", **options):
    return manycaps.load(name, meteor15_data=small_meteor15_data(), **options)


@pytest.mark.parametrize("size", [1, 4, 57_600])
def test_batches_of_any_size(monkeypatch, size):
    monkeypatch.setattr(meteor15_scores, "PAIRS_PER_BATCH", size)
    found = best_statistics(CANDIDATES, REFERENCES, new_lexicon(), tqdm)
    assert found.tolist() == [statistics for row in expected_statistics() for statistics in row]


def test_the_module_returns_corpus_mean_and_statistics():
    result = load(tokenizer="raw").compute(predictions=CANDIDATES, references=REFERENCES, details=True)
    expected = expected_statistics()
    per_candidate = [[meteor15_loop.score_of(statistics) for statistics in row] for row in expected]
    assert result["meteor15_statistics"] == expected
    assert result["meteor15_per_candidate"] == per_candidate
    assert result["meteor15"] == meteor15_loop.corpus_score([statistics for row in expected for statistics in row])
    per_row = [sum(row) / len(row) for row in per_candidate]
    assert result["meteor15_per_row"] == per_row
    assert result["meteor15_mean"] == pytest.approx(sum(per_row) / 3, abs=1e-15)
    assert result["meteor15_mean"] != result["meteor15"]


def test_ptb_tokens_have_no_punctuation_and_recall_weighs_more_than_precision():
    module = load()
    columns = {"predictions": ["a dog !"], "references": [["a dog"]]}
    assert module.compute(**columns)["meteor15"] == 1.0
    assert module.compute(**columns, tokenizer="raw")["meteor15"] < 1.0
    # A candidate that says more is the better one.
    short, long = "a dog", "a dog runs in front of the couch"
    more = module.compute(predictions=[long], references=[[short]])["meteor15"]
    assert more > module.compute(predictions=[short], references=[[long]])["meteor15"]


def test_trm_meteor_takes_these_scores_on_request():
    module = load("trm_meteor", meteor="1.5", details=True)
    result = module.compute(**SIDES)
    matrix = np.array(expected_matrix(ptb_tokenize(ROWS[0])))
    assert result["meteor"] == matrix[2:, :2].max(axis=0).mean()
    assert "|meteor:1.5|data:" in result["signature"]
    assert "wordnet" not in result["signature"]
    examined = module.examine(**SIDES, p_value="exact")
    equal = np.array([[i == j or {i, j} == {0, 3} for j in range(4)] for i in range(4)])
    assert examined.pair_values.tolist() == np.where(equal, 0.0, 1.0 - matrix).tolist()
    assert examined.statistic == result["trm_meteor"]
    nltk_result = manycaps.load("trm_meteor", details=True).compute(**SIDES)
    assert "|meteor:nltk-" in nltk_result["signature"]
    assert nltk_result["meteor"] != result["meteor"]
    message = "meteor: expected one of 'nltk', '1.5', got '1.4'. Check the spelling.$"
    assert_refused(ValueError, message, load, "trm_meteor", meteor="1.4")


# The data of METEOR 1.5: where they are looked for, how they are read, and that their cache is whole or not there.


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of this test's own."""
    monkeypatch.setattr(meteor15_data.huggingface_hub, "cached_assets_path", cache_of(tmp_path / "cache"))
    return tmp_path / "cache"


def cache_of(folder):
    def cached_assets_path(library, namespace, subfolder):
        return folder / library / namespace / subfolder

    return cached_assets_path


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
