"""Add the generated positives that a PAC score is trained on: a caption of every image, an image of every caption."""

import contextlib
import functools
import hashlib
import io
import json
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import accelerate
import datasets
import huggingface_hub
import numpy as np
import PIL.Image
import torch
from tqdm import tqdm

from manycaps.catalog.command_options import check_options
from manycaps.files.caption_tables.columns import no_column
from manycaps.files.saved_files import check_same_run, make_folder, write_atomically, write_text_atomically
from manycaps.kit.errors import InputError, as_input_errors, quote_path, quote_value
from manycaps.kit.files import check_loaded_tensors, read_json
from manycaps.kit.images import as_image_source, as_rgb_image
from manycaps.kit.vectors_models import HUB_TIMEOUT
from manycaps.pac_training.data_set import ImageColumn, caption_texts, check_output, image_hashes, load_split
from manycaps.pac_training.recipe import CAPTION, GENERATED_CAPTION, GENERATED_IMAGE, IMAGE, PositivesOptions
from manycaps.sampling.generation import decoded_texts

# The paper names none: BLIP's own setting on COCO (its configs/caption_coco.yaml).
N_BEAMS, MAX_TOKENS = 3, 20

# Names of splits that `datasets` finds again in the names of files.
SPLIT_NAME = r"\w+(\.\w+)*"

# Times that a rejected image is drawn again.
N_RETRIES = 3

# Writes captions of images; draws images of captions from seeds, None where the safety checker rejects one.
Captioner = Callable[[Sequence[PIL.Image.Image]], list[str]]
Painter = Callable[[Sequence[str], Sequence[int]], list[PIL.Image.Image | None]]


class Work(NamedTuple):
    """Rows that are to get positives."""

    images: ImageColumn
    # Row of the data set, and the caption, of each new row.
    rows: list[int]
    captions: list[str]
    # Hash of the image of each row of the data set.
    hashes: list[bytes]

    @property
    def digest(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(repr((self.rows, self.captions, self.hashes)).encode()).hexdigest()


def load_captioner(name: str, device: torch.device, dtype: torch.dtype) -> Captioner:
    """Load an image-captioning model of transformers.

    The model is called without transformers' pipeline, whose task has another name in each major version.
    """
    import transformers

    source = {"local_files_only": _is_only_cached("--captioner", name, "config.json"), "trust_remote_code": False}
    processor = _load("--captioner", name, transformers.AutoProcessor.from_pretrained, **source)
    load = transformers.AutoModelForImageTextToText.from_pretrained
    loaded, info = _load("--captioner", name, load, dtype=dtype, output_loading_info=True, **source)
    check_loaded_tensors(info, f"--captioner {quote_path(name)}")
    model = loaded.to(device).eval()

    @torch.inference_mode()
    def write(images: Sequence[PIL.Image.Image]) -> list[str]:
        inputs = processor(images=list(images), return_tensors="pt").to(device, dtype)
        ids = model.generate(**inputs, num_beams=N_BEAMS, do_sample=False, max_new_tokens=MAX_TOKENS)
        return [text.strip() for text in decoded_texts(getattr(processor, "tokenizer", processor), ids)]

    return write


def load_painter(name: str, device: torch.device, dtype: torch.dtype, n_steps: int) -> Painter:
    """Load a text-to-image pipeline of diffusers."""
    import diffusers

    load = diffusers.AutoPipelineForText2Image.from_pretrained
    source = {"local_files_only": _is_only_cached("--painter", name, "model_index.json"), "trust_remote_code": False}
    pipeline = _load("--painter", name, load, torch_dtype=dtype, **source)
    for part, network in pipeline.components.items():
        if isinstance(network, torch.nn.Module):  # loaded again: a pipeline does not say what its parts lack
            kind: Any = type(network)
            again = {"subfolder": part, "output_loading_info": True, **source}
            _, info = _load("--painter", name, kind.from_pretrained, **again)
            check_loaded_tensors(info, f"--painter {quote_path(name)}, {part}")
    pipeline = pipeline.to(device)
    pipeline.set_progress_bar_config(disable=True)

    def draw(captions: Sequence[str], seeds: Sequence[int]) -> list[PIL.Image.Image | None]:
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]  # on the CPU: the same on every device
        made = pipeline(list(captions), num_inference_steps=n_steps, generator=generators)
        rejected = getattr(made, "nsfw_content_detected", None) or [False] * len(captions)
        return [None if bad else image for image, bad in zip(made.images, rejected, strict=True)]

    return draw


