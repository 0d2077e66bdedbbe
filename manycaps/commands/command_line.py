"""The command `manycaps`: data to standard output, all else to standard error, one line for what a user can fix.

It ends with 0; with 1 if the data, a package or the run is at fault; with 2 for a wrong command line; and with
130 after ctrl-C. A command is imported when it is asked for, and its packages when it runs.
"""

import argparse
import contextlib
import importlib
import logging
import os
import pathlib
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from manycaps.catalog.installed_modules import OWN_PROCESS
from manycaps.files.saved_files import check_path
from manycaps.kit.errors import InputError, lacks_memory, quote_path, reason_of
from manycaps.kit.module import VERSION

# Each command and its summary; `core-set` is manycaps/commands/core_set.py.
COMMANDS = {
    "quickstart": "compare captioning systems on the bundled sample, or on your own captions",
    "compare": "compare captioning systems: which one has fewer faults, and how does each differ from people",
    "judge": "put a judge on trial: where it ranks people, and what of wording it rewards",
    "plan": "plan a test against people: what a number of rows can find, and how many rows a difference needs",
    "sample": "sample several captions of every image, or answers to every prompt, by any model",
    "decoding": "find the temperature, or the search, with the most human-like captions",
    "score": "score caption files of any size by any metrics",
    "coco-eval": "evaluate a file of COCO results: BLEU, METEOR, ROUGE-L and CIDEr, without Java",
    "diversity": "measure the diversity of caption files, as an HTML page",
    "core-set": "find how few training captions reach a score on every row of a test set",
    "splits": "split caption files by concept or by length, with a check that nothing leaks",
    "rows": "show chosen rows of captions, those nearest to the mean first, as an HTML page",
    "human-correlation": "measure how well a metric agrees with people",
    "train-pac": "train a PAC score on your own images and captions",
    "make-positives": "add the generated images and captions that train-pac needs",
    "convert-checkpoint": "turn a CLIP checkpoint into a folder for the Hub",
    "count-document-frequency": "count n-grams, for trm_cider",
    "count-ngrams": "count the n-grams of a training corpus, for wording and human_parity",
    "count-token-frequency": "count the tokens of CLIP, for emscore_pac",
    "export": "write a module as a folder that stands alone, for evaluate.load",
    "push": "make or update Spaces of the Hugging Face Hub, for evaluate.load",
    "install-wordnet": "get WordNet, which NLTK's METEOR needs",
    "list": "list the modules, their variants and what is installed for them",
    "doctor": "check what the modules need on this machine, and say how to install it",
}

# Extra of this package that brings an imported package; what is not here comes with `pip install manycaps` itself.
EXTRAS = {
    "PIL": "clip",
    "accelerate": "train",
    "aiohttp": "sample",
    "av": "video",
    "diffusers": "train",
    "gradio": "demo",
    "open_clip": "clip",
    "packaging": "push",
    "pycocoevalcap": "meteor",
    "ray": "ray",
    "safetensors": "clip",
    "sentence_transformers": "embeddings",
    "spacy": "report",
    "tensorboard": "train",
    "torch": "clip",
    "transformers": "train",
    "yaml": "push",
}

# Extras that a command needs as a whole.
COMMAND_EXTRAS = {"train-pac": "train", "make-positives": "train", "sample": "sample", "push": "push"}

# Exit status of a process that ctrl-C ended, as shells have it.
INTERRUPTED = 130

