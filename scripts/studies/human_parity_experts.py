"""Do experts agree that outliers among captions are bad? Captions beside people's, by their ratings.

python -m scripts.studies.human_parity_experts [--data FOLDER --corpus Flickr8k] [--output FOLDER]

FOLDER holds the release of Flickr8k-Expert (Hodosh et al. 2013, https://doi.org/10.1613/jair.3994): an image and a
caption that was written of it or of another image, rated by three experts from 1 (unrelated) to 4 (without errors).
Captions that are references of their image are left out. `human_parity` compares each with the references: "tail", is
it farther than 19 of 20 captions of people, of all images, are from the others? Beside that, "farthest": is it the
farthest of itself and them, as one in n + 1 captions of people is? Without a corpus, captions of the bundled scenes
stand in, "rated" by what was done to them: 4 for captions of the scene, 3 with an object replaced, 2 cut after five
words, 1 of another scene; for a look at the program, not at experts.

Written: human_parity_experts.csv, with intervals over images; "AUC", the chance that a caption rated below 2.5 has the
larger value than one rated above, ties counting half; and Kendall's tau_b and tau_c of the mean distance from
the references with the single ratings, in percent, as `manycaps human-correlation --metric human_parity --key distance
--lower-is-better` gives them; and the picture. The encoder MiniLM was trained on captions of Flickr30k, among others.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import evaluate
import numpy as np
import scipy.stats

import manycaps
from manycaps.human_correlation.benchmarks import BENCHMARKS
from manycaps.human_correlation.flickr8k_release import expert_rows
from manycaps.human_correlation.protocols import correlation, is_a_reference
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.sets_tests import interval_of_rows
from scripts.studies.caption_rows import bundled_images
from scripts.studies.parity_pools import KINDS, embed_texts, make_pool, symmetric, vector_distances
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, study_settings
from scripts.studies.study_options import EMBEDDINGS, Options, add_parity_options, data_folder, study_parser
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, PURPLE, label_axes, new_picture

parser = study_parser(__doc__)
add_parity_options(parser, ("meteor", "MiniLM"))
parse = parser.parse_args

NAME = "human_parity_experts"
KEY = ("distance",)
COLUMNS = ("measure", "rated_from", "rated_below", "n_captions", "value", "low", "high", "people")

CONFIDENCE_LEVEL = 0.95
BENCHMARK = BENCHMARKS["flickr8k-expert"]

# Ends of the ranges of mean ratings; the last one holds its end.
RATINGS = (1.0, 1.5, 2.5, 3.5, 4.0)
# Captions with this rating or a higher one are good; rows compared at once.
GOOD, BATCH = 2.5, 200
NAMES = {"meteor": "meteor", "MiniLM": "bert", "meteor15": "meteor15", "cider": "cider"}
COLORS = {"meteor": ORANGE, "MiniLM": BLUE, "meteor15": GREEN, "cider": PURPLE}

# "Ratings" of bundled captions by their kind, and references beside them.
MADE_RATINGS: Mapping[str, float] = {"people": 4.0, "object": 3.0, "cut": 2.0, "other": 1.0}
N_REFERENCES = 5


def read_rated(options: Options) -> list[dict[str, Any]]:
    """Return the rated captions, in the form of `human_correlation`."""
    if options.corpus:
        return [row for row in expert_rows(data_folder(options)) if not is_a_reference(row)]
    n_people = N_REFERENCES + 3
    rows = []
    for i, texts in enumerate(make_pool(bundled_images(), n_people, options.seed)):
        given = {"img": str(i), "refs": texts[:N_REFERENCES]}
        for kind, rating in MADE_RATINGS.items():
            end = (KINDS.index(kind) + 1) * n_people
            rows += [{"cand": caption, "human_score": [rating], **given} for caption in texts[end - 3 : end]]
    return rows


def lines_of(rows: Sequence[Mapping[str, Any]], distance: str) -> Iterator[list[Any]]:
    """Yield the share of outliers by rating, and the correlations of the distance."""
    images = [row["img"] for row in rows]
    columns = {"predictions": [row["cand"] for row in rows], "references": [row["refs"] for row in rows]}
    module = manycaps.load("human_parity", distance=NAMES[distance], p_value="none", details=True)
    result = module.compute(**columns, clusters=images)
    ratings = np.array([np.mean(row["human_score"]) for row in rows])
    values = {
        "tail": np.array(result["unlike_people_share_per_row"]),
        "farthest": farthest_shares([[row["cand"], *row["refs"]] for row in rows], distance),
    }
    people = {"tail": TAIL, "farthest": np.mean([1 / (len(refs) + 1) for refs in columns["references"]])}
    whole, unknown = (RATINGS[0], RATINGS[-1], len(rows)), (np.nan, np.nan, np.nan)
    for name, shares in values.items():
        for low, high in itertools.pairwise(RATINGS):
            chosen = np.flatnonzero((ratings >= low) & ((ratings < high) | (high == RATINGS[-1])))
            ends = interval_of_rows(shares[chosen], CONFIDENCE_LEVEL, [images[i] for i in chosen])
            yield [name, low, high, len(chosen), shares[chosen].mean(), *ends, people[name]]
        area = area_under_curve(shares[ratings < GOOD], shares[ratings >= GOOD])
        yield [f"AUC {name}", *whole, area, *unknown]
    nearness = -np.array(result["distance_per_candidate"])[:, 0]
    for label, scores in {"": nearness, **{f" {name}": -shares for name, shares in values.items()}}.items():
        taus = correlation(rows, BENCHMARK, lambda *_, scores=scores: scores)
        yield from ([name + label, *whole, taus.figures[name], *unknown] for name in ("tau_b", "tau_c"))


def farthest_shares(texts: Sequence[Sequence[str]], distance: str) -> np.ndarray:
    """Return of every row whether its first text is the farthest from the others, ties shared: (n_rows,)."""
    if distance in EMBEDDINGS:
        rows = vector_distances(embed_texts(texts, distance))
    else:
        module = manycaps.load("human_parity", distance=NAMES[distance])
        compare, _ = module.text_distances([row[1:] for row in texts], module.load_options)
        starts = range(0, len(texts), BATCH)
        rows = symmetric(np.concatenate([np.stack(compare(texts[start : start + BATCH])) for start in starts]))
    sums = rows.sum(axis=2)
    are_largest = sums >= sums.max(axis=1, keepdims=True) - 1e-9
    return are_largest[:, 0] / are_largest.sum(axis=1)


def area_under_curve(bad: np.ndarray, good: np.ndarray) -> float:
    """Return the chance that a bad caption has the larger value, ties counting half (Mann and Whitney 1947).

    >>> area_under_curve(np.array([1.0, 0.5]), np.array([0.0, 0.5]))
    0.875
    """
    return float(scipy.stats.mannwhitneyu(bad, good).statistic / (len(bad) * len(good)))


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw the share of outliers against the rating."""
    with new_picture(output, NAME, 6.5, 4) as figure:
        axes = figure.subplots()
        for distance in distinct(lines, "distance"):
            mine = matching_lines(lines, distance=distance, measure="tail")
            values = np.array(numbers(mine, "value"))
            ends = np.abs(np.array([numbers(mine, "low"), numbers(mine, "high")]) - values)
            axes.errorbar(range(len(mine)), values, ends, fmt="o-", color=COLORS[distance], label=distance)
            labels = [f"{line['rated_from']} to {line['rated_below']}\n({line['n_captions']})" for line in mine]
        axes.axhline(float(mine[0]["people"]), color="#888888", lw=0.8)
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlim(-0.3, len(labels) - 0.7)
        axes.set_ylim(0, 1.02)
        label_axes(axes, "mean rating (captions)", "share farther than 19 of 20 human captions", better="grey: people")
        axes.set_title(title)
        axes.legend()


def main(options: Options) -> None:
    """Measure what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    rows = functools.cache(lambda: read_rated(options))
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    lines = table.fill([(distance,) for distance in options.distances], lambda distance: lines_of(rows(), distance))
    title = f"{options.corpus}-Expert" if options.corpus else "bundled scenes, made ratings"
    draw_picture(lines, title, options.output)
    for line in lines:
        print("  ".join(line.values()))


if __name__ == "__main__":
    main(parse())
