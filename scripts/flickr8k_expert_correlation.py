"""Kendall correlation of the METEOR and CIDEr-D kernels with the expert ratings of Flickr8k.

python scripts/flickr8k_expert_correlation.py DATA_FOLDER

DATA_FOLDER holds Flickr8k.token.txt (or .gz) and ExpertAnnotations.txt of the Flickr8k release (Hodosh et al. 2013,
https://doi.org/10.1613/jair.3994). Protocol of the COCO caption metrics: each candidate against the five references of
its image; candidates that equal a reference of their image are dropped; each of the three ratings is one judgement.
Published values for METEOR are those of METEOR 1.5, the Java program, and not of NLTK's METEOR, which is what
trm_meteor is built on.
"""

import argparse
import collections
import gzip
import pathlib
import sys

import numpy as np
import scipy.stats

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from metrics.trm_cider.cider_distance import cider_d_scores, document_frequencies, multi_reference_cider_d
from metrics.trm_cider.shared_ptb_tokenizer import tokenize_captions
from metrics.trm_meteor.meteor_distance import meteor_scores, multi_reference_meteor
from metrics.trm_meteor.wordnet_lexicon import WordNetLexicon

# What captioning papers report on Flickr8k-Expert, tau_b / tau_c times 100 (Sarto et al. 2023, PAC-S, table 1). Their
# METEOR is another program than NLTK's.
PUBLISHED = {"CIDEr-D": "published: 43.6 / 43.9", "METEOR (NLTK)": "none published (METEOR 1.5: 41.5 / 41.8)"}

# Rows handled at once.
BATCH = 512


def read_captions(folder: pathlib.Path) -> dict[str, str]:
    """Return the captions by caption id, "image.jpg#k"."""
    path = folder / "Flickr8k.token.txt"
    text = (
        path.read_text("utf-8")
        if path.exists()
        else gzip.decompress((folder / f"{path.name}.gz").read_bytes()).decode()
    )
    pairs = (line.split("\t", 1) for line in text.splitlines())
    # One id has an image name with ".1" behind it that is in no other file of the release.
    return {caption_id.replace(".jpg.1#", ".jpg#"): caption for caption_id, caption in pairs}


def read_judgements(folder: pathlib.Path) -> list[tuple[str, str, list[int]]]:
    """Return (image, candidate's caption id, three ratings from 1 to 4) of every judged pair."""
    lines = (folder / "ExpertAnnotations.txt").read_text("utf-8").splitlines()
    fields = (line.split("\t") for line in lines)
    return [(image, caption_id, [int(rating) for rating in ratings]) for image, caption_id, *ratings in fields]


def correlations(scores: np.ndarray, ratings: np.ndarray) -> tuple[float, float]:
    """Return Kendall's tau_b and tau_c, times 100, of scores (n,) with ratings (n, 3), each rating a judgement."""
    repeated = np.repeat(scores, ratings.shape[1])
    return tuple(100 * scipy.stats.kendalltau(repeated, ratings.ravel(), variant=variant).statistic for variant in "bc")


def main(folder: pathlib.Path) -> int:
    """Score all judged pairs and print the table."""
    captions = read_captions(folder)
    tokens = dict(zip(captions, tokenize_captions(captions.values()), strict=True))
    references = collections.defaultdict(list)
    for caption_id in captions:
        references[caption_id.split("#")[0]].append(caption_id)
    judged = [
        (image, candidate, ratings)
        for image, candidate, ratings in read_judgements(folder)
        if candidate not in references[image]
    ]
    rows = [[tokens[candidate]] + [tokens[i] for i in references[image]] for image, candidate, _ in judged]
    ratings = np.array([ratings for _, _, ratings in judged])
    # One document for each judged pair, as the COCO caption code counts when it is given the pairs.
    documents = [row[1:] for row in rows]
    frequencies, lexicon = document_frequencies(documents), WordNetLexicon()
    kernels = {
        "CIDEr-D": lambda part: multi_reference_cider_d(np.stack(cider_d_scores(part, frequencies, len(documents))), 1),
        "METEOR (NLTK)": lambda part: multi_reference_meteor(np.stack(meteor_scores(part, lexicon)), 1),
    }
    print(f"{len(rows)} pairs x 3 judgements")
    for name, kernel in kernels.items():
        scores = np.concatenate([kernel(rows[i : i + BATCH]) for i in range(0, len(rows), BATCH)])
        tau_b, tau_c = correlations(scores, ratings)
        print(f"{name:<14} tau_b {tau_b:6.2f}  tau_c {tau_c:6.2f}  {PUBLISHED[name]}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DATA_FOLDER")
    sys.exit(main(parser.parse_args().folder))
