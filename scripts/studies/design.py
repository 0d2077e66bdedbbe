"""What the studies of the distribution modules compare; needs no package."""

from collections.abc import Mapping

MODULES = ("trm_meteor", "trm_cider", "trm_bert", "mmd_bert", "fid_bert")

# Those of triangle ranks: they have two statistics, and also test rows with a single candidate.
TRIANGLE_RANK_MODULES = MODULES[:3]

# How the candidates of an image are made: human captions of the image itself, each of them replaced by one of another
# image with the probability that is given, or the first of them in place of all.
DAMAGES: Mapping[str, float] = {"human": 0, "w = 0.1": 0.1, "w = 0.2": 0.2, "w = 0.5": 0.5, "w = 1": 1, "repeated": 0}
