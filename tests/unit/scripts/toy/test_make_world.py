"""The made world: what is said is true, what is meant to be wrong is wrong, and everything follows from the seed."""

import re
from collections import Counter

import datasets
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from manycaps.quickstart import image_metrics
from scripts.toy import captions, scenes
from scripts.toy.make_world import FEATURES, GRADES, N_REFERENCES, made_row, make_world
from scripts.toy.pictures import CELL, CELLS, RGB, SIDE, draw_picture, draw_places, group_of_cells
from scripts.toy.scenes import Group, Scene
from scripts.toy.toy_scenes import N_SCENES, SEED, draw_toy_scene
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
    first, again, other = made_row(0, 3), made_row(0, 3), made_row(1, 3)
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
    assert np.asarray(rows[4]["image"]).tolist() == np.asarray(made_row(5, 4)["image"]).tolist()
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
