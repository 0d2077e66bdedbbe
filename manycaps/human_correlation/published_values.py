"""Published values of metrics on the benchmarks, by metric and benchmark."""

import json
import pathlib
from collections.abc import Mapping

# Published values in percent, taus or accuracies: Sarto et al., 2023, Tables 1, 2, 4 and 6 (ViT-B/32, FOIL with 4
# references), and Table 8 (OpenCLIP ViT-L/14); Table 3 (VATEX-EVAL, behind the name the number of references), Table 5
# (Abstract-50S) and Table 6 (ActivityNet-FOIL).
PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = json.loads(
    pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

# Modules whose values have another name with these weights.
OTHER_WEIGHTS: Mapping[tuple[str, str | None], str] = {("pac_score", "clip-vit-b-32"): "clip_s"}

# Keys whose published values belong to another metric, with a note on it.
OTHER_METRICS = {
    "meteor": ("meteor15", "METEOR 1.5, the module meteor15; NLTK's METEOR is another metric"),
    "rouge": ("rouge_l", "the COCO caption code's ROUGE-L, rouge_l of bleu_rouge; evaluate's rouge is another metric"),
}
