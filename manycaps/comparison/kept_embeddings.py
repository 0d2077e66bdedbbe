"""Embeddings that outlast a comparison: a folder with a file for each encoder, so that only new captions are embedded.

A file has the SHA-256 of each text and its vector, as arrays of NumPy that hold no objects. Its name is a digest of the
encoder's files, of its number format and device, and of the libraries that run it: vectors of another encoder, or of
another version, are never taken for these.
"""

import contextlib
import hashlib
import importlib.metadata
import pathlib
import zipfile
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from manycaps.files.saved_files import make_folder, write_atomically
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.files import file_sha256
from manycaps.kit.vectors_models import RememberedFeatures, is_word_vectors, model_folder
from manycaps.kit.vectors_sentences import REMEMBERED_BYTES, SentenceEncoder

# Bytes of vectors in a file, those used last: 350,000 captions in 384 dimensions.
MOST_KEPT = 1 << 29

# Libraries whose versions decide the last digits.
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")


class KeptFeatures(RememberedFeatures):
    """The vectors that a model remembers, with those that a file holds behind them."""

    def __init__(self, n_bytes: int, kept: Mapping[bytes, np.ndarray]) -> None:
        """Take the vectors of a file, by the digests of their texts."""
        super().__init__(n_bytes)
        self._kept = kept
        # Those of this comparison, and whether one of them is in no file.
        self.used: dict[bytes, np.ndarray] = {}
        self.has_new = False
        self._n_used_bytes = 0

    def get(self, key: Hashable) -> Any:
        """Return what is remembered, or else what the file holds."""
        value = super().get(key)
        if not isinstance(key, str):
            return value
        digest = digest_of(key)
        if value is None:
            value = self._kept.get(digest)
        if value is not None:
            self._use(digest, value)
        return value

    def put(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Remember a value; vectors of texts are kept."""
        super().put(key, value, n_bytes)
        if isinstance(key, str):
            self._use(digest_of(key), value)
            self.has_new = True

    def _use(self, digest: bytes, vector: np.ndarray) -> None:
        if digest not in self.used and self._n_used_bytes < MOST_KEPT:
            self.used[digest] = vector
            self._n_used_bytes += vector.nbytes + len(digest)

    def all_vectors(self) -> dict[bytes, np.ndarray]:
        """Return the vectors of this comparison, and then of earlier ones, as far as `MOST_KEPT` goes."""
        vectors, n_bytes = dict[bytes, np.ndarray](), 0
        for digest, vector in {**self.used, **self._kept}.items():
            n_bytes += vector.nbytes + len(digest)
            if n_bytes > MOST_KEPT:
                break
            vectors[digest] = vector
        return vectors


@contextlib.contextmanager
def kept_embeddings(folder: pathlib.Path | None, options: Mapping[str, Any]) -> Iterator[None]:
    """Let all modules that use an encoder take vectors from a folder, in a `with` statement, and keep new ones there.

    Args:
        folder: made if it does not exist; None: nothing is kept.
        options: of the encoder, as modules are loaded with them. Word vectors are read, not computed, and not kept.

    Raises:
        ValueError, OSError: the folder cannot be written, or a file in it is no file of embeddings.
    """
    if folder is None or is_word_vectors(options["encoder"]):
        yield
        return
    path = make_folder(folder) / f"{_encoder_digest(options)}.npz"
    kept = KeptFeatures(REMEMBERED_BYTES, _read(path))
    encoder = SentenceEncoder()
    shared = encoder._load(options)  # held here, so that the modules find it
    before, shared.remembered = shared.remembered, kept
    try:
        yield
    finally:
        shared.remembered = before
        if kept.has_new:
            vectors = kept.all_vectors()
            write_atomically(path, lambda target: _write(target, vectors))


def digest_of(text: str) -> bytes:
    """Return the SHA-256 of a text, half surrogate pairs included."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _encoder_digest(options: Mapping[str, Any]) -> str:
    """Digest of all that decides the vectors."""
    folder, digest = model_folder(options["encoder"]), hashlib.sha256()
    parts = [options["dtype"], options["device"], *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".json", ".txt", ".model", ".safetensors"):
            parts.append(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}")
    digest.update("\n".join(parts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _write(path: pathlib.Path, vectors: Mapping[bytes, np.ndarray]) -> None:
    texts = np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(-1, hashlib.sha256().digest_size)
    with path.open("wb") as file:
        np.savez(file, texts=texts, vectors=np.stack(list(vectors.values())))


def _read(path: pathlib.Path) -> dict[bytes, np.ndarray]:
    """Vectors of a file by the digests of their texts; none without a file."""
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            texts, vectors = arrays["texts"], arrays["vectors"]
        if not (texts.dtype == np.uint8 and vectors.dtype == np.float32 and texts.shape[1:] == (32,)):
            raise ValueError("other arrays")
        if vectors.ndim != 2 or len(texts) != len(vectors) or not np.isfinite(vectors).all():
            raise ValueError("other vectors")
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(
            quote_path(path), "embeddings as --cache keeps them", type(error).__name__, "Delete the file."
        ) from None
    return {digest.tobytes(): vector for digest, vector in zip(texts, vectors, strict=True)}
