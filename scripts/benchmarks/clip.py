"""PAC-S and RefPAC-S with the shape of CLIP ViT-B/32 and random weights, beside the authors' loop and the bare model.

The authors' program, written again from its description: every caption with its image is a row of its own, a
DataLoader decodes or tokenises, the model runs on batches of 64 images and of 256 captions padded to 77 tokens,
nothing is cached. The bare forward pass runs each distinct image and each distinct caption once, from tensors that
lie ready; its captions are as short as ours (the encoder is causal, so positions behind the longest text are waste).
"""

import os
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import evaluate
import numpy as np
import open_clip
import PIL.Image
import torch
import torchvision.transforms as transforms

from manycaps.kit.clip_model import OPENAI_MEAN, OPENAI_STD, ClipModel, text_batches
from scripts.benchmarks.timing import Comparison, compare, compare_remembered, from_scratch

ROOT = pathlib.Path(__file__).resolve().parents[2]

N_IMAGES = 16
CAPTIONS_PER_IMAGE = 5
BATCH_SIZE = 64

# Systems that are compared on the same images and references.
N_SYSTEMS = 3

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 2, "CAPTIONS_PER_IMAGE": 2, "N_SYSTEMS": 2, "LOADER_PROCESSES": 1}

# Of the authors' DataLoader: theirs are 6, more than many machines have cores.
LOADER_PROCESSES = min(6, os.cpu_count() or 1)

SUBJECTS = "dog,child,man in a red coat,woman on a bicycle,flock of birds,cat,small brown horse,busy crowd".split(",")
ACTIONS = "runs,waits beside a wooden fence,looks at the camera,plays with a yellow ball,sits in the shade".split(",")
PLACES = "in a park,on the beach in the evening,near the old station,in front of a shop window,on wet grass".split(",")


def captions(n: int, seed: int = 0) -> list[str]:
    """Return n captions of 8 to 15 words, nearly all different."""
    rng = np.random.default_rng(seed)
    words = [SUBJECTS, ACTIONS, PLACES]
    return [
        "a " + " ".join(str(rng.choice(part)) for part in words) + f" at {rng.integers(1, 13)} o'clock"
        for _ in range(n)
    ]


def write_photographs(folder: pathlib.Path, n: int) -> list[str]:
    """Write n JPEG files of 640 x 480 with smooth colours and some noise, about as large as photographs."""
    rng = np.random.default_rng(0)
    paths = []
    for i in range(n):
        coarse = PIL.Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((640, 480))
        noisy = np.asarray(coarse).astype(int) + rng.integers(-12, 13, (480, 640, 3))
        path = folder / f"{i}.jpg"
        PIL.Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(path, quality=90)
        paths.append(str(path))
    return paths


def random_clip(architecture: str) -> Any:
    """Return open_clip's model of a published shape, with random weights."""
    torch.manual_seed(0)
    return open_clip.create_model(architecture, pretrained=None, force_quick_gelu=True).eval()


class ImageRows(torch.utils.data.Dataset[torch.Tensor]):
    """The authors' images: opened and transformed by the loader."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.transform = transforms.Compose(
            [
                transforms.Resize(224, interpolation=transforms.InterpolationMode.BICUBIC),
                transforms.CenterCrop(224),
                lambda image: image.convert("RGB"),
                transforms.ToTensor(),
                transforms.Normalize(OPENAI_MEAN, OPENAI_STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.transform(PIL.Image.open(self.paths[i]))


class CaptionRows(torch.utils.data.Dataset[torch.Tensor]):
    """The authors' captions: prefixed and tokenised by the loader, 77 tokens each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> torch.Tensor:
        return open_clip.tokenize("A photo depicts " + self.texts[i])[0]


