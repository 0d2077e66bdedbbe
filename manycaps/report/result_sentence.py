"""The verdict on a result of a distribution module, in one sentence. Used by the pages and the quickstart."""

from collections.abc import Mapping
from typing import Any

from manycaps.files.result_tables import as_interval

# Corpus p-values up to this one are called a difference.
SIGNIFICANCE = 0.05

# From this one on fewer than one random split in a hundred lies as low as the observed one: a difference too.
UNUSUALLY_NEAR = 0.99


def verdict(result: Mapping[str, Any], name: str, title: str, system: str = "the candidates") -> str:
    """Say whether candidates and human captions differ, from the test over all rows.

    "Cannot be distinguished" is never said alone: the effect and its interval stand beside it. Where p could not have
    been small with so few captions, that is said instead; and where the sets lie nearer to each other than splits at
    random do, as copies of references do, that is said.

    `result` is of a distribution module, with p_value, and with confidence_level where there are rows enough for it;
    `title` is what the sentence calls the metric, and `system` whose captions they are.

    >>> numbers = {"corpus_p_value": 0.46, "z": 0.1, "excess": 0.002, "smallest_corpus_p": 0.001}
    >>> print(verdict({f"trm_{key}": value for key, value in numbers.items()}, "trm", "TRM"))
    TRM: the candidates cannot be distinguished from the human captions (corpus p 0.46, excess 0.002, no interval).
    """
    p_value, smallest = result[f"{name}_corpus_p_value"], result[f"{name}_smallest_corpus_p"]
    if smallest > SIGNIFICANCE:
        return (
            f"{title}: not enough captions or random splits to tell {system} from the human captions: p is at least "
            f"about {smallest:.2g}."
        )
    interval = "no interval"
    if f"{name}_excess_ci_low" in result:
        interval = f"interval {as_interval(result[f'{name}_excess_ci_low'], result[f'{name}_excess_ci_high'])}"
    # What is no difference does not read as p = 0.05. A Space has no `rounded_p_value`, the kit's rule for this.
    digits = 4 if SIGNIFICANCE < p_value < 0.051 else 2
    numbers = f"(corpus p {p_value:.{digits}g}, excess {result[f'{name}_excess']:.3f}, {interval})"
    if p_value >= UNUSUALLY_NEAR:
        return f"{title}: {system} lie nearer to the human captions than random splits of both do {numbers}."
    verb = "differ from" if p_value <= SIGNIFICANCE else "cannot be distinguished from"
    return f"{title}: {system} {verb} the human captions {numbers}."
