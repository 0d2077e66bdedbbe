"""How well does a metric agree with people? The usual benchmarks of captioning metrics, for any evaluate module.

manycaps human-correlation --benchmark flickr8k-expert --metric pac_score
manycaps human-correlation --benchmark pascal-50s --metric trm_meteor --key meteor --data pascal.jsonl
manycaps human-correlation --benchmark vatex-eval --metric emscore_pac --data VATEX-EVAL
manycaps human-correlation --benchmark polaris --metric rouge --key rougeL --limit 500
manycaps human-correlation --benchmark flickr8k-expert --metric human_parity --key distance --lower-is-better
manycaps human-correlation --benchmark flickr8k-expert --metric trm_cider --key cider_d --data FLICKR8K
manycaps human-correlation --benchmark foil --metric meteor15 --data FOIL --against trm_cider --against-key cider_d

Prints Kendall's tau_b and tau_c, or the accuracy of choosing between two captions, beside the published value and the
difference; vatex-eval has tau_b and Spearman's rho, coco-systems a table of systems. After each comes its 95 %
interval: Student's, over images or videos, since captions of one image are not independent. --against names a second
metric, with options of its own, that is scored on the same rows: the differences have intervals and p-values, paired by
row, as in Williams' test for Pearson's correlation (Kendall's tau: Cliff and Charlin, 1991). Public copies on the Hub
are used for flickr8k-expert, flickr8k-cf, composite and polaris; the others have no copy and need --data.

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
--key combined_emscore_pac. The published values come with 10 frames and the IDF of VATEX's training captions: --options
'{"frames": 10, "idf": "TABLE"}'. activitynet-foil: the score of a paragraph is the mean over its sentences, each
against its segment and the references from about that time. A tie between two captions counts one half. With
--references N, captions are scored beside the first N references of each row; pascal-50s and abstract-50s draw N in
place of five, and activitynet-foil has no such option. Published values are shown where they are those of as many
references. A metric of this collection is given by its name, any other one as `evaluate.load` takes it.
"""

import argparse
import dataclasses
import pathlib

from manycaps.human_correlation.benchmarks import BENCHMARKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--benchmark", required=True, choices=BENCHMARKS)
    parser.add_argument(
        "--metric", required=True, help="name of a module of this collection, or path or name of another one"
    )
    parser.add_argument("--against", metavar="METRIC", help="second metric, to test the first one against")
    for prefix, whose in (("", "of --metric:"), ("against-", "of --against:")):
        parser.add_argument(f"--{prefix}config", help=f"{whose} config_name, for example references")
        parser.add_argument(
            f"--{prefix}options", default="{}", help=f'{whose} options as JSON, for example \'{{"device": "cuda"}}\''
        )
        parser.add_argument(f"--{prefix}key", help=f"{whose} key of the result, if not its name")
        parser.add_argument(
            f"--{prefix}lower-is-better", action="store_true", help=f"{whose} reverse the sign, as for trm_*"
        )
    parser.add_argument("--data", type=pathlib.Path, help="local folder or file instead of the public copy")
    parser.add_argument("--limit", type=int, help="use the first rows only")
    parser.add_argument("--references", type=int, help="number of references per caption: the first ones, or drawn")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws of references")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.human_correlation.protocols import CorrelationOptions, correlate, load_options

    given = vars(arguments)
    options = {field.name: given[field.name] for field in dataclasses.fields(CorrelationOptions)}
    for name in ("options", "against_options"):
        options[name] = load_options(given[name], f"--{name.replace('_', '-')}")
    print(correlate(CorrelationOptions(**options)).table)
