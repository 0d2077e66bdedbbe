"""The template of a module: what `scripts.repository.new_module` writes into the catalog is a record of today."""

import pathlib

import pytest

from manycaps.catalog import modules

TEMPLATES = pathlib.Path(__file__).resolve().parents[4] / "scripts" / "repository" / "module_template"


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*/record")), ids=lambda path: path.parent.name)
def test_the_record_of_the_template_is_one(path):
    (record,) = eval(f"[{path.read_text(encoding='utf-8')}]", dict(vars(modules)))
    assert record.slug == "new_slug"
