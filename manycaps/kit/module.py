"""The contract of every module: options, columns, rows that survive an error, and signatures."""

import datetime
import enum
import inspect
import itertools
import pathlib
import sys
import textwrap
import threading
import uuid
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .arrays import Progress
from .errors import InputError, InputTypeError, as_input_errors, check_n_rows, quote_value, spelling_advice
from .options import (
    COLUMNS,
    About,
    Effect,
    Option,
    Ready,
    Value,
    _check_names,
    _plain_option,
    check_options,
    defaults_of,
    docstring_list,
)
from .row_images import clusters_of_captions, repeated_texts
from .rows import (
    NOT_COPIED,
    NOT_ROWS,
    ROW_NAMES,
    RowCheck,
    as_caption_rows,
    check_row_counts,
    has_character,
    warn_of_decoder_signs,
    warn_of_empty_captions,
    warn_of_shared_captions,
    warn_of_unread,
)

# Version of the collection; the same as in pyproject.toml and CITATION.cff, which a test compares.
VERSION = "0.3.0"

# Of every module: its license, and the Hub's page of the user or organisation that has its Space. `manycaps push`
# writes the name that it is given.
LICENSE = "Apache-2.0"

SPACES = "https://huggingface.co/spaces/manycaps"

# Keywords that `evaluate.load` itself passes to a module's constructor (evaluate 0.4.6, module.py).
EVALUATE_KEYWORDS = frozenset(
    "cache_dir config_name experiment_id hash keep_in_memory max_concurrent_cache_files num_process process_id "
    "timeout".split()
)


