"""Flickr8k with the judgements of experts and of a crowd, from the text files of its release (Hodosh et al., 2013)."""

import collections
import io
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from manycaps.kit.errors import InputError, as_input_errors, quote_value
from manycaps.kit.files import is_regular_file, open_text_bytes

# Files of the release: captions ("image.jpg#k", tab, caption), which may be compressed, and judgements (image, caption
# id, then three ratings; or the share of "yes", and the numbers of "yes" and "no"; separated by tabs).
CAPTIONS_NAME = "Flickr8k.token.txt"
JUDGEMENTS_NAME = "ExpertAnnotations.txt"
CROWD_NAME = "CrowdFlowerAnnotations.txt"

# Folder into which the release's archive of images unpacks, as it is spelt there.
IMAGES_NAME = "Flicker8k_Dataset"

ADVICE = "Take the file as it was released."

# Each expert gave one of these; 4 is best.
RATINGS = ("1", "2", "3", "4")


def expert_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the pairs of an image and a caption that experts judged.

    Each has `img` (path), `cand` (the judged caption), `refs` (the five captions of the image) and `human_score` (three
    ratings from 1 to 4).
    """
    return _judged_rows(folder, JUDGEMENTS_NAME, "ratings from 1 to 4", _expert_ratings)


def crowd_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the pairs of an image and a caption that a crowd judged, as `expert_rows` does.

    `human_score` holds 1 for each "yes" and 0 for each "no".
    """
    return _judged_rows(folder, CROWD_NAME, 'the numbers of "yes" and "no"', _crowd_ratings)


def _judged_rows(
    folder: pathlib.Path, name: str, what: str, ratings_of: Callable[[list[str]], list[float]]
) -> list[dict[str, Any]]:
    captions = read_captions(folder)
    references: dict[str, list[str]] = collections.defaultdict(list)
    for caption_id, caption in captions.items():
        references[caption_id.split("#")[0]].append(caption)
    images = folder / IMAGES_NAME if (folder / IMAGES_NAME).is_dir() else folder
    rows = []
    for where, (image, caption_id, *fields) in _fields(folder / name, 5):
        ratings = ratings_of(fields)
        if image not in references or caption_id not in captions or not ratings:
            expected = f"an image and a caption of {CAPTIONS_NAME} and {what}"
            got = quote_value(" ".join((image, caption_id, *fields)))
            raise InputError(where, expected, got, "Take the files as they were released.")
        judged = {"img": str(images / image), "cand": captions[caption_id], "refs": references[image]}
        rows.append({**judged, "human_score": ratings})
    return rows


def _expert_ratings(fields: list[str]) -> list[float]:
    """The ratings of a line; empty if one is not."""
    return [float(rating) for rating in fields] if all(rating in RATINGS for rating in fields) else []


def _crowd_ratings(fields: list[str]) -> list[float]:
    """1 for each "yes", 0 for each "no"; empty if a line has none, or too many for a number of people."""
    numbers = [int(field) for field in fields[1:] if field.isascii() and field.isdigit() and len(field) < 4]
    return [1.0] * numbers[0] + [0.0] * numbers[1] if len(numbers) == 2 else []


def read_captions(folder: pathlib.Path) -> dict[str, str]:
    """Return the captions by caption id, "image.jpg#k"."""
    path = next((folder / name for name in (CAPTIONS_NAME, f"{CAPTIONS_NAME}.gz") if (folder / name).is_file()), None)
    if path is None:
        raise InputError(folder, f"{CAPTIONS_NAME} or {CAPTIONS_NAME}.gz", "neither", "Put one there.")
    # One id has an image name with ".1" behind it that is in no other file of the release.
    return {caption_id.replace(".jpg.1#", ".jpg#"): caption for _, (caption_id, caption) in _fields(path, 2)}


def _fields(path: pathlib.Path, n_fields: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the location of each line, and its fields."""
    if not is_regular_file(path):
        raise InputError(path, "a file of the release", "none of that name", "Put it there.")
    with as_input_errors(str(path), "lines of UTF-8", ADVICE), open_text_bytes(path, "captions") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8")
        for i, line in enumerate(lines, start=1):
            fields = line.rstrip("\n").split("\t")
            if len(fields) != n_fields:
                expected = f"{n_fields} fields with tabs between them"
                raise InputError(f"{path}, line {i}", expected, len(fields), ADVICE)
            yield f"{path}, line {i}", fields
