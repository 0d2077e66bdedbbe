"""Find the setting of decoding that writes most like people: temperature, top-p, top-k, or a search.

manycaps decoding my-captioner photos/ -r references.jsonl --temperature 0.5,0.7,1,1.3 --top-p 0.9,1
manycaps decoding my-captioner photos/ -r references.jsonl --temperature 0.5,0.7,1,1.3 --budget 2000
manycaps decoding samples-t0.5.jsonl samples-t1.jsonl samples-t1.3.jsonl -r references.jsonl

Every temperature is combined with every --top-p, --top-k and --min-p; --greedy and --num-beams add searches. Models,
rows and their options are those of `manycaps sample`; rows without two references are left out. Files of samples, one
for each setting, may be given instead.

The table has a line for each setting: p of the test against people, the rows after which it is distinguished from them,
faults (captions unlike people's, or of odd wording; fewer are better), the shares of captions unlike people's, of
ordinary ones and of near-duplicates (people give 5 % of each), and the energy distance, which is 0 for people. The
setting most like people takes the most rows to distinguish, which says how like people's its captions are, not how
good. A test of pairs, that of `manycaps compare`, says which others cannot be distinguished from it. A setting whose
captions also occur among the references stands behind all others. The best of many is too good by chance, so the rows
are split into halves: the setting that is chosen on one is tested on the other, both ways round.

--budget N samples N rows in all, each for one setting. A quarter of them test the setting that is chosen with the rest.
The rest are shared out in rounds, and settings that are clearly worse are dropped after each round.

FOLDER gets samples/, from which a stopped run resumes, index.html with curves over the temperature, and decoding.json.

A model needs `pip install 'manycaps[sample]'`.
"""

import argparse
import itertools
import json
import os
import pathlib
import sys
from typing import Any

from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import add_model_arguments, options_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("names", nargs="+", metavar="[MODEL] SOURCE", help="model and rows, or files of samples")
    parser.add_argument("-r", "--references", nargs="+", required=True, metavar="FILE", help="human captions, by id")
    parser.add_argument(
        "-o", "--output", type=pathlib.Path, default=pathlib.Path("decoding"), metavar="FOLDER", help="default decoding"
    )
    parser.add_argument("--reference-columns", metavar="ROLE=NAME,...", help="columns of the references")
    parser.add_argument("--reference-split", metavar="NAME", help="of Karpathy's or MSR-VTT's file of references: test")
    how = parser.add_argument_group("settings")
    how.add_argument("--temperature", type=_numbers, default=[1.0], metavar="T,...", help="default 1")
    how.add_argument("--top-p", type=_numbers, default=[1.0], metavar="P,...", help="default 1: all tokens")
    how.add_argument("--top-k", type=_numbers, default=[0], metavar="K,...", help="default 0: all tokens")
    how.add_argument("--min-p", type=_numbers, default=[0.0], metavar="P,...", help="default 0: all tokens")
    how.add_argument("--num-beams", type=_numbers, default=[], metavar="N,...", help="beam search with this many beams")
    how.add_argument("--diverse", type=_numbers, default=[], metavar="P,...", help="diverse beam search, penalties")
    how.add_argument("--greedy", action="store_true", help="greedy search as well")
    how.add_argument("--max-new-tokens", type=int, default=Setting.max_new_tokens, metavar="N", help="default 64")
    how.add_argument("--budget", type=int, metavar="N", help="rows to sample, over all settings")
    parser.add_argument("--distance", metavar="NAME", help="of captions: bert, meteor, meteor15 or cider")
    parser.add_argument("--encoder", metavar="NAME", help="sentence encoder")
    parser.add_argument("--n-resamples", type=int, default=9_999, metavar="N", help="sign flips of the tests (9999)")
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N rows")
    parser.add_argument("--restart", action="store_true", help="sample from scratch")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    add_model_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.decoding import DecodingOptions, decoding
    from manycaps.decoding.text import decoding_screen
    from manycaps.saved_files import sole_output

    names = arguments.names
    are_files = arguments.model is None and arguments.url is None and _are_tables(names)
    chosen: dict[str, Any] = {"files": names} if are_files else {"settings": setting_grid(arguments)}
    if not are_files:
        chosen["sample"] = options_of(arguments, arguments.output / "samples", Setting())
    given = {name: getattr(arguments, name) for name in ("references", "output", "budget", "distance", "encoder")}
    given |= {"n_resamples": arguments.n_resamples, "seed": arguments.seed, "columns": arguments.reference_columns}
    given["split"] = arguments.reference_split
    options = DecodingOptions(**given, **chosen)
    with sole_output(options.output):
        compared = decoding(options)
        compared.save(options.output)
    text = decoding_screen(compared)
    print(json.dumps(compared.to_dict(), indent=1, allow_nan=False) if arguments.format == "json" else text)
    print(f"wrote {options.output / 'index.html'} and {options.output / 'decoding.json'}", file=sys.stderr)


def setting_grid(arguments: argparse.Namespace) -> list[Setting]:
    """Return every combination of the options of sampling, and the searches."""
    length = {"max_new_tokens": arguments.max_new_tokens}
    grid = itertools.product(arguments.top_p, arguments.top_k, arguments.min_p, arguments.temperature)
    settings = [Setting(t, p, _whole(k), m, **length) for p, k, m, t in grid]
    settings += [Setting(num_beams=_whole(n), **length) for n in arguments.num_beams]
    settings += [Setting(diverse=penalty, **length) for penalty in arguments.diverse]
    return settings + ([Setting(greedy=True, **length)] if arguments.greedy else [])


def _are_tables(names: list[str]) -> bool:
    """Whether all names are files of samples: a model is a folder, or a name on the Hub."""
    from manycaps.caption_tables.files import table_kind

    return all(table_kind(name) is not None and not os.path.isdir(name) for name in names)


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _whole(value: float) -> int:
    return int(value) if value == int(value) else value  # type: ignore[return-value]  # the check says what is wrong