def _is_only_cached(option: str, name: str, file: str) -> bool:
    """Whether a model comes from the cache: the Hub is asked once, where a loader asks six times for every file."""
    if pathlib.Path(name).is_dir():
        return False
    with _model_errors(option, name):
        try:
            huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(name, file), timeout=HUB_TIMEOUT)
        except Exception:  # the Hub's errors are of many kinds, httpx's are no OSErrors
            with contextlib.suppress(ValueError):  # no name of a model
                if isinstance(huggingface_hub.try_to_load_from_cache(name, file), str):
                    return True
            raise
    return False


def _load(option: str, name: str, load: Callable[..., Any], **keywords: Any) -> Any:
    with _model_errors(option, name):
        return load(name, **keywords)


def _model_errors(option: str, name: str) -> contextlib.AbstractContextManager[None]:
    got = f"{quote_value(name)}, which cannot be loaded"
    return as_input_errors(option, "a model of the Hub or a folder of one", "Check the name and the network.", got)


def load_work(options: PositivesOptions, bar: Any) -> Work:
    """Load the data set and check every caption and image."""
    data_set = load_split(options.data, options.configuration, options.split)
    names = {options.image_column: IMAGE, options.caption_column: CAPTION}
    for name in names:
        if name not in data_set.column_names:
            fix = "See --image-column and --caption-column."
            raise no_column(f"{options.split} {name}", "this column", data_set.column_names, fix)
    rows, captions = [], []
    for row, value in enumerate(data_set[options.caption_column]):
        for caption in value if isinstance(value, list) else [value]:
            rows.append(row)
            captions.append(caption)
    images = ImageColumn(data_set, options.image_column, options.split)
    caption_texts(captions, options.split, options.caption_column)
    return Work(images, rows, captions, image_hashes(images, options.workers, bar, decodes=True))


def make_shard(
    work: Work, rows: range, captioner: Captioner | None, painter: Painter | None, batch_size: int, seed: int
) -> tuple[datasets.Dataset, int]:
    """Make the positives of some rows, and count those left out; the seed and a row's number decide its noise."""
    captions = [work.captions[i] for i in rows]
    sources = [as_image_source(work.images[work.rows[i]], work.images.where(work.rows[i])) for i in rows]
    columns: dict[str, list[Any]] = {
        IMAGE: [{"bytes": as_file(source), "path": None} for source in sources],
        CAPTION: captions,
    }
    features = {IMAGE: datasets.Image(), CAPTION: datasets.Value("string")}
    if captioner:
        keys = [work.hashes[work.rows[i]] for i in rows]
        columns[GENERATED_CAPTION] = captions_of_images(sources, keys, captioner, batch_size)
        features[GENERATED_CAPTION] = datasets.Value("string")
    if painter:
        drawn = images_of_captions(captions, rows, painter, batch_size, seed)
        columns[GENERATED_IMAGE] = [None if x is None else {"bytes": as_file(x), "path": None} for x in drawn]
        features[GENERATED_IMAGE] = datasets.Image()
    kept = [i for i in range(len(rows)) if columns.get(GENERATED_IMAGE, rows)[i] is not None]
    columns = {name: [values[i] for i in kept] for name, values in columns.items()}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features)), len(rows) - len(kept)


def captions_of_images(
    sources: Sequence[Any], keys: Sequence[bytes], captioner: Captioner, batch_size: int
) -> list[str]:
    """Caption each different image once."""
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    different = list(first)
    written: dict[bytes, str] = {}
    for start in range(0, len(different), batch_size):
        some = different[start : start + batch_size]
        pictures = [as_rgb_image(sources[first[key]], IMAGE) for key in some]
        written.update(zip(some, captioner(pictures), strict=True))
    return [written[key] for key in keys]


