"""Options of odd types and sizes, and what users' tokenizers, kernels and tables hold."""

import collections
import itertools
import math
import pathlib
from typing import Any

import numpy as np
import pandas

from manycaps.catalog import modules as catalog
from manycaps.catalog.installed_modules import module_class
from tests.hostile_inputs.rule import BROKEN_JSON, CallersError, Case, beside, cases

# Methods that a value of any kind may be asked for.
METHODS = [f"__{name}__" for name in "repr str eq hash len iter bool float int index getitem fspath array".split()]

# A list that holds itself, and lists in lists beyond the depth that Python follows.
HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)
DEEP: list[Any] = []
for _ in range(10_000):
    DEEP = [DEEP]

# What every check of an option is given.
ODD_VALUES: dict[str, Any] = {
    "minus_one": -1,
    "nan": math.nan,
    "huge": 10**400,
    "empty_text": "",
    "surrogate": "\ud800",
    "bytes": b"exact",
    "folder": "/",
    "device_file": "/dev/zero",
    "empty_list": [],
    "nested": [[None], [[1]]],
    "key_of_none": {None: 1},
    "array": np.arange(3),
    "function": CallersError.throw,
    "raises": type("Raises", (), dict.fromkeys(METHODS, CallersError.throw))(),
}

# What becomes a plain value before a check, or none can be: given once, for options of the commonest checks.
OTHER_VALUES: dict[str, Any] = {
    "half": 0.5,
    "tiny": 5e-324,
    "complex": 1j,
    "nul": "a\0b",
    "five_thousand_letters": "a" * 5000,
    "generator": (number for number in range(2)),
    "set": {"a"},
    "frame": pandas.DataFrame({"a": [1, 2]}),
    "object": object(),
    "no_dimension": np.array(3),
    "minus_zero": -0.0,
    "path": pathlib.Path("/no/such/file"),
    "kind_of_text": type("Text", (str,), {})("exact"),
    "holds_itself": HOLDS_ITSELF,
    "deep": DEEP,
}
COMMONEST = {"trm_meteor": ("seed", "p_value", "details"), "trm_cider": ("tokenizer", "document_frequency")}

TOKENIZERS: dict[str, Any] = {
    "generator": lambda caption: (word for word in caption.split()),
    "empty": lambda caption: [],
    "nested": lambda caption: [[caption]],
    "empty_words": lambda caption: ["", ""],
    "blanks": lambda caption: [" ", "  "],
    "surrogates": lambda caption: ["\ud800"],
    "dict": lambda caption: {"a": 1},
    "array": lambda caption: np.array(caption.split()),
}

KERNELS: dict[str, Any] = {
    "infinite": lambda captions: np.full((len(captions), len(captions)), math.inf),
    "zeros": lambda captions: np.zeros((len(captions), len(captions))),
    "ragged": lambda captions: [[1.0], [1.0, 2.0]],
    "complex": lambda captions: np.eye(len(captions)) * (1 + 1j),
    "masked": lambda captions: np.ma.masked_all((len(captions), len(captions))),
    "right": lambda captions: np.eye(len(captions)),
}

TABLES: dict[str, Any] = {
    "list": [],
    "nan": {"n_documents": math.nan, "document_frequency": {"a": 1}},
    "infinite": {"n_documents": math.inf, "document_frequency": {"a": 1}},
    "huge_counts": {"n_documents": 10**400, "document_frequency": {"a": 10**399}},
    "beyond_int64": {"n_documents": 2**70, "document_frequency": {"a": 2**69}},
    "count_nan": {"n_documents": 3, "document_frequency": {"a": math.nan}},
    "key_none": {"n_documents": 3, "document_frequency": {None: 1}},
    "numpy_counts": {"n_documents": np.int64(3), "document_frequency": {"a": np.int64(1)}},
}

FILES: dict[str, bytes] = {
    **BROKEN_JSON,
    "infinity": b'{"n_documents": Infinity, "document_frequency": {"a": 1}}',
    "surrogate": b'{"n_documents": 3, "document_frequency": {"\\ud800": "\\ud800"}}',
}

# Options of the modules of tables.
TABLE_OPTIONS = {"trm_cider": "document_frequency", "emscore_pac": "idf"}

