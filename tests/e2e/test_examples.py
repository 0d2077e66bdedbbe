"""The programs of scripts/examples: their numbers equal the modules', also in two processes."""

import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.example_programs import ROOT, example
from tests.large_packages import datasets, evaluate, torch, transformers

CAPTIONS = ROOT / "manycaps" / "comparison" / "quickstart" / "captions.json"
SCENES = json.loads(CAPTIONS.read_text(encoding="utf-8"))["scenes"]
REFERENCES = [scene["references"] for scene in SCENES]


def candidates(system):
    return [scene["systems"][system] for scene in SCENES]


@pytest.fixture(scope="module")
def trm_meteor():
    """Loaded once: WordNet takes its time."""
    return evaluate.load(str(ROOT / "metrics" / "trm_meteor"))


EXAMPLES = ROOT / "scripts" / "examples"
# One column of a data set.


@pytest.fixture(scope="module")
def score_column():
    return example("score_column")


def test_a_scored_column_equals_one_compute_and_loads_from_the_folder(score_column, trm_meteor, tmp_path):
    scored = score_column.main(CAPTIONS, tmp_path / "scored")
    options = {"p_value": "exact", "details": True}
    whole = trm_meteor.compute(predictions=candidates("diverse"), references=REFERENCES, **options)
    for name in ("trm_meteor_per_row", "meteor_per_row", "trm_meteor_p_value_per_row"):
        assert scored[name] == whole[name]
    loaded = datasets.load_dataset(str(tmp_path / "scored"), split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded.column_names == scored.column_names
    assert loaded[:] == scored[:]
    card = (tmp_path / "scored" / "README.md").read_text(encoding="utf-8")
    assert whole["signature"] in card


def test_map_reuses_its_work_for_a_fresh_module_and_for_a_used_one(score_column, tmp_path, monkeypatch):
    score_column.sample(CAPTIONS).select(range(3)).save_to_disk(tmp_path / "rows")
    rows = datasets.load_from_disk(str(tmp_path / "rows"))
    name, calls = "trm_cider", []
    call = score_column.RowScores.__call__
    monkeypatch.setattr(score_column.RowScores, "__call__", lambda self, batch: calls.append(1) or call(self, batch))
    used = score_column.RowScores(name)
    first = rows.map(used, batched=True)
    assert (rows.map(score_column.RowScores(name), batched=True)[:], len(calls)) == (first[:], 1)
    assert (rows.map(used, batched=True)[:], len(calls)) == (first[:], 1)


# Several metrics at once.


def test_combined_metrics_equal_single_ones_and_are_saved(trm_meteor, tmp_path):
    program = example("combine_and_save")
    result = program.main(CAPTIONS, "repeating", f"{tmp_path}/")
    others = {name: evaluate.load(str(ROOT / "metrics" / name)) for name in ("trm_cider", "mmd_bert")}
    for name, module in {"trm_meteor": trm_meteor, **others}.items():
        options = {"encoder": program.bag_of_words} if name == "mmd_bert" else {}
        columns = {"predictions": candidates("repeating"), "references": REFERENCES}
        alone = module.compute(**columns, p_value="exact", **options)
        assert {key: result[f"{name}_n_rows" if key == "n_rows" else key] for key in alone} == alone
    [path] = tmp_path.iterdir()
    saved = json.loads(path.read_text())
    assert saved.items() >= result.items()
    assert saved["system"] == "repeating"
    assert saved["_evaluate_version"] == evaluate.__version__


# The Trainer.


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A short training: the trainer, and what its compute_metrics was given and gave."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    program, folder = example("seq2seq_trainer"), tmp_path_factory.mktemp("trained")
    trainer = program.make_trainer(folder, epochs=2)
    seen, metrics = [], trainer.compute_metrics
    trainer.compute_metrics = lambda evaluated: (seen.append((evaluated, metrics(evaluated))), seen[-1][1])[1]
    trainer.train()
    program.restore_best(trainer)
    result = trainer.evaluate()
    yield collections.namedtuple("Trained", "program trainer metrics seen result folder")(
        program, trainer, metrics, seen, result, folder
    )
    torch.set_num_threads(n_threads)


@pytest.mark.slow
def test_training_reports_both_metrics_of_all_candidates(training, trm_meteor):
    history = [entry for entry in training.trainer.state.log_history if "eval_trm_meteor" in entry]
    assert len(history) == 3
    assert history[-1]["eval_meteor"] > history[0]["eval_meteor"], "it learns"
    evaluated, metrics = training.seen[-1]
    n_rows, n_candidates = len(training.metrics.rows), training.program.N_CANDIDATES
    assert evaluated.predictions.shape[::2] == (n_rows, n_candidates)
    lines = (training.folder / "captions.jsonl").read_text().splitlines()
    predictions = [json.loads(line)["captions"] for line in lines[-n_rows:]]
    assert {len(row) for row in predictions} == {n_candidates}
    assert any(len(set(row)) > 1 for row in predictions), "sampled"
    references = list(training.metrics.rows["references"])
    mmd_bert = evaluate.load(str(ROOT / "metrics" / "mmd_bert"), encoder=training.program.bag_of_words)
    human_parity = evaluate.load(str(ROOT / "metrics" / "human_parity"), distance="meteor")
    modules = {"trm_meteor": trm_meteor, "mmd_bert": mmd_bert, "unlike_people_share": human_parity}
    for name, module in modules.items():
        alone = module.compute(predictions=predictions, references=references)
        assert metrics[name] == training.result[f"eval_{name}"] == alone[name]
    assert training.result["eval_human_parity_p_value"] < 0.05, "two epochs do not make people of it"


@pytest.mark.slow
def test_the_best_weights_come_back_whole(training):
    state = training.trainer.state
    name = "eval_human_parity_statistic"
    best = min((e for e in state.log_history if name in e), key=lambda e: e[name])
    losses = [e["eval_loss"] for e in state.log_history if e.get("step") == state.best_global_step and "eval_loss" in e]
    assert best[name] <= state.best_metric
    assert training.result["eval_loss"] == pytest.approx(losses[0], rel=1e-6)


@pytest.mark.slow
def test_padding_of_predictions_and_of_labels(training):
    whole, _ = training.seen[-1]
    # Two batches, the first with shorter captions, joined as Trainer joins them.
    batches = whole.predictions[:4, :22], whole.predictions[4:]
    joined = transformers.trainer_pt_utils.nested_concat(*batches, padding_index=-100)
    evaluated = transformers.EvalPrediction(joined, whole.label_ids)
    assert (evaluated.predictions == -100).any()
    assert (evaluated.label_ids == -100).any()
    metrics = training.metrics
    padded = training.program.CaptionMetrics(metrics.tokenizer, metrics.rows, training.folder / "padded.jsonl")
    assert padded(evaluated)["n_rows"] == 11


@pytest.mark.slow
def test_another_order_of_rows_is_noticed(training):
    evaluated, _ = training.seen[-1]
    swapped = transformers.EvalPrediction(evaluated.predictions[::-1], evaluated.label_ids[::-1])
    with pytest.raises(ValueError, match=r"^evaluation rows: expected the order of the data set, got another\."):
        training.metrics(swapped)


@pytest.mark.slow
def test_early_stopping_follows_the_falling_distance(tmp_path):
    """Distances 0.3, 0.2, 0.1, 0.4, 0.5: the third is best; who takes larger for better stops after the third."""
    trainer = example("seq2seq_trainer").make_trainer(tmp_path, epochs=8)
    trainer.train_dataset = trainer.train_dataset.select(range(18))
    trainer.args.predict_with_generate = False
    trainer.prediction_step = functools.partial(transformers.Seq2SeqTrainer.prediction_step, trainer)
    distances = iter([0.3, 0.2, 0.1, 0.4, 0.5, 0.6, 0.7, 0.8])
    trainer.compute_metrics = lambda evaluated: {"human_parity_statistic": next(distances)}
    trainer.train()
    assert (trainer.state.best_metric, trainer.state.epoch) == (0.1, 5)


# What README shows, in a program that has all but the lines of README.


@pytest.mark.slow
@pytest.mark.parametrize("n_candidates", [1, 3])
def test_the_readme_s_compute_metrics_runs_in_a_trainer(n_candidates, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = example("seq2seq_trainer")
    train, rows = program.squares()
    tokenizer = program.word_tokenizer(train["caption"])
    names = {
        "collate": functools.partial(program.collate, tokenizer),
        "evaluation_rows": rows,
        "human_parity": evaluate.load(str(ROOT / "metrics" / "human_parity"), distance="meteor"),
        "model": program.small_model(tokenizer),
        "tokenizer": tokenizer,
        "transformers": transformers,
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [snippet] = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "SamplingTrainer" in block]
    sampled = "num_return_sequences=3"
    assert sampled in snippet
    exec(
        snippet.replace(sampled, f"num_return_sequences={n_candidates}").replace(
            "trainer.evaluate", "logged = trainer.evaluate"
        ),
        names,
    )
    seen = names["trainer"].predict(rows, do_sample=True, num_return_sequences=n_candidates, max_length=40).predictions
    assert seen.shape[::2] == ((len(rows), n_candidates) if n_candidates > 1 else (len(rows),))
    assert names["logged"]["eval_n_rows"] == len(rows)
    assert 0 <= names["logged"]["eval_human_parity_p_value"] <= 1


# Two processes.


def run_documented(program, folder, *more, starts=()):
    """Run the command of an example's docstring in a folder; `starts` is a program that runs the example.

    `accelerate launch --cpu` would start one process, and say nothing.
    """
    [line] = re.findall(r"^torchrun .*$", (EXAMPLES / f"{program}.py").read_text(encoding="utf-8"), re.MULTILINE)
    [launcher, *words] = line.split()
    first = next(i for i, word in enumerate(words) if word.startswith("scripts/"))
    words[first : first + 1] = [*starts, ROOT / words[first]]
    command = [pathlib.Path(sys.executable).with_name(launcher), *words, *more]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, timeout=1200)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout[done.stdout.rindex("{") :]), done.stderr


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_the_loop_in_two_processes_equals_that_in_one(tmp_path):
    """Without gather_for_metrics the last batch would count twice; without their line all processes would write."""
    result, _ = run_documented("accelerate_loop", tmp_path, "--output", "loop.jsonl")
    alone = example("accelerate_loop").main(CAPTIONS, 4, tmp_path / "alone.jsonl")
    assert alone["n_rows"] == 14
    assert lines_of(tmp_path / "loop.jsonl") == [result] == [{"n_processes": 2, **alone}]


