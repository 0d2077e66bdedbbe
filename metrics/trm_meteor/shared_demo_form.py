# Vendored from manycaps/shared_demo_form.py. Edit it there, then run `make format`.
"""The form of a demo page: layout, text boxes to rows, limits, uploads, messages, results. Used by `app.py` alone."""

import contextlib
import html
import math
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import gradio as gr
import PIL.Image

# Seconds after which an uploaded file is deleted from the server.
UPLOAD_LIFE = 3600

# Threads that compute: requests wait for each other anyway, and each thread that has run a model keeps memory for it.
MAX_THREADS = 4

# The card of the module: README.md of the folder where the copy of this file stands.
CARD = pathlib.Path(__file__).resolve().with_name("README.md")

# What the pages of the triangle-rank modules say of the statistic in use.
TRIANGLE_RANKS = {
    "per_side": "the sum of a Q for triangles with two candidates and a Q for triangles with two human captions.",
    "pooled": "one Q for both kinds of triangle, in which opposite deviations cancel (the paper's equation 4).",
}

# Confidence level of the interval that stands beside an effect.
CONFIDENCE = 0.95

# Five images, twelve captions each, one half for a system that varies and one for people: as the boxes take them.
_VARIED = """\
a wet dog shakes itself dry at the edge of a lake
drops of water fly off a brown dog
a brown and white dog shakes off water on the pebbles
a spaniel gets dry after swimming in the lake
close view of a dog throwing water from its fur
the dog has just come out of the lake

a man in an apron repairs a bicycle in his workshop
a bicycle on a repair stand and a man with a spanner
the mechanic is tightening a bolt on a bike
tools hang on the wall behind a man who mends a bike
an elderly man mends a bicycle in a garage full of tools
a man with gray hair bends over a bicycle wheel

people shopping for fresh produce at a street market
a lady in a green coat buys tomatoes
the woman in the green coat is looking at the vegetables
a customer fills her basket at the vegetable stand
fruit and vegetables are piled high on a market stand
a seller weighs tomatoes for a woman

boys play football on a dusty field at sunset
the boy in the yellow shirt is about to shoot
two boys fight for the ball on a sandy field
four boys run across a dirt pitch
a group of children chase a ball
a boy in yellow dribbles past his friends

a red train pulls into a snowy station
a few people are about to board a red train in winter
passengers with suitcases wait on a platform covered in snow
a train stops at a small station in the mountains
a red locomotive on snow covered rails
travelers in winter coats at a railway station"""
_PEOPLE = """\
a dog with floppy ears on a stony shore
the wet dog is shaking on the shore of a lake
a spaniel shaking water from its coat
water sprays everywhere as the dog shakes
a brown dog stands in shallow water and shakes its fur
a soaked dog beside the lake after a swim

a bike repairman at work among his tools
a red bicycle being repaired in a small workshop
a man wearing an apron checks the chain of a bicycle
a mechanic turns the pedal of an upside down bike
somebody works on the chain of a red bicycle
an old man is fixing the wheel of a bicycle

a woman picks out tomatoes at an outdoor market
a market stall with tomatoes, peppers and lettuce
a woman holds a tomato and talks to the seller
a woman shops for vegetables under a striped awning
a shopper with a basket chooses vegetables from a stall
a busy farmers market on a sunny morning

a soccer match between young boys on bare ground
a barefoot boy kicks a soccer ball
some kids kick a football around as the sun goes down
dust rises around the children as they run after the ball
children playing a game of football without shoes
kids are playing soccer in the evening light

snow falls on people standing beside the tracks
a train arrives while it is snowing
the platform is white with snow and a train is coming
people wait for their train on a cold winter day
a woman with a suitcase watches the train come in
a passenger train stands at the snowy platform"""

# The first caption of every image as often as there were captions, and every image's captions at the image before it.
_ROWS = [row.split("\n") for row in _VARIED.split("\n\n")]
_REPEATED = "\n\n".join("\n".join(row[:1] * len(row)) for row in _ROWS)
_SHIFTED = "\n\n".join("\n".join(row) for row in [*_ROWS[1:], _ROWS[0]])

