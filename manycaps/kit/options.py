"""Options of modules, with their checks, and the values of results: declared once, and documented by these tables."""

import functools
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .errors import InputError, InputTypeError, quote_value, spelling_advice

# Raises unless the value of an option is legal; takes the option's name and the value.
Check = Callable[[str, Any], None]

CHAN_CITATION = """
@inproceedings{chan2022distribution,
  title={Distribution Aware Metrics for Conditional Natural Language Generation},
  author={Chan, David M. and Ni, Yiming and Ross, David A. and Vijayanarasimhan, Sudheendra
          and Myers, Austin and Canny, John F.},
  year={2022},
  eprint={2209.07518},
  archivePrefix={arXiv}
}
"""

WHATS_CITATION = """
@inproceedings{chan2022whats,
  title={What's in a Caption? Dataset-Specific Linguistic Diversity and Its Effect on Visual Description Models and
         Metrics},
  author={Chan, David M. and Myers, Austin and Vijayanarasimhan, Sudheendra and Ross, David A. and Seybold, Bryan
          and Canny, John F.},
  booktitle={CVPR Workshops},
  year={2022},
  eprint={2205.06253},
  archivePrefix={arXiv}
}
"""

PAC_CITATION = """
@inproceedings{sarto2023positive,
  title={Positive-Augmented Contrastive Learning for Image and Video Captioning Evaluation},
  author={Sarto, Sara and Barraco, Manuele and Cornia, Marcella and Baraldi, Lorenzo and Cucchiara, Rita},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2023}
}
"""

COCO_CITATION = """
@article{chen2015microsoft,
  title={Microsoft {COCO} Captions: Data Collection and Evaluation Server},
  author={Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and Gupta, Saurabh and Dollar, Piotr
          and Zitnick, C. Lawrence},
  journal={arXiv:1504.00325},
  year={2015}
}
"""

# Columns of the collection's modules, and where one is refused: what takes it.
COLUMNS: dict[str, str] = {
    "predictions": "a metric",
    "references": "a metric that compares captions with them",
    "images": "pac_score or ref_pac_score; trm and mmd compare prediction_images and reference_images",
    "videos": "emscore_pac",
    "data": "vdtk_diversity, vdtk_concept_overlap or vdtk_leave_one_out",
}


class About(NamedTuple):
    """Description of a module for evaluate."""

    description: str
    citation: str
    # Calls of the module with their results, as in a docstring.
    examples: str
    reference_urls: Sequence[str] = ()


class Effect(NamedTuple):
    """What an option needs beside it: without, it would be ignored, and is refused."""

    # Name of another option, and a value of it, as it is typed.
    other: str
    value: str
    # Whether all options of a call are such that this one has an effect.
    holds: Callable[[Mapping[str, Any]], bool]


class Option(NamedTuple):
    """An option of a module."""

    default: Any
    # Takes the option's name and a value, and raises unless the value is legal.
    check: Check
    # What it is, in sentences; where the default is None also what this stands for. Others are shown behind it.
    meaning: str
    # Whether only `evaluate.load` takes it.
    at_load: bool = False
    # What it needs beside it to have an effect.
    needs: Effect | None = None
    # Takes all options of a call, each legal by itself, and raises unless the value fits the others.
    fits: Callable[[Mapping[str, Any]], object] | None = None
    # For the card: where what it reads comes from, if that has a licence of its own.
    licence: str = ""

    @property
    def choices(self) -> Collection[str]:
        """Its legal values, where `one_of` checks them.

        >>> Option("a", one_of(("a", "b")), "").choices
        ('a', 'b')
        """
        return getattr(self.check, "keywords", {}).get("choices", ())

    @property
    def shown_default(self) -> str:
        """The default as lists of options show it.

        >>> Option("ptb", check_flag, "").shown_default, Option(9_999, check_flag, "").shown_default
        ('"ptb"', '9,999')
        """
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            return f"{self.default:,}"
        return repr(self.default).replace("'", '"')

    @property
    def sentence(self) -> str:
        """Its meaning and its default.

        >>> Option(1_000, check_flag, "Random splits of a row.").sentence
        'Random splits of a row. Default: 1,000.'
        """
        return self.meaning if self.default is None else f"{self.meaning} Default: {self.shown_default}."


