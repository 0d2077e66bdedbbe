"""Human parity as a callback of a real Trainer: what it logs, when it stops, and that the training does not feel it."""

import functools
import itertools
import json
import math
import types

import datasets
import numpy as np
import pytest
import torch
import transformers

from manycaps.catalog.installed_modules import load
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.rewards import HumanParityCallback
from manycaps.rewards.callback import LOGGED, nearness
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene
from scripts.toy.small_captioner import MAX_TOKENS, as_pixel_values, as_text, as_tokens, new_captioner
from scripts.toy.speakers import Speaker, draw_captions
from tests import tiny_models
from tests.refusals import assert_refused
from tests.simulated_people import distances_of, drawn_distances

N_ROWS = 12


def rows():
    """Scenes, pictures and captions of people."""
    made = []
    for i in range(N_ROWS):
        rng = np.random.default_rng([7, i])
        scene = draw_scene(rng)
        picture, captions = draw_picture(rng, scene), draw_captions(Speaker(), scene, 6, rng)
        made.append({"picture": picture, "caption": captions[0], "references": captions[1:]})
    return made


ROWS = rows()


def pixels(picture_rows, size=32):
    return {"pixel_values": as_pixel_values((row["picture"] for row in picture_rows), size)}


class Words:
    """The tokenizer of the small captioner."""

    def batch_decode(self, tokens, skip_special_tokens):
        assert skip_special_tokens
        return [as_text(row) for row in tokens.tolist()]


def callback(**options):
    own = {"every": 2, "n_candidates": 3, "inputs": pixels, "max_new_tokens": MAX_TOKENS - 1, "distance": "cider"}
    return HumanParityCallback(ROWS, **own | options)


def collate(batch):
    tokens = as_tokens([ROWS[int(row["number"])]["caption"] for row in batch])
    labels = tokens[:, 1:].clone()
    pictures = pixels([ROWS[int(row["number"])] for row in batch])
    return {**pictures, "decoder_input_ids": tokens[:, :-1], "labels": labels}


def train(folder, *callbacks, n_steps=4):
    """Train the small captioner, and return the trainer."""
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
    settings = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=n_steps,
        per_device_train_batch_size=4,
        remove_unused_columns=False,
        save_strategy="no",
        report_to="none",
        logging_steps=2,
        disable_tqdm=True,
        use_cpu=True,
        seed=1,
    )
    trainer = transformers.Trainer(
        model=model,
        args=settings,
        train_dataset=datasets.Dataset.from_dict({"number": list(range(N_ROWS))}),
        data_collator=collate,
        callbacks=list(callbacks),
    )
    # A tokenizer of transformers is saved with the model; this one only decodes.
    trainer.callback_handler.processing_class = Words()
    trainer.train()
    return trainer


def test_values_are_logged_before_and_while_training_which_stays_the_same(tmp_path):
    watch = callback()
    watched, plain = train(tmp_path, watch), train(tmp_path)
    steps = [line["step"] for line in watched.state.log_history if "human_parity/p_value" in line]
    assert steps == [0, 2, 4]
    # Faults are logged where they are defined, which other versions of torch, with other draws, may find.
    faults = {f"human_parity/{name}" for name in ("faults", "unsupported_share", "odd_wording_share")}
    assert set(watch.last) - faults == {
        *(
            "human_parity/p_value",
            "human_parity/statistic",
            "human_parity/rows_to_detect",
            "human_parity/energy_distance",
        ),
        *("human_parity/unlike_people_share", "human_parity/generic_share", "human_parity/near_duplicate_share"),
        *("human_parity/fidelity_gap", "human_parity/diversity_gap"),
        *("human_parity/repeated_share", "human_parity/words_per_text", "human_parity/words_per_text_of_people"),
    }
    # Texts of three times people's length have no threshold of faults, and what is undefined is not logged.
    assert watch.last["human_parity/words_per_text"] > 2 * watch.last["human_parity/words_per_text_of_people"]
    assert watch.last["human_parity/p_value"] < 0.05  # it has learned nothing
    for mine, theirs in zip(watched.model.parameters(), plain.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize(
    ("rows_to_detect", "statistics", "trains"),
    [
        ([5, 9, 9, 20], [30.0, 20.0, 20.0, 10.0], True),
        ([5, 9, 7, 20], [30.0, 20.0, 1.0, 0.0], False),  # T2 falls where faults cancel in it
        ([1, 1, 1, 20], [900.0, 700.0, 800.0, 10.0], False),  # it has learned little: T2 orders equal numbers of rows
        ([5, math.inf, math.inf, math.inf], [30.0, 3.0, 2.0, 1.0], False),
    ],
)
def test_it_stops_where_captions_come_no_nearer_to_people(tmp_path, monkeypatch, rows_to_detect, statistics, trains):
    watch = callback(patience=1)
    monkeypatch.setattr(watch, "_captions", lambda *_: None)
    results = zip(rows_to_detect, statistics, strict=True)
    names = ("rows_to_detect", "human_parity_statistic")
    watch._module = types.SimpleNamespace(
        compute=lambda **_: {**dict.fromkeys(LOGGED, 0.0), **dict(zip(names, next(results), strict=True))}
    )
    if trains:
        assert train(tmp_path, watch, n_steps=8).state.global_step == 4
        return
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    watch.on_train_begin(None, state, control, model=None)
    for step in range(1, 9):
        state.global_step = step
        if watch.on_step_end(None, state, control, model=None).should_training_stop:
            break
    assert step == 4


def bland_distances(rng, share):
    """Rows of a bland caption, in a share of them a wrong one, and of four people's."""
    texts = rng.normal(size=(200, 5, 4))
    wrong = rng.random(200) < share
    texts[:, 0] = np.where(wrong[:, None], 3 * rng.normal(size=(200, 4)), texts[:, 0] / 4)
    return list(distances_of(texts))


def test_wrong_captions_of_a_bland_model_cancel_in_t2_and_not_in_what_stops_the_training():
    """Medians of five draws: at 10 to 20% T2 is as for people, and rises again at 30%."""
    module, rows_to_detect, statistics = load("human_parity"), [], []
    for share in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3):
        drawn = [bland_distances(np.random.default_rng([seed, int(100 * share)]), share) for seed in range(5)]
        near = [nearness(module.compute(distances=distances, n_candidates=1)) for distances in drawn]
        rows_to_detect.append(np.median([rows for rows, _ in near]))
        statistics.append(np.median([-statistic for _, statistic in near]))
    people = [
        module.compute(distances=list(drawn_distances(np.random.default_rng(seed), 200, 1, 4)), n_candidates=1)
        for seed in range(5)
    ]
    chance_limit = 6.0  # 95% of people's values, chi-squared with one degree, are below 3.8, and 98.6% below this
    assert min(statistics[2:5]) < chance_limit < 30 < statistics[5] < statistics[1] < statistics[0]
    assert max(rows_to_detect) < 60
    assert np.median([result["rows_to_detect"] for result in people]) > 200
    falls = [before / after for before, after in itertools.pairwise(rows_to_detect)]
    assert max(falls) < 1.5, "the number of rows never falls by more than chance"


