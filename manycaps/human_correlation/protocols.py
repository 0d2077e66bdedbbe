"""How well does a metric agree with people? The usual benchmarks of captioning metrics, for any evaluate module."""

import math
import pathlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.installed_modules import advice_for, import_evaluate, load, module_folders
from manycaps.catalog.module_options import read_module_options
from manycaps.catalog.modules import MODULES
from manycaps.files.result_tables import align_columns
from manycaps.human_correlation.agreement import CONFIDENCE, Agreement, difference, kendall
from manycaps.human_correlation.benchmark_rows import (
    caption_words,
    check_references,
    load_rows,
    row_image,
    without_judged_references,
)
from manycaps.human_correlation.benchmarks import BENCHMARKS, Benchmark
from manycaps.human_correlation.coco_systems import system_rows
from manycaps.human_correlation.correlation_options import CorrelationOptions
from manycaps.human_correlation.protocol_figures import (
    ProtocolRows,
    ProtocolScorer,
    judge_correlations,
    paragraph_choice,
    ranking_table,
    system_scores,
)
from manycaps.human_correlation.published_values import OTHER_METRICS, OTHER_WEIGHTS, PUBLISHED, PUBLISHED_SYSTEMS
from manycaps.human_correlation.video_benchmarks import activitynet_foil_rows, video_value
from manycaps.kit.errors import InputError, as_input_errors, quote_value
from manycaps.kit.files import no_such_path
from manycaps.kit.parity_words import rounded_p_value

# References of one draw, and number of draws, for Pascal-50S (section 4.3).
N_DRAWN_REFERENCES = 5
N_DRAWS = 5

# Endings of the results that are lists with a value for each row, and with a list of one value for each candidate.
PER_ROW, PER_CANDIDATE = "_per_row", "_per_candidate"

# Keywords of this collection's modules that make them report rows.
DETAILS = {"details": True}


def scorer_of(module: Any, key: str | None, sign: float, n_references: int | None = None) -> ProtocolScorer:
    """Return a function that scores each row's caption with a module, beside its first references, or all.

    A module of this collection reports rows itself; any other is asked row by row for `key`, or for its first number.
    """
    columns = _columns(module)

    def score(rows: ProtocolRows, captions: Sequence[str]) -> np.ndarray:
        given: dict[str, list[Any]] = {"predictions": list(captions)}
        if "references" in columns:
            given["references"] = [list(row["refs"])[:n_references] for row in rows]
        for column, name in (("images", "img"), ("videos", "video")):
            if column in columns:
                if any(row.get(name) is None for row in rows):
                    expected = f"the column {name} for a metric of {column}"
                    raise InputError("--data", expected, "rows without it", "Give a table with it.")
                given[column] = [
                    row[name] if name == "img" else video_value(row[name], row.get("part")) for row in rows
                ]
        return sign * np.array(_row_scores(module, given, key))

    return score


def _columns(module: Any) -> set[str]:
    """Names of the columns that a module takes."""
    return set(module.features if isinstance(module.features, Mapping) else module.features[0])


def _row_scores(module: Any, given: Mapping[str, list[Any]], key: str | None) -> list[float]:
    """Scores of one call with details, or of a call per row."""
    if "details" in getattr(module, "load_options", {}):
        result = module.compute(**given, **DETAILS)
        rows = {name.removesuffix(PER_ROW): values for name, values in result.items() if name.endswith(PER_ROW)}
        candidate_keys = [name.removesuffix(PER_CANDIDATE) for name in result if name.endswith(PER_CANDIDATE)]
        for name in candidate_keys:
            rows.setdefault(name, [value for (value,) in result[f"{name}{PER_CANDIDATE}"]])
        if (key or module.name) not in rows:
            raise InputError("--key", f"one of {', '.join(rows)}", quote_value(key), "Check the spelling.")
        return rows[key or module.name]
    scores = []
    for values in zip(*given.values(), strict=True):
        result = module.compute(**{name: [value] for name, value in zip(given, values, strict=True)})
        numbers = {name: value for name, value in result.items() if isinstance(value, int | float | np.number)}
        if (key and key not in numbers) or not numbers:
            raise InputError("--key", f"one of {', '.join(numbers)}", f"{key!r}", "Check the spelling.")
        scores.append(float(numbers[key] if key else next(iter(numbers.values()))))
    return scores