def images_of_captions(
    captions: Sequence[str], rows: Sequence[int], painter: Painter, batch_size: int, seed: int
) -> list[PIL.Image.Image | None]:
    """Draw each caption, again from other noise where an image is rejected; None if that fails."""
    images: list[PIL.Image.Image | None] = [None] * len(captions)
    for attempt in range(1 + N_RETRIES):
        missing = [i for i, image in enumerate(images) if image is None]
        for start in range(0, len(missing), batch_size):
            some = missing[start : start + batch_size]
            seeds = [int(np.random.default_rng([seed, rows[i], attempt]).integers(2**31)) for i in some]
            for i, image in zip(some, painter([captions[i] for i in some], seeds), strict=True):
                images[i] = image
    return images


def as_file(picture: Any) -> bytes:
    """Return the bytes of an image file: those given, or PNG, which loses nothing."""
    if isinstance(picture, bytes):
        return picture
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


class Positives(NamedTuple):
    """The shards of a split."""

    split: str
    paths: list[pathlib.Path]
    # Shards that this process has made now, and rows that they lack: no image of their caption was accepted.
    n_made: int
    n_left_out: int
    # Whether this is the process that says what all have done.
    is_main_process: bool


def make_positives(options: PositivesOptions) -> Positives:
    """Make the missing shards; raise if data, models or the folder cannot be used."""
    check_options(options)
    check_output(options.data, options.output)
    if options.no_captions and options.no_images:
        raise InputError("--no-captions", "it without --no-images", "both", "Nothing would be made: leave one out.")
    name = options.name or re.match(r"\w*", options.split).group()  # type: ignore[union-attr]
    if not re.fullmatch(SPLIT_NAME, name):
        expected = "letters, digits and underscores, with full stops between them"
        raise InputError("--name", expected, quote_value(name), "The names of the files begin with it.")
    state = accelerate.PartialState(cpu=options.device == "cpu")
    bar = functools.partial(tqdm, disable=not state.is_main_process)
    work = load_work(options, bar)
    with state.main_process_first():
        check_shard_inputs(options, name, work)
    starts = range(0, len(work.captions), options.shard_size)
    paths = [options.output / f"{name}-{k:05d}-of-{len(starts):05d}.parquet" for k in range(len(starts))]
    missing = [(start, path) for start, path in zip(starts, paths, strict=True) if not path.is_file()]
    mine = missing[state.process_index :: state.num_processes]
    dtype = torch.float16 if state.device.type == "cuda" else torch.float32
    captioner = load_captioner(options.captioner, state.device, dtype) if mine and not options.no_captions else None
    painter = None
    if mine and not options.no_images:
        painter = load_painter(options.painter, state.device, dtype, options.steps)
    n_left_out = 0
    for start, path in bar(mine, desc=f"positives of {name}", unit="shard"):
        rows = range(start, min(start + options.shard_size, len(work.captions)))
        shard, n_rejected = make_shard(work, rows, captioner, painter, options.batch_size, options.seed)
        write_atomically(path, shard.to_parquet)
        n_left_out += n_rejected
    state.wait_for_everyone()
    return Positives(name, paths, len(mine), n_left_out, state.is_main_process)


def check_shard_inputs(options: PositivesOptions, name: str, work: Work) -> None:
    """Record the inputs of the shards, or raise if existing ones have other inputs."""
    plan = {key: getattr(options, key) for key in ("captioner", "painter", "no_captions", "no_images", "steps", "seed")}
    plan |= {"batch_size": options.batch_size, "shard_size": options.shard_size, "data": work.digest}
    path = options.output / f".positives-{name}.json"  # `datasets` passes over hidden files
    if not path.is_file():
        make_folder(options.output)
        write_text_atomically(path, json.dumps(plan))
    made = read_json(path, str(path), "Delete it and the shards beside it, or give another OUTPUT folder.")
    made = made if isinstance(made, dict) else {}
    fix = "Give the same command as before, or another OUTPUT folder."
    check_same_run(options.output, "shards of the same data and options", made, plan, fix)
