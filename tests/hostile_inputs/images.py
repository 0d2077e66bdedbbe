"""Images that are damaged, of another kind than they say, or no images at all; each is row 2 of 4."""

import io
import pathlib
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL.Image

from tests.hostile_inputs.rule import Case, beside, cases, third

# Formats in which a whole picture is written and then damaged; those that this Pillow has.
PIL.Image.init()
FORMATS = [
    f for f in ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP") if f in PIL.Image.SAVE
]

PICTURE = np.random.default_rng(1).integers(0, 256, (40, 48, 3), dtype=np.uint8)


def encode(kind: str, pictures: int = 1) -> bytes:
    """Return a picture as a file of a format, with more pages behind it if asked for."""
    file = io.BytesIO()
    first, *others = [PIL.Image.fromarray(np.roll(PICTURE, i, axis=0)) for i in range(pictures)]
    more = {"save_all": True, "append_images": others} if others else {}
    first.save(file, kind, **more)
    return file.getvalue()


def png(width: int, height: int, pixels: bytes, *more: tuple[bytes, bytes]) -> bytes:
    """Return a grey PNG whose header may promise more than it holds."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), *more, (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def tiff(entries: list[tuple[int, int, int, int]]) -> bytes:
    """Return a TIFF of one page out of (tag, type, count, value)."""
    page = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return b"II*\0" + struct.pack("<I", 8) + page + struct.pack("<I", 0)


def jpeg_with_exif(exif: bytes) -> bytes:
    """Return a JPEG whose EXIF block is as given."""
    whole = encode("JPEG")
    block = b"Exif\0\0" + exif
    return whole[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + whole[2:]


def closed_image(folder: pathlib.Path) -> PIL.Image.Image:
    """Return a PIL image whose file was closed before its pixels were read."""
    path = folder / "closed.png"
    path.write_bytes(encode("PNG"))
    image = PIL.Image.open(path)
    image.close()
    return image


class UnreadableImage(PIL.Image.Image):
    """An image whose pixels cannot be read."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._size, self._mode, self.error = (8, 8), "RGB", error

    def load(self) -> Any:
        raise self.error


def in_file(content: bytes) -> Callable[[pathlib.Path], str]:
    """Return a maker of a file with this content."""

    def make(folder: pathlib.Path) -> str:
        (folder / "file").write_bytes(content)
        return str(folder / "file")

    return make


# The cause of each is another one of those that a decoder finds, or overlooks.
FILES: dict[str, bytes] = {
    "jpeg_half": encode("JPEG")[: len(encode("JPEG")) // 2],
    "webp_two_pages": encode("WEBP", 2),
    "tiff_second_page_beyond_the_end": encode("TIFF", 2)[:-40],
    "ppm_size_negative": b"P6\n-2 2\n255\n" + bytes(12),
    "tiff_without_tags": tiff([]),
    "tiff_page_at_itself": b"II*\0" + struct.pack("<I", 4),
    "png_size_0": png(0, 0, b""),
    "png_text_that_explodes": png(8, 8, bytes(72), (b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 26)))),
    "png_wrong_sum": encode("PNG").replace(b"IDAT", b"IDAX", 1),
    "webp_of_riff_only": b"RIFF\x04\0\0\0WEBP",
    "html": b"<html><body>404 Not Found</body></html>",
    "zeros": bytes(4096),
    "mp4": b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom",
}

# What is no image, or none that can be read.
ODD_VALUES: dict[str, Callable[[pathlib.Path], Any]] = {
    "closed": closed_image,
    "none": lambda _: None,
    "nan": lambda _: float("nan"),
    "empty_dict": lambda _: {},
    "dict_with_bytes_of_text": lambda _: {"bytes": "text", "path": None},
    "dict_with_other_keys": lambda _: {"image": b"x"},
    "empty_bytes": lambda _: b"",
    "empty_path": lambda _: "",
    "missing_file": lambda folder: str(folder / "missing.png"),
    "file_of_rubbish": in_file(b"\x89"),
    "folder": str,
    "path_of_5000_letters": lambda folder: str(folder / ("a" * 5000)),
    "path_with_nul": lambda folder: f"{folder}/a\0b.png",
    "path_with_surrogate": lambda folder: f"{folder}/\ud800.png",
    "file_address": lambda folder: f"file://{folder}/dog.png",
    "link_to_itself": lambda folder: (folder / "link").symlink_to(folder / "link") or str(folder / "link"),
    "five_dimensions": lambda _: np.zeros((1, 1, 1, 8, 8), np.uint8),
    "no_dimension": lambda _: np.array(7, np.uint8),
    "of_objects": lambda _: np.array([[None]], dtype=object),
    "of_complex": lambda _: np.ones((8, 8), complex),
    "masked": lambda _: np.ma.masked_array(PICTURE, PICTURE > 100),
    "pil_infinite": lambda _: PIL.Image.fromarray(np.full((8, 8), np.inf, np.float32)),
    **{
        f"pil_raises_{error.__name__}": lambda _, error=error: UnreadableImage(error("no"))
        for error in (KeyError, AssertionError, struct.error, OSError, MemoryError)
    },
}

# Odd images that a decoder may read: finite numbers, or a clear refusal.
EXIF: dict[str, bytes] = {
    "exif_empty": b"",
    "exif_of_rubbish": b"\xff" * 40,
    "exif_orientation_99": tiff([(274, 3, 1, 99)]),
    "exif_truncated": b"II*\0\x08\0\0\0\x05\0",
}

WHOLE_COLUMNS: dict[str, Any] = {
    "bytes": b"GIF89a",
    "number": 4,
    "dict": {"a": 1},
    "empty": [],
    "too_many": [PICTURE] * 5,
    "object": object(),
}


def refusal(module: str, make: Callable[[pathlib.Path], Any]) -> Case:
    """Return a case whose third image is refused."""
    return Case(module, third("images", make), "images[2]: ")


CASES = {
    **cases(["pac_score"], "file_{}", FILES, lambda m, content: refusal(m, lambda _: content)),
    **cases(["ref_pac_score"], "{}", ODD_VALUES, refusal),
    **cases(["pac_score"], "{}", EXIF, lambda m, block: Case(m, third("images", lambda _: jpeg_with_exif(block)))),
    **cases(["pac_score"], "column_{}", WHOLE_COLUMNS, lambda m, value: Case(m, beside(images=value), "images")),
}
