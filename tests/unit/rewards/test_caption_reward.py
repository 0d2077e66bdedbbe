"""Rewards as trainers and loops call them: values, groups, what is logged, and what is refused."""

import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from manycaps import functional
from manycaps.catalog.installed_modules import load
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.words_predictability import caption_trigrams
from manycaps.rewards import (
    BleuReward,
    ChairReward,
    CiderReward,
    EnergyReward,
    MeteorReward,
    PacReward,
    RefPacReward,
    caption_reward,
)
from manycaps.rewards.distances import row_distances
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene
from tests.large_packages import datasets, torch
from tests.refusals import refusals

CANDIDATES = [["a dog runs", "a dog", "two cats sleep"], ["a red car", "the car is red", "a red car"]]
REFERENCES = [["a dog is running", "the dog runs"], ["a red car on a road", "a car"]]
CORPUS = [*REFERENCES, ["two birds", "birds in a tree"]]


def letters(first, second):
    """A distance that needs no model: the share of letters that only one of two texts has."""
    return [1 - len(set(x) & set(y)) / max(1, len(set(x) | set(y))) for x, y in zip(first, second, strict=True)]


def as_trainer(candidates, references, **columns):
    """The arguments of TRL for rows of candidates."""
    flat = [(f"prompt {i}", text, references[i]) for i, row in enumerate(candidates) for text in row]
    prompts, completions, own = map(list, zip(*flat, strict=True))
    given = {"prompts": prompts, "completions": completions, "references": own, "completion_ids": None}
    return given | {"trainer_state": object()} | columns


REWARDS = {
    "energy": lambda: EnergyReward(letters),
    "energy of n-grams": lambda: EnergyReward("cider", document_frequency=CORPUS),
    "gaussian kernel": lambda: EnergyReward(letters, "gaussian"),
    "laplace kernel": lambda: EnergyReward(letters, "laplace", sigma=1.0),
    "cider": lambda: CiderReward(CORPUS),
    "bleu": lambda: BleuReward(order=2),
    "meteor": lambda: MeteorReward(),
    "chair": lambda: ChairReward({"red thing": ["red"], "cat": []}),
}


@pytest.mark.parametrize("name", REWARDS)
def test_a_trainer_gets_what_a_loop_gets(name):
    reward = REWARDS[name]()
    row_rewards = reward(CANDIDATES, REFERENCES)
    assert row_rewards.shape == (2, 3)
    assert row_rewards.dtype == np.float64
    assert np.isfinite(row_rewards).all()
    logged, extra = {}, {}
    trainer_rewards = reward(
        **as_trainer(CANDIDATES, REFERENCES), log_metric=logged.__setitem__, log_extra=extra.__setitem__
    )
    assert all(type(value) is float for value in trainer_rewards)
    np.testing.assert_allclose(trainer_rewards, row_rewards.ravel(), atol=1e-12)
    assert logged == {f"{type(reward).__name__}/{key}": value for key, value in reward.last.items()}
    assert extra == {f"{type(reward).__name__}_reward": trainer_rewards}
    assert json.loads(json.dumps(reward.last)) == reward.last


@pytest.mark.parametrize("name", REWARDS)
def test_conversations_are_the_texts_of_the_assistant(name):
    reward = REWARDS[name]()
    given = as_trainer(CANDIDATES, REFERENCES)
    plain = reward(**given)
    answers = [[{"role": "assistant", "content": text}] for text in given["completions"]]
    prompts = [
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": p}]}] for p in given["prompts"]
    ]
    assert reward(**{**given, "completions": answers, "prompts": prompts}) == plain
    parts = [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in given["completions"]]
    assert reward(**{**given, "completions": parts}) == plain


