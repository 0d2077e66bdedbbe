"""From text boxes to rows, and the limits of a page."""

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
from manycaps.pages.inputs import CaptionLimits, caption_lines, rows_of_text_box

LIMITS = CaptionLimits(rows=2, captions_per_row=3, characters_per_caption=10)


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
    assert rows_of_text_box(text, "predictions", LIMITS) == rows


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
        rows_of_text_box(text, "predictions", LIMITS)
    assert str(error.value).startswith(message)


def test_a_box_for_one_row_needs_a_caption():
    assert caption_lines("a\n\nb\x85c", "predictions", LIMITS) == [["a", "b\x85c"]]
    with pytest.raises(ValueError, match=r"^predictions\[0\]: expected at least one caption, got none\."):
        caption_lines(" \n", "predictions", LIMITS)
