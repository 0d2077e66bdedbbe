"""`manycaps.integrations.coco` beside pycocoevalcap 1.2 with Java: 5,000 images of Flickr8k with 5 references each.

Both evaluate the same captions, from captions to scores, and the numbers are compared. A candidate is the first half
of a reference and the second half of a caption of another image. The whole evaluation is tokens, BLEU, METEOR,
ROUGE-L and CIDEr; SPICE is left out. The start of Java is measured on one caption, for each of the three programs
that an evaluation starts, and counted in one line alone. Seconds are processor time, of all programs together,
so that other work on the machine does not count. What this project remembers of captions is forgotten before each
run; METEOR's data are loaded. Memory is the peak of a process of its own, beyond what its imports take, on 1,000,000
pairs of a candidate and a reference; pycocoevalcap has a tenth of them, and no METEOR, which is another process
there.
"""

import contextlib
import functools
import io
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from manycaps.integrations import coco
from manycaps.integrations.coco import scorers
from scripts.benchmarks.diversity import flickr8k_rows
from scripts.benchmarks.timing import Comparison, medians

PEER = "pycocoevalcap"
N_IMAGES, N_REFERENCES = 5_000, 5

# Images whose pairs are 1,000,000, and those that pycocoevalcap gets.
N_MEMORY_IMAGES = 200_000
N_PEER_MEMORY_IMAGES = 20_000

# The least that the clock of processor seconds counts.
TICK = 1 / os.sysconf("SC_CLK_TCK")

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 10, "N_MEMORY_IMAGES": 20, "N_PEER_MEMORY_IMAGES": 10}

# The classes of both, and the least ratios that the project claims; of the whole evaluation without and with the start
# of Java.
OURS = {each.__name__: each for each in (coco.PTBTokenizer, coco.Bleu, coco.Meteor, coco.Rouge, coco.Cider)}
THEIRS = {each.__name__: each for each in (PTBTokenizer, Bleu, Meteor, Rouge, Cider)}
TARGETS = {"PTBTokenizer": 4, "Bleu": 3, "Meteor": 7, "Rouge": 3, "Cider": 10}
WHOLE_TARGET, WHOLE_TARGET_WITH_START = 9, 13

Captions = dict[int, list[dict[str, str]]]
Tokens = dict[int, list[str]]


def processor_seconds() -> float:
    """Return the seconds that processors spent on this program and on those that it started and that have ended."""
    return sum(os.times()[:4])


def comparisons() -> Iterator[Comparison]:
    """Yield the lines of the table."""
    gts, res = captions(N_IMAGES)
    starts = {
        "PTBTokenizer": seconds(lambda: PTBTokenizer().tokenize({0: [{"caption": "a dog"}]}))[0],
        "Meteor": seconds(lambda: score(Meteor, {0: ["a dog"]}, {0: ["a dog"]}))[0],
    }
    results: dict[str, list[Any]] = {}

    def whole(of: str, classes: Mapping[str, Any]) -> None:
        results[of] = evaluate(classes, gts, res)

    mine, other = seconds(functools.partial(whole, "ours", OURS), functools.partial(whole, "theirs", THEIRS))
    # Both must compute the same.
    for pair in zip(*results.values(), strict=True):
        for a, b in zip(*pair, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-15)
    work = f"whole evaluation, {N_IMAGES:,} images of {N_REFERENCES} references"
    started = other - 2 * starts["PTBTokenizer"] - starts["Meteor"]
    yield _line(f"{work}, Java started", "images", N_IMAGES, mine, started, WHOLE_TARGET)
    yield _line(f"{work}, with the start", "images", N_IMAGES, mine, other, WHOLE_TARGET_WITH_START)
    tokens = coco.PTBTokenizer().tokenize(gts), coco.PTBTokenizer().tokenize(res)
    ours, theirs = (parts(classes, gts, tokens) for classes in (OURS, THEIRS))
    for name, target in TARGETS.items():
        mine, other = seconds(ours[name], theirs[name])
        unit = "captions" if name == "PTBTokenizer" else "pairs"
        yield _line(name, unit, N_IMAGES * N_REFERENCES, mine, other - starts.get(name, 0.0), target)
    yield memory_comparison()


