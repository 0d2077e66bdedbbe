"""Pages: what they ask and refuse, what they show of a result, and what they say of their weights."""

import asyncio
import pathlib
import re

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr
import numpy as np
import PIL.Image
from tqdm.auto import tqdm

from manycaps.kit import clip_checkpoints
from manycaps.kit.clip_encoder import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS, ClipEncoder
from manycaps.kit.errors import InputError
from manycaps.pages.examples import EXAMPLE_CAPTIONS
from manycaps.pages.form import Form, build_page, card_body, house_messages
from manycaps.pages.inputs import (
    CaptionLimits,
    caption_box,
    caption_lines,
    check_megapixels,
    check_uploaded,
    rows_of_text_box,
    take_uploads_only,
)
from manycaps.pages.plots import caption_bars, histogram_figure, mean_intervals
from manycaps.pages.results import Drawing
from manycaps.pages.weights import NO_WEIGHTS, WEIGHTS_NAME, usable_weights, weights_note
from manycaps.report.result_sentence import SIGNIFICANCE, UNUSUALLY_NEAR, verdict
from tests.clip_checkpoints import save_checkpoint
from tests.tools import ROOT

LIMITS = CaptionLimits(rows=2, captions_per_row=3, characters_per_caption=10)


def test_messages_quote_input_as_text():
    with pytest.raises(gr.Error) as error, house_messages():
        raise InputError("box", "words", "'<img src=x onerror=alert(1)>' & more")
    assert error.value.message.endswith("got &#x27;&lt;img src=x onerror=alert(1)&gt;&#x27; &amp; more.")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (TypeError("must be real number, not list"), "Internal error: TypeError (must be real number, not list)."),
        (KeyError("<a>"), "Internal error: KeyError (&#x27;&lt;a&gt;&#x27;)."),
        (ValueError(), "Internal error: ValueError (ValueError)."),
        (RuntimeError("CUDA out of memory."), "Too little memory on the server of this page."),
    ],
)
def test_whatever_a_page_raises_is_shown(fault, message, tmp_path):
    def fail(*_):
        raise fault

    card = tmp_path / "README.md"
    card.write_text("# The card\n", encoding="utf-8")
    page = build_page(Form("Demo", "", [caption_box("Captions", "")], {"An example": fail}, fail, ["captions"]), card)
    functions = [fn.fn for fn in page.fns.values() if fn.fn.__name__ in ("compute", "fill_in")]
    assert len(functions) == 2
    for function in functions:
        with pytest.raises(gr.Error) as error:
            function()
        assert error.value.message.startswith(message)
        assert (error.value.title, error.value.duration) == ("Not computed", None)


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
        measure=lambda *boxes: ("answer", Drawing(PIL.Image.new("RGB", (9, 9)), "a square"), "table", card),
        files=["The card"],
        parameters=["predictions", "references"],
    )
    page = build_page(form, card)
    (event,) = (fn for fn in page.fns.values() if fn.api_name == "compute")
    assert [type(each) for each in event.outputs] == [gr.Markdown, gr.Image, gr.Markdown, gr.File]
    answer, image, table, file = event.fn("a dog", "a cat")
    assert (answer, image.alt_text, image.visible) == ("answer", "a square", True)
    assert (table, file.visible) == ("table", True)
    assert pathlib.Path(file.value["path"]).read_bytes() == card.read_bytes()
    # On a phone, 400 pixels wide, two boxes do not fit beside each other.
    assert {box.min_width for box in event.inputs} == {260}
    assert card_body(card) in [block.value for block in page.blocks.values() if isinstance(block, gr.Markdown)]
    assert page.title == "Demo"
    assert not page.analytics_enabled
    assert [fn.api_name for fn in page.fns.values() if fn.api_visibility == "public"] == ["compute"]


