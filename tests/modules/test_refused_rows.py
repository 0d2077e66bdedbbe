"""Rows, and options beside them, that do not go together are named, module by module, and no row is kept."""

import functools
import math

import numpy as np
import pandas
import pytest

from manycaps.catalog.modules import MODULES
from tests.modules.conftest import DISTRIBUTION_FOLDERS
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, SAMPLE_INPUTS, VIDEOS, as_arrays, bag_of_words, module_of

CAPTIONS_ALONE = [name for name, record in MODULES.items() if set(record.columns) == {"predictions", "references"}]


def last(column, row):
    """The sample rows with another last one in a column."""
    return {column: [*CAPTION_ROWS[column][:3], row]}


BAD_TABLE = pandas.DataFrame({"captions": ["a dog"], "id": 1})

# Of each kind of error, what is given and how the message begins. These columns are given beside good ones.
OF_CAPTIONS = {
    TypeError: [
        ({"predictions": "a dog"}, "predictions: expected a list of rows"),
        (last("predictions", None), "predictions[3]: expected a list of captions, got None"),
        (last("references", ["a", "b", math.nan]), "references[3][2]: expected a caption (a string), got float (nan)"),
        (
            last("references", ["a", {"raw": "b"}]),
            "references[3][1]: expected a caption (a string), got dict ({'raw': 'b'}). Give the text of a record, ",
        ),
        (
            {"references": ["a", "b", "c", math.nan]},
            "references[3]: expected a caption (a string), got float (nan). Decode or drop this caption.",
        ),
        (
            last("references", BAD_TABLE),
            "references[3]: expected a list of captions, got a table (DataFrame) with the columns ['captions', 'id']. "
            "Give one column of it, for example table['captions'].",
        ),
    ],
    ValueError: [
        ({"predictions": [], "references": []}, "predictions: expected at least one row, got none"),
        ({"references": [["a", "b"]]}, "references: expected one row for each of the 4 rows"),
        (last("predictions", []), "predictions[3]: expected at least one caption, got an"),
        (
            last("references", ["a dog", "smile \ud83d"]),
            r"references[3][1]: expected valid Unicode, got the lone surrogate '\ud83d' at character 6",
        ),
    ],
}

# Too few texts for a test: with references[1], or without where every set needs two.
OF_DISTRIBUTIONS = {
    ValueError: [
        ({"predictions": [["a", "b"], ["c"]], "references": [["d", "e"], ["f"]]}, "predictions[1]"),
        (
            {column: rows[:1] for column, rows in CAPTION_ROWS.items()} | {"confidence_level": 0.95},
            "confidence_level: expected at least 2 rows",
        ),
    ]
}


def ready(kind, rows, n_candidates=2, **options):
    """Ready values of pairs, as trm and mmd take them."""
    return {kind: rows, "n_candidates": n_candidates, **options}


