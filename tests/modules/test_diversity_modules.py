"""vdtk_diversity and set_diversity as a user loads them: details, options, odd captions."""

import json

import numpy as np
import pytest

import manycaps

DATA = [
    ["a dog is running along the sea", "the dog runs over the sand", "a dog"],
    ["a father makes breakfast", "pancakes are cooking in a pan", "a man at the stove"],
    ["a train comes into the station", "passengers wait on the platform"],
    ["two kids with a red kite", "a kite in the wind", "a kite in the wind"],
]


def encode(captions):
    return np.array([[len(caption), caption.count("a") + 1.0, 2.0] for caption in captions])


def tag(caption):
    return [(word, "NOUN" if len(word) > 4 else "VERB") for word in caption.split()]


ALL_LEVELS = {"encoder": encode, "pos": tag, "details": True}


@pytest.fixture
def module():
    return manycaps.load("vdtk_diversity")


def test_details_add_keys_with_one_value_a_row(module):
    plain = module.compute(data=DATA, encoder=encode, pos=tag)
    detailed = module.compute(data=DATA, **ALL_LEVELS)
    assert plain == {key: detailed[key] for key in plain}
    per_row = {key: values for key, values in detailed.items() if key.endswith("_per_row") and key not in plain}
    assert len(per_row) > 20
    assert {len(values) for values in per_row.values()} == {len(DATA)}
    assert json.dumps(detailed)
    assert detailed["signature"].endswith("tokenizer:ptb|pos:tag|encoder:encode")
    assert detailed["tokens_per_caption_histogram"][0] == [2, 1]
    assert sum(detailed["distinct_within_row_histogram_counts"]) == len(DATA)
    assert sum(detailed["caption_distance_minimum_histogram_counts"]) == detailed["n_captions_with_distances"]
    edges = detailed["caption_distance_spread_histogram_edges"]
    assert len(edges) == len(detailed["caption_distance_spread_histogram_counts"]) + 1


@pytest.mark.parametrize(
    "key",
    """
        within_row_uniqueness_of_tokens within_row_uniqueness_of_types between_row_uniqueness_by_caption
        between_row_uniqueness_by_count noun_within_row_uniqueness_of_tokens verb_between_row_uniqueness_by_caption
        distinct_within_row novel_within_row row_distance_variance
    """.split(),
)
def test_figures_are_means_over_the_rows(module, key):
    detailed = module.compute(data=DATA, **ALL_LEVELS)
    assert detailed[key] == pytest.approx(np.nanmean(detailed[f"{key}_per_row"]), rel=1e-12)


def test_head_shares_and_lengths(module):
    result = module.compute(data=DATA, head_shares=[0.5, 0.95], lengths=[7])
    assert result["head_50"] < result["head_95"]
    assert result["ed_7"] == pytest.approx(1 + result["evs_2"] + result["evs_3"] + 5 * result["evs_4"])
    assert "head_90" not in result
    assert "ed_10" not in result


def test_semantic_uses_the_encoder_of_the_paper(module, monkeypatch):
    asked = []

    def embed(captions, options, progress):
        asked.append((options["encoder"], len(captions)))
        return encode(captions)

    monkeypatch.setattr(module.encoder, "embed", embed)
    monkeypatch.setattr(module.encoder, "count_unread", lambda texts, options: {})
    monkeypatch.setattr(module.encoder, "check_known", lambda columns, options: None)
    assert "caption_distance_minimum" in module.compute(data=DATA, semantic=True)
    assert "caption_distance_minimum" not in module.compute(data=DATA)
    module.compute(data=DATA, semantic=True, encoder="someone/model")
    n_distinct = len({caption for row in DATA for caption in row})
    assert asked == [("sentence-transformers/all-mpnet-base-v2", n_distinct), ("someone/model", n_distinct)]


def test_people_are_as_diverse_as_people_whatever_their_numbers():
    references = [["a dog runs", "the dog", "a wet dog"], ["a man cooks", "somebody at the stove"]]
    more = [[*row, "two people", row[0], "a red car on the street"] for row in references]
    module = manycaps.load("set_diversity", kernels=("ngram",))
    equal, every = (module.compute(predictions=more, references=references, sizes=sizes) for sizes in ("equal", "all"))
    differences = [key for key in equal if key.endswith("_difference")]
    assert {equal[key] for key in differences} == {0.0}
    assert all(abs(every[key]) > 0.01 for key in differences if key.startswith("vendi"))
    assert (equal["n_captions"], every["n_captions"]) == (5, 11)
