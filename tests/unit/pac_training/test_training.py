"""Losses, schedules, low-rank updates and the tuning of projections: loops, peers, and messages."""

import warnings

import numpy as np
import pytest

from manycaps.kit.clip_model import build_network, merge_lora
from tests.clip_checkpoints import small_network, small_weights
from tests.large_packages import OnFirstUse, peft, torch
from tests.oracles import positive_augmented_loop as loop
from tests.refusals import assert_refused

losses = OnFirstUse("manycaps.pac_training.losses")
training_loop = OnFirstUse("manycaps.pac_training.training_loop")


def batch(n=5, d=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(4)]


@pytest.mark.parametrize(("lambda_v", "lambda_t"), [(0.05, 0.1), (0, 0.1), (0.05, 0), (0, 0), (2.0, 3.0)])
@pytest.mark.parametrize("tau", [0.01, 0.07, 1.0])
def test_loss_equals_the_loop_over_equations_2_to_4(lambda_v, lambda_t, tau):
    features = batch(seed=3)
    loss, parts = losses.positive_augmented_loss(*features, 1 / tau, lambda_v, lambda_t)
    lists = [x.tolist() for x in features]
    assert loss.item() == pytest.approx(loop.positive_augmented_loss(*lists, tau, lambda_v, lambda_t), rel=1e-12)
    images, texts, generated_images, generated_texts = lists
    assert parts["L(V,T)"].item() == pytest.approx(loop.info_nce(images, texts, tau), rel=1e-12)
    if lambda_v:
        assert parts["L(V',T)"].item() == pytest.approx(loop.info_nce(generated_images, texts, tau), rel=1e-12)
    if lambda_t:
        assert parts["L(V,T')"].item() == pytest.approx(loop.info_nce(images, generated_texts, tau), rel=1e-12)


def test_gradients_equal_differences():
    scale = torch.tensor(14.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *x: losses.positive_augmented_loss(*x)[0], (*batch(), scale))


@pytest.mark.parametrize(("lambdas", "absent"), [((0, 0.1), [2]), ((0.05, 0), [3]), ((0, 0), [2, 3])])
def test_a_term_of_weight_0_needs_no_features(lambdas, absent):
    features = batch()
    whole, _ = losses.positive_augmented_loss(*features, 10.0, *lambdas)
    given = [None if i in absent else x for i, x in enumerate(features)]
    without, parts = losses.positive_augmented_loss(*given, 10.0, *lambdas)
    assert without.item() == whole.item()
    assert len(parts) == 3 - len(absent)


def test_sharp_cosines_stay_finite():
    x = torch.eye(4, requires_grad=True)
    loss = losses.symmetric_info_nce(x, -x, 1e4)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(x.grad).all()


def test_16_bit_features_are_compared_in_float32():
    features = [x.detach().bfloat16() for x in batch(64, 16)]
    loss, _ = losses.positive_augmented_loss(*features, 100.0)
    assert loss.dtype == torch.float32
    exact = losses.positive_augmented_loss(*[x.double() for x in features], 100.0)[0]
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, None, 3, 10.0), "generated_images: expected features, got None. Give them, or lambda_v=0 to leave"),
        ((0, 1, 2, 3, 10.0, -0.1), "lambda_v: expected 0 or more, got -0.1. Give 0 to leave the term out."),
    ],
)
def test_messages(arguments, message):
    features = batch()
    given = [None if i is None else features[i] for i in arguments[:4]]
    assert_refused(ValueError, message, losses.positive_augmented_loss, *given, *arguments[4:])


def test_rows_that_do_not_match():
    message = "texts: expected features of shape (n, d) as the images have, got (2, 2) beside"
    assert_refused(ValueError, message, losses.symmetric_info_nce, torch.ones(3, 2), torch.ones(2, 2), 1.0)


