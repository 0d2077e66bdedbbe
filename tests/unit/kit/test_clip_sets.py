"""Columns of images and captions as sets: rows, places for messages, and no model library before a model is needed."""

import subprocess
import sys

from manycaps.kit.clip_sets import as_image_sets
from tests.tools import ROOT


def test_no_model_library_is_imported_before_a_model_is_needed():
    program = (
        "import sys\nfrom manycaps.kit import clip_sets\n"
        "print([name for name in ('torch', 'open_clip', 'safetensors.torch') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert run.stdout == "[]\n", run.stderr


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