# What the candidates of an example are, and both boxes. A test asks every distribution module whether it agrees.
EXAMPLE_CAPTIONS = {
    "Varied captions": (_VARIED, _PEOPLE),
    "One caption repeated": (_REPEATED, _PEOPLE),
    "Captions of another image": (_SHIFTED, _PEOPLE),
}

# What ends a line of a text box; U+2028, form feeds and the like may be in a caption.
NEWLINE = re.compile(r"\r\n?|\n")

# Errors that say what the user can fix.
USER_ERRORS = (ValueError, TypeError, LookupError, ImportError, OSError)

# Least width of an input in pixels: on a phone they stand below each other.
INPUT_WIDTH = 260

# A table of key, value and meaning has the meaning below on a phone; a wider table scrolls sideways.
STYLE = """
.gradio-container { max-width: min(1180px, 100%) !important; margin: 0 auto !important; }
.result table { width: auto; font-variant-numeric: tabular-nums; }
.result td:nth-child(2) { text-align: right; font-weight: 600; white-space: nowrap; }
.result table:has(td:nth-child(4)), #card table { display: block; overflow-x: auto; border: none !important; }
.result table:has(td:nth-child(4)) :is(th, td) {
    text-align: left; font-weight: inherit; white-space: nowrap; overflow-wrap: normal; word-break: normal; }
.result h3 { border-left: 4px solid var(--primary-500); padding-left: 0.75em; }
#card th, #card td { overflow-wrap: normal; word-break: normal; }
.file-preview .download { width: auto !important; min-width: 0 !important; }
@media (max-width: 640px) {
    .result table:not(:has(td:nth-child(4))) thead { display: none; }
    .result table:not(:has(td:nth-child(4))), .result table:not(:has(td:nth-child(4))) :is(tbody, td) {
        display: block; border: none !important; }
    .result tbody tr:not(:has(td:nth-child(4))) {
        display: grid; grid-template-columns: 1fr auto; border-width: 1px 0 0 !important; }
    .result tbody tr:not(:has(td:nth-child(4))) td { overflow-wrap: anywhere; padding: 0.3em 0 !important; }
    .result tbody tr:not(:has(td:nth-child(4))) td:nth-child(3) { grid-column: 1 / 3; }
    .drawing .image-frame { max-width: 100%; overflow-x: auto; justify-content: flex-start; }
    .drawing img { flex: none; width: 640px !important; max-width: none !important; }
}
"""


class Drawing(Protocol):
    """A picture and what it says, as the drawing functions return it."""

    @property
    def image(self) -> Any:
        """The picture."""

    @property
    def description(self) -> str:
        """What it says."""


class CaptionLimits(NamedTuple):
    """What one call of a public page may cost."""

    rows: int
    captions_per_row: int
    characters_per_caption: int


class Form(NamedTuple):
    """What a page asks for and shows; `build_page` lays it out."""

    # Name of the module, as a person writes it.
    title: str
    # What the page is for, in a sentence or two of Markdown.
    introduction: str
    # Text boxes and uploads, side by side.
    inputs: Sequence[gr.components.Component]
    # Options, in a row below.
    options: Sequence[gr.components.Component]
    # Labels of the drawings.
    drawings: Sequence[str]
    # For each example's name the values of all inputs and options, or a function that makes them.
    examples: Mapping[str, Callable[[], Sequence[Any]] | Sequence[Any]]
    # From the values of inputs and options to the table of results, the drawings, and the files.
    measure: Callable[..., Sequence[Any]]
    # Labels of the files that stand below the drawings, to be kept.
    files: Sequence[str] = ()


class MeasuredRow(NamedTuple):
    """What a module of sets of captions says of all rows, and of the one that is drawn."""

    # The module's result, with details.
    result: Mapping[str, Any]
    # Captions of the row that is drawn.
    candidates: list[str]
    references: list[str]
    # Values of its pairs and its statistic under every split, as the module's `examine` returns them.
    examined: Any
    # p-value of the row.
    p_value: float


def caption_boxes() -> list[gr.Textbox]:
    """Return text boxes for the candidates and the references of several rows."""
    return [
        gr.Textbox(label=label, info=info, lines=12, max_lines=12, render=False)
        for label, info in (
            ("Candidate captions", "what a system says: one caption a line, an empty line before the next image"),
            ("Human captions", "what people say: the same images in the same order"),
        )
    ]


