"""The layout of a page, its messages and its table; the examples of all files of the pages."""

import pathlib

import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.pages.examples import EXAMPLE_CAPTIONS
from manycaps.pages.form import Form, build_page, card_body, house_messages
from manycaps.pages.inputs import caption_box
from manycaps.pages.results import Drawing, as_table_cell, result_table


def test_messages_quote_input_as_text():
    with pytest.raises(gr.Error) as error, house_messages():
        raise ValueError("got '<img src=x onerror=alert(1)>' & more")
    assert error.value.message == "got &#x27;&lt;img src=x onerror=alert(1)&gt;&#x27; &amp; more"
    with pytest.raises(ZeroDivisionError), house_messages():
        raise ZeroDivisionError  # a fault of the page, not of the input


def test_the_table_shows_what_the_result_has():
    table = result_table({"n_rows": 1200, "score": 0.123456}, {"score": "a", "n_rows": "b", "other": "c"})
    assert table.splitlines()[2:] == ["| `score` | 0.1235 | a |", "| `n_rows` | 1,200 | b |"]
    assert as_table_cell(-0.0001) == "-1.0e-04"


def test_a_card_is_shown_without_the_fields_of_the_hub(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\ntitle: A\n---\n\n# Card\n\n---\n\nEnd\n", encoding="utf-8")
    assert card_body(card) == "# Card\n\n---\n\nEnd"


def test_a_page_is_built(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\ntitle: A\n---\n# The card\n", encoding="utf-8")
    form = Form(
        title="Demo",
        introduction="",
        inputs=[caption_box(label, "one per line") for label in ("Candidates", "References")],
        drawings=["One"],
        examples=EXAMPLE_CAPTIONS,
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
