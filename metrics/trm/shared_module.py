# Vendored from manycaps/shared_module.py. Edit it there, then run `make format`.
"""The contract of every module: options, columns, rows that stay after an error, and the signature of a number."""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .shared_messages import shown_value

# Version of the collection; the same as in pyproject.toml and CITATION.cff, which a test compares.
VERSION = "0.2.0"

# Keywords that `evaluate.load` itself passes to a module's constructor (evaluate 0.4.6, module.py).
EVALUATE_KEYWORDS = frozenset(
    {
        "cache_dir",
        "config_name",
        "experiment_id",
        "hash",
        "keep_in_memory",
        "max_concurrent_cache_files",
        "num_process",
        "process_id",
        "timeout",
    }
)

# Columns of the collection's modules. One module computes without the columns of another, so that all of them can be
# given the same ones, as `evaluate.combine` does.
COLUMNS = frozenset({"predictions", "references", "images", "videos", "data"})

# What `add` calls one row of a column.
ROW_NAMES = {"prediction": "predictions", "reference": "references", "image": "images", "video": "videos"}


class CollectionModule:
    """What all modules of the collection have in common; stands before evaluate's class among a module's bases.

    evaluate takes the first class that it knows for the module, so this one is none of its own. A module gives
    `DEFAULTS`, `check_options`, `checked_columns`, and evaluate's `_info` and `_compute`. `_compute` gets the columns,
    and the options of the call as `options`: an argument, so that nothing of a refused call stays in force.
    """

    # Every option with its default.
    DEFAULTS: ClassVar[Mapping[str, Any]]

    # Options that only `evaluate.load` takes.
    LOAD_OPTIONS: ClassVar[frozenset[str]] = frozenset()

    # During a compute: whether the stored rows are being read, and the rows; a deleted file stays mapped.
    begins_to_read: bool
    stored: Any

    if TYPE_CHECKING:  # of evaluate's class
        data: Any
        num_process: int

        def _feature_names(self) -> list[str]: ...
        def __len__(self) -> int: ...

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.load_options = take_load_options(keywords, self.DEFAULTS)
        self.check_options(self.load_options)
        super().__init__(*args, **keywords)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise unless every option has a legal value."""
        raise NotImplementedError

    def checked_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return the columns as evaluate stores them, or raise for the first bad row."""
        raise NotImplementedError

    def add_batch(self, **columns: Any) -> None:
        """Check every row before evaluate casts it, then add the rows."""
        self._add(columns, self.load_options)

    def add(self, **row: Any) -> None:
        """Check one row before evaluate casts it, then add it."""
        self._add({ROW_NAMES.get(name, name): [value] for name, value in row.items()}, self.load_options)

    def compute(self, **given: Any) -> dict[str, Any] | None:
        """Check the options of this call, then compute; after an error the rows added before it are still there."""
        columns = {name: given.pop(name) for name in COLUMNS if name in given}
        options = self.call_options(given)
        with added_rows_kept(self):
            if any(columns.get(name) is not None for name in self._feature_names()):
                self._add(columns, options)
            elif not len(self):
                first = next(iter(self._feature_names()))
                raise ValueError(f"{first}: expected at least one row, got none. Add rows before computing.")
            of_evaluate: Any = super()
            return of_evaluate.compute(options=options)

    def _finalize(self) -> None:
        """Read what is stored, and keep it in sight: evaluate deletes it while a compute may still be stopped."""
        self.begins_to_read = True
        of_evaluate: Any = super()
        of_evaluate._finalize()
        self.stored = self.data

    def call_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a call, completed with those of load time and checked."""
        loaded = {name: value for name, value in self.load_options.items() if name not in self.LOAD_OPTIONS}
        options = self.load_options | take_compute_options(given, loaded)
        self.check_options(options)
        return options

    def _add(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Check the columns, and let evaluate store them."""
        unknown = sorted(set(columns) - COLUMNS)
        if unknown:
            raise TypeError(f"add_batch: expected columns among {sorted(COLUMNS)}, got {unknown}. Check the spelling.")
        own = {name: columns.get(name) for name in self._feature_names()}
        checked, before = self.checked_columns(options, **own), _written(self)
        of_evaluate: Any = super()
        try:
            of_evaluate.add_batch(**checked)
        except BaseException:  # also KeyboardInterrupt and SystemExit
            if self.num_process == 1:
                _take_back(self, *before)
            raise


