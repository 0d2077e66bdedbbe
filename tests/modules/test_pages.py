"""Pages of all modules and commands: rules, options, limits, and what their examples show; no browser is needed."""

import ast
import json
import re
import runpy
import subprocess
import sys

import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
pytest.importorskip("av", reason="av is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.catalog import hub_spaces
from manycaps.catalog.modules import MODULES
from manycaps.kit.errors import InputError
from manycaps.kit.videos import VideoSize
from manycaps.pages import human_parity
from manycaps.pages.module_page import check_clip, module_form, module_page
from scripts.repository import new_module
from tests.modules.conftest import DISTRIBUTION_FOLDERS, FOLDERS, ROOT, SPACES, folder_name
from tests.modules.sample_inputs import CLIP_MODULES, module_of, small_checkpoint, small_meteor15_data
from tests.modules.test_every_module import load_module

# Their pages are their own; the pages of all other modules are links to one file.
OWN_PAGES = ("human_parity", "compare")

# Labels of the examples: of captions like people's, and of others.
VARIED, DIFFERENT = "Varied captions", ("One caption repeated", "Captions of another image")


def app_text(space):
    return (space / "app.py").read_text(encoding="utf-8")


def page_programs(space):
    """Name and text of every program of manycaps/pages that a folder's page needs."""
    files = hub_spaces.page_files(app_text(space))
    return {name: content.decode() for name, content in files.items() if name.endswith(".py")}


def compute_event(page):
    (event,) = (event for event in page.fns.values() if event.api_name == "compute")
    return event


def test_every_module_has_the_same_page_or_one_of_its_own():
    for space in SPACES:
        if space.name in OWN_PAGES:
            assert f"from manycaps.pages.{space.name} import {space.name.upper()} as PAGE" in app_text(space)
        else:
            assert (space / "app.py").resolve() == new_module.TEMPLATES / "app.py", space
            page = module_page(str(space / "app.py"))
            assert (page.module, page.form.args) == (space.name, (MODULES[space.name].title,)), space


def test_without_the_package_a_page_says_in_one_line_what_to_install():
    for space in SPACES:
        if space.name in ("trm", *OWN_PAGES):  # the other pages have the text of the first
            # No packages at all: neither the package nor gradio is found.
            command = [sys.executable, "-S", "-E", "app.py"]
            done = subprocess.run(command, cwd=space, capture_output=True, text=True, timeout=60, check=False)
            advice = "Run pip install -r requirements.txt 'manycaps[demo]'."
            assert (done.returncode, done.stderr) == (1, f"app.py: No module named 'manycaps'. {advice}\n"), space


@pytest.mark.slow
def test_a_page_names_no_path_and_no_address(space):
    own = {name: text for name, text in page_programs(space).items() if name.startswith("manycaps/pages/")}
    for name, source in {"app.py": app_text(space), **own}.items():
        texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
        assert not [text for text in texts if isinstance(text, str) and re.match(r"[a-z]+:/|/|~.", text)], name


@pytest.mark.slow
def test_the_page_of_a_module_imports_nothing_else_of_the_package(folder):
    """Its Space has these files alone."""
    imported = page_programs(folder)
    assert {"manycaps/pages/__init__.py", "manycaps/pages/form.py"} <= imported.keys()
    for name, source in imported.items():
        others = re.findall(r"^\s*(?:import|from) ((?:manycaps|\.\.).*?)(?: import .*)?$", source, re.MULTILINE)
        assert {f"{other.replace('.', '/')}.py" for other in others} <= imported.keys(), name


def test_an_empty_box_of_labels_is_named():
    page = runpy.run_path(str(ROOT / "measurements" / "vdtk_concept_overlap" / "app.py"))["page"]
    with pytest.raises(gr.Error, match="expected at least one label, got none"):
        compute_event(page).fn("a dog", "")


@pytest.fixture
def page(distribution_folder, monkeypatch):
    """The page of a folder, made as `python app.py` makes it, and not served."""
    monkeypatch.setenv("MANYCAPS_METEOR15_DATA", small_meteor15_data())  # without effect on the pages that need none
    return runpy.run_path(str(distribution_folder / "app.py"))["page"]


def on_click(page, label):
    """What the page does when a button is pressed."""
    (button,) = (block for block in page.blocks.values() if isinstance(block, gr.Button) and block.value == label)
    (event,) = (event for event in page.fns.values() if (button._id, "click") in event.targets)
    return event


@pytest.mark.slow
@pytest.mark.parametrize("label", [VARIED, *(pytest.param(label, marks=pytest.mark.slow) for label in DIFFERENT)])
def test_every_example_shows_what_its_label_says(page, distribution_folder, label):
    name, compute = distribution_folder.name, on_click(page, "Compute")
    values, said = on_click(page, label).fn(), "differ from" if label in DIFFERENT else "cannot be distinguished from"
    # An example leaves the options as they are when the page opens.
    assert list(values[2:]) == [component.value for component in compute.inputs[2:]]
    answer, drawing, others = compute.fn(*values)
    assert f"{name}_excess: " in drawing.alt_text
    text = f"{answer}\n{others}"
    assert re.match(f"### [A-Za-z-]+: the candidates {said} the human captions ", text), text
    cells = re.findall(r"^\| `(\w+)` \| (\S+) \|", text, re.MULTILINE)
    shown = {key: float(value.replace(",", "")) for key, value in cells}
    assert (shown[f"{name}_corpus_p_value"] < 0.05) == (label in DIFFERENT)
    # The interval beside the sentence does not contradict it.
    assert (shown[f"{name}_excess_ci_low"] > 0) == (label in DIFFERENT)
    assert shown[f"{name}_excess_ci_high"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [folder.name for folder in FOLDERS if folder.name not in CLIP_MODULES])
def test_every_number_of_a_result_has_a_meaning_of_its_own(name):
    form = module_form("Title", module_of(name))
    example = next(iter(form.examples.values()))
    values = example() if callable(example) else example
    answer, drawing, others = form.measure(*(values if isinstance(values, tuple) else [values]))
    first, rest = (
        [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
        for text in (answer, others)
    )
    assert 1 <= len(first) <= 4, first
    assert drawing is None or drawing.description.count(",") >= 3
    # These have no value of a row among the numbers to read first.
    assert (drawing is None) == (name in ("density_coverage", "novelty", "vdtk_concept_overlap"))
    assert "not defined" not in answer
    for row in first + rest:
        assert len(row) == 3, row
        assert "_per_row" not in row[2], row  # where the meaning of one key runs into another's
        if re.search("_ci_|_low`|_high`", row[0]) and "wrong_share" not in row[0]:
            assert "interval" in row[2], row


def test_captions_of_one_image_are_listed_with_their_scores():
    folder = next(folder for folder in FOLDERS if folder.name == "bleu_rouge")
    form = module_form("BLEU", load_module(folder))
    _, drawing, text = form.measure("a dog runs\na <b> | cat", "a dog runs\na cat")
    assert drawing.description == "rouge_l: a dog runs 1.000, a <b> | cat 0.709; all together 0.855."
    assert "| a dog runs | " in text
    assert "| a &lt;b&gt; &#124; cat | " in text


@pytest.mark.parametrize("name", [folder.name for folder in FOLDERS if folder.name not in CLIP_MODULES])
def test_one_image_has_an_answer_or_a_message(name):
    module = module_of(name)
    form = human_parity.form(module) if name == "human_parity" else module_form("Title", module)
    example = next(iter(form.examples.values()))
    values = example() if callable(example) else example
    texts = values if isinstance(values, tuple) else (values,)
    one = [text.split("\n\n")[0] if text and "\n\n" in text else text for text in texts]
    if name in ("trm_cider", "cider_d", "vdtk_leave_one_out", "novelty"):  # which read the other rows
        with pytest.raises(InputError, match="at least 2 rows |rows of two images"):
            form.measure(*one)
    else:
        shown = form.measure(*one)
        assert "| `" in shown[0] + shown[-1]


def test_objects_of_one_image_are_listed():
    form = module_form("CHAIR", module_of("chair"))
    _, _, text = form.measure("a puppy on a bed\na cat", "a dog\na cat")
    assert "| a puppy on a bed | dog (puppy), bed | bed |" in text
    assert "| a cat | cat | none |" in text


def test_what_is_read_first_is_defined_and_a_repeated_caption_is_drawn_once():
    form = human_parity.form(module_of("human_parity"))
    five = ["\n\n".join(box.split("\n\n")[:5]) for box in form.examples["One caption repeated"][:2]]
    answer, _, most_unlike, others = form.measure(*five, None, "METEOR")
    assert "not defined" not in answer
    assert "| `wording_gap` | not defined |" in others
    captions = most_unlike.description.partition(": ")[2].rstrip(".").split(", ")
    assert len(captions) == len(set(captions)) > 1


# Columns of a file of captions, two images; and what the page must say of files that it refuses.
UPLOADED = [
    {"predictions": ["a dog runs", "a wet dog"], "references": ["a dog on the beach", "a brown dog", "a dog plays"]},
    {"predictions": ["a man cooks", "a cook"], "references": ["a man at the stove", "somebody cooks", "breakfast"]},
]


def uploaded(folder, rows, name="captions.jsonl"):
    (folder / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize("names", [("predictions", "references"), ("captions", "refs"), ("outputs", "targets")])
def test_a_file_gives_what_the_boxes_give(names, tmp_path):
    form = human_parity.form(module_of("human_parity"))
    boxes = ["\n\n".join("\n".join(row[column]) for row in UPLOADED) for column in UPLOADED[0]]
    rows = [dict(zip(names, row.values(), strict=True)) for row in UPLOADED]
    answer, *_, others = form.measure("", "", uploaded(tmp_path, rows), "METEOR")
    of_boxes, *_, others_of_boxes = form.measure(*boxes, None, "METEOR")
    assert (answer, others) == (of_boxes, others_of_boxes)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("captions.jsonl", UPLOADED * 51, "file: expected at most 100 rows on this page, got 101."),
        ("captions.jsonl", [{**UPLOADED[0], "references": ["a"] * 21}], "references[0]: expected at most 20 captions"),
        ("captions.jsonl", [{**UPLOADED[0], "predictions": ["a" * 301]}], "predictions[0][0]: expected at most 300 c"),
        ("captions.parquet", UPLOADED, "file: expected files of the kinds .jsonl, .json, .csv, .tsv, got"),
        ("captions.jsonl", [{"a": 1}], "captions.jsonl: "),
        ("captions.jsonl", [{"text": "x" * 2_100_000}], "file: expected at most 2 megabytes on this page, got 2.1."),
    ],
)
def test_a_file_is_bounded_and_named_as_the_user_does(name, rows, message, tmp_path):
    with pytest.raises(InputError) as raised:
        human_parity.rows_of_file(uploaded(tmp_path, rows, name))
    assert str(raised.value).startswith(message)
    assert str(tmp_path) not in str(raised.value)


def test_boxes_and_a_file_are_not_mixed(tmp_path):
    form = human_parity.form(module_of("human_parity"))
    with pytest.raises(InputError, match="file: expected the boxes or a file, got both. Empty the boxes, or remove"):
        form.measure("a dog", "", uploaded(tmp_path, UPLOADED), "METEOR")


def test_nothing_that_an_uploaded_table_names_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys.modules["manycaps.files.caption_tables.source"], "find_medium", lambda *_: pytest.fail("opened")
    )
    rows = [{"id": i, **row, "image": "http://127.0.0.1:9/a.png"} for i, row in enumerate(UPLOADED)]
    assert human_parity.rows_of_file(uploaded(tmp_path, rows))["predictions"] == [
        row["predictions"] for row in UPLOADED
    ]


