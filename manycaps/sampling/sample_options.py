"""Options of a run of samples, which `manycaps sample` and `manycaps decoding` share.

Light: packages are imported when options are checked.
"""

import argparse
import dataclasses
import importlib.util
import pathlib
import shlex
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from manycaps.catalog.command_options import DeviceName, Limit, Option, check_options, options_of
from manycaps.kit.errors import InputError

from .decoding_setting import Setting

# What --dtype takes.
DTYPE_NAMES = ("float32", "bfloat16", "float16")

# What --on-error takes.
ON_ERROR = ("stop", "skip")

# Largest number of samples of a row.
MOST_SAMPLES = 10_000


def shard_of_text(text: str) -> tuple[int, int]:
    """Return a part of the rows and the number of parts, which have "/" between them."""
    k, separator, n_shards = text.partition("/")
    if not separator or not k.isdigit() or not n_shards.isdigit():
        raise argparse.ArgumentTypeError(f"expected I/N such as 1/4, got {text!r}")
    return int(k), int(n_shards)


@dataclasses.dataclass(frozen=True)
class SampleOptions:
    """Options of `manycaps sample`, with their defaults; see `manycaps sample --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --batch-size.
    """

    GROUPS: ClassVar = {"n": "rows and model"}

    model: Annotated[str, Option("folder, or name on the Hub or at the server")]
    # Folders of images, images, and tables with a column of images or prompts.
    sources: Sequence[str]
    output: Annotated[pathlib.Path, Option("file of the samples, JSON Lines", flag="-o")]
    n: Annotated[int, Option("samples of a row", flag="-n", name="", least=1, most=MOST_SAMPLES)] = 10
    # How to decode.
    setting: Setting = dataclasses.field(default_factory=Setting)
    # Rows may have prompts of their own.
    prompt: Annotated[str | None, Option("what to ask of every image, or the start of a caption", "TEXT")] = None
    system: Annotated[str | None, Option("system message of a chat model", "TEXT")] = None
    # Not shown: it may hold a password.
    url: Annotated[str | None, Option("of a server, such as http://localhost:8000/v1", "URL")] = dataclasses.field(
        default=None, repr=False
    )
    revision: Annotated[str | None, Option("of a model of the Hub: branch, tag or commit")] = None
    device: DeviceName = "auto"
    dtype: Annotated[str, Option("numbers of the model", choices=DTYPE_NAMES)] = "float32"
    batch_size: Annotated[int, Option("rows at a time", least=1)] = 8
    concurrency: Annotated[int, Option("requests at a time", least=1)] = 8
    retries: Annotated[int, Option("further attempts of a request", least=0)] = 5
    # From the first byte to the last.
    timeout: Annotated[float, Option("seconds of an attempt", "S")] = 120.0
    seed: Annotated[int, Option("of all samples; with the id of a row it decides its samples", least=0)] = 0
    limit: Limit = None
    # Which of how many parts of the rows, counted from 1.
    shard: Annotated[tuple[int, int], Option("every N-th row from the I-th on", "I/N", convert=shard_of_text)] = (1, 1)
    columns: Annotated[Mapping[str, str] | str | None, Option("columns of id and image", "ROLE=NAME,...")] = None
    images: Annotated[str | None, Option("where the images of column or id lie", "FOLDER")] = None
    stems: Annotated[bool, Option("name images of a folder without their endings")] = False
    split: Annotated[str, Option("of a saved data set, or one on the Hub")] = "train"
    restart: Annotated[bool, Option("begin from scratch")] = False
    on_error: Annotated[str, Option("skip: leave out rows that cannot be sampled", choices=ON_ERROR)] = "stop"
    # The command that resumes this run, for messages; empty where there is none.
    again: str = ""

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.options import check_number

        check_options(self)
        check_number("--timeout", self.timeout, 0, 1e6)
        k, n_shards = self.shard
        if not 1 <= k <= n_shards:
            raise InputError("--shard", "i/n with i from 1 to n", f"{k}/{n_shards}", "The first is 1/n.")
        if not self.output.name:
            raise InputError("--output", "the name of a file", f"{str(self.output)!r}", "Name a file in it.")
        check_address(self.url)
        if self.revision is not None and (self.url is not None or pathlib.Path(self.model).is_dir()):
            raise InputError("--revision", "none, unless the model is from the Hub", self.revision, "Leave it out.")
        self.check_setting(self.setting)

    def check_setting(self, setting: Setting) -> None:
        """Raise if the model, or the server, cannot decode so."""
        if self.url is not None and not setting.is_sampled:
            raise InputError("--url", "options of sampling", setting.name, "Servers have no common way to search.")
        if setting.num_beams is not None and setting.num_beams < self.n:
            expected, fix = f"at least {self.n} for as many samples", "Give more beams, or a smaller -n."
            raise InputError("--num-beams", expected, setting.num_beams, fix)


def check_address(url: str | None) -> None:
    """Raise unless there is none, or it can be the address of a server; nothing of it is shown."""
    try:
        parts = urllib.parse.urlsplit(url or "http://localhost")
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        if url and importlib.util.find_spec("yarl"):  # of which requests have the address
            import yarl

            is_one = is_one and bool(yarl.URL(url).host) and bool((parts.hostname or "").encode("idna"))
    except Exception:  # of urllib, codecs and yarl, whose texts hold the address
        is_one = False
    if not is_one or url == "":
        raise wrong_address()
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":  # of a password that is not escaped, a part would be shown
        raise wrong_address("Write @, /, ? and # in a password or a key as %40, %2F, %3F and %23.")


def wrong_address(fix: str = "Check it.") -> InputError:
    """Return the error of an address that cannot be used, without the address, which may hold a password."""
    return InputError("--url", "the address of a server, such as http://localhost:8000/v1", "something else", fix)


def sample_options_of(arguments: argparse.Namespace, output: pathlib.Path, setting: Setting) -> SampleOptions:
    """Return the options of parsed arguments."""
    names, model = list(arguments.names), arguments.model
    check_address(arguments.url)  # before anything else reads it
    if arguments.url is not None and model is None:
        raise InputError("--model", "the name of a model at the server", "none", "Name one.")
    if model is None:
        model, names = names[0], names[1:]
    if not names:
        raise InputError("source", f"images or prompts after the model {model!r}", "none", "Name a folder.")
    again = resume_command(getattr(arguments, "typed", ()), arguments.url)
    return options_of(arguments, SampleOptions, model=model, sources=names, output=output, setting=setting, again=again)


def resume_command(words: Sequence[str], url: str | None) -> str:
    """Return what resumes a command: without --restart, and without the user, password and query of the address.

    >>> resume_command(["sample", "--url=http://me:pw@host/v1?key=k", "--restart", "a b"], "http://me:pw@host/v1?key=k")
    "manycaps sample --url=http://host/v1 'a b'"
    """
    shown = ""
    if url:
        parts = urllib.parse.urlsplit(url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    # argparse takes beginnings of an option, too.
    kept = [word for word in words if not (word.startswith("--res") and "--restart".startswith(word))]
    return shlex.join(["manycaps", *(word.replace(url, shown) if url else word for word in kept)])
