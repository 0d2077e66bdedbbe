"""The form of the demo pages: text boxes and files to rows, limits, messages."""

import asyncio
import doctest
import importlib
import pathlib

import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps import shared_demo_form
from manycaps.shared_demo_form import (
    CaptionLimits,
    as_number,
    build_page,
    caption_lines,
    caption_rows,
    card_body,
    check_megapixels,
    check_row_number,
    check_uploaded,
    conclusion,
    corpus_meanings,
    house_messages,
    measure_captions,
    result_table,
    uploaded_file,
)
from manycaps.shared_demo_plots import Drawing

LIMITS = CaptionLimits(rows=2, captions_per_row=3, characters_per_caption=10)


@pytest.mark.parametrize("name", ["shared_demo_form", "shared_demo_plots", "shared_demo_files"])
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(f"manycaps.{name}"))
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        (" \n\n ", []),
        ("a", [["a"]]),
        ("\n\na\n b \n\n\n\nc\n", [["a", "b"], ["c"]]),
        ("a\r\nb\r\n \r\nc", [["a", "b"], ["c"]]),
        ("a\u2028b\n\nc\x0cd", [["a\u2028b"], ["c\x0cd"]]),
    ],
)
def test_an_empty_line_starts_the_next_row(text, rows):
    assert caption_rows(text, "predictions", LIMITS) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n\nb\n\nc", "predictions: expected at most 2 rows on this page, got 3. Give less, or run the module"),
        ("a\n\nb\nb\nb\nb", "predictions[1]: expected at most 3 captions on this page, got 4."),
        ("a\n\nb\nbbbbbbbbbbb", "predictions[1][1]: expected at most 10 characters on this page, got 11."),
    ],
)
def test_limits_name_the_place(text, message):
    with pytest.raises(ValueError) as error:
        caption_rows(text, "predictions", LIMITS)
    assert str(error.value).startswith(message)


def test_a_box_for_one_row_needs_a_caption():
    assert caption_lines("a\n\nb\x85c", "predictions", LIMITS) == [["a", "b\x85c"]]
    with pytest.raises(ValueError, match=r"^predictions\[0\]: expected at least one caption, got none\."):
        caption_lines(" \n", "predictions", LIMITS)


@pytest.mark.parametrize("row", [-1, 2, 0.5, None, "1"])
def test_a_row_to_draw_must_be_there(row):
    with pytest.raises(ValueError, match=r"^row to draw: expected a whole number from 0 to 1, got "):
        check_row_number(row, 2)


def test_messages_quote_input_as_text():
    with pytest.raises(gr.Error) as error, house_messages():
        raise ValueError("got '<img src=x onerror=alert(1)>' & more")
    assert error.value.message == "got &#x27;&lt;img src=x onerror=alert(1)&gt;&#x27; &amp; more"
    with pytest.raises(ZeroDivisionError), house_messages():
        raise ZeroDivisionError  # a fault of the page, not of the input


def test_an_upload_is_a_path_and_never_an_address(tmp_path):
    component = uploaded_file(gr.Image(render=False, type="filepath"))
    for address in ("http://127.0.0.1:9/x.png", "https://example.org/x", "ftp://x/y", "data:image/png;base64,AAAA"):
        with pytest.raises(gr.Error) as error:
            asyncio.run(component.async_move_resource_to_block_cache(address))
        assert "expected a file, got an address" in error.value.message
    file = tmp_path / "no picture.png"
    file.write_bytes(b"not opened")
    moved = asyncio.run(component.async_move_resource_to_block_cache(str(file)))
    assert component.preprocess(component.data_model(path=moved)) == moved
    assert component.preprocess(component.data_model(url="data:image/png;base64,AAAA")) is None
    assert component.preprocess(None) is None


