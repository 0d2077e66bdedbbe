"""`manycaps score` as real processes, on this machine and on a Ray cluster of two nodes, killed at any moment."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from manycaps.catalog.installed_modules import OWN_PROCESS
from manycaps.commands.command_line import main
from tests.modules.scored_rows import POOL
from tests.tools import ROOT, write_jsonl

pytestmark = pytest.mark.slow

# Kills of a run, besides the kill of one of its processes and ctrl-C; a longer trial sets more.
N_KILLS = int(os.environ.get("MANYCAPS_KILLS", "1"))

# Seconds in which a run must be done on a busy machine.
PATIENCE = 600

ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
    OWN_PROCESS: "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray makes its workers yield to every other process; on a busy machine they would never be done.
    "RAY_worker_niceness": "0",
    # How soon a node that is gone is given up.
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "6",
}

TWO_PROCESSES = ("--processes", "2")

# What a Mac lacks: the cores of a process, and processes that are forked.
MAC = """
import os, sys, sysconfig
if __name__ == "__main__":
    sysconfig.get_config_vars()
    import manycaps.scoring.worker_packages
    del os.sched_getaffinity
    sys.platform = "darwin"
    from manycaps.commands.command_line import main
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """240 rows of 5 + 4 captions."""
    generator, rows = random.Random(0), []
    for i in range(240):
        captions = generator.choices(POOL, k=9)
        rows.append({"id": f"{i:03}", "predictions": captions[:5], "references": captions[5:]})
    return write_jsonl(tmp_path_factory.mktemp("lines") / "rows.jsonl", rows)


def arguments_of(lines, folder, *more):
    arguments = ["score", "-m", "trm_meteor,trm_cider", "-i", lines, "-o", folder, "--part-size", "0.004"]
    arguments += ["--option", "p_value=permutation", "--option", "n_resamples=99", *more]
    return [*map(str, arguments)]


