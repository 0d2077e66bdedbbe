"""Build NLTK's WordNet 3.0 corpus out of Debian's packages, for machines that cannot run `nltk.download`."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import nltk

from manycaps.kit.errors import InputOSError

# Where Debian's wordnet-base and wordnet-sense-index put the WordNet 3.0 database.
DEBIAN_FOLDER = pathlib.Path("/usr/share/wordnet")

# The packages, for the installation and for the message.
DEBIAN_PACKAGES = ("wordnet-base", "wordnet-sense-index")

# Files that NLTK's WordNet reader opens (NLTK 3.10, WordNetCorpusReader), besides lexnames.
WORDNET_FILES = [
    "cntlist.rev",
    "index.sense",
    *(name for part in ("adj", "adv", "noun", "verb") for name in (f"data.{part}", f"index.{part}", f"{part}.exc")),
]

# Number, name and category of each lexicographer file, tab-separated (WordNet 3.0, manual page lexnames(5WN)): the file
# `lexnames`, which Debian leaves out.
LEXNAMES = pathlib.Path(__file__).with_name("wordnet_lexnames.tsv")


def has_wordnet() -> bool:
    """Return whether NLTK finds WordNet in its data path."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            nltk.data.find(name)
        except LookupError:
            continue
        return True
    return False


def build_corpus(source: pathlib.Path, nltk_data: pathlib.Path) -> pathlib.Path:
    """Copy the WordNet database at `source` into an NLTK data folder, whole or not at all; return its folder there."""
    missing = [name for name in WORDNET_FILES if not (source / name).is_file()]
    if missing:
        got, fix = f"one without {', '.join(missing)}", f"Run `apt-get install {' '.join(DEBIAN_PACKAGES)}`."
        raise InputOSError(source, "the WordNet 3.0 database", got, fix)
    corpora = nltk_data / "corpora"
    corpora.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=corpora) as unfinished:
        folder = pathlib.Path(unfinished) / "wordnet"
        folder.mkdir()
        for name in WORDNET_FILES:
            shutil.copyfile(source / name, folder / name)
        shutil.copyfile(LEXNAMES, folder / "lexnames")
        folder.rename(corpora / "wordnet")
    return corpora / "wordnet"


def install_debian_packages() -> None:
    """Install the packages with apt-get where that is possible without asking: as root, on Debian or Ubuntu."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=quiet, check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", *DEBIAN_PACKAGES], env=quiet, check=False)


def install_wordnet(nltk_data: pathlib.Path) -> str:
    """Find, download or build the corpus in a folder of NLTK's data, and say in a sentence what was done."""
    if has_wordnet():
        return "WordNet is already where NLTK looks for it."
    if not (DEBIAN_FOLDER / "index.sense").is_file():
        if nltk.download("wordnet", download_dir=str(nltk_data), quiet=True, raise_on_error=False):
            return f"Downloaded WordNet into {nltk_data}."
        install_debian_packages()
    try:
        folder = build_corpus(DEBIAN_FOLDER, nltk_data)
    except InputOSError as error:
        other = "Or give NLTK its 'wordnet' corpus another way: `python -m nltk.downloader wordnet`."
        raise error.with_advice(other) from None
    return f"Built WordNet out of {DEBIAN_FOLDER} in {folder}."
