"""Columns of images: what is encoded, how often, and what an error leaves behind."""

import io

import numpy as np
import PIL.Image
import pytest
from tqdm.auto import tqdm

from manycaps.kit.clip_encoder import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    as_feature_rows,
    encode_images,
)
from manycaps.kit.embeddings import BYTES_PER_ENTRY
from tests.modules.sample_inputs import small_checkpoint

RNG = np.random.default_rng(0)
OPTIONS = CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS


@pytest.fixture
def encoder(monkeypatch):
    """An encoder that counts the images that its model sees."""
    made = ClipEncoder(OPTIONS | {"checkpoint": small_checkpoint(), "device": "cpu"}, tqdm)
    made.forget()  # the model may be in use elsewhere
    made.batches = []
    encode = made.model.image_features
    monkeypatch.setattr(made.model, "image_features", lambda pixels: made.batches.append(len(pixels)) or encode(pixels))
    return made


def pictures(n, side=40):
    return list(RNG.integers(0, 256, (n, side, side, 3), dtype=np.uint8))


def as_png(array):
    buffer = io.BytesIO()
    PIL.Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


def test_each_distinct_image_is_encoded_once_whatever_its_kind(encoder, tmp_path):
    arrays = pictures(3)
    path = tmp_path / "0.png"
    path.write_bytes(as_png(arrays[0]))
    column = [arrays[0], str(path), PIL.Image.fromarray(arrays[0]), as_png(arrays[0]), arrays[1], arrays[2], arrays[1]]
    features = encode_images(encoder, column, "images", batch_size=2, n_workers=4)
    assert encoder.batches == [2, 1]
    assert len(set(features[:4])) == 1
    assert features[4] == features[6] != features[5]
    encode_images(encoder, column, "images", batch_size=2, n_workers=1)
    assert sum(encoder.batches) == 3
    encoder.forget()
    encode_images(encoder, column[:1], "images", batch_size=2, n_workers=1)
    assert sum(encoder.batches) == 4


@pytest.mark.parametrize("n_bytes", [0, 1500])
def test_a_small_memory_forgets_features_and_changes_none(encoder, monkeypatch, n_bytes):
    files = [as_png(array) for array in pictures(9)]
    column = [files[i] for i in (0, 1, 0, 2, 3, 4, 0, 5, 6, 1, 7, 8, 0)]
    expected = encode_images(encoder, column, "images", batch_size=2, n_workers=3)
    texts = ["a", "b", "a", "c"]
    of_texts = encoder.encode_texts(texts, batch_size=1)
    encoder.forget()
    monkeypatch.setattr(encoder.remembered, "n_bytes", n_bytes)
    for _ in range(2):
        found = encode_images(encoder, column, "images", batch_size=2, n_workers=3)
        assert as_feature_rows(found) == pytest.approx(as_feature_rows(expected), abs=2e-6)
        again = encoder.encode_texts(texts, batch_size=1)
        assert again.distinct == pytest.approx(of_texts.distinct, abs=2e-6)
        assert again.rows.tolist() == of_texts.rows.tolist()
        assert len(encoder.remembered) * BYTES_PER_ENTRY <= n_bytes


def test_one_lazy_pil_image_in_many_rows_is_safe(encoder):
    image = PIL.Image.open(io.BytesIO(as_png(RNG.integers(0, 256, (600, 600, 3), dtype=np.uint8))))
    features = encode_images(encoder, [image] * 32, "images", batch_size=8, n_workers=8)
    assert len(set(features)) == 1


def test_images_are_taken_ahead_of_the_model_by_two_batches_at_most(encoder, monkeypatch):
    taken, most = [0], [0]

    def column():
        for array in pictures(60):
            taken[0] += 1
            yield array

    encode = encoder.model.image_features

    def watched(pixels):
        most[0] = max(most[0], taken[0] - sum(encoder.batches))
        return encode(pixels)

    monkeypatch.setattr(encoder.model, "image_features", watched)
    encode_images(encoder, column(), "images", batch_size=4, n_workers=2)
    assert taken == [60]
    assert 4 < most[0] <= 3 * 4 + 1  # decoding runs while the model works, and not far ahead
