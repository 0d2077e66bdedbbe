"""How well does a metric agree with people? The usual benchmarks of captioning metrics, for any evaluate module."""

import argparse
import json
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np
import scipy.stats

from manycaps.human_correlation.benchmarks import BENCHMARKS, Benchmark
from manycaps.human_correlation.flickr8k_release import JUDGEMENTS_NAME, expert_rows
from manycaps.installed_modules import load, module_folders
from manycaps.shared_input_files import is_regular_file
from manycaps.shared_messages import is_in_house_form, reason_of, shown_value
from manycaps.shared_model_paths import no_such_path
from manycaps.table_rows import table_rows

# References of one draw, and number of draws, for Pascal-50S (section 4.3).
N_DRAWN_REFERENCES = 5
N_DRAWS = 5

# Columns whose values are looked at before anything is scored.
CHECKED_COLUMNS = ("cand", "better", "worse", "refs", "human_score")

# Ending of the results that are lists with a value for each row.
PER_ROW = "_per_row"

# Keywords of this collection's modules that make them report rows.
DETAILS = {"details": True}

# Published values in percent, taus or accuracies: Sarto et al., 2023, Tables 1, 2, 4 and 6 (ViT-B/32, FOIL with 4
# references), and Table 8 (OpenCLIP ViT-L/14).
PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "pac_score": {
        "flickr8k-expert": {"tau_b": 53.9, "tau_c": 54.3},
        "flickr8k-cf": {"tau_b": 36.0, "tau_c": 18.6},
        "composite": {"tau_b": 51.5, "tau_c": 55.7},
        "pascal-50s": {"HC": 60.6, "HI": 99.3, "HM": 96.9, "MM": 72.9, "accuracy": 82.4},
        "foil": {"accuracy": 89.9},
    },
    "ref_pac_score": {
        "flickr8k-expert": {"tau_b": 55.5, "tau_c": 55.9},
        "flickr8k-cf": {"tau_b": 37.6, "tau_c": 19.5},
        "composite": {"tau_b": 53.0, "tau_c": 57.3},
        "pascal-50s": {"HC": 67.7, "HI": 99.6, "HM": 96.0, "MM": 75.6, "accuracy": 84.7},
        "foil": {"accuracy": 94.9},
    },
    "clip_s": {
        "flickr8k-expert": {"tau_b": 51.1, "tau_c": 51.2},
        "flickr8k-cf": {"tau_b": 34.4, "tau_c": 17.7},
        "composite": {"tau_b": 49.8, "tau_c": 53.8},
        "pascal-50s": {"HC": 55.9, "HI": 99.3, "HM": 96.5, "MM": 72.0, "accuracy": 80.9},
        "foil": {"accuracy": 87.2},
    },
    "pac_score openclip-vit-l-14": {
        "flickr8k-expert": {"tau_b": 55.3, "tau_c": 55.7},
        "flickr8k-cf": {"tau_b": 37.0, "tau_c": 19.1},
        "pascal-50s": {"accuracy": 82.8},
        "foil": {"accuracy": 93.1},
    },
    "meteor15": {
        "flickr8k-expert": {"tau_b": 41.5, "tau_c": 41.8},
        "flickr8k-cf": {"tau_b": 22.2, "tau_c": 11.5},
        "composite": {"tau_b": 36.0, "tau_c": 38.9},
        "pascal-50s": {"HC": 66.0, "HI": 97.7, "HM": 94.0, "MM": 66.6, "accuracy": 81.1},
        "foil": {"accuracy": 82.0},
    },
    "cider_d": {
        "flickr8k-expert": {"tau_b": 43.6, "tau_c": 43.9},
        "flickr8k-cf": {"tau_b": 24.6, "tau_c": 12.7},
        "composite": {"tau_b": 34.9, "tau_c": 37.7},
        "pascal-50s": {"HC": 66.5, "HI": 97.9, "HM": 90.7, "MM": 65.2, "accuracy": 80.1},
        "foil": {"accuracy": 94.1},
    },
    "rouge": {
        "flickr8k-expert": {"tau_b": 32.1, "tau_c": 32.3},
        "flickr8k-cf": {"tau_b": 19.9, "tau_c": 10.3},
        "composite": {"tau_b": 30.0, "tau_c": 32.4},
        "pascal-50s": {"HC": 63.9, "HI": 95.0, "HM": 92.3, "MM": 60.9, "accuracy": 78.0},
        "foil": {"accuracy": 70.4},
    },
}

