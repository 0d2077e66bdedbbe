"""Any image or array of pixels to RGB: exactly the pixels given, one rule for orientation, and no network access."""

import contextlib
import functools
import inspect
import io
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import PIL.Image
import PIL.ImageOps

from .arrays import as_numbers
from .errors import InputError, InputTypeError, as_input_errors, quote_path, reason_of
from .files import inline_bytes, open_regular_file

# Channels of an image: grey; red, green and blue; and these with alpha.
CHANNELS = (1, 3, 4)

# What Pillow may open, as far as its build can (AVIF is optional). Formats that start other programs (EPS) and those
# without photographs are left out.
FILE_FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TGA", "TIFF", "WEBP")

# A telephone's MPO file is a photograph followed by previews of it; the first picture is the photograph.
LED_BY_THE_PHOTOGRAPH = frozenset({"MPO"})

# Largest image file: many times a photograph of 100 million pixels.
LARGEST_IMAGE_FILE = 1 << 29

# Longest side that an image may have after its shorter side is scaled; beyond, only the part that is kept is computed.
MAX_SCALED_SIDE = 16_384

# Brightest value of 16-bit pixels, per level of 8-bit ones: 65535 / 255.
SIXTEEN_BIT_STEP = 257

ImageSource = bytes | PIL.Image.Image | np.ndarray


# What to do about a file that cannot be read, and about a damaged one.
CHECK_PATH = "Check the path; relative paths start at the working directory."
FETCH_AGAIN = "Fetch the file again, or leave the row out."


def unwrap_value(value: Any) -> Any:
    """Return the content of a value of an Arrow column, of an undecoded column of `datasets`, or of a file in memory.

    >>> unwrap_value({"bytes": None, "path": "dog.png"})
    'dog.png'
    """
    if hasattr(value, "as_py"):  # a value of an Arrow column
        value = value.as_py()
    if isinstance(value, io.BytesIO):
        return value.getvalue()
    if not isinstance(value, Mapping) or not {"bytes", "path"} >= set(value) or not any(value.values()):
        return value
    content, path = value.get("bytes"), value.get("path")
    if content:
        return content if isinstance(content, bytes | bytearray | memoryview) else value
    return path if isinstance(path, str | os.PathLike) else value


def decode_values(values: Iterable[object], column: str, what: str) -> Iterator[object]:
    """Yield a column, and name the row that a library cannot decode."""
    row = 0
    try:
        for value in values:
            yield value
            row += 1
    except Exception as error:
        if inspect.isgenerator(values) or isinstance(error, ImportError):
            raise
        got = f"{type(error).__name__} ({reason_of(error)})"
        raise InputError(f"{column}[{row}]", f"{what} that can be decoded", got, FETCH_AGAIN) from error


def is_one_image(value: object) -> bool:
    """Return whether a value that may be iterated over is one image, or the file of one, and no column of them.

    >>> is_one_image("dog.png"), is_one_image(np.zeros((8, 8, 3))), is_one_image(np.zeros((2, 8, 8, 3)))
    (True, True, False)
    """
    kinds = (str, bytes, bytearray, os.PathLike, Mapping, set, frozenset, PIL.Image.Image, io.IOBase)
    dimensions: Any = getattr(value, "ndim", None) if is_array(value) else None
    return isinstance(value, kinds) or dimensions in (0, 2, 3)


def as_image_source(image: object, where: str) -> ImageSource:
    """Return the encoded bytes of an image where it has any, else a PIL image or an array; nothing is decoded yet.

    `image` is a path, encoded bytes, also in an `io.BytesIO`, as base64 or in a data URL, a PIL image, an array or
    tensor as `as_pixels` takes, or a dict with "bytes" and "path" as undecoded `datasets.Image` columns have; `where`
    is column and row. Raises TypeError for any other kind; ValueError for a path that cannot be read, a web address, a
    wrong shape or type.

    >>> as_image_source({"bytes": b"GIF89a", "path": None}, "images[0]")
    b'GIF89a'
    """
    image = unwrap_value(image)
    inline = inline_bytes(image, where) if isinstance(image, str) else None
    if inline is not None:
        return inline
    if isinstance(image, str | os.PathLike):
        return _file_bytes(os.fspath(image), where)
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, PIL.Image.Image):
        return image
    if is_array(image):
        return as_pixels(as_numpy(image, where), where)
    expected = "an image (path, bytes, io.BytesIO, PIL image, array or tensor)"
    raise InputTypeError(where, expected, type(image).__name__, "Give the path of its file, or its pixels.")


