"""What a page asks and refuses: its layout and messages, rows of text boxes, uploads, and limits."""

import asyncio
import pathlib
import re

import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.pages.examples import EXAMPLE_CAPTIONS
from manycaps.pages.form import Form, build_page, card_body, house_messages
from manycaps.pages.inputs import (
    CaptionLimits,
    caption_box,
    caption_lines,
    check_megapixels,
    check_uploaded,
    rows_of_text_box,
    uploaded_file,
)
from manycaps.pages.results import Drawing

LIMITS = CaptionLimits(rows=2, captions_per_row=3, characters_per_caption=10)


def test_messages_quote_input_as_text():
    with pytest.raises(gr.Error) as error, house_messages():
        raise ValueError("got '<img src=x onerror=alert(1)>' & more")
    assert error.value.message == "got &#x27;&lt;img src=x onerror=alert(1)&gt;&#x27; &amp; more"
    with pytest.raises(ZeroDivisionError), house_messages():
        raise ZeroDivisionError  # a fault of the page, not of the input


def test_a_page_is_built(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("---\ntitle: A\n---\n\n# The card\n\n---\n\nEnd\n", encoding="utf-8")
    assert card_body(card) == "# The card\n\n---\n\nEnd"
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
    assert card_body(card) in [block.value for block in page.blocks.values() if isinstance(block, gr.Markdown)]
    assert page.title == "Demo"
    assert not page.analytics_enabled
    assert [fn.api_name for fn in page.fns.values() if fn.api_visibility == "public"] == ["compute"]


def test_an_empty_line_starts_the_next_row():
    for text, rows in (
        ("", []),
        (" \n\n ", []),
        ("a", [["a"]]),
        ("\n\na\n b \n\n\n\nc\n", [["a", "b"], ["c"]]),
        ("a\r\nb\r\n \r\nc", [["a", "b"], ["c"]]),
        ("a\u2028b\n\nc\x0cd", [["a\u2028b"], ["c\x0cd"]]),
    ):
        assert rows_of_text_box(text, "predictions", LIMITS) == rows
    assert caption_lines("a\n\nb\x85c", "predictions", LIMITS) == [["a", "b\x85c"]]  # a box for one row


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


def test_limits_name_the_place(tmp_path):
    picture, large = tmp_path / "picture.png", tmp_path / "large.png"
    PIL.Image.new("1", (2000, 1500)).save(picture)
    large.write_bytes(bytes(2_000_000))
    check_megapixels(picture, "images[0]", 3)
    check_megapixels(large, "images[0]", 1)  # no image: the module says so
    for check, given, limit, message in (
        (caption_lines, " \n", LIMITS, "box[0]: expected at least one caption, got none."),
        (rows_of_text_box, "a\n\nb\n\nc", LIMITS, "box: expected at most 2 rows on this page, got 3. Give less"),
        (rows_of_text_box, "a\n\nb\nb\nb\nb", LIMITS, "box[1]: expected at most 3 captions on this page, got 4."),
        (rows_of_text_box, f"a\n\nb\n{11 * 'b'}", LIMITS, "box[1][1]: expected at most 10 characters on this p"),
        (check_uploaded, None, 1, "box: expected a file, got none. Upload one"),
        (check_uploaded, str(large), 1, "box: expected at most 1 megabytes on this page, got 2.0"),
        (check_megapixels, picture, 2.5, "box: expected at most 2.5 megapixels on this page, got 3.0"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            check(given, "box", limit)
