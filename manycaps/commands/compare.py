"""Compare captioning systems: which one has more faults, and how does each differ from people?

manycaps compare mine.jsonl -r references.jsonl
manycaps compare baseline.jsonl mine.jsonl -r references.jsonl
manycaps compare systems/*.jsonl -r references.jsonl --images photos/ -o report/
manycaps compare a.csv b.csv c.csv -m trm_meteor,mmd_bert -f latex
manycaps compare scores/baseline scores/mine
manycaps compare --scores scores.csv
manycaps compare --scores samples_a.jsonl samples_b.jsonl -m exact_match
manycaps compare report/ -f latex --table 'faults,omitted,rows to detect' --sort faults

Each file holds the captions of one system, one or several for every image; the first is the baseline, unless --baseline
names another. A single system is compared only with people. References are in a file of their own, or beside the
captions. Rows are matched by their ids; all systems must have the same rows. Files may be .jsonl, .json (including
COCO's results and annotations), .csv, .tsv, .parquet or .tar; the captions of a row may be in one cell, as a list, or
in numbered columns, caption_1 to caption_5. --columns says which columns to read if their names are unusual: --columns
predictions=samples,id=image_id; refs.csv:references=human applies to that file alone. References may be a split of
Karpathy's files: -r dataset_coco.json --split test. One table of all systems is read with --systems-by COLUMN, which
names the system of each row, and --aligned matches the lines of plain text by their numbers. Rows that one of the files
lacks are an error, and with --common-rows they are left out; so are rows with a single reference where others have
more. --limit draws rows at random. Folders that `manycaps score` wrote may take the place of files: nothing is computed
again, and the page has no captions, unless --with-captions reads them again from the files that were scored, for the
page and for --full.

The answer comes first, from the module human_parity, if every row has at least two references: does each system differ
from people, with how many rows, and how; and which of two systems has more faults, and which is
closer to people in what else. Faults are what lies beyond people's own rates of four kinds: unsupported sentences,
farther from the references than 19 of 20 human ones; omitted, texts that leave out more of what people say than 19 of
20; odd wording, sentences of odder wording than 19 of 20; and repeated words or sentences. 0 is people: nothing has
fewer. The rest says how alike captions are, not how good: generic captions are nearer to the references than 19 of 20
human ones, those of predictable wording more predictable, and near-duplicates are pairs of captions nearer to each
other than 19 of 20 human pairs. People give 5% of each. Phrases are named that a system
has more often, or less often, than people. p is corrected by Holm's method, over the systems and over the
pairs. Systems stand as they were given; the best of a column that a test compares them by is marked, with those not
shown to be worse; --sort orders them by faults, or by the rows that detect them. --distance says how
captions are compared: by default with sentence embeddings where they are installed, otherwise with METEOR, which sees
about a third of the wrong captions. With --margin 0.02, the answer also says which systems are shown to be within a gap
of 0.02 of people and of each other, in the unit of the distance.

Tables follow. They compare every two systems row by row by each metric of -m, with a paired test that counts ties, p
corrected for the number of pairs by Holm's method, the smallest difference that could have been found, and the number
of rows that the observed difference needs; each system with people by the set metrics; and, with --full, every two
systems as sets, and how often they say the same. The default metrics are trm_meteor and trm_cider where there are
references, pac_score with --images, ref_pac_score with both, emscore_pac with --videos; -m replaces them with others,
such as meteor15, each of which gets a line below the answer. Rows of one image file are not independent and form a
cluster; --clusters forms clusters by id: --clusters '^[^#]+' puts 12.jpg#0 and 12.jpg#1 together.

With --scores, systems are compared by the scores of any other program, without captions: a table with the columns
system, id and scores, a table with the column id and a column of each system, or a table for each system, such as the
logged samples of a benchmark. An item may have several scores of a system, of as many samples or repeats: its score is
their mean. -m chooses the columns of scores. Every two systems are tested as above, and systems are ranked in groups
that do not differ; the folder of --output gets index.html and comparison.json.

Standard output gets the answer, with the captions of each system that are most unlike people's and its most similar
pair, as far as they fit a terminal; with --full it also gets the tables. -f latex or md prints one table for a paper
instead, with values, intervals and marks, and the others with --full; --table chooses its columns, eight at most, by
the terms in its head. Of more than five systems the table has groups: systems with a common letter were not shown to
differ. Intervals are of each system by itself, not corrected for several. --figures writes every plot as SVG and PDF,
which need nothing else and are readable in grey. The folder of
--output gets index.html, a page that makes no network requests, with twenty such captions and pairs of each system, and
comparison.json with every number. An existing report is replaced only with --overwrite.

A report that is named in the place of files is shown again, without a model: with another -f, --table, --sort, --full
or --figures. It keeps shown.json for that, with the captions. --cache keeps the embeddings of captions in the report's
folder, so that another comparison with the same -o embeds only new captions.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

from manycaps.catalog.command_options import add_format, add_options, options_of, path_of, print_json
from manycaps.comparison import CompareOptions
from manycaps.kit.errors import InputError

# Folder of the report, and of the embeddings in it.
DEFAULT_OUTPUT, EMBEDDINGS = pathlib.Path("report"), "embeddings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "-o", "--output", type=path_of, default=DEFAULT_OUTPUT, metavar="FOLDER", help=f"default: {DEFAULT_OUTPUT}"
    )
    parser.add_argument("--figures", type=path_of, metavar="FOLDER", help="write each plot as SVG and PDF, for a paper")
    parser.add_argument("--overwrite", action="store_true", help="replace the report of an earlier comparison")
    parser.add_argument(
        "--cache", action="store_true", help="keep embeddings in the report's folder, and embed only new captions"
    )
    add_format(parser, "md", "latex")
    add_options(parser, CompareOptions)


def check_no_figures(folder: pathlib.Path) -> None:
    """Raise a ValueError if a folder has figures already."""
    from manycaps.files.saved_files import check_no_earlier

    there = (path for path in sorted(folder.glob("*")) if path.suffix in (".svg", ".pdf"))
    check_no_earlier(there, "--figures", "figures")


def check_table_format(form: str, columns: Sequence[str] | None) -> None:
    """Raise if columns are chosen of JSON, which has every number."""
    if columns is not None and form == "json":
        raise InputError("--table", "-f latex, md or text", "-f json, which has every number", "Leave one of them out.")


def run_scores(arguments: argparse.Namespace, options: CompareOptions) -> None:
    """Compare by the scores of another program."""
    from manycaps.comparison.foreign_scores.run import OUTPUT_NAMES, save_comparison

    for name, default in (("figures", None), ("cache", False)):
        if (value := getattr(arguments, name)) != default:
            raise InputError(f"--{name}", "none beside --scores", str(value), "It belongs to captions: leave it out.")
    compared = save_comparison(options, arguments.output, overwrite=arguments.overwrite)
    if arguments.format == "json":
        print_json(compared.to_dict())
    else:
        print(compared.write(arguments.format, full=options.full))
    print("wrote", " and ".join(str(arguments.output / name) for name in OUTPUT_NAMES), file=sys.stderr)


def run_report(arguments: argparse.Namespace, options: CompareOptions) -> None:
    """Show an earlier comparison again, from the folder that holds its numbers."""
    from manycaps.comparison.stored import check_report_options

    check_report_options(options)
    for name, default in (("output", DEFAULT_OUTPUT), ("cache", False)):
        if (value := getattr(arguments, name)) != default:
            fix = "Leave it out: the answer goes to standard output, and plots to the folder of --figures."
            raise InputError(f"--{name}", "none beside a report", str(value), fix)
    if arguments.figures is not None and not arguments.overwrite:
        check_no_figures(arguments.figures)

    from manycaps.comparison.render import SystemComparison

    comparison = SystemComparison.read(options.systems[0], sort=options.sort)
    print(comparison.write(arguments.format, full=options.full, columns=options.table))
    if arguments.figures is not None:
        comparison.save_figures(arguments.figures)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.comparison.sources import check_sources
    from manycaps.comparison.stored import is_report

    options = options_of(arguments, CompareOptions)
    check_table_format(arguments.format, options.table)
    if is_report(options.systems):
        run_report(arguments, options)
        return
    check_sources(options)
    if options.scores is not None:
        run_scores(arguments, options)
        return

    from manycaps.comparison import compare
    from manycaps.comparison.render import OUTPUT_NAMES
    from manycaps.files.saved_files import check_can_be_written, check_no_earlier, sole_output

    outputs = [arguments.output / name for name in OUTPUT_NAMES]
    with sole_output(arguments.output):
        for path in outputs:
            check_can_be_written(path)
        if not arguments.overwrite:
            check_no_earlier(outputs, "--output", "a report")
            if arguments.figures is not None:
                check_no_figures(arguments.figures)
        embeddings = arguments.output / EMBEDDINGS if arguments.cache else None
        comparison = compare(options, embeddings=embeddings)
        comparison.save(arguments.output)  # first: a column that it lacks loses nothing
        if arguments.figures is not None:
            comparison.save_figures(arguments.figures)
    print(comparison.write(arguments.format, full=arguments.full, columns=options.table))
    print(f"wrote {outputs[0]} and {outputs[1]}", file=sys.stderr)
