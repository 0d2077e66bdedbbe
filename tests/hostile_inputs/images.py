"""Images that are damaged, of another kind than they say, or no images at all; each is row 2 of 4."""

import io
import pathlib
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL.Image

from tests.hostile_inputs.rule import Case, cases
from tests.modules.sample_inputs import small_checkpoint

# Formats in which a whole picture is written and then damaged; those that this Pillow has.
PIL.Image.init()
FORMATS = [
    f for f in ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP") if f in PIL.Image.SAVE
]

# Where files are truncated, as shares of their length.
SHARES = (0.02, 0.3, 0.6, 0.95)

PICTURE = np.random.default_rng(1).integers(0, 256, (40, 48, 3), dtype=np.uint8)


def encoded(kind: str, pictures: int = 1, **options: Any) -> bytes:
    """Return a picture as a file of a format, with more pages behind it if asked for."""
    file = io.BytesIO()
    first, *others = [PIL.Image.fromarray(np.roll(PICTURE, i, axis=0)) for i in range(pictures)]
    more = {"save_all": True, "append_images": others} if others else {}
    first.save(file, kind, **more, **options)
    return file.getvalue()


def damaged_second_page(kind: str) -> bytes:
    """Return two pages with rubbish in the second."""
    one, two = len(encoded(kind)), bytearray(encoded(kind, 2))
    for i in range(one + 8, len(two) - 8, 3):
        two[i] ^= 0xA5
    return bytes(two)


