"""Build hook: what is built holds real files where git holds symbolic links, and a wheel holds the kit once."""

import pathlib
import tarfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Folders of module folders.
KINDS = ("measurements", "metrics")

# Where the links to the kit are, and in the kit those to the main scripts.
LINKED = ("manycaps/kit/*.py", "measurements/*/*.py", "metrics/*/*.py")

# What a wheel holds of a module folder; `manycaps export` puts the files of the kit beside it.
OWN_FILES = ("README.md", "app.py", "requirements.txt", "tests.py")


class RealFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Puts files in place of links: in an sdist, and in a checkout where git wrote their text, as on Windows."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Do it before anything is packed or installed."""
        tarfile.TarFile.dereference = True
        for path in [path for pattern in LINKED for path in pathlib.Path(self.root).glob(pattern)]:
            text = path.read_text(encoding="utf-8")
            if text.startswith("../../") and not path.is_symlink():
                path.write_bytes((path.parent / text.strip()).read_bytes())
        if self.target_name == "wheel" and version != "editable":
            root = pathlib.Path(self.root)
            for path in [path for kind in KINDS for name in OWN_FILES for path in root.glob(f"{kind}/*/{name}")]:
                build_data["force_include"][str(path)] = f"manycaps/{path.relative_to(root).as_posix()}"
