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


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name):
    for package, start in (("gradio", "manycaps.pages."), ("mkdocs", "scripts.repository.site_")):
        if name.startswith(start):  # packages that do not fit the oldest versions of others
            pytest.importorskip(package, reason=f"{package} is not installed: pip install -r tests/requirements.txt")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0