def distribution_options(own: gr.components.Component) -> list[gr.components.Component]:
    """Return the options of a page about sets of captions: the module's own one, the p-value, and the row to draw."""
    return [
        own,
        gr.Dropdown(["exact", "permutation"], value="exact", label="p-value", render=False),
        gr.Number(0, label="Row to draw, counted from 0", precision=0, render=False),
    ]


def measure_captions(
    module: Any, boxes: Sequence[str], limits: CaptionLimits, row: object, **options: Any
) -> MeasuredRow:
    """Score what stands in both text boxes, with an interval where there are rows enough, and look closer at one row.

    Args:
        module: one that compares sets of captions and has `examine`.
        boxes: text of `caption_boxes`.
        limits: of this page.
        row: which row is to be drawn.
        options: of the module's `compute`.

    Raises:
        ValueError: more than the page allows, no such row, or what the module says.
    """
    columns = zip(("predictions", "references"), boxes, strict=True)
    rows = {column: caption_rows(text, column, limits) for column, text in columns}
    confidence_level = CONFIDENCE if len(rows["predictions"]) > 1 else None
    result = module.compute(**rows, **options, confidence_level=confidence_level, details=True)
    drawn = check_row_number(row, result["n_rows"])
    examined = module.examine(**rows, **options, row=drawn)
    p_value = result[f"{module.name}_p_value_per_row"][drawn]
    return MeasuredRow(result, rows["predictions"][drawn], rows["references"][drawn], examined, p_value)


def corpus_meanings(name: str) -> dict[str, str]:
    """Return what the keys mean that a module of sets of captions adds with `p_value`, for `result_table`.

    >>> next(iter(corpus_meanings("trm")))
    'trm_corpus_p_value'
    """
    return {
        f"{name}_corpus_p_value": (
            "do the sets differ? p-value of the mean over rows, with captions exchanged within every row; small values "
            "say yes"
        ),
        f"{name}_z": "the mean minus its mean over such exchanges, in standard deviations; around 0 for human captions",
        f"{name}_excess": "the same in the unit of the statistic; compares systems with equal numbers of captions",
        f"{name}_excess_ci_low": f"lower end of the {CONFIDENCE:.0%} bootstrap interval of the excess over rows",
        f"{name}_excess_ci_high": "upper end; with few rows the interval is too narrow",
        f"{name}_p_value": (
            "the paper's combination, a calibrated harmonic mean of the p-values of single rows; more rows that say "
            "the same do not make it smaller"
        ),
        f"{name}_smallest_p": "smallest p-value that a row can have; a harmonic mean of the rows' is never below it",
    }


def conclusion(sentence: str, statistic: str, table: str) -> str:
    """Put what a result allows to say, and the statistic in use, above the table of results.

    Args:
        sentence: from `shared_verdict`.
        statistic: one line on the statistic.
        table: from `result_table`.

    Returns:
        Markdown.
    """
    return f"### {sentence}\n\nStatistic: {statistic} What it sees and what it misses: [card below](#card).\n\n{table}"


