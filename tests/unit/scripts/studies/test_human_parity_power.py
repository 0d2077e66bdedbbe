"""The studies of human parity: how captions are damaged, which texts rows are made of, and what is counted."""

import numpy as np
import pytest

from manycaps.kit.parity_tests import gaps_test_of_sums, row_gaps
from scripts.studies import human_parity_experts, human_parity_power, human_parity_truth
from scripts.studies.parity_pools import DAMAGES, KINDS, OBJECT, Damage, draw_places, make_pool, ordinary, taken
from scripts.studies.parity_speakers import KnownSpeaker, VectorPool, draw_points, drawn_rows

N_PEOPLE = 6
IMAGES = [
    [f"a {animal} is on the {place} number {k}" for k in range(8)]
    for animal, place in (("cat", "mat"), ("dog", "sofa"), ("bird", "tree"), ("cow", "meadow"))
]


def drawn(damage, size=(3, 3), n_rows=400):
    order = np.tile(np.arange(N_PEOPLE), (4, 1))
    return draw_places(order, np.arange(n_rows) % 4, size, damage, np.random.default_rng(0))


def test_a_pool_holds_every_caption_in_every_kind():
    for captions, texts in zip(IMAGES, make_pool(IMAGES, N_PEOPLE, 0), strict=True):
        people, other, word, cut, obj = (texts[i : i + N_PEOPLE] for i in range(0, len(KINDS) * N_PEOPLE, N_PEOPLE))
        assert set(people) <= set(captions)
        assert set(other).isdisjoint(captions)
        for mine, theirs in zip(people, word, strict=True):
            assert sum(x != y for x, y in zip(mine.split(), theirs.split(), strict=True)) == 1
        assert cut == [" ".join(caption.split()[:5]) for caption in people]
        # The animal is the only word after an article that something follows which may follow a noun.
        for mine, theirs in zip(people, obj, strict=True):
            assert [i for i, (x, y) in enumerate(zip(mine.split(), theirs.split(), strict=True)) if x != y] == [1]
    assert OBJECT.findall("The man is in a red car with an old dog .") == ["man", "car", "dog"]
    assert OBJECT.findall("people play the") == []


@pytest.mark.parametrize("name", DAMAGES)
def test_references_are_peoples_and_the_same_whatever_the_damage(name):
    places = drawn(DAMAGES[name])
    assert (places[:, 3:] == drawn(DAMAGES["human"])[:, 3:]).all()
    assert all(len({*row}) == 3 for row in places[:, 3:])
    if name != "copies":
        assert all(not {*row[:3]} & {*row[3:]} for row in places)


