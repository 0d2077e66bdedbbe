"""How well does a metric agree with people? The usual benchmarks of captioning metrics, and ratings of your own.

manycaps human-correlation --ratings ratings.csv systems/*.jsonl -r references.jsonl -m coco_caption
manycaps human-correlation --ratings ratings.csv report/
manycaps human-correlation --benchmark flickr8k-expert --metric pac_score
manycaps human-correlation --benchmark pascal-50s --metric trm_meteor --key meteor --data pascal.jsonl
manycaps human-correlation --benchmark vatex-eval --metric emscore_pac --data VATEX-EVAL
manycaps human-correlation --benchmark polaris --metric rouge --key rougeL --limit 500
manycaps human-correlation --benchmark flickr8k-expert --metric human_parity --key distance --lower-is-better
manycaps human-correlation --benchmark flickr8k-expert --metric trm_cider --key cider_d --data FLICKR8K
manycaps human-correlation --benchmark foil --metric meteor15 --data FOIL --against trm_cider --against-key cider_d

With --ratings, a table of your own, prints how every number of `manycaps compare` agrees with the ratings: Spearman's
rho and Kendall's tau_b, with intervals, for human_parity (by --distance) and the metrics of -m. The table (CSV, JSON
Lines or Parquet) has a column system, columns of numbers, each a scale (--scales may name some), and, where
captions were rated, id; several ratings of one thing are averaged, and a cell may be empty. The systems are files of
captions and references as for `manycaps compare`, whose names are the systems' names, folders that `manycaps score`
wrote, with the values of the corpus as well, or the folder of a report that `manycaps compare` wrote, for
which nothing is computed again. Over systems, a point is a system: with 21 of them unrelated numbers reach 0.43, so
that less is noise, and five are the fewest. Over captions, a point is what a system wrote for a row; captions of one
row, or with --clusters of rows whose ids have the same match of a regular expression, are a cluster.

With --benchmark, prints Kendall's tau_b and tau_c, or the accuracy of choosing between two captions, beside the
published value and the difference; vatex-eval has tau_b and Spearman's rho, coco-systems a table of systems. After each
comes its 95% interval: Student's, over images or videos, since captions of one image are not independent. --against
names a second metric, with options of its own, that is scored on the same rows: the differences have intervals and
p-values, paired by row, as in Williams' test for Pearson's correlation (Kendall's tau: Cliff and Charlin, 1991). Public
copies on the Hub are used for flickr8k-expert, flickr8k-cf, composite and polaris; the others have no copy and need
--data.

--data takes a `datasets` folder (save_to_disk, or with .parquet or .jsonl files) or one such file, with the columns of
the public copies:
  correlation (first four benchmarks): img, cand (one caption), refs (list of captions), human_score (one number, or
      the list of all judgements)
  choice (pascal-50s, abstract-50s, foil): img, better, worse (captions; for foil the correct one and the foil), refs;
      category optional (pascal-50s: HC, HI, HM, MM)
  judges (vatex-eval): video (a file, or .npy with frame features), cand, refs, human_score (one number of each judge)
Files as they were released:
  abstract-50s: consensus_abstract.mat. It names no image, so metrics of images need a table with img.
  vatex-eval: candidates_list, gts_list, human_scores and video_ids as .npy. They were released as pickles, which can
      run code and are not read; the error says how to convert them. Videos: videos/<id>.mp4, or .npy (frame features).
  activitynet-foil: final_right_video_sentences.json, final_foil_video_sentences.json, anet_entities_test_1.json and _2.
      Videos: videos/<id>.npy, frame features of the whole video, or videos/<id>_seg_<i>.mp4, the segment of a sentence.
  coco-systems: a folder with one file of COCO annotations, a list of {"image_id", "caption"} for each system, and
      images/. The systems of the paper are known as show_and_tell.json, show_attend_and_tell.json, up_down.json,
      sgae.json, aoanet.json, m2_transformer.json, x_transformer.json, vinvl.json and humans.json.
Images may be paths relative to the folder. A metric that takes no references or images is not given them.
flickr8k-expert and flickr8k-cf also take the folder of the Flickr8k release (Hodosh et al., 2013,
https://doi.org/10.1613/jair.3994): Flickr8k.token.txt (or .gz), ExpertAnnotations.txt or CrowdFlowerAnnotations.txt,
and for metrics of images Flicker8k_Dataset. On flickr8k-expert, --metric trm_cider --key cider_d gives the published
CIDEr, --metric meteor15 the published METEOR; --metric trm_meteor --key meteor gives NLTK's, which is another metric.
--metric human_parity --key distance --lower-is-better is the mean distance of a caption from the references: by default
1 - cosine of MiniLM, whose training data hold captions of Flickr30k, so that its figure on Flickr8k is not a clean
comparison with metrics that saw none.

Protocols (Sarto et al., 2023, sections 4.2-4.4). flickr8k-expert: each judgement is one data point, rows whose
candidate is one of the references are dropped. flickr8k-cf: the share of "yes" of a caption is one data point, and
captions that are judged are taken out of the references of their image, in all its rows, as in the program of Hessel et
al. (2021, https://arxiv.org/abs/2104.08718), whose table is published; it has not been repeated here. composite,
polaris: one judgement per row. pascal-50s: five of the references drawn at random, five times, accuracies averaged.
foil: with all references given. abstract-50s: as pascal-50s. vatex-eval: scores are rounded to four decimals and
compared with each judge alone, and the correlations averaged; emscore_pac takes references with --config references and
--key combined_emscore_pac. The published values come with 10 frames and the IDF of VATEX's training captions: --option
frames=10 --option idf=TABLE. activitynet-foil: the score of a paragraph is the mean over its sentences, each
against its segment and the references from about that time. A tie between two captions counts one half. With
--references N, captions are scored beside the first N references of each row; pascal-50s and abstract-50s draw N in
place of five, and activitynet-foil has no such option. Published values are shown where they were found with as many
references. A metric of this collection is given by its name, any other one as `evaluate.load` takes it.
"""

