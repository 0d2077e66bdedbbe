"""Word vectors: the layouts of GloVe and fastText, means by hand, unknown words, and refusals."""

import gzip

import numpy as np
import pytest

import manycaps
from manycaps.kit.embeddings import read_word_vectors
from tests.refusals import assert_refused

VECTORS = {"a": (1.0, 0.0, 0.5), "dog": (0.0, 2.0, -0.5), "Dog": (9.0, 9.0, 9.0), "été": (0.25, 0.0, 0.0)}
LINES = [f"{word} {' '.join(map(str, numbers))}" for word, numbers in VECTORS.items()]

# Layouts: the lines of a file, and its name.
LAYOUTS = {
    "GloVe": (LINES, "vectors.txt"),
    "fastText": (["4 3", *(f"{line} " for line in LINES)], "vectors.vec"),
    "compressed": (LINES, "vectors.txt.gz"),
    "a word that comes twice": ([*LINES, "dog 7 7 7"], "vectors.txt"),
    "no last line end": (["\n".join(LINES)], "vectors.txt"),
    "a word of numbers": ([*LINES, "3 1 1 1"], "vectors.txt"),
}


def written(folder, lines, name="vectors.txt"):
    data = "".join(f"{line}\n" for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_means_by_hand(tmp_path, layout):
    vectors = read_word_vectors(written(tmp_path, *LAYOUTS[layout]))
    captions = ["A dog!", "a a dog", "été"]
    expected = [[0.5, 1.0, 0.0], [2 / 3, 2 / 3, 1 / 6], [0.25, 0.0, 0.0]]
    np.testing.assert_allclose(vectors.means(captions), expected, atol=1e-15)
    assert vectors.n_unknown([*captions, "two cats", "two cats"]) == 4


def test_a_caption_without_a_known_word_has_the_mean_of_the_file(tmp_path):
    vectors = read_word_vectors(written(tmp_path, LINES))
    np.testing.assert_allclose(vectors.means(["two cats", ""]), [np.mean(list(VECTORS.values()), axis=0)] * 2)


def test_few_odd_lines_are_skipped(tmp_path):
    lines = [*LINES, *(f"w{i} 1 2 3" for i in range(200)), ". . . 1 2 3"]
    np.testing.assert_array_equal(read_word_vectors(written(tmp_path, lines)).means(["w199"]), [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a 1 2", "b 1"], "expected 3 columns in every line of"),
        (["a 1 2", "b 1 x"], "expected a word and its numbers in every line of"),
        (["a 1 nan"], "expected finite numbers in"),
        (["a"], "expected a word and its numbers in every line of"),
        ([], "expected a word and its numbers in every line of"),
        (['{"a": [1, 2]}'], "expected a word and its numbers in every line of"),
    ],
)
def test_refuses_files(tmp_path, lines, message):
    with pytest.raises(ValueError, match="^encoder: ") as caught:
        read_word_vectors(written(tmp_path, lines))
    assert message in str(caught.value)


def test_refuses_what_is_no_gzip_file(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(b"a 1 2\n")
    assert_refused(ValueError, ".*expected a gzip file", read_word_vectors, tmp_path / "a.txt.gz")


@pytest.mark.parametrize("name", ["trm_bert", "human_parity", "mmd_bert"])
def test_modules_embed_by_word_vectors(tmp_path, name):
    path = written(tmp_path, LINES)
    columns = {
        "predictions": [["a dog", "a dog dog", "dog a cat"]] * 3,
        "references": [["a", "dog dog dog a", "a a a dog"]] * 3,
    }
    module = manycaps.load(name, encoder=f"vectors:{path}", details=True)
    result = module.compute(**columns)
    assert result["n_unknown_words"] == 3
    assert "|encoder:vectors:vectors.txt|" in f"{result['signature']}|"
    vectors = read_word_vectors(path)
    by_function = manycaps.load(name, encoder=vectors.means).compute(**columns)
    assert result[next(iter(by_function))] == pytest.approx(next(iter(by_function.values())), abs=1e-12)


def test_refuses_a_missing_file_and_windows():
    module = manycaps.load("trm_bert", encoder="vectors:/no/such/file.txt")
    with pytest.raises(FileNotFoundError, match="expected a file of word vectors, got '/no/such/file.txt'"):
        module.compute(predictions=[["a", "b"]], references=[["a", "b"]])
    with pytest.raises(ValueError, match="beside word vectors as encoder, got 'window'"):
        manycaps.load("trm_bert", encoder="vectors:a.txt", long_texts="window")
