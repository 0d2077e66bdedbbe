"""Rewards for training towards people: expected gradients, baselines, several references, and messages."""

import itertools

import numpy as np
import pytest

from manycaps import functional
from tests.refusals import refusals

# Rewards as plain functions: their expected gradients by enumeration, and what they refuse.

N_TEXTS = 5


PEOPLE = np.array([0.35, 0.05, 0.2, 0.3, 0.1])


def policy_and_distances():
    """A softmax over five texts, and the distances of random points that stand for them."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(N_TEXTS, 4))
    logits = rng.normal(size=N_TEXTS)
    probabilities = np.exp(logits) / np.exp(logits).sum()
    return probabilities, np.linalg.norm(points[:, None] - points[None], axis=-1)


def score_gradients(probabilities):
    """Gradient of log p of each text by the logits, shape (text, logit)."""
    return np.eye(N_TEXTS) - probabilities


def energy_gradient(probabilities, distances, quality=0.5):
    """Minus half the gradient of the energy distance by the logits; with weights as `quality` has them."""
    by_probability = 2 * (1 - quality) * distances @ probabilities - 2 * quality * distances @ PEOPLE
    return probabilities * (by_probability - probabilities @ by_probability)


def expected_gradient(probabilities, distances, n, rewards_of):
    """Mean over all samples of n texts and one reference of the policy gradient of their rewards."""
    texts = np.array(list(itertools.product(range(N_TEXTS), repeat=n + 1)))
    chances = probabilities[texts[:, :n]].prod(axis=1) * PEOPLE[texts[:, n]]
    rewards = rewards_of(distances[texts[:, :, None], texts[:, None]])
    return np.einsum("s,si,sig->g", chances, rewards, score_gradients(probabilities)[texts[:, :n]]) / n


def less_mean(rewards):
    return rewards - rewards.mean(axis=1, keepdims=True)


def naive(rows, n):
    """The rewards without a baseline, as GRPO would get them."""
    return rows[:, :n, :n].sum(axis=2) / (n - 1) - rows[:, :n, n:].mean(axis=2)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("quality", [0.0, 0.3, 0.5, 1.0])
def test_the_expected_gradient_is_that_of_the_energy_distance(n, quality):
    p, d = policy_and_distances()
    gradient = expected_gradient(p, d, n, lambda rows: functional.energy_rewards(rows, n, quality))
    np.testing.assert_allclose(gradient, energy_gradient(p, d, quality), atol=1e-12, rtol=0)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_kernel_form_has_the_gradient_of_the_squared_mmd(n):
    p, d = policy_and_distances()
    gradient = expected_gradient(p, np.exp(-d), n, lambda rows: functional.kernel_rewards(rows, n))
    np.testing.assert_allclose(gradient, energy_gradient(p, -np.exp(-d)), atol=1e-12, rtol=0)


@pytest.mark.parametrize("n", [3, 4, 8])
def test_the_mean_that_grpo_subtracts_is_zero(n):
    points = np.random.default_rng(n).normal(size=(20, n + 5, 3))
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    rewards = functional.energy_rewards(distances, n, 0.3)
    np.testing.assert_allclose(rewards.mean(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_naive_baseline_is_biased_by_the_stated_factors(n):
    p, d = policy_and_distances()
    gradient = expected_gradient(p, d, n, lambda rows: less_mean(naive(rows, n)))
    apart, pull = energy_gradient(p, d, 0.0) / 2, energy_gradient(p, d, 1.0) / 2
    np.testing.assert_allclose(gradient, (1 - 2 / n) * apart + (1 - 1 / n) * pull, atol=1e-12, rtol=0)
    assert np.abs(gradient - energy_gradient(p, d)).max() > 0.01


def test_several_references_have_their_mean():
    _, d = policy_and_distances()
    texts = np.array([0, 1, 2, 3, 4])
    joint = functional.energy_rewards(d[np.ix_(texts, texts)][None], 3)
    singles = [functional.energy_rewards(d[np.ix_(chosen, chosen)][None], 3) for chosen in ([0, 1, 2, 3], [0, 1, 2, 4])]
    np.testing.assert_allclose(joint, np.mean(singles, axis=0), atol=1e-12)


ZEROS = np.zeros((1, 3, 3))


MESSAGES = [
    (
        "n_candidates: expected at least 2, which are compared with each other, got 1. Sample more.$",
        lambda: functional.energy_rewards(ZEROS, 1),
    ),
    (
        "quality: expected a number from 0 to 1, got 1.5. Give 0.5 for the proper score.$",
        lambda: functional.energy_rewards(ZEROS, 2, 1.5),
    ),
    (
        "distances[0]: expected symmetric values, got others (2 such rows in all). Give the mean of both directions.$",
        lambda: functional.energy_rewards(np.triu(np.ones((2, 3, 3)), 1), 2),
    ),
    (
        "greedy: expected one score for each row of sampled, of shape (n_rows, n_candidates), got shapes (3,) and "
        "(2, 3). Score one greedy caption per row.$",
        lambda: functional.self_critical(np.zeros((2, 3)), np.zeros(3)),
    ),
]


test_messages_of_rewards = refusals({ValueError: MESSAGES})
