"""homogeneity of two models, and set_diversity of one, without references: prompts, answers and ready vectors.

Answers are random words of Zipf's frequencies, 10 each; vectors are random too, and handed over as an encoder would
return them, so that embedding does not count. Each measurement runs in a process of its own, whose memory counts.
"""

from collections.abc import Iterator

from scripts.benchmarks.timing import Comparison, alone

# Prompts, and answers of each model to one.
N_PROMPTS, N_ANSWERS = 1_000, 10

# Seconds and GiB that each may take.
SECONDS, GIBIBYTES = 60, 2

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_PROMPTS": 20, "N_ANSWERS": 3}

# Measures models that answer as many prompts as often as its arguments say.
PROGRAM = """
import sys, time
import numpy as np
from manycaps.catalog.installed_modules import load
n_prompts, n_answers, module, distance = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
rng = np.random.default_rng(0)
words = rng.zipf(1.3, (2, n_prompts, n_answers, 10)) % 1_000
first, second = [[[" ".join(map("w{}".format, text)) for text in row] for row in rows] for rows in words.tolist()]
embed = lambda texts: np.random.default_rng(1).normal(size=(len(texts), 384))
if module == "homogeneity":
    options = {"distance": distance} | ({} if distance == "ngram" else {"encoder": embed})
    options["others"] = {"second": second}
else:
    options = {"kernels": ("ngram", "embedding"), "equivalent": 0.3, "classes": "first", "encoder": embed}
loaded = load(module)
start = time.perf_counter()
loaded.compute(predictions=first, confidence_level=0.95, **options)
print(time.perf_counter() - start)
"""


def comparisons() -> Iterator[Comparison]:
    """Yield time and memory."""
    size = [str(N_PROMPTS), str(N_ANSWERS)]
    for module, distance in (
        ("homogeneity", "ngram"),
        ("homogeneity", "bert"),
        ("homogeneity", "classes"),
        ("set_diversity", ""),
    ):
        what = f" by {distance}" if distance else " with classes and intervals"
        name = f"{module} of {N_PROMPTS:,} prompts x {N_ANSWERS}{what}"
        yield from alone(name, PROGRAM, [*size, module, distance], SECONDS, GIBIBYTES)