class AuthorsLoop:
    """The authors' PAC-S and RefPAC-S on one model."""

    def __init__(self, network: Any) -> None:
        self.network = network

    def features(self, rows: torch.utils.data.Dataset[torch.Tensor], encode: Any, batch_size: int) -> np.ndarray:
        """Encode every row."""
        loader = torch.utils.data.DataLoader(rows, batch_size=batch_size, num_workers=LOADER_PROCESSES)
        with torch.no_grad():
            found = np.vstack([encode(batch).numpy() for batch in loader])
        return found / np.sqrt(np.sum(found**2, axis=1, keepdims=True))

    def pac_s(self, paths: Sequence[str], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Score each caption with its image; also return the captions' features."""
        images = self.features(ImageRows(paths), self.network.encode_image, 64)
        candidates = self.features(CaptionRows(texts), self.network.encode_text, 256)
        return 2.0 * np.clip(np.sum(images * candidates, axis=1), 0, None), candidates

    def ref_pac_s(self, paths: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
        """Score each caption with its image and its references."""
        scores, candidates = self.pac_s(paths, texts)
        flat = self.features(CaptionRows([text for row in references for text in row]), self.network.encode_text, 256)
        ends = np.cumsum([len(row) for row in references])
        closest = [
            np.max(candidate @ flat[end - len(row) : end].T)
            for candidate, row, end in zip(candidates, references, ends, strict=True)
        ]
        return 2 * scores * closest / (scores + closest)


def bare_forward(model: ClipModel, pixels: torch.Tensor, texts: Sequence[str]) -> Any:
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
    """Five captions per image, PAC-S and RefPAC-S, on the CPU."""
    evaluate.utils.logging.disable_progress_bar()
    network = random_clip("ViT-B-32")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = pathlib.Path(folder) / "clip.pth"
        torch.save({"state_dict": network.state_dict()}, checkpoint)
        paths = write_photographs(pathlib.Path(folder), N_IMAGES)
        texts = captions(N_IMAGES * CAPTIONS_PER_IMAGE)
        options = {"checkpoint": str(checkpoint), "device": "cpu"}
        pac = evaluate.load(str(ROOT / "metrics" / "pac_score"), **options)
        ref = evaluate.load(str(ROOT / "metrics" / "ref_pac_score"), **options)
        rows = [texts[i : i + CAPTIONS_PER_IMAGE] for i in range(0, len(texts), CAPTIONS_PER_IMAGE)]
        yield from _compare(network, pac, ref, paths, rows)


def _compare(network: Any, pac: Any, ref: Any, paths: list[str], rows: list[list[str]]) -> Iterator[Comparison]:
    """The lines of the table."""
    texts = [text for row in rows for text in row]
    repeated = [path for path in paths for _ in range(CAPTIONS_PER_IMAGE)]
    references = [captions(5, seed=1 + i) for i in range(len(paths))]
    repeated_references = [row for row in references for _ in range(CAPTIONS_PER_IMAGE)]
    work = f"PAC-S, {len(paths)} images of 640 x 480 x {CAPTIONS_PER_IMAGE} captions"
    runs = {"n_ours": len(texts), "n_theirs": len(texts)}
    yield compare(
        work,
        "the authors' loop",
        "pairs",
        1.5,
        lambda: from_scratch(pac, predictions=rows, images=paths),
        lambda: AuthorsLoop(network).pac_s(repeated, texts),
        repeats=3,
        **runs,
    )
    yield compare(
        "RefPAC-S, the same with 5 references per image",
        "the authors' loop",
        "pairs",
        1.5,
        lambda: from_scratch(ref, predictions=rows, images=paths, references=references),
        lambda: AuthorsLoop(network).ref_pac_s(repeated, texts, repeated_references),
        repeats=1,
        **runs,
    )
    systems = [{"predictions": list(row), "images": paths, "references": references} for row in zip(*rows, strict=True)]
    yield compare_remembered(f"RefPAC-S of {N_SYSTEMS} systems on these images", ref, systems[:N_SYSTEMS], repeats=1)
    model = pac.encoder.model
    ready = torch.from_numpy(np.stack([_pixels(path) for path in paths]))
    prompted = ["A photo depicts " + text for text in texts]
    yield compare(
        work,
        "the bare forward pass on tensors",
        "pairs",
        0.9,
        lambda: from_scratch(pac, predictions=rows, images=paths),
        bare_forward(model, ready, prompted),
        **runs,
    )
    yield compare(
        "forward pass of our captions (as long as they are)",
        "open_clip's encode_text (77 positions)",
        "captions",
        None,
        bare_forward(model, ready[:0], prompted),
        lambda: AuthorsLoop(network).features(CaptionRows(prompted), network.encode_text, 256),
        **runs,
    )


def _pixels(path: str) -> np.ndarray:
    """A photograph as the model sees it."""
    square = transforms.Compose(
        [transforms.Resize(224, interpolation=transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(224)]
    )
    return np.asarray(square(PIL.Image.open(path)))
