"""The examples of the distribution modules' pages say what their buttons promise; no browser is needed for that."""

import re
import runpy
import sys

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.shared_demo_form import EXAMPLE_CAPTIONS

# For the label of an example what the page must say of its candidates.
SAYS = {
    "Varied captions": "the candidates cannot be told from the human captions",
    "One caption repeated": "the candidates differ from the human captions",
    "Captions of another image": "the candidates differ from the human captions",
}


@pytest.fixture
def page(distribution_folder, monkeypatch):
    """The page of a folder, made as `python app.py` makes it, and not served."""
    monkeypatch.syspath_prepend(str(distribution_folder))
    # Every folder has its own copies, under the same names.
    for name in [name for name in sys.modules if name.startswith("shared_")]:
        monkeypatch.delitem(sys.modules, name)
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
        text, *_ = compute.fn(*values)
        assert re.match(f"### [A-Za-z-]+: {said} ", text), (label, text)
        shown = {key: float(value) for key, value in re.findall(r"^\| `(\w+)` \| (\S+) \|", text, re.MULTILINE)}
        assert (shown[f"{name}_corpus_p_value"] < 0.05) == ("differ" in said), label
        # The interval beside the sentence does not contradict it.
        assert (shown[f"{name}_excess_ci_low"] > 0) == ("differ" in said), label
        assert shown[f"{name}_excess_ci_high"] > 0, label