def start(lines, folder, *more, program=("-m", "manycaps")):
    return subprocess.Popen(
        [sys.executable, *program, *arguments_of(lines, folder, *more)],
        cwd=ROOT.parent,
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finish(process, code=0):
    """Wait for a run, and return what it printed, and the last line of its errors."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return out, err.strip().rpartition("\n")[2]


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def results(folder):
    """Content of the results; the notebook of the run left out."""
    paths = [*sorted((folder / "rows").iterdir()), folder / "summary.json", folder / "rejected.jsonl"]
    return {path.name: path.read_bytes() for path in paths}


def wait_for(condition, process=None):
    """Wait until a condition holds, which is then returned, or until a process has ended."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()) and not (process and process.poll() is not None):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def n_scored(folder):
    return len(list(folder.glob("parts/score-*.json")))


def children_of(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in found.stdout.split()]


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def workers_of(process):
    """Numbers of the processes that work for a run, once there are two."""

    def find_workers():
        children = children_of(process.pid)
        workers = [child for child in children if "spawn_main" in command_of(child)]
        # Where processes are forked, a server does it.
        workers += [pid for child in children if "forkserver" in command_of(child) for pid in children_of(child)]
        return len(workers) >= 2 and workers

    return wait_for(find_workers)


def is_running(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture(scope="module")
def whole(lines, tmp_path_factory):
    """Results of the run that nothing disturbed, in one process: this one."""
    folder = tmp_path_factory.mktemp("whole") / "o"
    assert main(arguments_of(lines, folder, "--processes", "1")) == 0
    return results(folder)


def test_a_run_that_is_stopped_again_and_again_gives_the_same_bytes(lines, whole, tmp_path):
    """One of its processes is killed, it gets ctrl-C, it is killed itself, and its processes end with it."""
    folder, generator = tmp_path / "o", random.Random(1)
    process = start(lines, folder, *TWO_PROCESSES)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    assert finish(process, code=1)[1].startswith(
        "processes: expected worker processes that run to the end, got one that was killed (out of memory?). "
        "Rerun with fewer --processes; finished parts are kept."
    )
    process = start(lines, folder, *TWO_PROCESSES)
    workers_of(process)
    process.send_signal(signal.SIGINT)
    assert finish(process, code=130)[1] == "manycaps score: stopped by ctrl-C."
    for i in range(N_KILLS):
        process = start(lines, folder, *TWO_PROCESSES)
        workers = workers_of(process) if i == 0 else []
        # Later kills come later in the run.
        wait_for(lambda n_parts=6 * (i + 1): len(list(folder.glob("parts/*.json"))) > n_parts, process)
        time.sleep(generator.uniform(0, 0.5))
        kill(process)
        wait_for(lambda workers=workers: not any(map(is_running, workers)))
    finish(start(lines, folder, *TWO_PROCESSES))
    assert results(folder) == whole
    assert not list(folder.rglob(".incomplete*"))


def test_a_mac_starts_its_processes_from_scratch(lines, whole, tmp_path):
    (tmp_path / "mac.py").write_text(MAC)
    finish(start(lines, tmp_path / "o", program=[str(tmp_path / "mac.py")]))
    assert results(tmp_path / "o") == whole


@pytest.fixture(scope="module")
def cluster():
    """A head and a second node, with a core each."""
    pytest.importorskip("ray", reason="Ray is not installed (`pip install 'manycaps[ray]'`)")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes.add_node(num_cpus=1)
        yield nodes
        nodes.shutdown()


@pytest.fixture
def on_ray(cluster, lines, tmp_path):
    """Start the run on the cluster."""
    return lambda *more: start(lines, tmp_path / "o", "--engine", "ray", "--address", cluster.address, *more)


def ray_workers(cluster):
    """Numbers of the processes that work on parts in the nodes."""
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    children = [child for raylet in raylets for child in children_of(raylet)]
    return [child for child in children if command_of(child).startswith("ray::MapBatches")]


def test_killed_workers_and_a_killed_node_cost_nothing(cluster, on_ray, whole, tmp_path):
    node = cluster.add_node(num_cpus=1)
    process = on_ray()
    wait_for(lambda: n_scored(tmp_path / "o") >= 2)
    workers = wait_for(lambda: ray_workers(cluster), process)
    assert workers, "the run was over before a worker could be killed"
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert process.poll() is None, "the run was over before the node could be killed"
    cluster.remove_node(node, allow_graceful=False)
    finish(process)
    assert results(tmp_path / "o") == whole


def test_a_killed_driver_is_followed_by_the_same_command(on_ray, whole, tmp_path):
    process = on_ray()
    wait_for(lambda: n_scored(tmp_path / "o") >= 2)
    kill(process)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "o").glob("parts/score-*.json")}
    assert not (tmp_path / "o" / "summary.json").exists()
    finish(on_ray())
    assert results(tmp_path / "o") == whole
    assert {path: path.stat().st_mtime_ns for path in before} == before, "finished parts are not scored again"


def test_an_error_of_a_worker_is_one_line(cluster, lines, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(lines.read_text() + '{"id": "x"}\n')
    process = start(bad, tmp_path / "o", "--engine", "ray", "--address", cluster.address)
    assert finish(process, code=1)[1] == (
        f"{bad}, id 'x': predictions[240]: expected captions, got none. Write them, or leave the row out."
    )


def test_models_stay_in_actors(on_ray, lines, tmp_path, capsys):
    """A sentence encoder is loaded by one actor, for all parts."""
    few = ("-m", "mmd_bert", "--limit", "40")
    found = json.loads(finish(on_ray(*few))[0])["metrics"]["mmd_bert"]
    assert main(arguments_of(lines, tmp_path / "p", *few, "--processes", "1")) == 0
    own = json.loads(capsys.readouterr().out)["metrics"]["mmd_bert"]
    assert own.pop("signature")
    assert {name: found[name] for name in own} == pytest.approx(own, abs=1e-6)
