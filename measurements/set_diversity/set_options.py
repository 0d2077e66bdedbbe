"""Options of set_diversity: which kernels and orders of the Vendi score, and how many captions of each side."""

import math
from collections.abc import Callable, Iterable, Sequence

from .shared_messages import shown_value
from .shared_module import check_is_number

# Kernels by name; one function of the user's may stand beside them.
KERNELS = ("ngram", "embedding")

# From the captions of a set to their kernel, shape (n, n).
KernelFunction = Callable[[list[str]], object]

# Which captions of a row are measured.
SIZES = ("all", "equal")

# Smallest order: those below 1 weigh eigenvalues that are rounding. Largest finite one: beyond it the value is that of
# infinity but for a power of 1.001.
SMALLEST_ORDER, LARGEST_ORDER = 1, 1_000

# Most captions of a set: the time grows with their cube, and 2,000 take a minute and a half.
MOST_CAPTIONS = 2_000

# What the function's kernel is called in keys.
FUNCTION_NAME = "kernel"


def check_kernels(kernels: object) -> None:
    """Raise unless `kernels` are different names of `KERNELS` and at most one function.

    Raises:
        TypeError: no list or tuple.
        ValueError: another name, one that is repeated, or two functions.
    """
    if not isinstance(kernels, list | tuple):
        raise TypeError(
            f"kernels: expected a list, got {shown_value(kernels)}. Give for example ('ngram',), or a list with a "
            "function."
        )
    for kernel in kernels:
        if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
            raise ValueError(
                f"kernels: expected 'ngram', 'embedding' or a function, got {shown_value(kernel)}. Check the spelling."
            )
    names = kernel_names(kernels)
    if len(set(names)) < len(names):
        raise ValueError(
            f"kernels: expected each kernel once and at most one function, got {shown_value(names)}. Compute twice for "
            "two functions."
        )


def kernel_names(kernels: Iterable[str | KernelFunction]) -> list[str]:
    """Name the kernels as keys do.

    >>> kernel_names(["ngram", len])
    ['ngram', 'kernel']
    """
    return [kernel if isinstance(kernel, str) else FUNCTION_NAME for kernel in kernels]


def check_orders(orders: object) -> None:
    """Raise unless `orders` are different numbers from `SMALLEST_ORDER` to `LARGEST_ORDER`, or infinity; at least one.

    Raises:
        TypeError: no list or tuple of numbers.
        ValueError: none, one that is out of range, or repeated.
    """
    if not isinstance(orders, list | tuple):
        raise TypeError(
            f"vendi_orders: expected a list of numbers, got {shown_value(orders)}. Give for example (1, 2)."
        )
    for order in orders:
        check_is_number("vendi_orders", order, "Write math.inf for infinity.")
        if not (SMALLEST_ORDER <= order <= LARGEST_ORDER or order == math.inf):
            raise ValueError(
                f"vendi_orders: expected numbers from {SMALLEST_ORDER} to {LARGEST_ORDER}, or infinity, got "
                f"{shown_value(order)}. Usual ones are 1, 2 and math.inf."
            )
    names = [order_name(order) for order in orders]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"vendi_orders: expected at least one order, and each once, got {shown_value(orders)}. Give for example "
            "(1, 2)."
        )


def order_name(order: float) -> str:
    """Name an order as keys do.

    >>> [order_name(order) for order in (1, 2.0, 2.5, math.inf)]
    ['1', '2', '2.5', 'inf']
    """
    return f"{order:g}"


def measured_rows(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], sizes: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the captions of both sides that are measured.

    Args:
        predictions: n_rows lists of candidates.
        references: n_rows lists of references.
        sizes: "all", or "equal" for the first captions of the larger side of a row, as many as the other side has.

    Returns:
        n_rows lists of candidates, and of references.

    >>> measured_rows([["a", "b"]], [["c"]], "equal")
    ([['a']], [['c']])
    """
    if sizes == "all":
        return [list(row) for row in predictions], [list(row) for row in references]
    counts = [min(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]
    first, second = ([list(row[:n]) for row, n in zip(rows, counts, strict=True)] for rows in (predictions, references))
    return first, second


def check_set_sizes(rows: Sequence[Sequence[str]], column: str) -> None:
    """Raise if a set has more than `MOST_CAPTIONS` captions.

    Raises:
        ValueError: a set is too large; the message names it.
    """
    large = [i for i, row in enumerate(rows) if len(row) > MOST_CAPTIONS]
    if large:
        raise ValueError(
            f"{column}[{large[0]}]: expected at most {MOST_CAPTIONS:,} captions in a set, got {len(rows[large[0]]):,} "
            f"({len(large)} such rows in all). Give a sample of them; vdtk_diversity measures whole data sets."
        )
