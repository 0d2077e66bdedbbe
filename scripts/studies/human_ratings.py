"""Which numbers agree with the people who rated real systems? Human parity and the usual metrics, over systems.

python -m scripts.studies.human_ratings [--data FOLDER --corpus E2E] [--output FOLDER]

FOLDER holds real_systems/e2e_nlg.json.gz: the outputs of the 21 systems of the E2E NLG challenge (Dusek et al. 2020,
https://doi.org/10.1016/j.csl.2019.06.009) for 615 inputs with two references or more, and how often raters preferred
each to another system in quality and in naturalness; and summeval.json.gz: 17 summarisers and the highlights of the
articles' authors for 100 articles with ten human summaries (Fabbri et al. 2021, https://doi.org/10.1162/tacl_a_00373),
and the means of experts' ratings on four scales, to which the study adds their mean. Without a corpus, eight made
systems stand in: captions of the bundled scenes, of which more and more describe another scene, "rated" by their
number, and "naturalness" by how many are cut after five words; for a look at the program, not at raters.

Written: human_ratings_systems.csv, the numbers of every system; and human_ratings.csv, by the distance of
`human_parity`, or "metrics" for the numbers of `coco_caption`: Spearman's rho and Kendall's tau_b of each number with
each scale, with intervals, as `manycaps human-correlation --ratings` gives them; and the picture, in which the grey
band is what unrelated numbers reach in 95% of cases.
"""

import functools
import gzip
import json
import pathlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import evaluate
import numpy as np

import manycaps
from manycaps.comparison.sentences import TERMS
from manycaps.human_correlation.ratings import (
    Ratings,
    SystemNumbers,
    compare_with_ratings,
    noise_limits,
    result_numbers,
)
from scripts.studies.caption_rows import bundled_images
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, print_table, study_settings
from scripts.studies.study_options import Options, data_folder, study_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, new_picture

# The distances of human_parity, and the numbers of coco_caption.
MEASURES = ("meteor", "MiniLM", "metrics")

parser = study_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
parser.add_argument("--corpus", choices=["E2E", "SummEval"], help="which of them; default: bundled scenes")
parser.add_argument("--measures", nargs="+", choices=MEASURES, default=MEASURES)
parse = parser.parse_args

NAME = "human_ratings"
KEY = ("measure",)
COLUMNS = ("number", "scale", "n_systems", "rho", "rho_low", "rho_high", "tau_b", "tau_b_low", "tau_b_high")

# The table of systems, and what of human parity is shown of each.
SYSTEMS, OF_SYSTEMS = "human_ratings_systems", ("system", "number", "value")
SHOWN = (
    *("faults", "unsupported_share", "omitted_share", "odd_wording_share", "repeated_share"),
    *("words_per_text", "rows_to_detect"),
)

TITLES = {
    **TERMS,
    "words_per_text": "words per text",
    "rows_to_detect": "rows to detect",
    "Bleu_4": "BLEU-4",
    "ROUGE_L": "ROUGE-L",
}

# Names of the distances, and the module of the plain metrics.
DISTANCES = {"meteor": "meteor", "MiniLM": "bert"}
METRICS, METRICS_NAME = "coco_caption", "metrics"

# What the COCO caption code reports.
REPORTED = ("Bleu_4", "METEOR", "ROUGE_L", "CIDEr")

COLORS = (BLUE, ORANGE, GREEN, PURPLE, BLACK)

# The scales of made systems, and that of SummEval's ratings together.
MADE_SCALES, ALL_SCALES = ("quality", "naturalness"), "mean"

# Made systems, and references beside them.
N_MADE, N_REFERENCES = 8, 5


class RatedCaptions(NamedTuple):
    """Captions of systems, and their ratings."""

    references: Sequence[Sequence[str]]
    # By system one caption for each row.
    systems: Mapping[str, Sequence[str]]
    # By scale and system.
    ratings: Mapping[str, Mapping[str, float]]


def read_rated(options: Options) -> RatedCaptions:
    """Return the systems of the challenge, or made ones."""
    if options.corpus:
        name = {"E2E": "e2e_nlg", "SummEval": "summeval"}[options.corpus]
        path = data_folder(options) / "real_systems" / f"{name}.json.gz"
        content = json.loads(gzip.decompress(path.read_bytes()))
        references = [row["references"] for row in content["rows"]]
        if options.corpus == "E2E":
            return RatedCaptions(references, content["systems"], content["human_win_rate"])
        means = {
            system: {scale: float(np.mean(values)) for scale, values in of.items()}
            for system, of in content["ratings"].items()
        }
        ratings = {scale: {system: of[scale] for system, of in means.items()} for scale in next(iter(means.values()))}
        ratings[ALL_SCALES] = {system: float(np.mean(list(of.values()))) for system, of in means.items()}
        return RatedCaptions(references, content["systems"], ratings)
    images, rng = bundled_images(), np.random.default_rng(options.seed)
    systems: dict[str, list[str]] = {}
    shares = {f"made_{k}": (k / 10, ((5 * k) % N_MADE) / 10) for k in range(N_MADE)}
    for name, (n_wrong, n_cut) in shares.items():
        wrong, cut = (rng.random(len(images)) < share for share in (n_wrong, n_cut))
        rolled = images[1:] + images[:1]
        sources = [other if is_wrong else own for own, other, is_wrong in zip(images, rolled, wrong, strict=True)]
        texts = [str(rng.choice(source[N_REFERENCES:])) for source in sources]
        words = [text.split()[: 5 if is_cut else None] for text, is_cut in zip(texts, cut, strict=True)]
        systems[name] = [" ".join(kept) for kept in words]
    ratings = {scale: {name: -of[side] for name, of in shares.items()} for side, scale in enumerate(MADE_SCALES)}
    return RatedCaptions([own[:N_REFERENCES] for own in images], systems, ratings)


