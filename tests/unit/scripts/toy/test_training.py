"""Training of the toys: what is asked, losses, trials, and weights and states as the CLIP helper has them."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch

from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.clip_model import ClipModel, read_weights
from manycaps.kit.images import as_model_pixels
from scripts.toy.base_training import label_contrast, word_family
from scripts.toy.captions import LABEL_HABITS, PERSON_HABITS, as_caption, draw_claim, draw_wording
from scripts.toy.pictures import draw_picture, draw_places, group_of_cells
from scripts.toy.questions import (
    ANSWERS,
    CELL_ANSWERS,
    COUNT_WEIGHT,
    NONE_WEIGHT,
    NOT_ASKED,
    PART_ANSWERS,
    SIDES,
    Answers,
    answers,
    cell_answers,
    sides_of,
    word_answers,
)
from scripts.toy.scenes import OPPOSITE, Scene, draw_scene, is_possible, n_errors, neighbour
from scripts.toy.small_captioner import HeldOut, as_pixel_values, encode_pictures, new_captioner
from scripts.toy.small_clip import IMAGE_SIZE, TREATMENT, SmallClip
from scripts.toy.tables import as_markdown, read_csv, verdict, write_csv
from scripts.toy.trials import PAIRS, Choices, Trials, draw_trials, measure
from scripts.toy.tuning import complete

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)


@hypothesis.given(SEEDS)
def test_a_family_is_worded_alike(seed):
    rng = np.random.default_rng(seed)
    first = draw_scene(rng)
    family = [first, neighbour(rng, first)]
    for habits in (PERSON_HABITS, LABEL_HABITS):
        claims, wording = word_family(rng, family, habits)
        texts = [as_caption(claim, wording, habits) for claim in claims]
        assert [n_errors(claim, scene) for claim, scene in zip(claims, family, strict=True)] == [0, 0]
        assert n_errors(claims[0], family[1]) in (0, 1)
        assert (texts[0] == texts[1]) == (claims[0] == claims[1])


@hypothesis.given(SEEDS)
def test_what_a_painter_makes_up_does_not_contradict_the_caption(seed):
    rng = np.random.default_rng(seed)
    for habits in (PERSON_HABITS, LABEL_HABITS):
        claim = draw_claim(rng, draw_scene(rng), habits)
        painted = complete(rng, claim)
        assert is_possible(painted)
        assert n_errors(claim, painted) == 0


def test_labels_that_read_the_same_share_their_images():
    logits = torch.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 0.3], [0.2, 0.1, 3.0]], dtype=torch.float64)
    by_hand = 0.0
    for scores in (logits, logits.T):
        chances = scores.softmax(dim=1).log()
        # The first and the third label read the same.
        rows = [(chances[0, 0] + chances[0, 2]) / 2, chances[1, 1], (chances[2, 0] + chances[2, 2]) / 2]
        by_hand -= sum(rows) / 3 / 2
    assert label_contrast(logits, ["a star", "a ring", "a star"]).item() == pytest.approx(by_hand.item(), abs=1e-6)


@pytest.fixture(scope="module")
def small_clip():
    clip = SmallClip(seed=1)
    clip.finish()
    return clip


def test_the_helper_reads_the_same_features_from_the_weights(small_clip):
    model = ClipModel(small_clip.weights(), **TREATMENT._asdict(), device="cpu")
    pixels = np.random.default_rng(0).integers(0, 256, (3, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    texts = ["A photo depicts two red circles on a white background", "a star"]
    with torch.inference_mode():
        own_images = small_clip.encode_pixels(pixels).features.numpy()
        own_texts = small_clip.encode_tokens([small_clip.tokenize(text) for text in texts]).features.numpy()
    images = model.image_features(pixels)
    captions = model.text_features([model.tokenize(text) for text in texts], 8)
    for features, own in ((images, own_images), (captions, own_texts)):
        assert features / np.linalg.norm(features, axis=1, keepdims=True) == pytest.approx(own, abs=1e-5)


def made_trials(better, worse):
    """Two scenes whose captions have the features of rows `better` and `worse`; references and grades likewise."""
    scenes = np.array([0, 1])
    choices = Choices(scenes, np.array(better), np.array(worse), np.array(["colour", "size"]))
    pairs = Choices(
        np.tile(scenes, len(PAIRS)), np.tile(better, len(PAIRS)), np.tile(worse, len(PAIRS)), np.repeat(list(PAIRS), 2)
    )
    references = np.array([better, better]).T.repeat(2, axis=1)
    graded = np.array([[b, b, w, w, w] for b, w in zip(better, worse, strict=True)])
    return Trials(np.empty(0), [], references, np.array(better), choices, choices, pairs, graded)


def test_measures_by_hand():
    images = np.eye(3, dtype=np.float32)[:2]
    texts = np.array([[1, 0, 0.1], [0, 1, 0.1], [0.3, 0.2, 1], [0.2, 0.3, 1]], dtype=np.float32)
    right = measure(made_trials([0, 1], [2, 3]), images, texts)
    assert {right[key] for key in ("foil accuracy", "foil accuracy ref1", "foil accuracy ref", "HC", "MM ref")} == {100}
    # 4 captions of grade 0 or 1 score higher than 6 of grades 2 to 4; 2 captions have each grade.
    assert right["tau_b"] == pytest.approx(100 * 24 / np.sqrt(24 * 40))
    assert right["image_to_caption_recall@1"] == 100
    wrong = measure(made_trials([2, 3], [0, 1]), images, texts)
    assert wrong["foil accuracy"] == wrong["pairs mean"] == 0
    assert wrong["tau_b"] == pytest.approx(-right["tau_b"])
    assert measure(made_trials([0, 1], [0, 1]), images, texts)["foil accuracy"] == 50


def test_tables_compare_seed_by_seed_and_come_back_from_the_file(tmp_path):
    trials, more = draw_trials(4), draw_trials(5)
    assert (more.pixels[:4] == trials.pixels).all(), "pictures depend on the seed and the number of the trial"
    for choices in (trials.foils, trials.pairs):
        right = zip(choices.scenes, choices.better, strict=True)
        assert not any(better in trials.references[scene] for scene, better in right), "a reference is right"
    rng = np.random.default_rng(0)
    texts = rng.standard_normal((len(trials.texts), 4)).astype(np.float32)
    found = measure(trials, rng.standard_normal((4, 4)).astype(np.float32), texts)
    shifted = [{key: value + 1 + i for key, value in found.items()} for i in range(2)]
    measurements = {"CLIP": [found, found], "PAC": shifted}
    text = as_markdown(measurements, "CLIP")
    # Differences 1 and 2: mean 1.5, half width 12.7 / 2.
    assert "| PAC minus CLIP | +1.5 ± 6.4 |" in text
    assert "PAC-S tau_b +1.50 ± 6.35 (not distinguishable from chance)" in verdict(measurements)
    write_csv(tmp_path / "trials.csv", measurements, [0, 1])
    assert as_markdown(read_csv(tmp_path / "trials.csv"), "CLIP") == text


# Questions.


@hypothesis.given(SEEDS)
def test_answers_do_not_depend_on_which_group_is_named_first(seed):
    scene = draw_scene(np.random.default_rng(seed))
    found = answers(scene)
    assert len(found) == len(ANSWERS)
    assert all(NOT_ASKED <= answer < n for answer, n in zip(found, ANSWERS, strict=True))
    if len(scene.groups) == 2:
        turned = Scene(scene.groups[::-1], OPPOSITE[scene.relation], scene.background)
        assert answers(turned) == found


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


# The small captioner: its encoder is tiny-pac's, its words are people's, and its likelihood is right.


WEIGHTS = CHECKPOINT / "open_clip_model.safetensors"


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [draw_picture(rng, draw_scene(rng)) for _ in range(3)]


def test_states_are_those_of_the_checkpoint_before_its_last_layer(pictures):
    treatment = {"activation": "gelu", "mean": (0.5,) * 3, "std": (0.5,) * 3}
    clip = ClipModel(read_weights(WEIGHTS), **treatment, device="cpu")
    states = []
    blocks = clip.network.visual.transformer.resblocks
    blocks[-2].register_forward_hook(lambda _module, _input, output: states.append(output))
    with torch.no_grad():
        clip.embed_pixels(torch.from_numpy(np.stack([as_model_pixels(picture, 32) for picture in pictures])))
    ours = encode_pictures(new_captioner(WEIGHTS, 0), as_pixel_values(pictures, 32))
    # 32-bit sums in another order.
    assert ours.numpy() == pytest.approx(states[0].numpy(), abs=2e-4)


def test_only_the_decoder_learns_and_all_is_small():
    model = new_captioner(WEIGHTS, 0)
    assert not any(weight.requires_grad for weight in model.encoder.parameters())
    assert 4 * sum(weight.numel() for weight in model.parameters()) < 10_000_000
    same = new_captioner(WEIGHTS, 0).state_dict()
    assert all(torch.equal(weight, same[name]) for name, weight in model.state_dict().items())


def test_nats_by_hand():
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]]))
    # The second word is padding.
    held_out = HeldOut(logits, torch.tensor([[1, 0]]), 0.0)
    assert held_out.nats(1.0) == pytest.approx(math.log(4))
    assert held_out.nats(0.5) == pytest.approx(math.log(6))  # 1/16 of 1/4 + 1/16 + 1/16