class Reporter(transformers.TrainerCallback):
    """What TensorBoard's and W&B's callbacks are for a trainer."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **_):
        self.logs.append((state.global_step, dict(logs)))


@pytest.mark.slow
@pytest.mark.parametrize("is_first", [True, False])
def test_all_that_a_trainer_reports_to_gets_the_values_and_loses_none(tmp_path, is_first):
    watch, reporter = callback(), Reporter()
    trainer = train(tmp_path, *((reporter, watch) if is_first else (watch, reporter)))
    plain = Reporter()
    train(tmp_path, plain)
    ours = [(step, logs) for step, logs in reporter.logs if "human_parity/p_value" in logs]
    assert [step for step, _ in ours] == [0, 2, 4]
    assert {name: value for name, value in ours[-1][1].items() if name != "epoch"} == watch.last
    losses = [[step for step, logs in each.logs if "loss" in logs] for each in (reporter, plain)]
    assert losses[0] == losses[1] != []
    history = [line for line in trainer.state.log_history if "human_parity/p_value" in line]
    assert history == [{**logs, "step": step} for step, logs in ours]


def test_values_are_in_the_events_of_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install -r tests/requirements.txt")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    train(tmp_path, TensorBoardCallback(SummaryWriter(tmp_path / "events")), callback())
    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    found = [name for name in events.Tags()["scalars"] if name.endswith("human_parity/p_value")]
    assert len(found) == 1
    assert [event.step for event in events.Scalars(found[0])] == [0, 2, 4]


def test_no_nan_and_no_infinity_is_logged(tmp_path, monkeypatch):
    watch, reporter = callback(), Reporter()
    monkeypatch.setattr(watch, "_captions", lambda *_: None)
    values = {**dict.fromkeys(LOGGED, 0.5), "rows_to_detect": math.inf, "faulty_share": math.nan}
    watch._module = types.SimpleNamespace(compute=lambda **_: values)
    trainer = train(tmp_path, reporter, watch)
    trainer.state.save_to_json(str(tmp_path / "trainer_state.json"))
    content = json.loads((tmp_path / "trainer_state.json").read_text(), parse_constant=pytest.fail)
    logged = [line for line in content["log_history"] if "human_parity/p_value" in line]
    assert len(logged) == 3
    assert not [line for line in logged if {"human_parity/rows_to_detect", "human_parity/faulty_share"} & set(line)]


def test_the_log_of_a_trainer_gets_the_values():
    seen, watch = [], None
    watch = callback(log=seen.append)
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    watch.on_train_begin(None, state, control, model=model, processing_class=Words())
    assert seen == [watch.last]
    assert state.log_history == []
    watch.on_step_end(None, transformers.TrainerState(global_step=3), control, model=model, processing_class=Words())
    assert len(seen) == 1
    assert not model.training


def test_a_captioner_without_prompts_is_sampled_from_its_own_probabilities(tmp_path):
    model = transformers.GitForCausalLM.from_pretrained(tiny_models.save_git(tmp_path))
    watch, sampled, settings = callback(inputs=functools.partial(pixels, size=16)), [], model.generation_config
    for own in ({}, {"num_beams": 2, "repetition_penalty": 9.0, "min_p": 0.9}):
        settings.update(**own)
        state, control = transformers.TrainerState(), transformers.TrainerControl()
        watch.on_train_begin(None, state, control, model=model, processing_class=tiny_models.new_tokenizer())
        sampled.append(watch.last)
    assert sampled[0] == sampled[1]
    assert model.generation_config is settings


def test_messages():
    message = "references[0]: expected a list of captions, got None."
    assert_refused(TypeError, message, HumanParityCallback, [{"prompt": "a"}])
    assert_refused(ValueError, ".*n_candidates", HumanParityCallback, ROWS, n_candidates=1)
    watch = HumanParityCallback(ROWS, n_candidates=2, distance="cider")
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
    message = "prompt: expected a text or a conversation in every row, got None. Or give inputs=..., a function"
    begin = functools.partial(watch.on_train_begin, None, transformers.TrainerState(), transformers.TrainerControl())
    assert_refused(TypeError, message, begin, model=model, processing_class=Words())
