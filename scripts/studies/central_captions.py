"""Is the caption nearest to all others the barest one? Figures B.4 to B.7 of the distribution paper, counted.

python -m scripts.studies.central_captions [--references FILE] [--data FOLDER --corpus COCO] [--output FOLDER]

Chan et al. (2022), appendix B.3, https://arxiv.org/abs/2209.07518: of the captions of an image, the central one has the
least mean METEOR distance to the others, and is found to be sparse in detail on four examples. Here it is counted, for
METEOR, CIDEr-D and BERT distances: tokens, content words (those that are not among the 50 commonest of the captions
given), and the rarity of its rarest content word, -log of the share of images in whose captions it occurs. Each is the
central caption minus the mean of the others of its image, with a 95 % interval over images. The
central one is a candidate, the others its references; ties go to the first.

Written: central_captions.csv, and the picture; with --examples N, N images are printed. Needs scripts/requirements.txt
and metrics/trm_bert/requirements.txt.
"""

import argparse
import collections
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, numbers, study_settings
from scripts.studies.study_options import add_caption_options


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=500)
    parser.add_argument("--examples", type=int, default=0, metavar="N", help="images to print, default 0")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

import numpy as np

from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from scripts.studies.aggregated_scores import PLAIN_SCORES
from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.set_scores import CONFIDENCE_LEVEL, N_RESAMPLES, bootstrap_interval
from scripts.studies.study_inputs import Captions, read_captions
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, label_axes, new_picture

NAME = "central_captions"
KEY = ("distance",)
COLUMNS = ("detail", "n_images", "central", "others", "difference", "ci_low", "ci_high", "share_central_below")

# Options of the test run.
SMALL = ("--rows", "6")

# Commonest words, which are no content words.
N_COMMON = 50

DISTANCES = {"trm_meteor": "METEOR", "trm_cider": "CIDEr-D", "trm_bert": "BERT"}
COLORS = dict(zip(DISTANCES.values(), (BLUE, ORANGE, GREEN), strict=True))


class Details:
    """How much a caption says."""

    def __init__(self, images: Captions):
        """Count words and documents in the captions of all images."""
        tokens = [tokenize_captions(captions) for captions in images]
        words = collections.Counter(word for captions in tokens for caption in captions for word in caption)
        documents = collections.Counter(word for captions in tokens for word in {w for c in captions for w in c})
        self._common = {word for word, _ in words.most_common(N_COMMON)}
        self._rarity = {word: math.log(len(images) / n) for word, n in documents.items()}

    def of(self, tokens: Sequence[str]) -> dict[str, float]:
        """Return the measures of a caption's tokens."""
        content = [word for word in tokens if word not in self._common]
        return {
            "tokens": len(tokens),
            "content words": len(content),
            "rarest content word": max((self._rarity[word] for word in content), default=0.0),
        }


def central_places(measures: CaptionMeasures, module: str, images: Captions) -> list[int]:
    """Return which caption of each image is nearest to the others, as a candidate that they are the references of."""
    score = next(score for score in PLAIN_SCORES.values() if score.module == module)
    rows = measures.rows(module, "per_side", [captions[:1] for captions in images], [c[1:] for c in images])
    places = []
    for i in range(len(images)):
        scores = score.scores(rows.compare([i]).pair_values)[0]
        others = scores.sum(axis=1) - scores.diagonal()
        places.append(int(np.argmax(others.round(9))))
    return places


def study(measures: CaptionMeasures, details: Details, images: Captions, distance: str) -> Iterator[list[Any]]:
    """Yield the lines of a distance."""
    module = next(name for name, title in DISTANCES.items() if title == distance)
    places = central_places(measures, module, images)
    counted = [[details.of(tokens) for tokens in tokenize_captions(captions)] for captions in images]
    for detail in counted[0][0]:
        pairs = []
        for captions, place in zip(counted, places, strict=True):
            values = [caption[detail] for caption in captions]
            pairs.append((values[place], math.fsum(values[:place] + values[place + 1 :]) / (len(values) - 1)))
        central, others = np.array(pairs).T
        interval = bootstrap_interval(central - others, CONFIDENCE_LEVEL, N_RESAMPLES, seed=0)
        below = (central < others).mean()
        yield [detail, len(images), central.mean(), others.mean(), (central - others).mean(), *interval, below]


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw the differences of every detail with their intervals."""
    details = list(dict.fromkeys(line["detail"] for line in lines))
    with new_picture(output, NAME, 11, 3.6) as figure:
        for axes, detail in zip(figure.subplots(1, len(details)), details, strict=True):
            for place, (distance, color) in enumerate(COLORS.items()):
                mine = matching(lines, distance=distance, detail=detail)
                middle, low, high = (numbers(mine, column)[0] for column in ("difference", "ci_low", "ci_high"))
                axes.errorbar(place, middle, [[middle - low], [high - middle]], fmt="o", color=color, capsize=4)
            axes.axhline(0, color="#888888", lw=0.8)
            axes.set_xticks(range(len(COLORS)), list(COLORS))
            axes.set_xlim(-0.6, len(COLORS) - 0.4)
            unit = "nats" if detail.startswith("rarest") else "words"
            label_axes(axes, "distance", f"{detail} ({unit})", better="below 0: the central one says less")
        figure.suptitle(f"{title}: the central caption of an image minus its others; 95 % intervals over images")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    rng = np.random.default_rng(options.seed)
    n_images = min(options.rows, len(captions.images))
    images = [captions.images[i] for i in np.sort(rng.choice(len(captions.images), n_images, replace=False))]
    measures = CaptionMeasures(caption for row in images for caption in row)
    details = Details(images)
    lines = table.fill([(title,) for title in DISTANCES.values()], lambda d: study(measures, details, images, d))
    for row, place in list(zip(images, central_places(measures, "trm_meteor", images), strict=True))[
        : options.examples
    ]:
        print("\n".join(f"{'>' if i == place else ' '} {caption}" for i, caption in enumerate(row)), end="\n\n")
    draw_picture(lines, captions.name, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
