"""Modules that run a model: the same rows in other batches have the same values within the tolerance on their cards."""

import numpy as np
import pytest

import manycaps
from manycaps.kit import clip_encoder, vectors_sentences
from tests.modules.sample_inputs import CAPTION_ROWS, CLIP_MODULES, SAMPLE_INPUTS, VIDEOS, clip_options
from tests.oracles.tiny_sentence_model import save_tiny_model

PREDICTIONS, REFERENCES = CAPTION_ROWS["predictions"], CAPTION_ROWS["references"]
DATA = {"data": [a + b for a, b in zip(PREDICTIONS, REFERENCES, strict=True)]}
SETS = {"metrics": ["trm_bert", "mmd_bert", "fid_bert"], "n_hypotheses": 2}

# Columns and options of each module that runs a model.
MODULES = {
    "pac_score": (SAMPLE_INPUTS["pac_score"], {}),
    "ref_pac_score": (SAMPLE_INPUTS["ref_pac_score"], {}),
    "emscore_pac": ({"predictions": PREDICTIONS, "videos": VIDEOS}, {}),
    "trm": (CAPTION_ROWS, {"encoder": "clip"}),
    "mmd": (CAPTION_ROWS, {"encoder": "clip", "preset": "cmmd"}),
    "trm_bert": (CAPTION_ROWS, {}),
    "mmd_bert": (CAPTION_ROWS, {}),
    "fid_bert": (CAPTION_ROWS, {}),
    "set_diversity": (CAPTION_ROWS, {}),
    "vdtk_diversity": (DATA, {"semantic": True}),
    "vdtk_leave_one_out": (DATA, SETS),
}
OF_CLIP = CLIP_MODULES | {"trm", "mmd"}
# Modules whose row has the same values without the other rows.
ROWS_ALONE = set(MODULES) - {"set_diversity", "vdtk_diversity", "vdtk_leave_one_out"}
# Of a value, and of 1 where it is smaller; said on the cards.
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return {"encoder": str(save_tiny_model(tmp_path_factory.mktemp("models") / "encoder")), "device": "cpu"}


def compute_afresh(module, columns, rows=slice(None), **options):
    """The result of some rows by a model that remembers no features."""
    for loaded in (clip_encoder.LOADED, vectors_sentences.LOADED):
        for shared in list(loaded._models.values()):
            shared.remembered.clear()
    return module.compute(**{name: values[rows] for name, values in columns.items()}, **options)


def numbers(value):
    """All numbers of a value of a result, in a list."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [] if isinstance(value, str) or value is None else [float(value)]


def assert_equal(found, expected):
    expected = np.array(numbers(expected))
    assert np.allclose(numbers(found), expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_other_batches_change_nothing_beyond_the_tolerance(name, encoder):
    columns, options = MODULES[name]
    module = manycaps.load(name, details=True, **{**(clip_options() if name in OF_CLIP else encoder), **options})
    whole, single = compute_afresh(module, columns), compute_afresh(module, columns, batch_size=1)
    assert single.keys() == whole.keys()
    for key in whole:
        assert_equal(single[key], whole[key])
    if name in ROWS_ALONE:
        n_rows = len(next(iter(columns.values())))
        alone = [compute_afresh(module, columns, slice(i, i + 1)) for i in range(n_rows)]
        for key in (key for key in whole if key.endswith(("_per_row", "_per_candidate"))):
            assert_equal([row[key][0] for row in alone], whole[key])


@pytest.mark.parametrize("name", MODULES)
def test_an_empty_batch_adds_nothing(name, encoder):
    columns, options = MODULES[name]
    module = manycaps.load(name, **{**(clip_options() if name in OF_CLIP else encoder), **options})
    whole, empty = module.compute(**columns), {column: values[:0] for column, values in columns.items()}
    module.add_batch(**empty)
    assert len(module) == 0
    with pytest.raises(ValueError, match="expected at least one row, got none"):
        module.compute()
    module.add_batch(**columns)
    for kind in (list, np.array, tuple):
        module.add_batch(**{column: kind([]) for column in empty})
    first, *others = empty
    if set(others) - module.OPTIONAL_COLUMNS:
        with pytest.raises((TypeError, ValueError)):
            module.add_batch(**{first: []})
    if others:
        with pytest.raises((TypeError, ValueError)):
            module.add_batch(**{**columns, first: []})
    with pytest.raises((TypeError, ValueError)):
        module.add_batch(**dict.fromkeys(empty, ""))
    assert_equal(module.compute(**empty), whole)
