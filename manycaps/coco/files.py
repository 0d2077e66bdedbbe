"""Files of COCO's captions: annotations and results as they are, without pycocotools."""

import collections
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from manycaps.kit.base_files import read_json
from manycaps.kit.base_messages import shown_path, shown_value

ANNOTATIONS = '{"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": "A dog."}]}'
RESULTS = '[{"image_id": 1, "caption": "a dog"}]'


class CaptionFile:
    """Captions by image: what COCOEvalCap uses of pycocotools' class COCO.

    >>> coco = CaptionFile({"images": [{"id": 3}], "annotations": [{"image_id": 3, "caption": "A dog."}]})
    >>> coco.getImgIds(), coco.imgToAnns[3]
    ([3], [{'image_id': 3, 'caption': 'A dog.'}])
    """

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        """Read a file of annotations, or take its content.

        Raises:
            TypeError, ValueError: the file is no JSON, or has another layout; the message names the first bad entry.
        """
        self.name = "annotations" if isinstance(source, Mapping) else shown_path(source)
        advice = f"Give COCO's layout {ANNOTATIONS}."
        content = source if isinstance(source, Mapping) else read_json(source, self.name, advice)
        if not isinstance(content, Mapping) or not isinstance(content.get("annotations"), list):
            raise ValueError(
                f'{self.name}: expected an object with "annotations", got {shown_value(content)}. {advice}'
            )
        self.dataset = content
        self.imgToAnns = _by_image(content["annotations"], f"{self.name}: annotations", advice)
        images = content.get("images", [{"id": key} for key in self.imgToAnns])
        if not isinstance(images, list):
            raise ValueError(f"{self.name}: images: expected a list, got {shown_value(images)}. {advice}")
        wrong = [
            i
            for i, image in enumerate(images)
            if not isinstance(image, Mapping) or not isinstance(image.get("id"), int | str)
        ]
        if wrong:
            raise ValueError(
                f"{self.name}: images[{wrong[0]}]: expected an object with an id, got {shown_value(images[wrong[0]])}. "
                f"{advice}"
            )
        self._ids: list[Hashable] = list(dict.fromkeys(image["id"] for image in images))

    def getImgIds(self) -> list[Hashable]:  # noqa: N802  # pycocotools' name
        """Return the ids of the images, in the order of the file."""
        return list(self._ids)

    def loadRes(self, results: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> "CaptionFile":  # noqa: N802
        """Read results on these images, the path of a file or its content.

        Raises:
            TypeError, ValueError: as `CaptionFile`; or an image is not annotated.
        """
        is_path = isinstance(results, str | os.PathLike)
        name = shown_path(results) if is_path else "results"  # type: ignore[arg-type]
        content = read_json(results, name, f"Give {RESULTS}.") if is_path else results  # type: ignore[arg-type]
        if not isinstance(content, list):
            raise ValueError(f"{name}: expected a list of captions, got {shown_value(content)}. Give {RESULTS}.")
        captions = _by_image(content, name, f"Give {RESULTS}.")
        known = set(self._ids)
        missing = [key for key in captions if key not in known]
        if missing:
            raise ValueError(
                f"{name}: expected images of {self.name}, got {len(missing)} others such as {shown_value(missing[0])}. "
                "Give the annotations of these images; ids are compared with their types, 1 is not '1'."
            )
        images = [{"id": key} for key in self._ids if key in captions]
        return CaptionFile({"images": images, "annotations": content})


def _by_image(entries: Sequence[Any], name: str, advice: str) -> "collections.defaultdict[Hashable, list[Any]]":
    """Captions by the id of their image; as in pycocotools an unknown id has none."""
    captions: collections.defaultdict[Hashable, list[Any]] = collections.defaultdict(list)
    for i, entry in enumerate(entries):
        if not (
            isinstance(entry, Mapping)
            and isinstance(entry.get("image_id"), int | str)
            and isinstance(entry.get("caption"), str)
        ):
            raise ValueError(
                f"{name}[{i}]: expected an object with image_id and caption, got {shown_value(entry)}. {advice}"
            )
        captions[entry["image_id"]].append(entry)
    return captions
