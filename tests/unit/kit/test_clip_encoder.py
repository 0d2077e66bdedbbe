"""A CLIP that several encoders share: what is loaded and encoded once, what keeps encoders apart, and its options."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tqdm.auto import tqdm

from manycaps.command_line import one_line
from manycaps.kit import clip_encoder
from manycaps.kit.clip_encoder import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS, ClipEncoder
from tests.clip_checkpoints import save_checkpoint

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