def card_body(path: pathlib.Path) -> str:
    """Return a card without the fields of the Hub above it."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).strip()


def build_page(form: Form, card: pathlib.Path = CARD) -> gr.Blocks:
    """Lay a form out as a gradio page: inputs, options, examples, button, results, drawings, files, card.

    Args:
        form: components that were made outside of any page, and what to do with them.
        card: file whose text stands at the end of the page.

    Returns:
        The page, not yet served.
    """
    fields = [*form.inputs, *form.options]
    with gr.Blocks(title=form.title, analytics_enabled=False, delete_cache=(UPLOAD_LIFE, UPLOAD_LIFE)) as page:
        gr.Markdown(f"# {form.title}\n\n{form.introduction}")
        with gr.Row():
            for component in form.inputs:
                component.min_width = INPUT_WIDTH
                component.render()
        if form.options:
            with gr.Row():
                for component in form.options:
                    component.render()
        with gr.Row():
            gr.Markdown("Fill in an example:")
            for name, example in form.examples.items():
                button = gr.Button(name, size="sm")
                button.click(_as_function(example), None, fields, api_visibility="private", show_progress="hidden")
        submit = gr.Button("Compute", variant="primary")
        table = gr.Markdown(elem_classes="result", min_height=40)
        pictures = [
            gr.Image(
                label=label,
                format="png",
                interactive=False,
                visible=False,
                buttons=["download", "fullscreen"],
                elem_classes="drawing",
            )
            for label in form.drawings
        ]
        files = [gr.File(label=label, interactive=False, visible=False) for label in form.files]
        gr.Markdown(card_body(card), elem_id="card")
        submit.click(_shown(form.measure), fields, [table, *pictures, *files], api_name="compute")
    return page


def serve(page: gr.Blocks, megabytes: int = 1) -> None:
    """Serve a page: on the port that the environment names (GRADIO_SERVER_PORT), as a Space does, or a free one.

    Args:
        page: from `build_page`.
        megabytes: largest upload.
    """
    page.launch(
        max_file_size=f"{megabytes}mb",
        max_threads=MAX_THREADS,
        ssr_mode=False,
        # Fonts that every machine has: none is fetched.
        theme=gr.themes.Default(
            primary_hue="blue", font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace")
        ),
        css=STYLE,
        footer_links=["api", "gradio"],
    )


def caption_rows(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Split a text box into rows of captions: one caption a line, an empty line between rows.

    Args:
        text: what stands in the box.
        column: name of the column, for the messages.
        limits: of this page.

    Returns:
        List of rows, each a list of captions without spaces around them; no rows for an empty box.

    Raises:
        ValueError: more than the page allows; the message names the row and the caption.

    >>> caption_rows("a dog\na brown dog\n\na cat\n", "predictions", CaptionLimits(2, 2, 20))
    [['a dog', 'a brown dog'], ['a cat']]
    """
    lines = "\n".join(line.strip() for line in NEWLINE.split(text or ""))
    rows = [block.split("\n") for block in re.split(r"\n\n+", lines.strip("\n")) if block]
    check_caption_limits(rows, column, limits)
    return rows


