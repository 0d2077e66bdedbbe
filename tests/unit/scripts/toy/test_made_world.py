"""The made world and its speakers: what is said is true, or wrong as meant, and draws follow exact probabilities."""

import math
import re
from collections import Counter

import datasets
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from manycaps.comparison.quickstart import image_metrics
from scripts.toy import captions, scenes
from scripts.toy.caption_probabilities import caption_probabilities, caption_probability
from scripts.toy.captions import ONE_GROUP, TWO_GROUPS, Habits, draw_caption, every_word
from scripts.toy.make_world import FEATURES, GRADES, N_REFERENCES, make_row, make_world
from scripts.toy.pictures import CELL, CELLS, RGB, SIDE, draw_picture, draw_places, group_of_cells
from scripts.toy.scenes import Group, Scene, draw_scene, n_errors
from scripts.toy.speakers import N_SPEAKER_DRAWS, Speaker, at_temperature, draw_captions, speak, zipf_probabilities
from scripts.toy.toy_scenes import N_SCENES, SEED, draw_toy_scene
from tests.oracles.speaker_loop import one_group_probabilities
from tests.refusals import assert_refused

SEEDS = st.integers(0, 2**32 - 1)
RED, BLUE = Group(1, "small", "red", "circle"), Group(2, "large", "blue", "square")
SCENE = Scene((RED, BLUE), "left", "white")


@pytest.mark.parametrize(
    ("claim", "errors"),
    [
        (SCENE, 0),
        (Scene((BLUE, RED), "right", "white"), 0),
        (Scene((BLUE, RED), "left", "white"), 1),
        (Scene((RED,), None, None), 0),
        (Scene((Group(1, "large", "red", "circle"),), None, "grey"), 2),
        # Every attribute of a group that is not there is wrong.
        (Scene((Group(3, "large", "green", "star"),), None, None), 3),
        (Scene((Group(None, None, "blue", "circle"), Group(None, None, "red", "square")), None, None), 2),
    ],
)
def test_errors_of_a_claim_are_counted_under_the_kindest_reading(claim, errors):
    assert scenes.n_errors(claim, SCENE) == errors


def test_a_claim_about_two_groups_is_wrong_where_there_is_one():
    alone = Scene((RED,), None, "white")
    assert scenes.n_errors(SCENE, alone) == 1 + len(RED)  # the relation, and all of the other group
    assert scenes.n_errors(Scene((RED,), None, "white"), alone) == 0


def every_meaning():
    """What each word can mean: (field, value)."""
    meaning = {}
    for field in ("size", "colour", "shape"):
        for value in scenes.VALUES[field]:
            for word in captions.WORDS[value]:
                meaning[word] = (field, value)
                if field == "shape":
                    meaning[captions.PLURALS.get(word, word + "s")] = (field, value)
    counts = {"one": 1, "single": 1, "two": 2, "pair": 2, "three": 3, "trio": 3}
    return meaning | {word: ("count", n) for word, n in counts.items()}


@hypothesis.given(SEEDS)
def test_captions_are_true_foils_and_graded_captions_wrong(seed):
    rng = np.random.default_rng(seed)
    scene = scenes.draw_scene(rng)
    assert scenes.is_possible(scene)
    for habits in (captions.PERSON_HABITS, captions.LABEL_HABITS):
        assert scenes.n_errors(captions.draw_claim(rng, scene, habits), scene) == 0
    claim, wording = captions.draw_claim(rng, scene), captions.draw_wording(rng)
    for errors in GRADES:
        assert scenes.n_errors(captions.wrong_claim(rng, scene, scene, errors), scene) == errors
    for attribute in scenes.said_attributes(claim):
        assert all(scenes.n_errors(other, scene) == 1 for other in scenes.changed_claims(claim, scene, attribute))
    foil = captions.draw_foil(rng, scene, claim, wording)
    assert foil.caption == captions.as_caption(claim, wording)
    changed = [(a, b) for a, b in zip(foil.caption.split(), foil.foil.split(), strict=False) if a != b]
    if foil.kind not in ("count", "relation"):  # "two boxes" and "a box", "left of" and "to the left of" differ more
        assert len(foil.caption.split()) == len(foil.foil.split())
        # The word, and at most its article ("a red", "an orange").
        assert len([pair for pair in changed if set(pair) != {"a", "an"}]) == 1