@pytest.mark.parametrize(
    ("read", "text", "rows"),
    [
        (rows_of_text_box, "", []),
        (rows_of_text_box, " \n\n ", []),
        (rows_of_text_box, "a", [["a"]]),
        (rows_of_text_box, "\n\na\n b \n\n\n\nc\n", [["a", "b"], ["c"]]),
        (rows_of_text_box, "a\r\nb\r\n \r\nc", [["a", "b"], ["c"]]),
        (rows_of_text_box, "a\u2028b\n\nc\x0cd", [["a\u2028b"], ["c\x0cd"]]),
        (caption_lines, "a\n\nb\x85c", [["a", "b\x85c"]]),  # a box for one row
    ],
)
def test_an_empty_line_starts_the_next_row(read, text, rows):
    assert read(text, "predictions", LIMITS) == rows


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/x.png", "https://example.org/x", "ftp://x/y", "data:image/png;base64,AAAA"]
)
def test_an_address_is_no_upload(address):
    with pytest.raises(gr.Error, match="expected a file, got an address"):
        asyncio.run(
            take_uploads_only(gr.Image(render=False, type="filepath")).async_move_resource_to_block_cache(address)
        )


def test_an_upload_is_a_path(tmp_path):
    component = take_uploads_only(gr.Image(render=False, type="filepath"))
    file = tmp_path / "no picture.png"
    file.write_bytes(b"not opened")
    moved = asyncio.run(component.async_move_resource_to_block_cache(str(file)))
    assert component.preprocess(component.data_model(path=moved)) == moved
    assert component.preprocess(component.data_model(url="data:image/png;base64,AAAA")) is None
    assert component.preprocess(None) is None


