"""Plan a test of human parity: from the captions of a pilot to the gaps that are found, and the rows that they take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .caption_tables import good_rows, open_source
from .catalog import MODULES
from .functional_parity import check_plan
from .installed_modules import load_for_command
from .kit.sets_parity_power import LEVEL, POWER, ParityPlan, parity_plan

NAME = "human_parity"


@dataclass(frozen=True)
class PlanOptions:
    """What `manycaps plan` is asked for."""

    pilot: Sequence[str]
    references: Sequence[str] = ()
    find: float | None = None
    power: float = POWER
    rows: int | None = None
    distance: str = "bert"
    encoder: str | None = None
    columns: Mapping[str, str] | None = None
    limit: int | None = None


class PlannedTest(NamedTuple):
    """A plan, and the pilot that it was made from."""

    plan: ParityPlan
    distance: str
    n_pilot_rows: int


def plan(options: PlanOptions) -> PlannedTest:
    """Read a pilot, and plan a test with it.

    Args:
        options: of the command.

    Returns:
        The plan.

    Raises:
        ValueError: a row has no captions or fewer than two references, or an option cannot be used.
    """
    from .kit.sets_parity import covariances_of

    names = ("--rows", "--find", "--power")
    check_plan(1 if options.rows is None else options.rows, options.find, options.power, names)
    encoder = {} if options.encoder is None else {"encoder": options.encoder}
    module = load_for_command(NAME, distance=options.distance, **encoder)
    source = open_source(options.pilot, options.references, options.columns, None, None, options.limit)
    rows = list(good_rows(source.rows()))
    given: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in MODULES[NAME].columns}
    values = module.row_values(**module.checked_columns(module.load_options, **given))
    found = parity_plan(
        covariances_of(values.columns).mean(axis=0), options.rows or len(rows), options.find, options.power
    )
    return PlannedTest(found, options.distance, len(rows))


def sentences(planned: PlannedTest, gap: float | None) -> list[str]:
    """Say the plan in sentences, a line each."""
    found, per_cent = planned.plan, f"{planned.plan.power:.0%} of the time at a level of {LEVEL:.0%}"
    said = [f"Pilot: {planned.n_pilot_rows:,} rows, distance {planned.distance}."]
    gaps = {"fidelity": found.fidelity_gap, "diversity": found.diversity_gap}
    needed = {"fidelity": found.fidelity_rows, "diversity": found.diversity_rows}
    known = {name: value for name, value in gaps.items() if value == value}
    said.append(
        f"{found.n_rows:,} rows find {' or '.join(f'a {name} gap of {value:.3g}' for name, value in known.items())} "
        f"{per_cent}."
    )
    if gap is not None:
        rows = " and ".join(f"{needed[name]:,.0f} rows for a {name} gap" for name in known)
        said.append(f"To find {gap:g} as often takes {rows}.")
    return said
