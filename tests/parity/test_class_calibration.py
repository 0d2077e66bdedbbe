"""Classes of answers by MiniLM beside NoveltyBench's published partitions, on prompts that nothing was chosen on."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from manycaps.kit.sets_distinct import EQUIVALENT_DISTANCE, class_labels
from scripts.studies.class_calibration import GRID, Partitions, adjusted_rand, read_partitions
from scripts.studies.parity_pools import embed_texts, vector_distances


def test_the_adjusted_rand_index_is_sklearn_s():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = rng.integers(3, size=(2, 8))
        pairs = np.triu_indices(8, 1)
        same = [(labels[:, None] == labels)[pairs] for labels in (first, second)]
        assert adjusted_rand(*same) == pytest.approx(adjusted_rand_score(first, second))


@pytest.mark.slow
@pytest.mark.realdata
def test_the_distance_is_chosen_on_one_half_and_holds_on_the_other(data_folder):
    answers, published = read_partitions(data_folder)
    distances, places = vector_distances(embed_texts(answers, "MiniLM")), np.arange(len(answers))
    partitions = Partitions(distances, published, "first")
    chosen, pairs, rand, same_number, *beside = partitions.held_out(places[::2], places[1::2])
    assert chosen == pytest.approx(EQUIVALENT_DISTANCE, abs=0.015)
    assert pairs == pytest.approx(0.4826, abs=0.01)
    assert (pairs, rand, same_number) > tuple(beside)
    constant = partitions.qualities(int(np.argmin(np.abs(GRID - EQUIVALENT_DISTANCE))), places[1::2])
    assert constant[0] > beside[0]
    labels = class_labels(distances[0] <= EQUIVALENT_DISTANCE, "first")
    assert labels.max() < len(answers[0])
