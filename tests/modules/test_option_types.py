"""Options and vectors as other packages have them: scalars of NumPy, devices and dtypes and tensors of torch."""

import numpy as np
import pytest

import manycaps
from manycaps import functional
from tests.large_packages import torch
from tests.modules.sample_inputs import CAPTION_ROWS, CLIP_MODULES, SAMPLE_INPUTS, load_options, small_checkpoint
from tests.modules.test_every_module import assert_same, load_module, rows_of

NUMPY_TYPES = {bool: np.bool_, int: np.int64, float: np.float32, str: np.str_}

# Values of options whose defaults say no type, and others than the defaults.
VALUES = {"n_workers": 2, "gamma": 0.1, "confidence_level": 0.9, "sigma": 0.3, "frames": 1, "device": "cpu"}
OTHERS = {"seed": 7, "n_resamples": 7, "n_iterations": 7, "p_value": "permutation", "batch_size": 2}
OTHERS |= {"weight": 2.5, "prompt": "This is", "details": True}


def as_numpy(value):
    if type(value) in (list, tuple):
        return type(value)(as_numpy(item) for item in value)
    return NUMPY_TYPES[type(value)](value) if type(value) in NUMPY_TYPES else value


@pytest.mark.slow
def test_scalars_of_numpy_are_those_of_python_at_load_and_compute_time(folder):
    defaults = load_module(folder).load_options
    plain = {name: VALUES.get(name, value) if value is None else value for name, value in defaults.items()}
    plain |= load_options(folder.name) | {name: value for name, value in OTHERS.items() if name in plain}
    plain = load_module(folder).effective_options(plain)
    given = {name: as_numpy(value) for name, value in plain.items()}
    assert any(type(value) in NUMPY_TYPES.values() for value in given.values())
    expected = manycaps.load(folder.name, **plain).compute(**rows_of(folder))
    assert_same(folder, manycaps.load(folder.name, **given).compute(**rows_of(folder)), expected)
    call_options = {name: value for name, value in given.items() if name not in load_module(folder).LOAD_OPTIONS}
    fixed = {name: value for name, value in plain.items() if name not in call_options}
    assert_same(folder, manycaps.load(folder.name, **fixed).compute(**rows_of(folder), **call_options), expected)


@pytest.mark.parametrize("name", ["trm_bert", "pac_score"])
def test_devices_and_dtypes_of_torch_are_their_names(name):
    common = {"details": True} | ({"checkpoint": small_checkpoint()} if name in CLIP_MODULES else {})
    for dtype in (torch.float32, torch.bfloat16):
        plain, given = {"device": "cpu", "dtype": str(dtype)[6:]}, {"device": torch.device("cpu"), "dtype": dtype}
        results = [manycaps.load(name, **common, **own).compute(**SAMPLE_INPUTS[name]) for own in (plain, given)]
        assert results[0] == results[1]
    assert manycaps.load(name, device=np.int64(1)).load_options["device"] == "cuda:1"
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"^device: expected .*a device of this machine, got 'cuda:0'"):
            manycaps.load(name, **{**common, "device": 0}).compute(**SAMPLE_INPUTS[name])
    with pytest.raises(ValueError, match=r"^device: expected .*a device of this machine, got 'meta' \(Cannot copy out"):
        manycaps.load(name, **{**common, "device": "meta"}).compute(**SAMPLE_INPUTS[name])


