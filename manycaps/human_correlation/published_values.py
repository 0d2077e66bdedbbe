"""Published values of metrics on the benchmarks, by metric and benchmark."""

import json
import pathlib
from collections.abc import Mapping

# The tables of the paper; the file says which.
CONTENT = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

# By metric, benchmark and figure, in percent.
PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = CONTENT["metrics"]

# By the name of a captioning system's file and by metric.
PUBLISHED_SYSTEMS: Mapping[str, Mapping[str, float]] = CONTENT["systems"]

# Modules whose values have another name with these weights.
OTHER_WEIGHTS: Mapping[tuple[str, str | None], str] = {("pac_score", "clip-vit-b-32"): "clip_s"}

# Keys whose published values belong to another metric, with a note on it.
OTHER_METRICS = {
    "meteor": ("meteor15", "METEOR 1.5, the module meteor15; NLTK's METEOR is another metric"),
    "rouge": ("rouge_l", "the COCO caption code's ROUGE-L, rouge_l of bleu_rouge; evaluate's rouge is another metric"),
}