import argparse
import dataclasses

from manycaps.catalog.command_options import add_format, add_options, comma_list, options_of, path_of, print_json
from manycaps.human_correlation.benchmarks import BENCHMARKS
from manycaps.human_correlation.correlation_options import CorrelationOptions, RatingOptions
from manycaps.kit.errors import InputError, quote_value

# What both kinds of comparison have; the command has these once.
SHARED = ("metric", "metrics", "references", "limit", "options", "seed", "benchmark", "ratings")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--benchmark", choices=BENCHMARKS)
    what.add_argument("--ratings", type=path_of, metavar="FILE", help="table of your own ratings")
    parser.add_argument(
        "-m",
        "--metric",
        metavar="NAME",
        help="name of a module of this collection, or path or name of another one; with --ratings as for compare, "
        "separated by commas",
    )
    parser.add_argument(
        "-r",
        "--references",
        nargs="+",
        metavar="N|FILE",
        help="number of references of a caption: the first ones, or drawn; with --ratings: human captions",
    )
    add_format(parser, "md", "latex")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="of --ratings: captions, scores, or a report")
    add_options(parser, CorrelationOptions, without=("references",))
    add_options(parser, RatingOptions, without=("limit", "options", "seed"))


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    given = vars(arguments)
    kinds = {"ratings": RatingOptions, "benchmark": CorrelationOptions}
    used, other = ("benchmark", "ratings") if arguments.ratings is None else ("ratings", "benchmark")
    other_options = [field.name for field in dataclasses.fields(kinds[other]) if field.name not in SHARED]
    for name in (*other_options, *(["format"] if used == "benchmark" else [])):
        if given[name] not in (None, False, [], "text"):
            shown = "systems" if name == "systems" else f"--{name.replace('_', '-')}"
            got = quote_value(",".join(given[name]) if isinstance(given[name], list) else given[name])
            raise InputError(shown, f"none with --{used}", got, f"It belongs to --{other}.")
    if used == "ratings":
        _run_ratings(arguments)
        return
    from manycaps.human_correlation.protocols import correlate

    if arguments.metric is None:
        raise InputError("--metric", "a metric for the benchmark", "none", "Name it.")
    options = options_of(arguments, CorrelationOptions, references=_number(arguments.references))
    print(correlate(options))


def _run_ratings(arguments: argparse.Namespace) -> None:
    from manycaps.human_correlation.ratings import compare_rated_systems

    metrics = None if arguments.metric is None else comma_list(arguments.metric)
    lists = {"metrics": metrics, "references": arguments.references or ()}
    rated = compare_rated_systems(options_of(arguments, RatingOptions, **lists))
    if arguments.format == "json":
        print_json(rated.to_dict())
    else:
        print(rated.write(arguments.format))


def _number(given: list[str] | None) -> int | None:
    """The number of references of a benchmark."""
    if given is None:
        return None
    if len(given) > 1 or not given[0].isdecimal():
        raise InputError("--references", "a whole number with --benchmark", f"{' '.join(given)[:80]!r}", "Give one.")
    return int(given[0])
