"""The two frozen encoders without their last projections, and rows that go through them once, or at every step."""

import contextlib
import functools
import itertools
import pathlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import PIL.Image
import torch

from manycaps.files.saved_files import write_atomically
from manycaps.kit.arrays import map_in_order
from manycaps.kit.clip_checkpoints import Treatment
from manycaps.kit.clip_model import ClipModel, Weights
from manycaps.kit.images import as_image_source, as_model_pixels, as_rgb_image
from manycaps.pac_training.data_set import ImageColumn, TupleRows
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, CachedFeatures
from manycaps.pac_training.training_loop import Features

# Least share of an image's area that a random crop keeps (open_clip's default for training).
LEAST_CROP = 0.9

# Images or texts of one file: an interruption loses at most one shard per process.
SHARD_SIZE = 2048


class Encoders:
    """Both encoders of a CLIP up to, and without, their last projections; LoRA updates of the weights are merged."""

    def __init__(self, weights: Weights, treatment: Treatment, device: str, dtype: str) -> None:
        self.model = ClipModel(weights, **treatment._asdict(), device=device, dtype=dtype)
        network = self.model.network
        network.requires_grad_(False)
        # 1 / tau
        self.scale = weights["logit_scale"].float().exp().item()
        self.projections = {
            name: torch.nn.Parameter(weights[name].to(self.model.device, torch.float32).clone())
            for name in (VISUAL_PROJECTION, TEXT_PROJECTION)
        }
        # With these two in place the model's features are those before the projections; 1 x + 0 y is x exactly.
        network.visual.proj = None
        width = len(network.text_projection)
        identity = torch.eye(width, device=self.model.device, dtype=self.model.dtype)
        network.text_projection = torch.nn.Parameter(identity, requires_grad=False)

    def pixels(self, source: object, where: str, rng: np.random.Generator | None = None) -> np.ndarray:
        """Decode one image as the model sees it, with a random crop if there is a generator."""
        image = as_rgb_image(as_image_source(source, where), where)
        return as_model_pixels(image if rng is None else random_crop(image, rng), self.model.image_size)


class EncodedRows:
    """Rows that go through the encoders at every step: for LoRA, and for images that are augmented.

    The encoders run in the context `autocast`, such as accelerate's; without an augmentation seed no image is cropped.
    """

    def __init__(
        self,
        rows: TupleRows,
        encoders: Encoders,
        *,
        autocast: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
        augmentation_seed: int | None = None,
        n_threads: int,
    ) -> None:
        self.rows, self.encoders, self.image_rows = rows, encoders, rows.image_rows
        self._autocast, self._seed = autocast, augmentation_seed
        self._pool = ThreadPoolExecutor(n_threads)
        # Images that are being decoded already, by iteration.
        self._expected: dict[int | None, list[Future[np.ndarray]]] = {}
        self._trains_encoders = any(x.requires_grad for x in encoders.model.network.parameters())

    def features(self, rows: np.ndarray, iteration: int | None, following: np.ndarray | None) -> Features:
        """Encode some rows, without augmentation if there is no iteration; the following ones are decoded meanwhile."""
        decoding = self._expected.pop(iteration, None) or self._decode(rows, iteration)
        if following is not None and iteration is not None:
            self._expected[iteration + 1] = self._decode(following, iteration + 1)
        pixels = [future.result() for future in decoding]
        generated_captions = self.rows.generated_captions
        return Features(
            self._images(pixels[: len(rows)]),
            self._texts([self.rows.captions[i] for i in rows]),
            None if self.rows.generated_images is None else self._images(pixels[len(rows) :]),
            None if generated_captions is None else self._texts([generated_captions[i] for i in rows]),
        )

    def _decode(self, rows: np.ndarray, iteration: int | None) -> list[Future[np.ndarray]]:
        """Hand the real images, then the generated ones, to the threads; the data set is read in this one."""
        columns = [column for column in (self.rows.images, self.rows.generated_images) if column is not None]
        return [
            self._pool.submit(self.encoders.pixels, column[i], column.where(i), self._generator(iteration, kind, i))
            for kind, column in enumerate(columns)
            for i in rows.tolist()
        ]

    def _generator(self, iteration: int | None, kind: int, row: int) -> np.random.Generator | None:
        """Generator of a crop, one for each visit of each image: threads and interruptions do not matter."""
        if self._seed is None or iteration is None:
            return None
        return np.random.default_rng([self._seed, iteration, kind, row])

    def _images(self, pixels: Sequence[np.ndarray]) -> torch.Tensor:
        model = self.encoders.model
        return self._encode(
            pixels, lambda: model.embed_pixels(torch.from_numpy(np.stack(pixels)).to(model.device)), VISUAL_PROJECTION
        )

    def _texts(self, texts: Sequence[str]) -> torch.Tensor:
        model = self.encoders.model
        return self._encode(
            texts,
            lambda: model.embed_tokens(*model._as_batch([model.tokenize(text) for text in texts])),
            TEXT_PROJECTION,
        )

    def _encode(self, inputs: Sequence[Any], encode: Callable[[], torch.Tensor], name: str) -> torch.Tensor:
        """Features of inputs, without gradients to the encoders where these have nothing to learn."""
        projection = self.encoders.projections[name]
        if not inputs:  # a small batch may leave this process without a row
            return projection.new_zeros(0, projection.shape[1])
        with torch.set_grad_enabled(self._trains_encoders and torch.is_grad_enabled()), self._autocast():
            encoded = encode()
        return encoded.float() @ projection


