"""The study of the paired test: what its simulated systems are made of."""

import numpy as np
import pytest

from scripts.studies.paired_test_study import LEVEL_SETTINGS, POWER_SETTINGS, Setting, draw_systems

IMAGES = [[f"{image}{caption}" for caption in range(15)] for image in "abcd"]


def drawn(setting):
    return draw_systems(IMAGES, setting, np.random.default_rng(0))


@pytest.mark.parametrize("setting", [setting for setting in LEVEL_SETTINGS if setting.n_candidates == 5], ids=str)
def test_systems_without_damage_are_of_the_image_and_of_the_size(setting):
    first, second, references = drawn(setting)
    assert len(first) == len(second) == len(references) == setting.n_rows
    for a, b, r in zip(first, second, references, strict=True):
        assert len({caption[0] for caption in [*a, *b, *r]}) == 1
        assert len(a) == len(b) == len(r) == 5
        assert not set(a) & set(b)
        assert not {*a, *b} & set(r)


def test_rows_of_a_cluster_share_references_and_a_pool():
    first, _, references = drawn(Setting(5, 20, rows_a_cluster=2))
    assert references[::2] == references[1::2]
    assert all(len({*one, *other}) <= 3 for one, other in zip(first[::2], first[1::2], strict=True))


@pytest.mark.parametrize("damage", dict.fromkeys(setting.damage for setting in POWER_SETTINGS))
def test_damage_of_the_second_system(damage):
    first, second, references = drawn(Setting(5, 400, damage=damage, share=0.25))
    image = [row[0][0] for row in references]
    assert all(caption[0] == i for row, i in zip(first, image, strict=True) for caption in row)
    repeated = np.mean([len(set(row)) == 1 for row in second])
    foreign = np.array([[caption[0] != i for caption in row] for row, i in zip(second, image, strict=True)])
    # A quarter is replaced, by one of the four images: a quarter of them by the image itself.
    expected = {"repetition": (0.25, 0, 0), "wrong captions": (0, 0.1875, 0.01), "other image": (0, 0.1875, 0.1875)}
    got = (repeated, foreign.mean(), foreign.all(axis=1).mean())
    assert got == pytest.approx(expected[damage], abs=0.06)