def test_people_stand_beside_the_system():
    form = human_parity.form(module_of("human_parity"))
    answer, *_ = form.measure(*form.examples["One caption repeated"])
    first = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", answer, re.MULTILINE))
    assert len(first) == human_parity.N_FIRST
    assert first["near_duplicate_share"] == "1.0000<br>people 0.0500"
    assert first["unsupported_share"].endswith("<br>people 0.0500")
    assert re.fullmatch(r"[\d.]+<br>people [\d.]+", first["words_per_text"])
    assert "people" not in first["human_parity_p_value"]
    assert "_of_people`" not in answer


@pytest.mark.slow
def test_programs_name_what_they_give_to_a_page(space, monkeypatch):
    monkeypatch.setenv("MANYCAPS_CHECKPOINT", small_checkpoint())
    monkeypatch.setenv("MANYCAPS_METEOR15_DATA", small_meteor15_data())
    monkeypatch.syspath_prepend(str(space))
    page = runpy.run_path(str(space / "app.py"))["page"]
    named = [each["parameter_name"] for each in page.get_api_info()["named_endpoints"]["/compute"]["parameters"]]
    assert len(named) == len(compute_event(page).inputs) == len(set(named))
    if space.name == "compare":
        assert named == ["system_1", "system_2", "system_3", "references", "metric"]
    else:
        own, more = module_of(space.name).own_columns(), ("file",) if space.name == "human_parity" else ()
        assert set(named) <= {*own, *more, *module_of(space.name).DEFAULTS}
        assert named[: len(own)] == sorted(
            own, key=lambda column: (column not in ("images", "videos"), own.index(column))
        )


