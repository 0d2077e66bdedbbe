"""Tables of scores in any usual layout: a line for each score, a column for each system, or a file for each system."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.files.caption_tables import table_records
from manycaps.files.caption_tables.cells import record_name
from manycaps.files.caption_tables.columns import CAPTION_COLUMNS, ID_COLUMNS, PREDICTION_COLUMNS, no_column
from manycaps.files.caption_tables.files import check_names, source_name
from manycaps.kit.errors import InputError, as_input_errors, quote_path, quote_value

# Usual names of the columns that say whose score it is, of which item, and which of several samples.
SYSTEM_COLUMNS = ("system", "model")
ITEM_COLUMNS = (*ID_COLUMNS, "doc_id", "item", "item_id", "question_id", "row", "index")
SAMPLE_COLUMNS = ("sample", "sample_id", "repeat", "run", "epoch", "draw", "seed")

# Usual names of the column of the text that was scored.
TEXT_COLUMNS = (*PREDICTION_COLUMNS, *CAPTION_COLUMNS, "answer", "output", "response", "summary")

# What a table is called whose scores have no name.
ONLY_SCORE = "score"


class ScoreRecord(NamedTuple):
    """Scores of a system for an item: one of each name, or several where it has as many samples."""

    # Path of the file, and number of the record in it.
    file: str
    number: int
    system: str
    item: str
    values: Mapping[str, list[float]]
    # The texts that were scored; none where the table has no such column.
    texts: list[str]


class ScoreTable(NamedTuple):
    """Scores of all systems."""

    # Names of the scores, of the systems and of the items, in the order of the files.
    names: list[str]
    systems: list[str]
    items: list[str]
    records: list[ScoreRecord]

    def samples(self, name: str) -> dict[tuple[str, str], list[float]]:
        """Return the scores of a name, in the order of the records, by system and item."""
        found: dict[tuple[str, str], list[float]] = {}
        for record in self.records:
            if record.values.get(name):
                found.setdefault((record.system, record.item), []).extend(record.values[name])
        return found


def read_score_tables(
    paths: Sequence[str], names: Sequence[str] | None = None, systems: Sequence[str] | None = None
) -> ScoreTable:
    """Read one table or several: CSV, TSV, JSON, JSON Lines or Parquet.

    A table with a column system (or model) has a line for each score. One without it is a table of items with a column
    for each system; several of them are the tables of a system each, named by `systems` or by their files. Columns of
    numbers, or of true and false, are scores, all or those that `names` lists; a cell may hold a list of numbers, of
    several samples, and may be empty. The items of an object are columns, `vqa.score`.

    Raises:
        ValueError, OSError: a file cannot be read, has no such column, or a cell is no number.
    """
    tables = {path: _records(path) for path in paths}
    has_system = {path: _first(columns_of(records), SYSTEM_COLUMNS) is not None for path, records in tables.items()}
    if len(set(has_system.values())) > 1:
        path = next(path for path, has in has_system.items() if not has)
        raise InputError(quote_path(path), "a column system, as other tables have", "none", "Give it one.")
    is_long = all(has_system.values())
    if systems is not None and (is_long or len(paths) == 1):
        raise InputError("--names", "none for a table that names its systems", ", ".join(systems), "Leave it out.")
    file_names = systems or [source_name(path) for path in paths]
    check_names(file_names, len(paths), "table")
    file_systems = dict(zip(paths, file_names, strict=True))
    is_wide = not is_long and len(paths) == 1
    records: list[ScoreRecord] = []
    for path, table in tables.items():
        records += _wide(path, table, names) if is_wide else _long(path, table, names, file_systems[path])
    shown = [ONLY_SCORE] if is_wide else list(dict.fromkeys(name for record in records for name in record.values))
    return ScoreTable(
        shown,
        list(dict.fromkeys(record.system for record in records)),
        list(dict.fromkeys(record.item for record in records)),
        records,
    )


def columns_of(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(str(name) for record in records for name in record))


def _records(path: str) -> list[Mapping[str, Any]]:
    with as_input_errors(quote_path(path), "a table", ""):
        records: list[Mapping[str, Any]] = [_flat(record) for record in table_records(path)]
    if not records:
        raise InputError(quote_path(path), "at least one score", "none", "Give a table with lines.")
    return records


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the items of objects in columns of their own.

    >>> _flat({"id": 1, "vqa": {"score": 0.5, "answer": "a dog"}})
    {'id': 1, 'vqa.score': 0.5, 'vqa.answer': 'a dog'}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _first(names: Sequence[str], known: Sequence[str]) -> str | None:
    return next((name for name in known if name in names), None)


def _long(path: str, records: Sequence[Mapping[str, Any]], names: Sequence[str] | None, own: str) -> list[ScoreRecord]:
    columns = columns_of(records)
    system, item = _first(columns, SYSTEM_COLUMNS), _item_column(path, columns)
    text = _first(columns, TEXT_COLUMNS)
    chosen = _score_columns(path, records, names, {system, item, text, *SAMPLE_COLUMNS})
    found = []
    for i, record in enumerate(records):
        found.append(
            ScoreRecord(
                path,
                i,
                own if system is None else record_name(record, system, path, i),
                record_name(record, item, path, i),
                {name: _numbers(record.get(name), name, path, i) for name in chosen},
                _texts(record.get(text)) if text is not None else [],
            )
        )
    return found


def _wide(path: str, records: Sequence[Mapping[str, Any]], systems: Sequence[str] | None) -> list[ScoreRecord]:
    item = _item_column(path, columns_of(records))
    chosen = _score_columns(path, records, systems, {item, *SAMPLE_COLUMNS})
    if len(chosen) < 2:
        expected = "a column system, or a column of numbers for each of several systems"
        fix = "Name the column of the systems system, or give a table for each of them."
        raise no_column(quote_path(path), expected, columns_of(records), fix)
    return [
        ScoreRecord(path, i, name, record_name(record, item, path, i), {ONLY_SCORE: numbers}, [])
        for i, record in enumerate(records)
        for name in chosen
        if (numbers := _numbers(record.get(name), name, path, i))
    ]


def _item_column(path: str, columns: Sequence[str]) -> str:
    item = _first(columns, ITEM_COLUMNS)
    if item is None:
        fix = "Name it so: systems are compared item by item."
        raise no_column(quote_path(path), "a column id, which says what each score is of", columns, fix)
    return item


def _score_columns(
    path: str, records: Sequence[Mapping[str, Any]], names: Sequence[str] | None, others: set[str | None]
) -> list[str]:
    """The columns of scores: those that were chosen, or all that hold numbers alone."""
    columns = columns_of(records)
    if names is not None:
        missing = [name for name in names if name not in columns]
        if missing:
            raise no_column(quote_path(path), f"a column {missing[0]!r}", columns, "Check -m.")
        return list(names)
    chosen = [
        name
        for name in columns
        if name not in others
        and any(not _is_empty(record.get(name)) for record in records)
        and all(_is_empty(value) or _are_numbers(value) for value in (record.get(name) for record in records))
    ]
    if not chosen:
        fix = "Name the column of the scores score, or choose it with -m."
        raise no_column(quote_path(path), "a column of numbers", columns, fix)
    return chosen


def _is_empty(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, list) and not value)
    )


def _as_number(value: Any) -> float:
    """The number of a cell; NaN where it holds none."""
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return float(value.strip().lower() == "true")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _are_numbers(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(not math.isnan(_as_number(one)) for one in values)


def _numbers(value: Any, name: str, path: str, i: int) -> list[float]:
    """The scores of a cell; none of an empty one."""
    if _is_empty(value):
        return []
    numbers = [_as_number(one) for one in (value if isinstance(value, list) else [value])]
    if any(map(math.isnan, numbers)):
        raise InputError(
            f"{name}[{i}]", "a finite number", quote_value(value), "Correct it, or leave it empty."
        ).within(quote_path(path))
    return numbers


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str)]
