"""Every kind of image, and every kind of thing that is not one."""

import io
import pathlib
import struct
import zlib

import numpy as np
import PIL.Image
import pyarrow as pa
import pytest

from manycaps.kit.media_images import FILE_FORMATS, as_image_source, as_model_pixels, as_numpy, as_pixels, as_rgb_image
from tests.each_case import each_case
from tests.large_packages import torch, torchvision
from tests.refusals import assert_refused

RNG = np.random.default_rng(0)
PHOTO = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
WHERE = "images[3]"


def as_array(image):
    return np.asarray(as_rgb_image(as_image_source(image, WHERE), WHERE))


def encoded(image, file_format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def refused(image, message):
    assert_refused((ValueError, TypeError), f"images[3]: {message}", as_array, image)


@each_case(
    "kind",
    [
        str,
        lambda path: path,
        pathlib.PurePath,
        lambda path: path.read_bytes(),
        lambda path: bytearray(path.read_bytes()),
        PIL.Image.open,
        lambda path: PIL.Image.open(path).copy(),
        lambda _: PHOTO,
        lambda path: {"bytes": path.read_bytes(), "path": None},
        lambda path: {"bytes": None, "path": str(path)},
        lambda path: {"path": str(path)},
        lambda path: pa.scalar({"bytes": path.read_bytes(), "path": "gone.png"}),
    ],
)
def test_every_kind_of_input_gives_the_same_pixels(tmp_path, kind):
    path = tmp_path / "photo.png"
    PIL.Image.fromarray(PHOTO).save(path)
    assert (as_array(kind(path)) == PHOTO).all()


def test_a_jpeg_is_not_compressed_a_second_time():
    jpeg = encoded(PIL.Image.fromarray(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)), "JPEG", quality=20)
    decoded = np.asarray(PIL.Image.open(io.BytesIO(jpeg)))
    assert (as_array(jpeg) == decoded).all()
    assert (as_array(PIL.Image.open(io.BytesIO(jpeg))) == decoded).all()


def test_changes_in_place_count():
    image = PIL.Image.open(io.BytesIO(encoded(PIL.Image.fromarray(PHOTO), "PNG")))
    image.putpixel((0, 0), (1, 2, 3))
    assert as_array(image)[0, 0].tolist() == [1, 2, 3]


@each_case("orientation", range(1, 9))
def test_orientation_is_applied_whatever_the_kind(orientation, tmp_path):
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    data = encoded(PIL.Image.fromarray(PHOTO), "PNG", exif=exif)
    (tmp_path / "turned.png").write_bytes(data)
    # TIFF 6.0, tag Orientation: the corner where the first row and column of pixels belong.
    upright = {
        1: PHOTO,
        2: PHOTO[:, ::-1],
        3: PHOTO[::-1, ::-1],
        4: PHOTO[::-1],
        5: PHOTO.transpose(1, 0, 2),
        6: PHOTO.transpose(1, 0, 2)[:, ::-1],
        7: PHOTO.transpose(1, 0, 2)[::-1, ::-1],
        8: PHOTO.transpose(1, 0, 2)[::-1],
    }[orientation]
    for image in (data, tmp_path / "turned.png", PIL.Image.open(io.BytesIO(data))):
        assert (as_array(image) == upright).all()


def test_modes_are_defined():
    grey = RNG.integers(0, 256, (6, 5), dtype=np.uint8)
    assert (as_array(grey) == grey[:, :, None]).all()
    assert (as_array(grey[:, :, None]) == grey[:, :, None]).all()
    assert (as_array(encoded(PIL.Image.fromarray(grey))) == grey[:, :, None]).all()
    alpha = RNG.integers(0, 256, (6, 5, 4), dtype=np.uint8)
    assert (as_array(alpha) == alpha[:, :, :3]).all()
    assert (as_array(encoded(PIL.Image.fromarray(alpha))) == alpha[:, :, :3]).all()
    assert as_array(encoded(PIL.Image.new("1", (2, 1), 1))).tolist() == [[[255] * 3] * 2]
    cmyk = PIL.Image.new("CMYK", (1, 1), (0, 255, 255, 0))
    assert as_array(cmyk).tolist() == [[[255, 0, 0]]]
    assert as_array(encoded(cmyk, "JPEG", quality=100)).tolist()[0][0] == pytest.approx([255, 0, 0], abs=3)


