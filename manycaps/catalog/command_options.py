"""Options of commands, each declared once: as a field of a frozen dataclass, which makes parser and checks."""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from manycaps.kit.errors import InputError, InputTypeError, quote_value
from manycaps.kit.options import check_choice, check_number, check_whole_number
from manycaps.kit.rows import LONG_TEXTS

from .modules import ENCODER_OPTIONS

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Option:
    """What a command says of a field of its options, and which values it may have.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Options:
    ...     n: Annotated[int, Option("captions of a row", flag="-n", name="", least=1)] = 10
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser, Options)
    >>> options_of(parser.parse_args(["-n", "3"]), Options)
    Options(n=3)
    """

    help: str = ""
    # What stands for a value in --help; None: what the type says.
    metavar: str | None = None
    # Short spelling, "-o"; "" for an argument that has no name on the command line.
    flag: str | None = None
    # Long spelling, where it is not the field's; "" for none.
    name: str | None = None
    choices: Collection[str] | None = None
    # Limits of a number, both allowed; and one that is not.
    least: float | None = None
    most: float | None = None
    above: float | None = None
    # What makes a value of its text, where the type does not say it; `help` names the default.
    convert: Callable[[str], Any] | None = None
    # Whether a list is made by giving it several times.
    repeats: bool = False


def comma_list(text: str) -> list[str]:
    """Return the names of a text that has commas between them."""
    return [name.strip() for name in text.split(",")]


def path_of(text: str) -> pathlib.Path:
    """Return a path that a user typed; an empty one would be this folder.

    >>> path_of("runs/a").name
    'a'
    """
    if not text.strip():  # "$FOLDER" of a shell that has no such variable
        raise argparse.ArgumentTypeError("expected a path, got an empty one; give a dot for this folder")
    return pathlib.Path(text)


