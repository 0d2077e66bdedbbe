"""Make or update a Space of the Hugging Face Hub for modules, so that `evaluate.load("ORG/trm_meteor")` works.

manycaps push trm_meteor trm_cider --org ORG --dry-run    name the files that would change, change nothing
manycaps push trm_meteor --org ORG                        change them
manycaps push --org ORG                                   all modules, and the pages of commands

A Space gets the module with its card, its page, and the versions that are installed here: what it needs must be
installed, with the gradio that the card names. Files are compared by their hashes, so that a second run finds nothing
to do; files that only the Space has are deleted from it. Where a Space fails, the others are still updated. The token
comes from --token, from the variable HF_TOKEN or from `hf auth login`; HF_ENDPOINT names another hub. A dry run needs
no token. Needs `pip install 'manycaps[push]'`.
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules, or pages such as compare; default: all")
    parser.add_argument("--org", required=True, metavar="NAME", help="the user or organisation that has the Spaces")
    parser.add_argument("--dry-run", action="store_true", help="print the difference, change nothing")
    parser.add_argument("--token", help="better in the variable HF_TOKEN: others can see a running command")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.catalog.hub_spaces import push_spaces

    push_spaces(arguments.names, arguments.org, dry_run=arguments.dry_run, token=arguments.token)
