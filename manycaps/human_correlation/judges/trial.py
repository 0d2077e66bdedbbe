"""One judge: where people rank by its scores, what of wording it rewards, and what of a difference remains."""

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.files.result_tables import Cell, Table, as_digits, as_interval, column_form, finite, write_table
from manycaps.kit.arrays import exact_mean
from manycaps.kit.errors import InputError
from manycaps.kit.judge_slopes import FEATURES, JudgeBias, SystemDifference
from manycaps.kit.paired_tests import holm_p_values, paired_test
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL
from manycaps.kit.sets_tests import interval_of_rows


class JudgedRow(NamedTuple):
    """Texts of one row with their scores."""

    id: str
    systems: list[str]
    texts: list[str]
    # By the name of a judge, or of the ratings.
    scores: dict[str, list[float]]
    references: list[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgedSystem:
    """A system by a judge's scores, beside the baseline."""

    name: str
    # Mean over its rows of the mean over its texts, with its interval.
    mean: float
    ci_low: float
    ci_high: float
    n_texts: int
    # Of the rows that the baseline has, too: share in which the judge prefers the system, ties counting half; the mean
    # difference, system minus baseline, and its p-value, by sign flips, and by Holm's method over the systems.
    preferred_share: float
    difference: float
    p_value: float
    adjusted_p_value: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgeTrial:
    """A judge on trial. A notebook shows it as tables."""

    judge: str
    people: str
    baseline: str
    # Rank of people among all systems by the mean, from 1, and of how many; 0 where people's texts were not scored.
    rank_of_people: int
    systems: Sequence[JudgedSystem]
    bias: JudgeBias

    def to_dict(self) -> dict[str, Any]:
        """Return every number, as `json.dumps` takes it; NaN is None."""
        numbers = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        numbers["systems"] = [dataclasses.asdict(system) for system in self.systems]
        numbers["named"] = self.bias.named
        numbers["bias"] = self.bias._asdict() | {
            "slopes": {name: slope._asdict() for name, slope in self.bias.slopes.items()},
            "differences": [
                each._asdict() | {"remaining_share": each.remaining_share} for each in self.bias.differences
            ],
        }
        return dict(finite(numbers))

    def sentences(self) -> list[str]:
        """Say where people rank, and what the judge rewards."""
        lines = []
        if self.rank_of_people:
            better = [system for system in self.systems if system.name != self.people and _is_above(system)]
            lines.append(f"{self.judge}: people rank {self.rank_of_people} of {len(self.systems)} by the mean.")
            if self.baseline == self.people:
                known = f": {', '.join(system.name for system in better)}" if better else ""
                lines.append(f"Shown to be preferred to people: {len(better)} of {len(self.systems) - 1}{known}.")
        named = [
            f"{'rewards' if self.bias.slopes[name].standardized > 0 else 'punishes'} {name} "
            f"({self.bias.slopes[name].standardized:+.2f} SD for each SD)"
            for name in self.bias.named
        ]
        share = self.bias.explained_variance
        lines.append(f"{self.judge} {', '.join(named) or 'shows no preference for a feature of wording'}.")
        if not math.isnan(share):
            n = len(self.bias.slopes)
            lines.append(f"The {n} features explain {100 * share:.0f}% of its variance within rows and systems.")
        return lines

    def tables(self) -> list[Table]:
        """Return the slopes, and the systems beside the baseline."""
        return [self._slopes(), self._systems()]

    def write(self, form: str = "text") -> str:
        """Return sentences and tables as "text", "md" or "latex"."""
        sentences = [] if form == "latex" else ["\n".join(self.sentences())]
        return "\n\n".join([*sentences, *(write_table(table, form) for table in self.tables())])

    def _repr_html_(self) -> str:
        """Return the tables, as a notebook shows them."""
        return "".join(write_table(table, "html") for table in self.tables())

    def _slopes(self) -> Table:
        rows = []
        for name, slope in self.bias.slopes.items():
            cells = [
                Cell(name, is_best=name in self.bias.named),
                Cell(as_digits(slope.slope), value=slope.slope),
                Cell("" if math.isnan(slope.low) else as_interval(slope.low, slope.high)),
                Cell(FEATURES.get(name, "unit")),
                Cell("not defined" if math.isnan(slope.standardized) else f"{slope.standardized:+.2f}"),
                Cell(_p(slope.adjusted_p_value)),
            ]
            rows.append(cells)
        caption = (
            f"{self.judge} by features of the text, among {self.bias.n_texts:,} texts of {self.bias.n_rows:,} rows, "
            "rows and systems taken out. marked: significant (Holm), and 0.05 standard deviations at least."
        )
        header = ["feature", "slope", "95% interval", "for each", "SD for each SD", "p (Holm)"]
        return Table(caption, header, rows, name=f"{self.judge}-slopes", align="lrllrr")

    def _systems(self) -> Table:
        form = column_form([system.mean for system in self.systems])
        rows = []
        for system in self.systems:
            cells = [Cell(system.name), Cell(form(system.mean), value=system.mean)]
            if system.name == self.baseline:
                rows.append(cells + [Cell("")] * 5)
                continue
            beside = difference_of(self.bias, system.name, self.baseline)
            share = beside.remaining_share
            rows.append(
                [
                    *cells,
                    Cell(f"{100 * system.preferred_share:.0f}%"),
                    Cell(f"{as_digits(beside.difference)} {as_interval(beside.low, beside.high)}"),
                    Cell(_p(system.adjusted_p_value)),
                    Cell(f"{as_digits(beside.remaining)} {as_interval(beside.remaining_low, beside.remaining_high)}"),
                    Cell("" if math.isnan(share) else f"{100 * share:.0f}%"),
                ]
            )
        caption = (
            f"{self.judge} of {len(self.systems)} systems beside {self.baseline}: share of rows in which it prefers "
            "the system, the difference, and what remains of it where texts are alike in all features."
        )
        header = ["system", "mean", "preferred", "difference", "p (Holm)", "remaining", "share"]
        return Table(caption, header, rows, name=f"{self.judge}-systems", align="lrrlrlr")


def _is_above(system: JudgedSystem) -> bool:
    return system.adjusted_p_value < 0.05 and system.difference > 0


def _p(value: float) -> str:
    return "" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def difference_of(bias: JudgeBias, first: str, second: str) -> SystemDifference:
    """Return the difference of two systems, in this order."""
    for each in bias.differences:
        if (each.first, each.second) == (first, second):
            return each
        if (each.first, each.second) == (second, first):
            return each._replace(
                first=first,
                second=second,
                difference=-each.difference,
                low=-each.high,
                high=-each.low,
                remaining=-each.remaining,
                remaining_low=-each.remaining_high,
                remaining_high=-each.remaining_low,
                explained={name: -value for name, value in each.explained.items()},
            )
    raise InputError("systems", "two systems of the trial", f"{first} and {second}", "Check the names.")


def try_judge(
    judge: str,
    rows: Sequence[JudgedRow],
    bias: JudgeBias,
    people: str,
    baseline: str,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> JudgeTrial:
    """Rank the systems by a judge's scores, and test each beside the baseline; `bias` is of the same rows."""
    means: dict[str, dict[int, float]] = {}
    n_texts: dict[str, int] = {}
    for i, row in enumerate(rows):
        of_system: dict[str, list[float]] = {}
        for name, score in zip(row.systems, row.scores[judge], strict=True):
            of_system.setdefault(name, []).append(score)
        for name, values in of_system.items():
            means.setdefault(name, {})[i] = exact_mean(values)
            n_texts[name] = n_texts.get(name, 0) + len(values)
    beside = {
        name: _beside(values, means[baseline], clusters, n_resamples, seed)
        for name, values in means.items()
        if name != baseline
    }
    defined = [name for name, (_, _, p) in beside.items() if not math.isnan(p)]
    adjusted = dict(zip(defined, holm_p_values([beside[name][2] for name in defined]).tolist(), strict=True))
    systems = []
    for name, own in means.items():
        share, difference, p_value = beside.get(name, (math.nan,) * 3)
        labels = None if clusters is None else [clusters[i] for i in own]
        low, high = math.nan, math.nan
        if len(own) > 1:
            low, high = interval_of_rows(list(own.values()), CONFIDENCE_LEVEL, labels)
        systems.append(
            JudgedSystem(
                name=name,
                mean=exact_mean(list(own.values())),
                ci_low=low,
                ci_high=high,
                n_texts=n_texts[name],
                preferred_share=share,
                difference=difference,
                p_value=p_value,
                adjusted_p_value=adjusted.get(name, math.nan),
            )
        )
    systems.sort(key=lambda system: -system.mean)
    names = [system.name for system in systems]
    rank = (
        1 + sum(system.mean > exact_mean(list(means[people].values())) for system in systems) if people in names else 0
    )
    return JudgeTrial(judge=judge, people=people, baseline=baseline, rank_of_people=rank, systems=systems, bias=bias)


def _beside(
    mine: dict[int, float], theirs: dict[int, float], clusters: Sequence[Hashable] | None, n_resamples: int, seed: int
) -> tuple[float, float, float]:
    """Share of common rows in which the first is preferred, mean difference, and p-value; NaN without a common row."""
    common = [i for i in mine if i in theirs]
    if not common:
        return (math.nan,) * 3
    first, second = (np.array([side[i] for i in common]) for side in (mine, theirs))
    labels = None if clusters is None else [clusters[i] for i in common]
    test = paired_test(first, second, labels, n_resamples=n_resamples, seed=seed)
    return (test.n_larger + test.n_equal / 2) / len(common), test.difference, test.p_value
