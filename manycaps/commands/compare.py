"""Compare captioning systems: which one is nearer to people, and is that sure?

manycaps compare baseline.jsonl mine.jsonl -r references.jsonl
manycaps compare systems/*.jsonl -r references.jsonl --images photos/ -o report/
manycaps compare a.csv b.csv c.csv -m trm_meteor,mmd_bert -f latex
manycaps compare scores/baseline scores/mine

Each file holds the captions of one system, one or several for every image; the first is the baseline, or the one that
--baseline names. References are in a file of their own, or beside the captions. Rows are put together by their ids; all
systems must have the same rows. Files may be .jsonl, .json (also results and annotations of COCO), .csv, .tsv, .parquet
or .tar; --columns names columns that have no usual name: --columns predictions=samples,id=image_id. In place of files,
folders that `manycaps score` wrote: nothing is computed again, and the page has no captions, unless --with-captions
reads them again from the files that were scored: the page shows them, and systems are compared with each other as sets.

Every two systems are compared row by row: mean difference with an interval; a paired test that counts ties, with p
corrected for the number of pairs by Holm's method; the least difference that could have been found, and the rows that
the observed one needs. The distribution metrics also compare each system with people, and every two systems with each
other. Metrics by default: trm_meteor and trm_cider where there are references, pac_score with --images, ref_pac_score
with both, emscore_pac with --videos; -m adds others, such as meteor15. Rows of one image file are not independent and
belong together; --clusters says so of ids: --clusters '^[^#]+' puts 12.jpg#0 and 12.jpg#1 together.

Standard output gets the tables; the folder of --output gets index.html, a page that makes no request to the network,
and comparison.json with every number.
"""

import argparse
import pathlib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("systems", nargs="+", metavar="SYSTEM", help="captions of a system, or folder of its scores")
    parser.add_argument("-r", "--references", nargs="+", default=[], metavar="FILE", help="captions of people")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("report"), metavar="FOLDER")
    parser.add_argument("-m", "--metrics", metavar="NAME,...", help="modules, separated by commas")
    parser.add_argument("-f", "--format", choices=("text", "md", "latex", "json"), default="text")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the systems; default: those of the files")
    parser.add_argument("--baseline", metavar="NAME", help="name of the system that the others are compared with")
    parser.add_argument("--with-captions", action="store_true", help="read what folders of scores were scored from")
    parser.add_argument("--columns", metavar="ROLE=NAME,...", help="names of columns")
    parser.add_argument("--images", metavar="FOLDER", help="images, for pac_score and ref_pac_score")
    parser.add_argument("--videos", metavar="FOLDER", help="videos, for emscore_pac")
    parser.add_argument(
        "--clusters", metavar="PATTERN", help="regular expression: ids that match alike belong together"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N rows")
    parser.add_argument("--encoder", metavar="NAME", help="sentence encoder of trm_bert, mmd_bert and fid_bert")
    parser.add_argument(
        "--meteor15-data", metavar="PATH", help="meteor-1.5.jar, or its folder, for meteor15; default: pycocoevalcap's"
    )
    parser.add_argument("--checkpoint", metavar="PATH", help="weights of pac_score, ref_pac_score and emscore_pac")
    parser.add_argument("--variant", metavar="NAME", help="which published weights of the same")
    parser.add_argument(
        "--device", metavar="NAME", help="of all networks, cuda for example; default: the best there is"
    )
    parser.add_argument("--n-resamples", type=int, default=9_999, metavar="N", help="of tests and intervals: 9999")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of tests and intervals: 0")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.installed_modules import import_evaluate
    from manycaps.report.comparison_report import write_report

    import_evaluate()
    write_report(arguments)
