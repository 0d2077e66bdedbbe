"""How people score against each other on whole data sets, and how long that takes: the tables of a card.

python -m scripts.studies.leave_one_out --data FOLDER [--sets Flickr8k COCO MSVD] [--iterations 750] [--pos PIPELINE]
python -m scripts.studies.leave_one_out --data FOLDER --option n_references=3 [--images N] [--distinct]

FOLDER holds Flickr8k.token.txt.gz (`image#number<TAB>caption`), coco_val_1000.json (a list of objects with
`references`) and msvd_val_references.txt (`clip<TAB>caption`). Prints for each data set a line of means, with the
interval that holds 95% of the iterations, and the seconds that the measurement took; also with the tail of the
vocabulary replaced by unknowns, unless options of the module are given, and with --pos with nouns, proper nouns and
verbs masked by that spaCy pipeline. Needs the data of METEOR 1.5 and of WordNet, too.
"""

import json
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import evaluate

import manycaps
from scripts.studies.caption_rows import read_all_images
from scripts.studies.study_frame import print_table
from scripts.studies.study_options import Options, tool_parser

SETS = ("Flickr8k", "COCO", "MSVD")

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
parser.add_argument("--iterations", type=int, default=750)
parser.add_argument("--pos", metavar="PIPELINE", help="mask nouns, proper nouns and verbs as well")
parser.add_argument("--images", type=int, metavar="N", help="the first N images of a data set")
parser.add_argument("--distinct", action="store_true", help="equal captions of an image count once")
parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="an option of the module")
parse = parser.parse_args

# What is measured: all that the paper reports, and NLTK's METEOR.
METRICS = ("bleu", "rouge_l", "cider_d", "meteor15", "meteor")


def rows(options: Options, chosen: dict[str, Any], keys: Sequence[str]) -> Iterator[list[str]]:
    """Measure every data set with the chosen options."""
    module = manycaps.load("vdtk_leave_one_out", n_iterations=options.iterations, **chosen)
    kinds: dict[str, dict[str, Any]] = {"": {}} | ({} if options.option else {", tail unknown": {"head_share": 0.9}})
    kinds |= {", masked": {"pos": options.pos}} if options.pos else {}
    for name in options.sets:
        images = read_all_images(options.data, name)[: options.images]
        images = [list(dict.fromkeys(row)) for row in images] if options.distinct else images
        for kind, given in kinds.items():
            begin = time.perf_counter()
            result = module.compute(data=images, **given)
            seconds = time.perf_counter() - begin
            sizes = [f"{result['n_rows']:,}", f"{result['n_captions']:,}", f"{seconds:.0f}"]
            means = [f"{result[k]:.4f} ({result[f'{k}_low']:.3f}-{result[f'{k}_high']:.3f})" for k in keys]
            yield [f"{name}{kind}", *sizes, *means]


def main(options: Options) -> None:
    """Print the table."""
    evaluate.utils.logging.disable_progress_bar()
    given = (option.partition("=") for option in options.option)
    chosen = {"metrics": METRICS} | {name: json.loads(value) for name, _, value in given}
    keys = [key for name in chosen["metrics"] for key in (("bleu_1", "bleu_4") if name == "bleu" else (name,))]
    print_table(["data", "rows", "captions", "seconds", *keys], rows(options, chosen, keys))


if __name__ == "__main__":
    main(parse())
