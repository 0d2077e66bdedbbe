"""What holds for every module that compares two sets of captions per row: options, p-values, intervals, bad input."""

import sys
import warnings

import numpy as np
import pytest

from manycaps import load
from manycaps.kit.sets_tests import mean_interval, mean_of_rows, one_sided_p_value
from tests.large_packages import evaluate
from tests.modules.sample_inputs import CAPTION_ROWS


@pytest.fixture
def module(distribution_folder):
    return evaluate.load(str(distribution_folder))


@pytest.fixture
def name(distribution_folder):
    return distribution_folder.name


TEST_KEYS = ("corpus_p_value", "z", "excess", "p_value", "harmonic_mean_p", "smallest_p", "smallest_corpus_p")


def test_p_value_adds_the_tests(module, name):
    plain, tested = module.compute(**CAPTION_ROWS), module.compute(**CAPTION_ROWS, p_value="exact")
    untested = {"excess"} if name.startswith("trm") else set()
    assert set(tested) - set(plain) == {f"{name}_{key}" for key in {*TEST_KEYS} - untested}
    assert plain == {key: tested[key] for key in plain}
    assert 0 < tested[f"{name}_p_value"] <= 1
    assert tested[f"{name}_smallest_corpus_p"] <= tested[f"{name}_corpus_p_value"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("p_value", ["exact", "permutation"])
def test_examined_rows_explain_their_statistics_and_the_test_of_the_corpus(module, name, p_value):
    result, nulls = module.compute(**CAPTION_ROWS, p_value=p_value, details=True), []
    for i, texts in enumerate(zip(*CAPTION_ROWS.values(), strict=True)):
        examined = module.examine(**CAPTION_ROWS, p_value=p_value, row=i)
        nulls.append(examined.null_statistics)
        assert examined.statistic == pytest.approx(result[f"{name}_per_row"][i], abs=1e-5)
        reached = nulls[-1] >= examined.statistic - 1e-7
        assert reached.mean() == pytest.approx(result[f"{name}_p_value_per_row"][i], abs=1e-12)
        assert examined.pair_values.shape == (sum(map(len, texts)),) * 2
        # A text is nearest to itself, in distances as in a kernel.
        best = examined.pair_values.max() if name.startswith("mmd") else 0
        assert examined.pair_values.diagonal() == pytest.approx(best)
    # Of drawn splits the first is the observed one, which is no draw.
    others = nulls if p_value == "exact" else [null[1:] for null in nulls]
    excesses = [value - null.mean() for value, null in zip(result[f"{name}_per_row"], others, strict=True)]
    assert result[f"{name}_excess_per_row"] == pytest.approx(excesses, abs=1e-5)
    assert result[f"{name}_excess"] == pytest.approx(np.mean(excesses), abs=1e-5)
    deviation = np.sqrt(sum(null.var() for null in others))
    assert result[f"{name}_z"] == pytest.approx(sum(excesses) / deviation, abs=1e-4)
    # A slow draw of other random numbers: four standard errors of two shares of 9,999 draws.
    rng = np.random.default_rng(1)
    means = np.mean([rng.choice(null, 9_999) for null in nulls], axis=0)
    expected = np.mean(means >= result[name] - 1e-6)
    assert result[f"{name}_corpus_p_value"] == pytest.approx(expected, abs=4 * np.sqrt(2 * 0.25 / 9_999))
    assert result[f"{name}_smallest_p"] == pytest.approx(1 / 15, abs=0.01)


def frequencies(name):
    """Any table serves CIDEr-D, which cannot count documents in rows that are all alike."""
    return {"document_frequency": {"n_documents": 50, "document_frequency": {}}} if name == "trm_cider" else {}


def test_the_corpus_p_value_grows_with_the_evidence_and_the_harmonic_mean_does_not(module, name, monkeypatch):
    # Copies of rows stand for rows of other images with the same distances.
    base = next(each for each in type(module).__mro__ if each.__name__ == "CollectionModule").__module__
    monkeypatch.setattr(sys.modules[base], "clusters_of_captions", lambda clusters, *_: clusters)
    # Captions of the next row: wrong everywhere, but no row of four captions can have a p-value below 1/3.
    references = [row[:2] for row in CAPTION_ROWS["references"]]
    predictions = [row[:2] for row in CAPTION_ROWS["predictions"]]
    wrong = predictions[1:] + predictions[:1]
    options = {"p_value": "exact", **frequencies(name)}
    few = module.compute(predictions=wrong, references=references, **options)
    many = module.compute(predictions=wrong * 10, references=references * 10, **options)
    assert many[f"{name}_harmonic_mean_p"] >= many[f"{name}_smallest_p"] == pytest.approx(1 / 3)
    assert many[f"{name}_excess"] == pytest.approx(few[f"{name}_excess"], abs=1e-5)
    assert many[f"{name}_z"] == pytest.approx(np.sqrt(10) * few[f"{name}_z"], rel=1e-4)
    assert many[f"{name}_corpus_p_value"] < min(0.05, few[f"{name}_corpus_p_value"])


def test_texts_that_are_all_alike_have_no_z_and_are_not_told_apart(module, name):
    rows = [[f"a dog runs on the beach of {place}"] * 3 for place in ("Rome", "Nice", "Cork", "Lima")]
    result = module.compute(predictions=rows, references=rows, p_value="exact", **frequencies(name))
    assert np.isnan(result[f"{name}_z"])
    assert result[f"{name}_excess"] == pytest.approx(0, abs=1e-12)
    assert result[f"{name}_corpus_p_value"] == 1


def test_the_seed_decides_and_the_order_of_rows_does_not(module):
    draw = {"p_value": "permutation", "n_resamples": 99, "confidence_level": 0.9}
    first = module.compute(**CAPTION_ROWS, **draw, seed=1)
    assert module.compute(**CAPTION_ROWS, **draw, seed=1) == first
    backwards = {column: rows[::-1] for column, rows in CAPTION_ROWS.items()}
    assert module.compute(**backwards, **draw, seed=1) == first
    assert module.compute(**CAPTION_ROWS, **draw, seed=2) != first


@pytest.mark.parametrize("level", [0.999999, 1 - 1e-12, 1 - 2**-53])
def test_an_interval_at_a_level_next_to_1_stays_in_the_range_of_a_value(module, name, level):
    options = {"p_value": "exact", "confidence_level": level}
    options |= {"estimator": "biased"} if name.startswith("mmd") else {}
    result = module.compute(**CAPTION_ROWS, **options)
    least, largest = {"fid_bert": (0, np.inf), "mmd": (0, np.inf), "mmd_bert": (0, 2)}.get(name, (0, 8 / 3))
    assert module.SETS.value_range({**module.load_options, **options}) == (least, largest)
    assert least <= result[f"{name}_ci_low"] < result[name] < result[f"{name}_ci_high"] <= largest
    assert least - largest <= result[f"{name}_excess_ci_low"] < result[f"{name}_excess"]
    assert result[f"{name}_excess"] < result[f"{name}_excess_ci_high"] <= largest - least


def test_examine_refuses_what_it_cannot_answer(module):
    with pytest.raises(ValueError, match=r"^row: expected a whole number below 4, got 4\. Rows are counted from 0"):
        module.examine(**CAPTION_ROWS, p_value="exact", row=4)
    with pytest.raises(ValueError, match=r"^p_value: expected 'exact' or 'permutation' to examine a row, got 'none'"):
        module.examine(**CAPTION_ROWS)
    with pytest.raises(TypeError, match=r"^compute: expected options among"):
        module.examine(**CAPTION_ROWS, p_values="exact")
    with pytest.raises(TypeError, match=r"^predictions: expected a list of rows"):
        module.examine(predictions="a dog", references=CAPTION_ROWS["references"], p_value="exact")


def test_clusters_decide_intervals_and_the_test_of_the_corpus(module, name):
    options = {"p_value": "exact", "confidence_level": 0.9, "details": True}
    n_rows = len(CAPTION_ROWS["predictions"])
    single = module.compute(**CAPTION_ROWS, **options)
    own = module.compute(**CAPTION_ROWS, **options, clusters=list(range(n_rows)))
    assert own[f"{name}_excess_ci_low"] == single[f"{name}_excess_ci_low"]
    labels = ["a", "b"] + ["c"] * (n_rows - 2)
    together = module.compute(**CAPTION_ROWS, **options, clusters=labels)
    mean = mean_of_rows(single[f"{name}_excess_per_row"], labels)
    assert (together[f"{name}_excess_ci_low"], together[f"{name}_excess_ci_high"]) == mean_interval(mean, 0.9)
    assert together[f"{name}_corpus_p_value"] == one_sided_p_value(mean)
    assert together[f"{name}_z"] == mean.mean / mean.standard_error
    assert together[f"{name}_per_row"] == single[f"{name}_per_row"]
    assert "|interval:hall-t|clusters:3|" in together["signature"]
    with pytest.raises(
        ValueError, match=f"clusters: expected one label for each of the {n_rows} rows of captions, got 1."
    ):
        module.compute(**CAPTION_ROWS, **options, clusters=["a"])


def test_rows_that_share_references_are_said(module, name):
    twice = {column: [*rows, *rows] for column, rows in CAPTION_ROWS.items()}
    n_rows = len(CAPTION_ROWS["predictions"])
    message = f"references: {n_rows} of {2 * n_rows} rows have the references of an earlier row"
    with pytest.warns(UserWarning, match=message):
        module.compute(**twice, confidence_level=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        module.compute(**twice, confidence_level=0.9, clusters=[*range(n_rows)] * 2)
        module.compute(**twice)


@pytest.mark.parametrize(
    ("slug", "options"), [("human_parity", {"distance": "meteor"}), ("wording", {}), ("chair", {})]
)
def test_modules_that_always_test_say_it_as_well(slug, options):
    twice = {column: [*rows, *rows] for column, rows in CAPTION_ROWS.items()}
    module = load(slug, **options)
    with pytest.warns(UserWarning, match="^references: 4 of 8 rows have the references of an earlier row"):
        module.compute(**twice)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*of an earlier row")
        module.compute(**twice, clusters=[*range(4)] * 2)
        if slug == "chair":  # equal captions of two images
            module.compute(predictions=[["a dog"]] * 2, objects=[["dog"], ["cat"]])
