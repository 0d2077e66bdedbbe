"""Texts that are longer than a sentence encoder reads: counted, warned of once, and read in windows when asked to."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest
import tqdm

from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import MODULES, SENTENCE_ENCODER
from manycaps.commands.command_line import main
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from tests.oracles.tiny_sentence_model import save_tiny_model
from tests.tools import write_jsonl

pytestmark = pytest.mark.usefixtures("undrawn_plots")

# Word pieces that the tiny model reads, with the two marks of beginning and end.
MOST_PIECES = 11

# 6, 6 and 9 word pieces without the marks: three windows.
SENTENCES = ["a dog run on beach.", "two cats about the sofa.", "and a very long caption about a dog."]
LONG = " ".join(SENTENCES)
ENDLESS = "a dog and " * 9

PREDICTIONS = [[LONG, "a dog", "dogs run"], ["two cats", "a cat", "the sofa"], ["a dog run", "a dogs", "on sofa"]]
REFERENCES = [["a dog run", ENDLESS, "on beach"], ["the two cats", "cats", "a cat"], [LONG, "a sofa", "long run"]]
WHOLE = [["a dog", "a cat", "dogs run"], *PREDICTIONS[1:]]

UNREAD = "^long_texts: expected texts that the encoder reads to their end, got longer ones; n_truncated in the result"
UNREAD_SENTENCES = "^long_texts: expected sentences that the encoder reads to their end, got longer ones; n_truncated"

# What a module needs to embed captions.
OPTIONS = {
    "vdtk_leave_one_out": {"metrics": ("mmd_bert",), "estimator": "biased", "n_iterations": 3},
    "vdtk_diversity": {"semantic": True},
    "set_diversity": {"kernels": ("embedding",)},
    "human_parity": {"p_value": "none"},
    "homogeneity": {"distance": "bert"},
}
NAMES = [name for name, record in MODULES.items() if record.network == SENTENCE_ENCODER]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny", most_pieces=MOST_PIECES))


def load_on_cpu(name, **options):
    return load(name, device="cpu", **OPTIONS.get(name, {}), **options)


def columns(name, predictions=PREDICTIONS):
    if "data" in MODULES[name].columns:
        return {"data": [[*p, *r] for p, r in zip(predictions, REFERENCES, strict=True)]}
    return {"predictions": predictions, "references": REFERENCES}


def embed(captions, model, **options):
    given = {**ENCODER_DEFAULTS, "encoder": model, "device": "cpu", **options}
    return SentenceEncoder().embed(captions, given, lambda steps, **_: steps)


def test_the_modules_that_read_texts_are_those_tested():
    assert len(NAMES) == 11


@pytest.mark.parametrize("name", NAMES)
def test_every_module_counts_them_and_warns_once(name, model):
    module = load_on_cpu(name, encoder=model)
    with pytest.warns(UserWarning, match=UNREAD) as caught:
        result = module.compute(**columns(name))
    assert (result["n_truncated"], "n_windowed" in result) == (3, False)
    assert sum("long_texts" in str(each.message) for each in caught) == 1
    with pytest.warns(UserWarning, match=UNREAD_SENTENCES):
        result = module.compute(**columns(name), long_texts="window", details=True)
    assert (result["n_truncated"], result["n_windowed"]) == (1, 2)
    assert "|long_texts:window" in result["signature"]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "long_texts: ")
        assert module.compute(**dict.fromkeys(columns(name), WHOLE))["n_truncated"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_function_counts_nothing_and_gets_whole_texts(name):
    module, texts = load_on_cpu(name), []

    def lengths(captions):
        texts.extend(captions)
        return np.array([[len(caption), 1.0 + index] for index, caption in enumerate(captions)])

    assert "n_truncated" not in module.compute(**columns(name), encoder=lengths)
    assert {LONG, ENDLESS} <= set(texts)
    with pytest.raises(ValueError, match="^long_texts: expected 'truncate' beside a function as encoder, got 'window'"):
        module.compute(**columns(name), encoder=lengths, long_texts="window")


def test_a_text_is_the_mean_of_its_windows(model):
    vectors = embed(SENTENCES, model).astype(float)
    lengths = np.linalg.norm(vectors, axis=1)
    mean = (vectors / lengths[:, None]).mean(axis=0)
    expected = mean / np.linalg.norm(mean) * lengths.mean()
    whole = embed([LONG, "a dog", ENDLESS], model, long_texts="window")
    assert whole[0] == pytest.approx(expected, abs=1e-6)
    assert (whole[1:] == embed(["a dog", ENDLESS], model)).all()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")

    def write(name, **sides):
        lines = [{"id": i, **{key: rows[i] for key, rows in sides.items()}} for i in range(len(PREDICTIONS))]
        return str(write_jsonl(folder / name, lines))

    return [
        write("long.jsonl", predictions=PREDICTIONS, references=REFERENCES),
        write("short.jsonl", predictions=WHOLE, references=REFERENCES),
    ]


def warns_once(printed):
    """Whether a command has said in one line that texts were not read to their end."""
    lines = [line for line in re.split(r"[\r\n]", printed) if "long_texts: " in line]
    return len(lines) == 1 and bool(re.search(UNREAD.removeprefix("^"), lines[0]))


def test_compare_warns_once_and_counts_by_system(files, model, tmp_path, capsys, monkeypatch):
    begin = tqdm.tqdm.__init__
    monkeypatch.setattr(tqdm.tqdm, "__init__", lambda bar, *given, **how: begin(bar, *given, **how | {"delay": 0}))
    own = shutil.copytree(model, tmp_path / "model")  # another test's features of the shared one need no bar
    command = ["compare", *files, "--encoder", str(own), "--device", "cpu", "-m", "trm_bert"]
    assert not main([*command, "-o", str(tmp_path / "report")])
    printed = capsys.readouterr().err
    assert warns_once(printed)
    # What takes longest has a bar.
    assert "embedding captions:" in printed
    counts = json.loads((tmp_path / "report" / "comparison.json").read_text())["n_truncated"]
    assert counts == {"long": {"human_parity": 3, "trm_bert": 3}, "short": {"human_parity": 2, "trm_bert": 2}}
    assert not main([*command, "--long-texts", "window", "-o", str(tmp_path / "windows")])
    found = json.loads((tmp_path / "windows" / "comparison.json").read_text())
    assert found["n_truncated"]["long"] == {"human_parity": 1, "trm_bert": 1}
    assert "|long_texts:window|" in found["signatures"]["long"]["human_parity"]


def test_score_adds_the_counts_of_its_parts_and_warns_once(files, model, tmp_path, capsys):
    command = ["score", "-i", files[0], "-m", "human_parity,trm_bert", f"--option=encoder={model}"]
    main([*command, "--part-size", "0.0001", "-o", str(tmp_path / "scores")])
    assert warns_once(capsys.readouterr().err)
    metrics = json.loads((tmp_path / "scores" / "summary.json").read_text())["metrics"]
    assert {name: result["n_truncated"] for name, result in metrics.items()} == dict.fromkeys(metrics, 3)


@pytest.mark.parametrize(
    "command", [["rows", "--rows", "3"], ["diversity", "--column", "predictions"]], ids=["rows", "diversity"]
)
def test_rows_and_diversity_warn_and_read_windows(command, files, model, tmp_path, capsys):
    name, *rest = command
    pages = []
    for how in ("truncate", "window"):
        page = tmp_path / f"{how}.html"
        line = [name, files[0], *rest, "--encoder", model, "--output", str(page), "--long-texts", how]
        main(line)
        if how == "truncate":
            assert warns_once(capsys.readouterr().err)
        pages.append(page.read_text(encoding="utf-8"))
    assert pages[0] != pages[1]
