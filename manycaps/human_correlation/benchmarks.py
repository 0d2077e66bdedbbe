"""The benchmarks of captioning metrics: where their data are and how they are scored; imports no package."""

from collections.abc import Mapping
from typing import NamedTuple


class Benchmark(NamedTuple):
    """Location of a benchmark's data, and how it is scored."""

    # Hub repository, configuration and split; None where there is no public copy.
    hub: tuple[str, str | None, str] | None
    # "correlation", "choice", "judges" (each alone), "paragraphs" or "systems".
    kind: str
    drops_references_as_candidates: bool = False
    draws_references: bool = False
    # The mean of a caption's judgements is one data point, and not each of them.
    averages_judgements: bool = False
    # Judged captions are taken out of the references of their image.
    removes_judged_references: bool = False
    # Published by the number of references, which stands behind the name in the table of published values.
    is_published_by_references: bool = False


BENCHMARKS: Mapping[str, Benchmark] = {
    "flickr8k-expert": Benchmark(("yuwd/Flickr8k-HumanEval", "expert", "test"), "correlation", True),
    "flickr8k-cf": Benchmark(
        ("yuwd/Flickr8k-HumanEval", "crowdflower", "test"),
        "correlation",
        averages_judgements=True,
        removes_judged_references=True,
    ),
    "composite": Benchmark(("yuwd/Composite", None, "test"), "correlation"),
    "polaris": Benchmark(("yuwd/Polaris", None, "test"), "correlation"),
    "pascal-50s": Benchmark(None, "choice", draws_references=True),
    "abstract-50s": Benchmark(None, "choice", draws_references=True),
    "foil": Benchmark(None, "choice", is_published_by_references=True),
    "vatex-eval": Benchmark(None, "judges", is_published_by_references=True),
    "activitynet-foil": Benchmark(None, "paragraphs"),
    "coco-systems": Benchmark(None, "systems"),
}
