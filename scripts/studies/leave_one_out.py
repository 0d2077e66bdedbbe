"""How people score against each other on whole data sets, and how long that takes: the tables of a card.

python -m scripts.studies.leave_one_out --data FOLDER [--sets Flickr8k COCO MSVD] [--iterations 750] [--pos PIPELINE]

FOLDER holds Flickr8k.token.txt.gz (`image#number<TAB>caption`), coco_val_1000.json (a list of objects with
`references`) and msvd_val_references.txt (`clip<TAB>caption`). Prints for each data set a line of means, with the
interval that holds 95 % of the iterations, and the seconds that the measurement took; always with the tail of the
vocabulary replaced by unknowns too, and with --pos also with nouns, proper nouns and verbs masked by that spaCy
pipeline. Needs scripts/requirements.txt, and the data of METEOR 1.5 and of WordNet.
"""

import argparse
import pathlib
import time
from collections.abc import Sequence

from scripts.command_line import start_tool

# What is measured: all that the paper reports, and NLTK's METEOR.
METRICS = ("bleu", "rouge_l", "cider_d", "meteor15", "meteor")
KEYS = ("bleu_1", "bleu_4", "rouge_l", "cider_d", "meteor15", "meteor")

SETS = ("Flickr8k", "COCO", "MSVD")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--iterations", type=int, default=750)
    parser.add_argument("--pos", metavar="PIPELINE", help="mask nouns, proper nouns and verbs as well")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", needs_wordnet=True)

import evaluate

import manycaps
from scripts.studies.caption_rows import read_all_images


def main(arguments: argparse.Namespace) -> None:
    """Measure every data set, and print a table."""
    evaluate.utils.logging.disable_progress_bar()
    module = manycaps.load("vdtk_leave_one_out", metrics=METRICS, n_iterations=arguments.iterations)
    print("| data | rows | captions | seconds |", " | ".join(KEYS), "|")
    print("|---" * (4 + len(KEYS)) + "|")
    kinds = {"": {}, ", tail unknown": {"head_share": 0.9}}
    if arguments.pos:
        kinds[", masked"] = {"pos": arguments.pos}
    for name in arguments.sets:
        rows = read_all_images(arguments.data, name)
        for kind, options in kinds.items():
            begin = time.perf_counter()
            result = module.compute(data=rows, **options)
            seconds = time.perf_counter() - begin
            cells = [f"{result[k]:.3f} ({result[f'{k}_low']:.3f}-{result[f'{k}_high']:.3f})" for k in KEYS]
            sizes = f"{result['n_rows']:,} | {result['n_captions']:,} | {seconds:.0f}"
            print(f"| {name}{kind} | {sizes} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(parsed())
