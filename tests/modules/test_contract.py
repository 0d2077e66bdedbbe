"""The one contract of all modules: options of a call stay in the call, and nothing that is given is ignored."""

import ast
import functools
import re

import numpy as np
import pytest

import manycaps
from manycaps.catalog.modules import MODULES
from tests.large_packages import evaluate, transformers
from tests.modules.conftest import ROOT
from tests.modules.sample_inputs import (
    CAPTION_ROWS,
    COLUMNS,
    IMAGES,
    SAMPLE_INPUTS,
    as_arrays,
    bag_of_words,
    load_options,
    module_of,
    small_checkpoint,
    small_meteor15_data,
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
    module = module_of(name)
    assert module.compute(**given)
    others = {column: COLUMNS[column] for column in COLUMNS if column not in given} | READY
    for column in others.keys() - given:
        with pytest.raises((TypeError, ValueError), match=": expected "):
            module.compute(**given, **{column: others[column]})


@pytest.mark.parametrize(
    ("name", "column", "advice"),
    [
        ("emscore_pac", "references", 'Load it with config_name="references".'),
        ("vdtk_diversity", "predictions", "Give the captions as data=."),
        ("bleu_rouge", "images", "Leave it out, or take pac_score or ref_pac_score; trm and mmd compare "),
        ("human_parity", "data", "Leave it out, or take vdtk_diversity, "),
    ],
)
def test_where_a_column_belongs_is_said(name, column, advice):
    with pytest.raises(TypeError, match=f"^{column}: .*{re.escape(advice)}"):
        module_of(name).compute(**SAMPLE_INPUTS[name], **{column: COLUMNS[column]})
    with pytest.raises(TypeError, match=f"^{column}: "):
        module_of(name).compute(**{column: COLUMNS[column]})


@pytest.mark.parametrize(
    ("name", "given", "door", "advice"),
    [
        ("bleu_rouge", "tokenizer", "add_batch", "load or compute"),
        ("chair", "objects", "add_batch", "load or compute"),
        ("trm", "prediction_embeddings", "add_batch", "compute"),
        ("mmd", "n_candidates", "load", "compute"),
        ("bleu_rouge", "references", "load", "compute"),
        ("pac_score", "variant", "add_batch", "load"),
        ("pac_score", "variant", "compute", "load"),
    ],
)
def test_where_an_option_or_a_column_is_taken_is_said(name, given, door, advice):
    call = functools.partial(manycaps.load, name) if door == "load" else getattr(module_of(name), door)
    with pytest.raises(TypeError, match=rf"^{door}: .*got \['{given}'\]\. Give it to {advice}\.$"):
        call(**({} if door == "load" else SAMPLE_INPUTS[name]), **{given: None})


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
    captions = evaluate.combine([modules["trm_meteor"], module_of("bleu_rouge")])
    assert captions.compute(**CAPTION_ROWS)["trm_meteor"] == pytest.approx(result["trm_meteor"])


SUITE = """
import evaluate
from datasets import Dataset
from evaluate.evaluation_suite import SubTask

class Suite(evaluate.EvaluationSuite):
    def __init__(self, name):
        super().__init__(name)
        rows = Dataset.from_dict({"prompt": ["a dog runs", "a cat"], "people": [["a dog is running"], ["the cat"]]})
        columns = {"metric": evaluate.load(METRIC), "input_column": "prompt", "label_column": "people"}
        self.suite = [SubTask("text2text-generation", data=rows, args_for_task=columns)]
"""


class Repeating:
    """A pipeline that says what it is asked."""

    task = "text2text-generation"

    def __call__(self, prompts, **_):
        return [{"generated_text": prompt} for prompt in prompts]


def test_a_suite_of_evaluate_runs_with_transformers_4_alone(tmp_path):
    metric = str(ROOT / "metrics" / "cider_d")
    (tmp_path / "suite.py").write_text(SUITE.replace("METRIC", repr(metric)), encoding="utf-8")
    suite = evaluate.EvaluationSuite.load(str(tmp_path / "suite.py"))
    if int(transformers.__version__.partition(".")[0]) > 4:  # docs/python.md says so
        with pytest.raises(KeyError, match="text2text-generation has been removed from transformers"):
            suite.run(Repeating())
    else:
        expected = module_of("cider_d").compute(
            predictions=["a dog runs", "a cat"], references=[["a dog is running"], ["the cat"]]
        )
        assert suite.run(Repeating())[0]["cider_d"] == expected["cider_d"]


# A path at which there is nothing.
NOWHERE = "no-such-path"

# Values of options that are not their defaults, and what an option takes beside it; the rest is in `EFFECTS`.
OTHER_VALUES = {
    "tokenizer": str.split,
    "language": "de",
    "function_words": "none",
    "paraphrases": False,
    "document_frequency": {"n_documents": 9, "document_frequency": {"a dog": 2}},
    "vocabulary": {"dog": []},
    "training": ["a dog runs on the beach"],
    "labels": {"things": ["train"]},
    "encoder": lambda captions: bag_of_words(captions) + 1,
    "dtype": "float16",
    "long_texts": "window",
    "long_captions": "window",
    "p_value": "exact",
    "max_partitions": 500_000,
    "n_resamples": 99,
    "confidence_level": 0.9,
    "classes": "first",
    "clusters": [0, 0, 1, 1],
    "seed": 5,
    "statistic": "pooled",
    "estimator": "biased",
    "sigma": 0.5,
    "kernel": "linear",
    "degree": 2,
    "gamma": 0.5,
    "coef0": 2.0,
    "kernels": ("ngram",),
    "n_subsets": 7,
    "subset_size": 3,
    "pooled": True,
    "vendi_orders": (3,),
    "sizes": "all",
    "equivalent": 0.5,
    "k": 1,
    "answer_order": "given",
    "n_splits": 3,
    "quality": [[1.0], [2.0], [3.0], [4.0]],
    "metrics": ["rouge_l"],
    "n_iterations": 3,
    "n_references": 1,
    "head_share": 0.5,
    "head_shares": (0.5,),
    "lengths": (3,),
    "prompt": "",
    "weight": 1.0,
    "retrieval": True,
    "best_of": True,
    "idf": True,
    "frames": 1,
    "transfer": True,
    "evaluate_scores": "distance",
    "meteor15_data": NOWHERE,
}

# Values of options that mean another thing in every module.
OF_MODULES = {
    "human_parity": {"distance": "cider", "language_model": {"n_captions": 1, "trigrams": {"  a": 1}}},
    "wording": {"language_model": {"n_captions": 1, "trigrams": {"  a": 1}}},
    "trm": {"distance": "euclidean", "variant": NOWHERE, "checkpoint": NOWHERE},
    "mmd": {"preset": "kid", "variant": NOWHERE, "checkpoint": NOWHERE},
    "chair": {"objects": [["dog"]] * 4},
    "density_coverage": {"nearest_k": 1},
    "homogeneity": {
        "equivalent": 0.5,
        "classes": "connected",
        "others": {"b": [["a dog", "two dogs"], ["a cat", "cats"], ["a man", "men"], ["a car", "cars"]]},
    },
    "mid": {"epsilon": 0.5},
    "set_diversity": {"k": 1},
    "vdtk_diversity": {"pos": NOWHERE},
    "vdtk_leave_one_out": {"n_hypotheses": 2, "pos": NOWHERE},
}

# Options that change no number by intention: how fast, how much at once, and how large a test may be.
NEUTRAL = {"device", "dtype", "batch_size", "n_workers", "max_partitions", "details"}

# Options that four rows leave without effect: tests of tails take ten.
OF_MORE_ROWS = {("human_parity", "seed")}

# Options beside which others have no effect, by module; beside the defaults some have none either.
BESIDE = {
    "human_parity": [{"distance": "meteor"}, {"p_value": "none"}],
    "trm": [{"distance": lambda first, second: [0.5] * len(first)}],
    "density_coverage": [{"n_splits": 0}],
    "mid": [{"n_splits": 0}],
    "mmd": [{"kernel": "linear"}],
    "homogeneity": [{"distance": "classes"}],
    "set_diversity": [{"kernels": ("ngram",)}, {"equivalent": 0.5}],
    "vdtk_leave_one_out": [{"metrics": ["trm_bert"]}],
}


@pytest.mark.parametrize("name", MODULES)
def test_no_option_is_ignored(name):
    """Every value of an option that is not its default changes the result or its signature, or is refused.

    Where it changes a number, it changes the signature.
    """
    module, own = module_of(name), SAMPLE_INPUTS[name]
    options = {"encoder": bag_of_words} if "encoder" in module.DEFAULTS and name != "vdtk_diversity" else {}
    module = manycaps.load(name, **{**module.load_options, **module.effective_options(options)})
    default = module.compute(**own, details=True)
    for option in module.DEFAULTS.keys() - module.LOAD_OPTIONS - NEUTRAL:
        found = outcome(module, **own, **{option: other_value(name, option), "details": True})
        assert repr(found) != repr(default) or (name, option) in OF_MORE_ROWS, f"{option} changes nothing"
        if isinstance(found, dict) and found["signature"] == default["signature"]:
            same = [repr(found[key]) == repr(default[key]) for key in found.keys() & default.keys()]
            assert all(same), f"{option} is not in the signature"


def other_value(name, option):
    """A value of an option that is not its default: from its module's table where that has choices, or a flag."""
    declared = module_of(name).OPTIONS[option]
    values = OTHER_VALUES | OF_MODULES.get(name, {})
    if option not in values and declared.choices:
        return next(choice for choice in declared.choices if choice != declared.default)
    if option not in values and isinstance(declared.default, bool):
        return not declared.default
    assert option in values, f"expected another value of {name}'s option {option} in OTHER_VALUES or OF_MODULES"
    return values[option]


def outcome(module, **given):
    """A result, or the message of a refusal."""
    try:
        return module.compute(**given)
    except (TypeError, ValueError, OSError) as error:
        return re.search(".*: expected .*", str(error))[0]


@pytest.mark.parametrize("name", MODULES)
def test_at_most_two_classes_stand_above_a_module_and_none_but_the_first_computes(name):
    ours = [
        kind for kind in type(module_of(name)).__mro__ if kind.__module__.split(".")[0] not in ("evaluate", "builtins")
    ]
    assert len(ours) <= 3
    assert [kind.__name__ for kind in ours if {"compute", "_compute"} & vars(kind).keys()] == ["CollectionModule"]


@pytest.mark.parametrize("name", MODULES)
def test_an_option_without_effect_is_refused_with_what_it_needs(name):
    """When it is loaded and when it is called; the default may be given, and the remedy is one."""
    module = module_of(name)
    values = {option: other_value(name, option) for option in OTHER_VALUES.keys() & module.DEFAULTS.keys()}
    values |= {"device": "cpu", "batch_size": 7, "meteor15_data": small_meteor15_data()}
    values |= {"variant": "clip-vit-b-32", "checkpoint": small_checkpoint()}
    refused = set()
    for beside in ({}, *BESIDE.get(name, ())):
        options = {**module.DEFAULTS, **beside}
        for option, effect in module.EFFECTS.items():
            if effect.holds(options):
                continue
            refused.add(option)
            message = rf"^{option}: expected {effect.other}={re.escape(effect.value)} beside it, got {effect.other}="
            with pytest.raises(ValueError, match=message):
                manycaps.load(name, **beside, **{option: values[option]})
            with pytest.raises(ValueError, match=message):
                module.compute(**SAMPLE_INPUTS[name], **beside, **{option: values[option]})
            manycaps.load(name, **beside, **{option: module.DEFAULTS[option]})
            assert effect.holds({**options, effect.other: ast.literal_eval(effect.value)})
            assert option not in module.effective_options({**beside, option: values[option]})
    assert refused == set(module.EFFECTS)


@pytest.mark.parametrize(
    ("name", "given", "option"),
    [
        *((name, VECTORS, "long_texts") for name in ("trm_bert", "mmd_bert", "fid_bert", "mmd", "trm", "human_parity")),
        ("human_parity", VECTORS, "tokenizer"),
        ("human_parity", {"distances": PAIRS, "n_candidates": 2}, "distance"),
        ("trm", {"distances": PAIRS, "n_candidates": 2}, "distance"),
        ("mmd", {"kernels": [np.eye(4)] * 4, "n_candidates": 2}, "kernel"),
        ("mmd", {"kernels": [np.eye(4)] * 4, "n_candidates": 2}, "encoder"),
        ("trm", {"prediction_images": IMAGES[:2], "reference_images": IMAGES[2:]}, "long_texts"),
        ("mmd", CAPTION_ROWS, "long_captions"),
        ("pac_score", FEATURES, "prompt"),
        ("emscore_pac", SAMPLE_INPUTS["emscore_pac"], "reference_aggregation"),
        ("vdtk_leave_one_out", READY_CALLS[-1][1], "long_texts"),
    ],
)
def test_an_option_that_the_columns_leave_without_effect_is_refused(name, given, option):
    values = {**OTHER_VALUES, "distance": "meteor", "reference_aggregation": "equation_8"}
    values["distance"] = "euclidean" if name == "trm" else values["distance"]
    module = module_of(name)
    message = rf"^{option}: expected none (beside|for|without) .*, which would have no effect"
    with pytest.raises(ValueError, match=message):
        module.compute(**given, **{option: values[option]})
    module.added.clear()
    assert module.compute(**given, **{option: module.DEFAULTS[option]})
