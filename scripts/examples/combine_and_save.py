"""Score one file of captions with all text metrics at once, and save the numbers with everything that made them.

python -m scripts.examples.combine_and_save                          the bundled sample
python -m scripts.examples.combine_and_save --system repeating --output results/

Needs `pip install 'manycaps[embeddings]'`; runs from any folder.
"""

import argparse
import json
import pathlib

from manycaps.commands.quickstart import SAMPLE


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=pathlib.Path, default=SAMPLE)
    parser.add_argument("--system", default="diverse", help="diverse, repeating or off_topic")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("results"), metavar="FOLDER")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import evaluate
import numpy as np

import manycaps
from manycaps.integrations import as_json


def bag_of_words(captions: list[str]) -> np.ndarray:
    """Embed captions as counts of their words: no model needed. Without `encoder` mmd_bert takes MiniLM."""
    sentences = [caption.lower().rstrip(".").split() for caption in captions]
    words = {word: i for i, word in enumerate(sorted({word for sentence in sentences for word in sentence}))}
    counts = np.zeros((len(captions), len(words)))
    for row, sentence in zip(counts, sentences, strict=True):
        np.add.at(row, [words[word] for word in sentence], 1.0)
    return counts


def main(captions: pathlib.Path, system: str, output: pathlib.Path) -> dict:
    """Score a system, save and return the result."""
    scenes = json.loads(captions.read_text(encoding="utf-8"))["scenes"]
    # Settings are given here and not to compute: there a combination hands every keyword to every module, and the
    # modules refuse those that they do not know.
    metrics = evaluate.combine(
        [
            manycaps.load("trm_meteor", p_value="exact"),
            manycaps.load("trm_cider", p_value="exact"),
            manycaps.load("mmd_bert", p_value="exact", encoder=bag_of_words),
        ]
    )
    for scene in scenes:  # as a loop over batches would
        metrics.add_batch(predictions=[scene["systems"][system]], references=[scene["references"]])
    result = metrics.compute()
    # Keys that several modules have get the module's name in front: trm_meteor_n_rows, trm_cider_n_rows.
    # As JSON has it: what is undefined is null, where `evaluate.save` would write NaN.
    path = evaluate.save(output, system=system, captions=captions.name, **as_json(result))
    print(json.dumps(as_json(result), indent=2))
    print(f"saved with date and versions in {path}")
    return result


if __name__ == "__main__":
    main(**vars(parse()))