def test_a_minute_as_phones_record_it():
    check_clip(VideoSize(60.0, 3600, 1920, 1080))
    check_clip(VideoSize(15.0, 900, 4096, 2160))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((60.5, 605, 640, 480), "60 seconds on this page, got 60.5."),
        ((0.0, 3601, 64, 48), "3,600 frames on this page, got 3,601."),
        ((1.0, 10, 5000, 2000), "9 megapixels a frame on this page, got 10.0."),
        ((60.0, 3600, 2560, 1440), "8 gigapixels in all frames on this page, got 13.3."),
    ],
)
def test_larger_clips(size, message):
    with pytest.raises(ValueError) as error:
        check_clip(VideoSize(*size))
    assert str(error.value).startswith(f"videos[0]: expected at most {message}")


# The pages of distribution modules have examples of their own, above.
@pytest.mark.slow
@pytest.mark.parametrize("other", [space for space in SPACES if space not in DISTRIBUTION_FOLDERS], ids=folder_name)
def test_the_first_example_computes(other, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYCAPS_CHECKPOINT", small_checkpoint())
    monkeypatch.setenv("MANYCAPS_METEOR15_DATA", small_meteor15_data())
    monkeypatch.syspath_prepend(str(other))
    page = runpy.run_path(str(other / "app.py"))["page"]
    compute = compute_event(page)
    first, *_ = (event for event in page.fns.values() if event.targets and event is not compute and not event.inputs)
    values = first.fn()
    values = values if isinstance(values, tuple | list) else [values]
    shown = compute.fn(*(as_uploaded(value, tmp_path) for value in values))
    assert " | " in "".join(part for part in shown if isinstance(part, str)), "a table"
    # The answer is read first, then the pictures, then all numbers, then the files to be kept.
    answer, *between, tables = [output for output in compute.outputs if not isinstance(output, gr.File)]
    assert (type(answer), type(tables)) == (gr.Markdown, gr.Markdown)
    assert all(isinstance(output, gr.Image) for output in between)
    places = {block: place for place, block in enumerate(page.blocks.values())}
    assert [places[output] for output in compute.outputs] == sorted(places[output] for output in compute.outputs)
    assert between


def as_uploaded(value, folder):
    """What a page gets of an example: a picture as a file, anything else as it is."""
    if not isinstance(value, PIL.Image.Image):
        return value
    value.save(folder / "picture.png")
    return str(folder / "picture.png")
