"""Slow, obvious version of the positive-augmented loss: equations 2 to 4 of Sarto et al. (2023), number by number."""

import math

from tests.oracles.emscore_loop import cosine


def info_nce(images, texts, tau):
    """Equations 2 and 3."""
    n, total = len(images), 0.0
    for i in range(n):
        own = math.exp(cosine(images[i], texts[i]) / tau)
        total -= math.log(own / sum(math.exp(cosine(images[i], texts[j]) / tau) for j in range(n))) / n
        total -= math.log(own / sum(math.exp(cosine(images[j], texts[i]) / tau) for j in range(n))) / n
    return total


def positive_augmented_loss(images, texts, generated_images, generated_texts, tau, lambda_v, lambda_t):
    """Equation 4."""
    return (
        info_nce(images, texts, tau)
        + lambda_v * info_nce(generated_images, texts, tau)
        + lambda_t * info_nce(images, generated_texts, tau)
    )
