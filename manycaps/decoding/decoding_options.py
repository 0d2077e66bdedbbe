"""Options of a comparison of settings. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated

from manycaps.catalog import PARITY_DISTANCES
from manycaps.command_options import Option, Seed, check_options
from manycaps.kit.base import InputError
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import SampleOptions


@dataclasses.dataclass(frozen=True)
class DecodingOptions:
    """Options of `manycaps decoding`, with their defaults; see `manycaps decoding --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --budget.
    """

    references: Annotated[Sequence[str], Option("human captions, by the ids of the rows", "FILE", "-r")]
    output: Annotated[pathlib.Path, Option("of the samples, the page and the numbers", "FOLDER", "-o")] = pathlib.Path(
        "decoding"
    )
    # Files of samples, one for each setting; none: they are sampled.
    files: Sequence[str] = ()
    # Settings to sample, and the model and its rows, whose own output and setting do not count.
    settings: Sequence[Setting] = ()
    sample: SampleOptions | None = None
    # Of the references: from roles to names of columns, or both as text; and split.
    columns: Mapping[str, str] | str | None = None
    split: str | None = None
    # Settings that are clearly worse are dropped early. None: all rows of all settings.
    budget: Annotated[int | None, Option("rows to sample, over all settings", least=1)] = None
    distance: Annotated[str | None, Option("of captions", choices=PARITY_DISTANCES)] = None
    encoder: Annotated[str | None, Option("sentence encoder")] = None
    n_resamples: Annotated[int, Option("sign flips of the tests of pairs", least=1)] = 9_999
    # Of these and of the halves.
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)
        names = [setting.name for setting in self.settings] or list(self.files)
        if len(names) < 2 or len(set(names)) < len(names):
            raise InputError(
                "settings",
                "two or more that differ",
                ", ".join(names) or "none",
                "Give files of samples, or values such as --temperature 0.7,1.",
            )
        if self.sample is not None:
            for setting in self.settings:
                self.sample.check_setting(setting)
        if self.budget is not None and self.sample is None:
            raise InputError("--budget", "a model to sample", "files of samples", "Leave it out.")
