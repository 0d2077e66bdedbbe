"""The one contract of all modules: options of a call stay in the call, columns of others are accepted and unused."""

import evaluate
import pytest

from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, SAMPLE_INPUTS, VIDEOS, load_options
from tests.modules.test_every_module import assert_same, load_module

# Everything that any module reads, row by row.
ALL_COLUMNS = {**CAPTION_ROWS, "images": IMAGES, "videos": VIDEOS, "data": CAPTION_ROWS["references"]}


def own_and_all(folder):
    """The rows that a module reads, alone and beside the columns of all others."""
    own = SAMPLE_INPUTS[folder.name]
    return own, {**ALL_COLUMNS, **own}


def test_columns_of_other_modules_are_accepted_and_unused(folder):
    own, every = own_and_all(folder)
    expected = load_module(folder).compute(**own)
    module = load_module(folder)
    assert_same(folder, module.compute(**every), expected)
    module.add_batch(**every)
    assert_same(folder, module.compute(), expected)


def test_a_column_that_no_module_has_is_refused(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
    with pytest.raises(TypeError, match=r"^add_batch: expected columns among \['data', 'images'.*got \['captions'\]"):
        module.add_batch(**own, captions=[])
    with pytest.raises(TypeError, match=r"^compute: expected options among .*got \['captions'\]"):
        module.compute(**own, captions=[])
    assert len(module) == 0


def test_nothing_of_a_refused_call_stays_in_force(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
    expected = load_module(folder).compute(**own)
    for option in sorted(set(module.load_options) - module.LOAD_OPTIONS):
        with pytest.raises((TypeError, ValueError), match=rf"^{option}"):
            module.compute(**own, **{option: {"no": "such value"} if option != "idf" else 3.5})
    module.add_batch(**own)
    assert_same(folder, module.compute(), expected)


def test_options_of_a_call_end_with_it(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
    module.compute(**own, details=True)
    assert "signature" not in module.compute(**own)
    assert not hasattr(module, "options")


def test_captions_images_and_videos_are_scored_by_one_combination():
    names = ("trm_meteor", "ref_pac_score", "emscore_pac")
    modules = [evaluate.load(name, **load_options(name)) for name in names]
    result = evaluate.combine(modules).compute(**{key: ALL_COLUMNS[key] for key in ALL_COLUMNS if key != "data"})
    for name in names:
        columns = {**CAPTION_ROWS, "images": IMAGES, "videos": VIDEOS}
        assert result[name] == pytest.approx(evaluate.load(name, **load_options(name)).compute(**columns)[name])