def test_recall_by_hand():
    # Caption 0 lies nearest to image 0; captions 1 and 2 are exchanged.
    found = losses.retrieval_recall(torch.eye(12), torch.eye(12)[[0, 2, 1, *range(3, 12)]])
    assert found["image_to_caption_recall@1"] == pytest.approx(10 / 12)
    # The exchanged ones tie with all others at cosine 0, which count as nearer.
    assert found["image_to_caption_recall@10"] == pytest.approx(10 / 12)
    assert losses.retrieval_recall(torch.ones(20, 2), torch.ones(20, 2))["caption_to_image_recall@10"] == 0


def test_recall_does_not_depend_on_how_many_queries_are_compared_at_once(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    images, captions = (torch.randn(50, 4, generator=generator) for _ in range(2))
    whole = losses.retrieval_recall(images, captions + images)
    monkeypatch.setattr(losses, "QUERIES_AT_ONCE", 7)
    assert losses.retrieval_recall(images, captions + images) == whole


def test_an_epoch_shows_every_image_once_with_one_of_its_rows():
    image_rows = np.array([2, 0, 1, 1, 3, 0, 1, 4, 5, 6])
    schedule = training_loop.RowSchedule(image_rows, batch_size=3, seed=4)
    assert schedule.iterations_per_epoch == 2
    seen = set()
    for epoch in range(40):
        rows = np.concatenate([schedule.batch(2 * epoch + i) for i in range(2)])
        assert len(set(image_rows[rows])) == 6
        seen |= set(rows.tolist())
    assert seen == set(range(10))


def test_validation_batches_have_every_row_once_and_no_image_twice():
    image_rows = np.random.default_rng(0).permutation(np.concatenate([np.arange(30), np.arange(12), np.arange(5)]))
    batches = training_loop.validation_batches(image_rows, batch_size=7)
    assert sorted(np.concatenate(batches)) == list(range(47))
    assert all(len(set(image_rows[rows])) == len(rows) for rows in batches)
    assert [len(rows) for rows in batches] == [8, 8, 7, 7, 12, 5]


low_rank = OnFirstUse("manycaps.pac_training.low_rank")


def inputs():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 3, 32, 32, generator=generator), torch.randint(1, 49000, (3, 77), generator=generator)


def features(network):
    images, texts = inputs()
    with torch.no_grad():
        return torch.cat([network.encode_image(images), network.encode_text(texts)])


