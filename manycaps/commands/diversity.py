"""Measure the diversity of caption files: print it, and write an HTML page that compares it with published data sets.

manycaps diversity captions.jsonl                          writes diversity.html
manycaps diversity human.jsonl model.csv --names Human Model --column captions
manycaps diversity rows.json rows.json --column references candidates
manycaps diversity pairs.csv --column caption --group-by video
manycaps diversity someone/captions --split validation --semantic --pos en_core_web_sm
manycaps diversity answers.jsonl --sets                    many answers to each prompt, no references
manycaps diversity base.jsonl tuned.jsonl --sets           the same prompts: which model repeats itself more?

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

--sets measures every row by itself: Vendi scores, self-BLEU, self-CIDEr and more, and with --equivalent classes of
texts that say the same, each a mean over rows with its interval. Several sources are compared row by row, paired by id,
or by place where lines have no id: tests by random signs of rows, p-values adjusted by Holm's rule, and the rows that
find a difference. All rows are then held in memory.

--semantic, --encoder and --equivalent need `pip install 'manycaps[embeddings]'`, --pos needs
`pip install 'manycaps[report]'`.
"""

import argparse
import pathlib
import sys

from manycaps.catalog.command_options import add_format, add_options, options_of, path_of, print_json
from manycaps.diversity.diversity_options import DiversityOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, DiversityOptions)
    parser.add_argument("-o", "--output", type=path_of, default=pathlib.Path("diversity.html"), metavar="FILE")
    add_format(parser)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.diversity import diversity
    from manycaps.diversity.page import levels_text, sets_text
    from manycaps.files.saved_files import check_can_be_written

    options = options_of(arguments, DiversityOptions)
    check_can_be_written(arguments.output, options.sources)
    measured = diversity(options)
    measured.save(arguments.output)
    if arguments.format == "json":
        print_json(measured.to_dict())
    else:
        print(levels_text(measured.figures))
        if measured.sets is not None:
            print(f"\n{sets_text(measured.sets)}")
    print(f"wrote {arguments.output}", file=sys.stderr)
