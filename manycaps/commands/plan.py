"""Plan a test of human parity: how small a difference is found, and how many rows that takes.

manycaps plan pilot.jsonl                                   what is found with as many rows as the pilot has
manycaps plan pilot.jsonl --find 0.02 --power 0.9           rows for a gap of 0.02
manycaps plan pilot.jsonl --wrong 0.1                       rows needed to find 10% wrong captions
manycaps plan people.jsonl -r references.jsonl --rows 500 --distance meteor

The pilot is a table of captions as `manycaps score` reads them, with references: some rows of the data to be tested,
with the captions of any system, or of people, as many per row as there will be in the test. The gaps are as in the
module human_parity, in the unit of the distance: fidelity, how much farther the captions are from people than people
are from each other, and diversity, how much more varied they are. The level is 5%.

--find assumes that all rows share the gap. Wrong captions occur only in some of the rows: --wrong plans for them, with
captions of the pilot's other rows in place of a row's own. It takes the pilot's captions for people's: with those of a
system that is far from people it says too few rows.
"""

import argparse
import math

from manycaps.catalog.command_options import add_format, add_options, options_of, print_json
from manycaps.comparison.plan_options import PlanOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, PlanOptions)
    add_format(parser)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.comparison.parity_plan import plan, plan_sentences

    planned = plan(options_of(arguments, PlanOptions))
    if arguments.format == "json":
        numbers = {name: value if value == value else None for name, value in planned.plan._asdict().items()}
        rows = None if planned.wrong_rows is None or math.isinf(planned.wrong_rows) else planned.wrong_rows
        print_json(numbers | {"distance": planned.distance, "n_pilot_rows": planned.n_pilot_rows, "wrong_rows": rows})
    else:
        print("\n".join(plan_sentences(planned, arguments.find, arguments.wrong)))
