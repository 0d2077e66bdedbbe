"""`manycaps score --engine ray` on a cluster of two nodes on this machine; workers, nodes and drivers are killed."""

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

from tests.modules.sample_inputs import CAPTION_ROWS

ray = pytest.importorskip("ray", reason="Ray is not installed (`pip install 'manycaps[ray]'`)")

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Seconds in which a part must be finished on a busy machine.
PATIENCE = 600

POOL = sorted({caption for rows in CAPTION_ROWS.values() for row in rows for caption in row})


def environment():
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray makes its workers yield to every other process; on a busy machine they would never be done.
        "RAY_worker_niceness": "0",
        # How soon a node that is gone is given up.
        "RAY_health_check_period_ms": "500",
        "RAY_health_check_failure_threshold": "6",
    }


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """A head and a second node, with a core each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes.add_node(num_cpus=1)
        yield nodes
        nodes.shutdown()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    generator = random.Random(0)
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    with path.open("w") as file:
        for i in range(240):
            row = {
                "id": f"{i:03}",
                "predictions": generator.choices(POOL, k=5),
                "references": generator.choices(POOL, k=4),
            }
            file.write(json.dumps(row) + "\n")
    return path


def start(lines, folder, *more):
    tests = ["--option", "p_value=permutation", "--option", "n_resamples=99"]
    arguments = ["-m", "trm_meteor,trm_cider", "-i", lines, "-o", folder, "--part-size", "0.004", *tests, *more]
    return subprocess.Popen(
        [sys.executable, "-m", "manycaps", "score", *map(str, arguments)],
        cwd=ROOT.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, code=0):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    return out, err


def results(folder):
    paths = [*sorted((folder / "rows").iterdir()), folder / "summary.json", folder / "rejected.jsonl"]
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def local(lines, tmp_path_factory):
    """Results of this machine's own processes."""
    folder = tmp_path_factory.mktemp("local") / "o"
    finish(start(lines, folder, "--processes", "1"))
    return results(folder)


def on_ray(cluster, *more):
    return ("--engine", "ray", "--address", cluster.address, *more)


def wait_for_scores(folder, n_parts):
    """Wait until some parts are scored, and not all of them."""
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("parts/score-*.json"))) < n_parts:
        assert time.monotonic() < deadline, "no part was finished"
        time.sleep(0.02)


def workers(node):
    """Numbers of the processes that work on parts in a node."""
    found = subprocess.run(["pgrep", "-P", str(raylet(node))], capture_output=True, text=True, check=False).stdout
    busy = []
    for pid in found.split():
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith("ray::MapBatches"):
                busy.append(int(pid))
    return busy


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def test_two_nodes_give_the_same_bytes_as_local_processes(cluster, lines, local, tmp_path):
    finish(start(lines, tmp_path / "o", *on_ray(cluster)))
    assert results(tmp_path / "o") == local


def test_a_killed_worker_costs_nothing(cluster, lines, local, tmp_path):
    process = start(lines, tmp_path / "o", *on_ray(cluster))
    wait_for_scores(tmp_path / "o", 2)
    killed = []
    while process.poll() is None and not killed:
        for pid in [pid for node in cluster.list_all_nodes() for pid in workers(node)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
    assert killed, "the run was over before a worker could be killed"
    finish(process)
    assert results(tmp_path / "o") == local


def test_a_killed_node_costs_nothing(cluster, lines, local, tmp_path):
    node = cluster.add_node(num_cpus=1)
    process = start(lines, tmp_path / "o", *on_ray(cluster))
    wait_for_scores(tmp_path / "o", 2)
    assert process.poll() is None, "the run was over before the node could be killed"
    cluster.remove_node(node, allow_graceful=False)
    finish(process)
    assert results(tmp_path / "o") == local


def test_a_killed_driver_is_followed_by_the_same_command(cluster, lines, local, tmp_path):
    process = start(lines, tmp_path / "o", *on_ray(cluster))
    wait_for_scores(tmp_path / "o", 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "o").glob("parts/score-*.json")}
    assert not (tmp_path / "o" / "summary.json").exists()
    finish(start(lines, tmp_path / "o", *on_ray(cluster)))
    assert results(tmp_path / "o") == local
    assert {path: path.stat().st_mtime_ns for path in before} == before, "finished parts are not scored again"


def test_an_error_of_a_worker_is_one_line(cluster, lines, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(lines.read_text() + '{"id": "x"}\n')
    _, err = finish(start(bad, tmp_path / "o", *on_ray(cluster)), code=1)
    assert err.strip().splitlines()[-1] == (
        f"{bad}, id 'x': predictions[240]: expected captions, got none. Write them, or leave the row out."
    )


def test_models_stay_in_actors(cluster, lines, tmp_path):
    """A sentence encoder is loaded by one actor, for all parts."""
    out, _ = finish(start(lines, tmp_path / "o", *on_ray(cluster, "-m", "mmd_bert", "--limit", "40")))
    finish(start(lines, tmp_path / "p", "-m", "mmd_bert", "--limit", "40", "--processes", "1"))
    own = json.loads((tmp_path / "p" / "summary.json").read_text())["metrics"]["mmd_bert"]
    numbers = {name: value for name, value in own.items() if name != "signature"}
    assert {name: json.loads(out)["metrics"]["mmd_bert"][name] for name in numbers} == pytest.approx(numbers, abs=1e-6)
