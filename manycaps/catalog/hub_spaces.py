"""Spaces of the Hugging Face Hub, of modules and of the pages of commands: their files, and how they are updated.

The Space of a module gets the files of its folder, with the files of the kit and the cases of `tests.py`, and the files
of the package that its page imports; without other tests and caches. The Space of a command's page gets the whole
package. In requirements.txt every package has the version that is installed here, and the card names the Python that
runs this: every version there admits it. Paths of the repository become names of the Hub in card and main script, and
documents that the card links are copied.
"""

import ast
import hashlib
import importlib.metadata
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HTTPError, RepositoryNotFoundError  # type: ignore[attr-defined]
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from manycaps.catalog import installed_modules
from manycaps.kit.errors import InputError, spelling_advice
from manycaps.kit.module import SPACES

from .installed_modules import card_with_documents, data_folder

# Never uploaded: folders, beginnings and endings of names. What begins with a dot is left out too.
LEFT_OUT_FOLDERS = {"__pycache__", "tests", "flagged"}
LEFT_OUT_BEGINNINGS = ("test_", "conftest")
LEFT_OUT_ENDINGS = (".pyc", ".log", ".lock")

# Folders of an installed package that a checkout has beside it: the Space of a page gets modules alone of them.
BESIDE_PACKAGE = {"checkpoints", "docs", "spaces", *installed_modules.KINDS}

# What the package is in a Space that gets its pages alone.
PAGES_ALONE = b'"""The part of the package manycaps that the page of this Space runs."""\n'

# As `SPACES`, of any user or organisation.
SPACES_OF = f"{SPACES.rpartition('/')[0]}/{{}}"

# Files that the Hub itself puts into a Space: not ours to delete.
FILES_OF_THE_HUB = {".gitattributes"}


def space_folders() -> dict[str, pathlib.Path]:
    """Return the folders of all Spaces by name: of the modules, then the pages of commands."""
    pages = sorted(path.parent for path in data_folder("spaces").glob("*/app.py"))
    return installed_modules.module_folders() | {folder.name: folder for folder in pages}


def folder_files(folder: pathlib.Path) -> dict[str, bytes]:
    """Return the files of a folder, without tests and caches: path inside to contents."""
    files = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in LEFT_OUT_FOLDERS for part in inside.parts)
        left_out = path.name.startswith(LEFT_OUT_BEGINNINGS) or path.name.endswith(LEFT_OUT_ENDINGS)
        if path.is_file() and not hidden and not left_out:
            files[inside.as_posix()] = path.read_bytes()
    return files


def module_files(name: str) -> dict[str, bytes]:
    """Return the files of a module's folder, with those of the kit that it needs: a wheel has them once."""
    kit = [path for path in installed_modules.module_files(name) if path.parent == installed_modules.PACKAGE / "kit"]
    return folder_files(installed_modules.module_folder(name)) | {path.name: path.read_bytes() for path in kit}


def package_files() -> dict[str, bytes]:
    """Return the package as a wheel has it: the module folders are inside."""
    own = folder_files(installed_modules.PACKAGE)
    files = {f"manycaps/{name}": own[name] for name in own if name.split("/")[0] not in BESIDE_PACKAGE}
    for name, folder in installed_modules.module_folders().items():
        inside = f"manycaps/{folder.parent.name}/{name}"
        files |= {f"{inside}/{file}": content for file, content in module_files(name).items()}
    return files


def page_files(app: str, *, later: bool = True) -> dict[str, bytes]:
    """Return the files of the package that the page of an `app.py` imports, those that these import, and their data.

    Without `later`, what functions import when they are called, and what is for types alone, does not count.
    """
    files: dict[str, bytes] = {}
    waiting = [(pathlib.PurePath("app.py"), app)]
    while waiting:
        for stem in _imported_stems(*waiting.pop(), later):
            # Beside its code a file may have a style, or captions.
            for path in sorted(installed_modules.PACKAGE.parent.glob(f"{stem}.*")):
                inside = path.relative_to(installed_modules.PACKAGE.parent)
                if inside.as_posix() not in files and path.suffix != ".pyi":
                    files[inside.as_posix()] = path.read_bytes()
                    if path.suffix == ".py":
                        waiting.append((inside, path.read_text(encoding="utf-8")))
    return files | ({"manycaps/__init__.py": PAGES_ALONE} if files else {})


