"""Options of a run of samples, and the arguments that `manycaps sample` and `manycaps decoding` share.

Light: packages are imported when options are checked.
"""

import argparse
import dataclasses
import pathlib
import shlex
import urllib.parse
from collections.abc import Mapping, Sequence

from .decoding_setting import Setting

# What --dtype takes.
DTYPE_NAMES = ("float32", "bfloat16", "float16")

# What --on-error takes.
ON_ERROR = ("stop", "skip")

# Largest number of samples of a row.
MOST_SAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class SampleOptions:
    """Options of `manycaps sample`, with their defaults; see `manycaps sample --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --batch-size.
    """

    # Folder or Hub name of a model of transformers, or a model's name at a server.
    model: str
    # Folders of images, images, and tables with a column of images or prompts.
    sources: Sequence[str]
    # The file of samples, JSON Lines.
    output: pathlib.Path
    # Samples of a row.
    n: int = 10
    # How to decode.
    setting: Setting = dataclasses.field(default_factory=Setting)
    # Question about every image, or the start of a caption; rows may have prompts of their own.
    prompt: str | None = None
    # Message of the system.
    system: str | None = None
    # Address of a server; None: the model runs here.
    url: str | None = None
    # Of a model of the Hub: branch, tag or commit.
    revision: str | None = None
    # Where the model runs, one of `DTYPE_NAMES`, and rows at a time.
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 8
    # Requests to a server at a time, further attempts of each, and seconds of an attempt, from the first byte to the
    # last.
    concurrency: int = 8
    retries: int = 5
    timeout: float = 120.0
    # With the id of a row it decides its samples.
    seed: int = 0
    # Rows to read; None: all.
    limit: int | None = None
    # Which of how many parts of the rows, counted from 1.
    shard: tuple[int, int] = (1, 1)
    # From "id" and "image" to names of columns, or both as text: "id=image_id".
    columns: Mapping[str, str] | str | None = None
    # Folder of the images that a column or the ids name.
    images: str | None = None
    # Whether images of a folder are named without their endings.
    stems: bool = False
    # Of saved data sets with several, and on the Hub.
    split: str = "train"
    # Whether to begin from scratch, whatever there is.
    restart: bool = False
    # What a row that cannot be sampled does: "stop" ends the run, "skip" leaves it out, with its error beside the file.
    on_error: str = "stop"
    # The command that resumes this run, for messages; empty where there is none.
    again: str = ""

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.base import check_choice, check_number, check_whole_number

        check_whole_number("-n", self.n, 1, MOST_SAMPLES)
        check_choice("--dtype", self.dtype, DTYPE_NAMES)
        for name, least in {"batch_size": 1, "concurrency": 1, "retries": 0, "seed": 0}.items():
            check_whole_number(f"--{name.replace('_', '-')}", getattr(self, name), least)
        check_number("--timeout", self.timeout, 0, 1e6)
        if self.limit is not None:
            check_whole_number("--limit", self.limit, 1)
        k, n_shards = self.shard
        if not 1 <= k <= n_shards:
            raise ValueError(f"--shard: expected i/n with i from 1 to n, got {k}/{n_shards}. The first is 1/n.")
        check_choice("--on-error", self.on_error, ON_ERROR)
        if not self.output.name:
            raise ValueError(f"--output: expected the name of a file, got {str(self.output)!r}. Name a file in it.")
        check_address(self.url)
        self.check_setting(self.setting)

    def check_setting(self, setting: Setting) -> None:
        """Raise if the model, or the server, cannot decode so."""
        if self.url is not None and not setting.is_sampled:
            raise ValueError(
                f"--url: expected options of sampling, got {setting.name}. Servers have no common way to search."
            )
        if setting.num_beams is not None and setting.num_beams < self.n:
            raise ValueError(
                f"--num-beams: expected at least {self.n} for as many samples, got {setting.num_beams}. Give more "
                "beams, or a smaller -n."
            )


def check_address(url: str | None) -> None:
    """Raise unless there is none, or it can be the address of a server; the message shows no password."""
    try:
        parts = urllib.parse.urlsplit(url or "http://localhost")
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or url == "":
        raise ValueError(
            "--url: expected the address of a server, such as http://localhost:8000/v1, got something else. Check it."
        )


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what is sampled, and by which model."""
    rows = parser.add_argument_group("rows and model")
    rows.add_argument("-n", type=int, default=SampleOptions.n, metavar="N", help="samples of a row (10)")
    rows.add_argument("--seed", type=int, default=0, metavar="N", help="of all samples (0)")
    rows.add_argument("--prompt", metavar="TEXT", help="what to ask of every image")
    rows.add_argument("--system", metavar="TEXT", help="system message of a chat model")
    rows.add_argument("--columns", metavar="ROLE=NAME,...", help="columns of id and image")
    rows.add_argument("--images", metavar="FOLDER", help="where the images of column or id lie")
    rows.add_argument("--stems", action="store_true", help="name images of a folder without their endings")
    rows.add_argument("--split", default="train", metavar="NAME", help="of a data set (train)")
    rows.add_argument("--model", metavar="NAME", help="in place of the first argument")
    rows.add_argument("--revision", metavar="NAME", help="of a model of the Hub: branch, tag or commit")
    rows.add_argument("--device", default="auto", metavar="NAME", help="default: the best available")
    rows.add_argument("--dtype", choices=DTYPE_NAMES, default="float32", help="numbers of the model (float32)")
    rows.add_argument(
        "--batch-size", type=int, default=SampleOptions.batch_size, metavar="N", help="rows at a time (8)"
    )
    rows.add_argument("--url", metavar="URL", help="of a server, such as http://localhost:8000/v1")
    rows.add_argument("--concurrency", type=int, default=SampleOptions.concurrency, metavar="N", help="requests (8)")
    rows.add_argument("--retries", type=int, default=SampleOptions.retries, metavar="N", help="of a request (5)")
    rows.add_argument("--timeout", type=float, default=SampleOptions.timeout, metavar="S", help="of a request (120)")
    rows.add_argument(
        "--on-error", choices=ON_ERROR, default="stop", help="skip: leave out rows that cannot be sampled (stop)"
    )


def options_of(arguments: argparse.Namespace, output: pathlib.Path, setting: Setting) -> SampleOptions:
    """Return the options of parsed arguments."""
    names, model = list(arguments.names), arguments.model
    if arguments.url is not None and model is None:
        raise ValueError("--model: expected the name of a model at the server, got none. Name one.")
    if model is None:
        model, names = names[0], names[1:]
    if not names:
        raise ValueError(f"source: expected images or prompts after the model {model!r}, got none. Name a folder.")
    given = vars(arguments)
    taken = {field.name: given[field.name] for field in dataclasses.fields(SampleOptions) if field.name in given}
    taken |= {"model": model, "sources": names, "output": output, "setting": setting}
    return SampleOptions(**taken, again=repeated_command(given.get("typed", ()), arguments.url))


def repeated_command(words: Sequence[str], url: str | None) -> str:
    """Return what resumes a command: without --restart, and without the user, password and query of the address.

    >>> repeated_command(["sample", "--url=http://me:pw@host/v1?key=k", "--restart", "a b"], "http://me:pw@host/v1?key=k")
    "manycaps sample --url=http://host/v1 'a b'"
    """
    shown = ""
    if url:
        parts = urllib.parse.urlsplit(url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    # argparse takes beginnings of an option, too.
    kept = [word for word in words if not (word.startswith("--res") and "--restart".startswith(word))]
    return shlex.join(["manycaps", *(word.replace(url, shown) if url else word for word in kept)])
