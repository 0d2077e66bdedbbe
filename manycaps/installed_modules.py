"""The module folders that travel with the package: beside it in a checkout, inside it in a wheel."""

import os
import pathlib
import sys
from typing import Any

PACKAGE = pathlib.Path(__file__).resolve().parent

# Folders that hold module folders.
KINDS = ("metrics", "measurements")


def data_folder(name: str) -> pathlib.Path:
    """Return a folder of the repository that travels with the package.

    Args:
        name: path from the top of the repository.

    Raises:
        FileNotFoundError: the package was installed without it.

    >>> data_folder("metrics").name
    'metrics'
    """
    for parent in (PACKAGE.parent, PACKAGE):
        # Beside the package only in a checkout: site-packages may hold another project's folder of this name.
        if (parent / name).exists() and (parent == PACKAGE or (parent / "pyproject.toml").is_file()):
            return parent / name
    raise FileNotFoundError(f"{name}: expected the folder inside {PACKAGE}, got none. Install manycaps again.")


def module_folders() -> dict[str, pathlib.Path]:
    """Return the folder of every module of the collection, by name in alphabetical order.

    >>> list(module_folders())[:2]
    ['emscore_pac', 'fid_bert']
    """
    folders = {folder.name: folder for kind in KINDS for folder in data_folder(kind).iterdir()}
    return {name: folders[name] for name in sorted(folders) if (folders[name] / f"{name}.py").is_file()}


def load(name: str, **options: Any) -> Any:
    """Load a module of the collection, from the folder that travels with this package: no Hub, no network.

    Args:
        name: "trm_meteor", for example.
        options: of the module, and of `evaluate.load`.

    Returns:
        The evaluate module.

    Raises:
        ValueError: there is no such module.
        ImportError: evaluate, or a package that the module needs, is not installed.
    """
    folders = module_folders()
    if name not in folders:
        raise ValueError(f"name: expected one of {', '.join(folders)}, got {name!r}. Check the spelling.")
    stay_off_the_hub()
    import evaluate

    return evaluate.load(str(folders[name] / f"{name}.py"), **options)


def stay_off_the_hub() -> None:
    """Let evaluate not ask the Hub for what the folders hold. To be called before evaluate is imported."""
    os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")


def import_evaluate() -> Any:
    """Import evaluate as a command needs it: without the Hub, and without the packages behind `evaluate.evaluator`.

    For its evaluators evaluate imports transformers, and that torch and torchvision, where they are installed: seconds
    for something that no command uses. Without transformers it imports nothing in their place. A module that needs
    transformers imports it afterwards. Only for programs of their own: `evaluate.evaluator` stays without transformers.

    Returns:
        The package.

    Raises:
        ImportError: evaluate is not installed.
    """
    stay_off_the_hub()
    if "evaluate" not in sys.modules and "transformers" not in sys.modules:
        sys.modules["transformers"] = None  # type: ignore[assignment]  # so an import says that there is none
        try:
            import evaluate
        finally:
            del sys.modules["transformers"]
    import evaluate

    return evaluate
