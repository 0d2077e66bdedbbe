"""The one contract of all modules: options of a call stay in the call, and nothing that is given is ignored."""

import numpy as np
import pytest

import manycaps
from manycaps.catalog import MODULES
from tests.large_packages import evaluate
from tests.modules.sample_inputs import (
    CAPTION_ROWS,
    COLUMNS,
    IMAGES,
    SAMPLE_INPUTS,
    as_arrays,
    bag_of_words,
    load_options,
    loaded,
)
from tests.modules.test_every_module import load_module

CONFIGURATIONS = [(name, of) for name, record in MODULES.items() for of in record.config_names or ("default",)]

# Keywords for ready values, and for images in place of captions.
READY = {
    **{f"{side}_embeddings": [np.ones((2, 3))] * 4 for side in ("prediction", "reference", "data")},
    **dict.fromkeys(("distances", "kernels"), [np.zeros((3, 3))] * 4),
    **dict.fromkeys(("prediction_images", "reference_images"), IMAGES),
    "n_candidates": 1,
}

VECTORS, PAIRS = as_arrays(bag_of_words), [1 - np.eye(4)] * 4
FEATURES = {"prediction_embeddings": [np.ones((2, 24))] * 4, "images": np.ones((4, 24))}

# What a module computes from in place of captions, and options with which it does.
READY_CALLS = [
    *((name, VECTORS) for name in ("trm_bert", "mmd_bert", "fid_bert", "mmd", "trm", "human_parity")),
    *((name, {"distances": PAIRS, "n_candidates": 2}) for name in ("trm", "human_parity")),
    ("mmd", {"kernels": [np.eye(4)] * 4, "n_candidates": 2}),
    *((name, {"prediction_images": IMAGES[:2], "reference_images": IMAGES[2:]}) for name in ("trm", "mmd")),
    ("pac_score", FEATURES),
    ("ref_pac_score", FEATURES | {"reference_embeddings": [np.ones((1, 24))] * 4}),
    (
        "vdtk_leave_one_out",
        {"data": CAPTION_ROWS["references"], "data_embeddings": VECTORS["reference_embeddings"]}
        | {"metrics": ["mmd_bert"], "estimator": "biased", "n_iterations": 2},
    ),
]


@pytest.mark.parametrize(("name", "config_name"), CONFIGURATIONS)
def test_no_column_of_captions_or_media_is_ignored(name, config_name):
    module = manycaps.load(name, config_name, **load_options(name))
    own = {column: SAMPLE_INPUTS[name].get(column, COLUMNS[column]) for column in module.own_columns()}
    for column in set(COLUMNS) - set(own):
        for call in (module.compute, module.add_batch):
            with pytest.raises(TypeError, match=f"^{column}: expected no column but {' and '.join(own)}, got one that"):
                call(**own, **{column: COLUMNS[column]})
        assert len(module) == 0
        module.add_batch(**own, **{column: None})  # as evaluate.combine gives what it has not got
        module.added.clear()
    for column in own:
        with pytest.raises((TypeError, ValueError), match=rf"^{column}"):
            module.compute(**own | {column: [object()] * 4})
    for keyword, value in READY.items():
        with pytest.raises((TypeError, ValueError), match=": expected "):
            module.compute(**own, **{keyword: value})
    assert len(module) == 0


@pytest.mark.parametrize(("name", "given"), READY_CALLS)
def test_no_column_beside_ready_values_is_ignored(name, given):
    module = loaded(name)
    assert module.compute(**given)
    others = {column: COLUMNS[column] for column in COLUMNS if column not in given} | READY
    for column in others.keys() - given:
        with pytest.raises((TypeError, ValueError), match=": expected "):
            module.compute(**given, **{column: others[column]})


def test_where_a_column_belongs_is_said():
    for name, column, advice in (
        ("emscore_pac", "references", 'Load it with config_name="references".'),
        ("vdtk_diversity", "predictions", "Give the captions as data=."),
        ("bleu_rouge", "images", "Leave it out, or take pac_score or ref_pac_score; trm and mmd compare "),
        ("human_parity", "data", "Leave it out, or take vdtk_diversity, "),
    ):
        with pytest.raises(TypeError, match=f"^{column}: ") as raised:
            loaded(name).compute(**SAMPLE_INPUTS[name], **{column: COLUMNS[column]})
        assert advice in str(raised.value)
        with pytest.raises(TypeError, match=f"^{column}: "):
            loaded(name).compute(**{column: COLUMNS[column]})


@pytest.mark.parametrize(
    ("name", "config_name", "advice"),
    [
        ("trm_meteor", "1.5", "Give meteor='1.5' in its place."),
        ("trm_meteor", 1.5, "Give meteor='1.5' in its place."),
        ("trm_meteor", "exact", "Give p_value='exact' in its place."),
        ("human_parity", "meteor", "Give distance='meteor' in its place."),
        ("coco_caption", "zh", "Give tokenizer='zh' in its place."),
        ("meteor15", "de", "Give language='de' in its place."),
        ("mmd", "kid", "Give preset='kid' in its place."),
        ("trm", "clip-vit-b-32", "Give variant='clip-vit-b-32' in its place."),
        ("emscore_pac", "openclip-vit-l-14", "Give variant='openclip-vit-l-14' in its place."),
        ("pac_score", "window", "Give long_captions='window' in its place."),
        *((name, "no such configuration", "Leave it out.") for name in MODULES),
        ("trm_cider", "", "Leave it out."),
    ],
)
def test_a_configuration_that_a_module_does_not_have_is_refused(name, config_name, advice):
    with pytest.raises(ValueError, match=r"^config_name: expected one of default[a-z0-9, +-]*, got ") as raised:
        manycaps.load(name, config_name)
    assert str(raised.value).endswith(advice)


def test_a_column_that_no_module_has_is_refused(folder):
    own, module = SAMPLE_INPUTS[folder.name], load_module(folder)
    with pytest.raises(TypeError, match=r"^add_batch: expected columns among \['data', 'images'.*got \['captions'\]"):
        module.add_batch(**own, captions=[])
    with pytest.raises(TypeError, match=r"^compute: expected options among .*got \['captions'\]"):
        module.compute(**own, captions=[])
    assert len(module) == 0


def test_a_compute_leaves_nothing_behind_in_the_module(folder):
    own, module = SAMPLE_INPUTS[folder.name], load_module(folder)
    names, options = set(vars(module)), dict(module.load_options)
    module.compute(**own, details=True)
    assert set(vars(module)) == names
    assert module.added == []
    assert module.load_options == options
    assert "signature" not in module.compute(**own)


def test_captions_images_and_videos_are_scored_by_one_combination_with_options_of_load_time():
    options = {"trm_meteor": {"p_value": "exact"}, "ref_pac_score": {}, "emscore_pac": {}}
    modules = {name: evaluate.load(name, **load_options(name), **own) for name, own in options.items()}
    combined = evaluate.combine(list(modules.values()))
    columns = {name: column for name, column in COLUMNS.items() if name != "data"}
    combined.add_batch(**columns)
    result = combined.compute()
    for name, module in modules.items():
        for key, value in module.compute(**{column: columns[column] for column in module.own_columns()}).items():
            if key.startswith(name):
                assert result[key] == pytest.approx(value), key
    with pytest.raises(TypeError, match=r"^images: expected no .* give columns to add_batch, which hands each module"):
        combined.compute(**columns)
    captions = evaluate.combine([modules["trm_meteor"], loaded("bleu_rouge")])
    assert captions.compute(**CAPTION_ROWS)["trm_meteor"] == pytest.approx(result["trm_meteor"])
