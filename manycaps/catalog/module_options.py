"""Options of modules on the command line, `--option [MODULE.]NAME=VALUE`, the same for every command that runs them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from manycaps.kit.errors import InputError

from .command_options import Option, option_flag
from .modules import MODULES

# Options that a comparison decides: of its tests, and of values of all rows together.
DECIDED = (
    *("clusters", "confidence_level", "details", "n_resamples", "p_value", "seed"),
    *("config_name", "distance", "pooled"),
)

# The option of a command that runs modules. In Python also a mapping: {"tokenizer": "zh-jieba"}.
ModuleOptions = Annotated[
    Sequence[str] | Mapping[str, Any] | None,
    Option(
        "of all modules that have it, or of one: tokenizer=zh-jieba, meteor15.language=de",
        "[MODULE.]NAME=VALUE",
        name="option",
        repeats=True,
    ),
]


def read_module_options(given: Sequence[str] | Mapping[str, Any] | None, flag: str = "--option") -> dict[str, Any]:
    """Return the values by [MODULE.]NAME; a VALUE is JSON, or text. The last of two counts. Messages name the `flag`.

    Raises:
        ValueError: one has no value.

    >>> read_module_options(["tokenizer=zh-jieba", "trm_meteor.seed=1", "idf=true"])
    {'tokenizer': 'zh-jieba', 'trm_meteor.seed': 1, 'idf': True}
    """
    if isinstance(given, Mapping):
        return dict(given)
    values = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not separator:
            raise InputError(f"{flag} {text}", "[MODULE.]NAME=VALUE", "no equals sign", "Give tokenizer=zh-jieba.")
        values[name] = _parse_value(value)
    return values


def assign_module_options(
    given: Mapping[str, Any], modules: Sequence[str], but: Collection[str] = (), named: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return the options of every module; what is given for one module is stronger than what is given for all.

    Args:
        given: values by [MODULE.]NAME.
        modules: those that run.
        but: options that the command itself decides.
        named: options that have a name of their own on the command line.

    Raises:
        ValueError: none of the modules has the option.
    """
    known = {name: {"config_name", *MODULES[name].options} - {*but} for name in modules}
    assigned: dict[str, dict[str, Any]] = {name: {} for name in modules}
    for target, value in sorted(given.items(), key=lambda item: "." in item[0]):
        module, _, option = target.rpartition(".")
        takers = [name for name in modules if module in ("", name) and option in known[name]]
        if not takers:
            where = option_flag(target) if target in named else f"--option {target}"
            expected = f"an option of {', '.join(modules) or 'a module that runs'}"
            got = "one that the command decides itself" if option in but else "none of these"
            fix = f"They have {', '.join(sorted(set().union(*known.values()))) or 'none'}."
            raise InputError(where, expected, got, fix)
        for name in takers:
            assigned[name][option] = value
    return assigned


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also a number of 5,000 digits, and 100,000 brackets
        return text
