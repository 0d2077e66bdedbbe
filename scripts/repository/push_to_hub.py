"""Create or update one Space of the Hugging Face Hub for every module, so that `evaluate.load("NAME/module")` works.

The folders of spaces/ are Spaces as well: pages of commands, which get a copy of the package beside their own files.
The Space of a module gets the files of manycaps/pages that its page imports.

python -m scripts.repository.push_to_hub --org NAME --dry-run         show what would change, change nothing
python -m scripts.repository.push_to_hub --org NAME                   all modules
python -m scripts.repository.push_to_hub --org NAME --module trm_meteor --module trm_cider

A Space gets the files of its module folder, read through links, with the cases of `tests.py`, and without other tests
and caches. In its requirements.txt every package has the version that is installed here, the one that the tests have
run with. What already exists is compared first and the difference is printed: a second run finds nothing to do. Files
that only the Space has are deleted from it. The token comes from --token, from the variable HF_TOKEN or of `hf auth
login`; HF_ENDPOINT names another hub. Needs tests/requirements.txt.
"""

import argparse
import difflib
import hashlib
import importlib.metadata
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

import yaml
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import (
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    LocalTokenNotFoundError,
    RepositoryNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash
from packaging.requirements import Requirement
from packaging.version import Version

from scripts.repository import sync_kit


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
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

# Answers of a server that may be otherwise in a moment; None where there is no answer.
PASSING_STATUSES = {None, 408, 425, 429, 500, 502, 503, 504}

# What was expected where the Hub refuses for good, by its answer.
REFUSALS = {
    401: "a valid token, got one that the Hub refuses (401). Make a new one with write access.",
    403: "a token that may write, got a refusal (403). Give one of a member of the organisation.",
    412: "the Space as it was read, got a newer commit (412). Run this again.",
}

# Tries of one Space, and seconds before the second one; the wait doubles each time.
N_ATTEMPTS = 5
FIRST_WAIT = 2.0


class PushError(Exception):
    """A Space could not be updated; the text says why and what to do."""


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
        found = folder_files(sync_kit.ROOT / kind)
        files |= {f"manycaps/{kind}/{name}": content for name, content in found.items()}
    return files


def page_files(app: str) -> dict[str, bytes]:
    """Return the files of manycaps/pages that an `app.py` imports, those that these import, and those beside them."""
    files: dict[str, bytes] = {}
    waiting = re.findall(r"^ *from manycaps\.pages\.(\w+) import", app, re.MULTILINE)
    waiting += ["__init__"] if waiting else []
    while waiting:
        stem = f"manycaps/pages/{waiting.pop()}"
        if f"{stem}.py" not in files:
            # Beside its code a file may have a style, or captions.
            files |= {f"manycaps/pages/{path.name}": path.read_bytes() for path in sync_kit.ROOT.glob(f"{stem}.*")}
            waiting += re.findall(r"^from \.(\w+) import", files[f"{stem}.py"].decode(), re.MULTILINE)
    return files


def is_page_of_command(folder: pathlib.Path) -> bool:
    """Say whether a folder holds the page of a command, not a module."""
    return folder.parent == sync_kit.ROOT / "spaces"


def space_files(folder: pathlib.Path) -> dict[str, bytes]:
    """Return what a Space consists of: path in the Space to contents."""
    files, main_script = folder_files(folder), f"{folder.name}.py"
    if is_page_of_command(folder):
        files, main_script = package_files() | files, "app.py"
    elif pages := page_files(files.get("app.py", b"").decode()):
        files |= {"manycaps/__init__.py": PAGES_ALONE} | pages
    for name in ("README.md", "requirements.txt", main_script):
        if name not in files:
            raise PushError(f"{folder.name}: expected a file {name}, got none. Write it.")
    front_matter = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    if front_matter["app_file"] not in files:
        print(f"{folder.name}: no {front_matter['app_file']}: the module will load, but the Space shows no page")
    check_gradio(folder.name, str(front_matter["sdk_version"]))
    pinned = pinned_requirements(files["requirements.txt"].decode(), folder.name)
    return files | {"requirements.txt": pinned.encode()}


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
        raise PushError(
            f"{name}/README.md: expected sdk_version {sdk_version} to be the gradio that is installed, got {version}. "
            "Run pip install -r tests/requirements.txt: a Space installs both, so they have to go together."
        )


def pinned_requirements(text: str, name: str) -> str:
    r"""Pin every requirement of a requirements.txt with `==`; extras and markers are kept, comments are not.

    Raises:
        PushError: a package is not installed, or its version does not fulfil the requirement; begins with `name`.

    >>> pinned_requirements("# why\nevaluate>=0.4\n", "demo").startswith("evaluate==0.4.")
    True
    """
    lines = []
    for line in text.splitlines():
        if not (line := line.split("#")[0].strip()):
            continue
        wanted = Requirement(line)
        version = installed_version(wanted.name)
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            raise PushError(
                f"{name}/requirements.txt: expected {wanted.name}{wanted.specifier} to be installed, for its version, "
                f"got {version}. Run pip install -r on that file."
            )
        extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
        marker = f"; {wanted.marker}" if wanted.marker else ""
        # "2.9.0+cpu" is a build that PyPI does not have.
        lines.append(f"{wanted.name}{extras}=={Version(version).public}{marker}\n")
    return "".join(lines)


def read_space(api: HfApi, repo_id: str) -> tuple[str, dict[str, str]]:
    """Return the commit of a Space, empty if there is none, and the git hash or sha256 of every file by its path."""
    try:
        commit = api.repo_info(repo_id, repo_type="space").sha or ""
    except RepositoryNotFoundError:
        return "", {}
    tree = api.list_repo_tree(repo_id, repo_type="space", revision=commit, recursive=True)
    files = [entry for entry in tree if isinstance(entry, RepoFile) and entry.path not in FILES_OF_THE_HUB]
    return commit, {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files}


def difference(there: bytes, here: bytes | None, path: str) -> str:
    """Return the unified difference of a file that the Space has, or one line where it is no text."""
    try:
        old, new = there.decode().splitlines(), (here or b"").decode().splitlines()
    except UnicodeDecodeError:
        return f"  {path}: {len(there)} bytes there, {len(here or b'')} here"
    name = "nothing" if here is None else f"here/{path}"
    return "\n".join(difflib.unified_diff(old, new, f"there/{path}", name, lineterm="", n=1))


def update_space(api: HfApi, repo_id: str, files: Mapping[str, bytes], dry_run: bool) -> str:
    """Bring a Space up to date, printing what changes; return "new", "updated" or "nothing to do"."""
    commit, marks = read_space(api, repo_id)
    hashes = {path: (git_hash(contents), hashlib.sha256(contents).hexdigest()) for path, contents in files.items()}
    changed = [path for path in files if marks.get(path) not in hashes[path]]
    gone = sorted(marks.keys() - files.keys())
    if commit and not changed and not gone:
        return "nothing to do"
    outcome = "updated" if commit else "new"
    with tempfile.TemporaryDirectory() as folder:
        for path in [*changed, *gone]:
            if path in marks:
                there = api.hf_hub_download(repo_id, path, repo_type="space", revision=commit, cache_dir=folder)
                print(difference(pathlib.Path(there).read_bytes(), files.get(path), path))
            else:
                print(f"  new file {path}: {len(files[path])} bytes")
    if dry_run:
        return outcome
    if not commit:
        api.create_repo(repo_id, repo_type="space", space_sdk="gradio", exist_ok=True)
        commit, marks = read_space(api, repo_id)
        gone = sorted(marks.keys() - files.keys())
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationAdd(path, files[path]) for path in changed),
        *(CommitOperationDelete(path) for path in gone),
    ]
    # With `parent_commit` the Hub refuses if somebody else has changed the Space since it was read.
    message = f"Update {repo_id.split('/')[1]}"
    api.create_commit(repo_id, operations, commit_message=message, repo_type="space", parent_commit=commit)
    return outcome


