"""Pages of all modules and commands: rules, options, limits, and what their examples show; no browser is needed."""

import ast
import asyncio
import re
import runpy
import shutil
import subprocess
import sys

import evaluate
import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
pytest.importorskip("av", reason="av is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.catalog import MODULES
from manycaps.kit.media_video_decoder import VideoSize
from manycaps.pages.examples import EXAMPLE_CAPTIONS
from manycaps.pages.module_page import check_clip, module_form
from scripts.repository import push_to_hub
from tests.each_case import each_case
from tests.modules.conftest import DISTRIBUTION_FOLDERS, FOLDERS, ROOT, SPACES, folder_name
from tests.modules.sample_inputs import load_options, small_checkpoint
from tests.modules.test_every_module import load_module

# What the page of every module is, beside its title and its name, but for those of human_parity and of commands.
APP = '''"""Demo page of {title}: `python app.py`, or a Space made of this folder."""

try:
    from manycaps.pages.module_page import module_page
except ImportError as error:
    raise SystemExit(f"app.py: {{error}}. Run pip install -r requirements.txt 'manycaps[demo]'.") from error

PAGE = module_page("{name}", "{title}")
page = PAGE.build(__file__)

if __name__ == "__main__":
    PAGE.serve(page)
'''
OWN_PAGES = ("human_parity", "compare")

# For the label of an example what the page must say of its candidates.
SAYS = {
    "Varied captions": "the candidates cannot be distinguished from the human captions",
    "One caption repeated": "the candidates differ from the human captions",
    "Captions of another image": "the candidates differ from the human captions",
}


def app_text(space):
    return (space / "app.py").read_text(encoding="utf-8")


def pages_imported(space):
    """Name and text of every program of manycaps/pages that a folder's page needs."""
    files = push_to_hub.page_files(app_text(space))
    return {name: content.decode() for name, content in files.items() if name.endswith(".py")}


def compute_event(page):
    (event,) = (event for event in page.fns.values() if event.api_name == "compute")
    return event


def test_every_folder_says_which_page_it_has_and_nothing_else():
    for space in SPACES:
        title = re.search(r'^"""Demo page of (.+): `python app.py`', app_text(space))[1]
        if space.name in OWN_PAGES:
            assert f"from manycaps.pages.{space.name} import {space.name.upper()} as PAGE" in app_text(space)
        else:
            assert app_text(space) == APP.format(title=title, name=space.name), space
            assert title == MODULES[space.name].title, space


def test_without_the_package_a_page_says_in_one_line_what_to_install():
    for space in SPACES:
        # No packages at all: neither the package nor gradio is found.
        command = [sys.executable, "-S", "-E", "app.py"]
        done = subprocess.run(command, cwd=space, capture_output=True, text=True, timeout=60, check=False)
        advice = "Run pip install -r requirements.txt 'manycaps[demo]'."
        assert (done.returncode, done.stderr) == (1, f"app.py: No module named 'manycaps'. {advice}\n"), space


def test_a_page_names_no_path_and_no_address(space):
    for name, source in {"app.py": app_text(space), **pages_imported(space)}.items():
        texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
        assert not [text for text in texts if isinstance(text, str) and re.match(r"[a-z]+:/|/|~", text)], name


def test_the_page_of_a_module_imports_nothing_else_of_the_package(folder):
    """Its Space has these files alone."""
    imported = pages_imported(folder)
    assert {"manycaps/pages/__init__.py", "manycaps/pages/form.py"} <= imported.keys()
    for name, source in imported.items():
        assert not re.findall(r"^\s*(?:import|from) (?:manycaps|\.\.).*", source, re.MULTILINE), name


def test_a_page_is_that_of_its_folder(space, tmp_path, monkeypatch):
    """A changed copy of a folder shows its own module and its own card; uploads take no address."""
    for name in ("app.py", "README.md"):
        shutil.copy(space / name, tmp_path)
    with (tmp_path / "README.md").open("a", encoding="utf-8") as card:
        card.write("\n## Changed\n")
    load, scripts = evaluate.load, []

    def load_instead(path, **options):
        scripts.append(path)
        return load(str(space), **load_options(space.name))

    monkeypatch.setattr(evaluate, "load", load_instead)
    page = runpy.run_path(str(tmp_path / "app.py"))["page"]
    assert scripts == ([] if space.parent.name == "spaces" else [str(tmp_path / f"{space.name}.py")])
    card = [block.value for block in page.blocks.values() if block.elem_id == "card"]
    assert [text.endswith("## Changed") and not text.startswith("---") for text in card] == [True]
    for component in compute_event(page).inputs:
        if isinstance(component, gr.File | gr.Image | gr.Video):
            with pytest.raises(gr.Error, match="expected a file, got an address"):
                asyncio.run(component.async_move_resource_to_block_cache("http://127.0.0.1:9/x.png"))


def test_a_changed_copy_shows_its_own_numbers(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "metrics" / "bleu_rouge", copy)
    boxes, shown = ("a dog runs", "a dog runs\na wet dog"), []
    for _ in range(2):
        shown.append(compute_event(runpy.run_path(str(copy / "app.py"))["page"]).fn(*boxes))
        script = (copy / "bleu_rouge.py").read_text(encoding="utf-8")
        script = script.replace('_corpus": value for', '_corpus": value / 8 for')
        (copy / "bleu_rouge.py").write_text(script, encoding="utf-8")
    assert "| `bleu_1_corpus` | 1.0000 |" in shown[0]
    assert "| `bleu_1_corpus` | 0.1250 |" in shown[1]


def test_an_empty_box_of_labels_is_named():
    page = runpy.run_path(str(ROOT / "measurements" / "vdtk_concept_overlap" / "app.py"))["page"]
    with pytest.raises(gr.Error, match="expected at least one label, got none"):
        compute_event(page).fn("a dog", "")


@pytest.fixture
def page(distribution_folder):
    """The page of a folder, made as `python app.py` makes it, and not served."""
    return runpy.run_path(str(distribution_folder / "app.py"))["page"]


def on_click(page, label):
    """What the page does when a button is pressed."""
    (button,) = (block for block in page.blocks.values() if isinstance(block, gr.Button) and block.value == label)
    (event,) = (event for event in page.fns.values() if (button._id, "click") in event.targets)
    return event


def test_every_example_has_four_images_and_six_captions_a_side():
    assert EXAMPLE_CAPTIONS.keys() == SAYS.keys()
    for boxes in EXAMPLE_CAPTIONS.values():
        candidates, references = ([row.split("\n") for row in box.split("\n\n")] for box in boxes)
        assert len(candidates) == len(references) >= 4
        assert min(map(len, [*candidates, *references])) >= 6


def test_every_example_shows_what_its_label_says(page, distribution_folder):
    name, compute = distribution_folder.name, on_click(page, "Compute")
    for label, said in SAYS.items():
        values = on_click(page, label).fn()
        # An example leaves the options as they are when the page opens.
        assert list(values[2:]) == [component.value for component in compute.inputs[2:]]
        text = compute.fn(*values)
        assert re.match(f"### [A-Za-z-]+: {said} ", text), (label, text)
        shown = {key: float(value) for key, value in re.findall(r"^\| `(\w+)` \| (\S+) \|", text, re.MULTILINE)}
        assert (shown[f"{name}_corpus_p_value"] < 0.05) == ("differ" in said), label
        # The interval beside the sentence does not contradict it.
        assert (shown[f"{name}_excess_ci_low"] > 0) == ("differ" in said), label
        assert shown[f"{name}_excess_ci_high"] > 0, label


# Of every module that has options of a page: which it offers, with the default first.
OFFERED = {
    "trm": {"distance": "cosine", "statistic": "per_side", "p_value": "exact"},
    "mmd": {"kernel": "rbf", "estimator": "unbiased", "p_value": "exact"},
    "trm_meteor": {"statistic": "per_side", "p_value": "exact"},
    "trm_cider": {"statistic": "per_side", "p_value": "exact"},
    "trm_bert": {"statistic": "per_side", "p_value": "exact"},
    "mmd_bert": {"estimator": "unbiased", "p_value": "exact"},
    "fid_bert": {"p_value": "exact"},
    "set_diversity": {"sizes": "equal"},
}


def test_a_page_offers_the_options_of_its_module():
    labels = {"Distance of sentence embeddings": "distance", "Kernel of sentence embeddings": "kernel"}
    labels |= {"Statistic": "statistic", "Estimator": "estimator", "p-value": "p_value"}
    labels["Captions to measure on each side"] = "sizes"
    for folder in FOLDERS:
        form = module_form("Title", load_module(folder))
        if folder.name != "human_parity":  # it has a page of its own
            offered = {labels[component.label]: component.value for component in form.options}
            assert offered == OFFERED.get(folder.name, {}), folder.name


def test_every_number_of_a_result_of_the_papers_metrics_has_a_meaning():
    for folder in FOLDERS:
        if folder.name in ("trm_meteor", "bleu_rouge", "meteor15", "vdtk_leave_one_out"):
            form = module_form("Title", load_module(folder))
            example = next(iter(form.examples.values()))
            values = example() if callable(example) else example
            (text,) = form.measure(*(values if isinstance(values, tuple) else [values]))
            rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
            assert rows, text
            # What the docstring names in passing has no meaning of its own.
            without = [row[0] for row in rows if not row[2].strip(" |") and "_excess_ci_" not in row[0]]
            assert without == [], folder.name


def test_captions_of_one_image_are_listed_with_their_scores():
    folder = next(folder for folder in FOLDERS if folder.name == "bleu_rouge")
    form = module_form("BLEU", load_module(folder))
    (text,) = form.measure("a dog runs\na <b> | cat", "a dog runs\na cat")
    assert "| a dog runs | " in text
    assert "| a &lt;b&gt; &#124; cat | " in text


def test_a_minute_as_phones_record_it():
    check_clip(VideoSize(60.0, 3600, 1920, 1080))
    check_clip(VideoSize(15.0, 900, 4096, 2160))


@each_case(
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
@pytest.mark.parametrize("other", [space for space in SPACES if space not in DISTRIBUTION_FOLDERS], ids=folder_name)
def test_the_first_example_computes(other, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYCAPS_CHECKPOINT", small_checkpoint())
    monkeypatch.syspath_prepend(str(other))
    page = runpy.run_path(str(other / "app.py"))["page"]
    compute = compute_event(page)
    first, *_ = (event for event in page.fns.values() if event.targets and event is not compute and not event.inputs)
    values = first.fn()
    values = values if isinstance(values, tuple | list) else [values]
    shown = compute.fn(*(as_uploaded(value, tmp_path) for value in values))
    text = shown if isinstance(shown, str) else shown[0]
    assert " | " in text, "a table"


def as_uploaded(value, folder):
    """What a page gets of an example: a picture as a file, anything else as it is."""
    if not isinstance(value, PIL.Image.Image):
        return value
    value.save(folder / "picture.png")
    return str(folder / "picture.png")