def random_crop(image: PIL.Image.Image, rng: np.random.Generator) -> PIL.Image.Image:
    """Cut a rectangle of the image's proportions, of `LEAST_CROP` of its area or more, from a random place.

    >>> random_crop(PIL.Image.new("RGB", (100, 50)), np.random.default_rng(0)).size
    (98, 49)
    """
    side = rng.uniform(LEAST_CROP, 1.0) ** 0.5
    width, height = (max(1, round(length * side)) for length in image.size)
    left, top = (int(rng.integers(0, n + 1)) for n in (image.width - width, image.height - height))
    return image.crop((left, top, left + width, top + height))


class FeatureCache:
    """A folder of shards, which all processes fill and then read.

    Which items are encoded together depends on the shard alone, so that the features are the same bits however often
    the work was interrupted and however many processes share it. The processes must see the same folder.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        encoders: Encoders,
        *,
        batch_size: int,
        n_threads: int,
        progress: Callable[..., Any],
        accelerator: Any = None,
    ) -> None:
        self.folder, self.encoders = folder, encoders
        self._batch_size, self._n_threads, self._progress = batch_size, n_threads, progress
        self._accelerator = accelerator

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
                items = ((column[i], column.where(i)) for i in rows[some].tolist())
                pixels = map_in_order(pool, lambda x: self.encoders.pixels(*x), items, 2 * self._batch_size)
                while batch := list(itertools.islice(pixels, self._batch_size)):
                    batches.append(self.encoders.model.image_features(np.stack(batch)))
            return np.concatenate(batches)

        return self._encode_shards(encode, len(rows), f"{split} {column.name}s")

    def _texts(self, texts: Sequence[str], name: str) -> np.ndarray:
        """Features of texts, each distinct one encoded once, shape (n, d_text)."""
        places: dict[str, int] = {}
        rows = np.array([places.setdefault(text, len(places)) for text in texts])
        tokens = [self.encoders.model.tokenize(text) for text in places]
        distinct = self._encode_shards(
            lambda some: self.encoders.model.text_features(tokens[some], self._batch_size), len(tokens), name
        )
        return distinct[rows]

    def _encode_shards(self, encode: Callable[[slice], np.ndarray], n: int, name: str) -> np.ndarray:
        """Make this process's shards, wait for the others', and merge all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        starts = range(0, n, SHARD_SIZE)
        paths = [self.folder / f"{name.replace(' ', '-')}-{start:08d}.npy" for start in starts]
        mine = list(zip(starts, paths, strict=True))
        if self._accelerator:
            mine = mine[self._accelerator.process_index :: self._accelerator.num_processes]
        for start, path in self._progress(mine, desc=f"encoding {name}", unit="shard"):
            if not path.is_file():
                shard = encode(slice(start, min(n, start + SHARD_SIZE)))
                write_atomically(path, functools.partial(np.save, arr=shard))
        if self._accelerator:
            self._accelerator.wait_for_everyone()
        features: np.ndarray = np.concatenate([np.load(path) for path in paths])
        return features
