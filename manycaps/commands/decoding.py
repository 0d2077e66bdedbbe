"""Find the setting of decoding with the most human-like captions: temperature, top-p, top-k, or a search.

manycaps decoding my-captioner photos/ -r references.jsonl --temperature 0.5,0.7,1,1.3 --top-p 0.9,1
manycaps decoding my-captioner photos/ -r references.jsonl --temperature 0.5,0.7,1,1.3 --budget 2000
manycaps decoding samples-t0.5.jsonl samples-t1.jsonl samples-t1.3.jsonl -r references.jsonl

Every temperature is combined with every --top-p, --top-k and --min-p; --greedy and --num-beams add searches. Models,
rows and their options are as for `manycaps sample`; rows without two references are left out. Files of samples, one
for each setting, may be given instead.

The table has a line for each setting: p of the test against people, the rows to detect a difference from them (80%
power), faults beyond people's rates (fewer are better), the shares of unsupported sentences, generic captions and
near-duplicates (people give 5% of each), and the energy distance, which is 0 for people. The most human-like setting
takes the most rows to detect; human-like is not the same as good. A test of pairs, as in `manycaps compare`, says of
which others no difference from it is detected. A setting whose captions also occur among the references is ranked last.
The best of many is too good by chance, so the rows
are split into halves: the setting that is chosen on one is tested on the other, both ways round.

--budget N samples N rows in all, each for one setting. A quarter of them test the setting that is chosen with the rest.
The rest are shared out in rounds, and settings that are clearly worse are dropped after each round.

FOLDER gets samples/, from which a stopped run resumes, index.html with curves over the temperature, and decoding.json.

A model needs `pip install 'manycaps[sample]'`.
"""

import argparse
import os
import sys
from typing import Any

from manycaps.catalog.command_options import add_format, add_options, options_of, print_json
from manycaps.sampling.decoding.decoding_options import DecodingOptions, SettingGrid
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import SampleOptions, sample_options_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("names", nargs="+", metavar="[MODEL] SOURCE", help="model and rows, or files of samples")
    parser.add_argument("--model", metavar="NAME", help="in place of the first argument")
    add_options(parser, DecodingOptions, without=("seed",))
    add_format(parser)
    add_options(parser, SettingGrid)
    add_options(parser, SampleOptions, without=("model", "output", "shard"))


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.saved_files import check_ours, sole_output
    from manycaps.sampling.decoding import decoding
    from manycaps.sampling.decoding.text import decoding_screen

    names = arguments.names
    are_files = arguments.model is None and arguments.url is None and _are_tables(names)
    chosen: dict[str, Any] = {"files": names}
    if not are_files:
        chosen = {"settings": options_of(arguments, SettingGrid).settings()}
        chosen["sample"] = sample_options_of(arguments, arguments.output / "samples", Setting())
    options = options_of(arguments, DecodingOptions, **chosen)
    with sole_output(options.output):
        check_ours(options.output, "index.html", "decoding.json")
        compared = decoding(options)
        compared.save(options.output)
    if arguments.format == "json":
        print_json(compared.to_dict())
    else:
        print(decoding_screen(compared))
    print(f"wrote {options.output / 'index.html'} and {options.output / 'decoding.json'}", file=sys.stderr)


def _are_tables(names: list[str]) -> bool:
    """Whether all names are files of samples: a model is a folder, or a name on the Hub."""
    from manycaps.files.caption_tables.files import table_kind

    return all(table_kind(name) is not None and not os.path.isdir(name) for name in names)
