"""PAC-S on more images than memory could hold."""

import json
import os
import subprocess
import sys

import PIL.Image
import pytest

from tests.clip_checkpoints import save_checkpoint
from tests.module_folders import PAC_SCORE, ROOT

pytestmark = pytest.mark.slow

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