def numbers(*shape):
    """Numbers that bfloat16 holds, without gradients."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16).double().numpy()


def tensors_of(array):
    """The same numbers as tensors."""
    return torch.tensor(array, dtype=torch.bfloat16), torch.tensor(array, dtype=torch.float64, requires_grad=True)


def as_pairs(values):
    """Distances of all pairs, as bfloat16 holds them."""
    pairs = np.abs(values[:, :, None] - values[:, None]).max(-1)
    return torch.tensor(pairs).to(torch.bfloat16).double().numpy()


def assert_near(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-6, nan_ok=True)), key


def given_vectors(name, array):
    """What a module takes in place of captions."""
    if name in ("trm", "trm_bert", "mmd", "mmd_bert", "fid_bert"):
        return {"prediction_embeddings": array(numbers(3, 4, 5)), "reference_embeddings": list(array(numbers(3, 3, 5)))}
    if name == "vdtk_leave_one_out":
        data = [["a dog", "two dogs", "dogs"]] * 2
        return {"data": data, "data_embeddings": array(numbers(2, 3, 5)), "metrics": ["trm_bert"]}
    return {}


READY = ("trm", "trm_bert", "mmd", "mmd_bert", "fid_bert", "vdtk_leave_one_out")


@pytest.mark.parametrize("name", READY)
def test_vectors_may_be_tensors_and_sequences(name):
    module = manycaps.load(name, details=True)
    expected = module.compute(**given_vectors(name, np.asarray))
    tensor_kinds = [lambda array, place=place: tensors_of(array)[place] for place in range(2)]
    for kind in (*tensor_kinds, list, np.ndarray.tolist, lambda array: tuple(map(tuple, array)), np.float32):
        assert_near(module.compute(**given_vectors(name, kind)), expected)


def test_tables_of_pairs_frames_and_what_functions_return_may_be_tensors():
    pairs, trm, mmd = as_pairs(numbers(2, 3, 5)), manycaps.load("trm"), manycaps.load("mmd", estimator="biased")
    emscore = manycaps.load("emscore_pac", checkpoint=small_checkpoint(), device="cpu")
    frames = numbers(2, 4, emscore.encoder.model.n_features)
    calls = [
        lambda array: trm.compute(distances=array(pairs), n_candidates=np.int8(2)),
        lambda array: mmd.compute(kernels=list(array(pairs)), n_candidates=[np.int64(2), 2]),
        lambda array: emscore.compute(predictions=["a dog", "a cat"], videos=list(array(frames))),
        lambda array: manycaps.load("trm_bert", encoder=lambda texts: array(numbers(len(texts), 5))).compute(
            **CAPTION_ROWS
        ),
        lambda array: manycaps.load("set_diversity", kernels=[lambda texts: array(np.eye(len(texts)))]).compute(
            **CAPTION_ROWS
        ),
        lambda array: manycaps.load("trm", distance=lambda x, y: array(np.ones(len(x)))).compute(**CAPTION_ROWS),
    ]
    for call in calls:
        expected = call(np.asarray)
        for place in range(2):
            found = call(lambda array, place=place: tensors_of(array)[place])
            assert_near(found, expected)


# One decorator converts what every plain function is given.
FUNCTIONS = {
    "triangle_rank_p_values": (
        lambda array: [array(as_pairs(numbers(2, 4, 5)))],
        {"n_candidates": 2, "n_resamples": 30, "seed": 3},
    ),
    "mmd_p_values": (lambda array: [list(array(numbers(2, 2, 3))), array(numbers(2, 3, 3))], {"sigma": 0.3}),
    "kid": (lambda array: [array(numbers(9, 3)), array(numbers(7, 3))], {"n_subsets": 5, "subset_size": 4, "seed": 1}),
    "pac_s": (lambda array: [array(numbers(5))], {"weight": 2.1}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_functions_take_scalars_of_numpy_and_tensors(name):
    arguments, options = FUNCTIONS[name]
    function = getattr(functional, name)
    expected = function(*arguments(np.asarray), **options)
    scalars = {key: as_numpy(value) for key, value in options.items()}
    found = [function(*arguments(np.asarray), **scalars)]
    found += [function(*arguments(lambda array, place=i: tensors_of(array)[place]), **scalars) for i in range(2)]
    for result in found:
        assert np.asarray(result) == pytest.approx(np.asarray(expected), rel=1e-12, abs=1e-12)
