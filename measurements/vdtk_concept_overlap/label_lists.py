"""Lists of labels: given as texts, or read from files as data sets of images and videos publish them."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence

from .shared_input_files import open_regular_file
from .shared_messages import reason_of, shown_path, shown_value

# Largest file of labels in bytes: ImageNet's 21,841 names are 1 MB.
LARGEST_FILE = 16 * 2**20

# What stands before a label or behind it in published files: a WordNet id (n01440764), the folders of Places (/a/), and
# a number. The latter is looked for from the first blank or comma of several: a line of commas would take the square of
# its length.
BEFORE = re.compile(r"^(n\d{8}[\s,:]+|/[a-z]/)")
BEHIND = re.compile(r"(?<![\s,])[\s,]+\d+$")

# Between the name of a list and the way of matching, in the keys that count its labels.
LABELS_SUFFIX = "_labels"

LabelSource = str | os.PathLike[str] | Sequence[str]


def check_labels(labels: object) -> None:
    """Raise unless `labels` map names to lists of texts or to paths; no file is opened.

    Raises:
        TypeError: another type.
        ValueError: no list, a name that cannot be part of a key, or an empty list.
    """
    if not isinstance(labels, Mapping):
        raise TypeError(
            f"labels: expected a mapping from names to lists of labels or to files, got {type(labels).__name__}. Give "
            "for example {'coco': ['person', 'bicycle']}."
        )
    if not labels:
        raise ValueError("labels: expected at least one list, got none. Give for example {'coco': ['person']}.")
    for name, source in labels.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(
                f"labels: expected names of letters, digits and _, got {shown_value(name)}. Rename it: keys of the "
                "result begin with it."
            )
        if name.endswith(LABELS_SUFFIX) and name.removesuffix(LABELS_SUFFIX) in labels:
            raise ValueError(
                f"labels: expected names whose keys differ, got {name!r} beside {name.removesuffix(LABELS_SUFFIX)!r}. "
                "Rename one."
            )
        if isinstance(source, str | os.PathLike):
            continue
        if not isinstance(source, list | tuple) or not all(isinstance(label, str) for label in source):
            raise TypeError(
                f"labels[{name!r}]: expected a list of texts, or the path of a file, got {shown_value(source)}. Write "
                "one text for each label."
            )
        if not any(label.strip() for label in source):
            raise ValueError(f"labels[{name!r}]: expected at least one label, got none. Give texts that are not blank.")


def load_labels(name: str, source: LabelSource) -> list[tuple[str, ...]]:
    """Return the labels of a list, each with its other names.

    Args:
        name: of the list, for messages.
        source: labels, or the path of a text file with one a line. A WordNet id or a folder of one letter before a
            label and a number behind it are left out; "_" is a blank; commas separate the names of one label, and what
            follows a "/" says where or how, and is left out.

    Returns:
        A tuple of names, in lower case, for each label, in the order of the list; equal labels once.

    Raises:
        ValueError: the file cannot be read, or has no label.

    >>> load_labels("imagenet", ["n01440764 tench, Tinca tinca", "/a/apartment_building/outdoor 8", "Person"])
    [('tench', 'tinca tinca'), ('apartment building',), ('person',)]
    """
    lines = source if isinstance(source, list | tuple) else _lines(name, source)  # type: ignore[arg-type]
    labels = dict.fromkeys(filter(None, map(label_names, lines)))
    if not labels:
        raise ValueError(f"labels[{name!r}]: expected at least one label, got none. Write one a line.")
    return list(labels)


def label_names(line: str) -> tuple[str, ...]:
    """Return the names of a label in lower case; none of a blank line.

    >>> label_names("n02119789: kit fox, Vulpes macrotis")
    ('kit fox', 'vulpes macrotis')
    """
    text = BEHIND.sub("", BEFORE.sub("", line.strip().lower()))
    names = (" ".join(part.split("/")[0].replace("_", " ").split()) for part in text.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def digest(labels: Sequence[tuple[str, ...]]) -> str:
    """First digits of a hash of labels, for signatures."""
    return hashlib.blake2b(repr(list(labels)).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _lines(name: str, path: str | os.PathLike[str]) -> list[str]:
    try:
        with open_regular_file(path, LARGEST_FILE) as file:
            return file.read().decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"labels[{name!r}]: expected a text file with one label a line, got {shown_path(path)} ({reason_of(error)}"
            "). Check the path, or give a list."
        ) from error