# Keys whose published values belong to another metric, and what to say of it.
OTHER_METRICS = {"meteor": ("meteor15", "METEOR 1.5, the module meteor15; NLTK's METEOR is another metric")}

Rows = Sequence[Mapping[str, Any]]
Scorer = Callable[[Rows, Sequence[str]], np.ndarray]


def load_rows(name: str, data: pathlib.Path | None) -> Any:
    """Load a benchmark's rows, images undecoded.

    Raises:
        ValueError: there is no public copy and no --data, or a file or a column is missing.
    """
    benchmark = BENCHMARKS[name]
    if data is not None and not data.exists():
        raise ValueError(f"--data: expected a folder or a file, got {no_such_path(str(data))}")
    if data is None and benchmark.hub is None:
        raise ValueError(
            f"--data: expected a folder or file for {name}, which has no public copy, got none. See --help."
        )
    try:
        if data is None:
            rows = _load_hub(benchmark)
        elif name == "flickr8k-expert" and is_regular_file(data / JUDGEMENTS_NAME):
            rows = datasets.Dataset.from_list(expert_rows(data))
        else:
            rows = _load_local(data)
    except Exception as error:  # datasets, huggingface_hub, pandas, pyarrow and gzip each raise their own
        if is_in_house_form(error):
            raise
        cause = error.__cause__ or error
        raise ValueError(
            f"--data: expected rows of {name}, got {type(cause).__name__} ({reason_of(cause)}). Check the files, or "
            "the way to the Hub."
        ) from error
    if not len(rows):
        raise ValueError("--data: expected at least one row, got none. Give the rows of the benchmark.")
    needed = {"correlation": ["img", "cand", "human_score"], "choice": ["img", "better", "worse"]}[benchmark.kind]
    missing = [column for column in needed if column not in rows.column_names]
    if missing:
        raise ValueError(
            f"--data: expected the columns {', '.join(needed)}, got {', '.join(rows.column_names)}. Rename them."
        )
    for i, row in enumerate(rows.remove_columns([c for c in rows.column_names if c not in CHECKED_COLUMNS])):
        _check_row(row, i)
    return rows


def _check_row(row: Mapping[str, Any], i: int) -> None:
    """Raise unless the captions of a row are text, and its judgements numbers."""
    for name in ("cand", "better", "worse"):
        if name in row and not isinstance(row[name], str):
            raise ValueError(
                f"{name}[{i}]: expected a caption, got {shown_value(row[name])}. Write it, or leave the row out."
            )
    references = row.get("refs")
    if references is not None and (
        not isinstance(references, list) or not all(isinstance(text, str) for text in references)
    ):
        raise ValueError(
            f"refs[{i}]: expected a list of captions, got {shown_value(references)}. Write them, or leave the row out."
        )
    if "human_score" in row:
        judgements = row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]]
        if not all(value is None or isinstance(value, int | float) for value in judgements):
            raise ValueError(
                f"human_score[{i}]: expected a number or a list of numbers, got {shown_value(row['human_score'])}. "
                "Write numbers, or leave the row out."
            )


def _load_hub(benchmark: Benchmark) -> Any:
    """Load a public copy."""
    repository, configuration, split = benchmark.hub or ("", None, "")
    parts = datasets.load_dataset(repository, configuration)
    rows = parts[split] if split in parts else parts[next(iter(parts))]
    return rows.cast_column("img", datasets.Image(decode=False))


def _load_local(data: pathlib.Path) -> Any:
    """Load a folder or a file; image paths are made absolute."""
    if data.is_dir() and (data / "dataset_info.json").exists():
        rows = datasets.load_from_disk(str(data))
    else:
        files = sorted(p for p in (data.rglob("*") if data.is_dir() else [data]) if p.suffix in (".jsonl", ".parquet"))
        if not files:
            raise ValueError(f"--data: expected .jsonl or .parquet files in {data}, got none. See --help.")
        if files[0].suffix == ".jsonl":
            rows = datasets.Dataset.from_list([dict(row) for file in files for row in table_rows(file)])
        else:
            rows = datasets.load_dataset("parquet", data_files=[str(file) for file in files], split="train")
    if isinstance(rows.features.get("img"), datasets.Image):
        return rows.cast_column("img", datasets.Image(decode=False))
    folder = data if data.is_dir() else data.parent
    return rows.map(lambda row: {"img": str(folder / row["img"])}) if "img" in rows.column_names else rows


