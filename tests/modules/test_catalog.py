"""Every module folder has a record in the catalog, every record has a folder, and each says of a module what is so."""

import ast
import re
from fractions import Fraction

import evaluate
import pytest

from manycaps.catalog.modules import COMPARED_MODULES, EMBEDDINGS, METEOR_SUMS, MODULES, MOMENTS
from manycaps.comparison.module_scores import check_modules
from manycaps.scoring.scorer import Scorer
from tests.modules.conftest import FOLDERS, ROOT
from tests.modules.sample_inputs import SAMPLE_INPUTS, load_options
from tests.modules.test_every_module import flat, load_module


def test_every_folder_has_a_record_and_every_record_a_folder():
    assert {folder.relative_to(ROOT).as_posix() for folder in FOLDERS} == {
        f"{record.kind}/{record.slug}" for record in MODULES.values()
    }


def imports_torch(folder):
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py") if path.name != "app.py")
    imports = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import))
    return "torch" in {alias.name for node in imports for alias in node.names}


@pytest.mark.slow
def test_the_record_is_that_of_the_module(folder):
    record, module = MODULES[folder.name], load_module(folder)
    assert bool(record.network) == imports_torch(folder)
    assert (record.reduction in (EMBEDDINGS, MOMENTS)) == ("pooled" in module.DEFAULTS)
    assert record.options == tuple(module.DEFAULTS)
    for name in record.config_names:
        evaluate.load(str(folder), name, **load_options(folder.name))


def test_the_values_of_the_record_are_in_the_result(folder):
    record = MODULES[folder.name]
    options = {"p_value": "exact"} if record.is_distribution else {}
    options |= {"best_of": True} if "best_of" in record.options else {}
    result = load_module(folder).compute(**SAMPLE_INPUTS[folder.name], details=True, **options)
    for value in record.values:
        per_row = result[f"{value.key}_per_row"]
        assert result[value.mean_key or value.key] == pytest.approx(sum(per_row) / len(per_row))
        per_candidate = result.get(f"{value.key}_per_candidate")
        if per_candidate is not None:
            assert value.is_per_candidate
            assert [sum(row) / len(row) for row in per_candidate] == pytest.approx(per_row)
    assert ("meteor15_statistics" in result) == (record.reduction == METEOR_SUMS)


# The beginning of a declared range that has two ends.
RANGE = re.compile(r"(-?\d+) to (?:below )?(\d+(?:/\d+)?)(?= |;|$)")


def test_values_are_within_the_ranges_that_the_module_declares(folder):
    module = load_module(folder)
    result = module.compute(**SAMPLE_INPUTS[folder.name], details=True)
    for key, numbers in result.items():
        ranges = (value.range for value in module.VALUES if value.has_key(key.removesuffix("_per_row")))
        if ends := RANGE.match(next(ranges, "")):
            least, largest = (float(Fraction(end)) for end in ends.groups())
            assert all(least <= number <= largest or number != number for number in flat(numbers)), key


def test_score_takes_a_module_or_says_why_not(folder):
    scorer = Scorer(folder.name, load_options(folder.name))
    if MODULES[folder.name].scored_with_table:
        with pytest.raises(ValueError, match=r"^--option .*document_frequency: expected a table, got none; "):
            scorer.check_reducible()
        scorer.options["document_frequency"] = "table.json"
    not_scored = MODULES[folder.name].not_scored
    if not_scored:
        with pytest.raises(ValueError) as found:
            scorer.check_reducible()
        assert found.value.args == (f"-m {folder.name}", *not_scored)
    else:
        scorer.check_reducible()
        scorer.prepare()


def test_compare_takes_a_module_or_says_why_not(folder):
    record = MODULES[folder.name]
    assert bool(record.values) + bool(record.not_compared) == (folder.name != "human_parity")
    if record.not_compared:
        with pytest.raises(ValueError) as found:
            check_modules([folder.name], [])
        assert str(found.value).startswith("--metrics: expected some of trm_meteor, ")
        assert str(found.value).endswith(f", got {folder.name!r}. {record.not_compared}")


def test_a_value_that_is_replaced_has_a_value_in_its_place():
    for record in COMPARED_MODULES.values():
        keys = [value.key for value in record.values]
        assert len(keys) == len(set(keys))
        assert {value.replaced_by for value in record.values} <= {"", *keys}
        assert {value.best for value in record.values} <= {"highest", "lowest", "zero"}