def correlation(rows: Any, benchmark: Benchmark, score: ProtocolScorer) -> Agreement:
    """Compute Kendall's tau_b and tau_c, in percent, of scores and human judgements: single, or means of captions."""
    kept = [row for row in rows if not is_a_reference(row) or not benchmark.drops_references_as_candidates]
    given = [row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]] for row in kept]
    judgements = [[float(value) for value in values if value is not None and not math.isnan(value)] for values in given]
    n_judgements = sum(map(len, judgements))
    if not n_judgements:
        raise InputError(
            "human_score", "a number in one of the rows", f"none in {len(kept)}", "Give judgements, or another --limit."
        )
    if benchmark.averages_judgements:
        judgements = [[float(np.mean(judged))] if judged else [] for judged in judgements]
    places = np.repeat(np.arange(len(kept)), [len(judged) for judged in judgements])
    scores = score(kept, [row["cand"] for row in kept])
    coefficients = kendall(scores[places], np.concatenate(judgements))
    moved = {
        name: np.asarray(100 / len(places) * np.bincount(places, coefficient.influences, len(kept)), dtype=np.float64)
        for name, coefficient in coefficients.items()
    }
    figures = {name: 100 * coefficient.value for name, coefficient in coefficients.items()}
    counts = {"n_rows": len(kept), "n_judgements": n_judgements}
    return Agreement(figures | counts, moved, [row_image(row, i) for i, row in enumerate(kept)])


def choice(rows: Any, benchmark: Benchmark, score: ProtocolScorer, seed: int, n_drawn: int | None = None) -> Agreement:
    """Return the percentage of pairs in which the better caption scores higher, by category and on average.

    Where a benchmark draws references, `n_drawn` of each row are drawn; None: as many as its protocol draws.
    """
    rows = list(rows)
    draws = [rows]
    if benchmark.draws_references and all(row.get("refs") for row in rows):
        n_drawn = n_drawn or N_DRAWN_REFERENCES
        draws = [_draw(rows, n_drawn, np.random.default_rng([seed, i])) for i in range(N_DRAWS)]
    wins = np.mean([_wins(drawn, score) for drawn in draws], axis=0)  # (n_rows,)
    # Expected value of breaking a tie of the judges at random.
    wins = np.where([bool(row.get("is_tie")) for row in rows], 0.5, wins)
    categories = np.array([str(row.get("category") or "") for row in rows])
    parts = {name: categories == name for name in sorted(set(categories)) if name}
    if parts and "" in categories:
        row = list(categories).index("")
        raise InputError(f"category[{row}]", "a category as of the other rows", "none", "Write it, or leave all out.")
    accuracies = {name: 100 * float(wins[part].mean()) for name, part in parts.items()}
    moved = {name: np.where(part, 100 * wins - accuracies[name], 0) / part.sum() for name, part in parts.items()}
    # The mean of the tables is the mean over categories.
    mean = float(np.mean(list(accuracies.values()) or [100 * wins.mean()]))
    moved_mean = np.mean(list(moved.values()) or [(100 * wins - mean) / len(rows)], axis=0)
    return Agreement(
        accuracies | {"accuracy": mean, "n_rows": len(rows)},
        moved | {"accuracy": moved_mean},
        [row_image(row, i) for i, row in enumerate(rows)],
        are_shares=True,
        members=parts,
        parts={"accuracy": list(parts)},
    )


def _wins(rows: ProtocolRows, score: ProtocolScorer) -> np.ndarray:
    """1 where the better caption wins, 1/2 for a tie, 0 where it loses."""
    both = score([*rows, *rows], [row["better"] for row in rows] + [row["worse"] for row in rows])
    better, worse = both[: len(rows)], both[len(rows) :]
    return np.where(better == worse, 0.5, better > worse)


def _draw(rows: ProtocolRows, n_drawn: int, rng: np.random.Generator) -> ProtocolRows:
    """The rows with a few of their references."""
    drawn = []
    for row in rows:
        chosen = rng.permutation(len(row["refs"]))[:n_drawn]
        drawn.append({**row, "refs": [row["refs"][i] for i in chosen]})
    return drawn


def is_a_reference(row: Mapping[str, Any]) -> bool:
    """Return whether the candidate is one of the references, up to white space."""
    return caption_words(row["cand"]) in map(caption_words, row.get("refs") or [])


