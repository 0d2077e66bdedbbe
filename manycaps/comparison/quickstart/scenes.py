"""The caption file of the quickstart: read, and checked so that a message names the scene and the key."""

import pathlib
from typing import Any

from manycaps.comparison.read import check_system_names
from manycaps.files.caption_tables.files import quote_source
from manycaps.kit.errors import InputError, InputTypeError
from manycaps.kit.files import read_json
from manycaps.kit.rows import as_caption_rows

# The captions that come with the package: 14 scenes, 7 human captions and 10 of each of three systems.
BUNDLED = pathlib.Path(__file__).with_name("captions.json")

# Layout of the file, for messages.
LAYOUT = '{"scenes": [{"references": ["a dog"], "systems": {"mine": ["a puppy"]}}, ...]}'

# trm_cider counts words in the references of at least two scenes; a triangle has three captions.
LEAST_SCENES, LEAST_CAPTIONS = 2, 3


def read_scenes(path: pathlib.Path) -> list[dict[str, Any]]:
    """Return the scenes of a caption file.

    The file is JSON in UTF-8: an object whose "scenes" is a list of at least two objects, each with "references" (a
    list of captions) and "systems" (an object from a system's name to its list of captions, the same names in every
    scene); "scene", a name for messages, is optional, and other keys are left alone. Anything else is a TypeError or
    ValueError that names the scene and the key.
    """
    content = read_json(path, quote_source(str(path)), f"Write {LAYOUT}.")
    if not isinstance(content, dict) or "scenes" not in content:
        raise InputError(path, 'an object with the key "scenes"', _kind(content), f"Write {LAYOUT}.")
    scenes = content["scenes"]
    if not isinstance(scenes, list):
        raise InputTypeError(f"{path}, scenes", "a list of scenes", _kind(scenes), f"Write {LAYOUT}.")
    if len(scenes) < LEAST_SCENES:
        raise InputError(f"{path}, scenes", f"at least {LEAST_SCENES} scenes", len(scenes), "Add images with captions.")
    checked: list[dict[str, Any]] = []
    for i, scene in enumerate(scenes):
        where = f"{path}, {_name(scene, i)}"
        checked.append(_as_scene(scene, where))
        first, got = sorted(checked[0]["systems"]), sorted(checked[i]["systems"])
        if first != got:
            expected = f"the systems of the first scene, {', '.join(first)}"
            raise InputError(f"{where}, systems", expected, ", ".join(got), "Give every scene the same systems.")
    return checked


def _as_scene(scene: Any, where: str) -> dict[str, Any]:
    """One scene's references and systems."""
    if not isinstance(scene, dict):
        raise InputTypeError(where, "an object with references and systems", _kind(scene), f"Write {LAYOUT}.")
    for key in ("references", "systems"):
        if key not in scene:
            raise InputError(where, f'the key "{key}"', _kind(scene), f"Write {LAYOUT}.")
    systems = scene["systems"]
    if not isinstance(systems, dict):
        raise InputTypeError(
            f"{where}, systems", "an object from names to captions", _kind(systems), f"Write {LAYOUT}."
        )
    if not systems:
        raise InputError(f"{where}, systems", "at least one system", "none", "Add the captions of a system.")
    check_system_names(list(systems), f"{where}, systems", "Give the system another name.")
    references = _as_captions(scene["references"], f"{where}, references")
    checked = {name: _as_captions(captions, f"{where}, systems.{name}") for name, captions in systems.items()}
    for name, captions in checked.items():
        n_captions = len(captions) + len(references)
        if n_captions < LEAST_CAPTIONS:
            expected = f"at least {LEAST_CAPTIONS} captions with the references"
            raise InputError(f"{where}, systems.{name}", expected, n_captions, "Add captions.")
    return {**scene, "references": references, "systems": checked}


def _as_captions(captions: Any, where: str) -> list[str]:
    """A list of captions; the messages are as in every module, with this place in the file."""
    if captions == []:
        raise InputError(where, "at least one caption", "an empty list", "Add captions.")
    if isinstance(captions, str):
        raise InputTypeError(where, "a list of captions", "a string", f"Wrap it in a list: [{captions[:40]!r}].")
    try:
        return as_caption_rows([captions], where)[0]
    except InputError as error:
        raise error.replace(f"{where}[0]", where) from None


def _name(scene: Any, i: int) -> str:
    """Number of a scene, and its name if it has one."""
    name = scene.get("scene") if isinstance(scene, dict) else None
    return f"scenes[{i}] ({name})" if isinstance(name, str) else f"scenes[{i}]"


def _kind(value: Any) -> str:
    """Name a wrong value for a message, without printing all of it."""
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(value)}"[:100] if value else "an empty object"
    return "null" if value is None else f"{type(value).__name__} ({str(value)[:40]})"
