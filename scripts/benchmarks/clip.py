"""PAC-S and RefPAC-S with the shape of CLIP ViT-B/32 and random weights, beside the authors' loop and the bare model.

The authors' program, written again from its description: every caption with its image is a row of its own, a
DataLoader decodes or tokenises, the model runs on batches of 64 images and of 256 captions padded to 77 tokens,
nothing is cached. The bare forward pass runs each distinct image and each distinct caption once, from tensors that
lie ready; its captions are as short as ours (the encoder is causal, so positions behind the longest text are waste).
"""

import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import open_clip
import PIL.Image
import torch
import torchvision.transforms as transforms

from manycaps.catalog.installed_modules import load
from manycaps.kit.clip_model import OPENAI_MEAN, OPENAI_STD, ClipModel, text_batches
from manycaps.kit.images import as_model_pixels
from scripts.benchmarks.timing import Comparison, Work, from_scratch

N_IMAGES = 16
CAPTIONS_PER_IMAGE = 5
BATCH_SIZE = 64

# Of ViT-B/32, and how many layers it has for images and for texts.
ARCHITECTURE, N_LAYERS = "ViT-B-32", 12

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 2, "CAPTIONS_PER_IMAGE": 2, "LOADER_PROCESSES": 1, "N_LAYERS": 1}

# Of the authors' DataLoader: theirs are 6, more than many machines have cores.
LOADER_PROCESSES = min(6, os.cpu_count() or 1)

SUBJECTS = "dog,child,man in a red coat,woman on a bicycle,flock of birds,cat,small brown horse,busy crowd".split(",")
ACTIONS = "runs,waits beside a wooden fence,looks at the camera,plays with a yellow ball,sits in the shade".split(",")
PLACES = "in a park,on the beach in the evening,near the old station,in front of a shop window,on wet grass".split(",")

# How the authors' programs prepare an image.
AUTHORS_PIXELS = transforms.Compose(
    [
        transforms.Resize(224, interpolation=transforms.InterpolationMode.BICUBIC),
        transforms.CenterCrop(224),
        lambda image: image.convert("RGB"),
        transforms.ToTensor(),
        transforms.Normalize(OPENAI_MEAN, OPENAI_STD),
    ]
)


def captions(n: int, seed: int = 0) -> list[str]:
    """Return n captions of 8 to 15 words, nearly all different."""
    rng = np.random.default_rng(seed)
    words = [SUBJECTS, ACTIONS, PLACES]
    return [
        "a " + " ".join(str(rng.choice(part)) for part in words) + f" at {rng.integers(1, 13)} o'clock"
        for _ in range(n)
    ]


def write_photographs(folder: pathlib.Path, n: int) -> list[str]:
    """Write n different JPEG files of 640 x 480 with smooth colours and some noise, about as large as photographs."""
    rng = np.random.default_rng(0)
    colours, noise = rng.integers(0, 256, (n, 12, 16, 3), dtype=np.uint8), rng.integers(-12, 13, (480, 640, 3))

    def write(i: int) -> str:
        smooth = np.asarray(PIL.Image.fromarray(colours[i]).resize((640, 480)))
        path = folder / f"{i}.jpg"
        PIL.Image.fromarray(np.clip(smooth + noise, 0, 255).astype(np.uint8)).save(path, quality=90)
        return str(path)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(write, range(n)))


def random_clip() -> Any:
    """Return open_clip's model of the published shape, with random weights."""
    torch.manual_seed(0)
    shape: dict[str, Any] = open_clip.get_model_config(ARCHITECTURE)
    parts = {part: shape[part] | {"layers": N_LAYERS} for part in ("vision_cfg", "text_cfg")}
    return open_clip.CLIP(shape["embed_dim"], **parts, quick_gelu=True).eval()


def save_clip(network: Any, folder: pathlib.Path) -> str:
    """Write the weights of a CLIP, and return the path of the checkpoint."""
    path = folder / "clip.pth"
    torch.save({"state_dict": network.state_dict()}, path)
    return str(path)


def authors_features(
    items: Sequence[str], read: Callable[[str], torch.Tensor], encode: Callable[..., torch.Tensor], batch_size: int
) -> np.ndarray:
    """Read every item in the processes of a loader, encode it, and normalise."""

    def batch_of(part: Sequence[str]) -> torch.Tensor:
        return torch.stack([read(item) for item in part])

    loader = torch.utils.data.DataLoader(
        list(items), batch_size=batch_size, num_workers=LOADER_PROCESSES, collate_fn=batch_of
    )
    with torch.no_grad():
        features = np.vstack([encode(batch).numpy() for batch in loader])
    return features / np.sqrt(np.sum(features**2, axis=1, keepdims=True))