# Options that several commands have.
Columns = Annotated[
    Mapping[str, str | Mapping[str, str]] | str | None,
    Option("columns with unusual names, of all files or of one", "[FILE:]ROLE=NAME,..."),
]
SplitName = Annotated[str | None, Option("of Karpathy's or MSR-VTT's file: test, or train+restval")]
TokenizerName = Annotated[str, Option("such as zh-jieba")]
EncoderName = Annotated[str | None, Option("sentence-transformers model for distances, or vectors:FILE")]
DeviceName = Annotated[str, Option("device of the networks, such as cuda")]
Limit = Annotated[int | None, Option("read the first N rows", least=1)]
Seed = Annotated[int, Option("of what is random", least=0)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderOptions:
    """Options of the commands that embed texts; checked as soon as they are given."""

    long_texts: Annotated[
        str | None, Option("of texts longer than the encoder reads; default: truncate", choices=LONG_TEXTS)
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_options(self)


def encoder_options(options: Any) -> dict[str, str]:
    """Return the options of a command that say how a sentence encoder embeds, where they are given."""
    given = {name: getattr(options, name, None) for name in ENCODER_OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


# What stands for values of a type in --help.
METAVARS = {int: "N", float: "X", pathlib.Path: "FILE", str: "NAME"}


def add_options(parser: argparse.ArgumentParser, options: type, *, without: Collection[str] = ()) -> None:
    """Declare the fields of a dataclass; `GROUPS` of the class has headings by the first field below each."""
    groups: Mapping[str, str] = getattr(options, "GROUPS", {})
    target: Any = parser
    for field, kinds, option in option_fields(options):
        if field.name in groups:
            target = parser.add_argument_group(groups[field.name])
        if field.name not in without:
            names, how = names_of(field.name, option), _how(field, kinds, option)
            target.add_argument(*names, **how, **({} if option.flag == "" else {"dest": field.name}))


def options_of(given: argparse.Namespace | Mapping[str, Any], options: type[T], /, **more: Any) -> T:
    """Return the options out of parsed arguments; others do not count."""
    values = given if isinstance(given, Mapping) else vars(given)
    names = {field.name for field in dataclasses.fields(options)}  # type: ignore[arg-type]
    return options(**{name: value for name, value in values.items() if name in names} | more)


def check_options(options: Any) -> None:
    """Raise unless every option has one of its values; messages name it as the command line does: --batch-size."""
    for field, kinds, option in option_fields(type(options)):
        value, name = getattr(options, field.name), names_of(field.name, option)[-1]
        if value is None and field.default is None:
            continue
        if kinds == [Sequence[str]] and not _are_strings(value):
            raise InputTypeError(field.name, "a list of strings", quote_value(value), 'Give ["a", "b"].')
        if pathlib.Path in kinds and not os.fspath(value).strip():
            raise InputError(name, "a path", "an empty one", "Name it, or give a dot for this folder.")
        if option.above is not None:
            check_number(name, value, option.above, math.inf)
        if option.choices is not None:
            check_choice(name, value, option.choices)
        if option.least is not None and int in kinds:
            check_whole_number(name, value, int(option.least), None if option.most is None else int(option.most))
        elif option.least is not None:
            most = "" if option.most is None else f" and at most {option.most:g}"
            if not (option.least <= value < math.inf and (option.most is None or value <= option.most)):
                raise InputError(name, f"{option.least:g} or more{most}", value, "See --help.")


def check_left_out(
    options: Any, expected: str, fix: str, *, of: Collection[str] | None = None, but: Collection[str] = ()
) -> None:
    """Raise if an option is given that has no effect beside another one: any, or one of some, but for others."""
    spelling = {field.name: names_of(field.name, option)[-1] for field, _, option in option_fields(type(options))}
    for field in dataclasses.fields(options):
        value, is_meant = getattr(options, field.name), field.name not in but and (of is None or field.name in of)
        if is_meant and value != field.default:
            where = spelling.get(field.name, option_flag(field.name))
            raise InputError(where, expected, quote_value(value), fix)


def _are_strings(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str) and all(isinstance(text, str) for text in value)


def option_fields(options: type) -> Iterator[tuple[dataclasses.Field[Any], list[Any], Option]]:
    """Yield the fields that are options, a base's last, and the types that a value may have."""
    for field in sorted(dataclasses.fields(options), key=lambda field: field.kw_only is True):
        for option in getattr(field.type, "__metadata__", ()):
            kind = field.type.__origin__  # type: ignore[union-attr]
            kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else [kind]
            yield field, [one for one in kinds if one is not type(None)], option


def names_of(field: str, option: Option) -> list[str]:
    """Return the spellings of an option, the long one last."""
    if option.flag == "":
        return [field]
    name = field.replace("_", "-") if option.name is None else option.name
    return [*([option.flag] if option.flag else []), *([f"--{name}"] if name else [])]


def option_flag(field: str) -> str:
    """Return the long spelling of an option."""
    return f"--{field.replace('_', '-')}"


def _how(field: dataclasses.Field[Any], kinds: Sequence[Any], option: Option) -> dict[str, Any]:
    """Arguments of `add_argument`, but for the names."""
    default = None if field.default is dataclasses.MISSING else field.default
    shown = f"default: {default:g}" if isinstance(default, float) else f"default: {default}"
    has_default = option.convert is None and default is not None and default is not False and default != ()
    how: dict[str, Any] = {"help": "; ".join(filter(None, (option.help, shown if has_default else "")))}
    if kinds == [bool]:
        is_switch = default is False
        return how | {"action": "store_true" if is_switch else argparse.BooleanOptionalAction, "default": default}
    if option.repeats:
        return how | {"action": "append", "metavar": option.metavar, "default": default}
    is_list, is_required = typing.get_origin(kinds[0]) is Sequence, field.default is dataclasses.MISSING
    if is_list and option.convert is None:
        kinds, how["nargs"] = typing.get_args(kinds[0]), "*" if option.flag == "" and not is_required else "+"
    literals = typing.get_args(kinds[0]) if typing.get_origin(kinds[0]) is Literal else None
    kind: Any = option.convert or next((one for one in (int, float, pathlib.Path) if one in kinds), str)
    how |= {} if kind is str else {"type": path_of if kind is pathlib.Path else kind}
    if option.choices or literals:
        how["choices"] = tuple(option.choices or literals or ())
    else:
        how["metavar"] = option.metavar or METAVARS[kind]
    if option.flag == "":
        return how if is_required else how | {"default": default}
    return how | {"default": default, "required": is_required}


def add_format(parser: argparse.ArgumentParser, *more: str, default: str = "text") -> None:
    """Declare in which form the answer goes to standard output."""
    choices = ("text", *more, "json")
    parser.add_argument("-f", "--format", choices=choices, default=default, help=f"of the answer; default: {default}")


def print_json(value: Any) -> None:
    """Print a value as JSON, as every command does: null for NaN and infinity."""
    from manycaps.files.result_tables import finite

    print(json.dumps(finite(value), indent=1, allow_nan=False))