def as_rgb_image(source: ImageSource, where: str) -> PIL.Image.Image:
    """Decode an image to 8-bit RGB, upright.

    Orientation marks (EXIF) are applied whatever the kind of input, as `datasets` does when it decodes. Alpha is
    dropped, not blended; a palette is looked up; grey is repeated; 16-bit grey is divided by 257; CMYK is converted
    by Pillow's plain formula.

    >>> as_rgb_image(np.array([[0, 255]], dtype=np.uint8), "images[0]").getpixel((1, 0))
    (255, 255, 255)
    """
    image = _open_image(source, where)
    limit = PIL.Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise _too_large(where, f"{image.width} x {image.height}")
    with _damage_named(image, where):
        has_more_frames = image.format not in LED_BY_THE_PHOTOGRAPH and getattr(image, "is_animated", False)
    if has_more_frames:
        fix = "Give one frame, for example image.copy() after image.seek(0)."
        raise InputError(where, "a still image", f"{image.format} with several frames", fix)
    if isinstance(source, bytes):
        image = _open_image(source, where)  # as if no other frame had been looked for
    with _damage_named(image, where):
        image = PIL.ImageOps.exif_transpose(image)
        image.load()
    return _as_rgb(image, where)


def as_model_pixels(image: PIL.Image.Image, size: int) -> np.ndarray:
    """Scale the shorter side to `size`, bicubic, and cut out the middle: uint8, shape (size, size, 3).

    This is CLIP's preprocessing before normalisation.

    >>> as_model_pixels(PIL.Image.new("RGB", (4, 2), (1, 2, 3)), 2).tolist()
    [[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [1, 2, 3]]]
    """
    shorter = min(image.size)
    # torchvision's Resize rounds down, its CenterCrop rounds half to even.
    width, height = (size * side // shorter for side in image.size)
    left, top = round((width - size) / 2), round((height - size) / 2)
    if max(width, height) <= MAX_SCALED_SIDE:
        scaled = image.resize((width, height), PIL.Image.Resampling.BICUBIC)
        return np.asarray(scaled.crop((left, top, left + size, top + size)))
    across, down = image.width / width, image.height / height
    box = (left * across, top * down, (left + size) * across, (top + size) * down)
    return np.asarray(image.resize((size, size), PIL.Image.Resampling.BICUBIC, box=box))


def scaler_name() -> str:
    """Return the library that scales images and its version, for a signature.

    Its bicubic filter changed with version 13 by up to 2 grey levels, and PAC-S with it by up to 1.3e-4.
    """
    return f"pillow-{PIL.__version__}"


def check_no_address(name: str, where: str) -> None:
    """Raise if a path is a web address, so that a data set cannot cause network requests."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", name) and not pathlib.PureWindowsPath(name).drive:
        raise InputError(where, "a local path", f"the address {quote_path(name)}", "Download it first.")


@functools.cache
def file_formats() -> tuple[str, ...]:
    """Return those of `FILE_FORMATS` that this build of Pillow opens."""
    PIL.Image.init()
    return tuple(name for name in FILE_FORMATS if name in PIL.Image.OPEN)


def _file_bytes(path: str | bytes, where: str) -> bytes:
    name = os.fsdecode(path)
    check_no_address(name, where)
    named = as_input_errors(where, "an image file", CHECK_PATH, quote_path(name))
    with named, open_regular_file(name, LARGEST_IMAGE_FILE) as file:
        return file.read()


def _open_image(source: ImageSource, where: str) -> PIL.Image.Image:
    if isinstance(source, PIL.Image.Image):
        if 0 in source.size:
            raise InputError(where, "at least one pixel", f"a PIL image of {source.size}", "Leave it out.")
        return source
    if isinstance(source, np.ndarray):
        return PIL.Image.fromarray(source)
    try:
        return PIL.Image.open(io.BytesIO(source), formats=file_formats())
    except PIL.Image.DecompressionBombError as error:
        raise _too_large(where, "more than twice as many") from error
    except Exception as error:  # UnidentifiedImageError, and what broken headers cause
        got = f"{len(source):,} bytes that begin with {source[:8]!r} ({type(error).__name__})"
        raise InputError(where, "an image", got, f"Give one of the formats {', '.join(file_formats())}.") from error


def _too_large(where: str, got: str) -> InputError:
    advice = "Scale the image down, or raise PIL.Image.MAX_IMAGE_PIXELS if you trust it."
    return InputError(where, f"at most {PIL.Image.MAX_IMAGE_PIXELS:,} pixels", got, advice)


def _damage_named(image: PIL.Image.Image, where: str) -> contextlib.AbstractContextManager[None]:
    """Turn the errors that Pillow raises for damaged pixels, which differ by format, into the row's message."""
    return as_input_errors(where, "a whole image", FETCH_AGAIN, f"a damaged {image.format or 'image'}")


def _as_rgb(image: PIL.Image.Image, where: str) -> PIL.Image.Image:
    if image.mode.startswith("I"):
        image = _as_eight_bits(image, where)
    elif image.mode in ("F", "LAB"):
        raise InputError(where, "8-bit or 16-bit pixels", f"Pillow's mode {image.mode}", "Convert the image to RGB.")
    return image if image.mode == "RGB" else image.convert("RGB")


def _as_eight_bits(image: PIL.Image.Image, where: str) -> PIL.Image.Image:
    """Scale 16-bit grey to 8 bits; Pillow's own conversion would clip everything above 255."""
    values: np.ndarray[Any, Any] = np.asarray(image)
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > 65535:
        raise InputError(where, "16-bit pixels from 0 to 65535", f"{low} to {high}", "Convert the image to RGB.")
    return PIL.Image.fromarray(np.rint(values / SIXTEEN_BIT_STEP).astype(np.uint8))


def is_array(value: object) -> bool:
    """Return whether a value is an array or a tensor: of NumPy, torch, torchvision or any library that NumPy can read.

    >>> is_array(np.zeros(2)), is_array([0.0, 0.0])
    (True, False)
    """
    return hasattr(value, "__array__") and hasattr(value, "ndim")


def as_numpy(value: object, where: str) -> np.ndarray:
    """Return an array or a tensor as a NumPy array: also one with gradients or on an accelerator, none with a mask."""
    return as_numbers(value, where, "an array of numbers", "Convert it to a NumPy array, without a mask.")


def as_pixels(array: np.ndarray, where: str) -> np.ndarray:
    """Return the pixels of an image as 8-bit levels: uint8, (height, width), or (height, width, 3 or 4).

    Floats are multiplied by 255 and rounded, so that k / 255 is level k, in any type of floats that NumPy has. `array`
    is uint8, or floats from 0 to 1; shape (height, width, c) or (c, height, width) with c of `CHANNELS`, or of uint8
    also (height, width). Raises ValueError for another type or shape, no pixels, floats out of range, or a shape whose
    channels may be at either end.

    >>> as_pixels(np.array([[[0.0, 1.0]], [[0.2, 0.2]], [[0.0, 0.0]]]), "images[0]").tolist()
    [[[0, 51, 0], [255, 51, 0]]]
    """
    shape, is_float = array.shape, np.issubdtype(array.dtype, np.floating)
    has_channels = array.ndim == 3 and (shape[0] in CHANNELS or shape[2] in CHANNELS)
    if not (has_channels and is_float) and not (array.dtype == np.uint8 and (has_channels or array.ndim == 2)):
        got = f"{array.dtype} of shape {shape}"
        fix = "Give shape (height, width, 3) or (3, height, width), and levels from 0 to 255 as uint8."
        raise InputError(where, "an image of uint8 or of floats from 0 to 1", got, fix)
    if array.size == 0:
        raise InputError(where, "at least one pixel", f"an array of shape {shape}", "Leave the row out.")
    if has_channels:
        array = _channels_last(array, where)
    if is_float:
        array = _as_levels(array, where)
    return array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _channels_last(array: np.ndarray, where: str) -> np.ndarray:
    shape = array.shape
    if shape[0] in CHANNELS and shape[2] in CHANNELS:
        fix = "Give a PIL image: PIL.Image.fromarray of a uint8 NumPy array of shape (height, width, 3)."
        raise InputError(where, "channels at one end of the shape", f"{shape}, with either end possible", fix)
    return array if shape[2] in CHANNELS else array.transpose(1, 2, 0)


def _as_levels(array: np.ndarray, where: str) -> np.ndarray:
    """Floats from 0 to 1 as levels from 0 to 255."""
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= 1):  # or NaN
        fix = "Give levels from 0 to 255 as uint8, undo a normalisation, and clip what a filter left outside."
        raise InputError(where, "floats from 0 to 1", f"{low:g} to {high:g}", fix)
    return np.rint(array.astype(np.float64) * 255).astype(np.uint8)
