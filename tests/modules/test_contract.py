"""The one contract of all modules: options of a call stay in the call, columns of others are accepted and unused."""

import pytest

from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.modules.conftest import FOLDERS, folder_name
from tests.modules.sample_inputs import COLUMNS, SAMPLE_INPUTS, load_options
from tests.modules.test_every_module import assert_same, load_module


def own_and_all(folder):
    """The rows that a module reads, alone and beside the columns of all others."""
    own = SAMPLE_INPUTS[folder.name]
    return own, {**COLUMNS, **own}


def test_columns_of_other_modules_are_accepted_and_unused(folder):
    own, every = own_and_all(folder)
    expected = load_module(folder).compute(**own)
    module = load_module(folder)
    assert_same(folder, module.compute(**every), expected)
    module.add_batch(**every)
    assert_same(folder, module.compute(), expected)


@each_case("folder", FOLDERS, ids=folder_name)
def test_a_column_that_no_module_has_is_refused(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
    with pytest.raises(TypeError, match=r"^add_batch: expected columns among \['data', 'images'.*got \['captions'\]"):
        module.add_batch(**own, captions=[])
    with pytest.raises(TypeError, match=r"^compute: expected options among .*got \['captions'\]"):
        module.compute(**own, captions=[])
    assert len(module) == 0


def test_a_compute_leaves_nothing_behind_in_the_module(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
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
    results = [combined.compute(), combined.compute(**columns)]
    for name, module in modules.items():
        for key, value in module.compute(**columns).items():
            if key.startswith(name):
                assert [result[key] for result in results] == pytest.approx([value] * 2), key
