"""Options that `manycaps sample` and `manycaps decoding` share: what is sampled, and by which model."""

import argparse
import dataclasses
import pathlib

from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import DTYPE_NAMES, SampleOptions


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what is sampled, and by which model."""
    rows = parser.add_argument_group("rows and model")
    rows.add_argument("-n", type=int, default=SampleOptions.n, metavar="N", help="samples of a row (10)")
    rows.add_argument("--seed", type=int, default=0, metavar="N", help="of all samples (0)")
    rows.add_argument("--prompt", metavar="TEXT", help="what to ask of every image")
    rows.add_argument("--system", metavar="TEXT", help="message of the system")
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


def options_of(arguments: argparse.Namespace, output: pathlib.Path, setting: Setting) -> SampleOptions:
    """Return the options of parsed arguments.

    Raises:
        ValueError: a server without a model, or no source.
    """
    names, model = list(arguments.names), arguments.model
    if arguments.url is not None and model is None:
        raise ValueError("--model: expected the name of a model at the server, got none. Name one.")
    if model is None:
        model, names = names[0], names[1:]
    if not names:
        raise ValueError(f"source: expected images or prompts after the model {model!r}, got none. Name a folder.")
    given = vars(arguments)
    taken = {field.name: given[field.name] for field in dataclasses.fields(SampleOptions) if field.name in given}
    return SampleOptions(**{**taken, "model": model, "sources": names, "output": output, "setting": setting})
