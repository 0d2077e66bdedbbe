"""Triangle ranks: over any distance, equal to the special modules to the last bit; tokenizers and frequencies."""

import inspect
import json
import math
import warnings

import numpy as np
import pytest

from manycaps import functional, load
from tests.large_packages import evaluate
from tests.modules.sample_inputs import CAPTION_ROWS, as_arrays, bag_of_words

# Everything that a special module can report.
EVERYTHING = {"p_value": "exact", "confidence_level": 0.9, "details": True, "n_resamples": 99}

METRIC = """
import datasets
import evaluate


class Shared(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
        )

    def _compute(self, predictions, references):
        shares = [share(x, y[0]) for x, y in zip(predictions, references)]
        return {"shared": sum(shares) / len(shares)}


"""


def share(prediction, reference):
    words = set(reference.split())
    return len(words & set(prediction.split())) / len(words)


def meteor_distance(first, second):
    pairs = [functional.ptb_tokenize([x, y]) for x, y in zip(first, second, strict=True)]
    return [matrix[0, 1] for matrix in functional.meteor_distances(pairs)]


@pytest.fixture(scope="module")
def trm():
    return evaluate.load("trm")


def rename(result, name):
    """A result of another module under the names of this one, without what only one of them has."""
    own = {"signature", "meteor", "meteor_per_row", "cosine", "cosine_per_row"}
    return {key.replace(name, "trm", 1): value for key, value in result.items() if key not in own}


def without_own(result):
    return {key: value for key, value in result.items() if key not in ("signature",) and "nearest" not in key}


@pytest.mark.parametrize("statistic", ["per_side", "pooled"])
def test_meteor_distances_give_trm_meteor_to_the_last_bit(trm, statistic):
    expected = evaluate.load("trm_meteor").compute(**CAPTION_ROWS, **EVERYTHING, statistic=statistic)
    found = trm.compute(**CAPTION_ROWS, **EVERYTHING, statistic=statistic, distance=meteor_distance)
    assert without_own(found) == rename(expected, "trm_meteor")
    assert found["nearest_distance"] == pytest.approx(1 - expected["meteor"], abs=1e-15)
    assert "|distance:meteor_distance|" in found["signature"]


@pytest.mark.parametrize("statistic", ["per_side", "pooled"])
def test_embeddings_give_trm_bert_to_the_last_bit(trm, statistic):
    arrays, bert = as_arrays(bag_of_words), evaluate.load("trm_bert")
    expected = bert.compute(**arrays, **EVERYTHING, statistic=statistic)
    found = trm.compute(**arrays, **EVERYTHING, statistic=statistic)
    assert without_own(found) == rename(expected, "trm_bert")
    assert found["nearest_distance"] == pytest.approx(1 - expected["cosine"], abs=1e-15)
    by_captions = {"encoder": bag_of_words, "statistic": statistic, **EVERYTHING}
    expected = bert.compute(**CAPTION_ROWS, **by_captions)
    assert without_own(trm.compute(**CAPTION_ROWS, **by_captions)) == rename(expected, "trm_bert")


def test_ready_distances_give_what_the_captions_give(trm):
    rows = [[*p, *r] for p, r in zip(*CAPTION_ROWS.values(), strict=True)]
    matrices = functional.meteor_distances([functional.ptb_tokenize(row) for row in rows])
    n_candidates = [len(row) for row in CAPTION_ROWS["predictions"]]
    found = trm.compute(distances=matrices, n_candidates=n_candidates, **EVERYTHING)
    expected = trm.compute(**CAPTION_ROWS, **EVERYTHING, distance=meteor_distance)
    assert "|distance:ready|" in found["signature"]
    # The draws of the corpus follow the content, which is another one.
    for key in ("trm", "trm_z", "trm_excess", "trm_per_row", "trm_p_value_per_row", "nearest_distance"):
        assert found[key] == expected[key], key
    one_number = trm.compute(distances=np.stack([matrices[0]] * 2), n_candidates=n_candidates[0], details=True)
    assert one_number["trm_per_row"] == found["trm_per_row"][:1] * 2


def test_a_metric_of_evaluate(trm, tmp_path):
    path = tmp_path / "shared" / "shared.py"
    path.parent.mkdir()
    path.write_text(METRIC + inspect.getsource(share))
    rows = {"predictions": CAPTION_ROWS["predictions"][:2], "references": CAPTION_ROWS["references"][:2]}
    expected = trm.compute(**rows, distance=lambda xs, ys: [1 - share(y, x) for x, y in zip(xs, ys, strict=True)])
    assert trm.compute(**rows, distance=f"evaluate:{path.parent}:shared") == expected
    assert trm.compute(**rows, distance=f"evaluate:{path.parent}", details=True)["trm"] == expected["trm"]
    as_distance = trm.compute(**rows, distance=f"evaluate:{path.parent}", evaluate_scores="distance")
    assert as_distance["nearest_distance"] != expected["nearest_distance"]
    with pytest.raises(
        ValueError, match=r"^distance: expected the key 'other' in the result of .*, got \['shared'\]\. "
    ):
        trm.compute(**rows, distance=f"evaluate:{path.parent}:other")


