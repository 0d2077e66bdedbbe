"""Sets of images and captions: columns that can be read once."""

from manycaps.kit.clip_sets import as_image_sets

# Columns of images and captions as sets: rows, places for messages.


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
