"""The studies of human parity: how captions are damaged, which texts rows are made of, and what is counted."""

import numpy as np
import pytest

from manycaps.kit.sets_gaps import gaps_test_of_sums, row_gaps
from scripts.studies import human_parity_experts, human_parity_power, human_parity_truth
from scripts.studies.parity_pools import (
    DAMAGES,
    KINDS,
    OBJECT,
    Damage,
    draw_places,
    draw_points,
    make_pool,
    ordinary,
    read_pool,
    taken,
)
from tests.each_case import each_case

N_PEOPLE = 6
IMAGES = [
    [f"a {animal} is on the {place} number {k}" for k in range(8)]
    for animal, place in (("cat", "mat"), ("dog", "sofa"), ("bird", "tree"), ("cow", "meadow"))
]


def drawn(damage, size=(3, 3), n_rows=400):
    order = np.tile(np.arange(N_PEOPLE), (4, 1))
    return draw_places(order, np.arange(n_rows) % 4, size, damage, np.random.default_rng(0))


def test_a_pool_holds_every_caption_in_every_kind():
    pool = make_pool(IMAGES, N_PEOPLE, 0)
    for captions, texts in zip(IMAGES, pool.texts, strict=True):
        people, other, word, cut, obj = (texts[i : i + N_PEOPLE] for i in range(0, len(KINDS) * N_PEOPLE, N_PEOPLE))
        assert set(people) <= set(captions)
        assert set(other).isdisjoint(captions)
        for mine, theirs in zip(people, word, strict=True):
            assert sum(x != y for x, y in zip(mine.split(), theirs.split(), strict=True)) == 1
        assert cut == [" ".join(caption.split()[:5]) for caption in people]
        # The animal is the only word after an article that something follows which may follow a noun.
        for mine, theirs in zip(people, obj, strict=True):
            assert [i for i, (x, y) in enumerate(zip(mine.split(), theirs.split(), strict=True)) if x != y] == [1]


def test_objects_are_nouns_after_an_article():
    assert OBJECT.findall("The man is in a red car with an old dog .") == ["man", "car", "dog"]
    assert OBJECT.findall("people play the") == []


@each_case("name", DAMAGES)
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


def test_the_share_of_wrong_captions_is_the_same_whatever_is_repeated():
    alone, both = (drawn(Damage(share=0.4, repeats=repeats), n_rows=4_000)[:, :3] for repeats in (0.0, 0.5))
    wrong = [(places >= N_PEOPLE).mean() for places in (alone, both)]
    assert wrong == pytest.approx([0.4, 0.4], abs=0.02)
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
    trials = human_parity_power.Trials(np.arange(200).reshape(10, 20), (0,))
    upper, lower = human_parity_power.drawn_p_values(nulls["energy"] - nulls["energy"].mean(axis=1)[:, None], trials)
    assert ((upper + lower) > 1).all()
    forms = np.array([2.0, -1.0])
    for trial, of in enumerate(trials.rows):
        value = (2 * gaps.fidelity - gaps.diversity)[of].sum()
        variance = forms @ gaps.covariance[of].sum(axis=0) @ forms
        normal = gaps_test_of_sums(np.array([value, 0]), np.diag([variance, 0])).p_value
        assert 2 * min(upper[trial], lower[trial]) == pytest.approx(normal, abs=0.1)


def test_cells_where_another_test_finds_more_are_named():
    key = dict.fromkeys(human_parity_power.KEY, "1") | {"kind": "power"}
    shares = {"T2": "0.5", "f": "0.9", "energy": "0.9", "TRM": "0.56", "plain": "0.55"}
    lines = [key | {"measure": name, "share": share} for name, share in shares.items()]
    assert human_parity_power.below(lines) == [["1", "1", "1", "1", "1", "TRM", "0.56", "0.5"]]


def test_every_kind_of_candidates_has_its_words():
    assert set(human_parity_truth.DESERVED) == {*DAMAGES, *human_parity_truth.COMPENSATED}
    assert set.union(*map(set, human_parity_truth.DESERVED.values())) == set(human_parity_truth.FAULTS)


@each_case("study", [human_parity_power, human_parity_truth])
def test_a_corpus_needs_its_folder(study):
    with pytest.raises(ValueError, match="--data: expected a folder with the files of --corpus, got none. Name one."):
        read_pool(study.parsed(["--corpus", "MSVD"]))


def test_the_experts_need_their_folder():
    with pytest.raises(ValueError, match="--data: expected a folder with the files of --corpus, got none. Name one."):
        human_parity_experts.read_rated(human_parity_experts.parsed(["--corpus", "Flickr8k"]))
