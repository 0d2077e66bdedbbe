"""The one contract of all modules: options of a call stay in the call, columns of others are accepted and unused."""

import ast
import collections
import pathlib
import sys

import pytest

from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.modules.conftest import FOLDERS, ROOT, folder_name
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


@each_case("folder", FOLDERS, ids=folder_name)
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


def test_a_compute_leaves_nothing_behind_in_the_module(folder):
    own, _ = own_and_all(folder)
    module = load_module(folder)
    names, options = set(vars(module)), dict(module.load_options)
    module.compute(**own, details=True)
    assert set(vars(module)) == names
    assert module.added == []
    assert module.load_options == options


def test_captions_images_and_videos_are_scored_by_one_combination():
    names = ("trm_meteor", "ref_pac_score", "emscore_pac")
    modules = [evaluate.load(name, **load_options(name)) for name in names]
    result = evaluate.combine(modules).compute(**{key: ALL_COLUMNS[key] for key in ALL_COLUMNS if key != "data"})
    for name in names:
        columns = {**CAPTION_ROWS, "images": IMAGES, "videos": VIDEOS}
        assert result[name] == pytest.approx(evaluate.load(name, **load_options(name)).compute(**columns)[name])


# Equal lines of functions, one after the other, from which on they count as repeated.
RUN = 5


def function_lines(folder):
    """The lines of a glue's functions without blanks, with the module's own names replaced."""
    text = (folder / f"{folder.name}.py").read_text("utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    numbers = {number for node in functions for number in range(node.lineno - 1, node.end_lineno)}
    lines = text.replace(folder.name, "new_slug").splitlines()
    return [line for number in sorted(numbers) if (line := " ".join(lines[number].split()))]


def runs_of(lines):
    return [tuple(lines[start : start + RUN]) for start in range(len(lines) - RUN + 1)]


def repeated_shares(glues):
    """For each glue the share of its function lines in runs that another glue holds too; and that of all together."""
    holders = collections.Counter(run for lines in glues.values() for run in set(runs_of(lines)))
    repeated = {
        name: {start + i for start, run in enumerate(runs_of(lines)) if holders[run] > 1 for i in range(RUN)}
        for name, lines in glues.items()
    }
    share = sum(map(len, repeated.values())) / sum(map(len, glues.values()))
    return {name: len(repeated[name]) / len(lines) for name, lines in glues.items()}, share


def test_repeated_lines_are_found():
    first, second = "a b c d e f".split(), "x b c d e f y".split()
    assert repeated_shares({"first": first, "second": second}) == ({"first": 5 / 6, "second": 5 / 7}, 10 / 13)
    assert repeated_shares({"first": first, "second": [*second[:4], "z", *second[4:]]})[1] == 0


def test_little_of_a_glue_stands_in_another():
    shares, share = repeated_shares({folder.name: function_lines(folder) for folder in FOLDERS})
    assert share < 0.05, shares


def imports_of(path):
    return {
        node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.level
    }


def is_of_options(name):
    return name.startswith("meteor15") or name == "text_named_tokenizers"


def test_the_way_from_a_call_to_a_number_is_short():
    folder = ROOT / "metrics" / "trm_meteor"
    # What the sync tool writes for the loader is no way that a reader has to follow.
    glue = ast.parse((folder / "trm_meteor.py").read_text().partition("# isort: split")[0])
    first = {node.module for node in glue.body if isinstance(node, ast.ImportFrom) and node.level}
    # The way to the default METEOR by the default tokens; others leave it at `scorer` and in `text_tokens.py`.
    # What evaluate shows of a module is put together when it is imported, and runs in no call.
    first = {name for name in first if not is_of_options(name) and name != "sets_descriptions"}
    steps, depth = dict.fromkeys(first, 1), 1
    while new := {
        name
        for path in steps
        for name in imports_of(folder / f"{path}.py")
        # Texts of messages and docstrings are no step to a number, and an interval is none to a p-value.
        if name not in (*steps, "base_messages", "sets_descriptions", "sets_intervals")
        and steps[path] == depth
        and not is_of_options(name)
    }:
        depth += 1
        steps |= dict.fromkeys(new, depth)
    assert depth <= 3
    assert len(steps) + 1 <= 10
    assert entered_files(folder, p_value="exact") == {f"{name}.py" for name in (*steps, folder.name)}
    # The corpus is left out where nothing is tested.
    untested = entered_files(folder, p_value="none")
    assert len(untested) <= 9
    assert "sets_corpus.py" not in untested
    assert len(entered_files(ROOT / "metrics" / "human_parity", distance="meteor")) <= 14


def entered_files(folder, **options):
    """The files of a module whose functions run during a compute."""
    module, entered = load_module(folder), set()
    # The tokens of captions that were there before are remembered.
    new_captions = {
        name: [[f"{caption} entering, {options}" for caption in row] for row in rows]
        for name, rows in CAPTION_ROWS.items()
    }
    sys.setprofile(lambda frame, event, argument: entered.add(frame.f_code.co_filename))
    try:
        module.compute(**new_captions, **options)
    finally:
        sys.setprofile(None)
    script = pathlib.Path(sys.modules[type(module).__module__].__file__)
    return {path.name for path in map(pathlib.Path, entered) if path.parent == script.parent}


@each_case("folder", FOLDERS, ids=folder_name)
def test_no_folder_holds_a_helper_that_its_module_does_not_run(folder):
    helpers = {path.stem for path in folder.glob("*.py")} - {folder.name, "app", "tests"}
    assert helpers
    needed, waiting = set(), {folder.name}
    while waiting:
        name = waiting.pop()
        needed.add(name)
        text = (folder / f"{name}.py").read_text()
        nodes = ast.walk(ast.parse(text.partition("# isort: split")[0] if name == folder.name else text))
        waiting |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level} - needed
    assert helpers <= needed