class CollectionModule:
    """Base class of all modules of the collection; comes before evaluate's class in a module's bases.

    evaluate takes the first class that it knows for the module, so this one is none of its own. A module is tables, and
    the method `result`, which gets the columns, and the options of the call as `options`: an argument, so that nothing
    of a refused call stays in force.
    """

    # What evaluate shows of the module.
    ABOUT: ClassVar[About]

    # What it reads, and what it means: columns, and ready ones by their names, joined by commas; the last is looked for
    # first.
    COLUMNS: ClassVar[Mapping[str, str]]
    READY: ClassVar[Mapping[str, Ready]] = {}

    # Its columns that only a configuration reads, with its name; and those that may be left out.
    CONFIG_COLUMNS: ClassVar[Mapping[str, str]] = {}
    OPTIONAL_COLUMNS: ClassVar[frozenset[str]] = frozenset()

    # Takes sizes of rows and the names of their columns, and raises where rows of captions cannot be used.
    ROW_CHECKS: ClassVar[Sequence[RowCheck]] = ()

    # From a column of images or videos, of which features alone are kept, to the function that encodes it: it takes the
    # module, the column, the options and the number of rows.
    ENCODERS: ClassVar[Mapping[str, Callable[[Any, Any, Mapping[str, Any], int], list[Any]]]] = {}

    # What it takes besides, and what it returns.
    OPTIONS: ClassVar[Mapping[str, Option]]
    VALUES: ClassVar[Sequence[Value]]

    # Made from these tables: the columns of every configuration, and the description of arguments and results.
    OWN_COLUMNS: ClassVar[tuple[str, ...]]
    INPUTS: ClassVar[str]

    # Names of configurations besides "default" and those of `CONFIG_COLUMNS`.
    CONFIG_NAMES: ClassVar[tuple[str, ...]] = ()

    # Every option with its default, what some of them need to have an effect, and those that only `evaluate.load`
    # takes; made from `OPTIONS`.
    DEFAULTS: ClassVar[Mapping[str, Any]]
    EFFECTS: ClassVar[Mapping[str, Effect]]
    LOAD_OPTIONS: ClassVar[frozenset[str]] = frozenset()

    # From the option `tokenizer` to whether it leaves a token of a caption; None where captions are not tokenized.
    token_finder: ClassVar[Callable[[Any], Callable[[str], bool]] | None] = None

    # Its parts, such as an encoder, by the names of attributes: the functions that make them of the loaded module.
    PARTS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    if TYPE_CHECKING:  # of evaluate's class
        name: str
        config_name: str
        num_process: int

    def __init_subclass__(cls) -> None:
        if "ABOUT" not in vars(cls):
            return
        cls.OWN_COLUMNS = tuple(name for name in cls.COLUMNS if name not in cls.CONFIG_COLUMNS)
        cls.DEFAULTS = defaults_of(cls.OPTIONS)
        cls.EFFECTS = {name: option.needs for name, option in cls.OPTIONS.items() if option.needs}
        cls.LOAD_OPTIONS = frozenset(name for name, option in cls.OPTIONS.items() if option.at_load)
        cls.INPUTS = cls._inputs()
        if cls.__doc__:
            cls.__doc__ = f"{cls.ABOUT.description}{cls.INPUTS}\n{cls.__doc__}"

    @classmethod
    def _inputs(cls) -> str:
        """Return the description of arguments, results and examples in the form of a docstring."""
        at_call = [(name, option.sentence) for name, option in cls.OPTIONS.items() if not option.at_load]
        at_load = [(name, option.sentence) for name, option in cls.OPTIONS.items() if option.at_load]
        ready = [(names, ready.meaning) for names, ready in cls.READY.items()]
        arguments = docstring_list("Args", [*cls.COLUMNS.items(), *ready, *at_call])
        arguments += '    Every option can be given to `evaluate.load` as well; None means "as given there".\n'
        if at_load:
            arguments += docstring_list("    At load time only", at_load)
        results = docstring_list("Returns", [(value.keys, f"{value.sentence}.") for value in cls.VALUES])
        return f"\n{arguments}{results}Examples:\n{textwrap.indent(cls.ABOUT.examples.strip(), ' ' * 4)}\n"

    @classmethod
    def compute_signature(cls) -> inspect.Signature:
        """Return the arguments of `compute`: the columns and the options of a call, by keyword."""
        kind = inspect.Parameter.KEYWORD_ONLY
        names = dict.fromkeys([*cls.COLUMNS, *(name for names in cls.READY for name in names.split(", "))])
        options = {name: option.default for name, option in cls.OPTIONS.items() if not option.at_load}
        parameters = [inspect.Parameter(name, kind, default=value) for name, value in {**names, **options}.items()]
        return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *parameters])

    @classmethod
    def _ready_names(cls) -> set[str]:
        return {name for names in cls.READY for name in names.split(", ")}

    @classmethod
    def meaning(cls, key: str) -> str:
        """Return what a result has under a key, or nothing where that is not said."""
        return next((value.sentence for value in cls.VALUES if value.has_key(key)), "")

    # "/": an option called "self" is one that nobody knows, and not Python's error.
    def __init__(self, /, *args: Any, **keywords: Any) -> None:
        given = [name for name in keywords if name in self.DEFAULTS]
        self.load_options = take_load_options(keywords, self.DEFAULTS, self._ready_names())
        self.check_options(self.load_options)
        self._check_effects(given, self.load_options)
        self._check_config_name(keywords.get("config_name"))
        if sys.flags.optimize > 1:
            raise InputError("docstrings", "those that evaluate adds to", "none", "Start Python without -OO.")
        # The columns of every `add_batch` since the last compute. Each is added, and all are cleared together, so
        # that no error and no ctrl-C leaves a part of them.
        self.added: list[dict[str, Any]] = []
        # Held by the one call that adds or computes; others wait. The thread that holds it may call again.
        self.lock = threading.RLock()
        super().__init__(*args, **keywords)
        # evaluate gives every instance a function of its own: `help` and completion show the options of this module.
        self.compute.__func__.__signature__ = self.compute_signature()  # type: ignore[attr-defined]
        for name, make in self.PARTS.items():
            setattr(self, name, make(self))

    def _build_data_dir(self) -> str:
        """Return evaluate's folder, which is made for the rows of several processes alone: others stay in memory."""
        evaluate_module: Any = super()
        return str(evaluate_module._build_data_dir()) if self.num_process > 1 else ""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: options and added rows, without models and features."""
        if getattr(self, "writer", None) is not None:
            raise InputTypeError("module", "no rows in files of evaluate to make a copy", len(self), "Compute first.")
        return {name: value for name, value in vars(self).items() if name not in NOT_COPIED}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, added=list(state["added"]), lock=threading.RLock())

    def __len__(self) -> int:
        """Return the number of rows that were added since the last compute."""
        if self.num_process > 1:
            evaluate_module: Any = super()
            return int(evaluate_module.__len__())
        return sum(len(next(iter(columns.values()))) for columns in self.added)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise unless every option has a legal value, and all fit each other."""
        check_options(self.OPTIONS, options)

    def own_columns(self) -> tuple[str, ...]:
        """Return the names of the columns that the module reads in its configuration."""
        return self.OWN_COLUMNS + tuple(name for name, of in self.CONFIG_COLUMNS.items() if of == self.config_name)

    def has_token(self, options: Mapping[str, Any]) -> Callable[[str], bool]:
        """Return the function that says whether something of a caption is read with these options."""
        find = type(self).token_finder
        return has_character if find is None else find(options["tokenizer"])

    def prepare_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return columns of captions as lists of lists, and encoded ones, or raise for the first bad row."""
        left_out = {name for name in self.OPTIONAL_COLUMNS if columns.get(name) is None}
        names = [name for name in columns if name not in self.ENCODERS and name not in left_out]
        checked: dict[str, Any] = {name: as_caption_rows(columns[name], name) for name in names}
        n_rows = len(checked[names[0]])
        if "predictions" in checked and "references" in checked:
            check_row_counts(len(checked["predictions"]), len(checked["references"]))
        sizes = list(zip(*(map(len, rows) for rows in checked.values()), strict=True))
        for check in self.ROW_CHECKS:
            check(sizes, tuple(checked))
        checked |= {name: [[] for _ in range(n_rows)] for name in left_out}
        for name in self.ENCODERS.keys() & columns:
            checked[name] = self.ENCODERS[name](self, columns[name], options, n_rows)
        return checked

    def add_batch(self, /, **columns: Any) -> None:
        """Check every row, then add the rows."""
        with self.lock:
            self._add_rows(columns)

    def _add_rows(self, columns: Mapping[str, Any]) -> None:
        if self._have_no_rows(columns):
            return
        checked = self._prepare(columns, self.load_options)
        if self.num_process > 1:
            evaluate_module: Any = super()
            evaluate_module.add_batch(**checked)
        else:
            self.added.append(checked)

    def add(self, /, **row: Any) -> None:
        """Check one row, then add it."""
        self.add_batch(**{ROW_NAMES.get(name, name): [value] for name, value in row.items()})

    def compute(self, /, **given: Any) -> dict[str, Any] | None:
        """Check the options of this call, then compute; after an error the rows added before it are kept."""
        with self.lock:
            for ready_names, ready in reversed(list(self.READY.items())):
                arrays = {name: given.pop(name, None) for name in ready_names.split(", ")}
                if any(values is not None for values in arrays.values()):
                    return ready.compute(self, arrays, given)
            names = self.own_columns()
            columns = {name: given.pop(name) for name in names if name in given}
            options = self.call_options(given)
            has_rows = any(columns.get(name) is not None for name in names)
            if has_rows and len(self) and self._have_no_rows(columns):
                has_rows = False
            if not has_rows and not len(self):
                raise InputError(names[0], "at least one row", "none", "Add rows before computing.")
            checked = [self._prepare(columns, options)] if has_rows else []
            if self.num_process > 1:
                # evaluate gathers the rows of all processes in files.
                evaluate_module: Any = super()
                for rows in checked:
                    evaluate_module.add_batch(**rows)
                gathered: dict[str, Any] | None = evaluate_module.compute(options=options)
                return gathered
            batches = self.added + checked
            rows = {name: [row for batch in batches for row in batch[name]] for name in names}
            result = self._compute(**rows, options=options)
            self.added = []
            return result

    def _compute(self, *, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return the result of checked columns, with all warnings of rows; `result` alone has none of these."""
        for name, column in columns.items():
            warn_of_empty_captions(column, name, self.has_token(options))
        candidates = next((name for name in ("predictions", "data") if name in columns), "")
        warn_of_decoder_signs(columns.get(candidates, ()), columns.get("references", ()), candidates)
        # What is left out, as references beside objects, is a column of empty rows.
        if all(map(all, columns.values())):
            options = self._with_images(columns, options)
        result = self.result(**columns, options=options)
        warn_of_unread(result, options)
        return result

    def _with_images(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options in which rows of one image are a cluster, unless there are labels; warn of what repeats."""
        references = columns.get("references", ())
        if "clusters" not in options or not self.has_effect("clusters", options):
            repeated_texts(references).warn()
            return options
        clusters = options["clusters"]
        if clusters is not None:
            clusters = as_labels(clusters, "clusters", len(next(iter(columns.values()))))
        if references:
            clusters = clusters_of_captions(clusters, references, columns.get("predictions"))
        if clusters is None:
            warn_of_shared_captions(list(columns.values()))
        return {**options, "clusters": clusters}

    def result(self, *columns: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of checked columns."""
        raise NotImplementedError

    @property
    def progress(self) -> Progress:
        """Wraps the steps of some work in evaluate's progress bar."""
        import evaluate

        bar: Progress = evaluate.utils.logging.tqdm
        return bar

    def _info(self) -> Any:
        """Return the module's description and the forms of its columns: first that in which they are stored."""
        import datasets  # the modules have both; the list of the commands does without
        import evaluate

        captions = datasets.Sequence(datasets.Value("string")), datasets.Value("string")
        # Of images and videos features alone are stored; "large": the features of one call may take more than 2 GB.
        encoded = ({"key": datasets.Value("string"), "features": datasets.Value("large_binary")},)
        names = self.own_columns()
        forms = itertools.product(*(encoded if name in self.ENCODERS else captions for name in names))
        features = [datasets.Features(dict(zip(names, form, strict=True))) for form in forms]
        is_metric = isinstance(self, evaluate.Metric)
        # The module's name, which evaluate makes of the class's after this.
        page = f"{SPACES}/{evaluate.naming.camelcase_to_snakecase(type(self).__name__)}"
        return (evaluate.MetricInfo if is_metric else evaluate.MeasurementInfo)(
            description=self.ABOUT.description,
            citation=self.ABOUT.citation,
            inputs_description=self.INPUTS,
            license=LICENSE,
            homepage=page,
            codebase_urls=[f"{page}/tree/main"],
            reference_urls=list(self.ABOUT.reference_urls),
            features=features,
        )

    def call_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a call, completed by load-time options and checked; no other column is given."""
        self._check_other_columns({name: given[name] for name in COLUMNS if name in given})
        loaded = {name: value for name, value in self.load_options.items() if name not in self.LOAD_OPTIONS}
        options = self.load_options | take_compute_options(given, loaded, self.LOAD_OPTIONS)
        self.check_options(options)
        self._check_effects([name for name in given if given[name] is not None], options)
        if options.get("clusters") is not None:
            options["clusters"] = as_labels(options["clusters"], "clusters")
        return options

    @classmethod
    def effective_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given options that have an effect together; what is the default is left as it is."""
        options = {**cls.DEFAULTS, **given}
        return {
            name: value
            for name, value in given.items()
            if cls.has_effect(name, options) or is_default(value, cls.DEFAULTS[name])
        }

    @classmethod
    def has_effect(cls, name: str, options: Mapping[str, Any]) -> bool:
        """Say whether an option has an effect beside the others."""
        return name not in cls.EFFECTS or cls.EFFECTS[name].holds(options)

    def _check_effects(self, names: Iterable[str], options: Mapping[str, Any]) -> None:
        """Raise for the first of some options that would be ignored beside the others."""
        effective = self.effective_options(options)
        for name in (name for name in names if name not in effective):
            other, value, _ = self.EFFECTS[name]
            got = f"{other}={quote_value(options[other])}, with which {name} has no effect"
            raise InputError(name, f"{other}={value} beside it", got, f"Leave {name} out, or give {other}={value}.")

    def check_unused(self, given: Mapping[str, Any], names: Iterable[str], where: str) -> None:
        """Raise if one of some options is not the default; they are ignored where the columns are, as `where` says."""
        for name in names:
            if given.get(name) is not None and not is_default(given[name], self.DEFAULTS.get(name)):
                got = f"{quote_value(given[name])}, which would have no effect"
                raise InputError(name, f"none {where}", got, f"Leave {name} out.")

    def _have_no_rows(self, columns: Mapping[str, Any]) -> bool:
        """Say whether a batch is empty, as the last one of a loop may be: all columns are there, and none has a row."""
        own = set(self.own_columns())
        given = {name: column for name, column in columns.items() if column is not None}
        return own - self.OPTIONAL_COLUMNS <= set(given) <= own and all(map(is_empty_column, given.values()))

    def _prepare(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's own columns, or raise if a row is wrong or another column is given."""
        unknown, names = sorted(set(columns) - set(COLUMNS)), self.own_columns()
        if unknown:
            takers = dict.fromkeys(self._ready_names(), "compute") | dict.fromkeys(self.DEFAULTS, "load or compute")
            taker = (takers | dict.fromkeys(self.LOAD_OPTIONS, "load")).get(unknown[0])
            advice = f"Give it to {taker}." if taker else spelling_advice(unknown[0], COLUMNS)
            raise InputTypeError("add_batch", f"columns among {sorted(COLUMNS)}", unknown, advice)
        self._check_other_columns({name: column for name, column in columns.items() if name not in names})
        return self.prepare_columns(options, **{name: columns.get(name) for name in names})

    def _check_other_columns(self, columns: Mapping[str, Any]) -> None:
        """Raise if a column is given that the module does not read; None, as of `evaluate.combine`, is no column."""
        for name in (name for name, column in columns.items() if column is not None):
            own, of = self.own_columns(), self.CONFIG_COLUMNS.get(name)
            if own == ("data",):
                advice = "Give the captions as data=" if name in ("predictions", "references") else "Leave it out"
            else:
                advice = f'Load it with config_name="{of}"' if of else f"Leave it out, or take {COLUMNS[name]}"
            advice += ". With evaluate.combine, give columns to add_batch, which hands each module its own."
            raise InputTypeError(
                name, f"no column but {' and '.join(own)}", f"one that {self.name} does not read", advice
            )

    def _check_config_name(self, name: object) -> None:
        """Raise unless a configuration has this name, and say which option takes it."""
        names = ("default", *self.CONFIG_NAMES, *self.CONFIG_COLUMNS.values())
        if name is None or name in names:
            return
        text = str(name)  # a command reads 1.5 as a number
        takers = " or ".join(
            f"{option}={text!r}"
            for option in self.DEFAULTS
            if self._takes(option, text) and not self._takes(option, "no such name")
        )
        fix = f"Give {takers} in its place." if takers else "Leave it out."
        raise InputError("config_name", f"one of {', '.join(names)}", quote_value(name), fix)

    def _takes(self, option: str, value: object) -> bool:
        try:
            self.check_options({**self.load_options, option: value})
        except (TypeError, ValueError, ImportError, OSError):
            return False
        return True


def is_empty_column(column: object) -> bool:
    """Return whether a list, an array or the like has no rows.

    >>> is_empty_column([]), is_empty_column(np.empty((0, 2))), is_empty_column(""), is_empty_column([[]])
    (True, True, False, False)
    """
    if isinstance(column, NOT_ROWS) or not isinstance(column, Iterable):
        return False
    if getattr(column, "column_names", getattr(column, "columns", None)) is not None:  # a table is no column
        return False
    shape = getattr(column, "shape", None)
    if shape is not None:
        return len(shape) > 0 and shape[0] == 0
    return isinstance(column, Sized) and len(column) == 0


def is_default(value: object, default: object) -> bool:
    """Say whether the value of an option is its default; a list may stand for a tuple.

    >>> is_default([1, 2], (1, 2)), is_default(1, 1.0), is_default(0, False)
    (True, True, False)
    """
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    kinds = [float if type(each) is int else type(each) for each in (value, default)]
    return value is default or (kinds[0] is kinds[1] and kinds[0] in (str, float, bool) and value == default)


def take_load_options(
    keywords: dict[str, Any], defaults: Mapping[str, Any], other_call: Collection[str] = ()
) -> dict[str, Any]:
    """Move this module's options out of the constructor's keywords, and complete them with the defaults.

    Raises TypeError for a keyword that belongs neither to the module nor to evaluate; columns, and what is taken
    `other_call`, go to `compute`.

    >>> take_load_options({"seed": 1}, {"seed": 0, "details": False})
    {'seed': 1, 'details': False}
    """
    _check_names(set(keywords) - EVALUATE_KEYWORDS, defaults, "load", {*COLUMNS, *other_call})
    return dict(defaults) | {
        name: _plain_option(keywords.pop(name), name) for name in list(keywords) if name in defaults
    }


def take_compute_options(
    given: Mapping[str, Any], loaded: Mapping[str, Any], other_call: Collection[str] = ()
) -> dict[str, Any]:
    """Complete the options given at compute time with those given at load time; None means "as at load time".

    Columns are no options, and none is given. Raises TypeError for an unknown option, or one of the `other_call`,
    `load`.

    >>> take_compute_options({"seed": 1, "details": None}, {"seed": 0, "details": True})
    {'seed': 1, 'details': True}
    """
    options = {name: value for name, value in given.items() if name not in COLUMNS}
    _check_names(set(options), loaded, "compute", other_call)
    return dict(loaded) | {name: _plain_option(value, name) for name, value in options.items() if value is not None}


# Classes whose values are equal if they say the same: labels of rows are of these, or tuples of them.
LABEL_CLASSES = (
    *(str, bytes, int, float, Decimal, Fraction),
    *(datetime.date, datetime.time, datetime.timedelta, uuid.UUID, enum.Enum, pathlib.PurePath),
)


def as_label(value: Any, where: str) -> Hashable:
    """Return the label of a row as a plain value: scalars of NumPy, torch, JAX and arrays without dimensions as theirs.

    Two tensors that hold one number are different keys, and so is whatever is compared by its identity: it is refused,
    as is NaN, which equals nothing.

    >>> as_label(np.array(3), "clusters[0]"), as_label(("coco", np.int64(3)), "clusters[0]")
    (3, ('coco', 3))
    """
    label, expected = value, "a string or a number"
    if getattr(value, "shape", None) == () or isinstance(value, np.generic):
        with as_input_errors(where, expected, "Give a label.", type(value).__name__):
            label = value.item() if hasattr(value, "item") else np.asarray(value).item()
    if isinstance(label, tuple):
        return tuple(as_label(item, where) for item in label)
    if label is None or (isinstance(label, LABEL_CLASSES) and label != label):
        raise InputError(
            where, expected, quote_value(label), "Give every row a label: missing ones are not known to be equal."
        )
    if not isinstance(label, LABEL_CLASSES):
        raise InputTypeError(where, expected, type(value).__name__, "Give a label.")
    return label


def as_labels(labels: Any, name: str, n_rows: int | None = None) -> list[Hashable]:
    """Return a label for every row as a list of plain values; a column may be a list, an array, a tensor or of Arrow.

    >>> as_labels(np.array([1, 1, 2]), "clusters", 3)
    [1, 1, 2]
    """
    is_column = isinstance(labels, Sequence) or any(hasattr(labels, way) for way in ("to_pylist", "tolist"))
    if isinstance(labels, str | bytes) or not is_column or getattr(labels, "ndim", 1) != 1:
        raise InputTypeError(name, "a label for each row", type(labels).__name__, "Give a list.")
    way = next((way for way in ("to_pylist", "tolist") if hasattr(labels, way)), None)
    listed = list(labels) if way is None else getattr(labels, way)()
    if n_rows is not None:
        check_n_rows(name, len(listed), "captions", n_rows, "label")
    return [as_label(label, f"{name}[{i}]") for i, label in enumerate(listed)]


def signature(name: str, **parts: object) -> str:
    """Join what determines a score into one line, like sacrebleu's signatures; parts that are None are left out.

    >>> signature("trm", seed=0, checkpoint=None)
    'trm|version:0.3.0|seed:0'
    """
    given = {"version": VERSION} | {key: value for key, value in parts.items() if value is not None}
    return "|".join([name] + [f"{key}:{value}" for key, value in given.items()])
