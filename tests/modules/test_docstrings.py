"""Every example in a docstring runs and gives what it prints."""

import doctest
import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]

# Examples whose module stands in the template of a new module. Those of module folders, to which the kit has links,
# run in the copy that evaluate loads.
TEMPLATES = ROOT / "scripts" / "repository" / "module_template"

WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("manycaps", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if TEMPLATES not in path.parents
    and not path.is_symlink()
    and re.search("^ +>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


# What the oldest versions of the other packages do not fit.
NEWEST = {
    "manycaps.pages.inputs": "gradio",
    "manycaps.pages.module_page": "gradio",
    "scripts.repository.site_pages": "mkdocs",
}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name):
    if name in NEWEST:
        pytest.importorskip(NEWEST[name], reason="it cannot be installed beside the oldest versions")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0
