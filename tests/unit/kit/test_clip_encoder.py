"""A CLIP that several encoders share, and columns of images: what is loaded and encoded once, and its options."""

import gc
import io
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import PIL.Image
import pytest
from tqdm.auto import tqdm

from manycaps.commands.command_line import one_line
from manycaps.kit import clip_encoder
from manycaps.kit.clip_encoder import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    ClipEncoder,
    as_feature_rows,
    encode_images,
)
from manycaps.kit.vectors_models import BYTES_PER_ENTRY
from tests.clip_checkpoints import save_checkpoint
from tests.modules.sample_inputs import small_checkpoint

OPTIONS = CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS


@pytest.fixture
def checkpoint_path(tmp_path):
    return save_checkpoint(tmp_path / "small.pth")


@pytest.fixture
def n_builds(monkeypatch):
    """Grows by 1 with every model that is built."""
    built = []
    build = clip_encoder.ClipModel
    monkeypatch.setattr(clip_encoder, "ClipModel", lambda *args, **options: built.append(1) or build(*args, **options))
    return built


def encoder_of(path, **options):
    return ClipEncoder(OPTIONS | {"checkpoint": path, "device": "cpu"} | options, tqdm)


def test_encoders_of_one_checkpoint_share_the_model_and_what_it_has_read(checkpoint_path, n_builds):
    first, second = encoder_of(checkpoint_path), encoder_of(str(checkpoint_path), variant="clip-vit-b-32")
    features = first.encode_texts(["a dog"], batch_size=4).distinct
    assert second.model is first.model
    assert len(n_builds) == 1
    first.model.text_features = None  # no more passes
    assert (second.encode_texts(["a dog"], batch_size=4).distinct == features).all()
    for options in ({"dtype": "bfloat16"}, {"variant": "openclip-vit-l-14"}):
        assert encoder_of(checkpoint_path, **options).model is not first.model


def test_threads_that_load_at_once_get_one_model(checkpoint_path, n_builds):
    encoders = [encoder_of(checkpoint_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda encoder: encoder.model, encoders))
    assert len(set(models)) == len(n_builds) == 1


def test_a_model_that_nobody_uses_any_more_is_dropped(checkpoint_path, n_builds):
    for _ in range(2):
        assert encoder_of(checkpoint_path).model.context_length == 77
        gc.collect()
    assert len(n_builds) == 2


def test_a_text_is_encoded_once_and_counted_as_cut_each_time(checkpoint_path, monkeypatch):
    encoder, n_texts = encoder_of(checkpoint_path), []
    encode = encoder.model.text_features
    monkeypatch.setattr(
        encoder.model, "text_features", lambda new, *rest: n_texts.append(len(new)) or encode(new, *rest)
    )
    long = "dog " * 100
    first = encoder.encode_texts(["a", long, "a"], batch_size=4)
    second = encoder.encode_texts([long, "b", "a", long], batch_size=4)
    assert n_texts == [2, 1]
    assert (first.rows.tolist(), second.rows.tolist()) == ([0, 1, 0], [0, 1, 2, 0])
    assert (first.n_truncated, second.n_truncated) == (1, 2)
    assert (second.distinct[[2, 0]] == first.distinct).all()


@pytest.mark.parametrize("package", ["torch", "open_clip", "safetensors"])
def test_a_missing_library_is_said_before_weights_are_fetched(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(clip_encoder, "find_checkpoint", lambda *_: pytest.fail("weights are fetched"))
    with pytest.raises(ModuleNotFoundError) as error:
        ClipEncoder(OPTIONS, tqdm).encode_texts(["a dog"], batch_size=4)
    assert str(error.value).startswith(
        f"checkpoint: expected the package {package}, got none. Run `pip install 'manycaps[clip]'`"
    )
    assert one_line(error.value, "score") == (
        f"{package}: expected this package, got none. Run `pip install 'manycaps[clip]'`."
    )


# Columns of images: what is encoded, how often, and what an error leaves behind.

RNG = np.random.default_rng(0)


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
    text_features = encoder.encode_texts(texts, batch_size=1)
    encoder.forget()
    monkeypatch.setattr(encoder.remembered, "n_bytes", n_bytes)
    for _ in range(2):
        found = encode_images(encoder, column, "images", batch_size=2, n_workers=3)
        assert as_feature_rows(found) == pytest.approx(as_feature_rows(expected), abs=2e-6)
        again = encoder.encode_texts(texts, batch_size=1)
        assert again.distinct == pytest.approx(text_features.distinct, abs=2e-6)
        assert again.rows.tolist() == text_features.rows.tolist()
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

    def watch(pixels):
        most[0] = max(most[0], taken[0] - sum(encoder.batches))
        return encode(pixels)

    monkeypatch.setattr(encoder.model, "image_features", watch)
    encode_images(encoder, column(), "images", batch_size=4, n_workers=2)
    assert taken == [60]
    assert 4 < most[0] <= 3 * 4 + 1  # decoding runs while the model works, and not far ahead
