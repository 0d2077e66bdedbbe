"""The lexicon, and the corpus built out of Debian's packages."""

import pathlib
import random
import warnings
import zipfile

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from manycaps.catalog import wordnet_corpus
from manycaps.kit import meteor_nltk
from manycaps.kit.meteor_nltk import WordNetLexicon
from tests.refusals import assert_refused


@pytest.mark.slow
def test_synonyms_are_those_of_nltk(lexicon):
    """Lemmas, irregular forms, what the stemmer makes of them, every ending, and what is no word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    known = sorted({form for part in lexicon._wordnet for form in (*part.index, *part.exceptions)})
    forms = random.Random(0).sample(known, 1500)
    endings = sorted({old for pairs in meteor_nltk.ENDINGS.values() for old, _ in pairs})
    forms += [lexicon.stem(form) for form in forms] + [form + end for form in forms[:200] for end in endings]
    forms += ["", " ", "é", "Paris", "A", "(p)", "men", "x y", "best", "couch"]
    found = {form: lexicon.synonyms(form) for form in forms}
    names = {form: {name for synset in reader.synsets(form) for name in synset.lemma_names()} for form in forms}
    assert found == {form: {name for name in names[form] if "_" not in name} for form in forms}
    assert sum(map(bool, found.values())) > 1500


def test_an_archive_is_read_as_the_files_are(lexicon, tmp_path, monkeypatch):
    folder = pathlib.Path(str(nltk.data.find("corpora/wordnet")))
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"wordnet/{path.name}")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    packed = WordNetLexicon()
    assert all(packed.synonyms(word) == lexicon.synonyms(word) for word in ("couch", "geese", "movi"))


def test_a_process_opens_the_corpus_once_and_misses_it_where_it_is_gone(monkeypatch):
    first = meteor_nltk.wordnet_lexicon()
    with monkeypatch.context() as context:
        context.setattr(meteor_nltk, "_open_corpus", None)
        assert meteor_nltk.wordnet_lexicon() is first
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda *args, **keywords: False)
    message = (
        "METEOR: expected WordNet 3.0 in NLTK's data, got no such corpus. Either (1).*NLTK_DATA.*python -m "
        "nltk.downloader wordnet.*manycaps install-wordnet"
    )
    for look_up in (meteor_nltk.wordnet_lexicon, WordNetLexicon):
        assert_refused(LookupError, message, look_up)
    monkeypatch.setattr(nltk, "download", None)  # not called
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert_refused(LookupError, message, WordNetLexicon)


def test_very_long_words_are_their_own_stem(lexicon):
    word = "y" * 100_000
    assert lexicon.stem(word) == word
    assert lexicon.synonyms(word) == frozenset()
    assert lexicon.stem("running") == "run"


def test_another_release_is_refused(monkeypatch):
    monkeypatch.setattr(meteor_nltk, "WORDNET_VERSION", "2.1")
    assert_refused(LookupError, "METEOR: expected WordNet 2.1, got 3.0 in ", WordNetLexicon)


@pytest.fixture
def debian_files(tmp_path):
    source = tmp_path / "wordnet"
    source.mkdir()
    for name in wordnet_corpus.WORDNET_FILES:
        (source / name).write_text(name)
    return source


def test_corpus_is_built_whole(debian_files, tmp_path):
    corpus = wordnet_corpus.build_corpus(debian_files, tmp_path / "nltk_data")
    assert corpus == tmp_path / "nltk_data" / "corpora" / "wordnet"
    assert {path.name for path in corpus.iterdir()} == {*wordnet_corpus.WORDNET_FILES, "lexnames"}
    lines = (corpus / "lexnames").read_text().splitlines()
    assert [lines[0], lines[3], lines[29], lines[44]] == [
        "00\tadj.all\t3",
        "03\tnoun.Tops\t1",
        "29\tverb.body\t2",
        "44\tadj.ppl\t3",
    ]
    assert [path.name for path in corpus.parent.iterdir()] == ["wordnet"]


def test_a_missing_file_is_named_and_nothing_is_left(debian_files, tmp_path, monkeypatch):
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setattr(wordnet_corpus, "DEBIAN_FOLDER", debian_files)
    (debian_files / "data.verb").unlink()
    message = ".*one without data.verb. Run `apt-get install wordnet-base wordnet-sense-index`. Or give NLTK its 'wordn"
    assert_refused(OSError, message, wordnet_corpus.install_wordnet, tmp_path / "nltk_data")
    assert not (tmp_path / "nltk_data").exists()


def test_an_interrupted_build_leaves_nothing(debian_files, tmp_path, monkeypatch):
    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr(wordnet_corpus.shutil, "copyfile", fail)
    assert_refused(OSError, ".*disk full", wordnet_corpus.build_corpus, debian_files, tmp_path / "nltk_data")
    assert list((tmp_path / "nltk_data" / "corpora").iterdir()) == []