def with_values(factors):
    """Draw the factors B, which are 0 at first."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, factor in factors.items():
            if name.endswith("lora_B"):
                factor.copy_(0.1 * torch.randn(factor.shape, generator=generator))
    return factors


def test_nothing_changes_at_first():
    network = small_network()
    before = features(network)
    factors = low_rank.add_low_rank_updates(network, 3, seed=0)
    # The attention may take another path of torch, which sums in another order.
    assert torch.allclose(features(network), before, atol=1e-5)
    assert len(factors) == 16  # A and B of two weights in two layers of two encoders
    assert all(factor.shape[0 if name.endswith("A") else 1] == 3 for name, factor in factors.items())


def test_merged_factors_give_the_same_features():
    network = small_network()
    factors = with_values(low_rank.add_low_rank_updates(network, 4, seed=0))
    merged = build_network(merge_lora(small_weights() | factors), "quick_gelu").eval()
    assert torch.allclose(features(merged), features(network), atol=1e-5)
    assert (features(network) - features(small_network())).abs().max() > 1e-2


def test_features_are_those_of_peft():
    network = small_network()
    factors = with_values(low_rank.add_low_rank_updates(network, 4, seed=0))
    for name, factor in factors.items():
        if name.endswith("out_proj.lora_B"):
            factor.data.zero_()  # peft 0.21 counts these updates twice
    peer = peft.get_peft_model(small_network(), peft.LoraConfig(r=4, lora_alpha=1, target_modules=r".*\.attn"))
    theirs = dict(peer.named_parameters())
    for name, factor in factors.items():
        stem, kind = name.rsplit("lora_", 1)
        layer = stem.removesuffix("in_proj_weight_").removesuffix("out_proj.")
        inner = "base_layer.out_proj." if stem.endswith("out_proj.") else ""
        theirs[f"base_model.model.{layer}{inner}lora_{kind}.default.weight"].data.copy_(factor.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.allclose(features(peer.base_model.model), features(network), atol=1e-5)


@pytest.mark.parametrize("rank", [0, 65])
def test_rank_out_of_range(rank):
    message = f"lora_rank: expected 1 to 64, the encoders' width, got {rank}. The authors use 4.$"
    assert_refused(ValueError, message, low_rank.add_low_rank_updates, small_network(), rank, seed=0)


recipes = OnFirstUse("manycaps.pac_training.recipe")
tuning = OnFirstUse("manycaps.pac_training.projections")

D_VISUAL, D_TEXT, D = 10, 8, 6
NAMES = ("visual.proj", "text_projection")
OPTIONS = {"batch_size": 16, "max_iterations": 40, "validate_every": 10, "learning_rate": 3e-3, "seed": 5}


def cached_features(n, seed):
    """Two views of hidden causes, with noise."""
    rng = np.random.default_rng(seed)
    to_visual, to_text = (np.random.default_rng(i).normal(size=(5, d)) for i, d in ((100, D_VISUAL), (101, D_TEXT)))
    causes = rng.normal(size=(n, 5))

    def view(matrix):
        return (causes @ matrix + 0.3 * rng.normal(size=(n, matrix.shape[1]))).astype(np.float32)

    return tuning.CachedFeatures(view(to_visual), view(to_text), view(to_visual), view(to_text))


def tune(cached, validation, projections, scale=10.0, **changes):
    """A training that has run."""
    weights = {name: torch.nn.Parameter(torch.tensor(x)) for name, x in zip(NAMES, projections, strict=True)}
    rows = [tuning.ProjectedRows(features, *weights.values()) for features in (cached, validation)]
    training = training_loop.Training(*rows, weights, scale, recipes.Recipe(**OPTIONS | changes))
    for _ in training.run():
        pass
    return training


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


def test_the_validation_loss_falls(training, validation, projections):
    history = tune(training, validation, projections).history
    assert [record["iteration"] for record in history] == [0, 10, 20, 30, 40]
    assert min(record["validation_loss"] for record in history) < 0.6 * history[0]["validation_loss"]
    assert history[-1]["image_to_caption_recall@1"] > history[0]["image_to_caption_recall@1"]


def test_it_stops_without_a_better_loss_and_returns_the_best_weights(training, validation, projections):
    options = {"learning_rate": 1e-2, "max_iterations": 1000, "patience": 30}
    tuned = tune(training, validation, projections, **options)
    assert tuned.stop_reason == "no better validation loss for 30 iterations"
    assert tuned.iteration == tuned.best["iteration"] + 30 < 1000
    assert tuned.history[-1]["validation_loss"] > tuned.best["validation_loss"]
    # Validated again, the weights that were kept have the loss that is told of them.
    kept = [weight.numpy() for weight in tuned.best_weights.values()]
    again = tune(training, validation, kept, **options | {"max_iterations": 0})
    assert again.best["validation_loss"] == tuned.best["validation_loss"]


def test_a_weight_of_0_leaves_its_features_unused(training, validation, projections):
    with_them = tune(training, validation, projections, lambda_v=0)
    without = tune(*(x._replace(generated_images=None) for x in (training, validation)), projections, lambda_v=0)
    assert torch.equal(with_them.best_weights["visual.proj"], without.best_weights["visual.proj"])
    assert "validation_L(V',T)" not in without.history[0]
    other = tune(training, validation, projections)
    assert not torch.equal(with_them.best_weights["visual.proj"], other.best_weights["visual.proj"])


def test_features_that_cannot_be_used(training, validation, projections):
    captions = training.captions.copy()
    captions[3, 1] = np.nan
    message = "training.captions[3]: expected finite features that are not all 0, got others in 1 rows. Leave those"
    assert_refused(ValueError, message, tuning.check_cached_features, training._replace(captions=captions), "training")
    few = tuning.CachedFeatures(*(features[:15] for features in training[:4]))
    assert_refused(ValueError, "batch_size: expected at most the 15 different", tune, few, validation, projections)


@pytest.mark.parametrize(
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
