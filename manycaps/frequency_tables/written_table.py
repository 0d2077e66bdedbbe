"""Tables of document frequencies as they are written."""

import json
import pathlib

from manycaps.saved_files import write_text_atomically


def write_frequencies(path: pathlib.Path, n_documents: int, counts: dict[str, int]) -> None:
    """Write a table of document frequencies as JSON, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    write_text_atomically(path, json.dumps({"n_documents": n_documents, "document_frequency": counts}))
