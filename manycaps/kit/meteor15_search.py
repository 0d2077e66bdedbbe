"""The search of METEOR 1.5 for the best alignment: a beam over many pairs of texts at once, on arrays alone.

Denkowski and Lavie (2014), https://aclanthology.org/W14-3348. The Java program walks along the reference with at
most 40 paths; a path is better with more matched words, then with fewer chunks, then with a smaller distance, then
if it was made earlier. Its numbers depend on all of that, so this search has the same paths in the same order. A
path here is one number, pair | words not matched | chunks | distance, from the highest bits to the lowest, beside
the words that it has used and where its last match ended.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Ints
from .errors import InputError

# Paths of a pair that are kept (METEOR 1.5, parameter of its aligner).
BEAM_SIZE = 40

# Pairs searched at once: the arrays of a step stay in the processor's cache.
PAIRS_PER_SEARCH = 2_048

# Words of a hypothesis in one machine word, a mask of used words.
MASK_BITS = 64

# Bits of a machine word without its sign: for a path's number, and for this together with its place.
RANK_BITS = MACHINE_WORD_BITS = 63


class Matches(NamedTuple):
    """Candidates of a match, in the order in which the search tries them: pair by pair, start by start."""

    # int64 arrays, shape (n_matches,): the pair, and the first word and number of words on both sides.
    pair: Ints
    reference_start: Ints
    reference_length: Ints
    hypothesis_start: Ints
    hypothesis_length: Ints
    # 0 exact, 1 stem, 2 synonym, 3 paraphrase.
    kind: Ints
    # Boolean, shape (n_matches,): no other match touches its words.
    is_fixed: npt.NDArray[np.bool_]


def take_matches(matches: Matches, numbers: Ints) -> Matches:
    """Return some of the matches."""
    return Matches._make(column[numbers] for column in matches)


class Starts(NamedTuple):
    """Reference words at which a path can change, of all pairs: int64 arrays, shape (n_starts,), pair by pair."""

    pair: Ints
    # Index of the word in its reference.
    place: Ints
    # Number of the first match that starts there, and how many do.
    first_match: Ints
    n_matches: Ints


class _Layout(NamedTuple):
    """Where the parts of a path's number begin, in bits from the lowest."""

    chunks: int
    unmatched: int
    pair: int
    # Bits of the whole number.
    width: int


class _Paths(NamedTuple):
    """Paths of all pairs: arrays of shape (n_paths,), `used` (n_masks, n_paths)."""

    rank: Ints
    used: npt.NDArray[np.uint64]
    # First hypothesis word behind the last match, -1 behind a skipped word.
    last_end: Ints
    # First reference word that the path has not passed.
    next_place: Ints


class _Children(NamedTuple):
    """Successors of paths at a step: arrays of shape (n_children,). Their words are noted once the best are known."""

    rank: Ints
    last_end: Ints
    next_place: Ints
    # Number of the path before it, and of the match that it took or -1.
    before: Ints
    match: Ints


class _Tried(NamedTuple):
    """Matches that paths can take, path by path, in the order in which they are tried."""

    path: Ints
    match: Ints
    # Number of them of each path.
    n_free: Ints
    # Distances of those tried before by the same path, and of all of each path.
    earlier: Ints
    distance: Ints


def search(matches: Matches, starts: Starts, n_pairs: int) -> tuple[Ints, Ints]:
    """Find the alignment of every pair with the beam search of METEOR 1.5.

    A path that is inside a match goes on; at a fixed match it takes it; elsewhere it takes each match whose hypothesis
    words are free, and last skips the word. An exact match of words counts 2, any other half of its words on each side,
    rounded down. The distance of a match counts for the paths made after it out of the same path, not for its own: the
    Java program adds it to the path that it copied.

    Returns the numbers of the matches of all alignments, in any order, and the chunks of each pair.
    """
    n_steps = np.bincount(starts.pair, minlength=n_pairs)
    first_start = np.cumsum(n_steps) - n_steps
    by_length = np.argsort(-n_steps, kind="stable")
    chunks = np.zeros(n_pairs, np.int64)
    chosen = []
    for begin in range(0, n_pairs, PAIRS_PER_SEARCH):
        pairs = by_length[begin : begin + PAIRS_PER_SEARCH]
        if n_steps[pairs[0]]:
            best, chunks[pairs] = _Beam(matches, starts, pairs, first_start[pairs], n_steps[pairs]).run()
            chosen.append(best)
    return np.concatenate(chosen) if chosen else np.empty(0, np.int64), chunks