def status_of(error: Exception) -> int | None:
    """Return the status with which the Hub has refused, None where it has not answered."""
    return error.response.status_code if isinstance(error, HfHubHTTPError) else None


def reason(error: Exception, repo_id: str, n_attempts: int) -> str:
    """Say in one sentence why a Space could not be updated, and what to do."""
    status = status_of(error)
    if status in REFUSALS:
        return f"{repo_id}: expected {REFUSALS[status]}"
    what = f"status {status}" if status else type(error).__name__
    if status in PASSING_STATUSES:
        advice = "Run this again later: it resumes here."
        return f"{repo_id}: expected an answer, got {what} in {n_attempts} attempts. {advice}"
    return f"{repo_id}: expected the Hub to take the files, got {what}: {str(error).strip().splitlines()[-1]}"


def update_with_retries(api: HfApi, repo_id: str, files: Mapping[str, bytes], dry_run: bool) -> str:
    """Bring a Space up to date; after a failure that may pass, wait and start again from what the Hub then has."""
    for attempt in range(N_ATTEMPTS):
        try:
            return update_space(api, repo_id, files, dry_run)
        except (HTTPError, LocalEntryNotFoundError) as error:
            if status_of(error) not in PASSING_STATUSES or attempt == N_ATTEMPTS - 1:
                raise PushError(reason(error, repo_id, attempt + 1)) from error
            wait = FIRST_WAIT * 2**attempt
            print(f"{repo_id}: {type(error).__name__}, another attempt in {wait:g} s", file=sys.stderr)
            time.sleep(wait)
        except ValueError as error:  # of huggingface_hub: an impossible name, or a card that the Hub does not take
            message = " ".join(str(error).split())
            raise PushError(f"{repo_id}: expected a name and a card that the Hub takes, got: {message}") from error
    raise AssertionError("the last attempt returns or raises")