def test_upload_limits(tmp_path):
    with pytest.raises(ValueError, match=r"^images\[0\]: expected a file, got none\. Upload one"):
        check_uploaded(None, "images[0]", 1)
    file = tmp_path / "large.png"
    PIL.Image.new("1", (2000, 1500)).save(file)
    check_megapixels(file, "images[0]", 3)
    with pytest.raises(ValueError, match=r"^images\[0\]: expected at most 2.5 megapixels on this page, got 3\.0"):
        check_megapixels(file, "images[0]", 2.5)
    file.write_bytes(bytes(2_000_000))
    check_megapixels(file, "images[0]", 1)  # no image: the module says so
    with pytest.raises(ValueError, match=r"^images\[0\]: expected at most 1 megabytes on this page, got 2\.0"):
        check_uploaded(str(file), "images[0]", 1)


def test_the_table_shows_what_the_result_has():
    table = result_table({"n_rows": 1200, "score": 0.123456}, {"score": "a", "n_rows": "b", "other": "c"})
    assert table.splitlines()[2:] == ["| `score` | 0.1235 | a |", "| `n_rows` | 1,200 | b |"]
    assert as_number(-0.0001) == "-1.0e-04"


def test_a_conclusion_stands_above_the_table():
    table = result_table({"trm_z": 1.0}, corpus_meanings("trm"))
    lines = conclusion("TRM: they differ.", "one.", table).split("\n\n")
    assert lines[0] == "### TRM: they differ."
    assert lines[1].startswith("Statistic: one. ")
    assert "(#card)" in lines[1]
    assert lines[2] == table


class Module:
    """Stands for a module of sets of captions: keeps the options that it is called with."""

    name = "trm"

    def compute(self, *, predictions, references, **options):
        self.options = options
        return {"n_rows": len(predictions), "trm_p_value_per_row": [0.25] * len(predictions)}

    def examine(self, *, predictions, references, row, **options):
        return "examined", row


@pytest.mark.parametrize(("n_rows", "confidence_level"), [(1, None), (2, 0.95)])
def test_an_interval_is_asked_for_where_there_are_rows_enough(n_rows, confidence_level):
    module, box = Module(), "\n\n".join(["a dog"] * n_rows)
    measured = measure_captions(module, (box, box), LIMITS, n_rows - 1, p_value="exact")
    assert module.options == {"p_value": "exact", "confidence_level": confidence_level, "details": True}
    assert measured.examined == ("examined", n_rows - 1)
    assert measured.p_value == 0.25


def test_a_card_is_shown_without_the_fields_of_the_hub(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\ntitle: A\n---\n\n# Card\n\n---\n\nEnd\n", encoding="utf-8")
    assert card_body(card) == "# Card\n\n---\n\nEnd"


def test_a_page_is_built(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\ntitle: A\n---\n# The card\n", encoding="utf-8")
    form = shared_demo_form.Form(
        title="Demo",
        introduction="",
        inputs=shared_demo_form.caption_boxes(),
        options=[],
        drawings=["One"],
        examples=shared_demo_form.EXAMPLE_CAPTIONS,
        measure=lambda *boxes: ("table", Drawing(PIL.Image.new("RGB", (9, 9)), "a square"), card),
        files=["The card"],
    )
    page = build_page(form, card)
    (event,) = (fn for fn in page.fns.values() if fn.api_name == "compute")
    assert [type(each) for each in event.outputs] == [gr.Markdown, gr.Image, gr.File]
    text, image, file = event.fn("a dog", "a cat")
    assert (text, image.alt_text, image.visible, file.visible) == ("table", "a square", True, True)
    assert pathlib.Path(file.value["path"]).read_bytes() == card.read_bytes()
    # On a phone, 400 pixels wide, two boxes do not fit beside each other.
    assert {box.min_width for box in event.inputs} == {260}
    assert "# The card" in [block.value for block in page.blocks.values() if isinstance(block, gr.Markdown)]
    assert page.title == "Demo"
    assert not page.analytics_enabled
    assert [fn.api_name for fn in page.fns.values() if fn.api_visibility == "public"] == ["compute"]
