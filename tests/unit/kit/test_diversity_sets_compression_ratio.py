"""Hand cases of the compression ratio of a set."""

import math

from manycaps.kit.diversity_sets import compression_ratio


def test_compression_ratio_has_one_order():
    assert compression_ratio(["b", "a"]) == compression_ratio(["a", "b"]) == 3 / 23
    assert math.isnan(compression_ratio([""]))