def parts(classes: Mapping[str, Any], gts: Captions, tokens: tuple[Tokens, Tokens]) -> dict[str, Callable[[], object]]:
    """Return functions that run one class each."""
    scores = {name: functools.partial(score_alone, kind, *tokens) for name, kind in classes.items()}
    return scores | {"PTBTokenizer": lambda: tokenize(classes, gts)}


def _line(work: str, unit: str, n: int, ours: float, theirs: float, target: float) -> Comparison:
    rates = (n / max(each, TICK) for each in (ours, theirs))
    return Comparison(work, PEER, unit, *rates, target, per="processor s")


def seconds(*works: Callable[[], object]) -> tuple[float, ...]:
    """Return the median processor seconds of each of several works, run in turn three times."""
    return medians(*works, repeats=3, clock=processor_seconds)


def captions(n: int) -> tuple[Captions, Captions]:
    """Return references and candidates of n images: Flickr8k's, in turn."""
    rows = flickr8k_rows()
    generator = random.Random(0)
    gts: Captions = {}
    res: Captions = {}
    for key in range(n):
        row = rows[key % len(rows)]
        words, others = (texts.split() for texts in (generator.choice(row), generator.choice(rows)[0]))
        text = " ".join([*words[: len(words) // 2], *others[len(others) // 2 :]])
        gts[key], res[key] = [{"caption": each} for each in row], [{"caption": text}]
    return gts, res


def evaluate(classes: Mapping[str, Any], gts: Captions, res: Captions) -> list[Any]:
    """Evaluate as COCOEvalCap does."""
    scorers._texts.cache_clear()
    tokens = tokenize(classes, gts), tokenize(classes, res)
    return [score(kind, *tokens) for name, kind in classes.items() if name != "PTBTokenizer"]


def tokenize(classes: Mapping[str, Any], side: Captions) -> Tokens:
    """Tokenise, with nothing remembered."""
    scorers._line.cache_clear()
    tokens: Tokens = classes["PTBTokenizer"]().tokenize(side)
    return tokens


def score(kind: Any, gts: Tokens, res: Tokens) -> Any:
    """Make a scorer, as each evaluation does, and score; nothing is printed."""
    with contextlib.redirect_stdout(io.StringIO()):
        return kind().compute_score(gts, res)


def score_alone(kind: Any, gts: Tokens, res: Tokens) -> Any:
    """Score, with nothing remembered."""
    scorers._texts.cache_clear()
    return score(kind, gts, res)


# A process that computes BLEU, ROUGE-L and CIDEr, and METEOR if so, and prints its peak in bytes beyond its imports.
PROGRAM = r"""
import contextlib, io, json, pathlib, re, sys
package, path, has_meteor = sys.argv[1:]
if package == "manycaps":
    import manycaps.integrations.coco
    manycaps.integrations.coco.install()
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
scorers = [Bleu(4), Rouge(), Cider(), *([Meteor()] if has_meteor == "yes" else [])]
one = {0: ["a dog"], 1: ["the cat"]}
def peak():  # of this program alone: ru_maxrss begins with its parent's
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


def memory_comparison() -> Comparison:
    """Return peak memory on a million pairs, captions included."""
    sizes = {"manycaps": (N_MEMORY_IMAGES, "yes"), PEER: (N_PEER_MEMORY_IMAGES, "no")}
    rates = []
    for package, (n_images, has_meteor) in sizes.items():
        tokens = [coco.PTBTokenizer().tokenize(side) for side in captions(n_images)]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(tokens, file)
            file.flush()
            command = [sys.executable, "-c", PROGRAM, package, file.name, has_meteor]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        rates.append(n_images * N_REFERENCES / (max(int(done.stdout), mmap.PAGESIZE) / 2**20))
    return Comparison("peak memory, 1,000,000 pairs", PEER, "pairs", *rates, 1.5, per="MiB")