def test_a_palette_is_looked_up():
    image = PIL.Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putpixel((1, 0), 1)
    assert as_array(image).tolist() == [[[10, 20, 30], [40, 50, 60]]]
    assert as_array(encoded(image)).tolist() == [[[10, 20, 30], [40, 50, 60]]]
    assert as_array(encoded(image, transparency=0)).tolist() == [[[10, 20, 30], [40, 50, 60]]]


def test_sixteen_bits_are_scaled_not_cut():
    images = [PIL.Image.fromarray(np.array([[0, 257, 32896, 65535]], dtype=kind)) for kind in (np.uint16, np.int32)]
    for image in (*images, encoded(images[0])):
        assert as_array(image)[0, :, 0].tolist() == [0, 1, 128, 255]


@each_case(("width", "height"), [(1, 1), (640, 480), (333, 500), (3, 7), (224, 225), (7000, 100)])
def test_model_pixels_are_those_of_torchvision(width, height):
    image = PIL.Image.fromarray(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))
    transforms = torchvision.transforms
    bicubic = transforms.InterpolationMode.BICUBIC
    expected = transforms.Compose([transforms.Resize(224, interpolation=bicubic), transforms.CenterCrop(224)])(image)
    assert (as_model_pixels(image, 224) == np.asarray(expected)).all()


@pytest.mark.parametrize("size", [(10_000, 20), (20, 10_000), (80_000_000, 1)])
def test_very_long_images_are_cut_before_they_are_scaled(size):
    image = PIL.Image.new("L", size, 7).convert("RGB") if max(size) < 1e6 else PIL.Image.new("RGB", size, (7, 7, 7))
    assert (as_model_pixels(image, 224) == 7).all()


def test_the_short_cut_for_long_images_gives_the_same_pixels(monkeypatch):
    smooth = np.linspace(0, 255, 3000).astype(np.uint8)[None, :, None].repeat(30, 0).repeat(3, 2)
    image = PIL.Image.fromarray(smooth)
    expected = as_model_pixels(image, 224).astype(int)
    monkeypatch.setattr("manycaps.kit.media_images.MAX_SCALED_SIDE", 0)
    # Pillow rounds the corners of the box to float32: one level at most.
    assert np.abs(as_model_pixels(image, 224) - expected).max() <= 1


def test_files_that_are_no_images_are_named(tmp_path):
    for address in ("http://a.org/x.jpg", "https://a.org/x.jpg", "s3://b/x.png", "file:///etc/passwd"):
        for image in (address, {"bytes": None, "path": address}):  # and not fetched
            refused(image, f"expected a local path, got the address '{address}'. Download it first.$")
    refused("nowhere.jpg", "expected an image file, got 'nowhere.jpg' (No such file")
    refused(tmp_path, ".*(a folder, not a regular file). Check the path")
    # Python words the reason otherwise from 3.13 on.
    refused("a\0b", "expected an image file, got 'a\\x00b' (.*embedded null .*)")
    (tmp_path / "text.jpg").write_text("a dog on a beach")
    message = (
        "expected an image, got 16 bytes that begin with b'a dog on' (UnidentifiedImageError). Give a file of one of "
        f"the formats {', '.join(FILE_FORMATS)}.$"
    )
    refused(tmp_path / "text.jpg", message)
    refused(b"", ".*got 0 bytes")
    # A format that starts another program.
    refused(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n%%EndComments\n", "expected an image, got")


@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_truncated_file_is_named(file_format):
    data = encoded(PIL.Image.fromarray(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)), file_format)
    with pytest.raises(ValueError, match=r"images\[3\]: expected .*(damaged|bytes that begin with)"):
        as_array(data[: len(data) // 2])
    refused(encoded(PIL.Image.fromarray(PHOTO), "JPEG")[:-10], ".*truncated")


def test_a_picture_larger_than_pillow_allows_is_refused(monkeypatch):
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 47)
    refused(PIL.Image.fromarray(PHOTO), "expected at most 47 pixels, got 8 x 6.")
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", None)
    assert (as_array(PHOTO) == PHOTO).all()


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 100_000])
def test_a_decompression_bomb_is_refused_from_its_header(side):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    with pytest.raises(ValueError, match=r"expected at most 89,478,485 pixels|\(DecompressionBombError\)"):
        as_array(bomb)


