"""Every page is built, and computes its first example; no browser is needed for that."""

import runpy

import PIL.Image
import pytest

from tests.modules.conftest import DISTRIBUTION_FOLDERS, SPACES, folder_name
from tests.modules.sample_inputs import small_checkpoint

# The examples of the other pages are those of test_pages.py.
OTHERS = [space for space in SPACES if space not in DISTRIBUTION_FOLDERS]


@pytest.mark.parametrize("other", OTHERS, ids=folder_name)
def test_the_first_example_computes(other, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYCAPS_CHECKPOINT", small_checkpoint())
    monkeypatch.syspath_prepend(str(other))
    page = runpy.run_path(str(other / "app.py"))["page"]
    (compute,) = (event for event in page.fns.values() if event.api_name == "compute")
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
