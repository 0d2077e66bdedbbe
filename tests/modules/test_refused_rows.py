"""Rows and combinations of options that do not go together are named, module by module, and no row is kept."""

import math

import numpy as np
import pandas
import pytest

from manycaps.catalog import MODULES
from tests.each_case import each_case
from tests.modules.conftest import DISTRIBUTION_FOLDERS
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, SAMPLE_INPUTS, VIDEOS, loaded
from tests.modules.stand_ins import as_arrays, bag_of_words

PAC = ("pac_score", "ref_pac_score")
DISTRIBUTIONS = [folder.name for folder in DISTRIBUTION_FOLDERS]
CAPTIONS_ALONE = [name for name, record in MODULES.items() if set(record.columns) == {"predictions", "references"}]


def assert_refused(name, given, error, message):
    """The call raises this error, whose text begins so and ends in a sentence, and leaves no row behind."""
    with pytest.raises(error) as raised:
        loaded(name).compute(**given)
    text = str(raised.value)
    assert text.startswith(message), text
    assert text.rstrip().endswith((".", "]."))
    assert len(loaded(name)) == 0


def last(column, row):
    """The sample rows with another last one in a column."""
    return {column: [*CAPTION_ROWS[column][:3], row]}


OF_CAPTIONS = [
    ({"predictions": 3}, TypeError, "predictions: expected a list of rows"),
    ({"predictions": "a dog"}, TypeError, "predictions: expected a list of rows"),
    ({"predictions": None}, TypeError, "predictions: expected a list of rows"),
    ({"references": {"a": 1}}, TypeError, "references: expected a list of rows"),
    ({"predictions": [], "references": []}, ValueError, "predictions: expected at least one row, got none"),
    ({"references": [["a", "b"]]}, ValueError, "references: expected one row for each of the 4 rows"),
    (last("references", 3), TypeError, "references[3]: expected a list of captions, got int"),
    (last("predictions", None), TypeError, "predictions[3]: expected a list of captions, got None"),
    (
        last("references", "a dog"),
        TypeError,
        "references[3]: expected a list of captions as in row 0, got a string. Wrap it in a list",
    ),
    (last("predictions", []), ValueError, "predictions[3]: expected at least one caption, got an"),
    (last("predictions", ["a dog", 3]), TypeError, "predictions[3][1]: expected a caption (a string), got int (3)"),
    (last("references", ["a dog", None]), TypeError, "references[3][1]: expected a caption (a string), got None"),
    (last("references", ["a", "b", math.nan]), TypeError, "references[3][2]: expected a caption (a string), got float"),
    (last("predictions", [["a", "dog"], "b"]), TypeError, "predictions[3][0]: expected a caption (a string), got list"),
    (
        last("references", ["a dog", "smile \ud83d"]),
        ValueError,
        r"references[3][1]: expected valid Unicode, got the lone surrogate '\ud83d' at character 6",
    ),
    (
        last("references", pandas.DataFrame({"captions": ["a dog"], "id": 1})),
        TypeError,
        "references[3]: expected a list of captions, got a table (DataFrame) with the columns ['captions', 'id']. Give "
        "one column of it, for example table['captions'].",
    ),
]


@each_case("name", CAPTIONS_ALONE)
@each_case(("changes", "error", "message"), OF_CAPTIONS)
def test_bad_captions(name, changes, error, message):
    assert_refused(name, CAPTION_ROWS | changes, error, message)


@each_case("name", DISTRIBUTIONS)
def test_rows_and_options_of_a_test(name):
    rows = {"predictions": [["a", "b"], ["c"]], "references": [["d", "e"], ["f"]]}
    # With references[1], or without where every set needs two.
    assert_refused(name, rows, ValueError, "predictions[1]")
    one = {column: rows[:1] for column, rows in CAPTION_ROWS.items()} | {"confidence_level": 0.95}
    assert_refused(name, one, ValueError, "confidence_level: expected at least 2 rows")


def ready(kind, rows, n_candidates=2, **options):
    """Ready values of pairs, as trm and mmd take them."""
    return {kind: rows, "n_candidates": n_candidates, **options}


def returns(value):
    return lambda first, second: value


