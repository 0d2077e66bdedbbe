"""Input without an end, or far larger than it has any reason to be: answered in seconds and in bounded memory."""

import os
import pathlib
import struct
from collections.abc import Callable
from typing import Any

from manycaps.kit.base_rows import LONGEST_CAPTION
from tests.hostile_inputs.images import PICTURE, encoded, with_image
from tests.hostile_inputs.rule import TEXT_EMBEDDERS, Case, cases
from tests.hostile_inputs.videos import FEATURES, refused, with_video

# Bytes of a file that takes no space on the disk.
SPARSE_BYTES = 6 << 30

CAPTION_MODULES = ("trm_meteor", "trm_cider", "fid_bert", "pac_score", "ref_pac_score", "emscore_pac", "vdtk_diversity")


def fifo(folder: pathlib.Path, name: str = "pipe") -> str:
    """Return a pipe that nobody writes into."""
    os.mkfifo(folder / name)
    return str(folder / name)


def sparse(folder: pathlib.Path, head: bytes = b"", name: str = "sparse.mp4") -> str:
    """Return a file of 6 GB, nearly all of it a hole."""
    with (folder / name).open("wb") as file:
        file.write(head)
        file.truncate(SPARSE_BYTES)
    return str(folder / name)


def tiff_of_pages(n: int) -> bytes:
    """Return a TIFF of many pages of one pixel."""
    parts, place = [b"II*\0" + struct.pack("<I", 8)], 8
    for i in range(n):
        entries = [
            (256, 3, 1, 1),
            (257, 3, 1, 1),
            (258, 3, 1, 8),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 1, 0),
            (278, 3, 1, 1),
        ]
        length = 2 + 12 * (len(entries) + 1) + 4 + 2
        entries[5] = (273, 4, 1, place + length - 2)
        entries.append((279, 4, 1, 1))
        body = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
        parts.append(body + struct.pack("<I", place + length if i < n - 1 else 0) + b"\x7f\0")
        place += length
    return b"".join(parts)


IMAGES: dict[str, Callable[[pathlib.Path], Any]] = {
    "pipe": fifo,
    "zero_device": lambda _: "/dev/zero",
    "random_device": lambda _: "/dev/urandom",
    "sparse_file": sparse,
    "pipe_in_dict": lambda folder: {"bytes": None, "path": fifo(folder)},
    "link_to_pipe": lambda folder: (folder / "link").symlink_to(fifo(folder)) or str(folder / "link"),
    "terminal": lambda _: "/dev/tty",
    "process_memory": lambda _: "/proc/self/mem",
    "sparse_png": lambda folder: sparse(folder, encoded("PNG")[:-12]),
}

SLOW_IMAGES: dict[str, Callable[[pathlib.Path], Any]] = {"tiff_of_60000_pages": lambda _: tiff_of_pages(60_000)}

VIDEOS: dict[str, Callable[[pathlib.Path], Any]] = {
    **IMAGES,
    "frames_with_pipe": lambda folder: [PICTURE, fifo(folder)],
    "frames_with_zero_device": lambda _: [PICTURE, "/dev/zero"],
    "frames_with_sparse_file": lambda folder: [PICTURE, sparse(folder)],
}

LONG_CAPTIONS = {
    "word_of_40000_letters": "a" * 40_000,
    "word_of_400000_letters": "ab" * 200_000,
    "ampersand_escaped_20000_times": "&" + "amp;" * 20_000,
    "numbers_escaped_20000_times": "&" + "#38;" * 20_000,
    "100000_words": "dog " * 100_000,
    "100000_different_words": " ".join(f"w{i}" for i in range(100_000)),
    "100000_ampersands": "&" * 100_000,
    "40000_full_stops": "." * 40_000,
    "40000_apostrophes": "'" * 40_000,
    "40000_apostrophes_apart": "' " * 40_000,
    "40000_hyphens": "-" * 40_000,
    "40000_hyphened_words": "a-" * 40_000,
    "40000_blanks": " " * 40_000 + "a",
    "40000_marks": "a" + "\u0301" * 40_000,
    "40000_emoji": "\U0001f600" * 40_000,
    "40000_digits": "1" * 40_000,
    "40000_letters_and_digits": "a1" * 20_000,
    "40000_slashes": "http://" + "a/" * 20_000,
    "40000_at_signs": "a@" * 20_000,
    "40000_brackets": "<" * 40_000,
    "40000_opened_tags": "<a" * 20_000,
    "40000_commas_in_numbers": "1," * 20_000,
    "40000_abbreviations": "U.S." * 10_000,
    "40000_newlines": "\n" * 40_000 + "a",
    "ligatures": "\ufdfa" * 20_000,
    "mojibake": "Ã©" * 20_000,
}

