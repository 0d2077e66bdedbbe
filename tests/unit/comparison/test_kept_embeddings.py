"""Embeddings that are kept beside a report: taken again for the same texts and encoder, and for no others."""

import json

import numpy as np
import pytest

from manycaps.commands import command_line
from manycaps.comparison import kept_embeddings as kept
from manycaps.comparison.compare_options import CompareOptions
from manycaps.comparison.run import compare
from manycaps.kit import vectors_sentences
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from tests.comparison_cases import caption_rows, write_captions


def unshown(items, **_):
    return items


@pytest.fixture
def encoded(monkeypatch, tmp_path):
    """A stand-in for a model, counted by the texts that it embeds: vectors of the letters."""

    class Model:
        device = type("Device", (), {"type": "cpu"})()
        max_seq_length = None

    texts = []

    def encode(_model, captions, _batch_size, _progress):
        texts.extend(captions)
        return np.array([[1 + caption.count(letter) for letter in "aeiou"] for caption in captions], dtype=np.float32)

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    monkeypatch.setattr(vectors_sentences, "_encode", encode)
    monkeypatch.setattr(vectors_sentences, "load_model", lambda *_: Model())
    monkeypatch.setattr(vectors_sentences, "known_pieces", lambda *_: None)
    for module in (vectors_sentences, kept):
        monkeypatch.setattr(module, "model_folder", lambda _encoder: folder)
    return texts


def embed(folder, captions, **given):
    options = {**ENCODER_DEFAULTS, "device": "cpu", **given}
    with kept.kept_embeddings(folder, options):
        return SentenceEncoder().embed(captions, options, unshown)


def test_a_second_time_only_new_captions_are_embedded(encoded, tmp_path):
    first = embed(tmp_path / "kept", ["a dog", "two cats"])
    assert sorted(encoded) == ["a dog", "two cats"]
    encoded.clear()
    second = embed(tmp_path / "kept", ["a bird", "two cats", "a dog"])
    assert encoded == ["a bird"]
    assert second[[2, 1]].tolist() == first.tolist()
    encoded.clear()
    embed(tmp_path / "kept", ["a bird", "a dog", "two cats"])
    assert encoded == []


@pytest.mark.parametrize("change", ["dtype", "another model", "another library"])
def test_vectors_of_another_encoder_are_not_taken(change, encoded, tmp_path, monkeypatch):
    embed(tmp_path / "kept", ["a dog"])
    given = {}
    if change == "dtype":
        given = {"dtype": "bfloat16"}
    elif change == "another model":
        (tmp_path / "model" / "config.json").write_text('{"layers": 2}')
    else:
        monkeypatch.setattr(kept.importlib.metadata, "version", lambda _: "0")
    embed(tmp_path / "kept", ["a dog"], **given)
    assert encoded == ["a dog", "a dog"]
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_a_file_has_a_bound_and_keeps_what_was_used_last(encoded, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 3 * (32 + 5 * 4))
    embed(tmp_path / "kept", ["a", "b", "c"])
    embed(tmp_path / "kept", ["d", "b"])
    encoded.clear()
    embed(tmp_path / "kept", ["d", "b"])
    assert encoded == []
    [path] = (tmp_path / "kept").iterdir()
    with np.load(path, allow_pickle=False) as arrays:
        assert (arrays["texts"].shape, arrays["vectors"].shape) == ((3, 32), (3, 5))


@pytest.mark.parametrize("spoil", ["text", "objects", "other arrays", "NaN"])
def test_a_file_that_holds_anything_else_is_refused(spoil, encoded, tmp_path):
    embed(tmp_path / "kept", ["a dog"])
    [path] = (tmp_path / "kept").iterdir()
    texts, vectors = np.zeros((1, 32), dtype=np.uint8), np.ones((1, 5), dtype=np.float32)
    arrays = {
        "objects": {"texts": texts, "vectors": np.array([[print]], dtype=object)},
        "other arrays": {"texts": texts, "vectors": np.ones((2, 5), dtype=np.float32)},
        "NaN": {"texts": texts, "vectors": vectors * np.nan},
    }
    if spoil == "text":
        path.write_text("a dog")
    else:
        np.savez(path, **arrays[spoil])
    with pytest.raises(
        ValueError, match=r"npz': expected embeddings as --cache keeps them, got \w+. Delete the file.$"
    ):
        embed(tmp_path / "kept", ["a dog"])


def test_without_what_embeds_a_cache_is_refused(tmp_path, capsys):
    files = write_captions(tmp_path, caption_rows(4))
    line = ["compare", files["base"], "-r", files["references"], "-o", str(tmp_path / "out"), "--cache"]
    assert command_line.main([*line, "--distance", "cider", "-m", "trm_cider"]) == 2
    assert capsys.readouterr().err.rpartition("\r")[2] == (
        "--cache: expected a distance or a metric that embeds captions, got --distance cider and trm_cider. Give "
        "--distance bert, or leave --cache out.\n"
    )


def test_a_comparison_gives_the_same_numbers_from_kept_vectors(encoded, tmp_path):
    files = write_captions(tmp_path, caption_rows(6))
    given = CompareOptions([files["base"]], references=[files["references"]], distance="bert", metrics=["trm_cider"])
    numbers = [json.dumps(compare(given, embeddings=tmp_path / "kept").to_dict()) for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert len(encoded) == len(set(encoded))
