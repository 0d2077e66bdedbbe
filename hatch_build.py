"""Build hook: everything that is built holds real files where git holds symbolic links."""

import pathlib
import tarfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Where the links to the kit are, and in the kit those to the main scripts.
LINKED = ("manycaps/kit/*.py", "measurements/*/*.py", "metrics/*/*.py")


class RealFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Puts files in the place of links: in an sdist, and in a checkout where git wrote their text, as on Windows.

    A wheel holds real files without a hook.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Do it before anything is packed or installed."""
        tarfile.TarFile.dereference = True
        for path in [path for pattern in LINKED for path in pathlib.Path(self.root).glob(pattern)]:
            text = path.read_text(encoding="utf-8")
            if text.startswith("../../") and not path.is_symlink():
                path.write_bytes((path.parent / text.strip()).read_bytes())
