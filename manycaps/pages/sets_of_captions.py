"""Pages of the modules that compare two sets of captions per image: a record for each, and what they share."""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import gradio as gr

from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .limits import CaptionLimits
from .plots import heat_map, null_distribution
from .results import Drawing, result_table
from .text_boxes import caption_boxes, rows_of_text_box
from .verdict import verdict

# Limits of one call of a public page: rows, captions of a set in a row, characters of a caption.
LIMITS = CaptionLimits(rows=20, captions_per_row=20, characters_per_caption=300)
# Splits of a row for an exact p-value: 10 + 10 captions have 184,756.
MAX_PARTITIONS = 200_000
# The same of FID-BERT, for which each split is a small singular value problem: 8 + 7 captions have 6,435.
MAX_FID_PARTITIONS = 10_000
# Random splits where FID-BERT's pooled value, which is computed again for each, is asked for too; 9,999 take minutes.
POOLED_RESAMPLES = 499

# Confidence level of the interval that stands beside an effect.
CONFIDENCE = 0.95


class SetMetric(NamedTuple):
    """A module that compares sets of captions, and what its page says and draws."""

    # Name of the module, and as a person writes it.
    name: str
    title: str
    introduction: str
    # What the table says of the module's main value.
    meaning: str
    # Label of the module's own option.
    label: str
    # For each choice of that option, the default first, the statistic in use; False and True make a checkbox.
    choices: Mapping[Any, str]
    # What the histogram, the heat map and its label call their values; "{}" stands for the choice.
    statistic: str
    pair_value: str
    pair_values: str = "Distances of the row"
    # Name of the module's own option.
    option: str = "statistic"
    # Further keys of the table.
    meanings: Mapping[str, str] = MappingProxyType({})
    max_partitions: int = MAX_PARTITIONS
    # Further options for a choice.
    more_options: Mapping[Any, Mapping[str, Any]] = MappingProxyType({})


def set_page(metric: SetMetric) -> Page:
    """Return the page of a module that compares sets of captions."""
    return Page(functools.partial(set_form, metric), metric.name)