def published_key(name: str, config: str | None, key: str | None = None) -> str:
    """Name a metric as the table of published values does.

    >>> published_key("pac_score", "clip-vit-b-32"), published_key("pac_score", None)
    ('clip_s', 'pac_score')
    >>> published_key("trm_cider", None, "cider_d"), published_key("rouge", None, "rougeL")
    ('cider_d', 'rouge')
    """
    if key in PUBLISHED or key in OTHER_METRICS:
        return str(key)
    if (name, config) in OTHER_WEIGHTS:
        return OTHER_WEIGHTS[name, config]
    if name in MODULES and config in MODULES[name].config_names:  # whether it gets references, see `published_place`
        return name
    return name if config in (None, "pac-vit-b-32", "vit-b-32") else f"{name} {config.removeprefix('pac-')}"


def report(agreement: Agreement, published: Mapping[str, float]) -> str:
    """Format the results beside the published values, with their intervals."""
    clusters = f"{100 * CONFIDENCE:.0f}% interval, {agreement.n_clusters:,} clusters"
    rows = [["", "measured", "published", "difference", clusters]]
    for name, value in agreement.figures.items():
        if name.startswith("n_"):
            rows.append([name, str(value), "", "", ""])
            continue
        known = published.get(name)
        beside = ["-", "-"] if known is None else [f"{known:.1f}", f"{value - known:+.2f}"]
        rows.append([name, f"{value:.2f}", *beside, _format_interval(agreement.interval(name), ".2f")])
    return "\n".join(align_columns(rows, "lrrrl"))


def difference_report(first: Agreement, second: Agreement) -> str:
    """Format the differences of two metrics on the same rows, with their intervals and p-values."""
    rows = [["", "difference", "p", f"{100 * CONFIDENCE:.0f}% interval"]]
    for name in first.deviations:
        compared = difference(first, second, name)
        p_value = "-" if math.isnan(compared.p_value) else rounded_p_value(compared.p_value)
        rows.append([name, f"{compared.value:+.2f}", p_value, _format_interval(compared.interval, "+.2f")])
    return "\n".join(align_columns(rows, "lrrl"))


def _format_interval(ends: tuple[float, float], form: str) -> str:
    return "-" if math.isnan(ends[0]) else f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def load_metric(name: str, config: str | None, options: Mapping[str, Any]) -> Any:
    """Load a module of this collection, or any other one that evaluate finds."""
    expected, fix = "the name or the path of an evaluate module", "Check --config and --option, too."
    with as_input_errors("--metric", expected, f"{advice_for(name)} {fix}", quote_value(name), (ImportError,)):
        return (load if name in module_folders() else import_evaluate().load)(name, config_name=config, **options)


class LoadedMetric(NamedTuple):
    """A metric that is ready to score."""

    # As the table of published values has it, and with its key for a reader.
    name: str
    title: str
    columns: set[str]
    score: ProtocolScorer


def load_metrics(options: CorrelationOptions) -> list[LoadedMetric]:
    """Load the metric, and the one that it is tested against."""
    loaded = []
    for chosen, prefix in ((options.metric, ""), (options.against, "against_")):
        config, given, key, is_reversed = (
            getattr(options, f"{prefix}{name}") for name in ("config", "options", "key", "lower_is_better")
        )
        given = read_module_options(given, f"--{prefix.replace('_', '-')}option")
        if chosen is None:
            if config or given or key or is_reversed:
                raise InputError("--against", "a metric for the other options of --against", "none", "Name it.")
            continue
        module = load_metric(chosen, config, {name.removeprefix(f"{chosen}."): given[name] for name in given})
        name = published_key(module.name, config, key)
        if name == "meteor" and getattr(module, "load_options", {}).get("meteor") == "1.5":
            name = "meteor15"
        title = f"{name} {key}" if key and name == module.name != key else name
        score = scorer_of(module, key, -1.0 if is_reversed else 1.0, options.references)
        loaded.append(LoadedMetric(name, title, _columns(module), score))
    return loaded