@pytest.mark.parametrize("file_format", ["GIF", "WEBP", "TIFF"])
def test_an_animation_is_refused(file_format):
    frames = [PIL.Image.fromarray(RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)) for _ in range(3)]
    data = encoded(frames[0], file_format, save_all=True, append_images=frames[1:])
    for image in (data, PIL.Image.open(io.BytesIO(data))):
        refused(image, f"expected a still image, got {file_format} with several frames. Give one frame, for example ")
    assert as_array(PIL.Image.open(io.BytesIO(data)).copy()).shape == (8, 8, 3)


def test_a_photograph_with_previews_is_its_first_picture():
    first, preview = PIL.Image.new("RGB", (8, 8), (200, 0, 0)), PIL.Image.new("RGB", (4, 4), (0, 200, 0))
    data = encoded(first, "MPO", save_all=True, append_images=[preview])
    assert as_array(data)[0, 0].tolist() == pytest.approx([200, 0, 0], abs=3)


@each_case(
    ("image", "message"),
    [
        (None, "expected an image (path, bytes, io.BytesIO, PIL image, array or tensor), got NoneType. Giv"),
        (3.5, "expected an image (path, bytes, io.BytesIO, PIL image, array or tensor), got float."),
        ({"bytes": None, "path": None}, "expected an image (path, bytes, io.BytesIO, PIL image, array or t"),
        (np.zeros((0, 8, 3), np.uint8), "expected at least one pixel, got an array of shape (0, 8, 3)."),
        (PIL.Image.new("RGB", (0, 4)), "expected at least one pixel, got a PIL image of (0, 4)."),
        (PIL.Image.new("F", (2, 2)), "expected 8-bit or 16-bit pixels, got Pillow's mode F."),
        (PIL.Image.new("LAB", (2, 2)), "expected 8-bit or 16-bit pixels, got Pillow's mode LAB."),
        (PIL.Image.new("I", (2, 2), 70000), "expected 16-bit pixels from 0 to 65535, got 70000 to 70000."),
    ],
)
def test_what_is_no_image_is_named(image, message):
    refused(image, message)


LEVELS = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)


@each_case("floats", [np.float16, np.float32, np.float64, np.longdouble, np.dtype(">f4")])
def test_every_level_of_every_type_of_floats_is_exact(floats):
    assert (as_pixels((LEVELS / 255).astype(floats), "images[0]") == LEVELS[:, :, 0]).all()
    for tensor in (torch.from_numpy(LEVELS).float() / 255, torch.from_numpy(LEVELS).float().div(255).half()):
        assert (as_pixels(as_numpy(tensor, "images[0]"), "images[0]") == LEVELS[:, :, 0]).all()


@each_case("shape", [(3, 5, 3), (3, 5, 4), (1, 5, 3), (4, 5, 1)])
def test_channels_at_both_ends(shape):
    message = (
        f"images[2]: expected channels at one end of the shape, got {shape}, with either end possible. Give a PIL "
        "image: PIL.Image.fromarray of a uint8 NumPy array of shape (height, width, 3).$"
    )
    assert_refused(ValueError, message, as_pixels, np.zeros(shape, np.uint8), "images[2]")