def set_form(metric: SetMetric, module: Any) -> Form:
    """Return the inputs and outputs of the page of a module.

    Args:
        metric: its record.
        module: the loaded module.
    """
    choices = list(metric.choices)
    own = (
        gr.Checkbox(choices[0], label=metric.label, render=False)
        if isinstance(choices[0], bool)
        else gr.Dropdown(choices, value=choices[0], label=metric.label, render=False)
    )
    return Form(
        title=metric.title,
        introduction=metric.introduction,
        inputs=caption_boxes(),
        options=[
            own,
            gr.Dropdown(["exact", "permutation"], value="exact", label="p-value", render=False),
            gr.Number(0, label="Row to draw, counted from 0", precision=0, render=False),
        ],
        drawings=["Null distribution of the row", metric.pair_values],
        examples={name: (*boxes, choices[0], "exact", 0) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=functools.partial(measure, metric, module),
    )


def measure(
    metric: SetMetric, module: Any, candidates: str, references: str, choice: Any, p_value: str, row: object
) -> tuple[str, Drawing, Drawing]:
    """Score both boxes, with an interval where there are rows enough, and draw one row.

    Args:
        metric: the module's record.
        module: the module, which has `examine`.
        candidates: text of the box of candidates.
        references: text of the box of human captions.
        choice: of the module's own option.
        p_value: how p-values are computed.
        row: which row is to be drawn.

    Returns:
        Markdown, the null distribution of the row and the values of all its pairs.

    Raises:
        ValueError: more than the page allows, no such row, or what the module says.
    """
    rows = {
        "predictions": rows_of_text_box(candidates, "predictions", LIMITS),
        "references": rows_of_text_box(references, "references", LIMITS),
    }
    options = {metric.option: choice, "p_value": p_value, "max_partitions": metric.max_partitions}
    options |= metric.more_options.get(choice, {})
    confidence_level = CONFIDENCE if len(rows["predictions"]) > 1 else None
    result = module.compute(**rows, **options, confidence_level=confidence_level, details=True)
    drawn = check_row_number(row, result["n_rows"])
    examined = module.examine(**rows, **options, row=drawn)
    p_value_of_row = result[f"{metric.name}_p_value_per_row"][drawn]
    return (
        conclusion(metric, result, metric.choices[choice]),
        null_distribution(examined.null_statistics, examined.statistic, p_value_of_row, metric.statistic),
        heat_map(
            examined.pair_values,
            rows["predictions"][drawn],
            rows["references"][drawn],
            metric.pair_value.format(choice),
        ),
    )


def check_row_number(row: object, n_rows: int) -> int:
    """Return the number of the row to draw.

    Raises:
        ValueError: there is no such row.

    >>> check_row_number(1.0, 2)
    1
    """
    if not isinstance(row, int | float) or row != int(row) or not 0 <= row < n_rows:
        raise ValueError(
            f"row to draw: expected a whole number from 0 to {n_rows - 1}, got {row}. Rows are counted from 0."
        )
    return int(row)


def conclusion(metric: SetMetric, result: Mapping[str, Any], statistic: str) -> str:
    """Return the verdict, the statistic in use, and the table of results, as Markdown."""
    meanings = {metric.name: metric.meaning, **corpus_meanings(metric.name), **metric.meanings}
    return (
        f"### {verdict(result, metric.name, metric.title)}\n\n"
        f"Statistic: {statistic} What it sees and what it misses: [card below](#card).\n\n"
        f"{result_table(result, meanings | {'n_rows': 'number of rows'})}"
    )


def corpus_meanings(name: str) -> dict[str, str]:
    """Return what the keys mean that a module of sets of captions adds with `p_value`, for `result_table`.

    >>> next(iter(corpus_meanings("trm")))
    'trm_corpus_p_value'
    """
    return {
        f"{name}_corpus_p_value": (
            "do the sets differ? p-value of the mean over rows, with captions exchanged within every row; small values "
            "say yes"
        ),
        f"{name}_z": "the mean minus its mean over such exchanges, in standard deviations; around 0 for human captions",
        f"{name}_excess": "the same in the unit of the statistic; compares systems with equal numbers of captions",
        f"{name}_excess_ci_low": f"lower end of the {CONFIDENCE:.0%} interval of the excess over rows",
        f"{name}_excess_ci_high": "upper end",
        f"{name}_p_value": (
            "the paper's combination, a calibrated harmonic mean of the p-values of single rows; more rows that agree "
            "do not make it smaller"
        ),
        f"{name}_smallest_p": "smallest p-value that a row can have; a harmonic mean of the rows' is never below it",
    }


# What the pages of the triangle-rank modules have in common.
TRIANGLE_RANK = SetMetric(
    name="",
    title="",
    introduction=(
        "Do several candidate captions look like samples of the same distribution as several human captions? The "
        "triangle-rank statistic over {}, and a test over all images."
    ),
    meaning="triangle-rank statistic, mean over rows: 0 to 8/3 (pooled 4/3), above 0 for people; lower is better",
    label="Statistic",
    choices={
        "per_side": (
            "`per_side`, the sum of a Q for triangles with two candidates and a Q for triangles with two human "
            "captions."
        ),
        "pooled": (
            "`pooled`, one Q for both kinds of triangle, in which opposite deviations cancel (the paper's equation 4)."
        ),
    },
    statistic="triangle-rank statistic Q",
    pair_value="",
)

TRM = set_page(
    TRIANGLE_RANK._replace(
        name="trm",
        title="TRM",
        introduction=TRIANGLE_RANK.introduction.format("a distance of your choice"),
        meanings={"nearest_distance": "mean distance of the candidates from the nearest reference; lower is better"},
        label="Distance of sentence embeddings",
        option="distance",
        choices={
            "cosine": "the distance `cosine`, 1 minus the cosine of two embeddings.",
            "euclidean": "the distance `euclidean`, the length of the difference of two embeddings.",
            "cityblock": "the distance `cityblock`, the sum of the differences of all coordinates.",
            "chebyshev": "the distance `chebyshev`, the largest difference of a coordinate.",
        },
        pair_value="{} distance",
    )
)

TRM_BERT = set_page(
    TRIANGLE_RANK._replace(
        name="trm_bert",
        title="TRM-BERT",
        introduction=TRIANGLE_RANK.introduction.format("cosine distances of sentence embeddings"),
        meanings={"cosine": "mean cosine of the candidates with the nearest reference, -1 to 1; higher is better"},
        pair_value="cosine distance",
    )
)

TRM_CIDER = set_page(
    TRIANGLE_RANK._replace(
        name="trm_cider",
        title="TRM-CIDEr",
        introduction=(
            f"{TRIANGLE_RANK.introduction.format('CIDEr-D distances')} Document frequencies are counted in the human "
            "captions, so give at least two images."
        ),
        meanings={"cider_d": "mean CIDEr-D of the candidates against all references, 0 to 10; higher is better"},
        pair_value="CIDEr-D distance",
    )
)

TRM_METEOR = set_page(
    TRIANGLE_RANK._replace(
        name="trm_meteor",
        title="TRM-METEOR",
        introduction=TRIANGLE_RANK.introduction.format("METEOR distances, computed exactly"),
        meanings={"meteor": "mean METEOR of the candidates against all references; higher is better"},
        pair_value="METEOR distance",
    )
)

MMD_METRIC = SetMetric(
    name="mmd",
    title="MMD",
    introduction=(
        "Do several candidate captions mean the same as several human captions, and vary as much? The squared maximum "
        "mean discrepancy of sentence embeddings with a kernel of your choice, and a test over all images."
    ),
    meaning="squared maximum mean discrepancy, mean over rows; lower is better",
    label="Kernel of sentence embeddings",
    option="kernel",
    choices={
        "rbf": (
            "the `rbf` kernel, Gaussian, of half the median distance of the row: sees every difference of two "
            "distributions."
        ),
        "laplace": (
            "the `laplace` kernel, exponential in the sum of the coordinates' differences: sees every difference of "
            "two distributions."
        ),
        "polynomial": "the `polynomial` kernel, that of KID, of degree 3: sees differences of the first three moments.",
        "linear": "the `linear` kernel, the product of two embeddings: sees differences of the means alone.",
    },
    statistic="squared maximum mean discrepancy",
    pair_value="kernel value",
    pair_values="Kernel of the row",
)
MMD = set_page(MMD_METRIC)

MMD_BERT = set_page(
    MMD_METRIC._replace(
        name="mmd_bert",
        title="MMD-BERT",
        introduction=MMD_METRIC.introduction.replace("a kernel of your choice", "a Gaussian kernel"),
        label="Estimator",
        option="estimator",
        choices={
            "unbiased": (
                "the `unbiased` estimator, which leaves out the pairs of a caption with itself: around 0, sometimes "
                "below, for human captions."
            ),
            "biased": (
                "the `biased` estimator, which counts the pairs of a caption with itself: above 0 for human captions, "
                "the more so the fewer there are."
            ),
            "authors": (
                "the `authors` estimator, which is that of the paper's program: the unbiased one plus a constant for "
                "these numbers of captions."
            ),
        },
    )
)

FID_BERT = set_page(
    SetMetric(
        name="fid_bert",
        title="FID-BERT",
        introduction=(
            "Do the embeddings of several candidate captions have the mean and the covariance of those of several "
            "human captions? The squared Fréchet distance of sentence embeddings, and a test over all images."
        ),
        meaning="squared Fréchet distance, mean over rows: 0 or more, above 0 for people; lower is better",
        meanings={
            "fid_bert_pooled": "squared Fréchet distance of all candidates and all references",
            "fid_bert_pooled_p_value": "of that value, from splits of the captions of every row, as the corpus test",
        },
        label=f"All rows pooled as well ({POOLED_RESAMPLES} random splits)",
        option="pooled",
        choices=dict.fromkeys(
            (False, True), "squared distance of the means of the embeddings of a row, plus that of their covariances."
        ),
        more_options={True: {"n_resamples": POOLED_RESAMPLES}},
        max_partitions=MAX_FID_PARTITIONS,
        statistic="squared Fréchet distance",
        pair_value="distance of embeddings",
    )
)
