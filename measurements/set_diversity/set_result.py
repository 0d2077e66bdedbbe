"""The keys of set_diversity: means over rows of both sides and of their differences."""

import math
from collections.abc import Mapping, Sequence

# What stands behind a key for the references, and for candidates minus references.
REFERENCES, DIFFERENCE = "_references", "_difference"


def mean_of_defined(values: Sequence[float]) -> float:
    """Mean of the values that are numbers; NaN where there is none.

    >>> mean_of_defined([1.0, math.nan, 2.0])
    1.5
    """
    defined = [value for value in values if not math.isnan(value)]
    # fsum is exact, so the order of the rows cannot change the last digit.
    return math.fsum(defined) / len(defined) if defined else math.nan


def row_result(
    candidates: Mapping[str, Sequence[float]], references: Mapping[str, Sequence[float]], details: bool
) -> dict[str, float | list[float]]:
    """Build the keys of values that each row has.

    Args:
        candidates: lists of n_rows floats by name.
        references: the same of the references.
        details: whether the lists are wanted.

    Returns:
        For each name the mean over the rows where it is defined: of the candidates under the name, of the references
        with `REFERENCES` behind it, and of the differences of rows where both are defined with `DIFFERENCE`. With
        `details` also the lists under `_per_row`.

    >>> row_result({"div_1": [0.5, math.nan]}, {"div_1": [1.0, 0.25]}, details=False)
    {'div_1': 0.5, 'div_1_references': 0.625, 'div_1_difference': -0.5}
    """
    result: dict[str, float | list[float]] = {}
    for name, ours in candidates.items():
        human = references[name]
        differences = [a - b for a, b in zip(ours, human, strict=True)]
        for key, values in ((name, ours), (name + REFERENCES, human), (name + DIFFERENCE, differences)):
            result[key] = mean_of_defined(values)
            if details:
                result[f"{key}_per_row"] = list(values)
    return result


def corpus_result(candidates: Mapping[str, float], references: Mapping[str, float]) -> dict[str, float]:
    """Build the keys of values of all captions of a side.

    >>> corpus_result({"div_1": 0.5}, {"div_1": 0.25})
    {'corpus_div_1': 0.5, 'corpus_div_1_references': 0.25, 'corpus_div_1_difference': 0.25}
    """
    result = {}
    for name, value in candidates.items():
        result[f"corpus_{name}"] = value
        result[f"corpus_{name}{REFERENCES}"] = references[name]
        result[f"corpus_{name}{DIFFERENCE}"] = value - references[name]
    return result
