"""Measure the diversity of caption files, and write one HTML page that compares them with published data sets.

python scripts/diversity_report.py captions.jsonl                          writes diversity.html
python scripts/diversity_report.py human.jsonl model.csv --names Human Model --column captions
python scripts/diversity_report.py rows.json rows.json --column references candidates
python scripts/diversity_report.py pairs.csv --column caption --group-by video
python scripts/diversity_report.py someone/captions --split validation --semantic --pos en_core_web_sm

Each source is a file, a folder of a saved data set, or a data set's name on the Hub. All but .json is read as a stream;
text files may end in .gz.
  .txt      one caption a line, an empty line before the next image
  .json     a list of lists of captions, an object from an image's name to its captions, or a list of objects as in
            .jsonl
  .jsonl    on each line the captions of an image, ["a dog", "a brown dog"] or {"captions": ["a dog"]}, or one of them,
            {"image": "1.jpg", "caption": "a dog"}
  .csv      a column `caption`, and a column `image` where an image has several captions
  .tsv      as CSV, with tabs between the columns
  .parquet  a column of captions, or of lists of captions
Captions are also found in a column references, candidates, predictions, sentences, descriptions, text or raw; where a
source has several of all these, or none, --column names one. Two columns of one file are two sources. Lines of one
image or video follow each other; --group-by names the column that joins them, where it is not the `image` of a text
file. Both take one name for all sources, or one for each, - for none. The page makes no request to the network.

Needs scripts/requirements.txt; --semantic, --encoder and --pos need measurements/vdtk_diversity/requirements.txt.
"""

import argparse
import functools
import json
import pathlib
import sys
from collections.abc import Callable, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.command_line import missing_package, start_tool

# The paper's sentence encoder.
PAPER_ENCODER = "sentence-transformers/all-mpnet-base-v2"


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="file, folder of a saved data set, or Hub name")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("diversity.html"), metavar="FILE")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures to this file as well")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the sources on the page")
    parser.add_argument("--column", nargs="+", metavar="NAME", help="column of the captions; default: a usual name")
    parser.add_argument("--group-by", nargs="+", metavar="NAME", help="column that joins lines to rows")
    parser.add_argument("--split", metavar="NAME", help="split of data sets on the Hub; default train")
    parser.add_argument("--config", metavar="NAME", help="configuration of data sets on the Hub")
    parser.add_argument("--tokenizer", choices=("ptb", "spacy"), default="ptb")
    parser.add_argument("--semantic", action="store_true", help=f"distances by {PAPER_ENCODER}")
    parser.add_argument("--encoder", metavar="NAME", help="distances by another sentence-transformers model")
    parser.add_argument("--pos", metavar="PIPELINE", help="count nouns and verbs by a spaCy pipeline")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt")

import numpy as np
import tqdm

from measurements.vdtk_diversity.caption_codes import row_chunks
from measurements.vdtk_diversity.caption_diversity import CHUNK_CAPTIONS, CaptionDiversity
from measurements.vdtk_diversity.spacy_pipelines import as_tagger
from scripts.report.caption_files import load_rows, source_name
from scripts.report.diversity_page import (
    PART_OF_SPEECH_COLUMNS,
    SEMANTIC_COLUMNS,
    VOCABULARY_COLUMNS,
    as_page,
    as_table,
)
from scripts.report.diversity_plots import Plot, histogram_plot, share_plot, vocabulary_plot
from scripts.report.published_diversity import PUBLISHED, PUBLISHED_PARTS_OF_SPEECH

# For each histogram of the semantic level: identifier, title, caption, axis and what is counted.
REDUNDANCY_PLOTS = {
    "minimum": (
        "redundancy",
        "Redundancy",
        "Distance of each caption to the nearest other caption of its row (the paper's Figure 2): 0 says the same.",
        "cosine distance",
        "captions",
    ),
    "spread": (
        "spread",
        "Spread of the distances",
        "How much nearer than the mean the nearest caption is (the paper's Figure S1): high where a row has clusters.",
        "(mean distance - least distance) / mean distance",
        "captions",
    ),
}

# Errors that say what the user can fix.
USER_ERRORS = (ValueError, TypeError, OSError)

# What the semantic level and the parts of speech need beside the rest.
LEVEL_REQUIREMENTS = "measurements/vdtk_diversity/requirements.txt"


def measure(
    source: str, name: str, column: str | None, group_by: str | None, options: argparse.Namespace
) -> CaptionDiversity:
    """Stream one source through all levels that are asked for."""
    encoder = load_encoder(options.encoder or PAPER_ENCODER) if options.semantic or options.encoder else None
    tagger = as_tagger(options.pos) if options.pos else None
    diversity = CaptionDiversity(options.tokenizer, encoder, tagger)
    rows = load_rows(source, column, group_by, options.split, options.config)
    with tqdm.tqdm(desc=name, unit=" captions", unit_scale=True) as progress:
        for chunk in row_chunks(rows, CHUNK_CAPTIONS):
            diversity.update(chunk)
            progress.update(sum(map(len, chunk)))
    return diversity


@functools.cache
def load_encoder(name: str) -> Callable[[list[str]], np.ndarray]:
    """Return the function that embeds captions by a sentence-transformers model."""
    from measurements.vdtk_diversity.shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder

    encoder = SentenceEncoder()
    progress = functools.partial(tqdm.tqdm, leave=False)
    return lambda captions: encoder.embed(captions, {**ENCODER_DEFAULTS, "encoder": name}, progress)