class Value(NamedTuple):
    """What a result has under a key, or under several keys: "a, b". "..." is any text, "<name>" any name."""

    keys: str
    # Least and largest value, and the unit.
    range: str
    # "higher", "lower", or "0" for a value that is 0 for human captions.
    better: str
    meaning: str
    # Whether it is one of the few to read first, which pages show above the others.
    leads: bool = False

    @property
    def sentence(self) -> str:
        """Its meaning, range and direction.

        >>> Value("meteor", "0 to 1", "higher", "mean over rows").sentence
        'mean over rows (0 to 1; higher is better)'
        """
        better = {"": "", "0": "0 for human captions"}.get(self.better, f"{self.better} is better")
        parts = "; ".join(part for part in (self.range, better) if part)
        return f"{self.meaning} ({parts})" if parts else self.meaning

    def has_key(self, key: str) -> bool:
        """Return whether a key of a result is one of its keys.

        >>> Value("bleu_1, ..._per_row", "", "", "").has_key("bleu_4_per_row"), Value("...", "", "", "").has_key("a")
        (True, False)
        """
        patterns = (re.escape(name).replace(r"\.\.\.", ".+").replace("<name>", ".+") for name in self.keys.split(", "))
        return any(pattern != ".+" and re.fullmatch(pattern, key) for pattern in patterns)


def value_table(table: str) -> tuple[Value, ...]:
    r"""Return the values of a table: `keys | range | better | meaning` in a line, which a deeper one continues.

    A star before the keys marks a value that leads.

    >>> value_table("* meteor | 0 to 1 | higher | mean over\n    rows\nn_rows | | | number of rows")[0]
    Value(keys='meteor', range='0 to 1', better='higher', meaning='mean over rows', leads=True)
    """
    lines = re.sub(r"\n +", " ", textwrap.dedent(table).strip()).splitlines()
    values = []
    for line in lines:
        keys, extent, better, meaning = (cell.strip() for cell in line.split("|", 3))
        values.append(Value(keys.removeprefix("* "), extent, better, meaning, keys.startswith("*")))
    return tuple(values)


def defaults_of(options: Mapping[str, Option]) -> dict[str, Any]:
    """Return the default of each option of a table."""
    return {name: option.default for name, option in options.items()}


def check_options(table: Mapping[str, Option], options: Mapping[str, Any]) -> None:
    """Raise unless every option of a table has a legal value among `options`, and all fit each other."""
    for name, option in table.items():
        option.check(name, options[name])
    for fits in (option.fits for option in table.values() if option.fits):
        fits(options)


def dependent_options(effect: Effect, options: Mapping[str, Option]) -> dict[str, Option]:
    """Return options that have an effect only beside another one."""
    return {name: option._replace(needs=effect) for name, option in options.items()}


class Ready(NamedTuple):
    """Columns that only `compute` takes, past evaluate's table and any model."""

    meaning: str
    # Takes the module, these columns and all else that is given, and returns the result.
    compute: Callable[[Any, dict[str, Any], dict[str, Any]], dict[str, Any]]


def docstring_list(heading: str, entries: Iterable[tuple[str, str]]) -> str:
    r"""Return a list of a docstring: a name and what it means in each entry, wrapped.

    >>> docstring_list("Args", [("seed", "Of draws.")])
    'Args:\n    seed: Of draws.\n'
    """
    wrapper = textwrap.TextWrapper(120, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)
    wrapped = (wrapper.fill(f"{name}: {meaning}") for name, meaning in entries)
    return "\n".join([f"{heading}:", *wrapped, ""])


def _plain_option(value: Any, name: str) -> Any:
    """Do as `as_python_value`, or say that a list contains itself, which has no end."""
    try:
        return as_python_value(value, name)
    except RecursionError:
        raise InputError(
            name, "a value", f"a {type(value).__name__} that contains itself, or is nested too deeply", "Give another."
        ) from None


def as_python_value(value: Any, name: str = "") -> Any:
    """Return the value of an option as Python's own; what is no scalar of NumPy, dtype or device of torch stays.

    A number of lower precision is the decimal that it prints, and the number of a device is a GPU's.

    >>> import numpy as np
    >>> as_python_value(np.int64(3)), as_python_value([np.float32(0.1), np.bool_(True)]), as_python_value(0, "device")
    (3, [0.1, True], 'cuda:0')
    """
    if type(value) in (list, tuple):
        return type(value)(as_python_value(item) for item in value)
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = float(str(value)) if value.dtype.kind == "f" else value.item()
    elif kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        value = str(value).removeprefix("torch.")
    is_number = name == "device" and isinstance(value, int) and not isinstance(value, bool)
    return f"cuda:{value}" if is_number and value >= 0 else value


