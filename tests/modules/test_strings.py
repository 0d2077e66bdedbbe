"""A string stands for a list of one caption, in all rows of a column or in none."""

import pytest

from tests.each_case import each_case
from tests.large_packages import datasets, evaluate
from tests.modules.conftest import FOLDERS, folder_name
from tests.modules.sample_inputs import COLUMNS, load_options

CAPTIONS = {"predictions", "references", "data"}

# Options with which a module compares one caption with one other.
OPTIONS = {"mmd": {"estimator": "biased"}, "mmd_bert": {"estimator": "biased"}}


def load_all_columns(folder):
    """The module, with references where that is a configuration, and what it reads."""
    config_names = ["references"] if folder.name == "emscore_pac" else []
    module = evaluate.load(str(folder), *config_names, **load_options(folder.name), **OPTIONS.get(folder.name, {}))
    return module, {name: COLUMNS[name] for name in (*module.OWN_COLUMNS, *config_names)}


def outcome(run, module, columns):
    """A result, or the message of a module that needs several captions a row."""
    try:
        return run(module, columns)
    except ValueError as error:
        return str(error)


def added(module, columns):
    module.added = []
    for row in zip(*columns.values(), strict=True):
        module.add(**dict(zip(columns, row, strict=True)))
    return module.compute()


def batched(module, columns):
    module.added = []
    module.add_batch(**columns)
    return module.compute()


def computed(module, columns):
    return module.compute(**columns)


def test_strings_are_lists_of_one_caption(folder):
    module, columns = load_all_columns(folder)
    listed = {name: [row[:1] if name in CAPTIONS else row for row in rows] for name, rows in columns.items()}
    strings = {name: [row[0] if name in CAPTIONS else row for row in rows] for name, rows in columns.items()}
    for run in (computed, batched, added):
        assert str(outcome(run, module, strings)) == str(outcome(run, module, listed))


@each_case("folder", FOLDERS, ids=folder_name)
def test_a_mix_of_strings_and_lists_and_a_list_that_became_text_are_refused(folder):
    module, columns = load_all_columns(folder)
    for name in CAPTIONS & set(columns):
        for rows, expected in (
            (["a dog", ["a cat"]], rf"^{name}\[1\]: expected a caption \(a string\) as in row 0, got list"),
            ([["a dog"], "a cat"], rf"^{name}\[1\]: expected a list of captions as in row 0, got a string\. Wrap it"),
            (["a dog", "['a cat', 'a dog']"], rf"^{name}\[1\]: expected a caption, got a list that became text, .*"),
            ([["a dog"], ["['a cat' 'a dog']"]], rf"^{name}\[1\]\[0\]: expected a caption, got a list that became"),
        ):
            given = {other: values[:2] for other, values in columns.items()} | {name: rows}
            for call in (module.compute, module.add_batch):
                with pytest.raises((TypeError, ValueError), match=expected):
                    call(**given)
    assert len(module) == 0


@each_case("folder", FOLDERS, ids=folder_name)
def test_evaluate_shows_both_forms_and_stores_the_first(folder):
    module, columns = load_all_columns(folder)
    for name in CAPTIONS & set(columns):
        forms, one = [form[name] for form in module.features], datasets.Value("string")
        assert forms[0].feature == one
        assert [form for form in forms if form != forms[0]] == [one] * forms.count(one) != []
