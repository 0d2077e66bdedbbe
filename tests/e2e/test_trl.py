"""The rewards in the trainers of TRL, on one process and on two."""

import importlib.util
import json
import math
import subprocess
import sys

import pytest

from manycaps.rewards import EnergyReward
from tests.example_programs import ROOT, example

N_STEPS = 6

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("trl") is None, reason="TRL is not installed: pip install 'manycaps[rl]'"
    ),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By number of processes what each of them saw."""
    seen = {}
    for n in (1, 2):
        folder = tmp_path_factory.mktemp(f"of{n}")
        # What `accelerate launch` calls with accelerators; with --cpu it starts a single process.
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(n)] if n > 1 else []
        command = [sys.executable, *launcher, str(ROOT / "tests" / "trl_training.py"), str(folder), str(N_STEPS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        seen[n] = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(n)]
    return seen


@pytest.mark.parametrize("kind", ["grpo", "rloo"])
@pytest.mark.parametrize("n_processes", [1, 2])
def test_trainers_train_and_rewards_are_those_of_one_process(runs, kind, n_processes):
    rank_calls = [seen[kind]["calls"] for seen in runs[n_processes]]
    assert [len(calls) for calls in rank_calls] == [N_STEPS] * n_processes
    reward = EnergyReward("cider", document_frequency=list(example("grpo_captions").scenes(0, 30)["references"]))
    for step in zip(*rank_calls, strict=True):
        joint = {name: [value for call in step for value in call[name]] for name in step[0]}
        assert len(joint["rewards"]) == 12
        given = joint.pop("rewards")
        assert given == pytest.approx(reward(**joint), abs=1e-6)
        for start in range(0, 12, 4):  # nothing is left for the trainer to subtract
            assert math.fsum(given[start : start + 4]) == pytest.approx(0, abs=1e-6)
    log = [line for line in runs[n_processes][0][kind]["log"] if "loss" in line]
    assert len(log) == N_STEPS
    for line in log:
        assert math.isfinite(line["EnergyReward/energy_distance"])
        assert math.isfinite(line["rewards/CiderReward/mean"])
