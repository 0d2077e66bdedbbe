# Vendored from manycaps/shared_image_input.py. Edit it there, then run `make format`.
"""Any kind of image to RGB: exactly the pixels given, one rule for orientation, and no network from a data column."""

import io
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import PIL.Image
import PIL.ImageOps

# What Pillow may open, as far as its build can (AVIF is optional). Left out are formats that start other programs (EPS)
# and those nobody keeps photographs in.
PIL.Image.init()
FILE_FORMATS = tuple(
    name
    for name in ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TGA", "TIFF", "WEBP")
    if name in PIL.Image.OPEN
)

# A telephone's MPO file is a photograph followed by previews of it; the first picture is the photograph.
FORMATS_LED_BY_THE_PHOTOGRAPH = frozenset({"MPO"})

# Longest side that an image may have after its shorter side is scaled; beyond, only the part that is kept is computed.
MAX_SCALED_SIDE = 16_384

# Brightest value of 16-bit pixels, per level of 8-bit ones: 65535 / 255.
SIXTEEN_BIT_STEP = 257

ImageSource = bytes | PIL.Image.Image | np.ndarray


def as_image_source(image: object, where: str) -> ImageSource:
    """Return the encoded bytes of an image where it has any, else the picture itself; nothing is decoded yet.

    Args:
        image: a path, encoded bytes, a PIL image, a uint8 array of shape (height, width) or (height, width, 1, 3 or
            4), or a dict with "bytes" and "path" as undecoded `datasets.Image` columns have.
        where: column and row, for the messages.

    Returns:
        bytes, PIL image or array.

    Raises:
        TypeError: any other kind.
        ValueError: a path that cannot be read, a web address, an array of a wrong shape or type.

    >>> as_image_source({"bytes": b"GIF89a", "path": None}, "images[0]")
    b'GIF89a'
    """
    if hasattr(image, "as_py"):  # a value of an Arrow column
        image = image.as_py()
    if isinstance(image, Mapping) and {"bytes", "path"} >= set(image) and any(image.values()):
        image = image.get("bytes") or image.get("path")
    if isinstance(image, str | os.PathLike):
        return _file_bytes(os.fspath(image), where)
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, np.ndarray):
        return _checked_array(image, where)
    if isinstance(image, PIL.Image.Image):
        return image
    raise TypeError(
        f"{where}: expected an image (path, bytes, PIL image or uint8 array), got {type(image).__name__}. Convert it, "
        "for example with PIL.Image.fromarray."
    )


def as_rgb_image(source: ImageSource, where: str) -> PIL.Image.Image:
    """Decode an image to 8-bit RGB, upright.

    Orientation marks (EXIF) are applied whatever the kind of input, as `datasets` does when it decodes. Alpha is
    dropped, not blended; a palette is looked up; grey is repeated; 16-bit grey is divided by 257; CMYK is converted
    by Pillow's plain formula.

    Args:
        source: what `as_image_source` returned.
        where: column and row, for the messages.

    Returns:
        PIL image of mode RGB.

    Raises:
        ValueError: damaged, animated, too large, or with pixels that have no 8-bit meaning.

    >>> as_rgb_image(np.array([[0, 255]], dtype=np.uint8), "images[0]").getpixel((1, 0))
    (255, 255, 255)
    """
    image = _opened(source, where)
    limit = PIL.Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise ValueError(
            f"{where}: expected at most {limit:,} pixels, got {image.width} x {image.height}. Scale the image down, or "
            "raise PIL.Image.MAX_IMAGE_PIXELS if you trust it."
        )
    n_frames = getattr(image, "n_frames", 1)
    if n_frames > 1 and image.format not in FORMATS_LED_BY_THE_PHOTOGRAPH:
        raise ValueError(
            f"{where}: expected a still image, got {image.format} with {n_frames} frames. Give one frame, for example "
            "image.copy() after image.seek(0)."
        )
    try:
        return _as_rgb(PIL.ImageOps.exif_transpose(image), where)
    except (OSError, SyntaxError, EOFError, IndexError, MemoryError) as error:  # what Pillow's decoders raise
        raise ValueError(
            f"{where}: expected a whole image, got a damaged {image.format or 'image'} ({error}). Fetch the file again."
        ) from error


def as_model_pixels(image: PIL.Image.Image, size: int) -> np.ndarray:
    """Scale the shorter side to `size`, bicubic, and cut out the middle: CLIP's preprocessing before normalisation.

    Args:
        image: RGB image.
        size: side of the square.

    Returns:
        uint8 array, shape (size, size, 3).

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


def _file_bytes(path: str | bytes, where: str) -> bytes:
    """Read a file; a web address is refused, so that a data set cannot make this machine call another."""
    name = os.fsdecode(path)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", name) and not pathlib.PureWindowsPath(name).drive:
        raise ValueError(f"{where}: expected a local path, got the address {name[:80]!r}. Download it first.")
    try:
        return pathlib.Path(name).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"{where}: expected an image file, got {name[:80]!r} ({reason}). Check the path; relative paths start at "
            "the working directory."
        ) from error


def _checked_array(array: np.ndarray, where: str) -> np.ndarray:
    """Return a uint8 array of shape (height, width) or (height, width, 3 or 4)."""
    shape = array.shape
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or (array.ndim == 3 and shape[2] not in (1, 3, 4)):
        raise ValueError(
            f"{where}: expected a uint8 array of shape (height, width, 3), got {array.dtype} of shape {shape}. Scale "
            "floats to 0-255, and move the channels of a (3, height, width) array to the end."
        )
    if array.size == 0:
        raise ValueError(f"{where}: expected at least one pixel, got an array of shape {shape}. Leave the row out.")
    return array[:, :, 0] if array.ndim == 3 and shape[2] == 1 else array


def _opened(source: ImageSource, where: str) -> PIL.Image.Image:
    """Open an image without decoding its pixels."""
    if isinstance(source, PIL.Image.Image):
        if 0 in source.size:
            raise ValueError(f"{where}: expected at least one pixel, got a PIL image of {source.size}. Leave it out.")
        return source
    if isinstance(source, np.ndarray):
        return PIL.Image.fromarray(source)
    try:
        return PIL.Image.open(io.BytesIO(source), formats=FILE_FORMATS)
    except Exception as error:  # UnidentifiedImageError, DecompressionBombError, and what broken headers cause
        raise ValueError(
            f"{where}: expected an image, got {len(source):,} bytes that begin with {source[:8]!r} "
            f"({type(error).__name__}). Give a file of one of the formats {', '.join(FILE_FORMATS)}."
        ) from error


def _as_rgb(image: PIL.Image.Image, where: str) -> PIL.Image.Image:
    """Decode, and convert to 8-bit RGB."""
    image.load()
    if image.mode.startswith("I"):
        image = _as_eight_bits(image, where)
    elif image.mode in ("F", "LAB"):
        raise ValueError(
            f"{where}: expected 8-bit or 16-bit pixels, got Pillow's mode {image.mode}. Convert the image to RGB."
        )
    return image if image.mode == "RGB" else image.convert("RGB")


def _as_eight_bits(image: PIL.Image.Image, where: str) -> PIL.Image.Image:
    """Scale 16-bit grey to 8 bits; Pillow's own conversion would cut everything above 255 off."""
    values: np.ndarray[Any, Any] = np.asarray(image)
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > 65535:
        raise ValueError(
            f"{where}: expected 16-bit pixels from 0 to 65535, got {low} to {high}. Convert the image to RGB."
        )
    return PIL.Image.fromarray(np.rint(values / SIXTEEN_BIT_STEP).astype(np.uint8))
