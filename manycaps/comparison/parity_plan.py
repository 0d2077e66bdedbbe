"""Plan a test of human parity: from the captions of a pilot to the gaps that are found, and the rows that they take."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.command_options import encoder_options
from manycaps.catalog.installed_modules import load
from manycaps.catalog.module_options import DECIDED, assign_module_options, read_module_options
from manycaps.catalog.modules import MODULES
from manycaps.files.caption_tables import good_rows, open_source
from manycaps.files.caption_tables.columns import as_columns
from manycaps.kit.errors import InputError
from manycaps.kit.options import check_number
from manycaps.kit.parity_arrays import check_plan, plan_wrong_captions
from manycaps.kit.parity_gaps import LEVEL, ParityPlan, parity_plan
from manycaps.kit.rows import warn_of_unread

from .plan_options import PlanOptions

NAME = "human_parity"

# Rows of a pilot, for a share of wrong captions.
LEAST_PILOT_ROWS = 10


class PlannedTest(NamedTuple):
    """A plan, and the pilot that it was made from."""

    plan: ParityPlan
    distance: str
    n_pilot_rows: int
    # Rows that find the share of wrong captions asked for, infinity for none; None where none was asked for.
    wrong_rows: float | None = None


def plan(options: PlanOptions) -> PlannedTest:
    """Read a pilot, and plan a test with it.

    Args:
        options: of the command.

    Returns:
        The plan.

    Raises:
        ValueError: a row has no captions or fewer than two references, or an option cannot be used.
    """
    from manycaps.kit.parity_corpus import covariances_of

    names = ("--rows", "--find", "--power")
    check_plan(1 if options.rows is None else options.rows, options.find, options.power, names)
    if options.wrong is not None:
        check_number("--wrong", options.wrong, 0, 1)
    own = assign_module_options(read_module_options(options.options), [NAME], DECIDED)[NAME]
    module = load(NAME, distance=options.distance, **encoder_options(options), **own)
    columns = as_columns(options.columns)
    source = open_source(options.pilot, options.references, columns, limit=options.limit, split=options.split)
    rows = list(good_rows(source.rows()))
    for row in rows:
        for column, remedy in (("predictions", "--columns predictions=NAME"), ("references", "-r FILE")):
            if getattr(row, column) is None:
                raise InputError(f"{row.file}, row {row.row}", column, "none", f"Give them with {remedy}.")
    given: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in MODULES[NAME].columns}
    captions = module.prepare_columns(module.load_options, **given)
    values = module.row_values(**captions)
    warn_of_unread(values.n_unread(), module.load_options)
    covariance = covariances_of(values.columns).mean(axis=0)
    if not covariance[0, 0] > 0:
        expected = "rows with captions at different distances from each other"
        raise InputError(options.pilot[0], expected, "none, so that no gap can be found", "Give other rows.")
    planned = parity_plan(covariance, options.rows or len(rows), options.find, options.power)
    wrong_rows = None if options.wrong is None else _wrong_rows(module, captions, options.wrong, options.power)
    return PlannedTest(planned, options.distance, len(rows), wrong_rows)


def _wrong_rows(module: Any, columns: Mapping[str, list[list[str]]], share: float, power: float) -> float:
    """Rows that find a share of wrong captions; the wrong ones are references of the pilot's other rows.

    All rows have as many captions as the shortest one.
    """
    if len(columns["predictions"]) < LEAST_PILOT_ROWS:
        raise InputError(
            "--wrong", f"a pilot of at least {LEAST_PILOT_ROWS} rows", len(columns["predictions"]), "Add rows."
        )
    m, n = (min(map(len, columns[name])) for name in ("predictions", "references"))
    candidates, references = [row[:m] for row in columns["predictions"]], [row[:n] for row in columns["references"]]
    wrong = [[references[(i + 1 + k) % len(references)][k % n] for k in range(m)] for i in range(len(references))]
    both = [[*mine, *others] for mine, others in zip(candidates, wrong, strict=True)]
    kept = module.row_values(predictions=both, references=references).distances
    blocks = [block.distances for block in kept.blocks()]
    return plan_wrong_captions(np.concatenate(blocks), m, share, power)


def plan_sentences(planned: PlannedTest, gap: float | None, wrong: float | None = None) -> list[str]:
    """Say the plan in sentences, a line each."""
    plan, power = planned.plan, f"{planned.plan.power:.0%}"
    often = f"{power} of the time at a level of {100 * LEVEL:.0f}%"
    lines = [f"Pilot: {_rows(planned.n_pilot_rows)}, distance {planned.distance}."]
    gaps = {"fidelity": plan.fidelity_gap, "diversity": plan.diversity_gap}
    needed = {"fidelity": plan.fidelity_rows, "diversity": plan.diversity_rows}
    known = {name: value for name, value in gaps.items() if value == value}
    either = " or ".join(f"a {name} gap of {value:.3g}" for name, value in known.items())
    verb = "find" if plan.n_rows > 1 else "finds"
    lines.append(f"{_rows(plan.n_rows)} {verb} {either} at least {often}, if all rows share the gap.")
    if gap is not None:
        rows = " and ".join(f"{_rows(needed[name])} for a {name} gap" for name in known)
        lines.append(f"To find {gap:g} as often takes {rows}, if all rows share it.")
    if wrong is not None and planned.wrong_rows is not None:
        is_found = planned.wrong_rows < math.inf
        rows = _rows(planned.wrong_rows) if is_found else "more rows than can be planned"
        lines.append(f"To find {100 * wrong:g}% wrong captions, taken from other rows, as often takes {rows}.")
    return lines


def _rows(number: float) -> str:
    return f"{number:,.0f} {'row' if number == 1 else 'rows'}"
