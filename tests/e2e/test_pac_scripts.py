"""The tools around the PAC modules, run as a person runs them."""

import json
import re

import numpy as np
import PIL.Image
import pytest

from manycaps.commands.command_line import main
from manycaps.human_correlation.benchmarks import BENCHMARKS
from tests.clip_checkpoints import save_checkpoint, small_weights, with_lora
from tests.large_packages import OnFirstUse, torch
from tests.modules.sample_inputs import small_checkpoint

protocols = OnFirstUse("manycaps.human_correlation.protocols")


@pytest.fixture
def run(capsys):
    """Run a command, in this process: starting torch takes longer than the tests."""

    def run_command(*arguments):
        code = main(list(map(str, arguments)))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture(scope="module")
def made_benchmarks(tmp_path_factory):
    """Small benchmarks in the layout of the public copies: .jsonl files beside their images."""
    folder, rng = tmp_path_factory.mktemp("benchmarks"), np.random.default_rng(0)
    for i in range(4):
        PIL.Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(folder / f"{i}.png")

    def texts(n):
        return [
            "a " + " ".join(rng.choice("dog cat beach street red blue man woman runs sits".split(), 4))
            for _ in range(n)
        ]

    rows = {"correlation": [], "choice": []}
    for _ in range(12):
        cand, *refs = texts(3)
        judged = [float(value) for value in rng.integers(1, 5, 3)]
        rows["correlation"].append({"cand": cand, "refs": refs, "human_score": judged})
    for i in range(8):
        better, worse, *refs = texts(9)
        category = "HC HI HM MM".split()[i % 4]
        rows["choice"].append({"better": better, "worse": worse, "refs": refs, "category": category})
    for name, kind_rows in rows.items():
        lines = [json.dumps({"img": f"{i % 4}.png", **row}) + "\n" for i, row in enumerate(kind_rows)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return folder


# Benchmarks that are tables of images; benchmarks of videos and of systems have a test of their own.
OF_IMAGES = [name for name, benchmark in BENCHMARKS.items() if benchmark.kind in ("correlation", "choice")]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", OF_IMAGES)
def test_every_benchmark_runs_end_to_end(run, benchmark, made_benchmarks):
    kind = BENCHMARKS[benchmark].kind
    options = ("--option", f"checkpoint={small_checkpoint()}", "--option", "device=cpu")
    metric, data = "ref_pac_score" if benchmark == "foil" else "pac_score", made_benchmarks / f"{kind}.jsonl"
    line = ("--benchmark", benchmark, "--metric", metric, *options, "--data", data)
    code, out, err = run("human-correlation", *line)
    assert code == 0, err
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines()[2:]}
    measured = "tau_c" if kind == "correlation" else "accuracy"
    assert -100 <= float(lines[measured][0]) <= 100
    place = "foil 7" if benchmark == "foil" else benchmark  # the made rows have seven references
    published = protocols.PUBLISHED[metric].get(place, {}).get(measured)
    if published is None:
        assert lines[measured][1:3] == ["-", "-"]
    else:
        assert float(lines[measured][1]) == published
        assert float(lines[measured][2]) == pytest.approx(float(lines[measured][0]) - published, abs=0.011)
    assert int(lines["n_rows"][0]) == (12 if kind == "correlation" else 8)


def test_what_is_missing_is_said_in_one_line(run, made_benchmarks):
    line = ("human-correlation", "--benchmark", "foil", "--metric", "pac_score")
    code, out, err = run(*line)
    assert (code, out) == (2, "")
    assert err.startswith("--data: expected a folder or file for foil, which has no public copy, got none.")
    err = run(*line, "--data", made_benchmarks / "correlation.jsonl")[2]
    assert "--data: expected the columns img, better, worse, got img, cand, refs, human_score." in err


