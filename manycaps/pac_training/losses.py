"""Loss of positive-augmented contrastive learning, three symmetric InfoNCE terms; and retrieval recall."""

import torch

from manycaps.kit.errors import InputError
from manycaps.pac_training.recipe import LAMBDA_T, LAMBDA_V

# Names of the three terms: which images are compared with which captions.
REAL, GENERATED_IMAGES, GENERATED_CAPTIONS = "L(V,T)", "L(V',T)", "L(V,T')"

# Values of k of the retrieval recall.
RECALL_AT = (1, 5, 10)

# Queries compared with all candidates at once: 1024 x 25,000 x 4 bytes = 100 MB.
QUERIES_AT_ONCE = 1024


def positive_augmented_loss(
    images: torch.Tensor,
    texts: torch.Tensor,
    generated_images: torch.Tensor | None,
    generated_texts: torch.Tensor | None,
    scale: torch.Tensor | float,
    lambda_v: float = LAMBDA_V,
    lambda_t: float = LAMBDA_T,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Compute the loss of rows of an image, its caption, an image made from the caption, and a caption of the image.

    L = L(V,T) + lambda_v L(V',T) + lambda_t L(V,T') (Sarto et al., 2023, equation 4,
    https://arxiv.org/abs/2303.12112), each term as in `symmetric_info_nce`. The sentence under equation 4 calls its
    second term "between generated images and real texts", so the missing prime in L_{V,T} there is a misprint.

    Args:
        images: features v of real images, shape (n, d), of any length.
        texts: features t of their captions, shape (n, d).
        generated_images: features v' of images made from the captions, shape (n, d); may be None if lambda_v is 0.
        generated_texts: features t' of captions made from the images, shape (n, d); may be None if lambda_t is 0.
        scale: 1 / tau, the factor of the cosines (CLIP's `logit_scale.exp()`).
        lambda_v: weight of the generated images, 0 or more; with 0 the term is not computed.
        lambda_t: weight of the generated captions, 0 or more.

    Returns:
        The loss, a scalar, 0 at best; and its terms by name, each without its weight, terms of weight 0 left out.

    Raises:
        ValueError: shapes differ, a weight is negative, or features with a weight are absent.

    >>> x, y = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> loss, parts = positive_augmented_loss(x, y, y, x, scale=1.0)
    >>> round(loss.item(), 4), round(parts["L(V,T)"].item(), 4)
    (0.7205, 0.6265)
    """
    loss = symmetric_info_nce(images, texts, scale)
    parts = {REAL: loss}
    if lambda_v != 0:
        generated_images = _as_features("lambda_v", lambda_v, "generated_images", generated_images)
        parts[GENERATED_IMAGES] = symmetric_info_nce(generated_images, texts, scale)
        loss = loss + lambda_v * parts[GENERATED_IMAGES]
    if lambda_t != 0:
        generated_texts = _as_features("lambda_t", lambda_t, "generated_texts", generated_texts)
        parts[GENERATED_CAPTIONS] = symmetric_info_nce(images, generated_texts, scale)
        loss = loss + lambda_t * parts[GENERATED_CAPTIONS]
    return loss, parts


def symmetric_info_nce(images: torch.Tensor, texts: torch.Tensor, scale: torch.Tensor | float) -> torch.Tensor:
    """Return InfoNCE from images to texts plus InfoNCE from texts to images, over the cosines of all n x n pairs.

    -1/n sum_i log(exp(s cos(v_i, t_i)) / sum_j exp(s cos(v_i, t_j)))
    -1/n sum_i log(exp(s cos(v_i, t_i)) / sum_j exp(s cos(v_j, t_i))), s = 1 / tau
    (Sarto et al., 2023, equations 2 and 3). The two directions are added, where CLIP's own loss is their mean.

    Args:
        images: features, shape (n, d); normalised here.
        texts: features, shape (n, d), row i belonging to image i.
        scale: 1 / tau.

    Returns:
        Scalar, 0 at best, 2 log n where all cosines are equal; float32, or float64 if the features are.

    Raises:
        ValueError: the shapes differ.

    >>> round(symmetric_info_nce(torch.ones(4, 2), torch.ones(4, 2), 1.0).item(), 4)  # 2 log 4
    2.7726
    """
    if images.ndim != 2 or images.shape != texts.shape:
        got = f"{tuple(texts.shape)} beside {tuple(images.shape)}"
        expected = "features of shape (n, d) as the images have"
        raise InputError("texts", expected, got, "Row i of both belongs together.")
    logits = scale * (_unit(images) @ _unit(texts).T)  # (n, n)
    # log(exp(a) / sum exp(b)) = a - logsumexp(b), over the row and over the column of each pair
    return (logits.logsumexp(dim=1) + logits.logsumexp(dim=0) - 2 * logits.diagonal()).mean()


def _unit(features: torch.Tensor) -> torch.Tensor:
    """Unit vectors, in float32 at least: 8 bits of mantissa are too few for cosines times 100."""
    features = features if features.dtype == torch.float64 else features.float()
    unit: torch.Tensor = features / features.norm(dim=1, keepdim=True)
    return unit


def _as_features(name: str, weight: float, column: str, features: torch.Tensor | None) -> torch.Tensor:
    """Features of a term with a weight; raise if they are missing or the weight is negative."""
    if not weight >= 0:
        raise InputError(name, "0 or more", weight, "Give 0 to leave the term out.")
    if features is None:
        raise InputError(column, "features", "None", f"Give them, or {name}=0 to leave their term out.")
    return features


def retrieval_recall(images: torch.Tensor, captions: torch.Tensor) -> dict[str, float]:
    """Return the share of images whose caption is among their k nearest captions, and of captions whose image is.

    A candidate that is exactly as near as the right one counts as nearer: features that are all equal find nothing.

    Args:
        images: features, shape (n, d), of any length.
        captions: features, shape (n, d), row i belonging to image i.

    Returns:
        From 0 to 1, for k in `RECALL_AT`, by names like "image_to_caption_recall@5".

    >>> found = retrieval_recall(torch.eye(3), torch.eye(3)[[0, 2, 1]])
    >>> round(found["image_to_caption_recall@1"], 4), found["caption_to_image_recall@5"]
    (0.3333, 1.0)
    """
    images, captions = (x / x.norm(dim=1, keepdim=True) for x in (images.detach(), captions.detach()))
    directions = {"image_to_caption": _ranks(images, captions), "caption_to_image": _ranks(captions, images)}
    return {
        f"{direction}_recall@{k}": (ranks <= k).double().mean().item()
        for direction, ranks in directions.items()
        for k in RECALL_AT
    }


def _ranks(queries: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """Rank, from 1, of candidate i among all candidates by nearness to query i, shape (n,)."""
    ranks = []
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        cosines = queries[start : start + QUERIES_AT_ONCE] @ candidates.T  # (some, n)
        own = cosines.diagonal(offset=start)
        ranks.append((cosines >= own[:, None]).sum(dim=1))
    return torch.cat(ranks)
