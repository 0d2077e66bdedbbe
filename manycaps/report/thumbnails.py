"""Small pictures inside a page."""

import base64
import io

from manycaps.comparison.systems import SystemRow

# Longer side of a thumbnail, in pixels.
LONGEST = 160

# Quality of its JPEG.
QUALITY = 70


def picture_of(row: SystemRow) -> str:
    """Return the image of a row as an img element; empty where it has none."""
    if row.image is None:
        return ""
    return f'<img src="{thumbnail(row.image, f"images of the id {row.id!r}")}" alt="" loading="lazy">'


def thumbnail(image: str | bytes, where: str = "images") -> str:
    """Return an image, a path or encoded bytes, as a data URL of a few kilobytes; `where` names it in messages."""
    # Only a page with images needs Pillow.
    from manycaps.kit.media_images import as_image_source, as_rgb_image

    small = as_rgb_image(as_image_source(image, where), where)
    small.thumbnail((LONGEST, LONGEST))
    file = io.BytesIO()
    small.save(file, format="JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
