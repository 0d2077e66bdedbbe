"""Uploaded files: no other path is accepted, and none is opened before its limits are checked."""

import pathlib
import re
from typing import Any

import gradio as gr
import PIL.Image

from .limits import check_at_most


def uploaded_file(component: Any) -> Any:
    """Make an upload component give the path of the file that was uploaded, and nothing else.

    gradio lets a caller name a web address or hold the data in the message instead, and opens images before the app
    sees them. Here only uploads pass, and they are not opened: the limits of the page come first.

    Args:
        component: gr.Image, gr.Video or gr.File.

    Returns:
        The same component.
    """
    # On the instance: gradio writes a type stub beside every module that subclasses a component.
    move = component.async_move_resource_to_block_cache

    async def move_uploads_only(path: Any) -> Any:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", str(path)):
            raise gr.Error("upload: expected a file, got an address. Upload the file itself.", print_exception=False)
        return await move(path)

    component.async_move_resource_to_block_cache = move_uploads_only
    component.preprocess = lambda payload: payload.path if payload else None
    return component


def check_uploaded(path: str | None, where: str, megabytes: float) -> pathlib.Path:
    """Return the path of an upload.

    Args:
        path: from the upload component.
        where: name of the column, for the messages.
        megabytes: largest size.

    Raises:
        ValueError: nothing was uploaded, or too much.
    """
    if not path:
        raise ValueError(f"{where}: expected a file, got none. Upload one, or fill in an example.")
    check_at_most(round(pathlib.Path(path).stat().st_size / 1e6, 1), megabytes, where, "megabytes")
    return pathlib.Path(path)


def check_megapixels(path: pathlib.Path, where: str, megapixels: float) -> None:
    """Raise if an image has too many pixels; they are not decoded. Other files are left to the module.

    Raises:
        ValueError: too many pixels.
    """
    try:
        with PIL.Image.open(path) as image:
            n_pixels = image.width * image.height
    except PIL.Image.DecompressionBombError:
        n_pixels = 2 * (PIL.Image.MAX_IMAGE_PIXELS or 0)
    except OSError:
        return
    check_at_most(round(n_pixels / 1e6, 1), megapixels, where, "megapixels")
