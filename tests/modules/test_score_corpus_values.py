"""`manycaps score`: values of the corpus that are not means over rows, equal to the modules' own to the last digit."""

import hashlib
import itertools
import json
import math

import numpy as np
import pytest
from pyarrow.parquet import read_table

import manycaps
from manycaps.files.result_tables import without_null
from manycaps.kit import vectors_sentences
from tests.language_captions import SENTENCES, segments
from tests.modules.sample_inputs import small_meteor15_data
from tests.modules.scored_rows import caption_rows, flags, module_result, without_lists
from tests.tools import write_jsonl

# One part, and about ten.
PART_SIZES = [16, 0.001]

# Relative difference of sums of matrix products of other sizes.
OTHER_PRODUCTS = 1e-12


def vector_of(caption):
    """A vector that depends on the caption alone, whatever batch it is in; some numbers are far smaller than others."""
    seed = int.from_bytes(hashlib.blake2b(caption.encode(), digest_size=8).digest(), "big")
    return (np.random.default_rng(seed).normal(size=6) * 10.0 ** np.arange(0, -12, -2)).astype(np.float32)


@pytest.fixture
def ready_vectors(monkeypatch):
    """Vectors in place of a model, in the modules as evaluate has loaded them."""

    def embed(self, captions, options, progress):
        return np.stack([vector_of(caption) for caption in captions])

    load = manycaps.load

    def load_patched(name, **options):
        module = load(name, **options)
        if hasattr(module, "encoder"):
            monkeypatch.setattr(type(module.encoder), "embed", embed)
        return module

    monkeypatch.setattr("manycaps.scoring.scorer.load", load_patched)
    monkeypatch.setattr("manycaps.load", load_patched)
    monkeypatch.setattr(vectors_sentences.SentenceEncoder, "embed", embed)


def chinese_rows():
    texts = SENTENCES["zh"]
    return [
        {"id": str(i), "predictions": [text], "references": [other, "狗在沙滩上奔跑"]}
        for i, (text, other) in enumerate(zip(texts * 2, texts[1:] * 2, strict=False))
    ]


def single_references():
    return [row | {"references": row["references"][:1]} for row in caption_rows(40)]


def german_rows():
    texts = enumerate(segments("de", 30))
    return [{"id": str(i), "predictions": [text], "references": others} for i, (text, others) in texts]


ROWS = {"english": lambda: caption_rows(40), "chinese": chinese_rows, "german": german_rows}
ROWS["one reference"] = single_references
PERMUTED = {"pooled": True, "p_value": "permutation", "n_resamples": 19}

# Modules, rows, options, and by how much values may differ from the module's own.
VALUES = {
    "tests": (
        "trm_meteor trm_cider",
        "english",
        {"p_value": "permutation", "n_resamples": 99, "confidence_level": 0.9},
        0,
    ),
    "exact tests": ("trm_meteor", "english", {"p_value": "exact"}, 0),
    "pooled": ("fid_bert mmd_bert", "english", {"pooled": True}, 0),
    "pooled p-values": ("fid_bert mmd_bert", "english", PERMUTED, OTHER_PRODUCTS),
    "parity by bert": ("human_parity", "english", {"distance": "bert", "confidence_level": 0.9}, OTHER_PRODUCTS),
    "parity by meteor": ("human_parity", "english", {"distance": "meteor", "confidence_level": 0.9}, 0),
    "parity of one reference": ("human_parity", "one reference", {"distance": "meteor", "confidence_level": 0.9}, 0),
    "meteor15": ("meteor15", "english", {"meteor15_data": small_meteor15_data}, 0),
    "meteor15 in German": ("meteor15", "german", {"language": "de"}, 0),
    "diversity": ("vdtk_diversity", "english", {"lengths": [3, 7]}, 0),
    "COCO": ("coco_caption", "english", {"meteor15_data": small_meteor15_data, "best_of": True}, 0),
    "tokens by name": ("bleu_rouge trm_cider", "chinese", {"tokenizer": "zh-jieba"}, 0),
    "BLEU": ("bleu_rouge", "english", {}, 0),
    "objects": ("chair", "english", {"confidence_level": 0.9}, 0),
    "distributions": ("mmd trm_bert", "english", {}, OTHER_PRODUCTS),
}