def take_load_options(keywords: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Move this module's options out of the constructor's keywords, and complete them with the defaults.

    Args:
        keywords: what the constructor got; the module's own options are removed from it.
        defaults: every option of the module with its default value.

    Returns:
        A dict with the keys of `defaults`.

    Raises:
        TypeError: a keyword belongs neither to the module nor to evaluate.

    >>> take_load_options({"seed": 1}, {"seed": 0, "details": False})
    {'seed': 1, 'details': False}
    """
    _check_names(set(keywords) - EVALUATE_KEYWORDS, defaults, "load")
    return dict(defaults) | {name: keywords.pop(name) for name in list(keywords) if name in defaults}


def take_compute_options(given: Mapping[str, Any], loaded: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options given at compute time with those given at load time.

    Args:
        given: options of this call; None means "as at load time". Columns of other modules are ignored.
        loaded: every option with its value at load time.

    Returns:
        A dict with the keys of `loaded`.

    Raises:
        TypeError: an option is unknown.

    >>> take_compute_options({"seed": 1, "details": None}, {"seed": 0, "details": True})
    {'seed': 1, 'details': True}
    """
    options = {name: value for name, value in given.items() if name not in COLUMNS}
    _check_names(set(options), loaded, "compute")
    return dict(loaded) | {name: value for name, value in options.items() if value is not None}


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`.

    Raises:
        ValueError: it is not; the message lists them.
    """
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}: expected one of {expected}, got {shown_value(value)}. Check the spelling.")


def check_whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an int (not a bool) from `least` to `most`.

    Raises:
        TypeError: it is no int.
        ValueError: it is too small or too large.
    """
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


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {shown_value(value)}. Give a bool.")


def check_confidence_level(value: object) -> None:
    """Raise unless `value` is None or a number strictly between 0 and 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of range.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"confidence_level: expected a number, got {type(value).__name__}. Give a float such as 0.95.")
    if not 0 < value < 1:
        raise ValueError(
            f"confidence_level: expected a number between 0 and 1, got {shown_value(value)}. Write 95 % as 0.95."
        )


def _check_names(names: Collection[str], known: Mapping[str, Any], when: str) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise TypeError(f"{when}: expected options among {sorted(known)}, got {unknown}. Check the spelling.")


def signature(name: str, **parts: object) -> str:
    """Join what determines a score into one line, in the manner of sacrebleu's signatures.

    Args:
        name: the module's name.
        parts: settings and versions, in the order in which they are to be read; None is left out.

    Returns:
        "name|version:...|key:value|...".

    >>> signature("trm", seed=0, checkpoint=None)
    'trm|version:0.2.0|seed:0'
    """
    given = {"version": VERSION} | {key: value for key, value in parts.items() if value is not None}
    return "|".join([name] + [f"{key}:{value}" for key, value in given.items()])


@contextlib.contextmanager
def added_rows_kept(module: Any) -> Iterator[None]:
    """Around evaluate's `compute`: after an error, put back the rows that had been added before it.

    So a wrong option, a row too large or ctrl-C after a long loop of `add_batch` costs a second `compute`, not a second
    loop. Rows given to the failed `compute` itself are not kept: its caller still has them. Written for evaluate 0.4.6,
    whose `compute` leaves its Arrow file, its locks and `module.data` behind when `_compute` raises.

    Args:
        module: a `CollectionModule`; with num_process above 1 nothing is put back.

    Yields:
        None.
    """
    n_added = len(module)
    module.begins_to_read, module.stored = False, None
    try:
        yield
    except BaseException:  # also KeyboardInterrupt and SystemExit
        if module.num_process == 1:
            _put_back(module, n_added)
        raise
    finally:
        module.stored = None


def _written(module: Any) -> tuple[int, int]:
    """Rows of the open table of a module, and the bytes that were written to it."""
    return (0, 0) if module.writer is None else (len(module), module.writer.stream.tell())


def _take_back(module: Any, n_before: int, n_bytes: int) -> None:
    """Bring a module back to its first rows after an `add_batch` that was stopped, perhaps within a row.

    Rows reach the table in blocks, each in one `add_batch`: those of the stopped one lie behind the rows that stay,
    and may be whole, or some of them, or broken.
    """
    if n_before and _written(module) == (n_before, n_bytes):
        return  # stopped before anything was written
    added = _first_rows(module, n_before) if n_before else None
    _forget_rows(module)  # a table that was only begun takes no rows
    if added:
        super(CollectionModule, module).add_batch(**added)


def _first_rows(module: Any, n_rows: int) -> dict[str, Any]:
    """Read the first rows of a table that is still being written."""
    import datasets  # the modules have it; the list of the commands does without
    import pyarrow

    if module.buf_writer is not None:
        source = pyarrow.BufferReader(module.buf_writer.getvalue())
    else:
        module.writer.stream.flush()
        source = pyarrow.OSFile(module.cache_file_name)
    blocks: list[Any] = []
    with source, pyarrow.ipc.open_stream(source) as reader:
        while sum(block.num_rows for block in blocks) < n_rows:  # what lies behind may be broken
            blocks.append(reader.read_next_batch())
        rows: dict[str, Any] = datasets.Dataset(pyarrow.Table.from_batches(blocks, reader.schema))[:]
    return rows


def _put_back(module: Any, n_added: int) -> None:
    """Bring a module back to the rows that it had before the compute."""
    if not module.begins_to_read and len(module) == n_added:
        return
    if module.stored is None:  # stopped before all rows could be read
        _read_stored(module)
    added = module.stored[:n_added] if n_added and module.stored is not None else None
    _forget_rows(module)
    if added:
        # evaluate's own method: the rows have passed the module's checks, and may be stored in another form.
        super(CollectionModule, module).add_batch(**added)


def _read_stored(module: Any) -> None:
    """Close the table and read it, also where that was begun before."""
    import datasets  # the modules have it; the list of the commands does without

    path, is_empty = module.cache_file_name, module.writer is None
    try:
        module._finalize()
    except Exception:
        if path is None or is_empty:
            return
        module.stored = datasets.Dataset.from_file(path)  # closed already


def _forget_rows(module: Any) -> None:
    """Drop the Arrow data of a failed compute, release its locks and delete its files."""
    paths = [*(getattr(module, "file_paths", None) or []), module.cache_file_name]
    locks = [*(getattr(module, "filelocks", None) or []), module.filelock]
    module.data = module.writer = module.cache_file_name = module.filelock = module.buf_writer = None
    module.file_paths, module.filelocks = [], []
    for path in dict.fromkeys(filter(None, paths)):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    for lock in filter(None, locks):
        lock.release(force=True)
