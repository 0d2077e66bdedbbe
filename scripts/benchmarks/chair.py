"""chair beside the published program's way: tokens and singular forms of every word again, caption by caption.

Rows of one candidate and four references, drawn from the captions of the quickstart's sample. The published program's
way (LisaAnne/Hallucination, utils/chair.py) is the slow version of the tests, with TextBlob's singular forms.
"""

from collections.abc import Iterator

from manycaps.catalog.installed_modules import load
from scripts.benchmarks.timing import Comparison, Work
from scripts.benchmarks.triangle_rank import sample_rows
from tests.oracles.chair_loop import chair as published_chair

# Rows of a run.
N_ROWS = 2_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_ROWS": 8}


def comparisons() -> Iterator[Comparison]:
    """Yield chair beside the published program's way."""
    predictions, references = sample_rows(1, 4, N_ROWS)
    few, module = N_ROWS // 8, load("chair")

    def ours() -> object:
        return module.compute(predictions=predictions, references=references)

    def theirs() -> object:
        return published_chair([row[0] for row in predictions[:few]], references[:few], None)

    work = Work("CHAIR, one caption and four references per row", "rows", N_ROWS, ours)
    yield work.beside("the published program's way", theirs, few, claim=25)
