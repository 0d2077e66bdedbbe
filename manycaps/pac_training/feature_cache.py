"""Features of the frozen encoders, computed once and kept on the disk shard by shard."""

import functools
import hashlib
import pathlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from manycaps.kit.clip_image_features import ordered_results
from manycaps.pac_training.data_set import ImageColumn, TupleRows
from manycaps.pac_training.encoders import Encoders
from manycaps.pac_training.projections import CachedFeatures
from manycaps.saved_files import write_atomically

# Images or texts of one file: an interruption loses at most one shard per process.
SHARD_SIZE = 2048


class FeatureCache:
    """A folder of shards, which all processes fill and then read.

    Which items are encoded together depends on the shard alone, so that the features are the same bits however often
    the work was interrupted and however many processes share it. The processes must see the same folder.

    Args:
        folder: for the shards.
        encoders: the model.
        batch_size: images encoded at once.
        n_threads: that decode.
        progress: a tqdm class.
        rank: number of this process.
        n_processes: in all.
        wait: returns when every process has called it.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        encoders: Encoders,
        *,
        batch_size: int,
        n_threads: int,
        progress: Callable[..., Any],
        rank: int = 0,
        n_processes: int = 1,
        wait: Callable[[], object] = lambda: None,
    ) -> None:
        self.folder, self.encoders = folder, encoders
        self._batch_size, self._n_threads, self._progress = batch_size, n_threads, progress
        self._rank, self._n_processes, self._wait = rank, n_processes, wait

    def features(self, rows: TupleRows, split: str) -> CachedFeatures:
        """Return the features of a split, computing the missing ones."""
        generated_images, generated_captions = rows.generated_images, rows.generated_captions
        everything = np.arange(len(rows.captions))
        return CachedFeatures(
            self._images(rows.images, rows.first_rows, split),
            self._texts(rows.captions, f"{split} captions"),
            None if generated_images is None else self._images(generated_images, everything, split),
            None if generated_captions is None else self._texts(generated_captions, f"{split} generated captions"),
            rows.image_rows,
        )

    def _images(self, column: ImageColumn, rows: np.ndarray, split: str) -> np.ndarray:
        """Features of some images of a column, shape (n, d_visual)."""

        def encode(some: slice) -> np.ndarray:
            batches = []
            with ThreadPoolExecutor(self._n_threads) as pool:
                pixels: list[np.ndarray] = []
                items = ((column[i], column.where(i)) for i in rows[some].tolist())
                for picture in ordered_results(pool, lambda x: self.encoders.pixels(*x), items, 2 * self._batch_size):
                    pixels.append(picture)
                    if len(pixels) == self._batch_size:
                        batches.append(self.encoders.model.image_features(np.stack(pixels)))
                        pixels.clear()
            if pixels:
                batches.append(self.encoders.model.image_features(np.stack(pixels)))
            features: np.ndarray = np.concatenate(batches)
            return features

        return self._sharded(encode, len(rows), f"{split} {column.name}s")

    def _texts(self, texts: Sequence[str], name: str) -> np.ndarray:
        """Features of texts, each distinct one encoded once, shape (n, d_text)."""
        places: dict[str, int] = {}
        rows = np.array([places.setdefault(text, len(places)) for text in texts])
        tokens = [self.encoders.model.tokenize(text) for text in places]
        distinct = self._sharded(
            lambda some: self.encoders.model.text_features(tokens[some], self._batch_size), len(tokens), name
        )
        return distinct[rows]

    def _sharded(self, encode: Callable[[slice], np.ndarray], n: int, name: str) -> np.ndarray:
        """Make this process's shards, wait for those of the others, and merge all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        starts = range(0, n, SHARD_SIZE)
        paths = [self.folder / f"{name.replace(' ', '-')}-{start:08d}.npy" for start in starts]
        mine = list(zip(starts, paths, strict=True))[self._rank :: self._n_processes]
        for start, path in self._progress(mine, desc=f"encoding {name}", unit="shard"):
            if not path.is_file():
                shard = encode(slice(start, min(n, start + SHARD_SIZE)))
                write_atomically(path, functools.partial(np.save, arr=shard))
        self._wait()
        features: np.ndarray = np.concatenate([np.load(path) for path in paths])
        return features


def cache_key(*parts: object) -> str:
    """Name of the folder for features that follow from these parts.

    >>> cache_key("a", 1) == cache_key("a", 1) != cache_key("a", 2)
    True
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
