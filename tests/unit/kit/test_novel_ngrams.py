"""Novelty beside training captions: equal to a loop over sets of tuples, whatever the chunks."""

import gzip

import numpy as np
import pandas
import pytest

import manycaps
from manycaps import functional
from manycaps.kit import files
from manycaps.kit.novel_ngrams import NO_ROW, caption_novelty
from tests.oracles.novelty_loop import novelty


def drawn_captions(rng, n, longest):
    return [list(rng.choice(list("abcd"), rng.integers(0, longest + 1))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_is_that_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    captions, training = drawn_captions(rng, 30, 9), drawn_captions(rng, 40, 9)
    expected = [novelty(tokens, training) for tokens in captions]
    for size in (1, 7, 40):
        chunks = [(training[start : start + size], NO_ROW) for start in range(0, 40, size)]
        found = caption_novelty(captions, np.zeros(30, np.int64), chunks)
        per_caption = zip(
            found.is_novel.tolist(), found.n_novel.tolist(), found.n_ngrams.tolist(), found.longest_runs, strict=True
        )
        assert [tuple(values) for values in per_caption] == expected


@pytest.mark.parametrize("seed", range(4))
def test_captions_of_the_own_row_do_not_count(seed):
    rng = np.random.default_rng(seed)
    captions, rows = drawn_captions(rng, 30, 6), rng.integers(0, 5, 30)
    chunks = [(captions[:11], rows[:11]), (captions[11:], rows[11:])]
    found = caption_novelty(captions, rows, chunks)
    for i, (tokens, row) in enumerate(zip(captions, rows, strict=True)):
        others = [caption for caption, other in zip(captions, rows, strict=True) if other != row]
        expected = novelty(tokens, others)
        assert (found.is_novel[i], found.n_novel[i].tolist(), found.longest_runs[i]) == (*expected[:2], expected[3])


def test_long_runs_are_counted_up_to_a_limit():
    tokens = [str(i) for i in range(100)]
    found = caption_novelty([tokens, tokens[:60]], np.array([0, 1]), [([tokens], NO_ROW)])
    assert found.longest_runs.tolist() == [64, 60]
    assert found.is_novel.tolist() == [False, True]


ROWS = {"predictions": [["A dog runs!"], ["two cats", "a dog"]], "references": [["a dog"], ["a dog runs", "a cat"]]}


TRAINING = ["a dog runs", "two  cats sleep"]


def test_the_plain_function_has_the_values_of_the_module():
    texts, people = ([functional.tokenize(row) for row in sides] for sides in ROWS.values())
    module = manycaps.load("novelty")
    for training, rows in ((TRAINING, [functional.tokenize(TRAINING)]), ("references", people)):
        result = module.compute(**ROWS, training=training)
        for side, suffix in ((texts, ""), (people, "_of_people")):
            values = functional.novelty(side, rows, leave_out_row=rows is people)
            np.testing.assert_equal(values, {name: result[f"{name}{suffix}"] for name in values})


def forms_of_training(folder):
    lines = "".join(f"{caption}\n\n" for caption in TRAINING).encode()
    (folder / "training.txt").write_bytes(lines)
    (folder / "training.txt.gz").write_bytes(gzip.compress(lines))
    return [TRAINING, [TRAINING], np.array(TRAINING), folder / "training.txt", str(folder / "training.txt.gz")]


def test_module_takes_training_captions_in_any_form(tmp_path):
    module = manycaps.load("novelty", details=True)
    results = [module.compute(**ROWS, training=training) for training in forms_of_training(tmp_path)]
    assert all(result == results[0] for result in results)
    assert results[0]["is_novel_per_candidate"] == [[False], [True, True]]
    assert results[0]["longest_run_per_candidate"] == [[3], [2, 2]]
    assert (results[0]["novel_share_of_people"], results[0]["n_training"]) == (2 / 3, 2)


def test_people_have_the_value_of_a_leave_one_out_loop():
    rng = np.random.default_rng(0)
    rows = [[" ".join(tokens) for tokens in drawn_captions(rng, 3, 5)] for _ in range(8)]
    result = manycaps.load("novelty").compute(predictions=rows, references=rows)
    expected = []
    for i, row in enumerate(rows):
        others = [caption.split() for k, other in enumerate(rows) if k != i for caption in other]
        expected += [novelty(caption.split(), others)[0] for caption in row]
    assert result["novel_share"] == result["novel_share_of_people"] == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ([], "training: expected at least one caption, got none"),
        (3, "training: expected a list or column of captions"),
        (iter(["a"]), "training: expected a list or column of captions"),
        (["a", None], r"training\[1\]: expected a caption \(a string\), got None"),
        ([{"caption": "a"}], r"training\[0\]: expected a caption .*Give the text of a record"),
        (["a", "['a dog', 'a cat']"], r"training\[1\]: expected a caption, got a list that became text"),
        (pandas.DataFrame({"captions": ["a"]}), r"training: .* got a table \(DataFrame\) with the columns"),
        ([["a"], ["b", 3]], r"training\[1\]\[1\]: expected a caption \(a string\), got int \(3\)"),
        ("/no/such/file.txt", "training: expected a text file with one caption per line, got '/no/such/file.txt'"),
    ],
)
def test_refuses_training_captions(training, message):
    with pytest.raises((TypeError, ValueError), match=message):
        manycaps.load("novelty").compute(**ROWS, training=training)


@pytest.mark.parametrize(("content", "message"), [(b"\xff\n", "in line 1"), (b'{"caption": "a"}\n', "got JSON")])
def test_refuses_files_of_training_captions(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        manycaps.load("novelty").compute(**ROWS, training=tmp_path / "a.txt")


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"a dog\n" * 999)[:-9],
        b"a dog\n",
        gzip.compress(b"a dog\n") + b"junk",
        gzip.compress(b"a dog\n")[:15],
    ],
    ids=["cut", "no gzip", "junk behind", "nearly all of it is missing"],
)
def test_a_damaged_file_of_training_captions_is_named(content, tmp_path):
    path = tmp_path / "training.txt.gz"
    path.write_bytes(content)
    module = manycaps.load("novelty", training=str(path))
    with pytest.raises(ValueError, match=r"^training: expected a whole gzip file, got .*training\.txt\.gz', which is"):
        module.compute(predictions=["a dog"], references=["a dog"])


@pytest.mark.parametrize("line", [b"a dog\n", b"a "], ids=["lines", "one line without an end"])
def test_training_captions_expand_within_a_limit(line, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "EXPANSION_BYTES", 1 << 16)
    monkeypatch.setattr(files, "PIECE_OF_EXPANDED", 1 << 14)
    path = tmp_path / "training.txt.gz"
    path.write_bytes(gzip.compress(line * 400_000))
    module = manycaps.load("novelty", training=str(path))
    message = (
        r"^training: .*training\.txt\.gz': expected a \.gz file that expands to at most 200 times its size, got one of"
    )
    with pytest.raises(ValueError, match=message):
        module.compute(predictions=["a dog"], references=["a dog"])
