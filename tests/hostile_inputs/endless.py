"""Input without an end, or far larger than it has any reason to be: answered in seconds and in bounded memory."""

import os
import pathlib
import struct
from collections.abc import Callable
from typing import Any

from manycaps.kit.rows import LONGEST_CAPTION
from tests.hostile_inputs import columns, images, videos
from tests.hostile_inputs.rule import cases

# Bytes of a file that takes no space on the disk.
SPARSE_BYTES = 6 << 30

# One for each way to find words: PTB's and METEOR's, CLIP's, and those of diversity.
CAPTION_MODULES = ("trm_meteor", "ref_pac_score", "vdtk_diversity")


def fifo(folder: pathlib.Path) -> str:
    """Return a pipe that nobody writes into."""
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def sparse(folder: pathlib.Path, head: bytes = b"") -> str:
    """Return a file of 6 GB, nearly all of it a hole."""
    with (folder / "sparse.mp4").open("wb") as file:
        file.write(head)
        file.truncate(SPARSE_BYTES)
    return str(folder / "sparse.mp4")


def tiff_of_pages(n: int) -> bytes:
    """Return a TIFF of many pages of one pixel."""
    parts, place = [b"II*\0" + struct.pack("<I", 8)], 8
    length = 2 + 12 * 8 + 4 + 2
    for i in range(n):
        entries = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
        entries += [(273, 4, 1, place + length - 2), (278, 3, 1, 1), (279, 4, 1, 1)]
        body = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
        parts.append(body + struct.pack("<I", place + length if i < n - 1 else 0) + b"\x7f\0")
        place += length
    return b"".join(parts)


FILES: dict[str, Callable[[pathlib.Path], Any]] = {
    "pipe": fifo,
    "zero_device": lambda _: "/dev/zero",
    "sparse_file": sparse,
    "pipe_in_dict": lambda folder: {"bytes": None, "path": fifo(folder)},
    "link_to_pipe": lambda folder: (folder / "link").symlink_to(fifo(folder)) or str(folder / "link"),
    "sparse_png": lambda folder: sparse(folder, images.encode("PNG")[:-12]),
}

FRAMES: dict[str, Callable[[pathlib.Path], Any]] = {
    "frames_with_pipe": lambda folder: [images.PICTURE, fifo(folder)],
    "frames_with_zero_device": lambda _: [images.PICTURE, "/dev/zero"],
    "frames_with_sparse_file": lambda folder: [images.PICTURE, sparse(folder)],
}

# What a caption repeats, up to the length that a caption may have.
REPEATED = {
    "letters": "ab",
    "words": "dog ",
    "ampersands": "&",
    "full_stops": ".",
    "apostrophes": "'",
    "apostrophes_apart": "' ",
    "hyphens": "-",
    "hyphened_words": "a-",
    "blanks": " ",
    "newlines": "\n",
    "marks": "\u0301",
    "emoji": "\U0001f600",
    "digits": "1",
    "letters_and_digits": "a1",
    "parts_of_an_address": "a/",
    "at_signs": "a@",
    "brackets": "<",
    "opened_tags": "<a",
    "commas_in_numbers": "1,",
    "abbreviations": "U.S.",
    "ligatures": "\ufdfa",
    "mojibake": "Ã©",
}
LONG_CAPTIONS = {
    **{
        f"caption_of_{name}": (piece * LONGEST_CAPTION)[: LONGEST_CAPTION - 1] + "a" for name, piece in REPEATED.items()
    },
    "ampersand_escaped": ("&" + "amp;" * LONGEST_CAPTION)[:LONGEST_CAPTION],
    "numbers_escaped": ("&" + "#38;" * LONGEST_CAPTION)[:LONGEST_CAPTION],
    "different_words": " ".join(f"w{i}" for i in range(LONGEST_CAPTION))[:LONGEST_CAPTION],
    "caption_that_is_too_long": "dog " * 100_000,
}


CASES = {
    **cases(["pac_score"], "{}", FILES, images.refusal),
    "ref_pac_score/tiff_of_60000_pages": images.refusal("ref_pac_score", lambda _: tiff_of_pages(60_000)),
    **cases(["emscore_pac"], "{}", FILES | FRAMES, videos.refusal),
    **cases(CAPTION_MODULES, "{}", LONG_CAPTIONS, columns.with_strange),
}
