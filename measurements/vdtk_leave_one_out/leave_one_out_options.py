"""Options of this module beyond those that all modules share, checked before any work."""

from .scored_texts import METRICS
from .shared_messages import shown_value
from .shared_module import check_choice, check_confidence_level, check_whole_number

# Most iterations; each keeps a few numbers for each row while it is drawn.
MOST_ITERATIONS = 1_000_000

# Most references that can be asked for.
MOST_REFERENCES = 1_000_000


def check_metrics(metrics: object) -> None:
    """Raise unless `metrics` are names of `METRICS`, at least one, none twice.

    Raises:
        TypeError: not several names.
        ValueError: none, an unknown one, or one twice.
    """
    if not isinstance(metrics, list | tuple):
        raise TypeError(
            f"metrics: expected a list or tuple of names, got {type(metrics).__name__}. Give for example ('bleu', "
            "'cider_d')."
        )
    if not metrics:
        raise ValueError("metrics: expected at least one name, got none. Give for example ('bleu', 'cider_d').")
    for i, metric in enumerate(metrics):
        check_choice(f"metrics[{i}]", metric, METRICS)
        if metric in metrics[:i]:
            raise ValueError(f"metrics[{i}]: expected each metric once, got {shown_value(metric)} again. Remove one.")


def check_numbers(n_iterations: object, n_references: object, seed: object) -> None:
    """Raise unless the numbers of iterations and references, and the seed, are legal.

    Raises:
        TypeError: one is no whole number.
        ValueError: one is out of range.
    """
    check_whole_number("n_iterations", n_iterations, 1, MOST_ITERATIONS)
    if n_references is not None:
        check_whole_number("n_references", n_references, 1, MOST_REFERENCES)
    check_whole_number("seed", seed, 0)


def check_interval(confidence_level: object) -> None:
    """Raise unless `confidence_level` is a number between 0 and 1; None is none, since there always is an interval.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of range.
    """
    if confidence_level is None:
        raise TypeError("confidence_level: expected a number, got None. Give a float such as 0.95.")
    check_confidence_level(confidence_level)