@hypothesis.given(SEEDS)
def test_a_neighbour_differs_in_one_attribute_and_is_of_this_world(seed):
    rng = np.random.default_rng(seed)
    scene = scenes.draw_scene(rng)
    other = scenes.neighbour(rng, scene)
    assert scenes.is_possible(other)
    assert scenes.n_errors(other, scene) == 1


@hypothesis.given(SEEDS)
def test_the_words_of_a_caption_say_what_is_there(seed):
    """Read back without the program's own bookkeeping: the words name nothing that the scene does not have."""
    rng = np.random.default_rng(seed)
    scene = scenes.draw_scene(rng)
    caption = captions.draw_caption(rng, scene)
    meaning = every_meaning()
    there = {(field, value) for group in scene.groups for field, value in group._asdict().items()}
    ground = re.split(r" on |, all on ", caption)
    named = {meaning[word] for word in ground[0].split() if word in meaning}
    assert named <= there
    assert set(re.findall(r"[a-z]+|,", caption)) <= captions.every_word()


@hypothesis.given(SEEDS)
def test_the_second_caption_has_other_words_and_the_second_picture_other_pixels(seed):
    rng = np.random.default_rng(seed)
    scene = scenes.draw_scene(rng)
    caption = captions.draw_caption(rng, scene)
    assert captions.other_caption(rng, scene, caption) != caption
    first, second = draw_picture(rng, scene), draw_picture(rng, scene)
    assert first.size == second.size == (SIDE, SIDE)
    assert np.abs(np.subtract(first, second, dtype=float)).mean() > 1


