"""Published values of metrics on the benchmarks, by metric and benchmark."""

from collections.abc import Mapping

# Published values in percent, taus or accuracies: Sarto et al., 2023, Tables 1, 2, 4 and 6 (ViT-B/32, FOIL with 4
# references), and Table 8 (OpenCLIP ViT-L/14); Table 3 (VATEX-EVAL, behind the name the number of references), Table 5
# (Abstract-50S) and Table 6 (ActivityNet-FOIL).
PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "pac_score": {
        "flickr8k-expert": {"tau_b": 53.9, "tau_c": 54.3},
        "flickr8k-cf": {"tau_b": 36.0, "tau_c": 18.6},
        "composite": {"tau_b": 51.5, "tau_c": 55.7},
        "pascal-50s": {"HC": 60.6, "HI": 99.3, "HM": 96.9, "MM": 72.9, "accuracy": 82.4},
        "foil": {"accuracy": 89.9},
        "abstract-50s": {"accuracy": 69.7},
    },
    "ref_pac_score": {
        "flickr8k-expert": {"tau_b": 55.5, "tau_c": 55.9},
        "flickr8k-cf": {"tau_b": 37.6, "tau_c": 19.5},
        "composite": {"tau_b": 53.0, "tau_c": 57.3},
        "pascal-50s": {"HC": 67.7, "HI": 99.6, "HM": 96.0, "MM": 75.6, "accuracy": 84.7},
        "foil": {"accuracy": 94.9},
        "abstract-50s": {"accuracy": 76.9},
    },
    "clip_s": {
        "flickr8k-expert": {"tau_b": 51.1, "tau_c": 51.2},
        "flickr8k-cf": {"tau_b": 34.4, "tau_c": 17.7},
        "composite": {"tau_b": 49.8, "tau_c": 53.8},
        "pascal-50s": {"HC": 55.9, "HI": 99.3, "HM": 96.5, "MM": 72.0, "accuracy": 80.9},
        "foil": {"accuracy": 87.2},
        "abstract-50s": {"accuracy": 68.2},
    },
    "pac_score openclip-vit-l-14": {
        "flickr8k-expert": {"tau_b": 55.3, "tau_c": 55.7},
        "flickr8k-cf": {"tau_b": 37.0, "tau_c": 19.1},
        "pascal-50s": {"accuracy": 82.8},
        "foil": {"accuracy": 93.1},
    },
    "meteor15": {
        "flickr8k-expert": {"tau_b": 41.5, "tau_c": 41.8},
        "flickr8k-cf": {"tau_b": 22.2, "tau_c": 11.5},
        "composite": {"tau_b": 36.0, "tau_c": 38.9},
        "pascal-50s": {"HC": 66.0, "HI": 97.7, "HM": 94.0, "MM": 66.6, "accuracy": 81.1},
        "foil": {"accuracy": 82.0},
        "vatex-eval 1": {"tau_b": 16.4, "spearman": 21.5},
        "vatex-eval 9": {"tau_b": 27.6, "spearman": 35.7},
        "activitynet-foil": {"accuracy": 72.9},
    },
    "cider_d": {
        "flickr8k-expert": {"tau_b": 43.6, "tau_c": 43.9},
        "flickr8k-cf": {"tau_b": 24.6, "tau_c": 12.7},
        "composite": {"tau_b": 34.9, "tau_c": 37.7},
        "pascal-50s": {"HC": 66.5, "HI": 97.9, "HM": 90.7, "MM": 65.2, "accuracy": 80.1},
        "foil": {"accuracy": 94.1},
        "vatex-eval 1": {"tau_b": 17.3, "spearman": 22.6},
        "vatex-eval 9": {"tau_b": 27.8, "spearman": 36.1},
        "activitynet-foil": {"accuracy": 77.9},
    },
    "bleu_1": {"flickr8k-expert": {"tau_b": 32.2, "tau_c": 32.3}, "flickr8k-cf": {"tau_b": 17.9, "tau_c": 9.3}},
    "bleu_4": {"flickr8k-expert": {"tau_b": 30.6, "tau_c": 30.8}, "flickr8k-cf": {"tau_b": 16.9, "tau_c": 8.7}},
    "rouge_l": {
        "flickr8k-expert": {"tau_b": 32.1, "tau_c": 32.3},
        "flickr8k-cf": {"tau_b": 19.9, "tau_c": 10.3},
        "composite": {"tau_b": 30.0, "tau_c": 32.4},
        "pascal-50s": {"HC": 63.9, "HI": 95.0, "HM": 92.3, "MM": 60.9, "accuracy": 78.0},
        "foil": {"accuracy": 70.4},
        "vatex-eval 1": {"tau_b": 12.5, "spearman": 16.3},
        "vatex-eval 9": {"tau_b": 23.8, "spearman": 30.9},
        "activitynet-foil": {"accuracy": 56.7},
    },
    "emscore_pac": {
        "vatex-eval 0": {"tau_b": 25.1, "spearman": 32.6},
        "vatex-eval 1": {"tau_b": 31.4, "spearman": 40.5},
        "vatex-eval 9": {"tau_b": 38.1, "spearman": 48.8},
        "activitynet-foil": {"accuracy": 90.1},
        "activitynet-foil references": {"accuracy": 93.5},
    },
}

# Modules whose values have another name with these weights.
OTHER_WEIGHTS: Mapping[tuple[str, str | None], str] = {("pac_score", "clip-vit-b-32"): "clip_s"}

# Keys whose published values belong to another metric, with a note on it.
OTHER_METRICS = {
    "meteor": ("meteor15", "METEOR 1.5, the module meteor15; NLTK's METEOR is another metric"),
    "rouge": ("rouge_l", "the COCO caption code's ROUGE-L, rouge_l of bleu_rouge; evaluate's rouge is another metric"),
}
