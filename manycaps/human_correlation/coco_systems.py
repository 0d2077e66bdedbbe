"""Captioning systems on the COCO test set, ranked by a metric: Table 7 of Sarto et al. (2023).

https://arxiv.org/abs/2303.12112. The files are as for the COCO caption code: annotations of the images, and for each
system a list of {"image_id": ..., "caption": ...}.
"""

import pathlib
from collections.abc import Mapping
from typing import Any

from manycaps.files.caption_tables import BadRow, good_rows, open_source
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.files import read_json

# Folder of the images beside the files.
IMAGES_NAME = "images"

ADVICE = "Use the format of the COCO caption code."


def system_rows(folder: pathlib.Path) -> dict[str, list[dict[str, Any]]]:
    """Return the captions of each system, by the name of its file, all of the same images in the same order.

    The folder holds one JSON file with `images` and `annotations`, and one list of captions for each system. Rows have
    `img` (path), `cand` and `refs`.
    """
    contents = {path: read_json(path, "--data", ADVICE) for path in sorted(folder.glob("*.json"))}
    annotations = [path for path, content in contents.items() if isinstance(content, Mapping)]
    systems = [path for path, content in contents.items() if isinstance(content, list)]
    if len(annotations) != 1 or not systems:
        expected = f"one file of annotations and at least one list of captions in {quote_path(folder)}"
        raise InputError("--data", expected, f"{len(annotations)} and {len(systems)}", ADVICE)
    rows = {path: _rows_by_image(path, annotations[0]) for path in systems}
    images = list(rows[systems[0]])
    for path in systems:
        if set(rows[path]) != set(images):
            expected = f"captions of the {len(images)} images of {systems[0].name}"
            got = f"{len(rows[path])} others or fewer"
            raise InputError(quote_path(path), expected, got, "Give all systems the same images.")
    return {path.stem: [rows[path][image] for image in images] for path in systems}


def _rows_by_image(path: pathlib.Path, annotations: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Rows of a system by the ids of their images; images that it does not caption are left out."""
    by_image: dict[str, dict[str, Any]] = {}
    read = open_source([str(path)], [str(annotations)], optional=["image"]).rows()
    captioned = (row for row in read if not (isinstance(row, BadRow) and row.is_incomplete and row.file != str(path)))
    for row in good_rows(captioned):
        if len(row.predictions or []) != 1:
            raise InputError(quote_path(path), "one caption of each image", f"several of the image {row.id}", ADVICE)
        by_image[row.id] = {
            "img": str(path.parent / IMAGES_NAME / str(row.image or f"{row.id}.jpg")),
            "cand": (row.predictions or [""])[0],
            "refs": row.references,
        }
    return by_image