def one_of(choices: Collection[str]) -> Check:
    """Return the check of an option that is one of some names."""
    return functools.partial(check_choice, choices=choices)


def whole_number(least: int, most: int | None = None) -> Check:
    """Return the check of an option that is an int from `least` to `most`."""
    return lambda name, value: check_whole_number(name, value, least, most)


def or_none(check: Check) -> Check:
    """Return the check of an option that may also be None."""
    return lambda name, value: None if value is None else check(name, value)


def by_value(check: Callable[[Any], object]) -> Check:
    """Return the check of an option whose name `check` knows by itself."""

    def check_value(_: str, value: Any) -> None:
        check(value)

    return check_value


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise InputError(name, f"one of {expected}", quote_value(value), spelling_advice(value, choices))


def check_whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an int (not a bool) from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputTypeError(name, "a whole number", type(value).__name__, "Give an int.")
    if value < least:
        raise InputError(name, f"a whole number of at least {least}", quote_value(value), "Give a larger one.")
    if most is not None and value > most:
        raise InputError(name, f"a whole number of at most {most:,}", quote_value(value), "Give a smaller one.")


def check_is_number(name: str, value: object, hint: str) -> None:
    """Raise unless `value` is an int or a float (not a bool)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputTypeError(name, "a number", type(value).__name__, hint)


def check_number(name: str, value: Any, above: float, below: float) -> None:
    """Raise unless `value` is a number strictly between two others."""
    check_is_number(name, value, "Give a float.")
    if not above < value < below or value > sys.float_info.max:
        limit = f"below {below:g}" if below < float("inf") else "finite"
        raise InputError(name, f"a number above {above:g} and {limit}", quote_value(value), "Choose another.")


def check_share(name: str, share: Any) -> None:
    """Raise unless a share of the whole is above 0 and at most 1."""
    check_is_number(name, share, "Give a float such as 0.9.")
    if not 0 < share <= 1:
        raise InputError(name, "a share above 0 and at most 1", quote_value(share), "Write 90% as 0.9.")


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise InputTypeError(name, "True or False", quote_value(value), "Give a bool.")


def check_confidence_level(value: Any) -> None:
    """Raise unless `value` is None or a number strictly between 0 and 1."""
    if value is None:
        return
    check_is_number("confidence_level", value, "Give a float such as 0.95.")
    if not 0 < value < 1:
        raise InputError("confidence_level", "a number between 0 and 1", quote_value(value), "Write 95% as 0.95.")


def check_beside_rows(name: str, value: object) -> None:
    """Raise nothing: such an option is checked with the rows that it belongs to."""


def check_together(name: str, value: object) -> None:
    """Raise nothing: such an option is checked with others, by `fits` of one of them."""


def check_device(name: str, device: object) -> None:
    """Raise unless `device` is a string."""
    if not isinstance(device, str):
        raise InputTypeError(name, "a name", type(device).__name__, "Give for example 'cuda:0', or 'auto'.")


# Of most modules.
DETAILS: dict[str, Option] = {"details": Option(False, check_flag, "`True` adds per-row lists and the signature.")}

INTERVALS: dict[str, Option] = {
    "confidence_level": Option(
        None, by_value(check_confidence_level), "For example 0.95 adds intervals; by default there are none."
    ),
    "clusters": Option(
        None,
        check_beside_rows,
        "One label per row, equal ones for rows that depend on each other, such as rows of one image; by default "
        "none do.",
    ),
}


def _check_names(names: Collection[str], known: Mapping[str, Any], when: str, other_call: Collection[str] = ()) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        advice = spelling_advice(unknown[0], [*known, *(COLUMNS if when == "compute" else ())])
        if unknown[0] in other_call:
            advice = f"Give it to {'compute' if when == 'load' else 'load'}."
        elif when == "compute" and not advice.startswith("Did"):
            advice += " With evaluate.combine, give each module its options at load."
        raise InputTypeError(when, f"options among {sorted(known)}", unknown, advice)
