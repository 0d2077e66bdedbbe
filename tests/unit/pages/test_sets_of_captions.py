"""What the pages of the distribution modules ask of a module, and say of its result."""

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
from manycaps.pages import sets_of_captions
from manycaps.pages.sets_of_captions import (
    CONFIDENCE,
    POOLED_RESAMPLES,
    check_row_number,
    conclusion,
    corpus_meanings,
    set_form,
)

METRIC = sets_of_captions.TRIANGLE_RANK._replace(name="trm", title="TRM")
RESULT = {"trm_corpus_p_value": 0.5, "trm_smallest_corpus_p": 0.001, "trm_excess": 0.1, "n_rows": 2}


@pytest.mark.parametrize("row", [-1, 2, 0.5, None, "1"])
def test_a_row_to_draw_must_be_there(row):
    with pytest.raises(ValueError, match=r"^row to draw: expected a whole number from 0 to 1, got "):
        check_row_number(row, 2)


def test_a_conclusion_stands_above_the_table():
    lines = conclusion(METRIC, RESULT, "one.").split("\n\n")
    assert lines[0].startswith("### TRM: the candidates cannot be distinguished from the human captions (corpus p 0.5,")
    assert lines[1] == "Statistic: one. What it sees and what it misses: [card below](#card)."
    meaning = corpus_meanings("trm")["trm_corpus_p_value"]
    assert lines[2].splitlines()[2] == f"| `trm_corpus_p_value` | 0.5000 | {meaning} |"
    assert lines[2].splitlines()[-1] == "| `n_rows` | 2 | number of rows |"


class Module:
    """Stands for a module of sets of captions: keeps the options that it is called with."""

    def compute(self, *, predictions, references, **options):
        self.options = options
        return RESULT | {"n_rows": len(predictions), "trm_p_value_per_row": [0.25] * len(predictions)}

    def examine(self, *, predictions, references, row, **options):
        raise ValueError(f"row {row} is looked at with {sorted(options)}")


@pytest.mark.parametrize(("n_rows", "confidence_level"), [(1, None), (2, CONFIDENCE)])
def test_an_interval_is_asked_for_where_there_are_rows_enough(n_rows, confidence_level):
    module, box = Module(), "\n\n".join(["a dog"] * n_rows)
    measure = set_form(METRIC, module).measure
    with pytest.raises(ValueError, match=rf"^row {n_rows - 1} is looked at with \['max_partitions', 'p_value', 'sta"):
        measure(box, box, "per_side", "exact", n_rows - 1)
    assert module.options == {
        "statistic": "per_side",
        "p_value": "exact",
        "max_partitions": 200_000,
        "confidence_level": confidence_level,
        "details": True,
    }


def test_fewer_resamples_where_all_rows_are_pooled_as_well():
    module = Module()
    for pooled, more in ((False, {}), (True, {"n_resamples": POOLED_RESAMPLES})):
        with pytest.raises(ValueError, match="^row 0 is looked at"):
            sets_of_captions.FID_BERT.form(module).measure("a dog", "a dog", pooled, "exact", 0)
        assert {key: module.options[key] for key in module.options if key == "n_resamples"} == more
        assert module.options["pooled"] is pooled