@pytest.mark.slow
def test_trainer_in_two_processes_scores_every_row_once_and_ends_well(tmp_path):
    program = ROOT / "tests" / "two_process_examples.py"
    result, errors = run_documented("seq2seq_trainer", tmp_path, "--epochs", "1", starts=(program, tmp_path))
    assert "processes: 2\n" in errors
    main, other = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2))
    assert main["result"] == result
    assert result["eval_n_rows"] == 11
    assert main["n_rows"] > 11
    assert np.isfinite(result["eval_trm_meteor"])
    for name in ("trm_meteor", "mmd_bert", "loss"):
        assert result[f"eval_{name}"] == other["result"][f"eval_{name}"]
    # One process writes the captions: after the epoch, and of the best weights.
    assert len(lines_of(tmp_path / "trained" / "captions.jsonl")) == 2 * 11


@pytest.mark.slow
@pytest.mark.parametrize("n_processes", [1, 2])
def test_lightning_logs_every_row_once(n_processes, tmp_path):
    """Rows of two processes are 12, since the sampler repeats one of 11."""
    command = [sys.executable, "-m", "scripts.examples.lightning_loop", "--epochs", "1", "--output", str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--processes", str(n_processes)], env=environment, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    [folder] = (tmp_path / "lightning_logs").iterdir()
    curves = EventAccumulator(str(folder)).Reload()
    assert [event.value for event in curves.Scalars("n_rows")] == [11]
    assert 0 <= curves.Scalars("human_parity_p_value")[0].value <= 1


@pytest.fixture(scope="module")
def captioner(tmp_path_factory):
    """A folder with a captioner of the made world that has hardly learned."""
    from tqdm import tqdm

    from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
    from scripts.toy.small_captioner import CaptionerRecipe, new_captioner, save_captioner, train_captioner

    folder = tmp_path_factory.mktemp("captioner")
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", 0)
    train_captioner(model, 0, CaptionerRecipe(80, 60), tqdm)
    save_captioner(model, folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["cider", "energy"])
def test_a_captioner_is_trained_with_rewards_in_a_plain_loop(captioner, reward, tmp_path):
    program = example("scst_captioner")
    options = ["--reward", reward, "--scenes", "40", "--watched", "12", "--steps", "2"]
    lines = program.main(program.parse([str(captioner), *options, "--output", str(tmp_path / "trained")]))
    assert [*lines] == ["before", "after"]
    form = r"T2 [\d,]+, rows needed ([\d,]+|inf), near-duplicates \d+%"
    assert all(re.fullmatch(form, line) for line in lines.values())
    assert lines["before"] != lines["after"]
    assert program.Captioner(tmp_path / "trained").tokenizer.pad_token_id is not None
