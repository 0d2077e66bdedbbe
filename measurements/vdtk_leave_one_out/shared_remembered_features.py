# Vendored from manycaps/shared_remembered_features.py. Edit it there, then run `make format`.
"""Features of contents that come again: those used last, within a bound of memory."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

# What an entry takes beside its value, about: Python's own objects for the key, the value and their place.
BYTES_PER_ENTRY = 400


class RememberedFeatures:
    """Values by key; where there is no room, those that were not used for the longest time go first.

    Safe to use from several threads.

    Args:
        n_bytes: bound of all entries together.

    >>> features = RememberedFeatures(2 * BYTES_PER_ENTRY + 30)
    >>> for key in ("a", "b", "c"):
    ...     features.put(key, key.upper(), n_bytes=10)
    ...     _ = features.get("a")
    >>> features.get("a"), features.get("b"), len(features)
    ('A', None, 2)
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        # Value and bytes of each entry, the one used last at the end.
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._n_used = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """Return a value and count it as used now; None if it is not there."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Keep a value, unless it alone is above the bound.

        Args:
            key: what the value belongs to.
            value: anything but None.
            n_bytes: bytes of the value.
        """
        n_bytes += BYTES_PER_ENTRY
        with self._lock:
            self._n_used -= self._entries.pop(key, (None, 0))[1]
            if n_bytes > self.n_bytes:
                return
            self._entries[key] = value, n_bytes
            self._n_used += n_bytes
            while self._n_used > self.n_bytes:
                self._n_used -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()
            self._n_used = 0