def authors_text_features(network: Any, texts: Sequence[str]) -> np.ndarray:
    """Encode captions with the prompt, 77 tokens each."""
    return authors_features(
        texts, lambda text: open_clip.tokenize("A photo depicts " + text)[0], network.encode_text, 256
    )


def authors_pac_s(network: Any, paths: Sequence[str], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Score each caption with its image; also return the captions' features."""
    images = authors_features(paths, lambda path: AUTHORS_PIXELS(PIL.Image.open(path)), network.encode_image, 64)
    candidates = authors_text_features(network, texts)
    return 2.0 * np.clip(np.sum(images * candidates, axis=1), 0, None), candidates


def authors_ref_pac_s(
    network: Any, paths: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]]
) -> np.ndarray:
    """Score each caption with its image and its references."""
    scores, candidates = authors_pac_s(network, paths, texts)
    flat = authors_text_features(network, [text for row in references for text in row])
    ends = np.cumsum([len(row) for row in references])
    closest = [
        np.max(candidate @ flat[end - len(row) : end].T)
        for candidate, row, end in zip(candidates, references, ends, strict=True)
    ]
    return 2 * scores * closest / (scores + closest)


def bare_forward(model: ClipModel, pixels: torch.Tensor, texts: Sequence[str]) -> Callable[[], None]:
    """Return a function that only runs the model: no decoding, no tokenising, no scores."""
    tokens = [model.tokenize(text) for text in dict.fromkeys(texts)]
    batches = [model._as_batch([tokens[i] for i in rows]) for rows in text_batches(tokens, BATCH_SIZE)]
    pixels = (pixels.permute(0, 3, 1, 2).float() - model.mean) / model.std

    def run() -> None:
        with torch.inference_mode():
            for start in range(0, len(pixels), BATCH_SIZE):
                model.network.visual(pixels[start : start + BATCH_SIZE])
            for ids, ends in batches:
                model.embed_tokens(ids, ends)

    return run


def comparisons() -> Iterator[Comparison]:
    """Time five captions per image, PAC-S and RefPAC-S, on the CPU."""
    network = random_clip()
    with tempfile.TemporaryDirectory() as folder:
        options = {"checkpoint": save_clip(network, pathlib.Path(folder)), "device": "cpu"}
        pac, ref = load("pac_score", **options), load("ref_pac_score", **options)
        paths = write_photographs(pathlib.Path(folder), N_IMAGES)
        yield from _compare(network, pac, ref, paths)


def _compare(network: Any, pac: Any, ref: Any, paths: list[str]) -> Iterator[Comparison]:
    """The lines of the table."""
    texts = captions(N_IMAGES * CAPTIONS_PER_IMAGE)
    rows = [texts[i : i + CAPTIONS_PER_IMAGE] for i in range(0, len(texts), CAPTIONS_PER_IMAGE)]
    references = [captions(5, seed=1 + i) for i in range(N_IMAGES)]
    repeated, repeated_references = (
        [value for value in values for _ in range(CAPTIONS_PER_IMAGE)] for values in (paths, references)
    )

    def score_pictures() -> Any:
        return from_scratch(pac, predictions=rows, images=paths)

    def score_with_references() -> Any:
        return from_scratch(ref, predictions=rows, images=paths, references=references)

    work = Work(
        f"PAC-S, {N_IMAGES} images of 640 x 480 x {CAPTIONS_PER_IMAGE} captions", "pairs", len(texts), score_pictures
    )
    yield work.beside("the authors' loop", lambda: authors_pac_s(network, repeated, texts), claim=1.5, repeats=3)
    yield Work("RefPAC-S, the same with 5 references per image", "pairs", len(texts), score_with_references).beside(
        "the authors' loop",
        lambda: authors_ref_pac_s(network, repeated, texts, repeated_references),
        claim=1.5,
        repeats=1,
    )
    ready = torch.from_numpy(np.stack([as_model_pixels(PIL.Image.open(path), 224) for path in paths]))
    bare = bare_forward(pac.encoder.model, ready, ["A photo depicts " + text for text in texts])
    yield work.beside("the bare forward pass on tensors", bare, claim=0.9)