class _Beam:
    """The search over some pairs, those with the most starts first."""

    def __init__(self, matches: Matches, starts: Starts, pairs: Ints, first_start: Ints, n_steps: Ints) -> None:
        self.matches, self.starts = matches, starts
        self.first_start, self.n_steps = first_start, n_steps
        searched = np.isin(matches.pair, pairs) if len(pairs) < PAIRS_PER_SEARCH else slice(None)
        self.offset = np.abs(matches.reference_start - matches.hypothesis_start)
        half = matches.reference_length // 2 + matches.hypothesis_length // 2
        gain = np.where(matches.kind == 0, 2, half)
        self.end = matches.hypothesis_start + matches.hypothesis_length
        self.next_place = matches.reference_start + matches.reference_length
        self.mask, self.bits, self.next_bits = _words(matches)
        self.n_masks = max(1, -(-int(self.end.max(initial=0)) // MASK_BITS))
        self.has_next = bool(self.next_bits.any())
        # Words up to the last match, on both sides: no path matches more.
        self.most = int(self.end.max(initial=0) + self.next_place.max(initial=0))
        distance = int(np.bincount(matches.pair[searched], self.offset[searched]).max(initial=0))
        self.layout = _layout(len(pairs), self.most, distance)
        self.chunks_mask = (1 << (self.layout.unmatched - self.layout.chunks)) - 1
        self.gain = gain << self.layout.unmatched
        # Starts whose match is fixed: the path has to take it.
        self.is_forced = starts.n_matches == 1
        self.is_forced[self.is_forced] = matches.is_fixed[starts.first_match[self.is_forced]]

    def run(self) -> tuple[Ints, Ints]:
        """Return the chosen matches, and the chunks of each pair."""
        n_pairs = len(self.n_steps)
        # One path per pair, that has passed nothing.
        rank = np.arange(n_pairs) << self.layout.pair | self.most << self.layout.unmatched
        nothing = np.full(n_pairs, -1)
        children = _Children(rank, nothing, np.zeros(n_pairs, np.int64), np.arange(n_pairs), nothing)
        used = np.zeros((self.n_masks, n_pairs), np.uint64)
        history: list[tuple[Ints, Ints]] = []  # of each step: number of the path before each path, and its match or -1
        chunks, ended = np.zeros(n_pairs, np.int64), np.zeros(n_pairs, np.int64)
        for step in range(int(self.n_steps[0]) + 1):
            paths, order = self._best(children, used)
            n_going_on = int(np.searchsorted(-self.n_steps, -step))
            split = int(np.searchsorted(paths.rank, n_going_on << self.layout.pair))
            if split < len(order):
                best = self._end_pairs(paths, split)
                pairs = paths.rank[best] >> self.layout.pair
                ended[pairs] = order[best]
                chunks[pairs] = self._close(paths)[best] >> self.layout.chunks & self.chunks_mask
            if n_going_on:
                paths = _Paths(
                    paths.rank[:split], paths.used[:, :split], paths.last_end[:split], paths.next_place[:split]
                )
                children, used = self._step(paths, step), paths.used
                history.append((order[children.before], children.match))
        return self._trace(history, ended), chunks

    def _best(self, children: _Children, used: npt.NDArray[np.uint64]) -> tuple[_Paths, Ints]:
        """The best children of every pair, from the best to the worst, and their numbers."""
        order = _stable_order(children.rank, self.layout.width)
        rank = children.rank.take(order)
        pair = rank >> self.layout.pair
        is_first = np.empty(len(pair), bool)
        is_first[0] = True
        np.not_equal(pair[1:], pair[:-1], out=is_first[1:])
        first = np.flatnonzero(is_first)
        n_paths = np.diff(first, append=len(pair))
        if n_paths.max() > BEAM_SIZE:
            kept = np.flatnonzero(np.arange(len(pair)) - np.repeat(first, n_paths) < BEAM_SIZE)
            order, rank = order.take(kept), rank.take(kept)
        used = self._with_matches(used.take(children.before.take(order), axis=1), children.match.take(order))
        return _Paths(rank, used, children.last_end.take(order), children.next_place.take(order)), order

    def _with_matches(self, used: npt.NDArray[np.uint64], match: Ints) -> npt.NDArray[np.uint64]:
        """The used words with the words of a match of each path, -1 for none; in place."""
        path = np.flatnonzero(match >= 0)
        match = match.take(path)
        mask = self.mask.take(match)
        used[mask, path] |= self.bits.take(match)
        if self.has_next:
            used[np.minimum(mask + 1, self.n_masks - 1), path] |= self.next_bits.take(match)
        return used

    def _close(self, paths: _Paths) -> Ints:
        """The numbers of the paths when their last chunk has ended."""
        return paths.rank + self._chunk(paths.last_end != -1)

    def _end_pairs(self, paths: _Paths, split: int) -> Ints:
        """The best path of each pair that has no start left; these pairs' paths begin at `split`."""
        closed = self._close(paths)[split:]
        order = _stable_order(closed, self.layout.width)
        pair = closed[order] >> self.layout.pair
        is_first = np.append(True, pair[1:] != pair[:-1])
        return order[is_first] + split

    def _step(self, paths: _Paths, step: int) -> _Children:
        """What the paths become at their pair's next start."""
        start = self.first_start.take(paths.rank >> self.layout.pair) + step
        position, first_match = self.starts.place.take(start), self.starts.first_match.take(start)
        n_matches = self.starts.n_matches.take(start)
        is_inside = paths.next_place > position
        n_matches[is_inside] = 0
        has_to = self.is_forced.take(start) & ~is_inside
        tried = self._try_matches(paths, first_match, n_matches)

        # Children in order: the matches, then the path itself unless it had to take a fixed match.
        n_children = tried.n_free + ~has_to
        behind = np.cumsum(n_children)
        itself = np.flatnonzero(~has_to)
        first_child = behind - n_children - np.cumsum(tried.n_free) + tried.n_free
        places = behind.take(itself) - 1, first_child.take(tried.path) + np.arange(len(tried.path))
        passed = self._pass_over(paths, ~(is_inside | has_to), tried.distance, itself)
        extended = self._extend(paths, tried, has_to)
        return _Children(*(_interleave(*both, *places) for both in zip(passed, extended, strict=True)))

    def _pass_over(self, paths: _Paths, skips: npt.NDArray[np.bool_], distance: Ints, which: Ints) -> _Children:
        """Some of the paths without a match: those that skip the word end their chunk."""
        ended = distance + self._chunk(paths.last_end != -1)
        return _Children(
            (paths.rank + np.where(skips, ended, 0)).take(which),
            np.where(skips, -1, paths.last_end).take(which),
            paths.next_place.take(which),
            which,
            np.full(len(which), -1),
        )

    def _extend(self, paths: _Paths, tried: _Tried, has_to: npt.NDArray[np.bool_]) -> _Children:
        """The paths with the matches that they can take; a fixed match counts its own distance."""
        end = paths.last_end.take(tried.path)
        is_new = (end != -1) & (end != self.matches.hypothesis_start.take(tried.match))
        own = np.where(has_to.take(tried.path), self.offset.take(tried.match), tried.earlier)
        return _Children(
            paths.rank.take(tried.path) + own + self._chunk(is_new) - self.gain.take(tried.match),
            self.end.take(tried.match),
            self.next_place.take(tried.match),
            tried.path,
            tried.match,
        )

    def _try_matches(self, paths: _Paths, first_match: Ints, n_matches: Ints) -> _Tried:
        """The matches that paths can take: those whose hypothesis words are free."""
        behind = np.cumsum(n_matches)
        path = np.repeat(np.arange(len(n_matches)), n_matches)
        match = (first_match - behind + n_matches).take(path) + np.arange(len(path))
        free = np.flatnonzero(~self._is_used(paths.used, path, match))
        path, match = path.take(free), match.take(free)
        offset = self.offset.take(match)
        n_free = np.bincount(path, minlength=len(n_matches))
        # Distances up to each match, and those up to the first match of its path.
        total = np.append(0, np.cumsum(offset))
        first = np.cumsum(n_free) - n_free
        before = total.take(first)
        return _Tried(path, match, n_free, total[:-1] - before.take(path), total.take(first + n_free) - before)

    def _is_used(self, used: npt.NDArray[np.uint64], path: Ints, match: Ints) -> npt.NDArray[np.bool_]:
        """Whether paths have used a word of a match."""
        bits = self.bits.take(match)
        if self.n_masks == 1:
            return (used[0].take(path) & bits) != 0
        mask = self.mask.take(match)
        is_used = (used[mask, path] & bits) != 0
        if self.has_next:
            is_used |= (used[np.minimum(mask + 1, self.n_masks - 1), path] & self.next_bits.take(match)) != 0
        return is_used

    def _chunk(self, is_one_more: npt.NDArray[np.bool_]) -> Ints:
        return is_one_more.astype(np.int64) << self.layout.chunks

    def _trace(self, history: list[tuple[Ints, Ints]], ended: Ints) -> Ints:
        """The matches on the way to the paths `ended`, one per pair."""
        chosen = []
        at = ended.copy()
        for step in range(len(history) - 1, -1, -1):
            n_going_on = int(np.searchsorted(-self.n_steps, -step))
            path = at[:n_going_on]
            before, matches = history[step]
            match = matches[path]
            chosen.append(match[match >= 0])
            at[:n_going_on] = before[path]
        return np.concatenate(chosen)


def _interleave(first: Ints, second: Ints, first_places: Ints, second_places: Ints) -> Ints:
    """Merge both arrays, each item at its index."""
    both = np.empty(len(first) + len(second), first.dtype)
    both[first_places] = first
    both[second_places] = second
    return both


def _words(matches: Matches) -> tuple[Ints, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The hypothesis words of each match as bits: the mask in which they begin, its bits, and the next one's.

    No match is longer than a mask.
    """
    mask, position = np.divmod(matches.hypothesis_start, MASK_BITS)
    sides = np.zeros((2, len(position)), np.uint64)
    match = np.arange(len(position))
    for k in range(int(matches.hypothesis_length.max(initial=0))):
        covered = match[matches.hypothesis_length > k]
        side, bit = np.divmod(position[covered] + k, MASK_BITS)
        sides[side, covered] |= np.uint64(1) << bit.astype(np.uint64)
    return mask, sides[0], sides[1]


def _layout(n_pairs: int, n_words: int, distance: int) -> _Layout:
    """Widths in bits that no path exceeds: a chunk has a word of each side, and the end of a text closes one."""
    chunks = distance.bit_length()
    unmatched = chunks + (n_words + 1).bit_length()
    pair = unmatched + n_words.bit_length()
    width = pair + n_pairs.bit_length()
    if width > RANK_BITS:
        raise InputError(
            "texts", "two that METEOR 1.5 can align", f"{n_words} words each", "Shorten texts of thousands of words."
        )
    return _Layout(chunks, unmatched, pair, width)


def _stable_order(rank: Ints, width: int) -> Ints:
    """Numbers of the paths in stable order of rank: by one sort of both together where they fit a machine word."""
    index_bits = len(rank).bit_length()
    if width + index_bits > MACHINE_WORD_BITS:
        return np.argsort(rank, kind="stable")
    both = rank << index_bits | np.arange(len(rank))
    both.sort()
    return both & ((1 << index_bits) - 1)