RESAMPLING = {
    f"{n}_interval_{level}_{p}": {"n_resamples": n, "confidence_level": level, "p_value": p}
    for n in (1, 2)
    for level in (0.5, 1e-300)
    for p in ("none", "permutation")
}

# Options of extreme values: also whole numbers that would take for ever, or more memory than a machine has.
EXTREME: dict[str, dict[str, dict[str, Any]]] = {
    "mmd_bert": {
        f"sigma_{sigma}": {"sigma": sigma, "p_value": "exact"} for sigma in (5e-324, 1e-200, 1e-9, 1e300, 1.7e308)
    },
    "pac_score": {
        "weight_largest": {"weight": 1.7e308},
        "weight_tiny": {"weight": 5e-324},
        "n_workers_10_to_6": {"n_workers": 10**6},
        "batch_size_10_to_30": {"batch_size": 10**30},
        "prompt_of_a_million_letters": {"prompt": "a" * 10**6},
    },
    "emscore_pac": {"frames_10_to_9": {"frames": 10**9}, "n_workers_10_to_6": {"n_workers": 10**6}},
    "vdtk_diversity": {"lengths_10_to_400": {"lengths": (10**400,)}},
    "trm_meteor": {"n_resamples_10_to_12": {"n_resamples": 10**12, "p_value": "permutation"}},
    "fid_bert": {"n_resamples_10_to_12": {"n_resamples": 10**12, "confidence_level": 0.5}},
}


def with_options(module: str, options: dict[str, Any]) -> Case:
    """Return a case of the good columns and hostile options."""
    return Case(module, beside(**options))


def with_table(module: str, table: Any) -> Case:
    """Return a case with a mapping in place of a table."""
    return with_options(module, {TABLE_OPTIONS[module]: table})


def with_table_file(module: str, content: bytes) -> Case:
    """Return a case with a file in place of a table."""
    option = TABLE_OPTIONS[module]

    def give(folder: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        (folder / "table.json").write_bytes(content)
        return {**columns, option: str(folder / "table.json")}

    return Case(module, give, option)


def odd_option(module: str, option: str, value: Any) -> Case:
    """Return a case with an odd value of an option, given at loading where only that takes it."""
    if option in module_class(module).LOAD_OPTIONS:
        return Case(module, lambda *_: {option: value}, adds=False, loads=True)
    return with_options(module, {option: value})


def check_name(check: Any) -> str:
    """Return what a check is called, with what it asks itself."""
    check = getattr(check, "func", check)
    inner = [cell.cell_contents for cell in check.__closure__ or () if callable(cell.cell_contents)]
    return " ".join([check.__qualname__, *map(check_name, inner)])


def odd_options() -> dict[str, Case]:
    """Return every check with every odd value: at the options that have it, by turns."""
    checked: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    for module in catalog.MODULES:
        for name, option in module_class(module).OPTIONS.items():
            checked[check_name(option.check)].append((module, name))
    tried = [
        (*place, kind, value)
        for places in checked.values()
        for place, (kind, value) in zip(itertools.cycle(places), ODD_VALUES.items(), strict=False)
    ]
    common = [(module, option) for module, options in COMMONEST.items() for option in options]
    tried += [(*place, kind, value) for place in common for kind, value in OTHER_VALUES.items()]
    return {f"{module}/{option}_{kind}": odd_option(module, option, value) for module, option, kind, value in tried}


CASES = {
    **odd_options(),
    **cases(("trm_cider",), "tokenizer_{}", TOKENIZERS, lambda m, tokenizer: Case(m, beside(tokenizer=tokenizer))),
    **cases(("set_diversity",), "kernel_{}", KERNELS, lambda m, kernel: Case(m, beside(kernels=[kernel]))),
    **cases(TABLE_OPTIONS, "table_{}", TABLES, with_table),
    **cases(("trm_cider",), "file_{}", FILES, with_table_file),
    **cases(("trm_cider", "fid_bert"), "resamples_{}", RESAMPLING, with_options),
    **{name: case for m, table in EXTREME.items() for name, case in cases([m], "{}", table, with_options).items()},
    "trm_cider/tokens_hold_blanks": Case("trm_cider", beside(tokenizer=lambda caption: [caption]), "tokenizer"),
}
