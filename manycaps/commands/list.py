"""List the modules, their variants and what is installed for them.

manycaps list
manycaps list -f json
"""

import argparse

from manycaps.catalog.command_options import add_format, print_json
from manycaps.catalog.installed_modules import installed_modules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_format(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the modules."""
    modules = installed_modules()
    if arguments.format == "json":
        print_json([module._asdict() for module in modules])
        return
    for module in modules:
        print(f"{module.name}  ({module.kind})")
        print(f"    {module.about}")
        if module.variants:
            print(f"    variant: {', '.join(module.variants)}")
        if module.config_names:
            print(f"    config_name: {', '.join(module.config_names)}")
        missing = f"missing {', '.join(module.missing)}: {module.advice}" if module.missing else "all installed"
        print(f"    packages: {missing}")
