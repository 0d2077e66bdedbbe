"""Plan a test of human parity: how small a difference is found, and how many rows that takes.

manycaps plan pilot.jsonl                                   what is found with as many rows as the pilot has
manycaps plan pilot.jsonl --find 0.02 --power 0.9           rows for a gap of 0.02
manycaps plan pilot.jsonl --wrong 0.1                       rows needed to find 10 % wrong captions
manycaps plan people.jsonl -r references.jsonl --rows 500 --distance meteor

The pilot is a table of captions as `manycaps score` reads them, with references: some rows of the data to be tested,
with the captions of any system, or of people, as many per row as there will be in the test. The gaps are those of the
module human_parity, in the unit of the distance: fidelity, how much farther the captions are from people than people
are from each other, and diversity, how much more varied they are. The level is 5 %.

--find assumes that all rows share the gap. Wrong captions occur only in some of the rows: --wrong plans for them, with
captions of the pilot's other rows in place of a row's own.
"""

import argparse
import json
import math

from manycaps.catalog import PARITY_DISTANCES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("pilot", nargs="+", metavar="PILOT", help="files of captions")
    parser.add_argument("-r", "--references", nargs="+", default=(), metavar="FILE", help="files of references")
    parser.add_argument("--find", type=float, metavar="GAP", help="a gap to be found; prints how many rows that takes")
    parser.add_argument("--wrong", type=float, metavar="SHARE", help="share of wrong captions to be found, such as 0.1")
    parser.add_argument("--power", type=float, metavar="X", help="chance of finding it (0.8)")
    parser.add_argument("--rows", type=int, metavar="N", help="rows to be tested; default: as many as the pilot has")
    parser.add_argument("--distance", choices=PARITY_DISTANCES, default="bert", help="as in human_parity (bert)")
    parser.add_argument("--encoder", metavar="NAME", help="sentence encoder of the distance bert")
    parser.add_argument(
        "--long-texts", choices=("truncate", "window"), help="of texts longer than the encoder reads; truncate"
    )
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    parser.add_argument("--columns", metavar="[FILE:]ROLE=NAME,...", help="columns with unusual names")
    parser.add_argument("--limit", type=int, metavar="N", help="use the first N rows of the pilot")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.caption_tables.columns import parsed_columns
    from manycaps.parity_plan import PlanOptions, plan, plan_sentences

    fields = PlanOptions.__dataclass_fields__
    given = {name: value for name, value in vars(arguments).items() if name in fields and value is not None}
    given["columns"] = parsed_columns(arguments.columns) if arguments.columns else None
    planned = plan(PlanOptions(**given))
    if arguments.json:
        numbers = {name: value if value == value else None for name, value in planned.plan._asdict().items()}
        rows = None if planned.wrong_rows is None or math.isinf(planned.wrong_rows) else planned.wrong_rows
        numbers |= {"distance": planned.distance, "n_pilot_rows": planned.n_pilot_rows, "wrong_rows": rows}
        print(json.dumps(numbers, indent=1))
        return
    print("\n".join(plan_sentences(planned, arguments.find, arguments.wrong)))
