"""Questions about scenes and captions: their answers, and how wrong a layer is."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch

from manycaps.made_world.captions import LABEL_HABITS, PERSON_HABITS, as_caption, draw_claim, draw_wording
from manycaps.made_world.pictures import draw_places, group_of_cells
from manycaps.made_world.scenes import OPPOSITE, Group, Scene, draw_scene
from scripts.toy.questions import (
    ANSWERS,
    CELL_ANSWERS,
    COUNT_WEIGHT,
    GROUP_FIELDS,
    NONE_WEIGHT,
    NOT_ASKED,
    PART_ANSWERS,
    SIDES,
    Answers,
    Questions,
    answers,
    cell_answers,
    sides_of,
    word_answers,
)
from scripts.toy.small_clip import SmallClip

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)
RED, BLUE = Group(1, "small", "red", "circle"), Group(2, "large", "blue", "square")


@hypothesis.given(SEEDS)
def test_answers_do_not_depend_on_which_group_is_named_first(seed):
    scene = draw_scene(np.random.default_rng(seed))
    found = answers(scene)
    assert len(found) == len(ANSWERS)
    assert all(NOT_ASKED <= answer < n for answer, n in zip(found, ANSWERS, strict=True))
    if len(scene.groups) == 2:
        turned = Scene(scene.groups[::-1], OPPOSITE[scene.relation], scene.background)
        assert answers(turned) == found


def test_what_is_not_said_is_not_asked():
    assert set(answers(Scene((RED, BLUE), None, None))) == {NOT_ASKED}
    one = answers(Scene((Group(None, None, "red", None),), None, None))
    alone, elsewhere = one[2:6], one[6:]
    assert (one[:2], alone) == ([0, NOT_ASKED], [NOT_ASKED, NOT_ASKED, 0, NOT_ASKED])
    assert elsewhere == [n - 1 for n in PART_ANSWERS[4:]]  # no group there


@hypothesis.given(SEEDS)
def test_every_covered_cell_knows_its_group_and_that_no_other_is_there(seed):
    rng = np.random.default_rng(seed)
    scene = draw_scene(rng)
    covered = group_of_cells(scene, draw_places(rng, scene))
    found = cell_answers(scene, covered)
    assert found.shape == (covered.size, len(CELL_ANSWERS) + len(PART_ANSWERS))
    whole, none = answers(scene)[2:], [n - 1 for n in PART_ANSWERS]
    for group, cell in zip(covered.ravel(), found, strict=True):
        own = range(4 * sides_of(scene)[group], 4 * sides_of(scene)[group] + 4) if group >= 0 else ()
        assert cell[:5].tolist() == ([1, *(whole[i] for i in own)] if own else [0, *[NOT_ASKED] * 4])
        assert cell[5:].tolist() == [whole[i] if i in own else none[i] for i in range(4 * len(SIDES))]


@hypothesis.given(SEEDS)
def test_words_say_on_which_side_a_group_is(seed):
    """After the word for the relation the group before it, after the second group that one."""
    rng = np.random.default_rng(seed)
    scene = draw_scene(rng)
    for habits in (PERSON_HABITS, LABEL_HABITS):
        claim, wording = draw_claim(rng, scene, habits), draw_wording(rng)
        found = word_answers(claim, wording, habits)
        caption, whole = as_caption(claim, wording, habits), answers(claim)[2:]
        assert len(found) == (0 if claim.relation is None or " with " in caption else 2)
        for beginning, known in found:
            assert caption.startswith(beginning)
            told = [i for i, n in enumerate(PART_ANSWERS) if known[i] not in (n - 1, NOT_ASKED)]
            assert [known[i] for i in told] == [whole[i] for i in told]
        if len(found) == 2:
            assert found[0][1] != found[1][1]


def cross_entropies_one_by_one(logits, right, sizes, counts):
    """Mean over the questions of the weighted means of their cross-entropies, answer by answer."""
    n_before = len(sizes) - len(PART_ANSWERS)
    means = []
    for i, size in enumerate(sizes):
        total = total_weight = 0.0
        for row, answer in zip(logits[:, i], right[:, i].tolist(), strict=True):
            if answer != NOT_ASKED:
                weight = NONE_WEIGHT if n_before >= 0 and i >= n_before and answer == size - 1 else 1.0
                total -= weight * float(row[:size].log_softmax(0)[answer])
                total_weight += weight
        mean = total / total_weight if total_weight else 0.0
        means.append(COUNT_WEIGHT * mean if i in counts else mean)
    return np.mean(means)


@pytest.mark.parametrize("sizes", [ANSWERS, CELL_ANSWERS, PART_ANSWERS], ids=["whole", "cell", "part"])
def test_layers_are_as_wrong_as_one_question_after_the_other_says(sizes):
    rng = np.random.default_rng(len(sizes))
    counts = [1, len(sizes) - 4]
    layer, states = Answers(3, sizes, counts), torch.from_numpy(rng.standard_normal((9, 3), np.float32))
    right = np.stack([rng.integers(NOT_ASKED, size, 9) for size in sizes], axis=1)
    right[:, 2] = NOT_ASKED  # a question that nobody was asked
    logits = layer._linear(states).unflatten(1, (len(sizes), -1)).detach()
    loss = layer(states, torch.from_numpy(right))
    assert loss.item() == pytest.approx(cross_entropies_one_by_one(logits, right, sizes, counts), rel=1e-5)
    loss.backward()
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())


@pytest.mark.parametrize("layer", ["image", "text", "cell", "cell_place", "word"])
def test_questions_about_counts_weigh_more(layer):
    weights = getattr(Questions(SmallClip(0)), layer)._question_weights.tolist()
    shown = {"image": ANSWERS, "text": ANSWERS, "cell": CELL_ANSWERS}.get(layer, PART_ANSWERS)
    n_before = len(shown) - len(PART_ANSWERS) if layer != "cell" else 1
    fields = [GROUP_FIELDS[(question - n_before) % len(GROUP_FIELDS)] for question in range(n_before, len(shown))]
    assert weights[:n_before] == [1.0] * n_before
    assert weights[n_before:] == [COUNT_WEIGHT if field == "count" else 1.0 for field in fields]
