"""Runs of `manycaps score` as real processes: killed at any moment, on several processes, on a disk that is full."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pyarrow.dataset as ds
import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Kills of a run; a longer trial sets more.
N_KILLS = int(os.environ.get("MANYCAPS_KILLS", "5"))


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "manycaps", "score", *map(str, arguments)],
        cwd=ROOT.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def run(*arguments, code=0):
    process = start(*arguments)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    return out, err


def table_of(folder):
    return ds.dataset(folder / "rows").to_table().sort_by("id")


def files_of(folder):
    """Content of the results; the notebook of the run left out."""
    paths = [*sorted((folder / "rows").iterdir()), folder / "summary.json", folder / "rejected.jsonl"]
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """160 rows of 5 + 4 captions out of the bundled sample."""
    sample = json.loads((ROOT / "manycaps" / "quickstart" / "captions.json").read_text(encoding="utf-8"))["scenes"]
    pool = sorted({text for scene in sample for text in scene["references"]})
    generator = random.Random(0)
    rows = []
    for i in range(160):
        captions = generator.choices(pool, k=9)
        rows.append({"id": f"{i:04}", "predictions": captions[:5], "references": captions[5:]})
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def arguments_of(lines):
    tests = ["--option", "p_value=permutation", "--option", "n_resamples=99"]
    return ["-m", "trm_meteor,trm_cider", "-i", lines, "--part-size", "0.004", *tests]


@pytest.fixture(scope="module")
def whole(lines, tmp_path_factory):
    """The run that nothing disturbed, in one process."""
    folder = tmp_path_factory.mktemp("whole") / "o"
    run(*arguments_of(lines), "-o", folder, "--processes", 1)
    return folder


def test_two_processes_give_the_same_bytes(lines, whole, tmp_path):
    run(*arguments_of(lines), "-o", tmp_path / "o", "--processes", 2)
    assert files_of(tmp_path / "o") == files_of(whole)


def test_a_run_that_is_killed_again_and_again_gives_the_same_bytes(lines, whole, tmp_path):
    folder, generator = tmp_path / "o", random.Random(1)
    n_finished = []
    for _ in range(N_KILLS):
        process = start(*arguments_of(lines), "-o", folder, "--processes", 2)
        wait_for_part(folder, process, len(n_finished))
        time.sleep(generator.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        n_finished.append(len(list((folder / "parts").glob("*.json"))))
    assert not (folder / "summary.json").exists() or n_finished
    run(*arguments_of(lines), "-o", folder, "--processes", 2)
    assert files_of(folder) == files_of(whole)
    assert not list(folder.rglob(".incomplete*"))


def wait_for_part(folder, process, n_kills):
    """Wait until a run has begun to work: later kills come later in the run."""
    while process.poll() is None and len(list(folder.glob("parts/*.json"))) <= 6 * n_kills:
        time.sleep(0.02)


def test_processes_end_with_a_killed_parent(lines, tmp_path):
    process = start(*arguments_of(lines), "-o", tmp_path / "o", "--processes", 2)
    children = wait_for_children(process.pid, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_process_is_named(lines, whole, tmp_path):
    folder = tmp_path / "o"
    process = start(*arguments_of(lines), "-o", folder, "--processes", 2)
    os.kill(wait_for_children(process.pid, 2)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert (
        err.strip()
        .splitlines()[-1]
        .startswith(
            "processes: expected all to live until the end, got one that was killed, perhaps for lack of memory."
        )
    )
    run(*arguments_of(lines), "-o", folder, "--processes", 2)
    assert files_of(folder) == files_of(whole)


def test_ctrl_c_ends_a_run_in_one_line(lines, tmp_path):
    process = start(*arguments_of(lines), "-o", tmp_path / "o", "--processes", 2)
    wait_for_children(process.pid, 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "manycaps score: stopped by ctrl-C."
    assert "Traceback" not in err


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 300 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no permission to mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(lines, whole, small_disk):
    folder = small_disk / "o"
    _, err = run(*arguments_of(lines), "-o", folder, "--processes", 2, code=1)
    assert err.strip().splitlines()[-1] == (
        f"{folder}: expected a folder that can hold the results, got No space left on device. Make room, and "
        "give the same command again: finished parts stay."
    )
    assert list(folder.rglob("survey-*.json"))
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    run(*arguments_of(lines), "-o", folder, "--processes", 2)
    assert files_of(folder) == files_of(whole)


def is_running(pid):
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return status[0] != "Z"
    return False


def wait_for_children(pid, n_children):
    """Numbers of the processes that work for another."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = children_of(pid)
        children = [child for child in found if "spawn_main" in command_of(child)]
        # Where processes are forked, a server does it.
        children += [worker for child in found if "forkserver" in command_of(child) for worker in children_of(child)]
        if len(children) >= n_children:
            return children
        time.sleep(0.05)
    raise AssertionError("no processes were started")


def children_of(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in found.stdout.split()]


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    return ""


# What a Mac lacks: the cores of a process, and processes that are forked.
MAC = """
import os, sys, sysconfig
if __name__ == "__main__":
    sysconfig.get_config_vars()
    import manycaps.scoring.worker_packages
    del os.sched_getaffinity
    sys.platform = "darwin"
    from manycaps.command_line import main
    sys.exit(main(sys.argv[1:]))
"""


def test_a_mac_starts_its_processes_from_scratch(lines, whole, tmp_path):
    (tmp_path / "mac.py").write_text(MAC)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for name, processes in (("default", ()), ("two", ("--processes", 2))):
        command = [
            sys.executable,
            tmp_path / "mac.py",
            "score",
            *arguments_of(lines),
            *processes,
            "-o",
            tmp_path / name,
        ]
        subprocess.run([*map(str, command)], env=environment, check=True, capture_output=True, timeout=600)
        assert files_of(tmp_path / name) == files_of(whole)
