"""Is the caption nearest to all others the barest one? Figures B.4 to B.7 of the distribution paper, counted.

python -m scripts.studies.central_captions [--references FILE] [--data FOLDER --corpus COCO] [--output FOLDER]

Chan et al. (2022), appendix B.3, https://arxiv.org/abs/2209.07518: of the captions of an image, the central one has the
least mean METEOR distance to the others, and is found to be sparse in detail on four examples. Here it is counted, for
METEOR, CIDEr-D and BERT distances: tokens, content words (those that are not among the 50 commonest of the captions
given), and the rarity of its rarest content word, -log of the share of images in whose captions it occurs. Each is the
central caption minus the mean of the others of its image, with a 95% interval over images. The
central one is a candidate, the others its references; ties go to the first.

Written: central_captions.csv, and the picture.
"""

import collections
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from manycaps.kit.words_ptb import ptb_tokenize
from scripts.studies.caption_rows import CaptionMeasures, Captions, bootstrap_interval, read_captions
from scripts.studies.split_tests import PLAIN_SCORES
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, study_settings
from scripts.studies.study_options import Options, add_caption_options, study_parser
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, label_axes, new_picture

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=500)
parse = parser.parse_args

NAME = "central_captions"
KEY = ("distance",)
COLUMNS = ("detail", "n_images", "central", "others", "difference", "ci_low", "ci_high", "share_central_below")

# Commonest words, which are no content words.
N_COMMON = 50

# Plain score whose distances are taken, and colour.
DISTANCES = {"METEOR": ("meteor", BLUE), "CIDEr-D": ("cider_d", ORANGE), "BERT": ("bert", GREEN)}


def details(images: Captions) -> list[list[dict[str, float]]]:
    """Measure how much each caption says."""
    tokens = [ptb_tokenize(captions) for captions in images]
    words = collections.Counter(word for captions in tokens for caption in captions for word in caption)
    documents = collections.Counter(word for captions in tokens for word in {w for c in captions for w in c})
    common = {word for word, _ in words.most_common(N_COMMON)}
    rarity = {word: math.log(len(images) / n) for word, n in documents.items()}

    def measure(caption: Sequence[str]) -> dict[str, float]:
        content = [word for word in caption if word not in common]
        rarest = max((rarity[word] for word in content), default=0.0)
        return {"tokens": len(caption), "content words": len(content), "rarest content word": rarest}

    return [[measure(caption) for caption in captions] for captions in tokens]


def central_places(measures: CaptionMeasures, plain: str, images: Captions) -> list[int]:
    """Return which caption of each image is nearest to the others, as a candidate that they are the references of."""
    score = PLAIN_SCORES[plain]
    rows = measures.rows(score.module, [captions[:1] for captions in images], [c[1:] for c in images])
    places = []
    for i in range(len(images)):
        scores = score.scores(rows.compare([i]).pair_values)[0]
        others = scores.sum(axis=1) - scores.diagonal()
        places.append(int(np.argmax(others.round(9))))
    return places


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw the differences of every detail with their intervals."""
    shown = distinct(lines, "detail")
    with new_picture(output, NAME, 11, 3.6) as figure:
        for axes, detail in zip(figure.subplots(1, len(shown)), shown, strict=True):
            for place, (distance, (_, color)) in enumerate(DISTANCES.items()):
                mine = matching_lines(lines, distance=distance, detail=detail)
                middle, low, high = (numbers(mine, column)[0] for column in ("difference", "ci_low", "ci_high"))
                axes.errorbar(place, middle, [[middle - low], [high - middle]], fmt="o", color=color, capsize=4)
            axes.axhline(0, color="#888888", lw=0.8)
            axes.set_xticks(range(len(DISTANCES)), list(DISTANCES))
            axes.set_xlim(-0.6, len(DISTANCES) - 0.4)
            unit = "nats" if detail.startswith("rarest") else "words"
            label_axes(axes, "distance", f"{detail} ({unit})", better="below 0: the central one says less")
        figure.suptitle(f"{title}: the central caption of an image minus its others; 95% intervals over images")


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    rng = np.random.default_rng(options.seed)
    n_images = min(options.rows, len(captions.images))
    images = [captions.images[i] for i in np.sort(rng.choice(len(captions.images), n_images, replace=False))]
    measures = CaptionMeasures(images)

    def study(distance: str) -> Iterator[list[Any]]:
        counted = details(images)
        places = central_places(measures, DISTANCES[distance][0], images)
        for detail in counted[0][0]:
            rows = [[caption[detail] for caption in row] for row in counted]
            central = np.array([row.pop(place) for row, place in zip(rows, places, strict=True)])
            others = np.array([math.fsum(row) / len(row) for row in rows])
            means = central.mean(), others.mean(), (central - others).mean()
            yield [detail, n_images, *means, *bootstrap_interval(central - others), (central < others).mean()]

    cells = [(distance,) for distance in DISTANCES]
    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(cells, study)
    draw_picture(lines, captions.name, options.output)


if __name__ == "__main__":
    main(parse())
