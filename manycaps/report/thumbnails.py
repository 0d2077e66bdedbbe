"""Small pictures inside a page."""

import base64
import io

# Longer side of a thumbnail, in pixels.
LONGEST = 160

# Quality of its JPEG.
QUALITY = 70


def thumbnail(image: str | bytes) -> str:
    """Return an image as a data URL of a few kilobytes.

    Args:
        image: path, or encoded bytes.

    Returns:
        "data:image/jpeg;base64,...".

    Raises:
        ImportError: Pillow is not installed.
        OSError: the image cannot be read.
    """
    # Only a page with images needs Pillow.
    import PIL.Image
    import PIL.ImageOps

    with PIL.Image.open(io.BytesIO(image) if isinstance(image, bytes) else image) as opened:
        small = PIL.ImageOps.exif_transpose(opened).convert("RGB")
    small.thumbnail((LONGEST, LONGEST))
    file = io.BytesIO()
    small.save(file, format="JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
