"""Bounded memory: each case runs in a process of its own, whose peak is read from the operating system.

VmHWM and not ru_maxrss, which a process inherits from the one that starts it.
"""

import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc, which only Linux has")

ROOT = pathlib.Path(__file__).resolve().parents[2]

BEGIN = """
import os, re, sys
os.environ["HF_EVALUATE_OFFLINE"] = "1"
sys.path.insert(0, {root!r})
import random
import numpy as np
words = "a the dog cat man woman runs running sits red small big beach park street on in with and two".split()
generator = random.Random(0)
def captions(n):
    return [" ".join(generator.choices(words, k=generator.randint(5, 14))) for _ in range(n)]
"""

END = """
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) / 1024**2)
"""

LARGE_ROW = """
import evaluate
module = evaluate.load({module!r}, document_frequency={table!r}) if "cider" in {module!r} else evaluate.load({module!r})
result = module.compute(predictions=[captions(500)], references=[captions(500)])
assert result["n_rows"] == 1
"""

EXACT = """
from helpers.shared_partition_test import exact_partitions, upper_tail_p_values
from helpers.shared_triangle_rank import null_statistics
distances = np.random.default_rng(0).random((20, 20, 20))
blocks = null_statistics(distances, exact_partitions(10, 10, 10**6), {statistic!r})
assert upper_tail_p_values(np.zeros(20), blocks).tolist() == [1.0] * 20
"""


def peak_gib(code, **values):
    """Peak memory of a process that runs the code, in GiB."""
    code = BEGIN.format(root=str(ROOT)) + code.format(**values) + END
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return float(process.stdout.split()[-1])


@pytest.mark.parametrize("name", ["trm_meteor", "trm_cider"])
def test_a_row_of_500_and_500_captions_needs_less_than_2_gib(name):
    table = {"n_documents": 100, "document_frequency": {"a": 90, "dog": 20}}
    assert peak_gib(LARGE_ROW, module=str(ROOT / "metrics" / name), table=table) < 2


@pytest.mark.parametrize("statistic", ["pooled", "per_side"])
def test_exact_p_values_of_10_and_10_captions_need_less_than_1_gib(statistic):
    assert peak_gib(EXACT, statistic=statistic) < 1
