"""PAC-S in several processes, and on more images than memory could hold."""

import json
import os
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

from tests.clip_checkpoints import save_checkpoint
from tests.large_packages import evaluate
from tests.module_folders import PAC_SCORE, ROOT

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)

# Each process scores its own share of the rows; the row scores are gathered, without the rows that fill the last batch.
SHARED_WORK = """
import json, sys, evaluate, torch
torch.set_num_threads(1)
from accelerate import Accelerator
rows = json.load(open(sys.argv[1]))
accelerator = Accelerator(cpu=True)
loader = accelerator.prepare(torch.utils.data.DataLoader(rows, batch_size=2, collate_fn=list))
pac_score = evaluate.load(sys.argv[2], checkpoint=sys.argv[3], device="cpu", details=True)
scores = []
for batch in loader:
    columns = {"predictions": [row["captions"] for row in batch], "images": [row["image"] for row in batch]}
    of_rows = pac_score.compute(**columns)["pac_score_per_row"]
    scores += accelerator.gather_for_metrics(of_rows, use_gather_object=True)
if accelerator.is_main_process:
    print("RESULT", json.dumps([accelerator.num_processes, scores]))
"""


def test_two_processes_equal_one(tmp_path):
    checkpoint = str(save_checkpoint(tmp_path / "small.pth"))
    rows = []
    for i in range(7):
        PIL.Image.fromarray(RNG.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(tmp_path / f"{i}.png")
        rows.append({"captions": [f"number {i}", "a dog"], "image": str(tmp_path / f"{i}.png")})
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "work.py").write_text(SHARED_WORK)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *launch, "work.py", "rows.json", PAC_SCORE, checkpoint]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, cwd=tmp_path, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    n_processes, scores = json.loads(done.stdout.split("RESULT", 1)[1])
    alone = evaluate.load(PAC_SCORE, checkpoint=checkpoint, device="cpu", details=True).compute(
        predictions=[row["captions"] for row in rows], images=[row["image"] for row in rows]
    )
    assert n_processes == 2
    assert scores == pytest.approx(alone["pac_score_per_row"], abs=2e-6)


# Peak memory of a process that scores n images of 640 x 480, all different, given as paths.
MEASURE = """
import json, re, sys, evaluate, torch
torch.set_num_threads(1)
def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))
paths = json.load(open(sys.argv[1]))
pac_score = evaluate.load(sys.argv[2], checkpoint=sys.argv[3], device="cpu")
pac_score.compute(predictions=["a dog"] * 10, images=paths[:10])
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again
before = kilobytes("VmRSS")
result = pac_score.compute(predictions=[f"dog {i}" for i in range(len(paths))], images=paths)
print("RESULT", json.dumps([result["n_rows"], (kilobytes("VmHWM") - before) / 1024]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak on Linux only")
def test_memory_does_not_grow_with_the_images(tmp_path):
    """MANYCAPS_MEMORY_IMAGES=10000 runs the full size; decoded, 500 such images would fill 460 MB."""
    n = int(os.environ.get("MANYCAPS_MEMORY_IMAGES", "500"))
    checkpoint = str(save_checkpoint(tmp_path / "small.pth"))
    paths = []
    for i in range(n):
        colour = (i % 256, i // 256 % 256, 90)
        PIL.Image.new("RGB", (640, 480), colour).save(tmp_path / f"{i}.jpg", quality=95)
        paths.append(str(tmp_path / f"{i}.jpg"))
    (tmp_path / "paths.json").write_text(json.dumps(paths))
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "paths.json"), PAC_SCORE, checkpoint]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    n_rows, megabytes = json.loads(done.stdout.split("RESULT", 1)[1])
    print(f"{n} images raised the peak by {megabytes:.0f} MB")
    assert n_rows == n
    assert 0 < megabytes < 200 + n * 0.03  # 500 MB for 10,000
