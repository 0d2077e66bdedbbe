"""Options of a comparison of settings. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import SampleOptions


@dataclasses.dataclass(frozen=True)
class DecodingOptions:
    """Options of `manycaps decoding`, with their defaults; see `manycaps decoding --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --budget.
    """

    # Human captions, by the ids of the rows.
    references: Sequence[str]
    # Folder of the samples, the page and the numbers.
    output: pathlib.Path
    # Files of samples, one for each setting; none: they are sampled.
    files: Sequence[str] = ()
    # Settings to sample, and the model and its rows, whose own output and setting do not count.
    settings: Sequence[Setting] = ()
    sample: SampleOptions | None = None
    # From roles to names of columns of the references, or both as text.
    columns: Mapping[str, str] | str | None = None
    # Split of references in files with several, such as Karpathy's.
    split: str | None = None
    # Rows to sample over all settings: those that are clearly worse are dropped early. None: all rows of all settings.
    budget: int | None = None
    # Distance of captions, as for `manycaps compare`, and sentence encoder.
    distance: str | None = None
    encoder: str | None = None
    # Random sign flips of the paired tests; seed of these and of the halves.
    n_resamples: int = 9_999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.comparison.parity_scores import check_distance_name
        from manycaps.kit.base import check_whole_number

        check_distance_name(self.distance)
        check_whole_number("--n-resamples", self.n_resamples, 1)
        check_whole_number("--seed", self.seed, 0)
        names = [setting.name for setting in self.settings] or list(self.files)
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(
                f"settings: expected two or more that differ, got {', '.join(names) or 'none'}. Give files of samples, "
                "or values such as --temperature 0.7,1."
            )
        if self.sample is not None:
            for setting in self.settings:
                self.sample.check_setting(setting)
        if self.budget is not None:
            check_whole_number("--budget", self.budget, 1)
            if self.sample is None:
                raise ValueError("--budget: expected a model to sample, got files of samples. Leave it out.")
