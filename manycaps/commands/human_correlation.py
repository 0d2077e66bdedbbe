"""How well does a metric agree with people? The usual benchmarks of captioning metrics, for any evaluate module.

manycaps human-correlation --benchmark flickr8k-expert --metric pac_score
manycaps human-correlation --benchmark pascal-50s --metric trm_meteor --key meteor --data pascal.jsonl
manycaps human-correlation --benchmark polaris --metric rouge --key rougeL --limit 500
manycaps human-correlation --benchmark flickr8k-expert --metric trm_cider --key cider_d --data FLICKR8K

Prints Kendall's tau_b and tau_c, or the accuracy of choosing between two captions, beside the published value and the
difference. Public copies on the Hub are used for flickr8k-expert, flickr8k-cf, composite and polaris; pascal-50s and
foil have none, and need --data.

--data takes a `datasets` folder (save_to_disk, or with .parquet or .jsonl files) or one such file, with the columns of
the public copies:
  correlation (first four benchmarks): img, cand (one caption), refs (list of captions), human_score (one number, or
      the list of all judgements)
  choice (pascal-50s, foil): img, better, worse (captions; for foil the correct one and the foil), refs; category
      optional (pascal-50s: HC, HI, HM, MM)
Images may be paths relative to the folder. A metric without references or images is simply not given them.
flickr8k-expert also takes the folder of the Flickr8k release (Hodosh et al., 2013, https://doi.org/10.1613/jair.3994):
Flickr8k.token.txt (or .gz), ExpertAnnotations.txt, and for metrics of images Flicker8k_Dataset. The last command above
gives the published CIDEr with it, and --metric meteor15 the published METEOR; --metric trm_meteor --key meteor gives
NLTK's METEOR, which is another metric.

Protocols (Sarto et al., 2023, sections 4.2-4.4). flickr8k-expert: each judgement is one data point, rows whose
candidate is one of the references are dropped. flickr8k-cf: mean share of "yes" per caption. composite, polaris: one
judgement per row. pascal-50s: five of the references drawn at random, five times, accuracies averaged. foil: with all
references given. A tie between two captions counts as half a success. A metric of this
collection is given by its name, any other one as `evaluate.load` takes it.
"""

import argparse
import pathlib

from manycaps.human_correlation.benchmarks import BENCHMARKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--benchmark", required=True, choices=BENCHMARKS)
    parser.add_argument(
        "--metric", required=True, help="name of a module of this collection, or path or name of another one"
    )
    parser.add_argument("--config", help="the module's config_name, for example references")
    parser.add_argument(
        "--options", default="{}", help='options at load time as JSON, for example \'{"device": "cuda"}\''
    )
    parser.add_argument("--key", help="the result to use, if not the one named like the module")
    parser.add_argument(
        "--lower-is-better", action="store_true", help="turn the sign round, for distances such as trm_*"
    )
    parser.add_argument("--data", type=pathlib.Path, help="local folder or file instead of the public copy")
    parser.add_argument("--limit", type=int, help="use the first rows only")
    parser.add_argument("--seed", type=int, default=0, help="of the draws of references")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.human_correlation.protocols import correlate

    correlate(arguments)
