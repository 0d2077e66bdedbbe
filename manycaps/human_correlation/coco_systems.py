"""Captioning systems on the COCO test set, ranked by a metric: Table 7 of Sarto et al. (2023).

https://arxiv.org/abs/2303.12112. The files are those of the COCO caption code: annotations of the images, and for each
system a list of {"image_id": ..., "caption": ...}.
"""

import pathlib
from collections.abc import Mapping
from typing import Any

from manycaps.kit.base_files import read_json
from manycaps.kit.base_messages import shown_path, shown_value

# Folder of the images beside the files.
IMAGES_NAME = "images"

ADVICE = "Use the format of the COCO caption code."

# Table 7: the scores of each system, by the name of its file.
PUBLISHED_SYSTEMS: Mapping[str, Mapping[str, float]] = {
    "show_and_tell": {"pac_score": 0.772, "ref_pac_score": 0.826, "clip_s": 0.572},
    "show_attend_and_tell": {"pac_score": 0.785, "ref_pac_score": 0.837, "clip_s": 0.582},
    "up_down": {"pac_score": 0.794, "ref_pac_score": 0.847, "clip_s": 0.592},
    "sgae": {"pac_score": 0.803, "ref_pac_score": 0.854, "clip_s": 0.600},
    "aoanet": {"pac_score": 0.805, "ref_pac_score": 0.856, "clip_s": 0.602},
    "m2_transformer": {"pac_score": 0.806, "ref_pac_score": 0.854, "clip_s": 0.605},
    "x_transformer": {"pac_score": 0.812, "ref_pac_score": 0.859, "clip_s": 0.610},
    "vinvl": {"pac_score": 0.821, "ref_pac_score": 0.869, "clip_s": 0.627},
    "humans": {"pac_score": 0.818, "ref_pac_score": 0.857, "clip_s": 0.626},
}


def system_rows(folder: pathlib.Path) -> dict[str, list[dict[str, Any]]]:
    """Return the captions of each system, by the name of its file, all of the same images in the same order.

    The folder holds one JSON file with `images` and `annotations`, and one list of captions for each system. Rows have
    `img` (path), `cand` and `refs`.
    """
    contents = {path: read_json(path, "--data", ADVICE) for path in sorted(folder.glob("*.json"))}
    annotations = [path for path, content in contents.items() if isinstance(content, Mapping)]
    systems = [path for path, content in contents.items() if isinstance(content, list)]
    if len(annotations) != 1 or not systems:
        raise ValueError(
            f"--data: expected one file of annotations and at least one list of captions in {shown_path(folder)}, got "
            f"{len(annotations)} and {len(systems)}. {ADVICE}"
        )
    references, names = _annotations(annotations[0], contents[annotations[0]])
    captions = {path: _captions(path, contents[path], references) for path in systems}
    images = list(captions[systems[0]])
    for path in systems:
        if set(captions[path]) != set(images):
            raise ValueError(
                f"{shown_path(path)}: expected captions of the {len(images)} images of {systems[0].name}, got "
                f"{len(captions[path])} others or fewer. Give all systems the same images."
            )
    return {
        path.stem: [
            {
                "img": str(folder / IMAGES_NAME / names.get(image, f"{image}.jpg")),
                "cand": captions[path][image],
                "refs": references[image],
            }
            for image in images
        ]
        for path in systems
    }


def _annotations(path: pathlib.Path, content: Any) -> tuple[dict[Any, list[str]], dict[Any, str]]:
    """Captions, and names of files, by image."""
    references: dict[Any, list[str]] = {}
    try:
        for entry in content["annotations"]:
            references.setdefault(entry["image_id"], []).append(_text(entry["caption"]))
        names = {entry["id"]: str(entry["file_name"]) for entry in content.get("images", [])}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{shown_path(path)}: expected annotations with image_id and caption, got {type(error).__name__} "
            f"({error}). {ADVICE}"
        ) from error
    return references, names


def _captions(path: pathlib.Path, content: Any, references: Mapping[Any, list[str]]) -> dict[Any, str]:
    """A system's captions by image."""
    caption_of_image: dict[Any, str] = {}
    for i, entry in enumerate(content):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("caption"), str):
            raise ValueError(
                f"{shown_path(path)}[{i}]: expected an image_id and a caption, got {shown_value(entry)}. {ADVICE}"
            )
        image = entry.get("image_id")
        if isinstance(image, list | dict) or image not in references or image in caption_of_image:
            raise ValueError(
                f"{shown_path(path)}[{i}]: expected one caption of an annotated image, got another of the image "
                f"{shown_value(image)}. {ADVICE}"
            )
        caption_of_image[image] = entry["caption"]
    return caption_of_image


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a caption that is {shown_value(value)}")
    return value
