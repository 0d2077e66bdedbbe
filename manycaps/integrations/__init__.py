"""Modules in the programs that people train and evaluate with: docs/integrations.md shows each of them.

A framework is imported when its function is called, or its class first asked for; none is needed to import this
package.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from manycaps.catalog.later_imports import import_later
from manycaps.files.result_tables import finite, is_finite
from manycaps.integrations.sampled_candidates import decode_candidates, fold_candidates
from manycaps.kit.errors import InputError

if TYPE_CHECKING:
    from manycaps.integrations.sampling_trainer import SamplingTrainer

__all__ = ["SamplingTrainer", "as_json", "as_log", "decode_candidates", "fold_candidates"]

# `SamplingTrainer` needs transformers and torch.
__getattr__ = import_later(__name__, {"SamplingTrainer": "sampling_trainer"})


def as_log(result: Mapping[str, Any], **columns: Sequence[Any]) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Split a result into numbers for curves, and rows for a table.

    Args:
        result: of a module, with or without details.
        columns: n_rows values each, such as captions: the first columns of the table.

    Returns:
        The numbers by name, without those that are NaN or infinite, and n_rows dicts: the columns, and what the result
        says of each row with details, None for NaN and infinity.

    Raises:
        ValueError: a column has another number of rows.

    >>> as_log({"cider_d": 0.5, "cider_d_per_row": [0.25, 0.75], "signature": "x"}, captions=["a dog", "a cat"])[1]
    [{'captions': 'a dog', 'cider_d_per_row': 0.25}, {'captions': 'a cat', 'cider_d_per_row': 0.75}]
    """
    scalars = {name: value for name, value in result.items() if isinstance(value, int | float) and is_finite(value)}
    lists = {**columns, **{name: value for name, value in result.items() if name.endswith("_per_row")}}
    lengths = {name: len(values) for name, values in lists.items()}
    n_rows = result.get("n_rows", max(lengths.values(), default=0))
    wrong = next((name for name, length in lengths.items() if length != n_rows), None)
    if wrong is not None:
        raise InputError(wrong, f"{n_rows} values, one for each row", lengths[wrong], "Give those that were scored.")
    return scalars, [finite(dict(zip(lists, row, strict=True))) for row in zip(*lists.values(), strict=True)]


def as_json(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as JSON has it, for `evaluate.save(folder, **as_json(result))`: None for NaN and infinity.

    `evaluate.save` and `json.dumps` write NaN and Infinity, which no other reader of JSON takes.

    >>> as_json({"p_value": float("nan"), "n_rows": 1})
    {'p_value': None, 'n_rows': 1}
    """
    return {name: finite(value) for name, value in result.items()}
