"""Give evaluate an empty cache, and tests on real captions the folder that holds them."""

import gzip
import os
import pathlib
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

ROOT = pathlib.Path(__file__).resolve().parents[1]


# No time limit for an example: a busy machine must not fail a test. The examples are the same in every run.
hypothesis.settings.register_profile("manycaps", deadline=None, derandomize=True)
hypothesis.settings.load_profile("manycaps")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real captions and golden values."""
    folder = pathlib.Path(os.environ.get("MANYCAPS_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "golden").is_dir():
        pytest.skip(f"no folder of real captions at {folder}; set MANYCAPS_DATA to run this test")
    return folder


@pytest.fixture(scope="session")
def lexicon():
    """NLTK's stems and WordNet's synonyms, loaded once."""
    from metrics.trm_meteor.wordnet_lexicon import WordNetLexicon

    return WordNetLexicon()


@pytest.fixture(scope="session")
def flickr8k_frequencies(data_folder):
    """Document frequencies of Flickr8k (n-gram, tab, count; `#` and `# 13 takes` are n-grams too), and 8,092 images."""
    with gzip.open(data_folder / "golden" / "flickr8k_df.tsv.gz", "rt", encoding="utf-8") as file:
        pairs = (line.rstrip("\n").split("\t") for line in file)
        return {ngram: int(count) for ngram, count in pairs}, 8092
