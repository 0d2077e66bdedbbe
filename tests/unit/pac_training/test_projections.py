import numpy as np
import pytest

from tests.each_case import each_case
from tests.large_packages import OnFirstUse
from tests.refusals import assert_refused

recipes = OnFirstUse("manycaps.pac_training.recipe")
tuning = OnFirstUse("manycaps.pac_training.projections")

D_VISUAL, D_TEXT, D = 10, 8, 6
OPTIONS = {"batch_size": 16, "max_iterations": 40, "validate_every": 10, "learning_rate": 3e-3, "seed": 5}


def cached_features(n, seed):
    """Two views of hidden causes, with noise."""
    rng = np.random.default_rng(seed)
    to_visual, to_text = (np.random.default_rng(i).normal(size=(5, d)) for i, d in ((100, D_VISUAL), (101, D_TEXT)))
    causes = rng.normal(size=(n, 5))

    def view(matrix):
        return (causes @ matrix + 0.3 * rng.normal(size=(n, matrix.shape[1]))).astype(np.float32)

    return tuning.CachedFeatures(view(to_visual), view(to_text), view(to_visual), view(to_text))


def tune(training, validation, projections, scale=10.0, **changes):
    return tuning.tune_projections(training, validation, *projections, scale, recipes.Recipe(**OPTIONS | changes))


@pytest.fixture(scope="module")
def training():
    return cached_features(64, 0)


@pytest.fixture(scope="module")
def validation():
    return cached_features(40, 1)


@pytest.fixture(scope="module")
def projections():
    rng = np.random.default_rng(7)
    return [rng.normal(size=(d, D)).astype(np.float32) / d**0.5 for d in (D_VISUAL, D_TEXT)]


def test_the_validation_loss_falls_and_the_arguments_stay(training, validation, projections):
    before = [x.copy() for x in projections]
    tuned = tune(training, validation, projections)
    assert [record["iteration"] for record in tuned.history] == [0, 10, 20, 30, 40]
    assert tuned.best_loss < 0.6 * tuned.history[0]["validation_loss"]
    assert tuned.best_loss == min(record["validation_loss"] for record in tuned.history)
    assert tuned.history[-1]["image_to_caption_recall@1"] > tuned.history[0]["image_to_caption_recall@1"]
    assert all(np.array_equal(x, y) for x, y in zip(before, projections, strict=True))


def test_it_stops_without_a_better_loss_and_returns_the_best_weights(training, validation, projections):
    options = {"learning_rate": 1e-2, "max_iterations": 1000, "patience": 30}
    tuned = tune(training, validation, projections, **options)
    assert tuned.stop_reason == "no better validation loss for 30 iterations"
    assert tuned.n_iterations == tuned.best_iteration + 30 < 1000
    assert tuned.history[-1]["validation_loss"] > tuned.best_loss
    # Validated again, the returned weights have the loss that is told of them.
    again = tune(training, validation, tuned[:2], **options | {"max_iterations": 0})
    assert again.best_loss == tuned.best_loss
    assert np.array_equal(again.visual_projection, tuned.visual_projection)


def test_a_weight_of_0_leaves_its_features_unused(training, validation, projections):
    with_them = tune(training, validation, projections, lambda_v=0)
    without = tune(*(x._replace(generated_images=None) for x in (training, validation)), projections, lambda_v=0)
    assert np.array_equal(with_them.visual_projection, without.visual_projection)
    assert "validation_L(V',T)" not in without.history[0]
    other = tune(training, validation, projections)
    assert not np.array_equal(with_them.visual_projection, other.visual_projection)


def with_a_nan(features):
    captions = features.captions.copy()
    captions[3, 1] = np.nan
    return features._replace(captions=captions)


@each_case(
    ("change", "message"),
    [
        (lambda x: x._replace(generated_images=None), "generated_images: expected features, got None. Give them, or l"),
        (with_a_nan, "captions[3]: expected finite features that are not all 0, got others in 1 rows. Leave those"),
        (lambda x: tuning.CachedFeatures(*(y[:15] for y in x[:4])), "batch_size: expected at most the 15 different"),
    ],
)
def test_messages(training, validation, projections, change, message):
    where = "cached." if message.startswith("captions") else ""
    assert_refused(ValueError, where + message, tune, change(training), validation, projections)


@each_case(
    ("changes", "message"),
    [
        ({"scale": float("nan")}, "validation loss: expected a finite value, got nan after 0 iterations. "),
        ({"learning_rate": 1e30}, "loss: expected a finite value, got "),
        ({"learning_rate": 1e300}, "step: expected a finite value, got a number too large for float32"),
    ],
)
def test_a_loss_that_is_not_finite_says_so(training, validation, projections, changes, message):
    message = f".*{message}.*Use a lower learning rate"
    assert_refused(ValueError, message, tune, training, validation, projections, **changes)
