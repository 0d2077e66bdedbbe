"""Models that several modules of a process use, each loaded once, and the features that they computed last."""

import contextlib
import functools
import operator
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import InputError, device_memory, quote_value, reason_of

if TYPE_CHECKING:
    import torch

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
        # What it knows of texts.
        self.known = RememberedFeatures(n_bytes // 4)
        # Held while the model computes: tokenizers are not made for several threads.
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


def as_device(name: str) -> "torch.device":
    """Return a torch device that this machine has."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()  # numbers of the device "meta" cannot be had
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ImportError) as error:  # torch.hpu
        reason = str(error).partition("\n")[0]  # CUDA's has lines for programmers
        got = f"{quote_value(name)} ({reason_of(RuntimeError(reason))})"
        raise InputError("device", "'auto' or a device of this machine", got, "Use 'cpu' or 'auto'.") from error
    return device


def network_loading() -> contextlib.AbstractContextManager[None]:
    """Return the context in which a network moves to its device."""
    return device_memory("device", "one with room for the network", "Free some, or give another device.")


@contextlib.contextmanager
def network_arithmetic(device: "torch.device") -> Iterator[None]:
    """Let a network compute in its own number format, whatever the program around allows, in a `with` statement.

    Autocast is off, and products of float32 have all their digits: TF32 moves PAC-S by 1e-4, autocast by 3e-3. Raises
    InputMemoryError where the device's memory does not suffice.
    """
    import torch

    has_autocast = torch.amp.is_autocast_available(device.type)
    own_format = torch.autocast(device.type, enabled=False) if has_autocast else contextlib.nullcontext()
    fix = "Give a smaller one, or another device."
    with device_memory("batch_size", "a batch that fits on the device", fix), FULL_PRECISION, own_format:
        yield


class FullPrecision:
    """Context in which products of float32 keep all their digits; afterwards torch's switches are as they were.

    They are switches of all threads: the first thread that enters turns them, and the last one that leaves turns them
    back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Callable[[Any], object], Any]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._before = turn_to_full_precision()
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                for turn, value in self._before:
                    turn(value)


def turn_to_full_precision() -> list[tuple[Callable[[Any], object], Any]]:
    """Turn off TF32 and bfloat16 in products of float32; return every switch with its value before.

    Since torch 2.9 each backend has a switch of its own beside the old ones, which cannot be read where a program used
    the new ones; the old ones turn new ones, so they come first, on the way back too.
    """
    import torch

    backends = torch.backends
    switches: list[tuple[Callable[[], Any], Callable[[Any], object], Any]] = [
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        (lambda: backends.cudnn.allow_tf32, functools.partial(setattr, backends.cudnn, "allow_tf32"), False),
    ]
    for owner in ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul"):
        with contextlib.suppress(AttributeError):  # before torch 2.9
            switch = operator.attrgetter(owner)(backends)
            read = functools.partial(getattr, switch, "fp32_precision")
            read()
            switches.append((read, functools.partial(setattr, switch, "fp32_precision"), "ieee"))
    readable: list[tuple[Callable[[Any], object], Any, Any]] = []
    for reads, turn, full in switches:
        with contextlib.suppress(RuntimeError):
            readable.append((turn, reads(), full))
    for turn, _, full in readable:
        turn(full)
    return [(turn, value) for turn, value, _ in readable]


FULL_PRECISION = FullPrecision()
