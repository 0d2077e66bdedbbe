"""What a run was begun with: the same command goes on with it, another one is refused."""

import importlib.metadata
import json
import os
import platform
from typing import Any

from manycaps.caption_tables.files import is_local
from manycaps.scoring.metrics import Scorer
from manycaps.scoring.run_folder import RunFolder, read_saved
from manycaps.scoring.run_settings import Part, RunSettings
from manycaps.shared_module import VERSION

# Packages that decide numbers, of every metric and of those with a model.
PACKAGES = ("numpy", "scipy", "pyarrow", "nltk")
MODEL_PACKAGES = ("torch", "open_clip_torch", "pillow", "sentence-transformers", "av")


def manifest(settings: RunSettings, scorers: list[Scorer], parts: list[Part], part_bytes: int) -> dict[str, Any]:
    """Return what decides the results of a run."""
    return {
        "inputs": inputs(settings),
        "metrics": {scorer.name: metric.options for scorer, metric in zip(scorers, settings.metrics, strict=True)},
        "versions": versions(scorers),
        "part_bytes": part_bytes,
        "n_parts": len(parts),
    }


def inputs(settings: RunSettings) -> dict[str, Any]:
    """Return which files are read, and how they are understood."""
    source = settings.source
    sides = [source.main] + ([source.references] if source.references else [])
    files = [file for side in sides for file in side.files]
    return {
        "files": {file.path: [file.n_bytes, _modified(file.path)] for file in files},
        "understood": source.description(),
        "media": dict(source.media),
        "limit": source.limit,
    }


def versions(scorers: list[Scorer]) -> dict[str, str]:
    """Return the versions of what makes the numbers."""
    has_model = any(scorer.has_model for scorer in scorers)
    found = {"manycaps": VERSION, "python": platform.python_version()}
    for name in PACKAGES + (MODEL_PACKAGES if has_model else ()):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def check_same(folder: RunFolder, now: dict[str, Any]) -> bool:
    """Say whether a folder holds a run that can go on.

    Returns:
        False if it holds none.

    Raises:
        ValueError: it holds another run.
    """
    if not folder.manifest.exists():
        return False
    before = read_saved(folder.manifest)
    now = json.loads(json.dumps(now))
    if before == now:
        return True
    key = next(name for name in now if before.get(name) != now[name])
    raise ValueError(
        f"{folder.path}: expected the run that this folder holds, got another one: {_difference(key, before, now)}. "
        "Give the same command, --restart to begin from scratch, or another -o."
    )


def _difference(key: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first thing that differs, and how."""
    old, new = before.get(key), now[key]
    if isinstance(old, dict) and isinstance(new, dict):
        name = next(name for name in {**new, **old} if old.get(name) != new.get(name))
        return _difference(name, old, {**dict.fromkeys(old), **new})
    return f"{key} was {json.dumps(old)[:80]} and is {json.dumps(new)[:80]}"


def _modified(path: str) -> int | None:
    """Time of a local file's last change; None for others, whose size must do."""
    return os.stat(path).st_mtime_ns if is_local(path) else None