SQUARE = [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
ONES = dict.fromkeys(("prediction_embeddings", "reference_embeddings"), np.ones((1, 2, 3)))

OF_TRM = [
    (CAPTION_ROWS | {"distance": returns(0.5)}, ValueError, "distance: expected 20 numbers from the"),
    (CAPTION_ROWS | {"distance": returns(None)}, ValueError, "distance: expected 20 numbers from the"),
    (CAPTION_ROWS | {"distance": returns("far")}, TypeError, "distance: expected 20 numbers from the"),
    (
        CAPTION_ROWS | {"distance": lambda xs, ys: [0.0, math.nan] + [1.0] * (len(xs) - 2)},
        ValueError,
        "distance: expected finite numbers from the function, got nan for pair 1 of 20.",
    ),
    (
        as_arrays(bag_of_words) | {"distance": returns([])},
        ValueError,
        "prediction_embeddings: expected captions for a distance of texts, got vectors.",
    ),
    (
        ONES | {"distance": "correlation"},
        ValueError,
        "distance='correlation': expected vectors that have this distance, got a row in which that of texts 0 and 1",
    ),
    ({"distances": [SQUARE]}, TypeError, "n_candidates: expected a whole number, or one per row, got"),
    ({"n_candidates": 2}, TypeError, "distances: expected a list of arrays of shape (n_texts, n_texts)"),
    (ready("distances", []), ValueError, "distances: expected at least one row, got none."),
    (ready("distances", "far"), TypeError, "distances: expected a list of arrays of shape"),
    (
        ready("distances", [SQUARE, SQUARE[:2]], 1),
        ValueError,
        "distances[1]: expected shape (n_texts, n_texts), got (2, 3).",
    ),
    (ready("distances", [[[0.0], [1.0, 2.0]]], 1), TypeError, "distances[0]: expected an array of"),
    (
        ready("distances", [np.eye(3)], 1),
        ValueError,
        "distances[0][0][0]: expected 0, the distance of a text from itself, got 1.0.",
    ),
    (
        ready("distances", [[[0.0, math.inf, 1.0], *SQUARE[1:]]], 1),
        ValueError,
        "distances[0][0][1]: expected a finite number, got inf (1 such numbers in all).",
    ),
    (
        ready("distances", [np.ma.masked_equal(SQUARE, 2.0)], 1),
        TypeError,
        "distances[0]: expected an array of numbers, got MaskedArray",
    ),
    (
        ready("distances", [[[0.0, 1.0], [1.0, 0.0]]], 1),
        ValueError,
        "distances[0], n_candidates[0]: expected at least 3 captions in all,",
    ),
    (ready("distances", [SQUARE], 0), ValueError, "n_candidates: expected a whole number of"),
    (
        ready("distances", [SQUARE], [3]),
        ValueError,
        "n_candidates[0]: expected at most 2 of the 3 texts of distances[0], got 3.",
    ),
    (ready("distances", [SQUARE], 1.5), TypeError, "n_candidates: expected a whole number, got float."),
    (
        ready("distances", [SQUARE], [1, 1]),
        ValueError,
        "n_candidates: expected one number for each of the 1 rows of distances, got [1, 1].",
    ),
    (ready("distances", [SQUARE], "two"), TypeError, "n_candidates: expected a whole number"),
    (
        CAPTION_ROWS | ready("distances", [SQUARE]),
        ValueError,
        "distances: expected distances in place of captions and embeddings, got both.",
    ),
]

GRAM = np.eye(4)
VECTORS = dict(zip(ONES, np.random.default_rng(0).normal(size=(2, 2, 3, 3)), strict=True))

OF_MMD = [
    (VECTORS | {"preset": "kid"}, ValueError, "subset_size: expected at most 6, the size of the"),
    (VECTORS | {"pooled": True, "kernel": "linear"}, ValueError, "pooled: expected kernel='rbf' with one"),
    (
        VECTORS | {"estimator": "authors", "sigma": [1, 2]},
        ValueError,
        "estimator: expected kernel='rbf' with one bandwidth for estimator='authors', got 'rbf' with sigma=[1, 2].",
    ),
    (
        CAPTION_ROWS | {"preset": "kid", "subset_size": 2},
        OSError,
        "preset='kid': expected ready features (the 2,048 numbers of Inception's last pooling), got captions.",
    ),
    (
        {name: array * 1e60 for name, array in VECTORS.items()} | {"kernel": "polynomial", "degree": 10},
        ValueError,
        "kernel='polynomial': expected kernel values within the range of float64, got infinite ones.",
    ),
    ({"kernels": [GRAM]}, TypeError, "n_candidates: expected a whole number, or one per row, got None."),
    (ready("kernels", "k"), TypeError, "kernels: expected a list of arrays of shape"),
    (ready("kernels", []), ValueError, "kernels: expected at least one row, got none."),
    (ready("kernels", [GRAM[:3]]), ValueError, "kernels[0]: expected shape (n_texts, n_texts), got (3, 4)."),
    (
        ready("kernels", [GRAM, np.triu(np.ones((4, 4)))]),
        ValueError,
        "kernels[1]: expected a symmetric array, got one in which k(a, b) is not k(b, a).",
    ),
    (ready("kernels", [GRAM * math.nan]), ValueError, "kernels[0][0][0]: expected a finite number"),
    (ready("kernels", [GRAM], 1), ValueError, "kernels[0]: expected at least two captions"),
    (CAPTION_ROWS | ready("kernels", [GRAM]), ValueError, "kernels: expected kernels in place of"),
    (
        ready("kernels", [GRAM], pooled=True),
        ValueError,
        "pooled: expected features for pooled=True, got ready kernels.",
    ),
    (
        ready("kernels", [GRAM], estimator="authors"),
        ValueError,
        "estimator: expected 'unbiased' or 'biased' for ready kernels, got 'authors'.",
    ),
]

SETS = {"prediction_images": IMAGES[:2], "reference_images": IMAGES[2:]}
LIST_OF_IMAGES = ": expected a list of images, or of lists of images, got"

# Columns of images, each in place of either column.
OF_IMAGES = [
    ("a.png", TypeError, f"{LIST_OF_IMAGES} one image."),
    (IMAGES[0], TypeError, f"{LIST_OF_IMAGES} ndarray."),
    (3, TypeError, f"{LIST_OF_IMAGES} int."),
    ({"a": IMAGES[0]}, TypeError, f"{LIST_OF_IMAGES} dict."),
    ([], ValueError, ": expected at least one image, got an empty list."),
    ([None], ValueError, ": expected at least one image, got None."),
    ([IMAGES, []], ValueError, "[1]: expected at least one image, got an empty list."),
    ([IMAGES, IMAGES[0]], TypeError, "[1]: expected a list of images as in the first row, got ndarray."),
    (["no.png"], ValueError, "[0]: expected "),
    ([[*IMAGES, "no.png"]], ValueError, "[0][4]: expected "),
    ([IMAGES[0], "https://example.org/a.png"], ValueError, "[1]: expected "),
    ([IMAGES[0], IMAGES[1] / 1.0], ValueError, "[1]: expected floats from 0 to 1, got "),
]

OF_CLIP_SETS = [
    *((SETS | {column: value}, error, column + text) for value, error, text in OF_IMAGES for column in SETS),
    (
        SETS | {"reference_images": [IMAGES[:2], IMAGES[2:]]},
        ValueError,
        "reference_images: expected one set for each of the 1 rows of prediction_images, got 2.",
    ),
    (SETS | {"predictions": ["a"]}, ValueError, "prediction_images: expected images in place of prediction"),
    (
        {"prediction_images": IMAGES},
        ValueError,
        "reference_images: expected images, or captions as references, got neither.",
    ),
    (
        SETS | {"prediction_embeddings": np.ones((1, 2, 3))},
        ValueError,
        "prediction_images: expected images in place of ready embeddings and of rows added before, got both.",
    ),
    (
        {"predictions": [3], "reference_images": IMAGES},
        TypeError,
        "predictions[0]: expected a list of captions, got int",
    ),
    (
        {"predictions": "a dog", "reference_images": IMAGES},
        TypeError,
        "predictions: expected a list of rows, each a list of captions, got str",
    ),
    (SETS | {"encoder": bag_of_words}, ValueError, "encoder: expected 'clip' beside images,"),
    (SETS | {"encoder": "a/b"}, ValueError, "encoder: expected 'clip' beside images,"),
    (SETS | {"dtype": "float16"}, ValueError, "dtype: expected one of 'float32', 'bfloat16', got 'float16'."),
    (CAPTION_ROWS | {"encoder": "clip", "dtype": "float16"}, ValueError, "dtype: expected one of 'float"),
    (SETS | {"checkpoint": "no/file.pth"}, ValueError, "checkpoint: expected a file, a folder or a"),
    (SETS | {"preset": "kid"}, OSError, "preset='kid': expected ready features (the 2,048 numbers of Inception's"),
    (
        CAPTION_ROWS | {"preset": "cmmd", "encoder": bag_of_words},
        ValueError,
        "encoder: expected 'clip' for preset='cmmd'",
    ),
    (
        CAPTION_ROWS | {"preset": "cmmd", "encoder": "a/b"},
        ValueError,
        "encoder: expected 'clip' for preset='cmmd' of capt",
    ),
    (
        SETS | {"prediction_images": IMAGES[:1] * 9_999, "preset": "cmmd"},
        ValueError,
        "prediction_images[0]: expected at most 10,000 images and captions in",
    ),
]

ONE, TWO = np.ones((1, 24)), np.ones((2, 24))
FEATURES = {"images": TWO, "prediction_embeddings": [ONE, TWO], "reference_embeddings": [ONE, ONE]}
IMAGE_FEATURES = "images[0]: expected features of an image, floats of shape (d,), "
FINITE = "images[0]: expected finite features that are not all 0 as f"

# What does not go together with ready features of CLIP.
OF_FEATURES = [
    ({"predictions": ["a", "b"]}, ValueError, "prediction_embeddings: expected embeddings instead of"),
    ({"references": [["a"], ["b"]]}, ValueError, "prediction_embeddings: expected embeddings instea"),
    ({"reference_embeddings": None}, TypeError, "reference_embeddings: expected a list of arrays of shape"),
    ({"images": None}, TypeError, "images: expected a list of images, got one NoneType."),
    ({"images": IMAGES[:2]}, TypeError, IMAGE_FEATURES),
    ({"images": ["a.png", "b.png"]}, TypeError, IMAGE_FEATURES),
    ({"images": ONE}, ValueError, "images: expected one image for each of the 2 rows of prediction"),
    ({"reference_embeddings": [ONE]}, ValueError, "reference_embeddings: expected one array for "),
    ({"images": np.ones((2, 23))}, ValueError, "images[0]: expected 24 features per image, as "),
    ({"prediction_embeddings": [ONE, TWO[:, :5]]}, ValueError, "prediction_embeddings[1]: expected 24"),
    ({"images": 0 * TWO}, ValueError, FINITE),
    ({"images": np.full((2, 24), np.nan)}, ValueError, FINITE),
    ({"prediction_embeddings": [ONE, 0 * TWO]}, ValueError, "prediction_embeddings[1][0]: expected fini"),
    ({"images": np.ones((2, 24), int)}, TypeError, "images: expected a list of images, got one array of sh"),
]

# Of rows with one image each.
OF_PAC = [
    ({"images": IMAGES[:3]}, ValueError, "images: expected one image for each of the 4 rows of predictions, got 3"),
    ({"images": None}, TypeError, "images: expected a list of images, got one NoneType"),
    ({"images": "dog.jpg"}, TypeError, "images: expected a list of images, got one str"),
    ({"images": ["https://a.org/b.jpg"] * 4}, ValueError, "images[0]: expected a local path, got the address"),
    (
        {"images": [IMAGES[0], np.ones(48), *IMAGES[2:]]},
        ValueError,
        "images[1]: expected 24 features per image, as this checkpoint has, got 48. Encode the image with the same "
        "checkpoint.",
    ),
]

# Columns that modules with images or videos share with those of captions alone.
OF_PREDICTIONS = [case for case in OF_CAPTIONS if case[0].keys() == {"predictions"}]

OF_VIDEOS = [
    ({"videos": VIDEOS[:3]}, ValueError, "videos: expected one video for each of the 4 rows of predictions, got 3."),
    ({"videos": None}, TypeError, "videos: expected a list of videos, got one NoneType."),
    ({"videos": "clip.mp4"}, TypeError, "videos: expected a list of videos, got one str."),
    ({"videos": np.ones((4, 24))}, TypeError, "videos: expected a list of videos, got one ndarray."),
    ({"videos": ["https://a.org/b.mp4"] * 4}, ValueError, "videos[0]: expected a local path, got the address"),
    ({"videos": [VIDEOS[0], "gone.mp4", *VIDEOS[2:]]}, ValueError, "videos[1]: expected a video file, got 'gone.mp4"),
    ({"videos": [VIDEOS[0], [], *VIDEOS[2:]]}, ValueError, "videos[1]: expected at least one frame, got none."),
    ({"videos": [np.ones((2, 5))] * 4}, ValueError, "videos[0]: expected 24 features per frame, as this checkpoin"),
]

BAD_TOKENS = [lambda caption: caption, lambda caption: None, lambda caption: [1, 2]]
OF_SET_DIVERSITY = [
    *(({"tokenizer": tokenizer}, TypeError, "tokenizer: expected") for tokenizer in BAD_TOKENS),
    (
        {"kernels": (lambda captions: np.zeros((1, 1)),)},
        ValueError,
        "kernels: expected a symmetric matrix of shape (2, 2) with",
    ),
    ({"document_frequency": {}}, ValueError, "document_frequency: expected the layout"),
    ({"document_frequency": "no_such_file.json"}, ValueError, "document_frequency: expected"),
    (
        {"document_frequency": {"n_documents": -1, "document_frequency": {"a": 1}}},
        ValueError,
        "document_frequency: expected",
    ),
    (
        {"document_frequency": {"n_documents": 3, "document_frequency": {"a": "1"}}},
        ValueError,
        "document_frequency['a']: expected a",
    ),
]

ONE_SIDED = {"predictions": [["a", "b"], ["c"]], "references": [["d", "e"], ["f", "g"]], "encoder": bag_of_words}
ONE_VECTOR = {"prediction_embeddings": [np.ones((1, 2))], "reference_embeddings": [np.ones((3, 2))]}
TOO_FEW = "expected at least two captions, got one"


def letters(captions):
    """Vectors of which some are zero, and have no cosine."""
    return np.array([[caption.count("b"), caption.count("e")] for caption in captions], dtype=float)


OF_EMBEDDINGS = [
    ("mmd_bert", ONE_SIDED, ValueError, f"predictions[1]: {TOO_FEW} (1 such rows in all). estimator='unbias"),
    ("mmd_bert", ONE_SIDED | {"estimator": "authors"}, ValueError, f"predictions[1]: {TOO_FEW}"),
    ("fid_bert", ONE_SIDED, ValueError, f"predictions[1]: {TOO_FEW} (1 such rows in all). One caption has no"),
    ("mmd_bert", ONE_VECTOR, ValueError, f"prediction_embeddings[0]: {TOO_FEW}"),
    ("mmd_bert", ONE_VECTOR | {"estimator": "authors"}, ValueError, f"prediction_embeddings[0]: {TOO_FEW}"),
    ("fid_bert", ONE_VECTOR, ValueError, f"prediction_embeddings[0]: {TOO_FEW}"),
    (
        "trm_bert",
        {"predictions": [["a"]], "references": [["b"]]},
        ValueError,
        "predictions[0], references[0]: expected at least 3 captions in all",
    ),
    (
        "trm_bert",
        ONE_SIDED | {"encoder": letters},
        ValueError,
        "predictions[0][0]: expected an embedding that is not all zeros",
    ),
]

CASES = [
    *OF_EMBEDDINGS,
    *(("trm", *case) for case in OF_TRM),
    *(("mmd", *case) for case in OF_MMD + OF_CLIP_SETS),
    (
        "trm",
        SETS | {"distance": returns([])},
        ValueError,
        "distance: expected a name of scipy's for images, got a distance of texts",
    ),
    *(("ref_pac_score", FEATURES | changes, *case) for changes, *case in OF_FEATURES),
    *((name, SAMPLE_INPUTS[name] | changes, *case) for name in PAC for changes, *case in OF_PAC + OF_PREDICTIONS),
    *(("emscore_pac", SAMPLE_INPUTS["emscore_pac"] | changes, *case) for changes, *case in OF_VIDEOS),
    *(
        ("set_diversity", CAPTION_ROWS | {"kernels": ("ngram",)} | changes, *case)
        for changes, *case in OF_SET_DIVERSITY
    ),
]


@each_case(("name", "given", "error", "message"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_what_does_not_go_together(name, given, error, message):
    assert_refused(name, given, error, message)