@hypothesis.given(SEEDS)
def test_a_picture_shows_as_many_shapes_of_the_colour_where_they_belong(seed):
    """Measured on the pixels: covered cells have some of the group's colour, free cells are mostly background."""
    rng = np.random.default_rng(seed)
    scene = scenes.draw_scene(rng)
    places = draw_places(rng, scene)
    assert [sum(place.group == i for place in places) for i in range(len(scene.groups))] == [
        group.count for group in scene.groups
    ]
    covered = group_of_cells(scene, places)
    assert (covered >= 0).sum() == sum(CELLS[scene.groups[place.group].size] ** 2 for place in places)
    pixels = np.asarray(draw_picture(rng, scene, places), dtype=float)
    names = [scene.background, *(group.colour for group in scene.groups)]
    nearest = np.linalg.norm(pixels[:, :, None] - np.array([RGB[name] for name in names]), axis=-1).argmin(axis=-1)
    cells = nearest.reshape(SIDE // CELL, CELL, SIDE // CELL, CELL).swapaxes(1, 2)
    for row, column in np.ndindex(*covered.shape):
        counts = Counter(names[k] for k in cells[row, column].ravel().tolist())
        if covered[row, column] >= 0:
            assert counts[scene.groups[covered[row, column]].colour] > 0.04 * CELL**2
        else:
            assert counts[scene.background] > 0.6 * CELL**2


def test_wordings_vary_and_the_plainest_is_known():
    rng = np.random.default_rng(0)
    assert len({captions.as_caption(SCENE, captions.draw_wording(rng)) for _ in range(200)}) > 150
    assert captions.as_caption(SCENE, np.zeros(captions.N_DRAWS)) == (
        "a small red circle left of two large blue squares on a white background"
    )
    orange = Scene((Group(1, None, "orange", "square"),), None, None)
    assert captions.as_caption(orange, np.zeros(captions.N_DRAWS)) == "an orange square"


def test_more_errors_than_attributes_are_refused():
    claim = Scene((Group(None, None, "red", "circle"),), None, None)
    message = "claim: expected one that can have one more wrong attribute"
    assert_refused(ValueError, message, captions.wrong_claim, np.random.default_rng(0), SCENE, claim, 4)


def test_a_row_depends_on_seed_and_number_alone():
    first, again, other = make_row(0, 3), make_row(0, 3), make_row(1, 3)
    assert first["caption"] == again["caption"]
    assert first["image"].tobytes() == again["image"].tobytes()
    assert first["image"].tobytes() != other["image"].tobytes()
    assert len(first["references"]) == N_REFERENCES
    assert len(first["graded_captions"]) == len(GRADES)


def test_make_world_writes_what_datasets_reads(tmp_path):
    for name in ("a.parquet", "b.parquet"):
        make_world(tmp_path / name, rows=12, seed=5)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    rows = datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train")
    assert rows.features == FEATURES
    assert len(rows) == 12
    assert np.asarray(rows[4]["image"]).tolist() == np.asarray(make_row(5, 4)["image"]).tolist()
    assert_refused(ValueError, "output: expected a name ending in .parquet", make_world, tmp_path / "a.csv", 1)
    assert_refused(ValueError, "--rows: expected 1 or more, got 0.", make_world, tmp_path / "a.parquet", 0)


def test_the_quickstart_bundles_scenes_of_the_made_world():
    bundled = image_metrics.read_toy_scenes()
    assert len(bundled) == N_SCENES
    for number in (0, N_SCENES - 1):
        bundle, drawn = bundled[number], draw_toy_scene(SEED, number)
        assert bundle[2:] == drawn[2:]
        # JPEG smooths the noise of the pictures, whose standard deviation is 4, and nothing else.
        for shown, picture in zip((bundle.picture, *bundle.frames), (drawn.picture, *drawn.frames), strict=True):
            assert np.abs(np.subtract(shown, picture, dtype=float)).mean() < 6


# Speakers of the made world: draws follow their exact probabilities, which agree with a slow loop.

ALONE = Scene((Group(2, "small", "red", "cross"),), None, "white")
PAIR = Scene((Group(1, "small", "orange", "circle"), Group(2, "large", "blue", "star")), "left", "brown")
STAR = Scene((Group(1, "small", "orange", "star"),), None, "brown")
STARS = Scene((Group(1, "small", "orange", "star"), Group(2, "large", "orange", "star")), "above", "brown")


def shares_of_words(captions, weights):
    """Share of captions in which each word occurs, and the share of each number of words."""
    weights = np.asarray(weights) / np.sum(weights)
    words = sorted(every_word())
    has = np.array([[word in caption.split() for word in words] for caption in captions], dtype=float)
    lengths = np.array([len(caption.split()) for caption in captions])
    return np.concatenate((weights @ has, weights @ (lengths[:, None] == np.arange(30))))


def assert_drawn_from(captions, probabilities):
    assert set(captions) <= probabilities.keys()
    expected = shares_of_words(list(probabilities), list(probabilities.values()))
    error = np.sqrt(expected * np.maximum(1 - expected, 0) / len(captions))
    # About 120 shares: 4.5 standard errors are passed once in a thousand times.
    assert np.all(np.abs(shares_of_words(captions, np.ones(len(captions))) - expected) <= 4.5 * error + 1e-9)


@pytest.mark.parametrize(
    "speaker", [Speaker(), Speaker(0.5), Speaker(2.0), Speaker(exponent=0.0), Speaker(0.0, wrong=0.25)]
)
def test_draws_follow_the_probabilities(speaker):
    captions = draw_captions(speaker, ALONE, 4_000, np.random.default_rng(0))
    assert_drawn_from(captions, caption_probabilities(speaker, ALONE))


def test_draws_of_two_groups_follow_the_probabilities():
    speaker = Speaker(0.4)  # bold enough for few captions
    alike = STARS._replace(relation="left")
    captions = draw_captions(speaker, alike, 4_000, np.random.default_rng(0))
    probabilities = caption_probabilities(speaker, alike)
    likely = sorted(probabilities, key=probabilities.get, reverse=True)[:40]
    for caption in likely:
        share = probabilities[caption]
        assert captions.count(caption) / 4_000 == pytest.approx(share, abs=4.5 * math.sqrt(share * (1 - share) / 4_000))


def test_without_preferences_people_speak_as_ever():
    rng = np.random.default_rng(1)
    captions = [draw_caption(rng, ALONE) for _ in range(4_000)]
    assert_drawn_from(captions, caption_probabilities(Speaker(exponent=0.0), ALONE))


def test_a_wrong_relation_is_the_opposite_one():
    captions = draw_captions(Speaker(0.0, wrong=0.3), PAIR, 300, np.random.default_rng(0))
    assert all("left" in caption or "right" in caption for caption in captions)
    assert n_errors(Scene(PAIR.groups, "right", "brown"), PAIR) == 1


def test_neighbouring_temperatures_share_their_captions():
    draws = np.random.default_rng(0).random((300, N_SPEAKER_DRAWS))
    people = [speak(Speaker(1.0), PAIR, row) for row in draws]
    shares = [
        np.mean([speak(Speaker(temperature), PAIR, row) == said for row, said in zip(draws, people, strict=True)])
        for temperature in (1.0, 0.9, 0.5)
    ]
    assert shares[0] == 1 > shares[1] > 0.5 > shares[2]


def test_temperature_of_one_choice_by_hand():
    assert zipf_probabilities(2, 1.0).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert at_temperature(np.array([0.5, 0.3, 0.2]), 0.5).tolist() == pytest.approx([25 / 38, 9 / 38, 4 / 38])
    assert at_temperature(np.array([0.5, 0.3, 0.2]), 1.0).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=1e-15)
    assert at_temperature(np.array([0.3, 0.5, 0.2]), 0.0).tolist() == [0, 1, 0]
    assert at_temperature(np.array([1.0, 0.0]), 50.0).tolist() == [1, 0]
    assert at_temperature(np.array([0.9, 0.1]), 0.001).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("speaker", "message"),
    [
        (Speaker(-1.0), "temperature: expected a number from 0, got -1.0. 1 is the people, lower is sharper."),
        (Speaker(wrong=1.5), "wrong: expected a share from 0 to 1, got 1.5. 0 says nothing wrong."),
        (Speaker(exponent=-0.5), "exponent: expected a number from 0, got -0.5. 0 likes all wordings equally."),
    ],
)
def test_messages(speaker, message):
    assert_refused(ValueError, f"{message}$", draw_captions, speaker, ALONE, 1, np.random.default_rng(0))
    assert_refused(ValueError, f"{message}$", caption_probabilities, speaker, ALONE)