def test_accuracy_counts_wins_by_category_and_ties_half():
    pairs = [("x", "y", "HC"), ("y", "x", "HC"), ("y", "y", "MM")]
    rows = [{"better": b, "worse": w, "category": category, "refs": list("abcdefgh")} for b, w, category in pairs]
    drawn = []

    def score(both, captions):
        drawn.append(tuple(both[0]["refs"]))
        return np.array([1.0 if caption == "x" else 0.0 for caption in captions])

    found = protocols.choice(rows, BENCHMARKS["pascal-50s"], score, seed=0)
    assert found.figures == {"HC": 50.0, "MM": 50.0, "accuracy": 50.0, "n_rows": 3}
    assert (len(set(drawn)), {len(refs) for refs in drawn}) == (5, {5})
    assert protocols.choice(rows[:1], BENCHMARKS["foil"], score, seed=0).figures["accuracy"] == 100.0
    assert len(drawn[-1]) == 8


@pytest.mark.slow
def test_a_converted_folder_gives_the_same_features_and_open_clip_loads_it(run, tmp_path):
    import open_clip

    from manycaps.kit.clip_model import ClipModel, merge_lora, read_weights

    source = save_checkpoint(tmp_path / "clip.pth", with_lora(small_weights()))
    code, _, err = run("convert-checkpoint", source, tmp_path / "folder")
    assert code == 0, err
    assert "3 texts and 4 images have equal features" in err
    names = {path.name for path in (tmp_path / "folder").iterdir()}
    assert names == {"open_clip_model.safetensors", "open_clip_config.json", "README.md"}
    assert "updates are merged" in (tmp_path / "folder" / "README.md").read_text()
    network = open_clip.create_model(f"local-dir:{tmp_path / 'folder'}").eval()
    ours = ClipModel(merge_lora(read_weights(source)), device="cpu")
    texts = ours.text_features([ours.tokenize("a dog")], 1)
    with torch.inference_mode():
        assert network.encode_text(open_clip.tokenize("a dog")).numpy() == pytest.approx(texts, abs=5e-6)


def test_a_file_that_cannot_be_converted_is_named(run, tmp_path):
    torch.save({"state_dict": {"a": torch.ones(1)}}, tmp_path / "other.pth")
    code, _, err = run("convert-checkpoint", tmp_path / "other.pth", tmp_path / "folder")
    assert code == 1
    assert err.startswith("checkpoint: expected the weights of a CLIP vision transformer")
    assert not (tmp_path / "folder").exists()
    _, _, err = run("convert-checkpoint", tmp_path, tmp_path / "folder")
    assert re.search(r"source: expected a file, got .* which is a folder\. Name a file in it\.", err)
    _, _, err = run("convert-checkpoint", small_checkpoint(), tmp_path)
    assert err.startswith("folder: expected an empty or new folder, got ")


WORD_OVERLAP = '''
import datasets
import evaluate


class WordOverlap(evaluate.Metric):
    """Share of the words of a caption that some reference has."""

    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": datasets.Sequence(text)})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references):
        found = [
            sum(word in " ".join(texts).split() for word in caption.split()) / len(caption.split())
            for caption, texts in zip(predictions, references)
        ]
        return {"version": "1", "overlap": sum(found) / len(found), "distance": 1 - sum(found) / len(found)}
'''


def test_any_other_module_is_asked_row_by_row(run, tmp_path):
    (tmp_path / "word_overlap").mkdir()
    (tmp_path / "word_overlap" / "word_overlap.py").write_text(WORD_OVERLAP)
    judged = [("a dog", 4.0), ("a cat", 2.0), ("red car", 1.0), ("dog", 4.0)]
    rows = [
        {"img": "-", "cand": cand, "refs": ["a dog runs", "the dog"], "human_score": score} for cand, score in judged
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metric = ("--metric", tmp_path / "word_overlap", "--data", tmp_path / "rows.jsonl")
    line = ("human-correlation", "--benchmark", "composite", *metric)
    for more in ((), ("--key", "distance", "--lower-is-better")):
        code, out, err = run(*line, *more)
        assert code == 0, err
        assert out.splitlines()[2].split()[:2] == ["tau_b", "100.00"]
    assert run(*line, "--limit", 3)[1].splitlines()[4].split() == ["n_rows", "3"]
    code, _, err = run(*line, "--key", "nothing")
    message = "--key: expected one of overlap, distance, got 'nothing'. Check the spelling."
    assert (code, err.splitlines()[-1]) == (2, message)
