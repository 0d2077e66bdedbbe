"""Evaluate COCO results as pycocoevalcap does, without Java: BLEU-1 to 4, METEOR, ROUGE-L and CIDEr.

manycaps coco-eval captions_val2014.json results.json
manycaps coco-eval captions_val2014.json results.json --output scores.json

Files are in COCO's formats: {"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": "A dog."}]}, and a list
of results, one per image: [{"image_id": 1, "caption": "a dog"}]. ANNOTATIONS may be Karpathy's
dataset_coco.json, or dataset_flickr30k.json with file names as ids, or MSR-VTT's videodatainfo.json with ids of videos;
--split names one of its splits. The images of the results are evaluated. METEOR reads its data from the installed
package pycocoevalcap, or from --meteor15-data.
"""

import argparse
import json
import sys
import warnings

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("annotations", metavar="ANNOTATIONS")
    parser.add_argument("results", metavar="RESULTS")
    parser.add_argument("--output", type=path_of, metavar="FILE", help="also write the values of every image, as JSON")
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file as ANNOTATIONS: test")
    parser.add_argument("--meteor15-data", metavar="PATH", help="meteor-1.5.jar, or a folder that holds it")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.result_tables import finite
    from manycaps.files.saved_files import check_can_be_written, write_text_atomically
    from manycaps.integrations.coco.evaluation import evaluate_files

    if arguments.output:
        check_can_be_written(arguments.output, [arguments.annotations, arguments.results])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation = evaluate_files(arguments.annotations, arguments.results, arguments.meteor15_data, arguments.split)
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    for name, value in evaluation.eval.items():
        print(f"{name}: {value:.3f}")
    print(f"{len(evaluation.evalImgs):,} images", file=sys.stderr)
    if arguments.output:
        content = {"n_images": len(evaluation.evalImgs), "eval": evaluation.eval, "images": evaluation.evalImgs}
        write_text_atomically(arguments.output, json.dumps(finite(content), indent=1, allow_nan=False) + "\n")
        print(arguments.output, file=sys.stderr)