def caption_lines(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Take a text box as the captions of one row: one a line, empty lines left out.

    Args:
        text: what stands in the box.
        column: name of the column, for the messages.
        limits: of this page.

    Returns:
        List of one row.

    Raises:
        ValueError: no caption, or more than the page allows.

    >>> caption_lines("a dog\n\na brown dog", "predictions", CaptionLimits(1, 2, 20))
    [['a dog', 'a brown dog']]
    """
    row = [line.strip() for line in NEWLINE.split(text or "") if line.strip()]
    if not row:
        raise ValueError(f"{column}[0]: expected at least one caption, got none. Write one caption a line.")
    check_caption_limits([row], column, limits)
    return [row]


def check_caption_limits(rows: Sequence[Sequence[str]], column: str, limits: CaptionLimits) -> None:
    """Raise if there is more than a public page allows; the message names the row and the caption.

    Raises:
        ValueError: too many rows, captions in a row, or characters in a caption.
    """
    check_at_most(len(rows), limits.rows, column, "rows")
    for i, row in enumerate(rows):
        check_at_most(len(row), limits.captions_per_row, f"{column}[{i}]", "captions")
        for j, caption in enumerate(row):
            check_at_most(len(caption), limits.characters_per_caption, f"{column}[{i}][{j}]", "characters")


def check_at_most(n: float, limit: float, where: str, unit: str) -> None:
    """Raise if something is larger than a public page allows.

    Raises:
        ValueError: n is above the limit.
    """
    if n > limit:
        raise ValueError(
            f"{where}: expected at most {limit:,} {unit} on this page, got {n:,}. Give less, or run the module on your "
            "own machine, where nothing is limited."
        )


def check_row_number(row: object, n_rows: int) -> int:
    """Return the number of the row to draw.

    Raises:
        ValueError: there is no such row.

    >>> check_row_number(1.0, 2)
    1
    """
    if not isinstance(row, int | float) or row != int(row) or not 0 <= row < n_rows:
        raise ValueError(
            f"row to draw: expected a whole number from 0 to {n_rows - 1}, got {row}. Rows are counted from 0."
        )
    return int(row)


def result_table(result: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    """Write a module's result as a Markdown table.

    Args:
        result: what the module returned.
        meanings: for each key that is to be shown, what it means.

    Returns:
        Markdown; keys that the result does not have are left out.

    >>> print(result_table({"a": 0.5, "n_rows": 2}, {"a": "a share", "b": "not asked for"}))
    | result | value | meaning |
    |:---|---:|:---|
    | `a` | 0.5000 | a share |
    """
    shown = ((key, meaning) for key, meaning in meanings.items() if key in result)
    lines = [f"| `{key}` | {as_number(result[key])} | {meaning} |" for key, meaning in shown]
    return "\n".join(["| result | value | meaning |", "|:---|---:|:---|", *lines])


def as_number(value: float) -> str:
    """Write a number for the table: counts whole, others with four decimals, small ones with their power.

    >>> as_number(12345), as_number(0.25), as_number(0.00002), as_number(0.0), as_number(math.nan)
    ('12,345', '0.2500', '2.0e-05', '0.0000', 'not defined')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "not defined"
    return f"{value:.1e}" if 0 < abs(value) < 0.0005 else f"{value:.4f}"


def uploaded_file(component: Any) -> Any:
    """Make an upload component give the path of the file that was uploaded, and nothing else.

    gradio lets a caller name a web address or hold the data in the message instead, and opens images before the app
    sees them. Here only uploads pass, and they are not opened: the limits of the page come first.

    Args:
        component: gr.Image, gr.Video or gr.File.

    Returns:
        The same component.
    """
    # On the instance: gradio writes a type stub beside every module that subclasses a component.
    move = component.async_move_resource_to_block_cache

    async def move_uploads_only(path: Any) -> Any:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", str(path)):
            raise gr.Error("upload: expected a file, got an address. Upload the file itself.", print_exception=False)
        return await move(path)

    component.async_move_resource_to_block_cache = move_uploads_only
    component.preprocess = lambda payload: payload.path if payload else None
    return component


def check_uploaded(path: str | None, where: str, megabytes: float) -> pathlib.Path:
    """Return the path of an upload.

    Args:
        path: from the upload component.
        where: name of the column, for the messages.
        megabytes: largest size.

    Raises:
        ValueError: nothing was uploaded, or too much.
    """
    if not path:
        raise ValueError(f"{where}: expected a file, got none. Upload one, or fill in an example.")
    check_at_most(round(pathlib.Path(path).stat().st_size / 1e6, 1), megabytes, where, "megabytes")
    return pathlib.Path(path)


def check_megapixels(path: pathlib.Path, where: str, megapixels: float) -> None:
    """Raise if an image has too many pixels; they are not decoded. What is no image is left to the module.

    Raises:
        ValueError: too many pixels.
    """
    try:
        with PIL.Image.open(path) as image:
            n_pixels = image.width * image.height
    except PIL.Image.DecompressionBombError:
        n_pixels = 2 * (PIL.Image.MAX_IMAGE_PIXELS or 0)
    except OSError:
        return
    check_at_most(round(n_pixels / 1e6, 1), megapixels, where, "megapixels")


@contextlib.contextmanager
def house_messages() -> Iterator[None]:
    """Show what the module or the page has to say about the input as a message box that stays until it is closed."""
    try:
        yield
    except USER_ERRORS as error:
        # gradio renders HTML in a message, and messages quote the input.
        message = html.escape(str(error))
        raise gr.Error(message, duration=None, title="Not computed", print_exception=False) from error


def _as_function(example: Any) -> Callable[[], Any]:
    """Function without arguments that returns the values of an example."""
    return example if callable(example) else lambda: example


def _shown(measure: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """Wrap `measure`: messages in boxes, drawings as images with their description, files to be fetched."""

    def compute(*values: Any) -> list[Any]:
        with house_messages():
            table, *others = measure(*values)
        return [table, *map(_as_component, others)]

    return compute


def _as_component(result: Drawing | pathlib.Path) -> gr.components.Component:
    if isinstance(result, pathlib.Path):
        return gr.File(str(result), visible=True)
    return gr.Image(result.image, alt_text=result.description, visible=True)