def png_chunks(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG file of given chunks."""
    body = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def png(width: int, height: int, pixels: bytes, *more: tuple[bytes, bytes]) -> bytes:
    """Return a grey PNG whose header may promise more than it holds."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return png_chunks((b"IHDR", header), *more, (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))


def tiff(entries: list[tuple[int, int, int, int]], tail: bytes = b"") -> bytes:
    """Return a TIFF of one page out of (tag, type, count, value)."""
    page = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return b"II*\0" + struct.pack("<I", 8) + page + struct.pack("<I", 0) + tail


def jpeg_with_exif(exif: bytes) -> bytes:
    """Return a JPEG whose EXIF block is as given."""
    whole = encoded("JPEG")
    block = b"Exif\0\0" + exif
    return whole[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + whole[2:]


def closed_image(folder: pathlib.Path) -> PIL.Image.Image:
    """Return a PIL image whose file was closed before its pixels were read."""
    path = folder / "closed.png"
    path.write_bytes(encoded("PNG"))
    image = PIL.Image.open(path)
    image.close()
    return image


def image_of_deleted_file(folder: pathlib.Path) -> PIL.Image.Image:
    """Return a PIL image whose file was truncated before its pixels were read."""
    path = folder / "gone.png"
    path.write_bytes(encoded("PNG"))
    image = PIL.Image.open(path)
    path.write_bytes(b"")
    return image


class UnreadableImage(PIL.Image.Image):
    """An image whose pixels cannot be had."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._size, self._mode, self.error = (8, 8), "RGB", error

    def load(self) -> Any:
        raise self.error


def with_image(make: Callable[[pathlib.Path], Any]) -> Callable[..., dict[str, Any]]:
    """Return columns whose third image is the hostile one."""

    def given(folder: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        images = list(columns["images"])
        images[2] = make(folder)
        return {**columns, "images": images}

    return given


def with_image_sets(make: Callable[[pathlib.Path], Any], *, is_column: bool = False) -> Callable[..., dict[str, Any]]:
    """Return sets of images in place of captions, whose third candidate, or whole first column, is the hostile one."""

    def given(folder: pathlib.Path, _: dict[str, Any]) -> dict[str, Any]:
        images = make(folder) if is_column else [PICTURE, PICTURE, make(folder), PICTURE]
        clip = {"encoder": "clip", "checkpoint": small_checkpoint(), "device": "cpu"}
        return {"prediction_images": images, "reference_images": [PICTURE] * 4, **clip}

    return given


def in_file(content: bytes) -> Callable[[pathlib.Path], str]:
    """Return a maker of a file with this content."""

    def make(folder: pathlib.Path) -> str:
        (folder / "file").write_bytes(content)
        return str(folder / "file")

    return make


def truncated_files() -> dict[str, bytes]:
    """Return whole files of every format, cut off at several places."""
    return {
        f"{kind.lower()}_ends_at_{share}": (whole := encoded(kind))[: int(len(whole) * share)]
        for kind in FORMATS
        for share in SHARES
    }


FILES = truncated_files() | {
    "webp_two_pages": encoded("WEBP", 2),
    "png_two_pages": encoded("PNG", 2),
    "tiff_two_pages": encoded("TIFF", 2),
    "tiff_second_page_beyond_the_end": encoded("TIFF", 2)[:-40],
    "ppm_of_words": b"P3\n2 2\n255\nred green blue red green blue a b c d e f",
    "ppm_size_of_words": b"P6\nwide high\n255\n" + bytes(12),
    "ppm_size_negative": b"P6\n-2 2\n255\n" + bytes(12),
    "ppm_too_bright": b"P3\n1 1\n255\n900 900 900",
    "ppm_negative": b"P3\n1 1\n255\n-1 0 0",
    "ppm_maximum_0": b"P6\n2 2\n0\n" + bytes(12),
    "ppm_maximum_of_words": b"P6\n2 2\nmany\n" + bytes(12),
    "ppm_size_long": b"P6\n" + b"9" * 40 + b" 1\n255\n",
    "ppm_header_only": b"P6\n",
    "pbm_of_words": b"P1\n3 2\nblack white",
    "pbm_twos": b"P1\n3 2\n2 2 2 2 2 2",
    "pgm_of_words": b"P2\n2 2\n255\none two three four",
    "pfm_not_a_number": b"Pf\n1 1\n-1.0\n" + struct.pack("<f", float("nan")),
    "pfm_scale_of_words": b"Pf\n1 1\nsmall\n" + bytes(4),
    "pam_unknown": b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 9\nMAXVAL 255\nTUPLTYPE ODD\nENDHDR\n" + bytes(9),
    "tiff_without_tags": tiff([]),
    "tiff_without_size": tiff([(258, 3, 1, 8)]),
    "tiff_page_at_itself": b"II*\0" + struct.pack("<I", 4),
    "tiff_compression_unknown": tiff(
        [(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 1, 8), (259, 3, 1, 60000), (273, 4, 1, 8)]
    ),
    "tiff_size_0": tiff([(256, 3, 1, 0), (257, 3, 1, 0), (258, 3, 1, 8), (262, 3, 1, 1)]),
    "tiff_size_of_text": tiff([(256, 2, 4, 0x41414141), (257, 2, 4, 0x41414141), (262, 3, 1, 1)]),
    "png_of_100000_sides": png(100_000, 100_000, b""),
    "png_size_0": png(0, 0, b""),
    "png_too_few_pixels": png(8, 8, bytes(9)),
    "png_no_pixels": png_chunks((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)), (b"IEND", b"")),
    "png_header_only": png_chunks((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))),
    "png_pixels_not_compressed": png_chunks(
        (b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)), (b"IDAT", b"nothing"), (b"IEND", b"")
    ),
    "png_text_that_explodes": png(8, 8, bytes(72), (b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 26)))),
    "png_wrong_sum": encoded("PNG").replace(b"IDAT", b"IDAX", 1),
    "png_bits_7": png_chunks((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 7, 0, 0, 0, 0)), (b"IEND", b"")),
    "gif_without_frames": b"GIF89a" + struct.pack("<HHBBB", 4, 4, 0, 0, 0) + b";",
    "gif_size_0": b"GIF89a" + struct.pack("<HHBBB", 0, 0, 0, 0, 0) + b",\0\0\0\0\0\0\0\0\0\x02\x00;",
    "bmp_of_negative_size": b"BM"
    + struct.pack("<IHHI", 54, 0, 0, 54)
    + struct.pack("<IiiHHIIiiII", 40, -4, 4, 1, 24, *[0] * 6),
    "bmp_depth_17": b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 4, 4, 1, 17, *[0] * 6),
    "webp_of_riff_only": b"RIFF\x04\0\0\0WEBP",
    "jpeg_of_marks_only": b"\xff\xd8\xff\xd9",
    "jpeg_of_size_0": b"\xff\xd8\xff\xc0\0\x11\x08\0\0\0\0\x03\x01\x11\0\x02\x11\0\x03\x11\0\xff\xd9",
    "text": b"a dog runs on the beach",
    "html": b"<html><body>404 Not Found</body></html>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
    "pdf": b"%PDF-1.4\n",
    "zip": b"PK\x03\x04" + bytes(40),
    "zeros": bytes(4096),
    "one_byte": b"\x89",
    "mp4": b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom",
    "avif_box_only": b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf",
    "jpeg2000_box_only": b"\0\0\0\x0cjP  \r\n\x87\n",
    "ico": b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0" + bytes(20),
}
ODD_VALUES: dict[str, Callable[[pathlib.Path], Any]] = {
    "closed": closed_image,
    "file_emptied": image_of_deleted_file,
    "none": lambda _: None,
    "number": lambda _: 3,
    "nan": lambda _: float("nan"),
    "true": lambda _: True,
    "object": lambda _: object(),
    "list_of_numbers": lambda _: [[1, 2], [3, 4]],
    "empty_dict": lambda _: {},
    "dict_of_nothing": lambda _: {"bytes": None, "path": None},
    "dict_with_bytes_of_text": lambda _: {"bytes": "text", "path": None},
    "dict_with_bytes_of_number": lambda _: {"bytes": 5, "path": None},
    "dict_with_path_of_number": lambda _: {"path": 5},
    "dict_with_other_keys": lambda _: {"image": b"x"},
    "dict_in_dict": lambda _: {"bytes": {"bytes": b"x"}},
    "empty_bytes": lambda _: b"",
    "empty_path": lambda _: "",
    "missing_file": lambda folder: str(folder / "missing.png"),
    "folder": str,
    "path_of_5000_letters": lambda folder: str(folder / ("a" * 5000)),
    "path_of_5000_parts": lambda folder: str(folder) + "/a" * 5000,
    "path_with_nul": lambda folder: f"{folder}/a\0b.png",
    "path_with_surrogate": lambda folder: f"{folder}/\ud800.png",
    "path_of_bytes_in_dict": lambda _: {"path": b"missing.png"},
    "web_address": lambda _: "https://example.org/dog.png",
    "file_address": lambda folder: f"file://{folder}/dog.png",
    "link_to_itself": lambda folder: (folder / "link").symlink_to(folder / "link") or str(folder / "link"),
    "dev_null": lambda _: "/dev/null",
    "floats": lambda _: PICTURE / 1.0,
    "floats_nan": lambda _: np.full((8, 8, 3), np.nan),
    "channels_at_both_ends": lambda _: np.zeros((3, 8, 3), np.uint8),
    "two_channels": lambda _: PICTURE[:, :, :2],
    "five_dimensions": lambda _: np.zeros((1, 1, 1, 8, 8), np.uint8),
    "no_dimension": lambda _: np.array(7, np.uint8),
    "no_pixel": lambda _: np.zeros((0, 8, 3), np.uint8),
    "of_objects": lambda _: np.array([[None]], dtype=object),
    "of_words": lambda _: np.array([["a"]]),
    "of_bool": lambda _: np.ones((8, 8), bool),
    "of_complex": lambda _: np.ones((8, 8), complex),
    "of_int64": lambda _: PICTURE.astype(np.int64),
    "masked": lambda _: np.ma.masked_array(PICTURE, PICTURE > 100),
    "pil_floats": lambda _: PIL.Image.fromarray(np.full((8, 8), np.inf, np.float32)),
    "pil_lab": lambda _: PIL.Image.new("LAB", (8, 8)),
    "pil_empty": lambda _: PIL.Image.new("RGB", (0, 8)),
    "pil_32_bit": lambda _: PIL.Image.fromarray(np.full((8, 8), 70_000, np.int32)),
    "pil_negative": lambda _: PIL.Image.fromarray(np.full((8, 8), -1, np.int32)),
    **{
        f"pil_raises_{type(error).__name__}": lambda _, error=error: UnreadableImage(error)
        for error in (
            RuntimeError("no"),
            ValueError("no"),
            KeyError("no"),
            AttributeError("no"),
            AssertionError("no"),
            struct.error("no"),
            OSError("no"),
            ZeroDivisionError("no"),
            TypeError("no"),
            MemoryError("no"),
        )
    },
}


def damaged_pixels(kind: str) -> bytes:
    """Return a file whose last part is inverted, which a decoder may read as another picture."""
    whole = bytearray(encoded(kind))
    half = len(whole) // 2
    whole[half:] = bytes(byte ^ 0xFF for byte in whole[half:])
    return bytes(whole)


# Odd images that a decoder may read: finite numbers, or a clear refusal.
RIGHT_VALUES: dict[str, Callable[[pathlib.Path], Any]] = {
    **{f"{kind.lower()}_pixels_damaged": lambda _, kind=kind: damaged_pixels(kind) for kind in FORMATS},
    "exif_of_rubbish": lambda _: jpeg_with_exif(b"\xff" * 40),
    "exif_orientation_of_text": lambda _: jpeg_with_exif(tiff([(274, 2, 4, 0x41414141)])),
    "exif_orientation_99": lambda _: jpeg_with_exif(tiff([(274, 3, 1, 99)])),
    "exif_truncated": lambda _: jpeg_with_exif(b"II*\0\x08\0\0\0\x05\0"),
    "exif_far_offset": lambda _: jpeg_with_exif(b"II*\0\xff\xff\xff\x7f"),
    "gif_second_page_damaged": lambda _: damaged_second_page("GIF"),
    "tiff_second_page_damaged": lambda _: damaged_second_page("TIFF"),
    "exif_empty": lambda _: jpeg_with_exif(b""),
}

WHOLE_COLUMNS: dict[str, Any] = {
    "one_path": "dog.png",
    "bytes": b"GIF89a",
    "number": 4,
    "one_array": PICTURE,
    "dict": {"a": 1},
    "empty": [],
    "too_few": [PICTURE] * 3,
    "too_many": [PICTURE] * 5,
    "object": object(),
    "nothing": None,
}

CASES = {
    **cases(["pac_score"], "file_{}", FILES, lambda m, c: Case(m, with_image(lambda _: c), "images[2]: ")),
    **cases(["ref_pac_score"], "path_{}", FILES, lambda m, c: Case(m, with_image(in_file(c)), "images[2]: ")),
    **cases(["pac_score"], "{}", ODD_VALUES, lambda m, make: Case(m, with_image(make), "images[2]: ")),
    **cases(["pac_score"], "{}", RIGHT_VALUES, lambda m, make: Case(m, with_image(make))),
    **cases(
        ["pac_score", "ref_pac_score"],
        "column_{}",
        WHOLE_COLUMNS,
        lambda m, value: Case(m, lambda _, columns: {**columns, "images": value}, "images"),
    ),
    **cases(
        ["mmd"], "{}", ODD_VALUES, lambda m, make: Case(m, with_image_sets(make), "prediction_images[2]: ", adds=False)
    ),
    **cases(
        ["mmd"],
        "column_{}",
        # Sets may have any size.
        {name: value for name, value in WHOLE_COLUMNS.items() if name not in ("too_few", "too_many")},
        lambda m, value: Case(m, with_image_sets(lambda _: value, is_column=True), "prediction_images: ", adds=False),
    ),
}
