"""Every kind of image, and every kind of thing that is not one."""

import io

import numpy as np
import PIL.Image
import pytest

from manycaps.kit.images import as_image_source, as_model_pixels, as_numpy, as_pixels, as_rgb_image
from tests.large_packages import torch, torchvision
from tests.refusals import assert_refused

RNG = np.random.default_rng(0)


PHOTO = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)


WHERE = "images[3]"


def as_array(image):
    return np.asarray(as_rgb_image(as_image_source(image, WHERE), WHERE))


def encode(image, file_format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def must_fail(image, message):
    assert_refused((ValueError, TypeError), f"images[3]: {message}", as_array, image)


def test_changes_in_place_count():
    image = PIL.Image.open(io.BytesIO(encode(PIL.Image.fromarray(PHOTO), "PNG")))
    image.putpixel((0, 0), (1, 2, 3))
    assert as_array(image)[0, 0].tolist() == [1, 2, 3]


def test_orientation_is_applied_whatever_the_kind(tmp_path):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # TIFF 6.0, tag Orientation: the first row belongs to the right
    data = encode(PIL.Image.fromarray(PHOTO), "PNG", exif=exif)
    (tmp_path / "turned.png").write_bytes(data)
    for image in (data, tmp_path / "turned.png", PIL.Image.open(io.BytesIO(data))):
        assert (as_array(image) == PHOTO.transpose(1, 0, 2)[:, ::-1]).all()


def test_modes_are_defined():
    grey = RNG.integers(0, 256, (6, 5), dtype=np.uint8)
    assert (as_array(grey) == grey[:, :, None]).all()
    assert (as_array(grey[:, :, None]) == grey[:, :, None]).all()
    assert (as_array(encode(PIL.Image.fromarray(grey))) == grey[:, :, None]).all()
    alpha = RNG.integers(0, 256, (6, 5, 4), dtype=np.uint8)
    assert (as_array(alpha) == alpha[:, :, :3]).all()
    assert (as_array(encode(PIL.Image.fromarray(alpha))) == alpha[:, :, :3]).all()
    assert as_array(encode(PIL.Image.new("1", (2, 1), 1))).tolist() == [[[255] * 3] * 2]
    cmyk = PIL.Image.new("CMYK", (1, 1), (0, 255, 255, 0))
    assert as_array(cmyk).tolist() == [[[255, 0, 0]]]
    assert as_array(encode(cmyk, "JPEG", quality=100)).tolist()[0][0] == pytest.approx([255, 0, 0], abs=3)


def test_a_palette_is_looked_up():
    image = PIL.Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putpixel((1, 0), 1)
    assert as_array(image).tolist() == [[[10, 20, 30], [40, 50, 60]]]
    assert as_array(encode(image)).tolist() == [[[10, 20, 30], [40, 50, 60]]]
    assert as_array(encode(image, transparency=0)).tolist() == [[[10, 20, 30], [40, 50, 60]]]


def test_sixteen_bits_are_scaled_not_cut():
    images = [PIL.Image.fromarray(np.array([[0, 257, 32896, 65535]], dtype=kind)) for kind in (np.uint16, np.int32)]
    for image in (*images, encode(images[0])):
        assert as_array(image)[0, :, 0].tolist() == [0, 1, 128, 255]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (640, 480), (333, 500), (3, 7), (224, 225), (7000, 100)])
def test_model_pixels_are_those_of_torchvision(width, height):
    image = PIL.Image.fromarray(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))
    transforms = torchvision.transforms
    bicubic = transforms.InterpolationMode.BICUBIC
    expected = transforms.Compose([transforms.Resize(224, interpolation=bicubic), transforms.CenterCrop(224)])(image)
    assert (as_model_pixels(image, 224) == np.asarray(expected)).all()


def test_a_very_long_image_is_cut_before_it_is_scaled():
    image = PIL.Image.new("RGB", (1_000_000, 1), (7, 7, 7))  # scaled as a whole it would take 150 GB
    assert (as_model_pixels(image, 224) == 7).all()


def test_the_short_cut_for_long_images_gives_the_same_pixels(monkeypatch):
    smooth = np.linspace(0, 255, 3000).astype(np.uint8)[None, :, None].repeat(30, 0).repeat(3, 2)
    image = PIL.Image.fromarray(smooth)
    expected = as_model_pixels(image, 224).astype(int)
    monkeypatch.setattr("manycaps.kit.images.MAX_SCALED_SIDE", 0)
    # Pillow rounds the corners of the box to float32: one level at most.
    assert np.abs(as_model_pixels(image, 224) - expected).max() <= 1


def test_no_address_is_fetched_and_no_format_read_that_starts_a_program():
    for address in ("http://a.org/x.jpg", "s3://b/x.png", "file:///etc/passwd"):
        for image in (address, {"bytes": None, "path": address}):
            must_fail(image, f"expected a local path, got the address '{address}'. Download it first.$")
    must_fail(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n%%EndComments\n", "expected an image, got")


def test_a_picture_larger_than_pillow_allows_is_refused(monkeypatch):
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 47)
    must_fail(PIL.Image.fromarray(PHOTO), "expected at most 47 pixels, got 8 x 6.")
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 23)
    data = encode(PIL.Image.fromarray(PHOTO))
    must_fail(data, "expected at most 23 pixels, got more than twice as many. Scale the image down, or raise PIL")
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", None)
    assert (as_array(PHOTO) == PHOTO).all()


@pytest.mark.parametrize("file_format", ["GIF", "WEBP", "TIFF"])
def test_an_animation_is_refused(file_format):
    frames = [PIL.Image.fromarray(RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)) for _ in range(3)]
    data = encode(frames[0], file_format, save_all=True, append_images=frames[1:])
    for image in (data, PIL.Image.open(io.BytesIO(data))):
        must_fail(image, f"expected a still image, got {file_format} with several frames. Give one frame, for example ")
    assert as_array(PIL.Image.open(io.BytesIO(data)).copy()).shape == (8, 8, 3)


def test_a_photograph_with_previews_is_its_first_picture():
    first, preview = PIL.Image.new("RGB", (8, 8), (200, 0, 0)), PIL.Image.new("RGB", (4, 4), (0, 200, 0))
    data = encode(first, "MPO", save_all=True, append_images=[preview])
    assert as_array(data)[0, 0].tolist() == pytest.approx([200, 0, 0], abs=3)


LEVELS = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)


@pytest.mark.parametrize("floats", [np.float16, np.float32, np.float64, np.longdouble, np.dtype(">f4")])
def test_every_level_of_every_type_of_floats_is_exact(floats):
    assert (as_pixels((LEVELS / 255).astype(floats), "images[0]") == LEVELS[:, :, 0]).all()
    for tensor in (torch.from_numpy(LEVELS).float() / 255, torch.from_numpy(LEVELS).float().div(255).half()):
        assert (as_pixels(as_numpy(tensor, "images[0]"), "images[0]") == LEVELS[:, :, 0]).all()