def test_the_energy_reward_is_that_of_the_plain_function():
    texts = [[*mine, *theirs] for mine, theirs in zip(CANDIDATES, REFERENCES, strict=True)]
    distances = np.array([[letters([x] * 5, row) for x in row] for row in texts])
    np.testing.assert_allclose(EnergyReward(letters)(CANDIDATES, REFERENCES), functional.energy_rewards(distances, 3))
    quality = EnergyReward(letters, quality=0.8)(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(quality, functional.energy_rewards(distances, 3, 0.8))
    gaps = functional.human_gaps(distances, 3)
    reward = EnergyReward(letters)
    reward(CANDIDATES, REFERENCES)
    assert reward.last["energy_distance"] == pytest.approx(gaps.energy.mean())
    assert reward.last["fidelity_gap"] == pytest.approx(gaps.fidelity.mean())
    assert reward.last["diversity_gap"] == pytest.approx(gaps.diversity.mean())
    tails = functional.human_tails(distances, 3)
    for name in ("unlike_people_share", "generic_share", "near_duplicate_share"):
        assert reward.last[name] == pytest.approx(getattr(tails, name))


def test_scores_of_single_captions_are_those_of_the_modules():
    tokens = [[text.split() for text in row] for row in CANDIDATES]
    references = [[text.split() for text in row] for row in REFERENCES]
    meteor, bleu = MeteorReward()(CANDIDATES, REFERENCES), BleuReward()(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(meteor.mean(axis=1), functional.meteor(tokens, references))
    np.testing.assert_allclose(bleu.mean(axis=1), functional.bleu(tokens, references)[:, 3])
    frequencies = {
        "n_documents": 3,
        "document_frequency": document_frequencies([[t.split() for t in row] for row in CORPUS]),
    }
    cider = CiderReward(frequencies)(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(cider.mean(axis=1), functional.cider_d(tokens, references, frequencies))
    np.testing.assert_allclose(cider, CiderReward(CORPUS)(CANDIDATES, REFERENCES))


def test_images_are_scored_and_a_caption_without_a_word_has_zero():
    rng = np.random.default_rng(0)
    pictures = [draw_picture(rng, draw_scene(rng)) for _ in range(2)]
    candidates = [["a red star", ""], ["two blue circles", "..."]]
    for kind, more in ((PacReward, ()), (RefPacReward, (REFERENCES,))):
        reward = kind(CHECKPOINT, device="cpu")
        values = reward(candidates, *more, images=pictures)
        assert values[0, 0] > 0
        assert (values[:, 1] == 0).all()
        given = as_trainer(candidates, REFERENCES, image=[pictures[0]] * 2 + [pictures[1]] * 2)
        np.testing.assert_allclose(reward(**given), values.ravel())


# Groups.


def test_groups_are_consecutive_prompts_and_references_or_labels():
    reward, given = EnergyReward(letters), as_trainer(CANDIDATES, REFERENCES)
    expected = reward(**given)
    # A captioner is told the same of every image.
    assert reward(**{**given, "prompts": ["Describe the image."] * 6}) == expected
    order = [0, 3, 1, 4, 2, 5]
    mixed = {name: [given[name][i] for i in order] for name in ("prompts", "completions", "references")}
    labels = [i // 3 for i in order]
    assert reward(**{**given, **mixed, "prompts": None}, group=labels) == pytest.approx([expected[i] for i in order])


def test_groups_may_differ_in_size_and_in_references():
    candidates, references = [[*CANDIDATES[0], "a cat"], CANDIDATES[1]], [REFERENCES[0], ["a car"]]
    rewards = EnergyReward(letters)(**as_trainer(candidates, references))
    for part, mine, theirs in (
        (rewards[:4], candidates[0], references[0]),
        (rewards[4:], candidates[1], references[1]),
    ):
        np.testing.assert_allclose(part, EnergyReward(letters)([mine], [theirs])[0])


def objects(rows):
    """An array of objects: of rows of one length, NumPy would make an array with two dimensions."""
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


# Columns as data loaders give them. Whether an array or a tensor is "true" is an error, and a Series has an index.
FORMS = {
    "tuple": tuple,
    "array": objects,
    "array of arrays": lambda rows: objects([np.array(row) if isinstance(row, list) else row for row in rows]),
    "series": lambda rows: pd.Series(list(rows), index=range(7, 7 + len(rows))),
    "arrow": pa.array,
    "data set": lambda rows: datasets.Dataset.from_dict({"column": list(rows)})["column"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["energy", "energy of n-grams", "cider", "bleu"])
def test_columns_may_be_whatever_data_loaders_give(name, form):
    reward, as_column = REWARDS[name](), FORMS[form]
    expected = reward(CANDIDATES, REFERENCES)
    np.testing.assert_array_equal(reward(as_column(CANDIDATES), as_column(REFERENCES)), expected)
    given = as_trainer(CANDIDATES, REFERENCES)
    columns = {column: as_column(given[column]) for column in ("prompts", "completions", "references")}
    assert reward(**{**given, **columns}) == expected.ravel().tolist()
    assert reward(**{**given, **columns, "prompts": None}, group=as_column([0, 0, 0, 1, 1, 1])) == (
        expected.ravel().tolist()
    )
    np.testing.assert_array_equal(
        CiderReward(as_column(CORPUS))(CANDIDATES, REFERENCES), REWARDS["cider"]()(CANDIDATES, REFERENCES)
    )


def test_images_may_be_a_batch():
    rng = np.random.default_rng(0)
    pictures = np.stack([np.asarray(draw_picture(rng, draw_scene(rng)).convert("RGB")) for _ in range(2)])
    reward = PacReward(CHECKPOINT, device="cpu")
    candidates = [["a red star", "a blue circle"], ["two blue circles", "a star"]]
    expected = reward(candidates, images=list(pictures))
    tensor = torch.tensor(pictures).permute(0, 3, 1, 2) / 255
    for batch in (pictures, tensor, tensor.requires_grad_(), list(tensor), pd.Series(list(pictures))):
        np.testing.assert_allclose(reward(candidates, images=batch), expected, atol=1e-6)
    np.testing.assert_allclose(
        reward(**as_trainer(candidates, REFERENCES, image=tensor.repeat_interleave(2, 0))), expected.ravel(), atol=1e-6
    )


LABELS = {
    "tensors without dimensions": lambda labels: [torch.tensor(label) for label in labels],
    "a tensor": torch.tensor,
    "an array": np.array,
    "lists": lambda labels: [["coco", label] for label in labels],
    "arrays": lambda labels: [np.array([1, label]) for label in labels],
    "floats": lambda labels: [float(label) for label in labels],
}


@pytest.mark.parametrize("form", LABELS)
def test_labels_of_groups_are_compared_by_value(form):
    reward, given = EnergyReward(letters), as_trainer(CANDIDATES, REFERENCES)
    expected = reward(**given)
    assert reward(**{**given, "prompts": None}, group=LABELS[form]([7, 7, 7, 9, 9, 9])) == expected


def test_one_reference_has_rewards_and_nothing_to_watch():
    reward = EnergyReward(letters)
    assert np.isfinite(reward(CANDIDATES, [["a dog"], ["a car"]])).all()
    assert reward.last == {}


def test_wording_is_scored_for_who_asks_and_once(monkeypatch):
    """A loop that never reads `last` does not wait for it; a trainer logs it."""
    scored = []
    monkeypatch.setattr(caption_reward, "watch_wording", lambda rows, *_: scored.append(rows) or {"wording_gap": 1.0})
    reward = EnergyReward(letters)
    for _ in range(2):
        reward(CANDIDATES, REFERENCES)
    assert not scored
    assert reward.last is reward.last
    assert [rows.candidates for rows in scored] == [CANDIDATES]
    logged = []
    reward(**as_trainer(CANDIDATES, REFERENCES), log_metric=lambda *named: logged.append(named))
    assert len(scored) == 2
    assert ("EnergyReward/wording_gap", 1.0) in logged


@pytest.mark.parametrize("name", ["energy", "cider", "chair"])
def test_the_wording_of_captions_is_logged(name):
    """By the other rows of a step, or by a corpus: what the module `wording` says; a loop and a trainer alike."""
    scenes = [(animal, place) for animal in ("dog", "cat", "cow", "pig") for place in ("beach", "street", "lawn")]
    people = [[f"a {animal} runs on the {place}", f"the {animal} is on a {place}"] for animal, place in scenes]
    broken = [[f"a a {animal} {place} on", f"{place} a", f"the {animal} is on a {place}"] for animal, place in scenes]
    reward, wording = REWARDS[name](), load("wording")
    counts = Counter(trigram for row in people for text in row for trigram in caption_trigrams(text.split()))
    for model, n_rows in ((None, 12), ({"n_captions": 24, "trigrams": dict(counts)}, 12), (None, 9)):
        if model is not None:
            reward = reward.with_language_model(model)
        elif n_rows < 10:
            reward = REWARDS[name]()
        reward(broken[:n_rows], people[:n_rows])
        found = dict(reward.last)
        expected = wording.compute(predictions=broken, references=people, language_model=model)
        for key in ("wording_gap", "odd_wording_share"):
            assert (key in found) == (n_rows >= 10)
            assert n_rows < 10 or found[key] == pytest.approx(expected[key])
        reward(**as_trainer(broken[:n_rows], people[:n_rows]))
        assert {key: reward.last.get(key) for key in found} == pytest.approx(found)
    assert expected["wording_gap"] < -0.5


def test_other_names_of_columns():
    given = as_trainer(CANDIDATES, REFERENCES)
    given["captions"] = given.pop("references")
    reward = EnergyReward(letters, references="captions", name="towards_people")
    assert reward.__name__ == "towards_people"
    assert reward(**given) == EnergyReward(letters)(**as_trainer(CANDIDATES, REFERENCES))


# Distances that a policy cannot hack by texts without a vector.


@pytest.mark.parametrize(("distance", "farthest"), [("bert", 2.0), ("cider", 2**0.5)])
def test_a_text_without_a_vector_is_far_from_all_others_and_equal_texts_are_not(distance, farthest):
    def encode(captions):
        return np.array([[len(text), text.count("o")] if "dog" in text else [0, 0] for text in captions], float)

    documents, encoder = (CORPUS, {}) if distance == "cider" else (None, {"encoder": encode})
    distances = row_distances(distance, documents=documents, tokenizer="ptb", encoder=encoder)
    matrix = distances([["a dog", "the dog", "", "birds", "birds", "..."]])[0]
    assert matrix[3, 4] == 0
    assert (np.diag(matrix) == 0).all()
    others = [0, 1, 3]
    np.testing.assert_allclose(matrix[2, others], farthest)
    if distance == "bert":
        np.testing.assert_allclose(matrix[3, [0, 1, 2, 5]], farthest)
    np.testing.assert_allclose(matrix, matrix.T)


# Messages.


def caller(**changes):
    return lambda: EnergyReward(letters)(**{**as_trainer(CANDIDATES, REFERENCES), **changes})


GROUPS = "expected groups of at least"
MESSAGES = [
    ("references: expected a column of human texts, a list in every row, got none. Add it to", caller(references=None)),
    ("references[5]: expected at least one caption, got an empty list.", caller(references=[["a"]] * 5 + [[]])),
    ("references: expected one value for each of the 6 completions, got 5. Repeat", caller(references=[["a"]] * 5)),
    ("prompts: expected one for each completion, got none. Give them, or a column group.$", caller(prompts=None)),
    *(
        (f"group[3]: expected a number or a text that all completions of a row share, got {shown}. Give the id", given)
        for shown, given in (
            ("nan", caller(group=[1, 1, 1, math.nan, math.nan, math.nan])),
            ("None", caller(group=[1, 1, 1, None, None, None])),
            ("{'id': 2}", caller(group=[1, 1, 1, {"id": 2}, {"id": 2}, {"id": 2}])),
        )
    ),
    ("group[3]: expected the references of completion 0, which has the value 1 too, got other", caller(group=[1] * 6)),
    ("group: expected one value for each completion, got ndarray (array(3)). Give a list.", caller(group=np.array(3))),
    ("references: expected at least one row, got none.", lambda: EnergyReward(letters)(CANDIDATES, [])),
    ("completions[0]: expected a text, or a list of messages with role and content, got", caller(completions=[1] * 6)),
    (f"num_generations: {GROUPS} 3 captions of one row, got 1 in group 0.", caller(prompts=[str(i) for i in range(6)])),
    (f"candidates: {GROUPS} 2 captions of one row, got 1 in group 0.", lambda: EnergyReward(letters)([["a"]], [["b"]])),
    (
        "candidates[1]: expected 1 texts as in row 0, got another number (1 such rows in all).",
        lambda: CiderReward(CORPUS)([["a"], ["b", "c"]], REFERENCES),
    ),
    ("references: expected one row for each of the 2 rows o", lambda: CiderReward(CORPUS)(CANDIDATES, REFERENCES[:1])),
    ("document_frequency: expected frequencies of the training corpus, got none. Give the list", lambda: CiderReward()),
    ("images: expected a column of images, got none.", lambda: PacReward(CHECKPOINT, device="cpu")(CANDIDATES)),
    ("checkpoint: expected a path or a Hub repository, got int. Save the", lambda: PacReward(5, device="cpu")),
    (
        "document_frequency: expected none, unless distance is 'cider', got some. They would be ignored: leave them",
        lambda: EnergyReward("meteor", document_frequency=CORPUS),
    ),
    ("encoder_options: expected none, unless dist", lambda: EnergyReward(letters, encoder_options={"device": "cpu"})),
    ("sigma: expected none, unless there is a kernel, got some. It wo", lambda: EnergyReward(letters, sigma=0.5)),
    ("sigma: expected a positive number, got 1000", lambda: EnergyReward(letters, "gaussian", sigma=10**400)),
    ("sigma: expected a positive number, got 0.", lambda: EnergyReward(letters, "gaussian", sigma=0)),
    ("sigma: expected a number, got str. Give 0.5", lambda: EnergyReward(letters, "gaussian", sigma="1")),
    ("language_model: expected a path to a JSON fi", lambda: EnergyReward(letters).with_language_model(5)),
    ("model: expected one of the options encoder,", lambda: EnergyReward("bert", encoder_options={"model": "a"})),
]

test_messages = refusals({(TypeError, ValueError): MESSAGES})