def _imported_stems(path: pathlib.PurePath, text: str, later: bool) -> Iterator[str]:
    """Yield the files of the package that a file imports, without their endings, and those of the folders around."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if later or not (isinstance(node, ast.FunctionDef) or is_for_types):
            waiting += ast.iter_child_nodes(node)
        if not isinstance(node, ast.ImportFrom):
            continue
        around = path.parts[: len(path.parts) - node.level] if node.level else ()
        parts = (*around, *(node.module.split(".") if node.module else ()))
        if parts[:1] != ("manycaps",):
            continue
        # `from .pages import form` names a file, too.
        names = [parts, *((*parts, alias.name) for alias in node.names)]
        for stem in names:
            folders = (stem[:end] for end in range(2, len(stem) + 1))
            yield from ("/".join((*folder, "__init__")) for folder in folders)
            if len(stem) > 1:
                yield "/".join(stem)


def is_page_of_command(folder: pathlib.Path) -> bool:
    """Say whether a folder holds the page of a command, not a module."""
    return folder.parent == data_folder("spaces")


def running_python() -> str:
    """Return the version of the running Python as a Space names it, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


# What a card says to those who have the package: the Hub's readers load the Space.
OF_PACKAGE = re.compile(r"\s+`manycaps export \w+ \.` writes\s+the\s+folder\s+that\s+is\s+loaded\s+here\.")


def hub_text(text: str, name: str, org: str) -> str:
    """Return a card or a main script as readers on the Hub need it: without the paths of the repository.

    >>> hub_text('evaluate.load("metrics/demo")  # on the Hub: "manycaps/demo"', "demo", "me")
    'evaluate.load("me/demo")'
    """
    text = OF_PACKAGE.sub("", re.sub(rf'  # on the Hub: "\w+/{name}"', "", text))
    return re.sub(rf'load\((\s*)"(?:metrics/|measurements/)?{name}"', rf'load(\1"{org}/{name}"', text)


def with_python_version(card: str) -> str:
    r"""Return a card whose front matter names the running Python: a Space has an older one unless it does.

    >>> with_python_version("---\nsdk_version: 6.0.0\n---\n").replace(running_python(), "3.x")
    "---\nsdk_version: 6.0.0\npython_version: '3.x'\n---\n"
    """
    return re.sub(
        r"^(sdk_version: .*\n)", rf"\g<1>python_version: '{running_python()}'\n", card, count=1, flags=re.MULTILINE
    )


def space_files(folder: pathlib.Path, org: str) -> dict[str, bytes]:
    """Return what a Space of a user or an organisation consists of: path in the Space to contents."""
    if is_page_of_command(folder):
        files, main_script = package_files() | folder_files(folder), "app.py"
    else:
        files, main_script = module_files(folder.name), f"{folder.name}.py"
        files |= page_files(files.get("app.py", b"").decode())
    for name in ("README.md", "requirements.txt", main_script):
        if name not in files:
            raise InputError(folder.name, f"a file {name}", "none", "Write it.")
    front_matter = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    if front_matter["app_file"] not in files:
        print(f"{folder.name}: no {front_matter['app_file']}: the module will load, but the Space shows no page")
    check_gradio(folder.name, str(front_matter["sdk_version"]))
    pinned = pin_requirements(files["requirements.txt"].decode(), folder.name)
    address = f"https://huggingface.co/spaces/{org}/{folder.name}/blob/main/"
    with_documents = card_with_documents(files["README.md"].decode(), data_folder("docs"), address)
    files |= {path: text.encode() for path, text in with_documents.items()}
    texts = {name: hub_text(files[name].decode(), folder.name, org) for name in ("README.md", main_script)}
    if (left := re.search(r"in\s+the\s+repository|load\(.(metrics|measurements)/", texts["README.md"])) is not None:
        line = texts["README.md"].count("\n", 0, left.start()) + 1
        expected, got = "a card that needs no repository", f"{left[0]!r} in line {line} of what the Space gets"
        raise InputError(f"{folder.name}/README.md", expected, got, "Write it as the other cards do.")
    texts["README.md"] = with_python_version(texts["README.md"])
    # The home page that evaluate tells of.
    homes = [name for name in files if pathlib.PurePath(name).name == "module.py"]
    texts |= {name: files[name].decode().replace(SPACES, SPACES_OF.format(org)) for name in homes}
    return files | {"requirements.txt": pinned.encode()} | {name: text.encode() for name, text in texts.items()}


