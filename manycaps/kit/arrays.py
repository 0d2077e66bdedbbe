"""Arrays of numbers, tokens of texts and progress bars: types, conversions with checks, means; and work in threads."""

import collections
import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError, InputTypeError, P, R, quote_value, reason_of
from .options import as_python_value

Ints = npt.NDArray[np.int64]

Floats = npt.NDArray[np.float64]

# Sets as the bits of numbers.
Masks = npt.NDArray[np.uint64]

# The captions of all rows.
CaptionRows = Sequence[Sequence[str]]

# One text as tokens, and the texts of all rows.
TokenList = Sequence[str]

TokenRows = Sequence[Sequence[TokenList]]

# Wraps the steps of some work in a progress bar, as `tqdm` does.
Progress = Callable[..., Iterable[Any]]


def map_in_order(
    pool: ThreadPoolExecutor, function: Callable[[Any], R], items: Iterable[Any], n_ahead: int
) -> Iterator[R]:
    """Apply a function to items in a pool and yield the results in order, at most `n_ahead` items ahead.

    The items are taken in the caller's thread, so a generator need not be thread-safe.
    """
    waiting: collections.deque[Future[R]] = collections.deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:  # after an error or ctrl-C: what has not begun never does
            future.cancel()


def build_result(scores: Mapping[str, np.ndarray], sizes: Sequence[int], details: bool) -> dict[str, Any]:
    """Build the keys of modules that score every candidate by itself.

    For each name the mean over rows of the mean over a row's candidates, and n_rows; with `details` also the lists
    under `_per_row` and `_per_candidate`. `scores` are float64 arrays, shape (n_candidates,), by name, one row after
    the other, and `sizes` the number of candidates of each row.

    >>> build_result({"pac": np.array([1.0, 2.0, 6.0])}, [1, 2], details=True)
    {'pac': 2.5, 'n_rows': 2, 'pac_per_row': [1.0, 4.0], 'pac_per_candidate': [[1.0], [2.0, 6.0]]}
    """
    per_row = {name: row_means(values, sizes) for name, values in scores.items()}
    result: dict[str, Any] = {name: exact_mean(means) for name, means in per_row.items()}
    result["n_rows"] = len(sizes)
    if details:
        result |= {f"{name}_per_row": means for name, means in per_row.items()}
        result |= {f"{name}_per_candidate": cut_runs(values.tolist(), sizes) for name, values in scores.items()}
    return result


def exact_mean(values: Collection[float]) -> float:
    """Return the mean of values, whose last digit does not depend on their order; NaN of none.

    >>> exact_mean([0.1] * 10), exact_mean([])
    (0.1, nan)
    """
    return math.fsum(values) / len(values) if len(values) else math.nan


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN, as `exact_mean`."""
    return exact_mean([value for value in values if not math.isnan(value)])


def row_means(values: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return the mean of each run of consecutive values, with these sizes."""
    return [exact_mean(run) for run in cut_runs(values.tolist(), sizes)]


def cut_runs(values: Sequence[Any], sizes: Sequence[int]) -> list[Sequence[Any]]:
    """Cut a sequence into runs of the given sizes.

    >>> cut_runs([1, 2, 6], [1, 2])
    [[1], [2, 6]]
    """
    ends = np.cumsum(sizes)
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def first_largest(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the index of the first largest value of each run of consecutive values, with these sizes, each at least 1.

    >>> first_largest(np.array([1.0, 2.0, 2.0, 5.0]), np.array([3, 1])).tolist()
    [1, 3]
    """
    first = np.cumsum(sizes) - sizes
    is_largest = ~(values < np.repeat(np.maximum.reduceat(values, first), sizes))  # of NaN each
    largest = np.flatnonzero(is_largest)
    largest_of_row: np.ndarray = largest[np.searchsorted(largest, first)]
    return largest_of_row


def as_list(values: Iterable[Any], where: str, expected: str) -> list[Any]:
    """Return the values as a list: Python's own values of an Arrow array, none of an array without dimensions.

    Raises TypeError where there is nothing to iterate over, although the type says so.
    """
    try:
        if getattr(values, "is_nested", False):  # a tensor of torch, which it does not iterate over
            return list(values.unbind())  # type: ignore[attr-defined]
        return values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError as error:
        raise InputTypeError(where, expected, _kind(values), "Give a list.") from error


def without_torch(values: Any) -> Any:
    """Return a tensor of torch, or a list of them, as NumPy takes it: no gradients, no bfloat16, not on a GPU."""
    if isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):
        return [without_torch(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def as_numbers(
    values: object, where: str, expected: str, advice: str, kinds: str = "", dtype: type[np.float64] | None = None
) -> np.ndarray:
    """Return a user's array, tensor or lists as an array, if need be of one of some kinds of NumPy's types, as `dtype`.

    Raises TypeError for what is none, and for a mask, which arithmetic would not see; the message ends with `advice`.

    >>> as_numbers([[1, 2], [3, 4]], "distances[0]", "an array of numbers", "Convert it.", "fiu", np.float64).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        array = np.asanyarray(without_torch(values))
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("a masked array")
        if kinds and array.dtype.kind not in kinds:
            raise TypeError(f"values of type {array.dtype}")
        return np.asarray(array, dtype)
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
        raise InputTypeError(where, expected, f"{type(values).__name__} ({reason_of(error)})", advice) from error


def plain_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take scalars of NumPy for numbers of Python."""

    @functools.wraps(function)
    def with_plain_ones(*values: P.args, **named: P.kwargs) -> R:
        plain: Any = [_plain_number(value) for value in values]
        return function(*plain, **{name: _plain_number(value) for name, value in named.items()})

    return with_plain_ones


def _plain_number(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else as_python_value(value)


# Largest size of a number that functions take: squares, and sums of a million of them, stay within float64.
LARGEST_SIZE = 1e100


def as_finite(values: npt.ArrayLike, name: str) -> Floats:
    """Convert values to float64, all finite and of size `LARGEST_SIZE` at most."""
    array = as_numbers(values, name, "an array of numbers", "Convert it.", "biuf", np.float64)
    is_bad = ~(np.abs(array) <= LARGEST_SIZE)  # or NaN
    if is_bad.any():
        place = tuple(np.argwhere(is_bad)[0].tolist())
        where, number = f"{name}{''.join(f'[{i}]' for i in place)}", float(array[place])
        if not math.isfinite(number):
            raise InputError(where, "a finite number", "NaN or infinity", "Leave this row out.")
        expected = f"a number of size at most {LARGEST_SIZE:g}"
        raise InputError(where, expected, f"{number:g}", "Divide all of them by one number.")
    return array


def _kind(value: object) -> str:
    """Name a wrong value for a message, without printing all of it."""
    return "None" if value is None else f"{type(value).__name__} ({quote_value(value)})"
