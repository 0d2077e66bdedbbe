# Vendored from manycaps/shared_kept_rows.py. Edit it there, then run `make format`.
"""Rows that were added before an error: taken out of evaluate's table, and put back into a new one.

Written for evaluate 0.4.6, whose `compute` leaves its Arrow file, its locks and `module.data` behind when `_compute`
raises, and whose `add_batch` leaves what it has written when it is stopped.
"""

import contextlib
import os
from typing import Any


def put_back(module: Any, n_added: int) -> None:
    """Bring a module back to the rows that it had before a `compute` that has failed or was stopped.

    So a wrong option, a row too large or ctrl-C after a long loop of `add_batch` costs a second `compute`, not a second
    loop. Rows given to the failed `compute` itself are not kept: its caller still has them.

    Args:
        module: a `CollectionModule` of a single process.
        n_added: number of rows before.
    """
    if not module.begins_to_read and len(module) == n_added:
        return
    if module.stored is None:  # stopped before all rows could be read
        _read_stored(module)
    added = module.stored[:n_added] if n_added and module.stored is not None else None
    _forget_rows(module)
    if added:
        module.store(added)


def take_back(module: Any, n_before: int) -> None:
    """Bring a module back to its first rows after an `add_batch` that was stopped, perhaps within a row.

    Rows reach the table in blocks, each in one `add_batch`: those of the stopped one lie behind the rows that stay,
    and may be whole, or some of them, or broken.

    Args:
        module: a `CollectionModule` of a single process.
        n_before: number of rows before.
    """
    added = _first_rows(module, n_before) if n_before else None
    _forget_rows(module)  # a table that was only begun takes no rows
    if added:
        module.store(added)


def _first_rows(module: Any, n_rows: int) -> dict[str, Any]:
    """Read the first rows of a table that is still being written."""
    import datasets  # the modules have it; the list of the commands does without
    import pyarrow

    if module.buf_writer is not None:
        source = pyarrow.BufferReader(module.buf_writer.getvalue())
    else:
        module.writer.stream.flush()
        source = pyarrow.OSFile(module.cache_file_name)
    blocks: list[Any] = []
    with source, pyarrow.ipc.open_stream(source) as reader:
        while sum(block.num_rows for block in blocks) < n_rows:  # what lies behind may be broken
            blocks.append(reader.read_next_batch())
        rows: dict[str, Any] = datasets.Dataset(pyarrow.Table.from_batches(blocks, reader.schema))[:]
    return rows


def _read_stored(module: Any) -> None:
    """Close the table and read it, also where that was begun before."""
    import datasets  # the modules have it; the list of the commands does without

    path, is_empty = module.cache_file_name, module.writer is None
    try:
        module._finalize()
    except Exception:
        if path is None or is_empty:
            return
        module.stored = datasets.Dataset.from_file(path)  # closed already


def _forget_rows(module: Any) -> None:
    """Drop the Arrow data of a failed compute, release its locks and delete its files."""
    paths = [*(getattr(module, "file_paths", None) or []), module.cache_file_name]
    locks = [*(getattr(module, "filelocks", None) or []), module.filelock]
    module.data = module.writer = module.cache_file_name = module.filelock = module.buf_writer = None
    module.file_paths, module.filelocks = [], []
    for path in dict.fromkeys(filter(None, paths)):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    for lock in filter(None, locks):
        lock.release(force=True)
