"""Groups that are spread over processes: each gets the rewards that one process gives to all."""

import json
import os
import socket
import subprocess
import sys

import pytest

from manycaps.rewards import EnergyReward
from tests.tools import ROOT

PROGRAM = """
import json, os, sys
import torch.distributed as distributed
from tests.unit.rewards.test_completions_processes import completions, letters
from manycaps.rewards import EnergyReward
distributed.init_process_group("gloo")
rank = distributed.get_rank()
given = completions()
# The second row is spread over both.
part = slice(0, 5) if rank == 0 else slice(5, 12)
reward = EnergyReward(letters)
values = reward(**{name: column[part] for name, column in given.items()})
open(sys.argv[1] + f"/{rank}.json", "w").write(json.dumps(values))
distributed.destroy_process_group()
"""


def letters(first, second):
    """A distance that needs no model."""
    return [abs(len(x) - len(y)) ** 0.5 for x, y in zip(first, second, strict=True)]


def completions():
    """Three rows of four completions."""
    return {
        "prompts": [f"row {i // 4}" for i in range(12)],
        "completions": ["a" * (i * i % 7) for i in range(12)],
        "references": [["b" * (i // 4 + 1), "b" * 5] for i in range(12)],
    }


@pytest.mark.slow
def test_two_processes_get_the_rewards_of_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            env={**surroundings, "RANK": str(rank), "WORLD_SIZE": "2"},
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    for process in processes:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error.decode()
    of_two = [value for rank in range(2) for value in json.loads((tmp_path / f"{rank}.json").read_text())]
    assert of_two == pytest.approx(EnergyReward(letters)(**completions()), abs=1e-12)
