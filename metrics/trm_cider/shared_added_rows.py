# Vendored from helpers/shared_added_rows.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Keep the rows of `add_batch` when a compute fails: evaluate forgets them before it calls `_compute`."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import evaluate


@contextlib.contextmanager
def added_rows_kept(module: Any) -> Iterator[None]:
    """Around evaluate's `compute`: after an error, put back the rows that had been added before it.

    So a wrong option, a row too large or ctrl-C after a long loop of `add_batch` costs a second `compute`, not a second
    loop. Rows given to the failed `compute` itself are not kept: its caller still has them. Written for evaluate 0.4.6,
    whose `compute` leaves its Arrow file, its locks and `module.data` behind when `_compute` raises.

    Args:
        module: an `evaluate.EvaluationModule`; with num_process above 1 nothing is put back.

    Yields:
        None.
    """
    n_added = len(module)
    try:
        yield
    except BaseException:  # also KeyboardInterrupt and SystemExit
        if module.num_process == 1:
            _put_back(module, n_added)
        raise


def _put_back(module: Any, n_added: int) -> None:
    """Bring a module back to the rows that it had before the compute."""
    if module.data is None and len(module) != n_added:  # stopped between the adding of rows and `_compute`
        module._finalize()
    if module.data is None:
        return
    added = module.data[:n_added] if n_added else None
    _forget_rows(module)
    if added:
        # evaluate's own method: the rows have passed the module's checks, and may be stored in another form.
        evaluate.EvaluationModule.add_batch(module, **added)


def _forget_rows(module: Any) -> None:
    """Drop the Arrow data of a failed compute, release its locks and delete its files."""
    module.data = module.writer = module.cache_file_name = module.filelock = None
    if module.buf_writer is not None:  # keep_in_memory=True: there are no files
        module.buf_writer = None
        return
    for lock, path in zip(module.filelocks, module.file_paths, strict=True):
        os.remove(path)
        lock.release()
