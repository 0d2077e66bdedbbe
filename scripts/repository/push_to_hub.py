"""Create or update one Space of the Hugging Face Hub for every module, so that `evaluate.load("NAME/module")` works.

The folders of spaces/ are Spaces as well: pages of commands, which get a copy of the package beside their own files.
The Space of a module gets the files of the package that its page imports.

python -m scripts.repository.push_to_hub --org NAME --dry-run         name the files that would change, change nothing
python -m scripts.repository.push_to_hub --org NAME                   all modules
python -m scripts.repository.push_to_hub --org NAME --module trm_meteor --module trm_cider

A Space gets the files of its module folder, read through links, with the cases of `tests.py`, and without other tests
and caches. In its requirements.txt every package has the version that is installed here, the one that the tests have
run with, and its card names the Python that runs this tool: every version there admits it. What a card says to readers
of the repository is said for the Hub: `evaluate.load("NAME/module")` with the name given as --org; documents that it
links are copied. Files are compared
by their hashes first: a second run finds nothing to do. Files that only the Space has are deleted from it. If a Space
fails, the others are still updated, and the next run resumes. The token comes from --token, from the variable HF_TOKEN
or from `hf auth login`; HF_ENDPOINT names another hub. Needs tests/requirements.txt.
"""

import argparse
import hashlib
import importlib.metadata
import pathlib
import re
import sys
from collections.abc import Mapping, Sequence

import yaml
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HTTPError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from manycaps.installed_modules import card_with_documents
from manycaps.kit.base import InputError
from scripts.repository import sync_kit


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--org", required=True, metavar="NAME", help="the user or organisation that has the Spaces")
    parser.add_argument("--module", action="append", default=[], metavar="X", help="only this one; may be repeated")
    parser.add_argument("--dry-run", action="store_true", help="print the difference, change nothing")
    parser.add_argument("--token", help="better in the variable HF_TOKEN: others can see a running command")
    return parser.parse_args(arguments)


# Never uploaded: folders, beginnings and endings of names. What begins with a dot is left out too.
LEFT_OUT_FOLDERS = {"__pycache__", "tests", "flagged"}
LEFT_OUT_BEGINNINGS = ("test_", "conftest")
LEFT_OUT_ENDINGS = (".pyc", ".log", ".lock")

# What the package is in a Space that gets its pages alone.
PAGES_ALONE = b'"""The part of the package manycaps that the page of this Space runs."""\n'

# Files that the Hub itself puts into a Space: not ours to delete.
FILES_OF_THE_HUB = {".gitattributes"}


def space_folders() -> dict[str, pathlib.Path]:
    """Return the folders of all Spaces by name: of the modules, then the pages of commands."""
    folders = [*sync_kit.module_folders(), *sorted(path.parent for path in sync_kit.ROOT.glob("spaces/*/app.py"))]
    return {folder.name: folder for folder in folders}


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


def package_files() -> dict[str, bytes]:
    """Return the package as a wheel has it: the module folders are inside."""
    files = {f"manycaps/{name}": content for name, content in folder_files(sync_kit.KIT.parent).items()}
    for kind in ("metrics", "measurements"):
        contents = folder_files(sync_kit.ROOT / kind)
        files |= {f"manycaps/{kind}/{name}": content for name, content in contents.items()}
    return files


def page_files(app: str) -> dict[str, bytes]:
    """Return the files of the package that the page of an `app.py` imports, those that these import, and their data."""
    files: dict[str, bytes] = {}
    waiting = [f"pages/{name}" for name in re.findall(r"^ *from manycaps\.pages\.(\w+) import", app, re.MULTILINE)]
    waiting += ["pages/__init__"] if waiting else []
    while waiting:
        stem = f"manycaps/{waiting.pop()}"
        if f"{stem}.py" not in files:
            # Beside its code a file may have a style, or captions.
            paths = sync_kit.ROOT.glob(f"{stem}.*")
            files |= {path.relative_to(sync_kit.ROOT).as_posix(): path.read_bytes() for path in paths}
            text = files[f"{stem}.py"].decode()
            inside = stem.removeprefix("manycaps/").rpartition("/")[0]
            beside = re.findall(r"^from \.(\w+) import", text, re.MULTILINE)
            waiting += [f"{inside}/{name}".removeprefix("/") for name in beside]
            others = re.findall(r"^from manycaps\.(\w+|kit\.base) import", text, re.MULTILINE)
            names = [name.replace(".", "/") for name in others]
            waiting += [name for name in names if (sync_kit.ROOT / "manycaps" / f"{name}.py").exists()]
    return files


