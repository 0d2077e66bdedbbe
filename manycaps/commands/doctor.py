"""Check what the modules need on this machine, and say how to install it.

manycaps doctor
manycaps doctor -f json
manycaps doctor --online

Looks for WordNet, the data of METEOR 1.5, tokenizers, the sentence encoder, CLIP weights, the ffmpeg libraries, a GPU,
and the variables for offline use. Nothing is downloaded. --online also tries the addresses from which weights are
downloaded at first use, and reads their first bytes.
"""

import argparse

from manycaps.catalog.command_options import add_format, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_format(parser)
    parser.add_argument("--online", action="store_true", help="try the addresses of downloads, too")


def run(arguments: argparse.Namespace) -> None:
    """Print a line per check, and the remedy below it."""
    from manycaps.catalog.installed_modules import check_cache_folders
    from manycaps.catalog.machine_checks import machine_checks, online_checks

    check_cache_folders()
    checks = machine_checks() + (online_checks() if arguments.online else [])
    if arguments.format == "json":
        print_json([check._asdict() for check in checks])
        return
    for check in checks:
        print(f"{'ok  ' if check.fine else 'TODO'}  {check.subject}: {check.found}")
        if check.advice:
            print(f"      {check.advice}")
