"""Retrieval recall: how often the caption of an image is among the k nearest, and the image of a caption."""

import torch

# Values of k.
RECALL_AT = (1, 5, 10)

# Queries compared with all candidates at once: 1024 x 25,000 x 4 bytes = 100 MB.
QUERIES_AT_ONCE = 1024


def retrieval_recall(images: torch.Tensor, captions: torch.Tensor) -> dict[str, float]:
    """Share of images whose caption is among their k nearest captions, and of captions whose image is.

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
