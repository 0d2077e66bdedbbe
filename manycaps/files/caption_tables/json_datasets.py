"""Data sets of captions in JSON, by name: COCO, MSR-VTT, and Karpathy's splits of COCO, Flickr8k and Flickr30k.

Of Karpathy's files (dataset_coco.json, dataset_flickr8k.json, dataset_flickr30k.json) only the texts of the captions
are kept, and the rows of the split.
"""

import collections
from collections.abc import Callable, Mapping
from typing import Any

from manycaps.kit.errors import InputError, quote_value
from manycaps.kit.files import unique_keys

# Lists of single captions beside a list of what they are of: keys of both, and the id in each.
COCO = ("annotations", "image_id", "images", "id")
MSR_VTT = ("sentences", "video_id", "videos", "video_id")

# Keys of what Karpathy's files say of a caption.
KARPATHY_CAPTION = {"raw", "tokens", "sentid"}


def rows_with_splits(content: Any, path: str, split: str | None) -> list[Any] | None:
    """Return the rows of a split of Karpathy's or MSR-VTT's file, as `trimmer` parsed it; None for another layout."""
    if isinstance(content, dict) and is_table(content.get("sentences")):
        return split_rows(_annotations(content, *MSR_VTT, path), path, split)
    items = content.get("images") if isinstance(content, dict) else content
    if isinstance(items, list) and items and all(isinstance(item, dict) and "sentids" in item for item in items):
        return split_rows([_karpathy_row(item) for item in items], path, split)
    return None


def coco_rows(content: Any, path: str) -> list[Any] | None:
    """Return the annotations of COCO's file with the names of their images; None for another layout."""
    is_coco = isinstance(content, dict) and isinstance(content.get("annotations"), list)
    return _annotations(content, *COCO, path) if is_coco else None


def captions_of(row: Mapping[str, Any]) -> list[Any]:
    """Return the captions of a row of `rows_with_splits`."""
    return list(row["captions"] or ()) if "captions" in row else [row.get("caption")]


def _karpathy_row(image: Mapping[str, Any]) -> dict[str, Any]:
    """An image of Karpathy's: results on COCO name it by its id there, others by its file."""
    kept = {name: value for name, value in image.items() if name not in ("sentences", "sentids")}
    return {"image_id": image.get("cocoid", image.get("filename")), **kept, "captions": image.get("sentences")}


def _annotations(
    content: Mapping[str, Any], captions: str, name: str, owners: str, name_of_owner: str, path: str
) -> list[Any]:
    """Single captions with the file and the split of their image or video."""
    known: dict[Any, dict[str, Any]] = {}
    listed = content.get(owners)
    for i, owner in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(owner, dict) or not isinstance(owner.get(name_of_owner), str | int):
            continue
        facts = {"image": owner.get("file_name"), "split": owner.get("split")}
        facts = {key: value for key, value in facts.items() if value is not None}
        if known.setdefault(owner[name_of_owner], facts) != facts:
            got = f"{quote_value(owner[name_of_owner])} a second time, with another file"
            raise InputError(f"{path}: {owners}[{i}]", "ids that differ", got, "Give each its own.")
    rows = []
    for annotation in content[captions]:
        of = annotation.get(name) if isinstance(annotation, dict) else None
        facts = known.get(of, {}) if isinstance(of, str | int) else {}
        rows.append({**annotation, **facts} if facts else annotation)
    return rows


def split_rows(rows: list[Any], path: str, split: str | None) -> list[Any]:
    """Return the rows of the split that was asked for; all of a file without several."""
    splits = collections.Counter(str(row["split"]) for row in rows if isinstance(row, dict) and "split" in row)
    if not splits or (split is None and len(splits) == 1):
        return rows
    wanted = set(split.split("+")) if split is not None else set()
    if not wanted or not wanted <= set(splits):
        counts = ", ".join(f"{name} ({n:,} rows)" for name, n in splits.items())
        got = "none" if split is None else quote_value(split)
        fix = f"Give --split {next(iter(splits))}, for example, or several as train+val."
        raise InputError(path, f"--split out of {counts}", got, fix)
    return [row for row in rows if isinstance(row, dict) and str(row.get("split")) in wanted]


def is_table(value: object) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def trimmer(split: str | None) -> Callable[[list[tuple[str, Any]]], Any]:
    """Return what makes objects of JSON: of Karpathy's captions the texts, and nothing of images of other splits."""
    wanted = None if split is None else split.split("+")

    def as_object(pairs: list[tuple[str, Any]]) -> Any:
        values = unique_keys(pairs)
        if values.keys() >= KARPATHY_CAPTION:
            return values["raw"]
        if wanted is not None and "sentids" in values and values.get("split") not in wanted:
            return {"sentids": (), "split": values.get("split")}
        return values

    return as_object
