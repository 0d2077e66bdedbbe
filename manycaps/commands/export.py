"""Write a module as a folder that stands alone, for `evaluate.load` on machines without this package.

manycaps export trm_meteor exported/            exported/trm_meteor: main script, the files that it imports, card,
                                                documents that the card links
manycaps export trm_meteor exported/ --force    also where that folder exists: it is replaced

The demo page, which needs manycaps, is not among them: `manycaps push` makes a Space with it.
"""

import argparse

from manycaps.catalog.command_options import path_of
from manycaps.kit.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("name", metavar="NAME", type=_module_name, help="a module, as `manycaps list` names it")
    parser.add_argument("folder", metavar="FOLDER", type=path_of, help="where the folder of the module is written")
    parser.add_argument("--force", action="store_true", help="replace the folder of the module if it exists")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.catalog.installed_modules import export_module

    written = export_module(arguments.name, arguments.folder, replace=arguments.force)
    print(f"evaluate.load({str(written)!r})")


def _module_name(text: str) -> str:
    from manycaps.catalog.installed_modules import module_folder

    try:
        module_folder(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