@pytest.mark.parametrize(
    ("check", "given", "limit", "message"),
    [
        (caption_lines, " \n", LIMITS, "box[0]: expected at least one caption, got none."),
        (rows_of_text_box, "a\n\nb\n\nc", LIMITS, "box: expected at most 2 rows on this page, got 3. Give less"),
        (rows_of_text_box, "a\n\nb\nb\nb\nb", LIMITS, "box[1]: expected at most 3 captions on this page, got 4."),
        (rows_of_text_box, f"a\n\nb\n{11 * 'b'}", LIMITS, "box[1][1]: expected at most 10 characters on this p"),
        (check_uploaded, None, 1, "box: expected a file, got none. Upload one"),
        (check_uploaded, "large", 1, "box: expected at most 1 megabytes on this page, got 2.0"),
        (check_megapixels, "picture.png", 2.5, "box: expected at most 2.5 megapixels on this page, got 3.0"),
    ],
)
def test_limits_name_the_place(check, given, limit, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PIL.Image.new("1", (2000, 1500)).save("picture.png")
    pathlib.Path("large").write_bytes(bytes(2_000_000))
    check_megapixels("picture.png", "images[0]", 3)
    check_megapixels("large", "images[0]", 1)  # no image: the module says so
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check(given, "box", limit)


# What a page shows of a result: drawings that can draw every caption, and the sentence that a result allows.

# matplotlib would take some of these for formulas.
CAPTIONS = ["a $5 bill and $10", r"\frac{1}{0} $\undefined$", "", "a " * 200, "x" * 300, "<b>&amp;</b>"]


def colors(drawing):
    """Number of pixels of each colour."""
    pixels = np.asarray(drawing.image.convert("RGB")).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return {tuple(color): count for color, count in zip(found.tolist(), counts.tolist(), strict=True)}


@pytest.mark.slow
def test_drawings_of_any_captions():
    """A single row has no interval."""
    for drawing, description in (
        (caption_bars([0.5, -0.2, 0.1, 0, 1.4, 0.7], CAPTIONS, "score"), "(empty) 0.100"),
        (
            histogram_figure([0.5, 0.2, 0.2, 0.1]),
            "Candidates by people's distances from the references: 50% generic, 10% far from people's, people 25%.",
        ),
        (
            mean_intervals({"a $5 system": (0.5, 0.25, 0.75), "other": (-0.5, np.nan, np.nan)}, "excess", mark=0.0),
            "excess: a $5 system 0.500 (0.250 to 0.750), other -0.500.",
        ),
    ):
        assert description in drawing.description
        assert drawing.description.endswith(".")
        assert drawing.image.width == 960
        counts = sorted(colors(drawing).values())
        assert 0.02 < 1 - counts[-1] / sum(counts) < 0.95


def test_bars_are_as_long_as_their_values():
    one, half = (colors(caption_bars([value], ["a dog"], "score"))[(0x1F, 0x5F, 0xA8)] for value in (1.0, 0.5))
    assert half / one == pytest.approx(0.5, abs=0.02)


INTERVAL = {"trm_excess_ci_low": -0.0104, "trm_excess_ci_high": 0.25}


def sentence(p_value, smallest=0.0001, system="the candidates", **more):
    tested = {"trm_corpus_p_value": p_value, "trm_smallest_corpus_p": smallest, "trm_excess": 0.1234}
    return verdict(tested | more, "trm", "TRM", system)


def test_the_border_is_the_corpus_p_value():
    for p_value in (0.0001, SIGNIFICANCE):
        assert sentence(p_value).startswith("TRM: the candidates differ from ")
    for p_value in (0.0501, 0.98):
        assert sentence(p_value).startswith("TRM: the candidates cannot be distinguished from ")
    # Copies of the references are no sample of people.
    expected = "TRM: the candidates lie nearer to the human captions than random splits of both do (corpus p"
    for p_value in (UNUSUALLY_NEAR, 1.0):
        assert sentence(p_value, trm_excess=-0.2).startswith(expected)


def test_the_effect_and_its_interval_stand_beside():
    numbers = "(corpus p 0.46, excess 0.123, interval [-0.011, 0.250])"
    expected = f"TRM: the candidates cannot be distinguished from the human captions {numbers}."
    assert sentence(0.46, **INTERVAL) == expected
    assert sentence(0.46).endswith("(corpus p 0.46, excess 0.123, no interval).")
    assert "cannot be distinguished from the human captions (corpus p 0.0504" in sentence(0.0504)


def test_too_few_captions_are_no_equality():
    assert sentence(0.4, smallest=1 / 3, system="'b'") == (
        "TRM: not enough captions or random splits to tell 'b' from the human captions: p is at least about 0.33."
    )
    assert sentence(SIGNIFICANCE, smallest=SIGNIFICANCE).startswith("TRM: the candidates differ from")


# What the pages say about their weights.

TINY_PAC = ROOT / "checkpoints" / "tiny-pac"
TOY = "a toy that knows only pictures of coloured shapes; scores of anything else mean nothing."
OTHER = "not the published ones; what the paper calls a good score does not hold for them."


def encoder_of(checkpoint, config_name=None):
    options = CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS | {"checkpoint": checkpoint, "device": "cpu"}
    return ClipEncoder(options, tqdm, config_name)


@pytest.mark.parametrize(
    ("checkpoint", "note"),
    [
        (None, "`pac-vit-b-32`, the published ones. The first computation fetches them."),
        ("org/clip", f"`org/clip` from the Hub, fetched by the first computation, {OTHER}"),
        ("small.pth", f"`small.pth`, {OTHER}"),
        (str(TINY_PAC), f"`tiny-pac`, {TOY}"),
        (str(TINY_PAC / WEIGHTS_NAME), f"`tiny-pac`, {TOY}"),
    ],
)
def test_a_note_names_the_weights_before_they_are_there(checkpoint, note, tmp_path, monkeypatch):
    for fetch in ("_load_published", "_from_hub"):
        monkeypatch.setattr(clip_checkpoints, fetch, lambda *_, **__: pytest.fail("fetched"))
    assert WEIGHTS_NAME == clip_checkpoints.WEIGHTS_NAME
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "small.pth")
    assert weights_note(encoder_of(checkpoint)) == f"Weights: {note}"


@pytest.mark.parametrize("name", ["gone.pth", "/somewhere/gone"])
def test_missing_weights_are_a_message_for_visitors_and_a_cause_for_the_log(name, caplog):
    encoder = encoder_of(name)
    assert weights_note(encoder) == f"**This page cannot compute.** {NO_WEIGHTS}"
    with pytest.raises(ValueError) as error:
        usable_weights(encoder)
    assert error.value == NO_WEIGHTS
    assert name not in str(NO_WEIGHTS)
    assert [f"got '{name}': no such folder or file" in message for message in caplog.messages] == [True, True]
