"""Bounded memory: each case runs in a process of its own, whose peak is read from the operating system.

VmHWM and not ru_maxrss, which a process inherits from the one that starts it.
"""

import subprocess
import sys

import numpy as np
import pytest

from tests.clip_checkpoints import save_checkpoint, small_weights
from tests.tools import ROOT
from tests.video_clips import noise, repeat_clip, write_clip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc, which only Linux has"),
]

# A vision transformer that takes the pixels of a real one, and does little with them.
EYES = {"layers": 1, "width": 64, "patch_size": 32, "image_size": 224}

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
def print_peak():
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) / 1024**2, end=" ")
"""

NOVELTY = """
import evaluate
lines = [" ".join(generator.choices(words, k=10)) + "\\n" for _ in range(50_000)]
for n_chunks in (1, 12):
    with open({path!r}, "w") as file:
        for _ in range(n_chunks):
            file.writelines(lines)
    module = evaluate.load({module!r}, training={path!r})
    assert module.compute(predictions=captions(5_000), references=captions(5_000))["n_training"] == 50_000 * n_chunks
    print_peak()
"""

LARGE_ROW = """
import evaluate
for module in (evaluate.load({meteor!r}), evaluate.load({cider!r}, document_frequency={table!r})):
    assert module.compute(predictions=[captions(500)], references=[captions(500)])["n_rows"] == 1
print_peak()
"""

EXACT = """
from manycaps.kit.sets_tests import exact_splits, split_p_values
from manycaps.kit.triangle_rank import null_statistics
distances = np.random.default_rng(0).random((20, 20, 20))
for statistic in ("pooled", "per_side"):
    blocks = null_statistics(distances, exact_splits(10, 10, 10**6), statistic)
    assert split_p_values(np.zeros(20), blocks).tolist() == [1.0] * 20
print_peak()
"""

CORPUS = """
import evaluate
module = evaluate.load({module!r})
rng = np.random.default_rng(0)
sides = (("prediction_embeddings", 2), ("reference_embeddings", 3))
columns = dict((name, rng.normal(size=(10_000, n, 4))) for name, n in sides)
for options in (dict(), dict(p_value="permutation", n_resamples=3_999)):
    assert module.compute(**columns, **options)["n_rows"] == 10_000
    print_peak()
"""

# A second video that is ten times as long must need no more memory than the first. Each frame that is kept as the model
# sees it would be 0.15 MB, each that is kept as decoded 2.8 MB.
VIDEOS = """
import evaluate
module = evaluate.load({module!r}, checkpoint={checkpoint!r}, device="cpu", batch_size=8)
for path in {paths!r}:
    for frames in ("all", 10):
        assert module.compute(predictions=["a dog"], videos=[path], frames=frames)["n_rows"] == 1
    print_peak()
"""


def peaks_gib(code, **values):
    """The peaks that a process which runs the code prints, in GiB: each is the largest until then."""
    code = BEGIN.format(root=str(ROOT)) + code.format(**values)
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return [float(word) for word in process.stdout.split() if word[0].isdigit()]


def test_a_row_of_500_and_500_captions_needs_less_than_2_gib():
    table = {"n_documents": 100, "document_frequency": {"a": 90, "dog": 20}}
    meteor, cider = (str(ROOT / "metrics" / name) for name in ("trm_meteor", "trm_cider"))
    assert peaks_gib(LARGE_ROW, meteor=meteor, cider=cider, table=table)[-1] < 2


def test_exact_p_values_of_10_and_10_captions_need_less_than_1_gib():
    assert peaks_gib(EXACT)[-1] < 1


def test_p_values_of_a_corpus_need_less_than_a_third_of_memory_more():
    without, tested = peaks_gib(CORPUS, module=str(ROOT / "metrics" / "trm_bert"))
    # 0.15 GiB more than 0.88; all null values of all rows would be another 0.3 GiB.
    assert tested < 1.3 * without


def test_memory_of_novelty_does_not_grow_with_the_training_captions(tmp_path):
    module = str(ROOT / "measurements" / "novelty")
    one, twelve = peaks_gib(NOVELTY, module=module, path=str(tmp_path / "training.txt"))
    assert twelve < 1.15 * one < 1.15


def test_memory_does_not_grow_with_the_length_of_a_video(tmp_path):
    checkpoint = save_checkpoint(tmp_path / "small.pth", small_weights(vision_cfg=EYES))
    pictures = [np.kron(coarse, np.ones((40, 40, 1), np.uint8)) for coarse in noise(50, 18, 32)]
    short = write_clip(tmp_path / "short.avi", pictures, codec="mjpeg", pixels="yuvj420p")
    # Twice the first: what the allocator needs for good is taken then.
    paths = [str(short), str(short), str(repeat_clip(tmp_path / "long.avi", short, 20))]
    module = str(ROOT / "metrics" / "emscore_pac")
    _, before, after = peaks_gib(VIDEOS, module=module, checkpoint=str(checkpoint), paths=paths)
    # 950 more frames: 0.13 GiB as pixels of the model, 2.4 GiB as decoded. What may wait decoded is 0.02 GiB, which the
    # short clip does not fill; the rest is the allocator's.
    assert after - before < 0.08
