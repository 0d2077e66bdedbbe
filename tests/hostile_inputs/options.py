"""Options of odd types and sizes, and tokens that users' tokenizers return."""

import collections
import datetime
import decimal
import fractions
import functools
import math
import pathlib
from typing import Any

import numpy as np
import pandas

from manycaps import catalog
from manycaps.installed_modules import module_class
from tests.hostile_inputs.rule import BROKEN_JSON, CallersError, Case

# Methods that a value of any kind may be asked for.
METHODS = [f"__{name}__" for name in "repr str eq hash len iter bool float int index getitem fspath array".split()]

# A list that holds itself, and lists in lists beyond the depth that Python follows.
HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)
DEEP: list[Any] = []
for _ in range(10_000):
    DEEP = [DEEP]

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
    "class": type("Class", (), {"__init__": CallersError.throw}),
    "function": CallersError.throw,
    "raises": type("Raises", (), dict.fromkeys(METHODS, CallersError.throw))(),
    "generator": (number for number in range(2)),
    "bytearray": bytearray(b"exact"),
    "memory": memoryview(b"exact"),
    "range": range(3),
    "deque": collections.deque([1]),
    "key_of_none": {None: 1},
    "nested": [[None], [[1]]],
    "date": datetime.date(2026, 1, 1),
    "decimal": decimal.Decimal("0.5"),
    "fraction": fractions.Fraction(1, 2),
    "beyond_int64": 2**63,
    "tiny": 5e-324,
    "minus_zero": -0.0,
    "ellipsis": ...,
    "module": math,
    "exception": ValueError("x"),
    "path": pathlib.Path("/no/such/file"),
    "path_up": "../../x",
    "two_lines": "a\nb",
    "right_to_left": "\u202e",
    "form": "%s {} {0}",
    "array_of_nan": np.array([math.nan]),
    "no_dimension": np.array(3),
    "frame": pandas.DataFrame({"a": [1, 2]}),
    "series": pandas.Series([1, 2]),
    "numpy_true": np.bool_(True),
    "kind_of_text": type("Text", (str,), {})("exact"),
    "complex": 1j,
    "array": np.arange(3),
    "numpy_int": np.int64(3),
    "numpy_float": np.float64(0.5),
    "numpy_text": np.str_("exact"),
    "set": {"a"},
    "five_thousand_letters": "a" * 5000,
    "folder": "/",
    "holds_itself": HOLDS_ITSELF,
    "deep": DEEP,
    "device_file": "/dev/zero",
}

# Every option of every module.
OPTIONS = {name: tuple(module_class(name).DEFAULTS) for name in catalog.MODULES}
LOAD_OPTIONS = {name: module_class(name).LOAD_OPTIONS for name in catalog.MODULES}

# What is not tried: a minute of compiling, and a download where there is a network.
LEFT_OUT = {("compile", "true"), ("compile", "numpy_true"), ("semantic", "true"), ("semantic", "numpy_true")}

# Odd values of which the answer is that of a plain one, or a refusal.
PLAIN: dict[str, Any] = {
    "numpy_int": 3,
    "numpy_float": 0.5,
    "numpy_text": "exact",
    "numpy_true": True,
    "no_dimension": 3,
    "minus_zero": 0,
    "path": "/no/such/file",
    "kind_of_text": "exact",
}

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
    **BROKEN_JSON,
    "nan": b'{"n_documents": NaN, "document_frequency": {"a": 1}}',
    "infinity": b'{"n_documents": Infinity, "document_frequency": {"a": 1}}',
    "surrogate": b'{"n_documents": 3, "document_frequency": {"\\ud800": "\\ud800"}}',
}


def table_file(option: str, content: bytes) -> Any:
    """Return the good columns and a file in place of a table."""

    def given(folder: Any, columns: dict[str, Any]) -> dict[str, Any]:
        (folder / "table.json").write_bytes(content)
        return {**columns, option: str(folder / "table.json")}

    return given


def odd_option(module: str, option: str, kind: str) -> Case:
    """Return a case with an odd value of an option, given at loading where only that takes it."""
    if option in LOAD_OPTIONS[module]:
        return Case(module, lambda *_: {option: ODD_VALUES[kind]}, adds=False, loads=True)
    like = with_options(**{option: PLAIN[kind]}) if kind in PLAIN else None
    return Case(module, with_options(**{option: ODD_VALUES[kind]}), adds=like is None, like=like)


CASES = {
    **{
        f"{m}/{o}_{n}": odd_option(m, o, n)
        for m, options in OPTIONS.items()
        for o in options
        for n in ODD_VALUES
        if (o, n) not in LEFT_OUT
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
