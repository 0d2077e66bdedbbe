"""The module folders that come with the package: beside it in a checkout, inside it in a wheel; and what they need.

Installed packages are found by the modules' requirements, without importing them.
"""

import contextlib
import errno
import importlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from manycaps.kit.errors import InputError, InputImportError, InputOSError, quote_path, reason_of, spelling_advice

from .modules import MODULES

PACKAGE = pathlib.Path(__file__).resolve().parents[1]

# Folders that hold module folders.
KINDS = ("metrics", "measurements")

# Variables that name folders in which Hugging Face's libraries keep files.
CACHE_VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_METRICS_CACHE", "XDG_CACHE_HOME")

# Set in a process of the command `manycaps`, and in those of its workers.
OWN_PROCESS = "MANYCAPS_OWN_PROCESS"

# Packages whose names users give to scripts of their own, each with a file that only the package has.
HIDDEN_PACKAGES = {"evaluate": "module.py", "datasets": "arrow_dataset.py"}

NO_LINKS = (
    "Python code",
    "the text of a symbolic link",
    "Run `pip install .` in the clone, or switch links on (`git config core.symlinks true`) and check the files out "
    "again.",
)

# What people call a metric that is part of a module, and what to take for it: names without capitals and signs.
_COCO = "coco_caption has it beside the other numbers of COCO's evaluation"
MEANT: Mapping[str, str] = {
    "bleu": f"Take bleu_rouge; {_COCO}.",
    "cider": f"Take cider_d, the CIDEr of captioning papers; {_COCO}; trm_cider compares sets of captions.",
    "clipscore": 'Take pac_score with variant="clip-vit-b-32" and weight=2.5.',
    "cococaption": "Take coco_caption.",
    "cocoevalcap": "Take coco_caption, or manycaps.integrations.coco for the classes.",
    "mauve": "Take mmd_bert or fid_bert with pooled=True: sets of captions as a whole.",
    "meteor": f"Take meteor15, the METEOR of captioning papers; {_COCO}; trm_meteor has NLTK's.",
    "ptb": "Take manycaps.functional.ptb_tokenize, or manycaps.integrations.coco.PTBTokenizer.",
    "pycocoevalcap": "Take coco_caption, or manycaps.integrations.coco for the classes.",
    "rouge": f"Take bleu_rouge; {_COCO}.",
    "selfbleu": "Take set_diversity.",
    "selfcider": "Take set_diversity.",
    "spice": "It is not in this collection: run pycocoevalcap's, which needs Java.",
}

# Endings of names that say no more.
_VARIANTS = ("tokenizer", "tokenize", "scorer", "score", "d", "l", "1", "2", "3", "4", "15")

# A link of a card to a document, in a checkout and in a wheel.
DOCUMENT = re.compile(r"\]\(\.\./\.\./docs/(\w+\.md)")

# Extras with Pillow; the other modules require it for their demo pages only.
PICTURE_EXTRAS = ("clip", "video")


def data_folder(name: str) -> pathlib.Path:
    """Return a folder of the repository that comes with the package.

    >>> data_folder("metrics").name
    'metrics'
    """
    for parent in (PACKAGE.parent, PACKAGE):
        # Beside the package only in a checkout: site-packages may hold another project's folder of this name.
        if (parent / name).exists() and (parent == PACKAGE or (parent / "pyproject.toml").is_file()):
            return parent / name
    raise InputOSError(name, f"the folder inside {PACKAGE}", "none", "Install manycaps again.")


def module_folders() -> dict[str, pathlib.Path]:
    """Return the folder of every module of the collection, by name in alphabetical order.

    >>> list(module_folders())[:2]
    ['bleu_rouge', 'chair']
    """
    folders = {folder.name: folder for kind in KINDS for folder in data_folder(kind).iterdir()}
    return {name: folders[name] for name in sorted(folders) if (PACKAGE / "kit" / f"{name}.py").is_file()}


