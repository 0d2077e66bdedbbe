"""Give evaluate an empty cache and tests their golden values."""

import gzip
import hashlib
import html
import json
import os
import pathlib
import re
import shutil
import tempfile

# Must run before the first `import evaluate`, which reads these once. evaluate's folder hash ignores whatever follows
# a '#', so with a cache that is not empty an old copy could hide an edit.
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="evaluate-cache-")
os.environ["HF_EVALUATE_OFFLINE"] = "1"
# Test files run side by side, one thread of arithmetic each: more threads than cores would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

from tests.golden_folders import DATA, OWN_GOLDEN, REAL_GOLDEN

# The compiled tables of METEOR 1.5, each of which takes ten seconds, are kept until the program that compiles changes.
COMPILER = pathlib.Path(__file__).resolve().parents[1] / "manycaps" / "kit" / "meteor15_scores.py"
TABLES = f".pytest_cache/tables-{hashlib.sha256(COMPILER.read_bytes()).hexdigest()[:12]}"
os.environ.setdefault("HF_ASSETS_CACHE", str(COMPILER.parents[2] / TABLES))

EMPTY_CACHE = os.environ["HF_HOME"]

# What a file says whose tests are all slow.
ALL_SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)

# A test of golden values runs on all of them that are there.
GOLDEN_FOLDERS = [pytest.param(OWN_GOLDEN, id="own")]
if REAL_GOLDEN.is_dir():
    GOLDEN_FOLDERS.append(pytest.param(REAL_GOLDEN, id="real", marks=pytest.mark.realdata))


# No time limit for an example: a busy machine must not fail a test. The examples are the same in every run.
hypothesis.settings.register_profile("manycaps", deadline=None, derandomize=True)
hypothesis.settings.load_profile("manycaps")


def pytest_ignore_collect(collection_path, config):
    """Leave out files of slow tests alone where these are deselected: they import the largest packages."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return None


def pytest_unconfigure():
    """Delete the cache of this process: tens of megabytes for each, run after run."""
    shutil.rmtree(EMPTY_CACHE, ignore_errors=True)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real captions and golden values."""
    if not REAL_GOLDEN.is_dir():
        pytest.skip(f"no folder of real captions at {DATA}; set MANYCAPS_DATA to run this test")
    return DATA


@pytest.fixture(scope="session", params=GOLDEN_FOLDERS)
def golden_folder(request):
    """Golden values: this project's, and values on real captions where their folder is there."""
    return request.param


@pytest.fixture(scope="session")
def caption_samples(golden_folder):
    """Rows of a golden folder: dicts with _id, references and candidates."""
    if golden_folder == OWN_GOLDEN:
        return json.loads((golden_folder / "captions.json").read_text(encoding="utf-8"))["rows"]
    return json.loads((DATA / "coco_val_1000.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def clip(golden_folder, tmp_path_factory):
    """A compressed clip of 50 frames or more: moving pictures of this project, and a real one where it is there."""
    if golden_folder != OWN_GOLDEN:
        return DATA / "vatex_clip.mp4"
    from tests.video_clips import moving_picture, write_clip

    frames = moving_picture(OWN_GOLDEN / "pictures" / "scene_0.png")
    return write_clip(tmp_path_factory.mktemp("clip") / "moving.mp4", frames)


@pytest.fixture(scope="session")
def golden_frequencies(golden_folder):
    """Document frequencies (n-gram, tab, count; `#` and `# 13 takes` are n-grams too), and the number of documents."""
    (path,) = golden_folder.glob("*_df.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        pairs = (line.rstrip("\n").split("\t") for line in file)
        frequencies = {ngram: int(count) for ngram, count in pairs}
    return frequencies, json.loads((golden_folder / "ciderd_pairs.json").read_text())["meta"]["n_images"]


@pytest.fixture(scope="session")
def lexicon():
    """NLTK's stems and WordNet's synonyms, loaded once."""
    from manycaps.kit.meteor_nltk import WordNetLexicon

    return WordNetLexicon()


@pytest.fixture
def drawn_plots():
    """Plots are drawn in this test, whatever holds for its file."""


@pytest.fixture
def undrawn_plots(request, monkeypatch):
    """Plots have names and descriptions, and no lines: drawing takes most of the time of a comparison."""

    def element(_figure, name, description):
        return f'<svg role="img" aria-label="{html.escape(description, quote=True)}" data-plot="{name}"></svg>'

    if "drawn_plots" not in request.fixturenames:
        monkeypatch.setattr("manycaps.report.inline_svg.as_inline_svg", element)
