"""Ready embeddings of odd types, sizes and places: compared right, or refused with the limit."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from tests.hostile_inputs.rule import TEXT_EMBEDDERS, Case, cases, letter_counts, subject

RNG = np.random.default_rng(3)

# Four rows of 3 + 3 vectors on a grid, so that shifts and scalings by powers of two are exact.
CANDIDATES = RNG.integers(-8, 9, (4, 3, 5)).astype(np.float64) + 0.5
REFERENCES = RNG.integers(-8, 9, (4, 3, 5)).astype(np.float64) + 1.5

NAMES = ("prediction_embeddings", "reference_embeddings")

# Bad in row 2 of the candidates.
BAD_ROWS: dict[str, Any] = {
    "no_dimension": np.array(1.0),
    "number": 1.0,
    "none": None,
    "text": "vector",
    "dict": {"a": [1.0]},
    "set": {1.0, 2.0},
    "one_dimension": CANDIDATES[2][0],
    "three_dimensions": CANDIDATES[2][None],
    "empty": CANDIDATES[2][:0],
    "no_columns": CANDIDATES[2][:, :0],
    "ragged": [[1.0, 2.0], [1.0]],
    "too_narrow": CANDIDATES[2][:, :3],
    "whole_numbers": CANDIDATES[2].astype(int),
    "bool": CANDIDATES[2] > 0,
    "complex": CANDIDATES[2].astype(complex),
    "words": CANDIDATES[2].astype(str),
    "objects": CANDIDATES[2].astype(object),
    "dates": np.full((3, 5), np.datetime64("2026-01-01")),
    "records": np.zeros((3, 5), dtype=[("x", float)]),
    "sparse": scipy.sparse.csr_array(CANDIDATES[2]),
    "masked": np.ma.masked_array(CANDIDATES[2], CANDIDATES[2] > 0),
    "nan": np.where(CANDIDATES[2] == CANDIDATES[2].max(), np.nan, CANDIDATES[2]),
    "infinite": np.where(CANDIDATES[2] == CANDIDATES[2].max(), np.inf, CANDIDATES[2]),
    "minus_infinite": np.where(CANDIDATES[2] == CANDIDATES[2].max(), -np.inf, CANDIDATES[2]),
    "too_large": CANDIDATES[2] * 1e200,
    "longdouble_too_large": CANDIDATES[2].astype(np.longdouble) * np.longdouble(10) ** 2000,
    "half_infinite": np.full((3, 5), np.inf, np.float16),
    "function": len,
    "list_of_none": [[None] * 5],
    "generator_of_words": (word for word in ("a", "b")),
}

WHOLE_COLUMNS: dict[str, Any] = {
    "no_dimension": np.array(1.0),
    "number": 1.0,
    "text": "vectors",
    "dict": {"a": CANDIDATES},
    "one_dimension": CANDIDATES[0][0],
    "empty": [],
    "no_rows": CANDIDATES[:0],
    "too_few": CANDIDATES[:3],
    "five_dimensions": CANDIDATES[None, None],
    "sparse": scipy.sparse.csr_array(CANDIDATES[0]),
    "masked": np.ma.masked_array(CANDIDATES, CANDIDATES > 0),
    "object": object(),
}

# Factors between which every number of the grid is within the limits of an embedding.
SMALLEST, LARGEST = 2e-70, 1e69

# Every number is multiplied by this, or has this added to it.
SCALES = {
    "1": 1.0,
    "2_to_-500": 2.0**-500,
    "2_to_-560": 2.0**-560,
    "2_to_-900": 2.0**-900,
    "2_to_-1040": 2.0**-1040,
    "2_to_-1060": 2.0**-1060,
    "2_to_200": 2.0**200,
    "2_to_480": 2.0**480,
    "2_to_490": 2.0**490,
    "2_to_900": 2.0**900,
    "1e-170": 1e-170,
    "1e-160": 1e-160,
    "1e-155": 1e-155,
    "1e-60": 1e-60,
    "1e-308": 1e-308,
    "1e-320": 1e-320,
    "1e140": 1e140,
}
SHIFTS = {"2_to_27": 2.0**27, "2_to_40": 2.0**40, "1e8": 1e8, "1e12": 1e12}
TYPES = {"float16": np.float16, "float32": np.float32, "longdouble": np.longdouble, "big_endian": ">f8"}

# How a module's value follows a multiplication of all vectors by a factor.
POWERS = {"fid_bert": 2, "mmd": 0, "mmd_bert": 0, "trm": 0, "trm_bert": 0}

# Result keys that no scaling changes; the p-value of the corpus changes with its draws, which follow the content.
UNCHANGED = ("p_value", "z", "harmonic_mean_p")


def ready(candidates: Any, references: Any, **options: Any) -> Callable[..., dict[str, Any]]:
    """Return a call with ready arrays."""
    return lambda *_: {NAMES[0]: candidates, NAMES[1]: references, **options}


def plain_result(module: str) -> dict[str, Any]:
    """Return what a module computes of the vectors as they are."""
    return subject(module).module.compute(**{NAMES[0]: CANDIDATES, NAMES[1]: REFERENCES, "p_value": "exact"})


def follows(module: str, factor: float) -> Callable[..., bool]:
    """Return a check that a value is that of the plain vectors times a power of the factor, and p-values are equal."""

    def check(result: dict[str, Any], _: dict[str, Any]) -> bool:
        plain = plain_result(module)
        value = plain[module] * factor ** POWERS[module]
        return math.isclose(result[module], value, rel_tol=1e-6) and all(
            math.isclose(result[f"{module}_{key}"], plain[f"{module}_{key}"], rel_tol=1e-9) for key in UNCHANGED
        )

    return check


def scaled(module: str, factor: float) -> Case:
    """Return a case whose vectors are all multiplied; refused where squares leave the range of float64."""
    given = ready(CANDIDATES * factor, REFERENCES * factor, p_value="exact")
    if not SMALLEST < factor < LARGEST:
        return Case(module, given, NAMES[0], adds=False)
    return Case(module, given, check=follows(module, factor), adds=False)


def shifted(module: str, shift: float) -> Case:
    """Return a case whose vectors are all moved; a cosine is another one then."""
    given = ready(CANDIDATES + shift, REFERENCES + shift, p_value="exact")
    return Case(module, given, check=None if module in ("trm", "trm_bert") else follows(module, 1.0), adds=False)


def with_bad_row(row: Any, side: int) -> Callable[..., dict[str, Any]]:
    """Return a call whose third row of one side is the hostile one."""
    columns = [list(CANDIDATES), list(REFERENCES)]
    columns[side][2] = row
    return ready(*columns)


BAD_OUTPUTS: dict[str, Callable[[list[str]], Any]] = {
    "none": lambda captions: None,
    "words": lambda captions: captions,
    "too_few": lambda captions: letter_counts(captions)[:-1],
    "no_dimension": lambda captions: np.array(1.0),
    "one_dimension": lambda captions: np.ones(len(captions)),
    "nan": lambda captions: letter_counts(captions) * np.nan,
    "infinite": lambda captions: np.full((len(captions), 3), np.inf),
    "objects": lambda captions: letter_counts(captions).astype(object),
    "complex": lambda captions: letter_counts(captions).astype(complex),
    "sparse": lambda captions: scipy.sparse.csr_array(letter_counts(captions)),
    "masked": lambda captions: np.ma.masked_array(letter_counts(captions), letter_counts(captions) > 0),
    "ragged": lambda captions: [[1.0] * (i % 3 + 1) for i in range(len(captions))],
    "too_large": lambda captions: letter_counts(captions) * 1e200,
    "dict": lambda captions: dict.fromkeys(captions, 1.0),
    "generator": lambda captions: (1.0 for _ in captions),
}


def encoder_called(encoder: Callable[[list[str]], Any]) -> Callable[..., dict[str, Any]]:
    """Return the good columns with an encoder whose vectors are hostile."""
    return lambda _, columns: {**columns, "encoder": encoder}


def of_type(module: str, kind: Any) -> Case:
    """Return a case with arrays of another type of numbers, which changes no value."""
    given = ready(CANDIDATES.astype(kind), REFERENCES.astype(kind), p_value="exact")
    return Case(module, given, check=follows(module, 1.0), adds=False)


# Every vector is the same one.
ALL_EQUAL = ready(np.ones((4, 3, 5)), np.ones((4, 3, 5)), p_value="exact")

CASES = {
    **cases(
        TEXT_EMBEDDERS, "row_{}", BAD_ROWS, lambda m, row: Case(m, with_bad_row(row, 0), f"{NAMES[0]}[2]", adds=False)
    ),
    **cases(
        TEXT_EMBEDDERS,
        "reference_{}",
        {name: BAD_ROWS[name] for name in ("no_dimension", "nan", "masked")},
        lambda m, row: Case(m, with_bad_row(row, 1), f"{NAMES[1]}[2]", adds=False),
    ),
    **cases(
        TEXT_EMBEDDERS, "column_{}", WHOLE_COLUMNS, lambda m, value: Case(m, ready(value, REFERENCES), "", adds=False)
    ),
    **cases(TEXT_EMBEDDERS, "times_{}", SCALES, scaled),
    **cases(TEXT_EMBEDDERS, "moved_by_{}", SHIFTS, shifted),
    **cases(TEXT_EMBEDDERS, "as_{}", TYPES, of_type),
    **cases(
        (*TEXT_EMBEDDERS, "vdtk_diversity"),
        "encoder_{}",
        BAD_OUTPUTS,
        lambda m, encoder: Case(m, encoder_called(encoder), "encoder output"),
    ),
    **{f"{m}/all_equal": Case(m, ALL_EQUAL, adds=False) for m in TEXT_EMBEDDERS},
}
