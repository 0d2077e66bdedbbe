"""A page: its inputs and outputs, layout, server and messages."""

import contextlib
import html
import inspect
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import gradio as gr

from manycaps.kit.errors import lacks_memory, reason_of

from .results import Drawing

# Seconds after which an uploaded file is deleted from the server.
UPLOAD_LIFE = 3600

# Threads that compute: requests are queued anyway, and each thread that ran a model keeps memory for it.
MAX_THREADS = 4

# Least width of an input in pixels: on a phone they stand below each other.
INPUT_WIDTH = 260


class Form(NamedTuple):
    """Inputs and outputs of a page; `build_page` lays it out."""

    # Name of the module, as a person writes it.
    title: str
    # Purpose of the page, in a sentence or two of Markdown.
    introduction: str
    # Text boxes and uploads, side by side.
    inputs: Sequence[gr.components.Component]
    # For each example's name the values of all inputs and options, or a function that makes them.
    examples: Mapping[str, Callable[[], Any] | Sequence[Any]]
    # From the values of inputs and options to the answer, the drawings, the tables below them, and the files.
    measure: Callable[..., Sequence[Any]]
    # What programs that call the page name the inputs and options.
    parameters: Sequence[str]
    # Options, in a row below the inputs.
    options: Sequence[gr.components.Component] = ()
    # Labels of the drawings.
    drawings: Sequence[str] = ()
    # Labels of the files that stand below the tables, to be kept.
    files: Sequence[str] = ()


class Page(NamedTuple):
    """The page of a folder, whose `app.py` builds and serves it."""

    # Inputs and outputs of the page, made from the loaded module, or from None for the page of a command.
    form: Callable[[Any], Form]
    # Name of the module; None for the page of a command.
    module: str | None = None
    # Options with which the module is loaded where these environment variables are set.
    variables: Mapping[str, str] = MappingProxyType({})
    # Largest upload.
    megabytes: int = 1

    def build(self, app: str) -> gr.Blocks:
        """Build the page from the main script and the card beside `app.py`."""
        folder = pathlib.Path(app).absolute().parent  # the folders of modules have links to one `app.py`
        return build_page(self.form(self.load(folder)), folder / "README.md")

    def load(self, folder: pathlib.Path) -> Any:
        """Load the main script of a folder; None for the page of a command."""
        if self.module is None:
            return None
        import evaluate  # slow to import, and not needed by the page of a command

        script = str(folder / f"{self.module}.py")
        module = evaluate.load(script)
        given = {
            option: os.environ[name]
            for option, name in self.variables.items()
            if option in module.DEFAULTS and os.environ.get(name)
        }
        # Others would be refused: data of a metric that the page does not compute.
        options = module.effective_options(given)
        return evaluate.load(script, **options) if options else module

    def serve(self, page: gr.Blocks) -> None:
        """Serve a built page on the port named by GRADIO_SERVER_PORT, as a Space does, or on a free one."""
        page.launch(
            max_file_size=f"{self.megabytes}mb",
            max_threads=MAX_THREADS,
            ssr_mode=False,
            # What gradio itself raises around a function, too.
            show_error=True,
            # System fonts: none is downloaded.
            theme=gr.themes.Default(
                primary_hue="blue", font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace")
            ),
            css_paths=pathlib.Path(__file__).with_suffix(".css"),
            footer_links=["api", "gradio"],
        )


def card_body(path: pathlib.Path) -> str:
    """Return a card without the fields of the Hub above it, and links to files, which the page does not serve."""
    text = re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*\)", r"\1", path.read_text(encoding="utf-8"))
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).strip()


def build_page(form: Form, card: pathlib.Path) -> gr.Blocks:
    """Lay a form out as a gradio page: inputs, options, examples, button, answer, drawings, tables, files, card."""
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
        gr.Markdown("Fill in an example:")  # beside the buttons it would be a letter wide on some phones
        with gr.Row():
            for name, example in form.examples.items():
                button = gr.Button(name, size="sm")
                button.click(_as_function(example), None, fields, api_visibility="private", show_progress="hidden")
        submit = gr.Button("Compute", variant="primary")
        answer = gr.Markdown(elem_classes="result", min_height=40)
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
        tables = gr.Markdown(elem_classes="result")
        files = [gr.File(label=label, interactive=False, visible=False) for label in form.files]
        gr.Markdown(card_body(card), elem_id="card")
        shown = [answer, *pictures, tables, *files]
        computed = submit.click(_wrap_measure(form.measure, form.parameters), fields, shown, api_name="compute")
        # No result of other inputs stands beside an error.
        no_pictures, no_files = (
            [kind(None, visible=False)] * len(of) for kind, of in ((gr.Image, pictures), (gr.File, files))
        )
        computed.failure(lambda: ["", *no_pictures, "", *no_files], None, shown, api_visibility="private")
    return page


@contextlib.contextmanager
def house_messages() -> Iterator[None]:
    """Show whatever is raised as a message box that stays until it is closed: no error leaves a page blank.

    An `InputError` is shown as it is; any other one is a fault of the page, and the log gets its traceback. A module
    that evaluate has loaded has a class of its own, with the same fields.
    """
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        is_of_input = isinstance(error, ValueError) and hasattr(error, "fix")
        message = str(error) if is_of_input else page_fault(error)
        # gradio renders HTML in a message, and messages quote the input.
        shown = html.escape(message)
        raise gr.Error(shown, duration=None, title="Not computed", print_exception=not is_of_input) from error


def page_fault(error: Exception) -> str:
    """Say that a page is at fault, and with what to report it.

    >>> page_fault(TypeError("must be real number, not list"))
    'Internal error: TypeError (must be real number, not list). Please report it with what you entered.'
    """
    if lacks_memory(error):
        return "Too little memory on the server of this page. Give less, or run the module on your own machine."
    return f"Internal error: {type(error).__name__} ({reason_of(error)}). Please report it with what you entered."


def _as_function(example: Any) -> Callable[[], Any]:
    """Function without arguments that returns the values of an example."""

    def fill_in() -> Any:
        with house_messages():
            return example() if callable(example) else example

    return fill_in


def _wrap_measure(measure: Callable[..., Sequence[Any]], parameters: Sequence[str]) -> Callable[..., Any]:
    """Wrap `measure`: messages in boxes, drawings as images with their description, files to be fetched.

    gradio reads the names of its interface for programs from the signature.
    """

    def compute(*values: Any) -> Any:
        with house_messages():
            return [_as_component(part) for part in measure(*values)]

    named = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in parameters]
    compute.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return compute


def _as_component(result: str | Drawing | pathlib.Path | None) -> str | gr.components.Component:
    """A part of the page; None: a drawing that this result does not have."""
    if isinstance(result, str):
        return result
    if result is None:
        return gr.Image(None, visible=False)
    if isinstance(result, pathlib.Path):
        return gr.File(str(result), visible=True)
    return gr.Image(result.image, alt_text=result.description, visible=True)
