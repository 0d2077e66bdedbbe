"""`manycaps.coco` beside pycocoevalcap 1.2 with Java: 5,000 images of Flickr8k with 5 references each.

Both evaluate the same captions, from captions to scores, and the numbers are compared. A candidate is the first half
of a reference and the second half of a caption of another image. The whole evaluation is tokens, BLEU, METEOR,
ROUGE-L and CIDEr; SPICE is left out. The start of Java is measured on one caption, for each of the three programs
that an evaluation starts, and counted in one line alone. Seconds are those of processors, of all programs together,
so that other work on the machine does not count. What this project remembers of captions is forgotten before each
run; METEOR's data are loaded. Memory is the peak of a process of its own, beyond what its imports take, on 1,000,000
pairs of a candidate and a reference; pycocoevalcap has a tenth of them, and no METEOR, which is another process
there.
"""

import contextlib
import functools
import gzip
import io
import json
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from manycaps import coco
from manycaps.coco import scorers
from scripts.benchmarks.diversity import FOLDER
from scripts.benchmarks.timing import Comparison

PEER = "pycocoevalcap"
N_IMAGES, N_REFERENCES = 5_000, 5

# Images whose pairs are 1,000,000, and those that pycocoevalcap gets.
N_MEMORY_IMAGES = 200_000
N_PEER_MEMORY_IMAGES = 20_000

# The least that the clock of processor seconds counts.
TICK = 1 / os.sysconf("SC_CLK_TCK")

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 10, "N_MEMORY_IMAGES": 20, "N_PEER_MEMORY_IMAGES": 10}

# Least ratios that the project claims; of the whole evaluation without and with the start of Java.
TARGETS = {"PTBTokenizer": 4, "Bleu": 3, "Meteor": 7, "Rouge": 3, "Cider": 10}
WHOLE_TARGET, WHOLE_TARGET_WITH_START = 9, 13

Captions = dict[int, list[dict[str, str]]]
Tokens = dict[int, list[str]]


def comparisons() -> Iterator[Comparison]:
    """Yield the lines of the table."""
    gts, res = captions(N_IMAGES)
    ours = {"Bleu": coco.Bleu, "Meteor": coco.Meteor, "Rouge": coco.Rouge, "Cider": coco.Cider}
    theirs = {"Bleu": Bleu, "Meteor": Meteor, "Rouge": Rouge, "Cider": Cider}
    assert_same_numbers(gts, res, ours, theirs)
    one = {0: ["a dog"]}
    start = _medians(lambda: PTBTokenizer().tokenize({0: [{"caption": "a dog"}]}))[0]
    meteor_start = _medians(lambda: scored(Meteor, one, one))[0]
    seconds = [
        _medians(
            lambda: evaluate(coco.PTBTokenizer(), ours, gts, res), lambda: evaluate(PTBTokenizer(), theirs, gts, res)
        )
    ]
    tokens = coco.PTBTokenizer().tokenize(gts), coco.PTBTokenizer().tokenize(res)
    seconds.append(_medians(lambda: tokenized(coco.PTBTokenizer(), gts), lambda: PTBTokenizer().tokenize(gts)))
    for name in ours:
        works = [functools.partial(scored_alone, kinds[name], *tokens) for kinds in (ours, theirs)]
        seconds.append(_medians(*works))
    (mine, other), *parts = seconds
    work = f"whole evaluation, {N_IMAGES:,} images of {N_REFERENCES} references"
    yield _line(f"{work}, Java started", "images", N_IMAGES, mine, other - 2 * start - meteor_start, WHOLE_TARGET)
    yield _line(f"{work}, with the start", "images", N_IMAGES, mine, other, WHOLE_TARGET_WITH_START)
    for (name, target), (mine, other) in zip(TARGETS.items(), parts, strict=True):
        apart = {"PTBTokenizer": start, "Meteor": meteor_start}.get(name, 0.0)
        unit = "captions" if name == "PTBTokenizer" else "pairs"
        yield _line(name, unit, N_IMAGES * N_REFERENCES, mine, other - apart, target)
    yield from memory_comparison()


def _line(work: str, unit: str, n: int, ours: float, theirs: float, target: float) -> Comparison:
    rates = (n / max(seconds, TICK) for seconds in (ours, theirs))
    return Comparison(work, PEER, unit, *rates, target, per="processor s")


