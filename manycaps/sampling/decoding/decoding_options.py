"""Options of a comparison of settings. Light: packages are imported when options are checked."""

import argparse
import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from manycaps.catalog.command_options import Option, Seed, check_options
from manycaps.catalog.module_options import ModuleOptions
from manycaps.catalog.modules import PARITY_DISTANCES
from manycaps.kit.errors import InputError
from manycaps.sampling.decoding_setting import MaxNewTokens, Setting
from manycaps.sampling.sample_options import SampleOptions


def comma_numbers(text: str) -> list[float]:
    """Return the numbers of a text that has commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers with commas between them, got {text!r}") from None


def comma_counts(text: str) -> list[float]:
    """Return numbers of which whole ones are ints; the check of a setting says what is wrong with others."""
    return [int(value) if value.is_integer() else value for value in comma_numbers(text)]


@dataclasses.dataclass(frozen=True)
class SettingGrid:
    """Every combination of the options of sampling, and the searches."""

    GROUPS: ClassVar = {"temperature": "settings"}

    temperature: Annotated[Sequence[float], Option("default: 1", "T,...", convert=comma_numbers)] = (1.0,)
    top_p: Annotated[Sequence[float], Option("default: 1, all tokens", "P,...", convert=comma_numbers)] = (1.0,)
    top_k: Annotated[Sequence[int], Option("default: 0, all tokens", "K,...", convert=comma_counts)] = (0,)
    min_p: Annotated[Sequence[float], Option("default: 0, all tokens", "P,...", convert=comma_numbers)] = (0.0,)
    num_beams: Annotated[Sequence[int], Option("beam search with this many beams", "N,...", convert=comma_counts)] = ()
    diverse: Annotated[Sequence[float], Option("diverse beam search, penalties", "P,...", convert=comma_numbers)] = ()
    greedy: Annotated[bool, Option("greedy search as well")] = False
    max_new_tokens: MaxNewTokens = 64

    def settings(self) -> list[Setting]:
        """Return the settings.

        >>> [setting.name for setting in SettingGrid(temperature=(0.7, 1), num_beams=(4,)).settings()]
        ['t0.7', 't1', 'beams4']
        """
        make = functools.partial(Setting, max_new_tokens=self.max_new_tokens)
        grid = itertools.product(self.top_p, self.top_k, self.min_p, self.temperature)
        settings = [make(t, p, k, m) for p, k, m, t in grid]
        settings += [make(num_beams=n) for n in self.num_beams]
        settings += [make(diverse=penalty) for penalty in self.diverse]
        return settings + ([make(greedy=True)] if self.greedy else [])


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
    reference_columns: Annotated[
        Mapping[str, str] | str | None, Option("columns of the references", "ROLE=NAME,...")
    ] = None
    reference_split: Annotated[str | None, Option("of Karpathy's or MSR-VTT's file of references: test")] = None
    # Settings that are clearly worse are dropped early. None: all rows of all settings.
    budget: Annotated[int | None, Option("rows to sample, over all settings", least=1)] = None
    distance: Annotated[str | None, Option("of captions", choices=PARITY_DISTANCES)] = None
    encoder: Annotated[str | None, Option("sentence encoder")] = None
    options: ModuleOptions = None
    n_resamples: Annotated[int, Option("sign flips of the tests of pairs", least=1, most=10_000_000)] = 9_999
    # Of these and of the halves.
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)
        names = [setting.name for setting in self.settings] or list(self.files)
        if len(names) < 2 or len(set(names)) < len(names):
            fix = "Give files of samples, or values such as --temperature 0.7,1."
            raise InputError("settings", "two or more that differ", ", ".join(names) or "none", fix)
        if self.sample is not None:
            for setting in self.settings:
                self.sample.check_setting(setting)
        if self.budget is not None and self.sample is None:
            raise InputError("--budget", "a model to sample", "files of samples", "Leave it out.")
