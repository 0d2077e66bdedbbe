"""Columns of images and captions as sets: rows, places for messages, and no model library before a model is needed."""

import subprocess
import sys

import numpy as np

from manycaps.kit.clip_sets import MOST_IN_ROW, as_caption_sets, as_image_sets, check_set_counts
from tests.each_case import each_case
from tests.refusals import assert_refused
from tests.tools import ROOT


def test_no_model_library_is_imported_before_a_model_is_needed():
    program = (
        "import sys\nfrom manycaps.kit import clip_sets\n"
        "print([name for name in ('torch', 'open_clip', 'safetensors.torch') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert run.stdout == "[]\n", run.stderr


def test_each_image_of_rows_has_its_place():
    sets = as_image_sets([["a", "b"], ["c"], ("d", "e", "f")], "reference_images")
    assert sets.sizes == [2, 1, 3]
    assert [sets.place(i).removeprefix("reference_images") for i in range(6)] == [
        *("[0][0]", "[0][1]", "[1][0]", "[2][0]", "[2][1]", "[2][2]")
    ]
    assert list(sets.images) == list("abcdef")


def test_an_array_of_images_is_one_row_and_an_array_of_these_rows():
    images = np.zeros((2, 3, 4, 4, 3), np.uint8)
    for given, n_rows in ((images[0], 1), (images, 2)):
        sets = as_image_sets(given, "prediction_images")
        assert sets.sizes == [3] * n_rows
        assert sum(1 for _ in sets.images) == 3 * n_rows


def test_a_generator_is_not_read_before_its_images_are_needed():
    seen = []

    def images():
        for name in "abc":
            seen.append(name)
            yield name

    sets = as_image_sets(images(), "prediction_images")
    assert (seen, sets.sizes) == (["a"], None)
    assert list(sets.images) == ["a", "b", "c"]
    assert as_image_sets((list(row) for row in ("ab", "c")), "prediction_images").sizes == [2, 1]


@each_case(
    ("captions", "sizes"),
    [
        (["a", "b"], [2]),
        (("a", "b"), [2]),
        (iter(["a", "b"]), [2]),
        ([["a", "b"], ["c"]], [2, 1]),
        (np.array(["a", "b"]), [2]),
    ],
)
def test_captions_beside_images_are_one_row_or_several(captions, sizes):
    assert as_caption_sets(captions, "predictions").sizes == sizes


def test_a_row_may_have_just_so_many_images():
    check_set_counts(("a", "b"), ([MOST_IN_ROW - 1], [1]))
    message = "a[1]: expected at most 10,000 images and captions in a row, got 10,001"
    assert_refused(ValueError, message, check_set_counts, ("a", "b"), ([1, MOST_IN_ROW], [1, 1]))