def scorer_of(module: Any, key: str | None, sign: float) -> Scorer:
    """Return a function that scores each row's caption with a module.

    A module of this collection reports rows itself; any other is asked row by row for `key`, or for its first number.
    """
    columns = set(module.features if isinstance(module.features, Mapping) else module.features[0])

    def score(rows: Rows, captions: Sequence[str]) -> np.ndarray:
        given: dict[str, list[Any]] = {"predictions": list(captions)}
        if "references" in columns:
            given["references"] = [list(row["refs"]) for row in rows]
        if "images" in columns:
            given["images"] = [row["img"] for row in rows]
        return sign * np.array(_row_scores(module, given, key))

    return score


def _row_scores(module: Any, given: Mapping[str, list[Any]], key: str | None) -> list[float]:
    """Scores of one call with details, or of a call per row."""
    if hasattr(module, "load_options") and "details" in module.load_options:
        result = module.compute(**given, **DETAILS)
        rows = {name.removesuffix(PER_ROW): values for name, values in result.items() if name.endswith(PER_ROW)}
        if (key or module.name) not in rows:
            raise ValueError(f"--key: expected one of {', '.join(rows)}, got {shown_value(key)}. Check the spelling.")
        return rows[key or module.name]
    scores = []
    for values in zip(*given.values(), strict=True):
        result = module.compute(**{name: [value] for name, value in zip(given, values, strict=True)})
        numbers = {name: value for name, value in result.items() if isinstance(value, int | float | np.number)}
        if (key and key not in numbers) or not numbers:
            raise ValueError(f"--key: expected one of {', '.join(numbers)}, got {key!r}. Check the spelling.")
        scores.append(float(numbers[key] if key else next(iter(numbers.values()))))
    return scores


def correlation(rows: Any, benchmark: Benchmark, score: Scorer) -> dict[str, float]:
    """Kendall's tau_b and tau_c, in percent, between scores and single human judgements."""
    kept = [row for row in rows if not _is_a_reference(row) or not benchmark.drops_references_as_candidates]
    scores = score(kept, [row["cand"] for row in kept])
    points = [(s, judgement) for s, row in zip(scores, kept, strict=True) for judgement in _judgements(row)]
    ours, human = np.array(points).T
    taus = {
        f"tau_{variant}": 100 * float(scipy.stats.kendalltau(ours, human, variant=variant).statistic)
        for variant in "bc"
    }
    return taus | {"n_rows": len(kept), "n_judgements": len(points)}


def choice(rows: Any, benchmark: Benchmark, score: Scorer, seed: int) -> dict[str, float]:
    """Share, in percent, of pairs in which the better caption has the higher score, by category and on average."""
    rows = list(rows)
    draws = [rows]
    if benchmark.draws_references and all(row.get("refs") for row in rows):
        draws = [_draw(rows, np.random.default_rng([seed, i])) for i in range(N_DRAWS)]
    wins = np.mean([_wins(drawn, score) for drawn in draws], axis=0)  # (n_rows,)
    categories = np.array([str(row.get("category") or "") for row in rows])
    found = {name: 100 * float(wins[categories == name].mean()) for name in sorted(set(categories)) if name}
    # The mean of the tables is the mean over categories.
    return found | {"accuracy": float(np.mean(list(found.values()) or [100 * wins.mean()])), "n_rows": len(rows)}


def _wins(rows: Rows, score: Scorer) -> np.ndarray:
    """1 where the better caption wins, 1/2 for a tie, 0 where it loses."""
    both = score([*rows, *rows], [row["better"] for row in rows] + [row["worse"] for row in rows])
    better, worse = both[: len(rows)], both[len(rows) :]
    return np.where(better == worse, 0.5, better > worse)