def test_damages_are_what_they_say():
    kind = drawn(Damage(share=0.25))[:, :3] // N_PEOPLE
    assert set(np.unique(kind)) == {0, KINDS.index("other")}
    assert kind.astype(bool).mean() == pytest.approx(0.25, abs=0.05)
    assert (drawn(DAMAGES["five words"])[:, :3] // N_PEOPLE == KINDS.index("cut")).all()
    half = drawn(DAMAGES["half repeated"])
    assert (half[:, 2] == half[:, 0]).all()
    assert (half[:, 1] != half[:, 0]).all()
    copies = drawn(DAMAGES["copies"], (3, 2))
    assert (copies[:, :3] == copies[:, [3, 4, 3]]).all()
    # The order of all images is 0, 1, ...: the most ordinary one that is no reference.
    for row in drawn(DAMAGES["blandest"]):
        assert {*row[:3]} == {min({*range(N_PEOPLE)} - {*row[3:]})}
    for row in drawn(Damage("bland")):
        assert [*row[:3]] == sorted({*range(N_PEOPLE)} - {*row[3:]})
    # The share of wrong captions is the same whatever is repeated.
    alone, both = (drawn(Damage(share=0.4, repeats=repeats), n_rows=4_000)[:, :3] for repeats in (0.0, 0.5))
    assert [(places >= N_PEOPLE).mean() for places in (alone, both)] == pytest.approx([0.4, 0.4], abs=0.02)
    assert (alone[:, 1] == alone[:, 0]).mean() == 0
    assert (both[:, 1] == both[:, 0]).mean() == pytest.approx(0.5, abs=0.03)


def test_the_most_ordinary_caption_is_the_nearest_to_the_others():
    points = np.array([[0.0, 1.0, 1.5, 4.0, 1.2]])
    assert ordinary(np.abs(points[:, :, None] - points[:, None]), 4).tolist() == [[1, 2, 0, 3]]
    assert taken(np.arange(9).reshape(1, 3, 3), np.array([0]), np.array([[2, 0]])).tolist() == [[[8, 6], [2, 0]]]


def test_a_drawn_test_agrees_with_the_closed_form():
    """The sum of fidelity gaps of 20 rows, both tails, beside its normal p-value."""
    distances = draw_points(Damage(share=0.1), (3, 3), 200, 0)
    nulls = dict(human_parity_power.null_values(distances, None, 3, with_frechet=False))
    assert set(nulls) == {"TRM", "plain", "energy"}
    gaps = row_gaps(distances, 3)
    assert nulls["energy"][:, 0] == pytest.approx(2 * gaps.fidelity - gaps.diversity)
    trials = np.arange(200).reshape(10, 20)
    centred = nulls["energy"] - nulls["energy"].mean(axis=1)[:, None]
    upper, lower = human_parity_power.drawn_p_values(centred, trials, (0,))
    assert ((upper + lower) > 1).all()
    forms = np.array([2.0, -1.0])
    for trial, of in enumerate(trials):
        value = (2 * gaps.fidelity - gaps.diversity)[of].sum()
        variance = forms @ gaps.covariance[of].sum(axis=0) @ forms
        normal = gaps_test_of_sums(np.array([value, 0]), np.diag([variance, 0])).p_value
        assert 2 * min(upper[trial], lower[trial]) == pytest.approx(normal, abs=0.1)


def test_cells_where_another_test_finds_more_are_named():
    key = dict.fromkeys(human_parity_power.KEY, "1") | {"kind": "power"}
    shares = {"joint": "0.48", "T2": "0.5", "f": "0.9", "energy": "0.9", "TRM": "0.56", "plain": "0.55"}
    lines = [key | {"measure": name, "share": share} for name, share in shares.items()]
    trm = ["1", "1", "1", "1", "1", "TRM", "0.56", "0.5"]
    assert [*human_parity_power.below(lines)] == [trm]
    lines[0]["share"] = "0.479"
    assert [*human_parity_power.below(lines)] == [[*trm[:5], "joint", "0.479", "0.5"], trm]


def test_every_kind_of_candidates_has_its_words():
    truth = human_parity_truth
    assert {*truth.DESERVED} == {*DAMAGES, *truth.COMPENSATED}
    assert set.union(*truth.DESERVED.values()) == {*truth.FAULTS}
    assert set.union(*map(truth.deserved_words, truth.SPEAKERS.values())) == {*truth.FAULTS}


# Speakers of made points whose images lie far apart.

VECTORS = np.random.default_rng(0).normal(size=(50, 24, 3)) + 100 * np.arange(50)[:, None, None]
POINTS = VectorPool(VECTORS, is_cosine=False)


def drawn_texts(speakers, size=(2, 3), n_rows=50, pool=POINTS):
    """Distances by speaker."""
    return drawn_rows(pool, np.arange(n_rows) % 50, size, speakers, np.random.default_rng(1))


def test_speakers_write_what_they_are_named_after():
    wrong, whole, bland, people = drawn_texts(
        [KnownSpeaker(0.5), KnownSpeaker(0.5, whole=True), KnownSpeaker(is_bland=True), KnownSpeaker()]
    )
    is_far = {name: rows[:, :2, 2:].min(axis=2) > 50 for name, rows in (("wrong", wrong), ("whole", whole))}
    assert {*is_far["wrong"].sum(axis=1)} == {0, 1, 2}
    assert {*is_far["whole"].sum(axis=1)} == {0, 2}
    both_wrong = is_far["whole"].all(axis=1)
    assert (whole[both_wrong, 0, 1] < 50).all()
    assert bland[:, :2, 2:].mean() < people[:, :2, 2:].mean()
    # The references are the same.
    assert (bland[:, 2:, 2:] == people[:, 2:, 2:]).all()
    assert (wrong[:, 2:, 2:] == people[:, 2:, 2:]).all()
    # No two texts of a row are one.
    assert all((rows[:, ~np.eye(5, dtype=bool)] > 0).all() for rows in (bland, people, wrong))
    # Bland captions are the most ordinary of twenty.
    few = VectorPool(VECTORS[:, :20], is_cosine=False)
    (rows,) = drawn_texts([KnownSpeaker(is_bland=True)], (1, 19), pool=few)
    sums = rows.sum(axis=2)
    assert (sums[:, 0] == sums.min(axis=1)).all()


def test_a_share_of_bad_captions_separates_them_from_good_ones():
    texts = [["a dog", "a red car", "a red car is here", "a red car"], ["a red car", "a red car", "a red car", "a dog"]]
    assert human_parity_experts.farthest_shares(texts, "meteor").tolist() == [1.0, 0.0]
    # Ties are shared.
    assert human_parity_experts.farthest_shares([["a dog", "a red car"]], "meteor").tolist() == [0.5]
    assert human_parity_experts.area_under_curve(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == 0.75