# What makes a terminal act or changes the order in which it shows a line: control characters except tab and line feed,
# and the marks, embeddings, overrides and isolates of bidirectional text (Unicode Standard Annex 9).
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# What progress bars of tqdm write: a bar begins at the start of its line, and several move between lines.
BAR_START, BAR_MOVES = "\r", re.compile(r"(\n|\x1b\[A)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default this process's, and return the exit status.

    `SystemExit` is raised for --help and mistaken command lines.
    """
    if arguments is None:
        os.environ[OWN_PROCESS] = "1"
    with _escape_streams():
        try:
            return _run(sys.argv[1:] if arguments is None else list(arguments))
        finally:
            _give_up_output()


def _run(arguments: list[str]) -> int:
    """Run a command line, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="manycaps", description="Many candidate captions against many human references."
    )
    parser.add_argument("--version", action="version", version=f"manycaps {VERSION}")
    parser.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, what in COMMANDS.items():
        own = parsers.add_parser(name, help=what, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == chosen:
            command = importlib.import_module(f"manycaps.commands.{name.replace('-', '_')}")
            own.description = command.__doc__
            own.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
            command.add_arguments(own)
    given = parser.parse_args(arguments)
    given.typed = arguments
    try:
        if "MPLBACKEND" in os.environ:  # commands draw into files alone, and open no window
            os.environ["MPLBACKEND"] = "agg"
        _check_paths(given)
        with _plain_warnings(given.command):
            command.run(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"manycaps {given.command}: stopped by ctrl-C.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        return 1
    except Exception as error:
        if given.traceback:
            traceback.print_exc()
        else:
            print(one_line(error, given.command), file=sys.stderr)
        return 2 if isinstance(error, InputError) and error.where.startswith("--") else 1
    return 0


def _check_paths(given: argparse.Namespace) -> None:
    """Raise unless each path of a command line is a name that a file can have."""
    for name, value in vars(given).items():
        if isinstance(value, pathlib.Path):
            check_path(value, f"--{name.replace('_', '-')}")


class ShownStream:
    """Standard output or error that writes control characters, and what its encoding lacks, as Python escapes them.

    Captions, ids, names and answers of models are not trusted: a terminal obeys what it is sent. `is_data` says whether
    the command fails where nothing can be written; messages that nobody can read are dropped instead.
    """

    def __init__(self, stream: TextIO, *, is_data: bool):
        self._stream, self._is_data = stream, is_data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; on standard error progress bars may move the cursor."""
        start = "" if self._is_data or not text.startswith(BAR_START) else BAR_START
        if self._is_data or not BAR_MOVES.fullmatch(text):
            text = start + escape_text(text[len(start) :], self._stream.encoding)
        with self._drop_messages():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        with self._drop_messages():
            self._stream.flush()

    def _drop_messages(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._is_data else contextlib.suppress(OSError)


def escape_text(text: str, encoding: str | None) -> str:
    r"""Return a text with control characters, and those that an encoding lacks, escaped.

    >>> escape_text("a\x1b[2Jdog\n", "utf-8"), escape_text("a caf\xe9", "ascii")
    ('a\\x1b[2Jdog\n', 'a caf\\xe9')
    """
    text = CONTROLS.sub(lambda match: match[0].encode("unicode-escape").decode(), text)
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


@contextlib.contextmanager
def _escape_streams() -> Iterator[None]:
    """Let all output of a `with` statement go through `ShownStream`, and nowhere where a stream is closed."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a file that gets the number of a closed stream would get what libraries print
    os.close(number)
    with (
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(ShownStream(sys.stdout or nothing, is_data=True)),
        contextlib.redirect_stderr(ShownStream(sys.stderr or nothing, is_data=False)),
    ):
        yield


def one_line(error: Exception, command: str) -> str:
    """Say in one line what is wrong, and what a user can fix; it begins with "--" if an option is at fault.

    >>> one_line(ModuleNotFoundError("No module named 'av'", name="av"), "quickstart")
    "av: expected this package, got none. Run `pip install 'manycaps[video]'`."
    >>> one_line(OSError(28, "No space left on device"), "core-set")
    'core-set: expected files that can be read and written, got No space left on device. Check paths and disk.'
    """
    if isinstance(error, ImportError) and (line := _missing_package(error, command)):
        return line
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError):
        where = quote_path(error.filename) if isinstance(error.filename, str | bytes) else command
        return f"{where}: expected files that can be read and written, got {reason_of(error)}. Check paths and disk."
    if lacks_memory(error):
        return f"{command}: expected enough memory, got too little. Give smaller files, or a smaller batch."
    if isinstance(error, ValueError):  # of a function or a module that a user gave
        return f"{command}: {reason_of(error)}. Run it with --traceback to see where this comes from."
    return f"{command}: Internal error: {type(error).__name__} ({reason_of(error)}). Please report it with --traceback."


@contextlib.contextmanager
def _plain_warnings(command: str) -> Iterator[None]:
    """Show each warning in a `with` statement once, without the place in Python's files that it comes from."""
    shown: set[str] = set()

    def is_new(message: str) -> bool:
        n_shown = len(shown)
        shown.add(message)
        return len(shown) > n_shown

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if is_new(str(message)):
            print(f"manycaps {command}: {message}", file=sys.stderr)

    def is_new_record(record: logging.LogRecord) -> bool:
        return is_new(record.getMessage())

    # What libraries log goes to this handler, where no other one is set up.
    handler = logging.lastResort or logging.NullHandler()
    handler.addFilter(is_new_record)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    finally:
        handler.removeFilter(is_new_record)


def _give_up_output() -> None:
    """Flush the output, or drop it if that fails: Python would complain again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _missing_package(error: ImportError, command: str) -> str | None:
    """One line for a package that is not installed, or too old; None if a file of this package is missing."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__ or cause.__context__
    name = getattr(cause or error, "name", None)
    top = (name or "").split(".")[0]
    if top == "manycaps":
        return None
    quoted_extra = next((extra for package, extra in EXTRAS.items() if f"'{package}'" in str(error)), None)
    extra = COMMAND_EXTRAS.get(command) or EXTRAS.get(top) or quoted_extra
    if not extra and isinstance(error, InputError):  # whoever raised it knows the remedy
        return str(error)
    package = f"'manycaps[{extra}]'" if extra else "manycaps"
    advice = f"Run `pip install {package}`."
    if cause:
        return f"{name}: expected this package, got none. {advice}"
    # evaluate lists what a module needs in a sentence of its own; an old package lacks a name that is wanted of it.
    return f"{' '.join(str(error).split())} {advice}"