def is_page_of_command(folder: pathlib.Path) -> bool:
    """Say whether a folder holds the page of a command, not a module."""
    return folder.parent == sync_kit.ROOT / "spaces"


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
    files, main_script = folder_files(folder), f"{folder.name}.py"
    if is_page_of_command(folder):
        files, main_script = package_files() | files, "app.py"
    elif pages := page_files(files.get("app.py", b"").decode()):
        files |= {"manycaps/__init__.py": PAGES_ALONE} | pages
    for name in ("README.md", "requirements.txt", main_script):
        if name not in files:
            raise InputError(folder.name, f"a file {name}", "none", "Write it.")
    front_matter = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    if front_matter["app_file"] not in files:
        print(f"{folder.name}: no {front_matter['app_file']}: the module will load, but the Space shows no page")
    check_gradio(folder.name, str(front_matter["sdk_version"]))
    pinned = pin_requirements(files["requirements.txt"].decode(), folder.name)
    address = f"https://huggingface.co/spaces/{org}/{folder.name}/blob/main/"
    with_documents = card_with_documents(files["README.md"].decode(), sync_kit.ROOT / "docs", address)
    files |= {path: text.encode() for path, text in with_documents.items()}
    texts = {name: hub_text(files[name].decode(), folder.name, org) for name in ("README.md", main_script)}
    if (left := re.search(r"in\s+the\s+repository|load\(.(metrics|measurements)/", texts["README.md"])) is not None:
        line = texts["README.md"].count("\n", 0, left.start()) + 1
        expected, got = "a card that needs no repository", f"{left[0]!r} in line {line} of what the Space gets"
        raise InputError(f"{folder.name}/README.md", expected, got, "Write it as the other cards do.")
    texts["README.md"] = with_python_version(texts["README.md"])
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
        fix = "Run pip install -r tests/requirements.txt: a Space installs both, so they have to go together."
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
            raise InputError(f"{name}/requirements.txt", expected, version, "Run pip install -r on that file.")
        check_python(wanted.name, name)
        extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
        marker = f"; {wanted.marker}" if wanted.marker else ""
        # "2.9.0+cpu" is a build that PyPI does not have.
        lines.append(f"{wanted.name}{extras}=={Version(version).public}{marker}\n")
    return "".join(lines)


def check_python(package: str, name: str) -> None:
    """Raise unless the installed version of a package admits the Python that the card names."""
    admitted = importlib.metadata.metadata(package).get("Requires-Python") or ""
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


def main(org: str, modules: list[str], dry_run: bool, token: str | None) -> int:
    """Update the Spaces; 0 if all are up to date now."""
    folders = space_folders()
    stale = [each for folder in sync_kit.module_folders() for each in sync_kit.sync_folder(folder, check=True)]
    if unknown := sorted(set(modules) - set(folders)):
        stale = [f"--module: expected some of {', '.join(folders)}, got {unknown[0]}. Check the spelling."]
    if stale:
        print(stale[0], file=sys.stderr)
        return 1
    api, failed = HfApi(token=token), False
    for name in modules or folders:
        repo_id = f"{org}/{name}"
        try:
            outcome = update_space(api, repo_id, space_files(folders[name], org), dry_run)
        except (HTTPError, ValueError) as error:  # the Hub's answer, a card that it refuses, or a check of this file
            print(f"{repo_id}: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{repo_id}: {'would be ' if dry_run and outcome != 'nothing to do' else ''}{outcome}")
    return int(failed)


if __name__ == "__main__":
    given = parse()
    sys.exit(main(given.org, given.module, given.dry_run, given.token))