def correlate(options: CorrelationOptions) -> str:
    """Load a benchmark and a metric, score, compare with people, and return a table beside the published values.

    Raises:
        TypeError, ValueError, OSError: the data, the module or an option cannot be used.
    """
    benchmark = BENCHMARKS[options.benchmark]
    if options.references is not None and benchmark.kind == "paragraphs":
        expected = f"none for {options.benchmark}, whose sentences have the references of their time"
        raise InputError("--references", expected, options.references, "Leave it out.")
    metrics = load_metrics(options)
    first = metrics[0]
    take_references = any("references" in metric.columns for metric in metrics)
    if options.references is not None and not take_references:
        raise InputError("--references", "a metric that takes some", first.title, "Leave it out.")
    if benchmark.kind == "systems":
        if len(metrics) > 1:
            got = f"{options.benchmark}, which has too few systems for a test"
            raise InputError("--against", "a benchmark of judged captions", got, "Leave it out.")
        systems = {system: rows[: options.limit] for system, rows in system_rows(_folder(options.data)).items()}
        for image_rows in systems.values():
            check_references(image_rows, options.references)
        scores = system_scores(systems, first.score)
        by_references = "" if options.references is None else f", by {options.references} of the references"
        published = PUBLISHED_SYSTEMS if options.references is None else {}
        table = ranking_table(scores, first.name, published)
        return f"{first.title} of {len(systems)} systems{by_references}\n{table}"
    rows = _benchmark_rows(options, benchmark, take_references)
    agreements = [_agreement(options, benchmark, rows, metric.score) for metric in metrics]
    lines = [
        _table(metric, agreement, published_place(options, benchmark, metric.columns, rows))
        for metric, agreement in zip(metrics, agreements, strict=True)
    ]
    if len(metrics) > 1:
        titles = " minus ".join(metric.title for metric in metrics)
        lines.append(f"{titles}, paired by row\n{difference_report(*agreements)}")
    return "\n\n".join(lines)


def _table(metric: LoadedMetric, agreement: Agreement, place: str) -> str:
    """The figures of a metric beside published values of it, or of the metric that it is taken for."""
    lines = [f"{metric.title} on {place}, in percent"]
    lines.append(report(agreement, PUBLISHED.get(metric.name, {}).get(place, {})))
    other, remark = OTHER_METRICS.get(metric.name, ("", ""))
    if published := PUBLISHED.get(other, {}).get(place):
        values = ", ".join(f"{figure} {value}" for figure, value in published.items())
        lines.append(f"published: {values} ({remark})")
    return "\n".join(lines)


def published_place(
    options: CorrelationOptions, benchmark: Benchmark, columns: Collection[str], rows: ProtocolRows
) -> str:
    """Name a benchmark as the table of published values does, with the number of references that a metric gets.

    Where the values were published for another number, the name is in no table.
    """
    name, n_given = options.benchmark, options.references
    if benchmark.kind == "paragraphs":
        return f"{name} references" if {"references", "videos"} <= set(columns) else name
    if "references" not in columns:
        return f"{name} 0" if benchmark.kind == "judges" else name
    ((usual, _),) = Counter(len(row["refs"]) for row in rows).most_common(1)
    if benchmark.is_published_by_references:
        return f"{name} {n_given or usual}"
    expected = N_DRAWN_REFERENCES if benchmark.draws_references else usual
    return name if n_given in (None, expected) else f"{name} {n_given}"


def _benchmark_rows(options: CorrelationOptions, benchmark: Benchmark, with_references: bool) -> ProtocolRows:
    """Load the rows of a benchmark, with their references as its protocol has them where a metric takes some."""
    if benchmark.kind == "paragraphs":
        return activitynet_foil_rows(_folder(options.data))[: options.limit]
    rows: ProtocolRows = load_rows(options.benchmark, options.data, options.limit)
    if with_references:
        check_references(rows)
        if benchmark.removes_judged_references:
            rows = without_judged_references(rows)
        check_references(rows, options.references)
    return rows


def _agreement(
    options: CorrelationOptions, benchmark: Benchmark, rows: ProtocolRows, score: ProtocolScorer
) -> Agreement:
    """Score the rows, and compare with people as the benchmark does."""
    if benchmark.kind == "paragraphs":
        return paragraph_choice(rows, score)
    if benchmark.kind == "judges":
        return judge_correlations(rows, score)
    if benchmark.kind == "correlation":
        return correlation(rows, benchmark, score)
    return choice(rows, benchmark, score, options.seed, options.references)


def _folder(data: pathlib.Path | None) -> pathlib.Path:
    """Return the folder of a benchmark that is read from one; raise a ValueError if there is none."""
    if data is None or not data.is_dir():
        got = "none" if data is None else no_such_path(str(data)) if not data.exists() else "a file"
        raise InputError("--data", "the folder of the benchmark's files", got, "See --help.")
    return data