distances, kernels = functools.partial(ready, "distances"), functools.partial(ready, "kernels")
SQUARE = [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
ONES = dict.fromkeys(("prediction_embeddings", "reference_embeddings"), np.ones((1, 2, 3)))
SETS = {"prediction_images": IMAGES[:2], "reference_images": IMAGES[2:]}

OF_TRM = {
    TypeError: [
        ({"distances": [SQUARE]}, "n_candidates: expected a whole number, or one per row, got"),
        ({"n_candidates": 2}, "distances: expected a list of arrays of shape (n_texts, n_texts)"),
        (distances([[[0.0], [1.0, 2.0]]], 1), "distances[0]: expected an array of"),
        (distances([np.ma.masked_equal(SQUARE, 2)], 1), "distances[0]: expected an array of numbers, got MaskedArray"),
        (distances([SQUARE], 1.5), "n_candidates: expected a whole number, got float."),
    ],
    ValueError: [
        (
            as_arrays(bag_of_words) | {"distance": lambda first, second: []},
            "prediction_embeddings: expected captions for a distance of texts, got vectors.",
        ),
        (
            SETS | {"distance": lambda first, second: []},
            "distance: expected a name of scipy's for images, got a distance of texts",
        ),
        (
            ONES | {"distance": "correlation"},
            "distance='correlation': expected vectors that have this distance, got a row in which it is not finite",
        ),
        (distances([]), "distances: expected at least one row, got none."),
        (distances([np.eye(3)], 1), "distances[0][0][0]: expected 0, a text from itself, got 1.0."),
        (distances([SQUARE, SQUARE[:2]], 1), "distances[1]: expected shape (n_texts, n_texts), got (2, 3)."),
        (
            distances([[[0.0, math.inf, 1.0], *SQUARE[1:]]], 1),
            "distances[0][0][1]: expected a finite number of size at most 1e+100, got inf (1 in all).",
        ),
        (distances([1 - np.eye(2)], 1), "distances[0], n_candidates[0]: expected at least 3 captions in all,"),
        (distances([SQUARE], [3]), "n_candidates[0]: expected at most 2 of the 3 texts of distances[0], got 3."),
        (
            distances([SQUARE], [1, 1]),
            "n_candidates: expected one number for each of the 1 rows of distances, got [1, 1].",
        ),
        (
            CAPTION_ROWS | distances([SQUARE]),
            "distances: expected distances alone, got other columns or rows added before as well.",
        ),
    ],
}

GRAM = np.eye(4)
VECTORS = dict(zip(ONES, np.random.default_rng(0).normal(size=(2, 2, 3, 3)), strict=True))

OF_BOTH = {
    ValueError: [(as_arrays(bag_of_words), "prediction_embeddings: expected embeddings alone, got captions or rows")]
}

OF_MMD = {
    ValueError: [
        (VECTORS | {"pooled": True, "kernel": "linear"}, "pooled: expected kernel='rbf' with one"),
        (
            VECTORS | {"estimator": "authors", "sigma": [1, 2]},
            "estimator: expected kernel='rbf' with one bandwidth for estimator='authors', got 'rbf' with sigma=[1, 2].",
        ),
        (
            kernels([GRAM, np.triu(np.ones((4, 4)))]),
            "kernels[1]: expected a symmetric array, got one in which k(a, b) is not k(b, a).",
        ),
        (kernels([GRAM * math.nan]), "kernels[0][0][0]: expected a finite number"),
        (kernels([GRAM], 1), "kernels[0]: expected at least two captions"),
        (kernels([GRAM], pooled=True), "pooled: expected features for pooled=True, got ready kernels."),
        (
            kernels([GRAM], estimator="authors"),
            "estimator: expected 'unbiased' or 'biased' for ready kernels, got 'authors'.",
        ),
    ],
    OSError: [
        (
            CAPTION_ROWS | {"preset": "kid", "subset_size": 2},
            "preset='kid': expected ready features (the 2,048 numbers of Inception's last pooling), got captions.",
        )
    ],
}

# Columns of images, each in place of either column.
OF_IMAGES = {
    TypeError: [
        ("a.png", ": expected a list of images, or of lists of images, got one image."),
        (IMAGES[0], ": expected a list of images, or of lists of images, got ndarray."),
        ([IMAGES, IMAGES[0]], "[1]: expected a list of images as in the first row, got ndarray."),
    ],
    ValueError: [
        ([], ": expected at least one image, got an empty list."),
        ([IMAGES, []], "[1]: expected at least one image, got an empty list."),
        ([[*IMAGES, "no.png"]], "[0][4]: expected "),
    ],
}

OF_CLIP_SETS = {
    ValueError: [
        (
            SETS | {"reference_images": [IMAGES[:2], IMAGES[2:]]},
            "reference_images: expected one set for each of the 1 rows of prediction_images, got 2.",
        ),
        (
            SETS | {"predictions": ["a"]},
            "prediction_images: expected one of prediction_images and predictions, got both.",
        ),
        ({"prediction_images": IMAGES}, "reference_images: expected one of reference_images and references, got none."),
        (
            SETS | {"prediction_embeddings": np.ones((1, 2, 3))},
            "prediction_images: expected images alone, got embeddings or rows added before as well.",
        ),
        (SETS | {"encoder": bag_of_words}, "encoder: expected 'clip' for images,"),
        (SETS | {"dtype": "float16"}, "dtype: expected one of 'float32', 'bfloat16', got 'float16'."),
        (
            CAPTION_ROWS | {"encoder": "clip", "long_texts": "window"},
            "long_texts: expected 'truncate' with encoder='clip', got 'window'. Give",
        ),
        (CAPTION_ROWS | {"preset": "cmmd", "encoder": bag_of_words}, "encoder: expected 'clip' for preset='cmmd'"),
        (
            SETS | {"prediction_images": IMAGES[:1] * 9_999, "preset": "cmmd"},
            "prediction_images[0]: expected at most 10,000 images and captions in",
        ),
    ]
}

ONE, TWO = np.ones((1, 24)), np.ones((2, 24))
FEATURES = {"images": TWO, "prediction_embeddings": [ONE, TWO], "reference_embeddings": [ONE, ONE]}
IMAGE_FEATURES = "images[0]: expected features of an image, floats of shape (d,), "
FINITE = "images[0]: expected finite features that are not all 0 as f"

# What does not go together with ready features of CLIP.
OF_FEATURES = {
    TypeError: [
        ({"reference_embeddings": None}, "reference_embeddings: expected a list of arrays of shape"),
        ({"images": ["a.png", "b.png"]}, IMAGE_FEATURES),
        ({"images": [np.ma.masked_less(ONE[0], 2), ONE[0]]}, "images[0]: expected an array of numbers, got Masked"),
        ({"images": np.ones((2, 24), int)}, "images: expected a list of images, got one array of sh"),
    ],
    ValueError: [
        ({"predictions": ["a", "b"]}, "prediction_embeddings: expected embeddings alone"),
        ({"images": ONE}, "images: expected one image for each of the 2 rows of prediction"),
        ({"reference_embeddings": [ONE]}, "reference_embeddings: expected one array for "),
        ({"images": np.ones((2, 23))}, "images[0]: expected 24 features per image, as "),
        ({"prediction_embeddings": [ONE, TWO[:, :5]]}, "prediction_embeddings[1]: expected 24"),
        ({"images": 0 * TWO}, FINITE),
        ({"prediction_embeddings": [ONE, 0 * TWO]}, "prediction_embeddings[1][0]: expected fini"),
    ],
}

# Of rows with one image each.
OF_PAC = {
    TypeError: [({"images": "dog.jpg"}, "images: expected a list of images, got one str")],
    ValueError: [
        ({"images": IMAGES[:3]}, "images: expected one image for each of the 4 rows of predictions, got 3"),
        (
            {"images": [IMAGES[0], np.ones(48), *IMAGES[2:]]},
            "images[1]: expected 24 features per image, as this checkpoint has, got 48. Encode the image with the same "
            "checkpoint.",
        ),
    ],
}

OF_VIDEOS = {
    TypeError: [
        ({"videos": "clip.mp4"}, "videos: expected a list of videos, got one str."),
        ({"videos": np.ones((4, 24))}, "videos: expected a list of videos, got one ndarray."),
    ],
    ValueError: [
        ({"videos": VIDEOS[:3]}, "videos: expected one video for each of the 4 rows of predictions, got 3."),
        ({"videos": [np.ones((2, 5))] * 4}, "videos[0]: expected 24 features per frame, got 5"),
    ],
}


# Modules, their table, and what is given beside it.
TABLES = [
    (CAPTIONS_ALONE, OF_CAPTIONS, CAPTION_ROWS),
    ([folder.name for folder in DISTRIBUTION_FOLDERS], OF_DISTRIBUTIONS, {}),
    (["trm"], OF_TRM, {}),
    (["trm_bert", "fid_bert", "mmd"], OF_BOTH, CAPTION_ROWS),
    (["mmd"], OF_MMD, {}),
    (["mmd"], OF_CLIP_SETS, {}),
    *(
        (["mmd"], {error: [({column: value}, column + text) for value, text in cases]}, SETS)
        for error, cases in OF_IMAGES.items()
        for column in SETS
    ),
    (["ref_pac_score"], OF_FEATURES, FEATURES),
    (["pac_score"], OF_PAC, SAMPLE_INPUTS["pac_score"]),
    (["emscore_pac"], OF_VIDEOS, SAMPLE_INPUTS["emscore_pac"]),
]
CASES = [
    (name, beside | given, error, message)
    for names, table, beside in TABLES
    for error, cases in table.items()
    for given, message in cases
    for name in names
]


@pytest.mark.parametrize(
    ("name", "given", "error", "message"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_what_does_not_go_together_is_named_and_nothing_is_kept(name, given, error, message):
    with pytest.raises(error) as raised:
        module_of(name).compute(**given)
    text = str(raised.value)
    assert text.startswith(message), text
    assert text.rstrip().endswith((".", "]."))
    assert len(module_of(name)) == 0
