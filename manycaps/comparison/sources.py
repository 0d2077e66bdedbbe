"""Whether the files that a comparison names are there and can be read. Light: looked at before anything is imported."""

import os
from collections.abc import Sequence

from manycaps.catalog.module_options import read_module_options
from manycaps.comparison.compare_options import CompareOptions
from manycaps.files.caption_tables.files import expand_braces, is_local, quote_source, table_files
from manycaps.kit.errors import InputOSError

# Options that name a folder; and options of modules that name a file.
FOLDERS, FILES = ("images", "videos"), ("language_model", "document_frequency")


def check_sources(options: CompareOptions) -> None:
    """Raise for the first local file or folder of the options that is missing or cannot be read.

    Addresses are left to the reader: asking them takes a network. So are folders of tables and of scores.

    Raises:
        ValueError, OSError: there is no such file, its ending is no table's, or it cannot be opened.
    """
    named: Sequence[str] = options.scores or [*options.systems, *options.references]
    for path in dict.fromkeys(path for source in named for path in expand_braces(source)):
        if is_local(path) and not os.path.isdir(os.path.expanduser(path)):
            for file in table_files([path]):
                _check_readable(file.path)
    for name in FOLDERS:
        path = getattr(options, name)
        if path is not None and is_local(path) and not os.path.exists(os.path.expanduser(path)):
            raise InputOSError(f"--{name}", "a folder that exists", quote_source(path), "Check the path.")
    for name, path in read_module_options(options.options).items():
        if name.rpartition(".")[2] in FILES and isinstance(path, str) and is_local(path):
            if not os.path.exists(os.path.expanduser(path)):
                raise InputOSError(f"--option {name}", "a file that exists", quote_source(path), "Check the path.")
            _check_readable(os.path.expanduser(path))


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        got = (error.strerror or type(error).__name__).lower()
        raise InputOSError(quote_source(path), "a file that can be read", got, "Check its permissions.") from None
