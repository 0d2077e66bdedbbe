"""Which sentence embedding sees most with few candidates? Figure B.1 of the distribution paper.

python -m scripts.studies.embeddings [--clip FOLDER] [--vectors NAME=FILE ...] [--output FOLDER]
    [--references FILE --predictions NAME=FILE ...]

Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518: MMD over embeddings of captions by several models.
Here by MiniLM (the default encoder of the collection), by the text encoder of a CLIP (--clip; without it tiny-pac, a
toy that knows only coloured shapes), by bags of the 5,000 commonest words, unit vectors all, and with --vectors by word
vectors, such as --vectors GloVe=glove.6B.300d.txt fastText=crawl-300d-2M.vec. Tests and candidates
come from the study `sensitivity`, exact too. "human" should not be rejected.

Written: embeddings.csv, a line for each system, number of candidates, trial and embedding; and the picture.
"""

import collections
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

import manycaps
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.clip_encoder import CLIP_LOAD_DEFAULTS, ClipEncoder
from manycaps.kit.vectors_models import read_word_vectors
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.studies.caption_rows import distinct_captions, read_captions
from scripts.studies.split_tests import TEST_COLUMNS, distribution_lines, draw_p_values, draw_trials, trial_cells
from scripts.studies.study_frame import StudyTable, study_settings
from scripts.studies.study_options import DAMAGES, Options, add_caption_options, study_parser
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, PURPLE, SKY

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=50)
parser.add_argument("--clip", metavar="FOLDER", help="checkpoint, as the option checkpoint of pac_score takes it")
parser.add_argument("--vectors", nargs="+", default=[], metavar="NAME=FILE", help="text files of GloVe or fastText")
parser.add_argument("--systems", nargs="+", choices=DAMAGES, default=("human", "w = 0.2", "w = 0.5", "repeated"))
parser.add_argument("--trials", type=int, default=3, metavar="N", help="draws of images and captions, default 3")
parser.add_argument("--draws", type=int, default=9_999, metavar="N", help="of the test over images, default 9999")
parse = parser.parse_args

NAME = "embeddings"
KEY = ("system", "n_candidates", "trial", "embedding")

# Words of a bag, as in appendix B.1.
N_WORDS = 5_000

COLORS = {"MiniLM": BLUE, "CLIP text": ORANGE, "bag of words": GREEN}
# Of word vectors.
MORE_COLORS = (SKY, PURPLE)


def bags_of_words(captions: Sequence[str]) -> np.ndarray:
    """Return unit vectors of word counts, shape (n_captions, at most 5,000 + 1); the last counts all other words.

    >>> bags_of_words(["a dog", "a cat"]).shape
    (2, 4)
    """
    tokens = ptb_tokenize(captions)
    counts = collections.Counter(word for caption in tokens for word in caption)
    # Words of equal counts in the order of the alphabet, so that the order of the captions changes nothing.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[:N_WORDS]
    places = {word: i for i, word in enumerate(ranked)}
    bags = np.zeros((len(captions), len(ranked) + 1))
    for bag, caption in zip(bags, tokens, strict=True):
        for word in caption:
            bag[places.get(word, len(ranked))] += 1
    return as_unit_vectors(bags)


def as_unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Divide vectors by their lengths; one of length 0 stays."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def embed_captions(captions: Sequence[str], clip: str | None, files: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the vectors of all captions by every embedding; `files` are NAME=FILE."""
    named = dict(file.split("=", 1) for file in files)
    encoder = ClipEncoder({**CLIP_LOAD_DEFAULTS, "checkpoint": clip or str(CHECKPOINT), "device": "cpu"}, tqdm)
    features = encoder.encode_texts(list(captions), 64)
    return {
        "MiniLM": SentenceEncoder().embed(list(captions), ENCODER_DEFAULTS, tqdm),
        "CLIP text": features.distinct[features.rows],
        "bag of words": bags_of_words(captions),
        **{name: read_word_vectors(file).means(captions) for name, file in named.items()},
    }


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    trials = draw_trials(captions, options.systems, options)

    @functools.cache
    def modules() -> dict[str, Any]:
        distinct = distinct_captions(*(side for drawn in trials for side in drawn.sides()))
        places = {caption: i for i, caption in enumerate(distinct)}
        return {
            name: manycaps.load("mmd_bert", encoder=lambda texts, v=vectors: v[[places[text] for text in texts]])
            for name, vectors in embed_captions(distinct, options.clip, options.vectors).items()
        }

    def study(system: str, n: int, trial: int, embedding: str) -> Iterator[list[Any]]:
        loaded = modules()[embedding]
        predictions = [row[:n] for row in trials[trial].candidates[system]]
        rows = loaded.rows_of(predictions, trials[trial].references, loaded.load_options)
        return distribution_lines("mmd_bert", rows, options.draws)

    systems = list(trials[0].candidates)
    by_system = sorted(trial_cells(trials, 2, captions.size[0]), key=lambda cell: (cell[2], systems.index(cell[0])))
    colors = COLORS | dict(zip((file.split("=")[0] for file in options.vectors), MORE_COLORS, strict=False))
    cells = [(*cell, name) for cell in by_system for name in colors]
    table = StudyTable(options.output, NAME, KEY, TEST_COLUMNS, study_settings(options))
    title = f"{captions.name}: MMD over several embeddings; grey: 5%; bands: all trials"
    styles = {name: (name, color, "-") for name, color in colors.items()}
    draw_p_values(table.fill(cells, study), options.output, NAME, title, "embedding", styles)


if __name__ == "__main__":
    main(parse())
