"""Check what the modules need on this machine, and say how to install it.

manycaps doctor
manycaps doctor --json

Looks for WordNet, the data of METEOR 1.5, the sentence encoder, CLIP weights, the ffmpeg libraries, a GPU, and the
variables of offline work.
Nothing is downloaded.
"""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print a line per check, and the remedy below it."""
    from manycaps.machine_checks import machine_checks

    checks = machine_checks()
    if arguments.json:
        print(json.dumps([check._asdict() for check in checks], indent=2))
        return
    for check in checks:
        print(f"{'ok  ' if check.fine else 'TODO'}  {check.subject}: {check.found}")
        if check.advice:
            print(f"      {check.advice}")
