"""Every form of an image means the same pixels, in every module that reads images: features and scores are equal."""

import base64
import io

import numpy as np
import PIL.Image
import pytest

from tests.large_packages import datasets, evaluate, torch
from tests.modules.sample_inputs import clip_options

RNG = np.random.default_rng(0)
# Each row of emscore_pac is a video of two frames, and each of the others an image.
PICTURES = RNG.integers(0, 256, (6, 40, 50, 3), dtype=np.uint8)
CAPTIONS = ["a red square", "two dogs", "a dog", "a cat", "a bird", "the sea"]
MODULES = ("pac_score", "ref_pac_score", "emscore_pac", "trm", "mmd")


def png(picture):
    buffer = io.BytesIO()
    PIL.Image.fromarray(picture).save(buffer, "PNG")
    return buffer


def tensors(pictures):
    return torch.from_numpy(pictures)


def first(pictures):
    """Channels first."""
    return np.ascontiguousarray(np.moveaxis(pictures, -1, 1))


def tv_image(picture):
    from torchvision import tv_tensors

    return tv_tensors.Image(torch.from_numpy(picture).permute(2, 0, 1))


def tv_video(pictures):
    from torchvision import tv_tensors

    return tv_tensors.Video(torch.from_numpy(first(pictures)))


def column_of(pictures, file_format, decode=True):
    """A column of a dataset, as its format gives it."""
    column = [png(picture).getvalue() for picture in pictures]
    table = datasets.Dataset.from_dict({"image": [{"bytes": content, "path": None} for content in column]})
    return table.cast_column("image", datasets.Image(decode=decode)).with_format(file_format)


# From (n, height, width, 3) pixels to n images. Files and single arrays: unit/kit/test_images.py.
FORMS = {
    "numpy_channels_first": lambda x: list(first(x)),
    "numpy_floats": lambda x: list(x / 255),
    "numpy_batch_channels_first": first,
    "numpy_batch_of_floats": lambda x: x / 255,
    "numpy_alpha_channels_first": lambda x: list(first(np.concatenate([x, x[..., :1]], axis=-1))),
    "torch_bfloat16": lambda x: list((tensors(x).float() / 255).bfloat16()),
    "torch_gradient": lambda x: list((tensors(x).float() / 255).requires_grad_()),
    "torch_batch": tensors,
    "torch_batch_channels_first": lambda x: tensors(first(x)),
    "torch_batch_not_contiguous": lambda x: tensors(x).permute(0, 3, 1, 2),
    "tv_image": lambda x: [tv_image(picture) for picture in x],
    "tv_video": tv_video,
    "base64": lambda x: [base64.b64encode(png(picture).getvalue()).decode() for picture in x],
    "base64_in_lines": lambda x: [base64.encodebytes(png(picture).getvalue()).decode() for picture in x],
    "data_url": lambda x: [f"data:image/png;base64,{base64.b64encode(png(p).getvalue()).decode()}" for p in x],
    "bytes_io": lambda x: [png(picture) for picture in x],
    "pil": lambda x: [PIL.Image.fromarray(picture) for picture in x],
    "generator": iter,
    "dataset": lambda x: column_of(x, None)["image"],
    "dataset_not_decoded": lambda x: column_of(x, None, decode=False)["image"],
    "dataset_arrow": lambda x: column_of(x, "arrow")["image"],
    "dataset_torch": lambda x: column_of(x, "torch")["image"],
    "dataset_numpy": lambda x: column_of(x, "numpy")["image"],
    "dataset_torch_rows": lambda x: column_of(x, "torch")[:]["image"],
    "dataset_numpy_rows": lambda x: column_of(x, "numpy")[:]["image"],
}


@pytest.fixture(scope="module")
def loaded_modules():
    return {name: evaluate.load(name, details=True, **clip_options()) for name in MODULES}


def columns(name, form):
    """The columns of a module with every image in one form."""
    if name in ("trm", "mmd"):
        return {"prediction_images": form(PICTURES[:3]), "reference_images": form(PICTURES[3:])}
    if name == "emscore_pac":
        videos = [form(PICTURES[i : i + 2]) for i in (0, 2, 4)]
        # Of more threads, frames would enter a batch in any order, and be rounded otherwise.
        return {"predictions": CAPTIONS[:3], "videos": videos, "n_workers": 1}
    references = {"references": [[caption] for caption in CAPTIONS]} if name == "ref_pac_score" else {}
    return {"predictions": CAPTIONS, "images": form(PICTURES)} | references


@pytest.fixture(scope="module")
def expected_results(loaded_modules):
    return {name: module.compute(**columns(name, list)) for name, module in loaded_modules.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODULES)
def test_a_form_of_an_image_changes_no_bit_of_a_result(loaded_modules, expected_results, name, form):
    assert loaded_modules[name].compute(**columns(name, FORMS[form])) == expected_results[name]


def test_grey_pixels_are_those_of_today(loaded_modules):
    grey = PICTURES[..., 0]
    expected = loaded_modules["pac_score"].compute(predictions=CAPTIONS, images=list(grey))
    for form in (grey[..., None], grey[:, None], torch.from_numpy(grey[:, None]), grey[:, None] / 255):
        assert loaded_modules["pac_score"].compute(predictions=CAPTIONS, images=form) == expected


REFUSED = {
    "data_url_as_text": (
        "data:image/svg+xml,<svg/>",
        "expected base64, got 'data:image/svg+xml,<svg/>' (no ;base64 in",
    ),
    "damaged_base64": ("/9j/" + 60 * "A" + "!", "expected base64, got '/9j/AAAA"),
    "data_url_of_no_image": (
        "data:image/png;base64,aGVsbG8=",
        "expected an image, got 5 bytes that begin with b'hello'",
    ),
    "ambiguous": (np.zeros((3, 8, 3), np.uint8), "expected channels at one end of the shape, got (3, 8, 3), with"),
    "normalised": (lambda: torch.full((3, 8, 8), -0.5), "expected floats from 0 to 1, got -0.5 to -0.5. Give levels"),
    "whole_numbers": (lambda: torch.ones(3, 8, 8).int(), "expected an image of uint8 or of floats from 0 to 1, got in"),
    "two_channels": (np.zeros((8, 9, 2), np.uint8), "expected an image of uint8 or of floats from 0 to 1, got uint8 o"),
    "no_numbers": (lambda: torch.ones(3, 8, 8, device="meta"), "expected an array of numbers, got Tensor ("),
}


@pytest.mark.parametrize("form", REFUSED)
@pytest.mark.parametrize("name", MODULES)
def test_what_has_no_single_meaning_is_refused_with_the_remedy(loaded_modules, name, form):
    image, message = REFUSED[form]
    image = image() if callable(image) else image
    given = columns(name, lambda pictures: [*pictures[:1], image, *pictures[2:]])
    with pytest.raises((TypeError, ValueError)) as raised:
        loaded_modules[name].compute(**given)
    place, _, rest = str(raised.value).partition(": ")
    assert rest.startswith(message), str(raised.value)
    assert place.endswith("[1]"), place
