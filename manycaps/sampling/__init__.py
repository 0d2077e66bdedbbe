"""Samples of a model: several captions of every image, or several answers to every prompt."""

import pathlib

from .sample_options import SampleOptions

__all__ = ["SampleOptions", "sample"]


def sample(options: SampleOptions) -> pathlib.Path:
    """Sample captions of images, or answers to prompts.

    A run that is stopped resumes when it is called again: finished rows are kept, in `<output>.partial`. The settings
    are written beside the samples, to `<output>.settings`.

    Args:
        options: model, rows, and how to decode.

    Returns:
        The path of the samples.

    Raises:
        TypeError, ValueError, OSError: an option, a file, the model or the server cannot be used.
        ImportError: a package is missing.
    """
    from manycaps.sampling.run import sampled

    return sampled(options)