def as_tables(figures: dict[str, dict]) -> list[str]:
    """Build the comparison tables of the levels that were measured."""
    first = next(iter(figures.values()))
    tables = [as_table("tokens", "Tokens, n-grams and captions", VOCABULARY_COLUMNS, figures, PUBLISHED)]
    if "noun_n_types" in first:
        published = PUBLISHED_PARTS_OF_SPEECH
        tables.append(as_table("parts-of-speech", "Nouns and verbs", PART_OF_SPEECH_COLUMNS, figures, published))
    if "caption_distance_minimum" in first:
        title = "Distances within rows, mean over captions"
        tables.append(as_table("distances", title, SEMANTIC_COLUMNS, figures, {}))
    return tables


def as_plots(measured: dict[str, CaptionDiversity], figures: dict[str, dict]) -> list[Plot]:
    """Draw the plots of the levels that were measured."""
    curves = {name: diversity.vocabulary.counts for name, diversity in measured.items()}
    heads = {name: int(row["head_90"]) for name, row in PUBLISHED.items() if "head_90" in row}
    evs = {
        f"EVS-{order}": {**_column(figures, f"evs_{order}"), **_column(PUBLISHED, f"evs_{order}")}
        for order in (2, 3, 4)
    }
    distinct = {**_column(figures, "distinct_within_row"), **_column(PUBLISHED, "distinct_within_row")}
    novelty = {name: diversity.novelty.histogram for name, diversity in measured.items()}
    plots = [
        vocabulary_plot(curves, heads),
        share_plot(
            "evs",
            "Contexts that leave a choice (EVS)",
            "Share of the runs of one, two and three words after which more than one word follows in the data.",
            evs,
            len(measured),
        ),
        share_plot(
            "duplicates",
            "Different captions of a row",
            "Captions of a row without their exact repetitions, as a share of all captions of the row; mean over rows.",
            {"share of a row's captions": distinct},
            len(measured),
        ),
        histogram_plot(
            "novelty",
            "Exact duplicates, row by row",
            "How many rows have which share of different captions (the paper's Figure S2).",
            "different captions as a share of a row's captions",
            "rows",
            novelty,
        ),
    ]
    redundancy = {name: diversity.redundancy for name, diversity in measured.items() if diversity.redundancy}
    return plots + [
        histogram_plot(*texts, {name: each.histogram(kind) for name, each in redundancy.items()})
        for kind, texts in REDUNDANCY_PLOTS.items()
        if redundancy
    ]


def _column(rows: dict[str, dict], key: str) -> dict[str, float]:
    """One figure of every data set that has it; published ones are marked as such."""
    mark = ", published" if rows is PUBLISHED else ""
    return {f"{name}{mark}": float(row[key]) for name, row in rows.items() if key in row}


def as_remarks(options: argparse.Namespace) -> list[str]:
    """Say which levels were left out."""
    remarks = []
    if not (options.semantic or options.encoder):
        remarks.append("The redundancy histogram needs sentence embeddings: run again with --semantic.")
    if not options.pos:
        remarks.append("Nouns and verbs need a spaCy pipeline: run again with --pos en_core_web_sm.")
    return remarks


def check_names(
    sources: Sequence[str], names: Sequence[str] | None, columns: Sequence[str | None] | None = None
) -> list[str]:
    """Return one different name for each source: the one given, or that of the file, with the column if it is needed.

    Raises:
        ValueError: another number of names, or a name twice.

    >>> check_names(["rows.json", "rows.json", "other.json"], None, ["references", "candidates", None])
    ['rows: references', 'rows: candidates', 'other']
    """
    chosen = list(names) if names else [source_name(source) for source in sources]
    if not names and columns:
        chosen = [
            f"{name}: {column}" if column and chosen.count(name) > 1 else name
            for name, column in zip(chosen, columns, strict=True)
        ]
    if len(chosen) != len(sources):
        raise ValueError(f"--names: expected {len(sources)} names, got {len(chosen)}. Give one for each source.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"--names: expected different names, got {chosen}. Tell the sources apart with --names.")
    return chosen


def for_each_source(values: Sequence[str] | None, n_sources: int, option: str) -> list[str | None]:
    """Return one value for each source: the one given for all, or each its own; "-" is none.

    Raises:
        ValueError: another number of values.

    >>> for_each_source(["caption", "-"], 2, "--column"), for_each_source(["image"], 2, "--group-by")
    (['caption', None], ['image', 'image'])
    """
    values = list(values or ["-"])
    values = values * n_sources if len(values) == 1 else values
    if len(values) != n_sources:
        raise ValueError(f"{option}: expected 1 or {n_sources} names, got {len(values)}. Give - where there is none.")
    return [None if value == "-" else value for value in values]


def main(options: argparse.Namespace) -> int:
    """Measure all sources and write the page; 0 when it is written."""
    try:
        columns = for_each_source(options.column, len(options.sources), "--column")
        groups = for_each_source(options.group_by, len(options.sources), "--group-by")
        names = check_names(options.sources, options.names, columns)
        parts = zip(options.sources, names, columns, groups, strict=True)
        measured = {name: measure(source, name, column, group, options) for source, name, column, group in parts}
    except USER_ERRORS as error:
        print(f"diversity_report: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        line = missing_package(error, [LEVEL_REQUIREMENTS])
        if line is None:
            raise
        print(line, file=sys.stderr)
        return 1
    figures = {name: diversity.figures((0.9,), (5, 10, 15, 20)) for name, diversity in measured.items()}
    how = {
        name: f"{source}{f', column {column}' if column else ''}; {options.tokenizer} tokenizer; "
        f"{figures[name]['n_tokens']:,} tokens, {figures[name]['n_duplicate_captions']:,} exact duplicates of earlier "
        "captions"
        for name, source, column in zip(names, options.sources, columns, strict=True)
    }
    page = as_page(as_tables(figures), as_plots(measured, figures), how, as_remarks(options))
    options.output.write_text(page, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
