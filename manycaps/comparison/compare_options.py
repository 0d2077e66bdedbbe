"""Options of a comparison. Light: packages are imported when options are checked."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manycaps.caption_tables.columns import ColumnNames


@dataclasses.dataclass(frozen=True)
class CompareOptions:
    """Options of `manycaps compare`, with their defaults; see `manycaps compare --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --n-resamples.
    """

    # Files of captions, one or several for every row, or folders that `manycaps score` wrote: all of one kind.
    systems: Sequence[str]
    # Files of human captions; none where they stand beside the captions of the systems.
    references: Sequence[str] = ()
    # Modules to compare by; None: those for which the rows have references, images or videos.
    metrics: Sequence[str] | None = None
    # Of the systems; None: those of their files.
    names: Sequence[str] | None = None
    # Name of the system that the others are compared with; None: the first.
    baseline: str | None = None
    # Read what folders of scores were scored from, for the page and for the comparison of systems as sets.
    with_captions: bool = False
    # From roles to names of columns, or both as text: "predictions=samples,id=image_id". A file as it is given may have
    # a mapping of its own, and a role in the text may follow it: "references.csv:references=human".
    columns: "ColumnNames | str | None" = None
    # Split of files with several, such as Karpathy's.
    split: str | None = None
    # Compare the rows that all files have; otherwise a row that is missing in one is an error.
    common_rows: bool = False
    # Folders, or addresses, of images and videos.
    images: str | None = None
    videos: str | None = None
    # Regular expression: rows whose ids have the same match belong together. None: rows of one image or video do.
    clusters: str | None = None
    # Rows to compare, drawn at random with the seed; None: all.
    limit: int | None = None
    # Also compare every two systems as sets, by the set metrics with one of them in place of the references, and count
    # how often they say the same.
    full: bool = False
    # Distance of captions for the answer beside people: "bert", "meteor", "meteor15" or "cider"; None: "bert" where a
    # sentence encoder is installed, else "meteor".
    distance: str | None = None
    # Gap in the unit of that distance up to which systems count as equivalent; None: not asked.
    margin: float | None = None
    # Options of the modules that have them: tokenizer, language of METEOR 1.5, sentence encoder, what it does with long
    # texts ("truncate" or "window"), weights, the data of METEOR 1.5, the best candidate of each row as well, device of
    # all networks.
    tokenizer: str | None = None
    # n-gram counts of a training corpus for wording, made by `manycaps count-ngrams`; None: of the references of other
    # rows.
    language_model: str | None = None
    language: str | None = None
    encoder: str | None = None
    long_texts: str | None = None
    checkpoint: str | None = None
    variant: str | None = None
    meteor15_data: str | None = None
    best_of: bool = False
    device: str | None = None
    # Random splits and sign flips of the tests.
    n_resamples: int = 9_999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.comparison.parity_scores import check_distance_name
        from manycaps.comparison.systems import named_systems
        from manycaps.kit.base import check_choice, check_number, check_whole_number, shown_value
        from manycaps.kit.embeddings import LONG_TEXTS

        for name in ("systems", "references", "metrics", "names"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(text, str) for text in given or ()):
                raise TypeError(f'{name}: expected a list of strings, got {shown_value(given)}. Give ["a", "b"].')
        check_whole_number("--n-resamples", self.n_resamples, 1)
        check_whole_number("--seed", self.seed, 0)
        if self.limit is not None:
            check_whole_number("--limit", self.limit, 1)
        check_distance_name(self.distance)
        if self.long_texts is not None:
            check_choice("--long-texts", self.long_texts, LONG_TEXTS)
        if self.margin is not None:
            check_number("--margin", self.margin, 0, math.inf)
        named_systems(self.systems, self.names, self.baseline)