# As long as a caption may be: these are computed.
LONG_CAPTIONS |= {f"{name}_cut": caption[:LONGEST_CAPTION] for name, caption in LONG_CAPTIONS.items()}


def with_caption(caption: str) -> Callable[..., dict[str, Any]]:
    """Return columns of which one caption, and one reference where there are any, is the hostile one."""

    def given(_: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        columns = dict(columns)
        for name in {"predictions", "references", "data"} & set(columns):
            rows = [row if isinstance(row, str) else list(row) for row in columns[name]]
            rows[2] = caption if isinstance(rows[2], str) else [*rows[2][:-1], caption]
            columns[name] = rows
        return columns

    return given


def with_given(module: str, options: dict[str, Any]) -> Case:
    """Return a case of the good columns with hostile options."""
    return Case(module, lambda _, columns: {**columns, **options})


HUGE = 10**30

# Huge options: whole numbers that would take for ever, or more memory than there is.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "emscore_pac": {
        "frames_10_to_9": {"frames": 10**9},
        "frames_10_to_30": {"frames": HUGE},
        "n_workers_10_to_6": {"n_workers": 10**6},
        "batch_size_10_to_30": {"batch_size": HUGE},
    },
    "pac_score": {
        "n_workers_10_to_6": {"n_workers": 10**6},
        "n_workers_10_to_30": {"n_workers": HUGE},
        "batch_size_10_to_30": {"batch_size": HUGE},
        "prompt_of_a_million_letters": {"prompt": "a" * 10**6},
    },
    "vdtk_diversity": {"lengths_10_to_400": {"lengths": (10**400,)}, "batch_size_10_to_30": {"batch_size": HUGE}},
    "trm_meteor": {"n_resamples_10_to_12": {"n_resamples": 10**12, "p_value": "permutation"}},
    "trm_cider": {"n_resamples_10_to_12": {"n_resamples": 10**12, "p_value": "exact"}},
    "fid_bert": {"n_resamples_10_to_12": {"n_resamples": 10**12, "confidence_level": 0.5}},
}
RESAMPLING = {
    f"{option}_10_to_30": {option: HUGE, "p_value": "permutation", "confidence_level": 0.9}
    for option in ("n_resamples", "max_partitions", "seed")
}

CASES = {
    **cases(["pac_score"], "{}", IMAGES, lambda m, make: Case(m, with_image(make), "images[2]: ")),
    **cases(["ref_pac_score"], "{}", SLOW_IMAGES, lambda m, make: Case(m, with_image(make), "images[2]: ")),
    **cases(["emscore_pac"], "{}", VIDEOS, lambda _, make: refused(make)),
    **cases(
        ["emscore_pac"],
        "{}_two_frames",
        {name: VIDEOS[name] for name in ("pipe", "zero_device", "sparse_file")},
        lambda _, make: refused(make, frames=2),
    ),
    **cases(CAPTION_MODULES, "{}", LONG_CAPTIONS, lambda m, caption: Case(m, with_caption(caption))),
    **{name: case for m, table in OPTIONS.items() for name, case in cases([m], "{}", table, with_given).items()},
    **cases(("trm_meteor", "trm_cider", *TEXT_EMBEDDERS), "{}", RESAMPLING, with_given),
    "emscore_pac/frames_10_to_9_of_features": Case("emscore_pac", with_video(lambda _: FEATURES, frames=10**9)),
}
