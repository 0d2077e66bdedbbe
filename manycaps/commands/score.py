"""Score caption files of any size by any metrics: in parts, on all cores; a killed run resumes.

manycaps score -m trm_meteor,mmd_bert -i system.jsonl -r references.jsonl -o scores/
manycaps score -m pac_score -i captions.parquet --images photos/ -o scores/ --device cuda
manycaps score -m pac_score -i 'shards/{00000..00999}.tar' -o scores/ --on-error reject --max-rejected 0.05
manycaps score -m trm_meteor -i rows.parquet -o scores/ --option p_value=exact --option confidence_level=0.95

Inputs are files, folders and patterns, on this machine or at addresses that fsspec knows (s3://, gs://, https://):
  .parquet  one item per row, with columns of captions: lists of them, or single ones
  .jsonl    the same as objects, {"id": 7, "predictions": ["a dog"], "references": ["dogs", "two dogs"]}
  .json     a list of such objects, an object from ids to captions, COCO's results and annotations, MSR-VTT's
            videodatainfo.json, or Karpathy's dataset_coco.json and others (--split test)
  .csv      a column of single captions; .tsv with tabs
  .txt      image and caption with a tab between them, as in Flickr8k.token.txt, or a table with a header
  .tar      webdataset: 000.jpg, 000.txt (a caption per line), 000.json (columns); also .tar.gz and .tgz
Text may end in .gz. Rows with one caption each are put together by their id; predictions and references of two files
are joined by id. Columns have their usual names (predictions, candidates, samples; references; captions, caption, text;
id, image_id; image, file_name; video), or are named with --columns. --dry-run shows how the input is read.

FOLDER gets rows/*.parquet (id, file and row of every row, and its values), summary.json (values of the corpus, as the
module computes them from all rows at once), and rejected.jsonl (what was left out, and why). The same command resumes
a run that was killed; it refuses if the input, an option or a version has changed. Values over all captions together
are computed as well: --option pooled=true of fid_bert and mmd_bert, the corpus score of meteor15, and -m
vdtk_diversity.

--engine ray needs `pip install 'manycaps[ray]'`; every node must see the input and FOLDER under the same names.
"""

import argparse
import dataclasses
import json

from manycaps.scoring.score import MOST_POOLED_ROWS, ScoreOptions, score


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    required = parser.add_argument_group("what to score")
    required.add_argument(
        "-m", "--metrics", required=True, metavar="NAME,...", help="modules, as `manycaps list` names them"
    )
    required.add_argument(
        "-i", "--input", dest="inputs", required=True, nargs="+", metavar="SOURCE", help="predictions, or complete rows"
    )
    required.add_argument("-r", "--references", nargs="+", default=[], metavar="SOURCE", help="joined by id")
    required.add_argument("-o", "--output", required=True, metavar="FOLDER")
    required.add_argument(
        "--columns", metavar="[FILE:]ROLE=NAME,...", help="columns of predictions, references, id, image, video"
    )
    required.add_argument("--images", metavar="FOLDER", help="where the images of column or id lie")
    required.add_argument("--videos", metavar="FOLDER", help="where the videos of column or id lie")
    required.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    required.add_argument("--limit", type=_count, metavar="N", help="score only the first N rows")
    required.add_argument("--dry-run", action="store_true", help="show what would be read, and exit")
    how = parser.add_argument_group("how to score")
    how.add_argument("--option", action="append", default=[], metavar="[METRIC.]NAME=VALUE", help="option of a module")
    how.add_argument("--device", metavar="NAME", help="device of the models, such as cuda; default: the best available")
    how.add_argument(
        "--on-error", choices=("raise", "reject"), default="raise", help="stop at a bad row, or leave it out"
    )
    how.add_argument(
        "--max-rejected", type=_share, default=1.0, metavar="SHARE", help="largest share of rejected rows (1)"
    )
    how.add_argument(
        "--max-pooled-rows",
        type=_count,
        default=MOST_POOLED_ROWS,
        metavar="N",
        help="most rows for a value over all captions that needs every embedding at once (10000)",
    )
    how.add_argument("--restart", action="store_true", help="begin from scratch")
    how.add_argument("--engine", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    how.add_argument(
        "--address", metavar="NAME", help="address of the cluster, auto for this machine's; default: start one"
    )
    how.add_argument("--num-gpus", type=_gpus, default=0.0, metavar="N", help="GPUs of each worker of the cluster")
    how.add_argument("--processes", type=_count, metavar="N", help="default: one per core, or one if a model runs")
    how.add_argument(
        "--part-size",
        dest="part_bytes",
        type=_megabytes,
        metavar="MB",
        help="size of a part (default: 1/32 of the input, 1 to 16 MiB)",
    )
    parser.add_argument(
        "-f", "--format", choices=("json", "text", "md", "latex"), default="json", help="format of the output"
    )


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, do it, and print the summary."""
    if arguments.engine == "local" and arguments.processes != 1 and not arguments.dry_run:
        from manycaps.scoring.local_processes import start_early

        start_early(arguments.inputs, arguments.metrics.split(","), arguments.processes)
    from manycaps.scoring.run import describe_run

    options = _options_of(arguments)
    if arguments.dry_run:
        print(json.dumps(describe_run(options), indent=2))
        return
    result = score(options)
    if arguments.format == "json":
        print(json.dumps(result.to_dict(), indent=2))
    else:
        print(result.as_table(arguments.format), end="")


def _options_of(arguments: argparse.Namespace) -> ScoreOptions:
    from manycaps.scoring.run_settings import metric_options

    given = {field.name: getattr(arguments, field.name) for field in dataclasses.fields(ScoreOptions)}
    given["metrics"] = metric_options(arguments.metrics.split(","), arguments.option, arguments.device)
    return ScoreOptions(**given)


def _count(text: str) -> int:
    return int(_within(int(text), 1, 2**62))


def _share(text: str) -> float:
    return _within(float(text), 0, 1)


def _gpus(text: str) -> float:
    return _within(float(text), 0, 1000)


def _megabytes(text: str) -> int:
    return int(_within(float(text), 1e-4, 1e6) * 2**20)


def _within(value: float, least: float, largest: float) -> float:
    if not least <= value <= largest:
        raise argparse.ArgumentTypeError(f"expected a number from {least:g} to {largest:g}, got {value}")
    return value
