"""Models that several modules of a process use, each loaded once, and the features that they computed last."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Model = TypeVar("Model")

# Approximate overhead of an entry: Python's own objects for the key, the value and their slot.
BYTES_PER_ENTRY = 400


class RememberedFeatures:
    """Values by key, together `n_bytes` at most; without room, the least recently used ones are dropped.

    Safe to use from several threads.

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
        """Return a value and mark it as used; None if it is not stored."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Store a value, anything but None, of so many bytes, unless it alone exceeds the bound."""
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


class SharedModel(Generic[Model]):
    """A loaded model, and the features that it computed last, `n_bytes` of them at most."""

    def __init__(self, model: Model, n_bytes: int) -> None:
        self.model = model
        self.remembered = RememberedFeatures(n_bytes)
        # Held while the model computes: tokenizers and switches of precision are not made for several threads.
        self.lock = threading.Lock()


class SharedModels:
    """The models in use in this process; one that nobody holds any more is dropped.

    Each remembers at most `n_bytes` of features.

    >>> models = SharedModels(1000)
    >>> first, second = (models.get("minilm", lambda: ["weights"]) for _ in range(2))
    >>> first is second
    True
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._models: weakref.WeakValueDictionary[Hashable, SharedModel[Any]] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Hashable, load: Callable[[], Model]) -> SharedModel[Model]:
        """Return the model of a key, loaded unless it is in use; two threads that ask at once get one model.

        The key is everything that decides the model's numbers.
        """
        with self._lock:
            shared = self._models.get(key)
            if shared is None:
                shared = self._models[key] = SharedModel(load(), self.n_bytes)
            return shared
