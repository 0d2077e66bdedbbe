"""Figures of the diversity of several sources, as pages and notebooks show them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from manycaps.diversity.diversity_options import DiversityOptions
from manycaps.diversity.leave_one_out import ReferenceCurves
from manycaps.diversity.sets import SetFigures
from manycaps.kit.diversity_captions import CaptionDiversity

# Where a result with all sources has their comparisons; no source may have this name then.
COMPARED = "compared row by row"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiversityFigures:
    """The diversity of several sources; all mappings are by the name of the source."""

    options: DiversityOptions
    # Column of the captions; None where it was not named.
    columns: Mapping[str, str | None]
    diversities: Mapping[str, CaptionDiversity]
    figures: Mapping[str, Mapping[str, Any]]
    # Scores by the number of references, of the sources that have enough captions.
    curves: Mapping[str, ReferenceCurves]
    # Mean variance of the distances and mean score of groups of rows; empty without an encoder.
    points: Mapping[str, Sequence[tuple[float, float]]]
    # Values of rows, and the sources compared row by row; None without --sets.
    sets: SetFigures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all figures by source, as `json.dumps` takes them.

        With --sets the values of rows are under "sets" of each source, and where there are several sources their
        comparisons under `COMPARED`.
        """
        figures: dict[str, Any] = {name: dict(figures) for name, figures in self.figures.items()}
        if self.sets is not None:
            for name in figures:
                figures[name]["sets"] = self.sets.of_source(name)
            if self.sets.pairs:
                figures[COMPARED] = self.sets.comparisons()
        return figures
