"""Self-CIDEr as its definition: the CIDEr of every pair by dictionaries, and the eigenvalues of the matrix."""

import math

import numpy as np

from scripts.benchmarks.cider_d_loop import tf_idf


def cider(first, second, frequencies, n_documents):
    """CIDEr of two token lists without its factor 10: mean over n of the cosine of tf-idf vectors."""
    cosines = []
    for order in range(1, 5):
        a, b = (tf_idf(tokens, order, frequencies, n_documents) for tokens in (first, second))
        norms = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
        cosines.append(sum(value * b.get(ngram, 0.0) for ngram, value in a.items()) / norms if norms else 0.0)
    return sum(cosines) / 4


def self_cider(captions, frequencies, n_documents):
    """-log_m of the share of the largest root; eigenvalues below 1e-12 are rounding."""
    kernel = np.array([[cider(a, b, frequencies, n_documents) for b in captions] for a in captions])
    eigenvalues = np.linalg.eigvalsh(kernel)
    roots = np.sqrt(np.where(eigenvalues > 1e-12, eigenvalues, 0.0))
    if len(captions) < 2 or not roots.sum():
        return math.nan
    return -math.log(roots.max() / roots.sum()) / math.log(len(captions))
