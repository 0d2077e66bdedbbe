"""With how many threads processes begin, that ctrl-C is for their parent, and which processes end after an error."""

import multiprocessing
import os
import signal
import sys
import time

import pytest

from manycaps.scoring.local_processes import THREAD_VARIABLES, LocalEngine, process_context, threads_for
from manycaps.scoring.run_settings import RunPart


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")
def test_the_server_begins_with_its_share_of_threads_and_without_ctrl_c(monkeypatch):
    started = []
    monkeypatch.setattr(
        "multiprocessing.forkserver.ensure_running",
        lambda: started.append((os.environ["OMP_NUM_THREADS"], signal.getsignal(signal.SIGINT))),
    )
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    handler = signal.getsignal(signal.SIGINT)
    process_context(2)
    assert started == [("4", signal.SIG_IGN)]
    assert signal.getsignal(signal.SIGINT) is handler
    assert not set(THREAD_VARIABLES) & set(os.environ)


def test_variables_that_are_set_stay(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with threads_for(2):
        assert os.environ["OMP_NUM_THREADS"] == "7"
    assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.mark.slow
def test_an_error_of_a_run_ends_no_process_of_somebody_else(monkeypatch):
    """A script that scores may have workers of its own."""
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("manycaps.scoring.local_processes.process_context", lambda _: context)
    other = context.Process(target=time.sleep, args=(60,))
    other.start()
    try:
        with pytest.raises(ZeroDivisionError), LocalEngine(1) as engine:
            list(engine.run(divide, None, [RunPart(0, ())]))
        other.join(1)
        assert other.is_alive()
    finally:
        other.kill()


def divide(*_):
    return 1 / 0
