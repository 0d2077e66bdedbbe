"""From the options of a trial to the trials: read scores, texts and references, and try every judge."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from manycaps.comparison.foreign_scores.score_tables import TEXT_COLUMNS, ScoreTable, read_score_tables
from manycaps.files.caption_tables import good_rows, open_source
from manycaps.files.caption_tables.columns import as_columns, columns_of
from manycaps.files.caption_tables.ids import check_ids_meet, labels_of_ids
from manycaps.files.saved_files import write_text_atomically
from manycaps.kit.errors import InputError, quote_path, quote_value
from manycaps.kit.judge_slopes import judge_bias
from manycaps.kit.options import check_choice
from manycaps.kit.words_tokenizers import tokenize_rows

from .judge_options import JudgeOptions
from .trial import JudgedRow, JudgeTrial, try_judge


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgeTrials:
    """Judges on trial, one for each column of scores. A notebook shows them as tables."""

    trials: Sequence[JudgeTrial]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return every number, as `json.dumps` takes it; NaN is None."""
        return {"notes": list(self.notes), "judges": [trial.to_dict() for trial in self.trials]}

    def write(self, form: str = "text") -> str:
        """Return what `manycaps judge` prints: "text", "md" or "latex"."""
        notes = ["\n".join(self.notes)] if self.notes and form != "latex" else []
        return "\n\n".join([*notes, *(trial.write(form) for trial in self.trials)])

    def page(self) -> str:
        """Return the page, as HTML."""
        from manycaps.report.tables_page import tables_page

        names = [trial.judge for trial in self.trials]
        sections = [(trial.judge, [*self.notes, *trial.sentences()], trial.tables()) for trial in self.trials]
        return tables_page("Judges on trial", names, "Where people rank, and what of wording is rewarded.", sections)

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page.

        Raises:
            OSError: it cannot be written.
        """
        write_text_atomically(pathlib.Path(path), self.page())

    def _repr_html_(self) -> str:
        """Return the tables, as a notebook shows them."""
        return "".join(trial._repr_html_() for trial in self.trials)


def judge(options: JudgeOptions) -> JudgeTrials:
    r"""Try judges by their scores of systems' texts and of people's.

    Args:
        options: tables of texts and scores, references, and the rest.

    Returns:
        A trial for each column of scores.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> words = "a dog runs on the sand and a cat sleeps by the sea".split()
    >>> texts = {"base": lambda i: words[: 3 + i % 5], "mine": lambda i: words[i % 4 : i % 4 + 4 + i % 3]}
    >>> scores = [
    ...     {"id": i, "system": name, "text": " ".join(text(i)), "score": len(text(i))}
    ...     for name, text in texts.items()
    ...     for i in range(30)
    ... ]
    >>> people = [{"id": i, "references": [" ".join(words[i % 3 : 8]), " ".join(words[i % 4 : 9])]} for i in range(30)]
    >>> def write(name, rows):
    ...     _ = (folder / name).write_text("\n".join(map(json.dumps, rows)))
    ...     return str(folder / name)
    >>> found = judge(JudgeOptions([write("s.jsonl", scores)], references=[write("r.jsonl", people)]))
    >>> found.trials[0].bias.named
    ['length']
    """
    chosen = None if options.judges is None else [*options.judges, *([options.ratings] if options.ratings else [])]
    table = read_score_tables(list(options.scores), chosen)
    judges = [name for name in table.names if name != options.ratings]
    if options.ratings is not None and (options.ratings not in table.names or not judges):
        raise InputError(
            "--ratings", "one of several columns of numbers", quote_value(options.ratings), "Check the spelling."
        )
    check_systems(table, options)
    references = read_references(options)
    check_ids_meet("scores", table.items, "--references", references, "Score the texts of these rows, by their ids.")
    notes: list[str] = []
    return JudgeTrials(trials=[_try(name, table, references, options, notes) for name in judges], notes=notes)


def check_systems(table: ScoreTable, options: JudgeOptions) -> None:
    """Raise unless the table has texts, and the systems that the options name."""
    untold = next((record for record in table.records if not record.texts), None)
    if untold is not None:
        expected = f"the text that was scored, in a column such as {', '.join(TEXT_COLUMNS[:4])} or text"
        got, fix = f"none in line {untold.number}", "A judge is tried by what it has read: add the texts."
        raise InputError(quote_path(untold.file), expected, got, fix)
    if options.baseline is not None:
        check_choice("--baseline", options.baseline, table.systems)
    if options.people != JudgeOptions.people:
        check_choice("--people", options.people, table.systems)


def read_references(options: JudgeOptions) -> dict[str, list[str]]:
    """Return the human texts of every id."""
    columns = columns_of(as_columns(options.columns), options.references)
    source = open_source(
        options.references, columns=columns, either=True, split=options.split, tokenizer=options.tokenizer
    )
    return {row.id: row.people for row in good_rows(source.rows())}


def judged_rows(
    name: str, table: ScoreTable, references: dict[str, list[str]], options: JudgeOptions, notes: list[str]
) -> list[JudgedRow]:
    """Put the texts, scores and references of every item together; a text without a score is left out."""
    sign = -1.0 if options.lower_is_better else 1.0
    ratings = options.ratings
    rows: dict[str, JudgedRow] = {}
    n_unscored = 0
    for record in table.records:
        values = record.values.get(name) or []
        rated = (record.values.get(ratings) or []) if ratings else values
        if not values or not rated:
            n_unscored += 1
            continue
        if len(values) != len(record.texts) or len(rated) != len(record.texts):
            raise InputError(
                f"{name}[{record.number}]", f"{len(record.texts)} scores, one for each text", len(values), "Give all."
            ).within(quote_path(record.file))
        if record.item not in references:
            expected = f"human texts for every scored id, such as {quote_value(record.item)}"
            n_missing = sum(item not in references for item in table.items)
            got = f"none for {n_missing:,} of {len(table.items):,}"
            raise InputError("--references", expected, got, "Add them, or leave these texts out.")
        empty: dict[str, list[float]] = {column: [] for column in (name, ratings) if column}
        row = rows.setdefault(record.item, JudgedRow(record.item, [], [], empty, references[record.item]))
        row.systems.extend([record.system] * len(values))
        row.texts.extend(record.texts)
        row.scores[name].extend(sign * value for value in values)
        if ratings:
            row.scores[ratings].extend(rated)
    if n_unscored:
        notes.append(f"{name}: left out {n_unscored:,} of {len(table.records):,} texts, which have no score.")
    return list(rows.values())


def _try(
    name: str, table: ScoreTable, references: dict[str, list[str]], options: JudgeOptions, notes: list[str]
) -> JudgeTrial:
    rows = _with_others(judged_rows(name, table, references, options, notes), options.people, notes)
    systems = [system for system in table.systems if any(system in row.systems for row in rows)]
    if len(systems) < 2:
        raise InputError(
            "scores", "texts of two systems, or of a system and people", len(systems), "Add texts of another one."
        )
    ids = [row.id for row in rows]
    clusters = None if options.clusters is None else labels_of_ids(ids, options.clusters)
    texts, people = (
        tokenize_rows(side, options.tokenizer) for side in zip(*((r.texts, r.references) for r in rows), strict=True)
    )
    bias = judge_bias(
        [row.scores[name] for row in rows],
        texts,
        people,
        [row.systems for row in rows],
        people=options.people,
        ratings=None if options.ratings is None else [row.scores[options.ratings] for row in rows],
        clusters=clusters,
    )
    if options.baseline is not None and options.baseline not in systems:
        raise InputError("--baseline", f"a system with scores of {name}", quote_value(options.baseline), "Add them.")
    baseline = options.baseline or (options.people if options.people in systems else systems[0])
    return try_judge(name, rows, bias, options.people, baseline, clusters, options.n_resamples, options.seed)


def _with_others(rows: list[JudgedRow], people: str, notes: list[str]) -> list[JudgedRow]:
    """The rows without people's texts that are their only reference."""
    kept, n_left_out = [], 0
    for row in rows:
        chosen = [
            i
            for i, (system, text) in enumerate(zip(row.systems, row.texts, strict=True))
            if system != people or len(row.references) > 1 or row.references != [text]
        ]
        n_left_out += len(row.systems) - len(chosen)
        if chosen:
            scores = {name: [values[i] for i in chosen] for name, values in row.scores.items()}
            kept.append(
                row._replace(
                    systems=[row.systems[i] for i in chosen], texts=[row.texts[i] for i in chosen], scores=scores
                )
            )
    if n_left_out:
        notes.append(f"left out {n_left_out:,} of people's texts that are the only reference of their row.")
    return kept