def check_token(api: HfApi) -> None:
    """Raise unless there is a token and the Hub knows it; other errors show in the updates, which are tried again."""
    advice = "Give --token or HF_TOKEN one with write access from https://huggingface.co/settings/tokens."
    try:
        api.whoami()
    except LocalTokenNotFoundError:
        raise PushError(f"token: expected a token, got none. {advice}") from None
    except HTTPError as error:
        if status_of(error) == 401:
            message = "token: expected a valid token, got one that the Hub refuses (401): expired?"
            raise PushError(f"{message} {advice}") from error


def main(org: str, modules: list[str], dry_run: bool, token: str | None) -> int:
    """Update the Spaces; 0 if all are up to date now."""
    folders = space_folders()
    api, failed = HfApi(token=token), False
    try:
        unknown = sorted(set(modules) - set(folders))
        if unknown:
            raise PushError(f"--module: expected some of {', '.join(folders)}, got {unknown[0]}. Check the spelling.")
        stale = [each for folder in sync_kit.module_folders() for each in sync_kit.sync_folder(folder, check=True)]
        if stale:
            raise PushError(stale[0])
        if not dry_run:
            check_token(api)
    except PushError as error:
        print(error, file=sys.stderr)
        return 1
    for name in modules or folders:
        repo_id = f"{org}/{name}"
        try:
            outcome = update_with_retries(api, repo_id, space_files(folders[name]), dry_run)
        except PushError as error:
            print(error, file=sys.stderr)
            failed = True
        else:
            print(f"{repo_id}: {'would be ' if dry_run and outcome != 'nothing to do' else ''}{outcome}")
    return int(failed)


if __name__ == "__main__":
    given = parsed()
    sys.exit(main(given.org, given.module, given.dry_run, given.token))