def module_files(name: str) -> list[pathlib.Path]:
    """Return the files of a module that stands alone: its folder's, its main script, and its kit files."""
    kit, folder = PACKAGE / "kit", module_folder(name)
    own = [path for path in folder.iterdir() if path.is_file() and not (kit / path.name).exists()]
    script = kit / f"{name}.py"
    if is_link_text(script):
        raise InputImportError(script, *NO_LINKS)
    # The main script names all, for evaluate's loader.
    names = re.findall(r"^from \.(\w+) import ", script.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted({*own, script, *(kit / f"{helper}.py" for helper in names)})


def module_folder(name: str, where: str = "name") -> pathlib.Path:
    """Return the folder of one module; an error says `where` its name was given."""
    folders = module_folders()
    if name not in folders:
        raise InputError(where, f"one of {', '.join(folders)}", f"{name!r}", advice_for(name))
    return folders[name]


def load(name: str, config_name: str | None = None, **options: Any) -> Any:
    """Load a module of the collection as a class of this package: no Hub, no network, no copy in evaluate's cache.

    The class is the module folder's, with the files of `manycaps.kit` beside it: all modules of a process share
    one tokenizer, one CLIP and one memory of features, and `isinstance` tells their classes apart.

    Args:
        name: "trm_meteor", for example.
        config_name: the configuration, as for `evaluate.load`: weights of `pac_score` and `ref_pac_score`, as in
            `load("pac_score", "clip-vit-b-32", weight=2.5)`, or "references" of `emscore_pac`; others compute the same.
        options: of the module, and the options of `evaluate.load` that its modules take: `keep_in_memory`,
            `cache_dir`, `experiment_id`, `num_process`, `process_id`.

    Returns:
        The evaluate module.

    Raises:
        ValueError: there is no such module.
        TypeError: an option is unknown.
        ImportError: evaluate, or a package that the module needs, is not installed.
    """
    module = module_class(name)(config_name=config_name, **options)
    module.download_and_prepare()
    return module


def module_class(name: str) -> Any:
    """Return the class of a module, a subclass of evaluate's.

    Args:
        name: as for `load`.

    Raises:
        ValueError: there is no such module.
        ImportError: a package is not installed, or the files of the kit are missing.
    """
    module_folder(name)
    evaluate = import_evaluate()
    try:
        script = importlib.import_module(f"manycaps.kit.{name}")
    except SyntaxError as error:
        if is_link_text(pathlib.Path(str(error.filename))):
            raise InputImportError(error.filename, *NO_LINKS) from error
        raise
    classes = (value for value in vars(script).values() if isinstance(value, type))
    return next(value for value in classes if issubclass(value, evaluate.EvaluationModule))


def is_link_text(path: pathlib.Path) -> bool:
    """Return whether a file holds the text of a symbolic link, as git writes it where links are switched off."""
    return path.is_file() and path.stat().st_size < 200 and path.read_text(encoding="utf-8").startswith("../../")


def link_texts(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of a folder that hold the text of a symbolic link."""
    return [path for path in sorted(folder.glob("*.py")) if is_link_text(path)]


def export_module(name: str, folder: pathlib.Path, *, replace: bool = False) -> pathlib.Path:
    """Write a module as a folder of real files that stands alone: `evaluate.load` of it needs no manycaps.

    The demo page is left out, which does.

    Args:
        name: as for `load`.
        folder: where the module's folder is written, which has its name; made if needed.
        replace: whether an existing folder is replaced, as a whole.

    Returns:
        The path of the written folder.

    Raises:
        ValueError: there is no such module.
        FileExistsError: the module's folder exists.
        ImportError: the package is a copy of the repository without symbolic links.
        OSError: it cannot be written, because the disk is full, for example; then nothing is left of it.
    """
    # The demo page needs this package: a Space gets both, from `manycaps push`.
    files, target = [path for path in module_files(name) if path.name != "app.py"], folder / name
    if target.exists() and not replace:
        raise InputOSError(target, "a new folder", "one that exists", "Add --force to replace it.")
    if target.resolve() == module_folder(name).resolve():
        raise InputError("folder", "another folder than the module's own", target, "Choose another.")
    with _make_folder(folder), tempfile.TemporaryDirectory(dir=folder) as beside:
        written = pathlib.Path(beside) / name
        written.mkdir()
        for path in files:  # through links
            shutil.copy2(path, written)
        card = (module_folder(name) / "README.md").read_text(encoding="utf-8")
        for inside, text in card_with_documents(card, data_folder("docs")).items():
            (written / inside).parent.mkdir(exist_ok=True)
            (written / inside).write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            shutil.rmtree(target)
        written.rename(target)
    return target


def card_with_documents(card: str, documents: pathlib.Path, address: str = "") -> dict[str, str]:
    """Return a card whose links lead to copies of the documents beside it, and these copies: path to text.

    A copy has no pictures, and no links but those to addresses and within it.

    Args:
        card: text of a card.
        documents: folder of the documents.
        address: of the folder that gets both, with a slash at its end, where links must be whole.
    """
    files = {"README.md": DOCUMENT.sub(rf"]({address}docs/\1", card)}
    for name in sorted(set(DOCUMENT.findall(card))):
        text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n*", "", (documents / name).read_text(encoding="utf-8"))
        files[f"docs/{name}"] = re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    return files


@contextlib.contextmanager
def _make_folder(folder: pathlib.Path) -> Iterator[None]:
    """Make a folder with its parents, and remove again what was made where the work in it fails."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as error:
        for parent in missing:
            with contextlib.suppress(OSError):  # somebody else has put something there
                parent.rmdir()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise InputOSError(
                folder, "a folder that can hold the module", reason_of(error), "Make room; nothing of it is left there."
            ) from error
        raise


def import_evaluate() -> Any:
    """Import evaluate, and return it; raise if a variable, or a file of the user's own, keeps it from being imported.

    In a process of the command and of its workers, evaluate finds no transformers: its evaluators, which nothing here
    uses, would import the pipelines and torch with them, for two thirds of the time in which such a process starts. A
    program of a user's gets evaluate as it is. What is imported afterwards finds transformers.
    """
    check_cache_folders()
    check_not_hidden()
    if OWN_PROCESS not in os.environ or not sys.modules.keys().isdisjoint({"evaluate", "transformers"}):
        return importlib.import_module("evaluate")
    sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("evaluate")
    finally:
        del sys.modules["transformers"]


def check_cache_folders() -> None:
    """Raise if a variable names a file as the folder of Hugging Face's caches: its libraries do not say which."""
    for name in CACHE_VARIABLES:
        path = os.environ.get(name)
        if path and os.path.exists(path) and not os.path.isdir(path):
            raise InputOSError(
                name, "a folder", f"{quote_path(path)}, which is a file", "Set it to a folder, or unset it."
            )


def check_not_hidden() -> None:
    """Raise if a file of the user's own stands in place of evaluate or datasets, as a script evaluate.py does.

    It is not run: Python would, a second time where it is the script itself.
    """
    for package, file in HIDDEN_PACKAGES.items():
        spec = None if package in sys.modules else importlib.util.find_spec(package)
        if spec is not None and not any(
            os.path.isfile(os.path.join(folder, file)) for folder in spec.submodule_search_locations or ()
        ):
            got = f"{quote_path(spec.origin or package)}, which hides it"
            fix = "Rename that file, or start Python in another folder."
            raise InputImportError(package, "the package of Hugging Face", got, fix)


@contextlib.contextmanager
def progress_bars(*, shown: bool) -> Iterator[None]:
    """Show the modules' own progress bars in a `with` statement, or hide them; afterwards they are as before."""
    logging = import_evaluate().utils.logging
    was_shown = logging.is_progress_bar_enabled()
    (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
    try:
        yield
    finally:
        (logging.enable_progress_bar if was_shown else logging.disable_progress_bar)()


def advice_for(name: str) -> str:
    """Say which module is meant by a name that none has.

    >>> advice_for("CIDEr-D") == advice_for("cider"), advice_for("trm_metor")
    (True, 'Did you mean trm_meteor? Check the spelling.')
    """
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    for ending in ("", *_VARIANTS):
        if plain.endswith(ending) and (advice := MEANT.get(plain.removesuffix(ending))):
            return advice
    return spelling_advice(name.lower().replace("-", "_"), MODULES)


class InstalledModule(NamedTuple):
    """A module, and its missing packages."""

    name: str
    # Folder of folders: "metrics" or "measurements".
    kind: str
    # First sentence of its main script.
    about: str
    variants: tuple[str, ...]
    config_names: tuple[str, ...]
    # Names of distributions that are not installed.
    missing: tuple[str, ...]
    # `pip install` line that brings them; empty if nothing is missing.
    advice: str


def installed_modules() -> list[InstalledModule]:
    """Return every module of the collection, in alphabetical order.

    >>> [module.config_names for module in installed_modules() if module.name == "emscore_pac"]
    [('default', 'references')]
    """
    modules = []
    for name, folder in module_folders().items():
        script = (PACKAGE / "kit" / f"{name}.py").read_text(encoding="utf-8")
        about = "" if script.startswith("../../") else script.split('"""')[1].splitlines()[0]  # or the text of a link
        record = MODULES[name]
        needed = requirement_names((folder / "requirements.txt").read_text(encoding="utf-8"))
        has_pictures = not set(PICTURE_EXTRAS).isdisjoint(record.extras)
        missing = tuple(each for each in needed if not is_installed(each) and (each != "pillow" or has_pictures))
        package = f"'manycaps[{','.join(record.extras)}]'" if record.extras else "manycaps"
        advice = f"pip install {package}" if missing else ""
        modules.append(InstalledModule(name, record.kind, about, record.variants, record.config_names, missing, advice))
    return modules


def requirement_names(requirements: str) -> list[str]:
    r"""Return the distributions that a requirements file names.

    >>> requirement_names("# Reads text.\nnltk>=3.9\nopen_clip_torch\n")
    ['nltk', 'open_clip_torch']
    """
    return re.findall(r"^[\w.-]+", requirements, flags=re.MULTILINE)


def is_installed(distribution: str) -> bool:
    """Return whether a distribution is installed, in any version.

    >>> is_installed("no-such-distribution")
    False
    """
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