@pytest.mark.slow
@pytest.mark.usefixtures("ready_vectors")
@pytest.mark.parametrize("case", VALUES)
def test_values_of_parts_are_those_of_the_module(summary, tmp_path, case):
    names, language, options, tolerance = VALUES[case]
    rows = ROWS[language]()
    options = {name: value() if callable(value) else value for name, value in options.items()}
    lines = write_jsonl(tmp_path / "rows.jsonl", rows)
    expected = {name: without_lists(module_result(name, rows, **options)) for name in names.split()}
    written = []
    for part_size in PART_SIZES:
        arguments = (",".join(expected), lines, "--part-size", part_size, *flags(**options))
        metrics = summary(*arguments, to=tmp_path / str(part_size))["metrics"]
        # JSON has null for NaN and infinity: what reads folders of scores puts them back.
        written.append({name: without_null(values) for name, values in metrics.items()})
    if not tolerance or names == "human_parity":  # the same bits from one part and from ten
        assert repr(written[0]) == repr(written[1])
    for found, (name, values) in itertools.product(written, expected.items()):
        assert found[name].keys() == values.keys()
        for key, value in values.items():
            is_finite = isinstance(value, float) and math.isfinite(value)
            if not (tolerance and is_finite) or key.startswith(f"{name}_pooled"):
                assert repr(found[name][key]) == repr(value), key
            else:
                assert found[name][key] == pytest.approx(value, rel=tolerance), key


def test_captions_of_people_alone_have_a_diversity(summary, tmp_path):
    people = [{"id": row["id"], "references": row["references"]} for row in caption_rows(40)]
    found = summary("vdtk_diversity", write_jsonl(tmp_path / "people.jsonl", people))["metrics"]["vdtk_diversity"]
    captions = [row["references"] for row in people]
    assert found == without_lists(manycaps.load("vdtk_diversity").compute(data=captions, details=True))


@pytest.mark.parametrize("part_size", PART_SIZES)
def test_diversity_of_sets_with_a_table(summary, tmp_path, ready_vectors, part_size):
    rows = caption_rows(20)
    rows[3]["predictions"] = rows[3]["predictions"][:1]  # has no pairs, so that some of its values are not defined
    lines, table = write_jsonl(tmp_path / "rows.jsonl", rows), tmp_path / "table.json"
    table.write_text(json.dumps({"n_documents": 50, "document_frequency": {"a": 40, "the": 30, "a dog": 3}}))
    options = (*flags(document_frequency=str(table)), "--part-size", part_size)
    found = summary("set_diversity", lines, *options, to=tmp_path / "o")["metrics"]
    expected = without_lists(module_result("set_diversity", rows, document_frequency=str(table)))
    assert expected["n_rows_with_pairs"] == 19
    assert found["set_diversity"] == {k: v for k, v in expected.items() if not k.startswith("corpus_")}
    stored = read_table(tmp_path / "o" / "rows").column("self_cider_difference").to_pylist()
    assert np.isnan(stored[3])
    assert np.isfinite(np.delete(stored, 3)).all()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("lines") / "rows.jsonl", caption_rows(40))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mmd", {"preset": "cmmd"}, "--option preset: expected values of rows, got one of all rows together"),
        (
            "human_parity",
            {"p_value": "permutation", "distance": "meteor"},
            "--option p_value: expected values of rows, got one of all rows together",
        ),
        *(
            ("vdtk_diversity", {option: value}, f"--option {option}: expected ")
            for option, value in (("semantic", True), ("pos", "en_core_web_sm"), ("encoder", "somewhere"))
        ),
    ],
)
def test_what_cannot_be_put_together_is_refused_before_any_work(score, tmp_path, lines, name, options, message):
    _, error = score(name, lines, *flags(**options), to=tmp_path / "o", code=2)
    assert error.startswith(message)
    assert not (tmp_path / "o").exists()


def test_pooled_values_of_too_many_rows_are_refused_before_any_work(score, summary, tmp_path, lines, ready_vectors):
    arguments = (lines, "--part-size", 0.001, "--option", "pooled=true", "--max-pooled-rows", 39)
    _, error = score("mmd_bert", *arguments, code=2)
    assert error == (
        "--max-pooled-rows 39: expected at most 39 rows for a value of mmd_bert over all captions together, got 40: it "
        "holds every embedding and compares every two captions or exchanges all of them. Allow more, or leave pooled "
        "out."
    )
    assert not (tmp_path / "o" / "rows").exists()
    _, error = score("fid_bert", *arguments, *flags(p_value="exact"), to="b", code=2)
    assert error.endswith("Allow more, or give --option fid_bert.p_value=none, whose pooled distance has no limit.")
    assert summary("fid_bert", *arguments, to="c")["metrics"]["fid_bert"]["fid_bert_pooled"] >= 0