@pytest.mark.parametrize(
    ("scene", "temperature", "wrong"),
    [*((STARS, temperature, 0.0) for temperature in (0.0, 0.5, 3.0)), (STAR, 1.0, 0.2)],
    ids=lambda value: f"{len(value.groups)} groups" if isinstance(value, Scene) else str(value),
)
def test_probabilities_sum_to_one(scene, temperature, wrong):
    probabilities = caption_probabilities(Speaker(temperature, wrong), scene)
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)
    assert min(probabilities.values()) > 0
    assert len(probabilities) == 1 or temperature > 0 or wrong > 0


# Habits with few captions, for a loop over all of them with every wrong value.
TERSE = Habits((ONE_GROUP[:2], TWO_GROUPS), {"size": 1.0, "colour": 0.1, "background": 1.0}, 0.0)


@pytest.mark.parametrize(
    ("speaker", "scene"),
    [
        (Speaker(), STAR),
        (Speaker(0.6, exponent=1.0), STAR),
        (Speaker(1.7, 0.3, 0.0, TERSE), Scene((Group(3, "small", "orange", "star"),), None, "brown")),
    ],
)
def test_probabilities_agree_with_the_slow_loop(speaker, scene):
    ours = caption_probabilities(speaker, scene)
    slow = one_group_probabilities(scene, speaker.habits, speaker.temperature, speaker.wrong, speaker.exponent)
    assert ours.keys() == slow.keys()
    assert [ours[caption] for caption in slow] == pytest.approx(list(slow.values()), rel=1e-9)


def test_the_probability_of_one_caption_is_that_of_the_list():
    probabilities = caption_probabilities(Speaker(0.8), STARS)
    for caption in draw_captions(Speaker(0.8), STARS, 20, np.random.default_rng(0)):
        assert caption_probability(Speaker(0.8), STARS, caption) == pytest.approx(probabilities[caption], rel=1e-12)
    assert caption_probability(Speaker(0.8), STARS, "a purple ring") == 0
    assert caption_probability(Speaker(0.8, wrong=0.1), STARS, "a purple ring") > 0


def test_a_temperature_of_zero_says_the_likeliest_caption_of_people():
    """At every choice the likeliest is the likeliest caption: it leaves nothing out, though people often do."""
    rng = np.random.default_rng(0)
    for scene in [STAR, STARS, *(draw_scene(rng) for _ in range(4))]:
        people = caption_probabilities(Speaker(), scene)
        assert speak(Speaker(0.0), scene, rng.random(N_SPEAKER_DRAWS)) == max(people, key=people.get)