def installed_version(package: str) -> str | None:
    """Return the version of a package that is installed here, None if it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_gradio(name: str, sdk_version: str) -> None:
    """Raise unless the gradio of the card is installed: only then do the versions here go together with it."""
    version = installed_version("gradio")
    if version != sdk_version:
        fix = f"Run `pip install gradio=={sdk_version}`: a Space installs both, so they have to go together."
        expected = f"sdk_version {sdk_version} to be the gradio that is installed"
        raise InputError(f"{name}/README.md", expected, version, fix)


def pin_requirements(text: str, name: str) -> str:
    r"""Pin every requirement of a requirements.txt with `==`; extras and markers are kept, comments are not.

    Raises:
        InputError: a package is not installed, or its version does not fulfil the requirement; begins with `name`.

    >>> pin_requirements("# why\nevaluate>=0.4\n", "demo").startswith("evaluate==0.4.")
    True
    """
    lines = []
    for line in text.splitlines():
        if not (line := line.split("#")[0].strip()):
            continue
        wanted = Requirement(line)
        version = installed_version(wanted.name)
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            expected = f"{wanted.name}{wanted.specifier} to be installed, for its version"
            raise InputError(f"{name}/requirements.txt", expected, version, f"Run `pip install '{wanted}'`.")
        check_python(wanted.name, name)
        extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
        marker = f"; {wanted.marker}" if wanted.marker else ""
        # "2.9.0+cpu" is a build that PyPI does not have.
        lines.append(f"{wanted.name}{extras}=={Version(version).public}{marker}\n")
    return "".join(lines)


def check_python(package: str, name: str) -> None:
    """Raise unless the installed version of a package admits the Python that the card names."""
    metadata: Any = importlib.metadata.metadata(package)
    admitted = metadata.get("Requires-Python") or ""
    if not SpecifierSet(admitted).contains(running_python()):
        expected = f"{package} to admit Python {running_python()}, which the Space will have"
        raise InputError(f"{name}/requirements.txt", expected, admitted, "Install another version of it.")


def read_space(api: HfApi, repo_id: str) -> tuple[str, dict[str, str]]:
    """Return the commit of a Space, empty if there is none, and the git hash or sha256 of every file by its path."""
    try:
        commit = api.repo_info(repo_id, repo_type="space").sha or ""
    except RepositoryNotFoundError:
        return "", {}
    tree = api.list_repo_tree(repo_id, repo_type="space", revision=commit, recursive=True)
    files = [entry for entry in tree if isinstance(entry, RepoFile) and entry.path not in FILES_OF_THE_HUB]
    return commit, {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files}


def update_space(api: HfApi, repo_id: str, files: Mapping[str, bytes], dry_run: bool) -> str:
    """Bring a Space up to date, and name its files that change; return "new", "updated" or "nothing to do"."""
    commit, marks = read_space(api, repo_id)
    is_new = not commit
    hashes = {path: (git_hash(contents), hashlib.sha256(contents).hexdigest()) for path, contents in files.items()}
    changed = [path for path in files if marks.get(path) not in hashes[path]]
    gone = sorted(marks.keys() - files.keys())
    for path in [*changed, *gone]:
        print(f"  {'deleted' if path in gone else 'changed' if path in marks else 'new'}: {path}")
    if not dry_run and is_new:
        api.create_repo(repo_id, repo_type="space", space_sdk="gradio", exist_ok=True)
        commit, marks = read_space(api, repo_id)
        gone = sorted(marks.keys() - files.keys())
    if not dry_run and (changed or gone):
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            *(CommitOperationAdd(path, files[path]) for path in changed),
            *(CommitOperationDelete(path) for path in gone),
        ]
        # With `parent_commit` the Hub refuses if somebody else has changed the Space since it was read.
        message = f"Update {repo_id.split('/')[1]}"
        api.create_commit(repo_id, operations, commit_message=message, repo_type="space", parent_commit=commit)
    return "new" if is_new else "updated" if changed or gone else "nothing to do"


def push_spaces(names: Sequence[str], org: str, *, dry_run: bool = False, token: str | None = None) -> None:
    """Make or update Spaces, all of them where none is named, and print what changes.

    Where one fails, the reason is printed, the others are still updated, and the next call resumes: files are compared
    by their hashes, so that a second call finds nothing to do. Files that only the Space has are deleted from it.

    Args:
        names: of modules, and of pages of commands.
        org: the user or organisation that has the Spaces.
        dry_run: print the difference, change nothing.
        token: else the variable HF_TOKEN, or what `hf auth login` has kept.

    Raises:
        ValueError: there is no such module or page, or a Space could not be updated.
    """
    folders = space_folders()
    for name in names:
        if name not in folders:
            raise InputError("NAME", f"some of {', '.join(folders)}", name, spelling_advice(name, folders))
    api, failed = HfApi(token=token), []
    for name in names or folders:
        repo_id = f"{org}/{name}"
        try:
            outcome = update_space(api, repo_id, space_files(folders[name], org), dry_run)
        except (HTTPError, OSError, ValueError) as error:  # the Hub's answer, a card that it refuses, or a check above
            print(f"{repo_id}: {error}", file=sys.stderr)
            failed.append(repo_id)
        else:
            print(f"{repo_id}: {'would be ' if dry_run and outcome != 'nothing to do' else ''}{outcome}")
    if failed:
        raise InputError("push", "Spaces that can be updated", f"{len(failed)} that cannot", "The reasons stand above.")