def _draw(rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows with a few of their references."""
    drawn = []
    for row in rows:
        chosen = rng.permutation(len(row["refs"]))[:N_DRAWN_REFERENCES]
        drawn.append({**row, "refs": [row["refs"][i] for i in chosen]})
    return drawn


def _judgements(row: Mapping[str, Any]) -> Iterator[float]:
    """All judgements of a row that are numbers."""
    judgements = row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]]
    yield from (float(value) for value in judgements if value is not None and not math.isnan(value))


def _is_a_reference(row: Mapping[str, Any]) -> bool:
    """Whether the candidate is one of the references, but for white space."""
    return " ".join(row["cand"].split()) in {" ".join(text.split()) for text in row.get("refs") or []}


def published_key(name: str, config: str | None, key: str | None = None) -> str:
    """Name of a metric in the table of published values.

    >>> published_key("pac_score", "clip-vit-b-32"), published_key("pac_score", None)
    ('clip_s', 'pac_score')
    >>> published_key("trm_cider", None, "cider_d"), published_key("rouge", None, "rougeL")
    ('cider_d', 'rouge')
    """
    if key in PUBLISHED or key in OTHER_METRICS:
        return str(key)
    if name == "pac_score" and config == "clip-vit-b-32":
        return "clip_s"
    return name if config in (None, "pac-vit-b-32", "vit-b-32") else f"{name} {config.removeprefix('pac-')}"


def report(found: Mapping[str, float], published: Mapping[str, float]) -> str:
    """Format the results beside the published values."""
    lines = [f"{'':<12} {'measured':>9} {'published':>10} {'difference':>11}"]
    for name, value in found.items():
        if name.startswith("n_"):
            lines.append(f"{name:<12} {value:>9}")
        elif name in published:
            lines.append(f"{name:<12} {value:>9.2f} {published[name]:>10.1f} {value - published[name]:>+11.2f}")
        else:
            lines.append(f"{name:<12} {value:>9.2f} {'-':>10} {'-':>11}")
    return "\n".join(lines)


def load_options(text: str) -> dict[str, Any]:
    """Return the options that a command line gives as JSON.

    Raises:
        ValueError: it is no object in JSON.

    >>> load_options('{"device": "cpu"}')
    {'device': 'cpu'}
    """
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"--options: expected an object in JSON, got {shown_value(text)} ({reason_of(error)}). Write for example "
            """'{"device": "cuda"}'."""
        ) from error
    if not isinstance(options, dict):
        raise ValueError(
            f"--options: expected an object in JSON, got {shown_value(options)}. Write for example "
            """'{"device": "cuda"}'."""
        )
    return options


def load_metric(name: str, config: str | None, options: Mapping[str, Any]) -> Any:
    """Load a module of this collection, or any other one that evaluate finds.

    Raises:
        ValueError: there is none, or it cannot be loaded with these options.
        ImportError: a package of it is missing.
    """
    try:
        return (load if name in module_folders() else evaluate.load)(name, config_name=config, **options)
    except Exception as error:  # whatever a module of somebody else raises
        if isinstance(error, ImportError) or is_in_house_form(error):
            raise
        raise ValueError(
            f"--metric: expected the name or the path of an evaluate module, got {shown_value(name)} "
            f"({type(error).__name__}: {reason_of(error)}). Check the spelling, --config and --options."
        ) from error


def correlate(arguments: argparse.Namespace) -> None:
    """Load, score and print.

    Raises:
        TypeError, ValueError, OSError: the data, the module or an option cannot be used.
    """
    benchmark = BENCHMARKS[arguments.benchmark]
    for name, least in (("limit", 1), ("seed", 0)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            raise ValueError(f"--{name}: expected {least} or more, got {value}. Leave it out for the usual one.")
    options = load_options(arguments.options)
    rows = load_rows(arguments.benchmark, arguments.data)
    rows = rows.select(range(min(arguments.limit or len(rows), len(rows))))
    module = load_metric(arguments.metric, arguments.config, options)
    score = scorer_of(module, arguments.key, -1.0 if arguments.lower_is_better else 1.0)
    if benchmark.kind == "correlation":
        found = correlation(rows, benchmark, score)
    else:
        found = choice(rows, benchmark, score, arguments.seed)
    name = published_key(module.name, arguments.config, arguments.key)
    if name == "meteor" and getattr(module, "load_options", {}).get("meteor") == "1.5":
        name = "meteor15"
    other, remark = OTHER_METRICS.get(name, ("", ""))
    print(f"{name} on {arguments.benchmark}, in percent")
    print(report(found, PUBLISHED.get(name, {}).get(arguments.benchmark, {})))
    if published := PUBLISHED.get(other, {}).get(arguments.benchmark):
        values = ", ".join(f"{figure} {value}" for figure, value in published.items())
        print(f"published: {values} ({remark})")