def test_one_row_is_examined_with_its_own_texts_alone(trm):
    seen = set()

    def lengths(first, second):
        seen.update(first)
        return [abs(len(x) - len(y)) for x, y in zip(first, second, strict=True)]

    examined = trm.examine(**CAPTION_ROWS, distance=lengths, row=1, p_value="exact")
    texts = [*CAPTION_ROWS["predictions"][1], *CAPTION_ROWS["references"][1]]
    assert seen == set(texts)
    assert examined.pair_values.tolist() == [[abs(len(x) - len(y)) for y in texts] for x in texts]
    assert len(examined.null_statistics) == math.comb(5, 2)


@pytest.fixture(params=["trm_meteor", "trm_cider"])
def name(request):
    return request.param


@pytest.fixture
def module(name):
    return evaluate.load(name)


def test_per_side_p_values_of_very_large_rows_are_refused(module):
    row = [f"caption number {i}" for i in range(101)]
    rows = {"predictions": [row, row], "references": [row, row]}
    with pytest.raises(ValueError, match=r"^predictions\[0\], references\[0\]: expected at most 200 captions in all"):
        module.compute(**rows, statistic="per_side", p_value="permutation")


TABLE = {"n_documents": 50, "document_frequency": {"a": 45, "dog": 9}}


def test_the_signature_says_where_document_frequencies_are_from():
    module = load("trm_cider", details=True)
    by_table, own = module.compute(**CAPTION_ROWS, document_frequency=TABLE), module.compute(**CAPTION_ROWS)
    assert "document_frequency:table|n_documents:50" in by_table["signature"]
    assert "document_frequency:references|n_documents:4" in own["signature"]


def test_golden_samples_from_captions_to_p_values(golden_folder):
    samples = json.loads((golden_folder / "trm.json").read_text())["samples"]
    samples = [s for s in samples if s["metrics"]["meteor"].get("p_tol_1e_9") is not None]
    module = evaluate.load("trm_meteor", p_value="exact", details=True, statistic="pooled")
    result = module.compute(
        predictions=[s["candidates"] for s in samples], references=[s["references"] for s in samples]
    )
    for i, sample in enumerate(samples):
        golden = sample["metrics"]["meteor"]
        assert result["trm_meteor_per_row"][i] == pytest.approx(golden["Q_tol_1e_9"], abs=1e-12), sample["name"]
        assert result["trm_meteor_p_value_per_row"][i] == pytest.approx(golden["p_tol_1e_9"], abs=1e-12), sample["name"]


def test_an_excess_without_a_test_is_that_of_the_test_by_all_splits_or_by_draws():
    module, rng = load("trm_cider"), np.random.default_rng(0)
    words = "a dog cat runs sits on the in beach park two red big".split()
    for size, atol in (((1, 5), 0), ((5, 5), 0), ((5, 6), 0), ((10, 5), 0.02)):
        rows = [[[" ".join(rng.choice(words, 6)) for _ in range(n)] for _ in range(30)] for n in size]
        columns = dict(zip(("predictions", "references"), rows, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets of one
            untested = module.compute(**columns, details=True)
        tested = module.compute(**columns, details=True, p_value="exact")
        key = "trm_cider_excess"
        assert untested[key] == pytest.approx(tested[key], abs=atol + 1e-12), size
        assert untested[f"{key}_per_row"] == pytest.approx(tested[f"{key}_per_row"], abs=10 * atol + 1e-12), size
        assert (untested[key] == tested[key]) == (atol == 0), size
        again = module.compute(**{name: column[::-1] for name, column in columns.items()})
        assert again[key] == untested[key], size


SEVERAL = [["a dog", "a cat"], ["two men", "a man"]]


@pytest.mark.parametrize(
    ("first", "second", "options", "column"),
    [
        (["a dog", "a man"], SEVERAL, {}, "predictions"),
        (SEVERAL, ["a dog", "a man"], {}, "references"),
        ([["a dog"], ["a man", "men"]], SEVERAL, {}, None),
        (SEVERAL, SEVERAL, {}, None),
        (["a dog", "a man"], SEVERAL, {"p_value": "exact"}, None),
        (["a dog", "a man"], SEVERAL, {"statistic": "pooled"}, None),
    ],
)
def test_sets_of_one_are_warned_of_where_no_p_value_is_beside_the_statistic(first, second, options, column, recwarn):
    load("trm_cider").compute(predictions=first, references=second, **options)
    warned = [str(warning.message) for warning in recwarn if "triangle" in str(warning.message)]
    message = f"{column}: expected two items or more per row for statistic='per_side', got one in every row. One"
    assert [text.startswith(message) for text in warned] == [True] * (column is not None), warned
