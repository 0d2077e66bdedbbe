"""A string stands for a list of one caption, in all rows of a column or in none."""

import warnings

import pytest

import manycaps
from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import main
from tests.large_packages import datasets, evaluate
from tests.modules.sample_inputs import COLUMNS, QUICK_OPTIONS, SAMPLE_INPUTS, load_options
from tests.tools import write_jsonl

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


def add_rows(module, columns):
    module.added = []
    for row in zip(*columns.values(), strict=True):
        module.add(**dict(zip(columns, row, strict=True)))
    return module.compute()


def add_batch(module, columns):
    module.added = []
    module.add_batch(**columns)
    return module.compute()


def compute(module, columns):
    return module.compute(**columns)


def test_strings_are_lists_of_one_caption(folder):
    module, columns = load_all_columns(folder)
    listed = {name: [row[:1] if name in CAPTIONS else row for row in rows] for name, rows in columns.items()}
    strings = {name: [row[0] if name in CAPTIONS else row for row in rows] for name, rows in columns.items()}
    for run in (compute, add_batch, add_rows):
        assert str(outcome(run, module, strings)) == str(outcome(run, module, listed))


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


def test_evaluate_shows_both_forms_and_stores_the_first(folder):
    module, columns = load_all_columns(folder)
    for name in CAPTIONS & set(columns):
        forms, one = [form[name] for form in module.features], datasets.Value("string")
        assert forms[0].feature == one
        assert [form for form in forms if form != forms[0]] == [one] * forms.count(one) != []


# Captions of which tokenizers leave nothing, the last two of them nothing that is seen.
TOKENLESS = ["...", "\U0001f642", "\u200b", "\ufeff"]

# Modules whose default options drop nothing that is seen: those that read captions by a network, and chair.
READ_ALL = {"chair", *(name for name, record in MODULES.items() if record.runs_network)} - {"set_diversity"}


def empty_counts(module, columns):
    """What a compute says of empty captions, by column."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.compute(**columns)
    said = [str(each.message).partition(": ") for each in caught if " empty, in " in str(each.message)]
    assert len(said) == len({column for column, _, _ in said})
    return {column: text for column, _, text in said}


@pytest.mark.parametrize("name", MODULES)
def test_captions_of_which_no_token_is_left_are_counted_as_empty(name):
    options = QUICK_OPTIONS.get(name, {}) | OPTIONS.get(name, {})
    module = manycaps.load(name, **load_options(name), **options)
    columns = {column: SAMPLE_INPUTS[name].get(column) for column in module.own_columns()}
    column = "data" if "data" in columns else "predictions"
    is_read = name in READ_ALL or name == "set_diversity"
    tokenless = [TOKENLESS[0], "..", *TOKENLESS[2:]] if is_read else TOKENLESS  # encoders know no such sign
    columns[column] = [["a dog", *tokenless], *([row] if isinstance(row, str) else row for row in columns[column][1:])]
    n_captions = sum(map(len, columns[column]))
    said = f"2 of {n_captions} captions are empty, in 1 row."
    if name not in READ_ALL:
        said = f"4 of {n_captions} captions are empty, in 1 row (2 of them have characters, but no token)."
    assert empty_counts(module, columns) == {column: said}
    columns[column][0] = ["a dog", "two dogs"]
    assert empty_counts(module, columns) == {}


def test_what_is_empty_is_decided_by_the_tokenizer_in_use():
    rows = {"predictions": [["a dog", "..."]] * 2, "references": [["a dog", "a cat"], ["a man", "men"]]}
    assert empty_counts(manycaps.load("bleu_rouge", tokenizer="none"), rows) == {}
    only_letters = manycaps.load("bleu_rouge", tokenizer=lambda caption: caption.split() if "dog" in caption else [])
    said = "3 of 4 captions are empty, in 2 rows (3 of them have characters, but no token)."
    assert empty_counts(only_letters, rows)["references"] == said
    by_meteor = manycaps.load("human_parity", distance="meteor", p_value="permutation", n_resamples=9)
    said = "2 of 4 captions are empty, in 2 rows (2 of them have characters, but no token)."
    assert empty_counts(by_meteor, rows) == {"predictions": said}
    assert empty_counts(manycaps.load("human_parity", distance=lambda first, second: [1.0] * len(first)), rows) == {}
    one = manycaps.load("vdtk_leave_one_out", metrics=["mmd_bert"], estimator="biased", n_iterations=2)
    assert empty_counts(one, {"data": rows["predictions"]}) == {}


@pytest.mark.usefixtures("undrawn_plots")
@pytest.mark.parametrize("command", ["score", "diversity", "compare"])
def test_commands_count_them_too(command, tmp_path, capsys):
    lines = [{"id": i, "predictions": ["a dog", *TOKENLESS[:i]], "references": ["a cat", "a dog"]} for i in range(4)]
    path = write_jsonl(tmp_path / "captions.jsonl", lines)
    options = {
        "score": ["-m", "trm_meteor", "-i", str(path), "-o", str(tmp_path / "o"), "--processes", "1"],
        "diversity": [str(path), "--column", "predictions", "--output", str(tmp_path / "page.html")],
        "compare": [str(path), "--distance", "meteor", "-m", "trm_meteor", "-o", str(tmp_path / "report")],
    }
    main([command, *options[command]])
    n_captions = 18 if command == "score" else 10
    said = f"6 of {n_captions} captions are empty, in 3 rows (5 of them have characters, but no token)"
    assert " ".join("".join(capsys.readouterr()).split()).count(said) == 1  # compare wraps its notes
