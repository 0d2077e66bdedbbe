"""When the server of processes is started before anything is read, and with how many threads its processes begin."""

import os
import signal
import sys

import pytest

from manycaps.scoring import local_processes
from manycaps.scoring.local_processes import THREAD_VARIABLES, start_early, threads_for

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")


@pytest.fixture
def started(monkeypatch):
    """What the server would have begun with, in place of one."""
    found = []
    monkeypatch.setattr(local_processes, "ENOUGH_BYTES", 10)
    monkeypatch.setattr(
        "multiprocessing.forkserver.ensure_running",
        lambda: found.append((os.environ["OMP_NUM_THREADS"], signal.getsignal(signal.SIGINT))),
    )
    return found


def large_file(folder):
    path = folder / "rows.jsonl"
    path.write_text("a" * 10)
    return str(path)


@linux
def test_a_large_input_starts_the_server_with_its_share_of_threads(tmp_path, started, monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    handler = signal.getsignal(signal.SIGINT)
    assert start_early([large_file(tmp_path)], ["trm_meteor"], 2)
    assert started == [("4", signal.SIG_IGN)]
    assert signal.getsignal(signal.SIGINT) is handler
    assert not set(THREAD_VARIABLES) & set(os.environ)


@linux
@pytest.mark.parametrize(
    ("source", "metric", "n_processes"),
    [
        ("large", "trm_meteor", 1),
        ("small", "trm_meteor", 2),
        ("s3://far/away", "trm_meteor", 2),
        ("large", "pac_score", 2),
        ("large", "no_such_metric", 2),
    ],
    ids=["one_process", "small", "address", "model", "unknown"],
)
def test_nothing_is_started_where_no_processes_are_wanted(tmp_path, started, source, metric, n_processes):
    paths = {"large": large_file(tmp_path), "small": str(tmp_path / "none.jsonl")}
    assert not start_early([paths.get(source, source)], [metric], n_processes)
    assert started == []


def test_variables_that_are_set_stay(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with threads_for(2):
        assert os.environ["OMP_NUM_THREADS"] == "7"
    assert os.environ["OMP_NUM_THREADS"] == "7"
