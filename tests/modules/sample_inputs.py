"""Small legal columns for every module, by folder name: what the tests over all folders feed them."""

CAPTION_ROWS = {
    "predictions": [
        ["a dog runs on the beach", "a brown dog plays in the sand", "two people watch a dog"],
        ["a man cooks pancakes", "a man flips a pancake in the kitchen"],
        ["a train arrives", "a train at the platform", "people wait for the train", "a red train stops"],
        ["children fly a kite", "a kite over the park"],
    ],
    "references": [
        ["a dog is running along the sea", "the dog runs over the sand"],
        ["a father makes breakfast", "pancakes are cooking in a pan", "a man at the stove"],
        ["a train comes into the station", "passengers wait on the platform"],
        ["two kids with a red kite", "a kite in the wind", "a girl runs with her kite"],
    ],
}

SAMPLE_INPUTS = {
    "fid_bert": CAPTION_ROWS,
    "mmd_bert": CAPTION_ROWS,
    "trm_bert": CAPTION_ROWS,
    "trm_cider": CAPTION_ROWS,
    "trm_meteor": CAPTION_ROWS,
    "vdtk_diversity": {"data": CAPTION_ROWS["references"]},
}
