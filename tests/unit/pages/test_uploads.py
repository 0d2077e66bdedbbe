"""Uploads are paths, never addresses, and have limits."""

import asyncio

import PIL.Image
import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio as gr

from manycaps.pages.inputs import check_megapixels, check_uploaded, uploaded_file


def test_an_upload_is_a_path_and_never_an_address(tmp_path):
    component = uploaded_file(gr.Image(render=False, type="filepath"))
    for address in ("http://127.0.0.1:9/x.png", "https://example.org/x", "ftp://x/y", "data:image/png;base64,AAAA"):
        with pytest.raises(gr.Error) as error:
            asyncio.run(component.async_move_resource_to_block_cache(address))
        assert "expected a file, got an address" in error.value.message
    file = tmp_path / "no picture.png"
    file.write_bytes(b"not opened")
    moved = asyncio.run(component.async_move_resource_to_block_cache(str(file)))
    assert component.preprocess(component.data_model(path=moved)) == moved
    assert component.preprocess(component.data_model(url="data:image/png;base64,AAAA")) is None
    assert component.preprocess(None) is None


def test_upload_limits(tmp_path):
    with pytest.raises(ValueError, match=r"^images\[0\]: expected a file, got none\. Upload one"):
        check_uploaded(None, "images[0]", 1)
    file = tmp_path / "large.png"
    PIL.Image.new("1", (2000, 1500)).save(file)
    check_megapixels(file, "images[0]", 3)
    with pytest.raises(ValueError, match=r"^images\[0\]: expected at most 2.5 megapixels on this page, got 3\.0"):
        check_megapixels(file, "images[0]", 2.5)
    file.write_bytes(bytes(2_000_000))
    check_megapixels(file, "images[0]", 1)  # no image: the module says so
    with pytest.raises(ValueError, match=r"^images\[0\]: expected at most 1 megabytes on this page, got 2\.0"):
        check_uploaded(str(file), "images[0]", 1)
