"""Write meteor_pairs.json: NLTK's METEOR of pairs of captions, and of captions with several references.

Needs tests/requirements.txt and WordNet 3.0 (`manycaps install-wordnet`).
"""

from nltk.corpus import wordnet
from nltk.translate.meteor_score import meteor_score, single_meteor_score

from tests.parity.golden.golden_file import caption_rows, compared_tokens, meta, run, token_row, write_json


def main() -> None:
    about = meta(
        ("nltk",),
        program="nltk.translate.meteor_score: single_meteor_score(reference, hypothesis), and meteor_score for several "
        "references, with their defaults",
        wordnet=wordnet.get_version(),
        tokens="of ptb_tokens.json",
    )
    pairs, sets = [], []
    for row in caption_rows():
        for hypothesis, reference in compared_tokens(row):
            score = single_meteor_score(reference, hypothesis)
            pairs.append({"category": row["_id"], "hypothesis": hypothesis, "reference": reference, "score": score})
        (hypothesis, *_), references = token_row(row)
        score = meteor_score(references, hypothesis)
        sets.append({"hypothesis": hypothesis, "references": references, "score": score})
    write_json("meteor_pairs.json", {"meta": about, "pairs": pairs, "multi_reference": sets})


if __name__ == "__main__":
    run(main)
