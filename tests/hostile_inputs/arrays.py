"""Embeddings of odd types, shapes and sizes: as a row, as a whole column, and from an encoder.

The tables are tried on `DOOR`, one bad row of each kind of code on every module that takes embeddings.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from tests.hostile_inputs.rule import TEXT_EMBEDDERS, Case, beside, cases, letter_counts

RNG = np.random.default_rng(3)

# Four rows of 3 + 3 vectors.
CANDIDATES = RNG.integers(-8, 9, (4, 3, 5)).astype(np.float64) + 0.5
REFERENCES = RNG.integers(-8, 9, (4, 3, 5)).astype(np.float64) + 1.5

NAMES = ("prediction_embeddings", "reference_embeddings")

# Checks its embeddings as all modules do, and answers soon.
DOOR = ["trm_bert"]

# Bad in row 2 of the candidates.
BAD_ROWS: dict[str, Any] = {
    "no_dimension": np.array(1.0),
    "none": None,
    "text": "vector",
    "dict": {"a": [1.0]},
    "three_dimensions": CANDIDATES[2][None],
    "no_columns": CANDIDATES[2][:, :0],
    "ragged": [[1.0, 2.0], [1.0]],
    "too_narrow": CANDIDATES[2][:, :3],
    "complex": CANDIDATES[2].astype(complex),
    "objects": CANDIDATES[2].astype(object),
    "records": np.zeros((3, 5), dtype=[("x", float)]),
    "sparse": scipy.sparse.csr_array(CANDIDATES[2]),
    "masked": np.ma.masked_array(CANDIDATES[2], CANDIDATES[2] > 0),
    "nan": np.where(CANDIDATES[2] == CANDIDATES[2].max(), np.nan, CANDIDATES[2]),
    "too_small": CANDIDATES[2] * 2.0**-1060,
    "too_large": CANDIDATES[2] * 2.0**900,
    "longdouble_too_large": CANDIDATES[2].astype(np.longdouble) * np.longdouble(10) ** 2000,
    "function": len,
    "generator_of_words": (word for word in ("a", "b")),
}

WHOLE_COLUMNS: dict[str, Any] = {
    "number": 1.0,
    "text": "vectors",
    "dict": {"a": CANDIDATES},
    "one_dimension": CANDIDATES[0][0],
    "no_rows": CANDIDATES[:0],
    "five_dimensions": CANDIDATES[None, None],
    "sparse": scipy.sparse.csr_array(CANDIDATES[0]),
    "masked": np.ma.masked_array(CANDIDATES, CANDIDATES > 0),
    "object": object(),
}

BAD_OUTPUTS: dict[str, Callable[[list[str]], Any]] = {
    "none": lambda captions: None,
    "words": lambda captions: captions,
    "too_few": lambda captions: letter_counts(captions)[:-1],
    "objects": lambda captions: letter_counts(captions).astype(object),
    "sparse": lambda captions: scipy.sparse.csr_array(letter_counts(captions)),
    "masked": lambda captions: np.ma.masked_array(letter_counts(captions), letter_counts(captions) > 0),
    "ragged": lambda captions: [[1.0] * (i % 3 + 1) for i in range(len(captions))],
    "too_large": lambda captions: letter_counts(captions) * 1e200,
    "generator": lambda captions: (1.0 for _ in captions),
}


def ready(candidates: Any, references: Any, **options: Any) -> Callable[..., dict[str, Any]]:
    """Return a call with ready arrays."""
    return lambda *_: {NAMES[0]: candidates, NAMES[1]: references, **options}


def with_bad_row(module: str, row: Any) -> Case:
    """Return a case whose third row of the candidates is the hostile one."""
    rows = list(CANDIDATES)
    rows[2] = row
    return Case(module, ready(rows, REFERENCES), f"{NAMES[0]}[2]", adds=False)


# Every vector is the same one.
ALL_EQUAL = ready(np.ones((4, 3, 5)), np.ones((4, 3, 5)), p_value="exact")

CASES = {
    **cases(DOOR, "row_{}", BAD_ROWS, with_bad_row),
    **cases(DOOR, "column_{}", WHOLE_COLUMNS, lambda m, value: Case(m, ready(value, REFERENCES), "", adds=False)),
    **cases(DOOR, "encoder_{}", BAD_OUTPUTS, lambda m, encoder: Case(m, beside(encoder=encoder), "encoder output")),
    **{f"{m}/bad_row": with_bad_row(m, BAD_ROWS["nan"]) for m in TEXT_EMBEDDERS},
    **{
        f"{m}/bad_encoder": Case(m, beside(encoder=BAD_OUTPUTS["too_few"]), "encoder output")
        for m in (*TEXT_EMBEDDERS, "human_parity", "set_diversity", "vdtk_diversity")
    },
    **{f"{m}/all_equal": Case(m, ALL_EQUAL, adds=False) for m in TEXT_EMBEDDERS},
}