def _medians(*works: Callable[[], object]) -> list[float]:
    """Median processor seconds of each of several works, with the programs that they end, run in turn three times."""
    runs = []
    for _ in range(3):
        runs.append([])
        for work in works:
            start = sum(os.times()[:4])
            work()
            runs[-1].append(sum(os.times()[:4]) - start)
    return [statistics.median(column) for column in zip(*runs, strict=True)]


def captions(n: int) -> tuple[Captions, Captions]:
    """Return references and candidates of n images: those of Flickr8k, in turn."""
    own = defaultdict(list)
    with gzip.open(FOLDER / "Flickr8k.token.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            image, _, caption = line.rstrip("\n").partition("\t")
            own[image.partition("#")[0]].append(caption)
    rows = [texts for texts in own.values() if len(texts) == N_REFERENCES]
    generator = random.Random(0)
    gts: Captions = {}
    res: Captions = {}
    for key in range(n):
        row = rows[key % len(rows)]
        words, others = (texts.split() for texts in (generator.choice(row), generator.choice(rows)[0]))
        text = " ".join([*words[: len(words) // 2], *others[len(others) // 2 :]])
        gts[key], res[key] = [{"caption": each} for each in row], [{"caption": text}]
    return gts, res


def evaluate(tokenizer: Any, own: Mapping[str, Any], gts: Captions, res: Captions) -> list[Any]:
    """Evaluate as COCOEvalCap does."""
    scorers._texts.cache_clear()
    tokens = tokenized(tokenizer, gts), tokenized(tokenizer, res)
    return [scored(kind, *tokens) for kind in own.values()]


def tokenized(tokenizer: Any, side: Captions) -> Tokens:
    """Tokenise, with nothing remembered."""
    scorers._line.cache_clear()
    found: Tokens = tokenizer.tokenize(side)
    return found


def scored(kind: Any, gts: Tokens, res: Tokens) -> Any:
    """Make a scorer, as each evaluation does, and score; nothing is printed."""
    with contextlib.redirect_stdout(io.StringIO()):
        return kind().compute_score(gts, res)


def scored_alone(kind: Any, gts: Tokens, res: Tokens) -> Any:
    """Score, with nothing remembered."""
    scorers._texts.cache_clear()
    return scored(kind, gts, res)


def assert_same_numbers(gts: Captions, res: Captions, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise unless both compute the same."""
    for mine, other in zip(
        evaluate(coco.PTBTokenizer(), ours, gts, res), evaluate(PTBTokenizer(), theirs, gts, res), strict=True
    ):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-15)


# A process that computes BLEU, ROUGE-L and CIDEr, and METEOR if so, and prints its peak in bytes beyond its imports.
PROGRAM = r"""
import contextlib, io, json, pathlib, re, sys
package, path, has_meteor = sys.argv[1:]
if package == "manycaps":
    import manycaps.coco
    manycaps.coco.install()
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
scorers = [Bleu(4), Rouge(), Cider(), *([Meteor()] if has_meteor == "yes" else [])]
one = {0: ["a dog"], 1: ["the cat"]}
def peak():  # of this program alone: ru_maxrss begins with that of its parent
    return int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1])
with contextlib.redirect_stdout(io.StringIO()):
    for scorer in scorers:
        scorer.compute_score(one, one)
    before = peak()
    with open(path, encoding="utf-8") as file:
        gts, res = json.load(file)
    for scorer in scorers:
        scorer.compute_score(gts, res)
print(1024 * (peak() - before))
"""


def memory_comparison() -> Iterator[Comparison]:
    """Yield peak memory on a million pairs, captions included."""
    sizes = {"manycaps": (N_MEMORY_IMAGES, "yes"), PEER: (N_PEER_MEMORY_IMAGES, "no")}
    rates = {}
    for package, (n_images, has_meteor) in sizes.items():
        tokens = [coco.PTBTokenizer().tokenize(side) for side in captions(n_images)]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(tokens, file)
            file.flush()
            command = [sys.executable, "-c", PROGRAM, package, file.name, has_meteor]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        rates[package] = n_images * N_REFERENCES / (max(int(done.stdout), mmap.PAGESIZE) / 2**20)
    yield Comparison("peak memory, 1,000,000 pairs", PEER, "pairs", rates["manycaps"], rates[PEER], 2, per="MiB")
