"""MID by loops over its definition, with determinants and inverses as they are written."""

import math

import numpy as np


def mid_loop(candidates, images, references, reference_images, epsilon=0.0):
    """Return MID and PMI of every pair."""
    both = [np.concatenate(pair) for pair in zip(references, reference_images, strict=True)]
    gaussians = [_gaussian(side, epsilon) for side in (references, reference_images, both)]
    determinants = [np.linalg.det(covariance) for _, covariance in gaussians]
    information = math.log(determinants[0] * determinants[1] / determinants[2]) / 2
    pointwise = []
    for caption, image in zip(candidates, images, strict=True):
        distances = [
            float((vector - mean) @ np.linalg.inv(covariance) @ (vector - mean))
            for vector, (mean, covariance) in zip(
                (caption, image, np.concatenate((caption, image))), gaussians, strict=True
            )
        ]
        pointwise.append(information + (distances[0] + distances[1] - distances[2]) / 2)
    n = len(pointwise)
    return information + sum(value - information for value in pointwise) / (n - 1), pointwise


def _gaussian(vectors, epsilon):
    mean = np.mean(vectors, axis=0)
    covariance = np.zeros((len(mean), len(mean)))
    for vector in vectors:
        covariance += np.outer(vector - mean, vector - mean) / (len(vectors) - 1)
    return mean, covariance + epsilon * np.eye(len(mean))
