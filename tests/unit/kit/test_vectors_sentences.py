"""The sentence encoder: vectors, what is embedded once, windows of sentences, and cosines."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from manycaps.kit import vectors_sentences
from manycaps.kit.vectors_models import load_model
from manycaps.kit.vectors_sentences import PAIRS_AT_ONCE, SentenceEncoder, paired_cosines, sentence_windows, sentences
from tests.unit.kit.vectors_cases import CAPTIONS, embed


def test_paired_cosines_equal_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 8)), rng.normal(size=(4, 8)) * 1e-150
    x_rows, y_rows = rng.integers(0, 5, 30), rng.integers(0, 4, 30)
    slow = [
        float(x[i] @ (y[j] * 1e150) / np.linalg.norm(x[i]) / np.linalg.norm(y[j] * 1e150))
        for i, j in zip(x_rows, y_rows, strict=True)
    ]
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    monkeypatch.setattr("manycaps.kit.vectors_sentences.PAIRS_AT_ONCE", 7)
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    assert PAIRS_AT_ONCE > 7


def test_a_model_embeds_captions_as_sentence_transformers_does(tiny_model):
    expected = load_model(tiny_model, "cpu", "float32").encode(CAPTIONS, batch_size=1)
    for batch_size in (1, 2, 64):
        vectors = embed(CAPTIONS, encoder=tiny_model, batch_size=batch_size)
        assert vectors.dtype == np.float32
        assert vectors == pytest.approx(expected, abs=1e-6)  # float32: padding moves the last digits
    captions = [f"{'a dog ' * (i % 3)}{i}" for i in range(40)]
    forwards = embed(captions, encoder=str(tiny_model), batch_size=4)
    assert (embed(captions[::-1], encoder=str(tiny_model), batch_size=4)[::-1] == forwards).all()


def test_the_default_model():
    vectors = embed(["a dog", "a puppy", "a train station"])
    assert vectors.shape == (3, 384)
    assert vectors @ vectors.T == pytest.approx(np.array([[1, 0.8, 0.2], [0.8, 1, 0.2], [0.2, 0.2, 1]]), abs=0.15)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


@pytest.fixture
def counting_encoder(tiny_model, monkeypatch):
    """Embedding by the tiny model, what its models are loaded with, and the captions that they see."""
    loaded, asked = [], []

    def load_counted(*arguments):
        loaded.append(arguments[1:])
        model = load_model(*arguments)
        encode = model.encode
        model.encode = lambda captions, **keywords: asked.extend(captions) or encode(captions, **keywords)
        return model

    monkeypatch.setattr(vectors_sentences, "load_model", load_counted)
    encoder = SentenceEncoder()
    return lambda captions, **changes: embed(captions, encoder, encoder=tiny_model, **changes), loaded, asked


def test_a_caption_is_embedded_once_and_keeps_its_bits(counting_encoder, tiny_model):
    embed_counted, _, asked = counting_encoder
    first = embed_counted(CAPTIONS)
    assert sorted(asked) == sorted(CAPTIONS)
    assert (embed_counted(CAPTIONS[::-1], batch_size=1) == first[::-1]).all()
    mixed = ["a bird", *CAPTIONS[1:3], "a fish"]
    vectors = embed_counted(mixed)
    assert (vectors[1:3] == first[1:3]).all()
    assert sorted(asked[len(CAPTIONS) :]) == ["a bird", "a fish"]
    assert vectors == pytest.approx(embed(mixed, encoder=tiny_model), abs=1e-6)
    kept = first.copy()
    for _ in range(2):
        first[:] = 0  # what is returned is not what is remembered
        first = embed_counted(CAPTIONS)
        assert (first == kept).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_settings_load_another_model_and_narrow_arithmetic_is_near(counting_encoder, dtype):
    embed_counted, loaded, asked = counting_encoder
    full = embed_counted(CAPTIONS)
    for changes in ({}, {"batch_size": 2}, {"device": "cpu"}):
        embed_counted(CAPTIONS, **changes)
    narrow = embed_counted(CAPTIONS, device="cpu", dtype=dtype)
    assert loaded == [("auto", "float32"), ("cpu", "float32"), ("cpu", dtype)]
    assert len(asked) == 3 * len(CAPTIONS)
    assert not np.array_equal(full, narrow)
    assert narrow == pytest.approx(full, abs=0.05)


def test_threads_share_one_model(tiny_model):
    alone = embed(CAPTIONS, encoder=tiny_model)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: embed(CAPTIONS, encoder=tiny_model), range(16)))
    assert all(vectors == pytest.approx(alone, abs=1e-6) for vectors in found)


def test_a_function_is_asked_every_time_by_every_encoder():
    asked = []
    for _ in range(2):
        embed(["a"], encoder=lambda captions: asked.append(captions) or np.ones((1, 2)))
    assert asked == [["a"], ["a"]]


# Sentences, windows of them, and what a caption of several windows is.


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A dog", ["A dog"]),
        ("A dog.  Two cats?", ["A dog.", "Two cats?"]),
        ('He says "stop." A dog (wet!) runs', ['He says "stop."', "A dog (wet!)", "runs"]),
        ("at 3.5 m. Mr. Dog", ["at 3.5 m.", "Mr.", "Dog"]),
        ("one\n\n two \n", ["one", "two"]),
        ("\u72d7\u3002\u732b\u3002", ["\u72d7\u3002", "\u732b\u3002"]),
        ("", []),
        (" . ", [" ."]),
    ],
)
def test_sentences(caption, expected):
    assert sentences(caption) == expected


def fits(text):
    return len(text.split()) <= 4


@pytest.mark.parametrize(
    ("caption", "windows"),
    [
        ("a b. c d.", ["a b. c d."]),
        ("a b. c. d e f. g.", ["a b. c.", "d e f. g."]),
        ("a b c d e f g", ["a b c d e f g"]),
        ("a. b c d e f. g", ["a.", "b c d e f.", "g"]),
    ],
)
def test_windows_hold_whole_sentences_in_order(caption, windows):
    assert sentence_windows(caption, fits) == windows