def results_of(rated: RatedCaptions, measure: str) -> dict[str, dict[str, Any]]:
    """Return the result of each system."""
    module = (
        manycaps.load("human_parity", distance=DISTANCES[measure]) if is_parity(measure) else manycaps.load(METRICS)
    )
    results: dict[str, dict[str, Any]] = {}
    for name, captions in rated.systems.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results[name] = module.compute(predictions=[[text] for text in captions], references=rated.references)
    return results


def is_parity(measure: str) -> bool:
    """Whether a measure is a distance of human parity."""
    return measure in DISTANCES


def numbers_of(results: Mapping[str, dict[str, Any]], measure: str) -> dict[str, SystemNumbers]:
    """Return the numbers of each system that are compared with the ratings."""
    return {
        name: SystemNumbers(
            {key: value for key, value in result_numbers(result).items() if is_parity(measure) or key in REPORTED}, {}
        )
        for name, result in results.items()
    }


def system_lines(system_numbers: Mapping[str, SystemNumbers]) -> Iterator[list[Any]]:
    """Yield the numbers of every system."""
    for system, measured in system_numbers.items():
        for number, value in measured.values.items():
            yield [system, number, value]


def lines_of(rated: RatedCaptions, system_numbers: dict[str, SystemNumbers]) -> Iterator[list[Any]]:
    """Yield how each number of a measure agrees with each scale."""
    scales = tuple(rated.ratings)
    means = {(name, ""): np.array([rated.ratings[scale][name] for scale in scales]) for name in rated.systems}
    agreement = compare_with_ratings(Ratings(scales, means, False, {}), system_numbers, [], [])
    for figure in agreement.figures:
        yield [figure.number, figure.scale, figure.n, *figure[5:]]


def system_table(lines: Sequence[Line], rated: RatedCaptions) -> None:
    """Print the numbers of every system beside what the raters said, the one that they put first on top."""
    distances = [measure for measure in distinct(lines, "measure") if measure in DISTANCES]
    shown = [(distances[-1], number) for number in SHOWN] if distances else []
    shown += [(METRICS_NAME, number) for number in REPORTED if METRICS_NAME in distinct(lines, "measure")]
    first = ALL_SCALES if ALL_SCALES in rated.ratings else next(iter(rated.ratings))
    print_table(
        ["system", *rated.ratings, *(TITLES.get(number, number) for _, number in shown)],
        (
            [name, *(f"{rated.ratings[scale][name]:.2f}" for scale in rated.ratings)]
            + [shown_number(lines, name, *each) for each in shown]
            for name in sorted(rated.systems, key=lambda name: -rated.ratings[first][name])
        ),
    )
    print()


def shown_number(lines: Sequence[Line], system: str, measure: str, number: str) -> str:
    """A number of a system as the table has it: shares in percent, counts whole."""
    value = numbers(matching_lines(lines, measure=measure, system=system, number=number), "value")[0]
    if number.endswith("_share") or number == "faults":
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if number == "rows_to_detect" else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw rho of every number with each scale."""
    names, scales = distinct(lines, "measure", "number"), distinct(lines, "scale")
    with new_picture(output, NAME, 7.5, 1.2 + 0.27 * len(names)) as figure:
        axes = figure.subplots()
        limit = noise_limits(int(lines[0]["n_systems"]))[0]
        axes.axvspan(-limit, limit, color="#e8e8e8", lw=0, zorder=0)
        for side, (scale, color) in enumerate(zip(scales, COLORS, strict=False)):
            mine = [matching_lines(lines, measure=m, number=n, scale=scale) for m, n in names]
            places = np.arange(len(names)) + 0.6 * ((side + 0.5) / len(scales) - 0.5)
            values = np.array([numbers(of, "rho")[0] for of in mine])
            ends = np.array([[numbers(of, f"rho_{end}")[0] for of in mine] for end in ("low", "high")])
            axes.errorbar(values, places, xerr=np.abs(ends - values), fmt="o", ms=4, color=color, lw=1, label=scale)
        axes.set_yticks(range(len(names)), [f"{TERMS.get(n, n)} ({m})" if m in DISTANCES else n for m, n in names])
        axes.invert_yaxis()
        axes.set_xlim(-1, 1)
        axes.set_xlabel("Spearman's rho with the ratings, over systems (grey: unrelated numbers)")
        axes.set_title(title, loc="left", pad=24 if len(scales) > len(MADE_SCALES) else 6)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(scales))


def main(options: Options) -> None:
    """Measure what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    rated = functools.cache(lambda: read_rated(options))
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    measured = functools.cache(lambda measure: numbers_of(results_of(rated(), measure), measure))
    cells = [(measure,) for measure in options.measures]
    lines = table.fill(cells, lambda measure: lines_of(rated(), measured(measure)))
    of_systems = StudyTable(options.output, SYSTEMS, KEY, OF_SYSTEMS, study_settings(options))
    system_table(of_systems.fill(cells, lambda measure: system_lines(measured(measure))), rated())
    titles = {"E2E": "E2E NLG challenge, 21 systems", "SummEval": "SummEval, 18 systems"}
    draw_picture(lines, titles.get(options.corpus, "made systems"), options.output)
    scales = distinct(lines, "scale")
    shown = ("rho", "tau_b")
    print_table(
        ["number", *(f"{scale}: {name}" for scale in scales for name in shown)],
        (
            [f"{number} ({measure})", *(f"{float(of[name]):.2f}" for of in pair for name in shown)]
            for measure, number in distinct(lines, "measure", "number")
            for pair in [matching_lines(lines, measure=measure, number=number)]
        ),
    )


if __name__ == "__main__":
    main(parse())
