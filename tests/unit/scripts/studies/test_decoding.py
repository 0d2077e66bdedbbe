"""Settings and their names, simulated speakers, tables of captions per setting, and transformers models."""

import json

import numpy as np
import PIL.Image
import pytest

from scripts.studies import temperature
from scripts.studies.caption_sources import (
    Speaker,
    TableFolder,
    decoded,
    model_setting,
    read_sources,
    write_model_captions,
    zipf,
)
from scripts.studies.decoding import SAMPLING, SEARCHES, Setting, named_folders
from scripts.studies.decoding_study import best_settings, curve
from tests.each_case import each_case
from tests.large_packages import torch, transformers
from tests.tiny_pipelines import save_captioner

IMAGES = [[f"{image}{caption}" for caption in range(8)] for image in "abcd"]
RNG = np.random.default_rng(0)


def test_names_of_settings_are_read_as_they_are_written():
    settings = [Setting(strategy, 0.7) for strategy in SAMPLING] + [Setting(strategy) for strategy in SEARCHES]
    assert [Setting.of(str(setting)) for setting in settings] == settings


@each_case("name", ["sampling", "sampling-0", "sampling-hot", "greedy-1", "luck"])
def test_names_of_no_setting(name):
    with pytest.raises(ValueError, match=rf"^{name}: expected the name of a setting, got another one\. Write one of "):
        Setting.of(name)


def share(setting, place, n=20_000):
    places = decoded(np.array([0.1, 0.6, 0.3]), Setting.of(setting), n, np.random.default_rng(0))
    return places.count(place) / n


def test_whole_captions_are_decoded_as_tokens_are():
    assert share("sampling-1", 1) == pytest.approx(0.6, abs=0.01)
    # 0.6^2 / (0.1^2 + 0.6^2 + 0.3^2) = 0.7826.
    assert share("sampling-0.5", 1) == pytest.approx(0.7826, abs=0.01)
    # Top-p 0.9 keeps 0.6 and 0.3, whose sum reaches it.
    assert share("top_p-1", 0) == 0
    assert share("top_p-1", 1) == pytest.approx(2 / 3, abs=0.01)
    assert decoded(zipf(30), Setting.of("top_k-50"), 2000, np.random.default_rng(0)).count(25) == 0
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting("greedy"), 2, RNG) == [1, 1]
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting("best_beams"), 4, RNG) == [1, 2, 0, 1]
    with pytest.raises(ValueError, match=r"diverse_beams: expected a way to choose whole captions, got one for tokens"):
        decoded(zipf(3), Setting("diverse_beams"), 2, RNG)


def test_speakers_differ_in_their_mistakes_and_share_their_references():
    careful, careless = (Speaker(IMAGES, mistakes, (50, 5), 3) for mistakes in (0.0, 0.9))
    rows, others = (speaker.rows(Setting("sampling", 1.0), (0, 0)) for speaker in (careful, careless))
    assert rows.references == others.references == careful.rows(Setting("greedy"), (0, 0)).references
    for candidates, references in zip(rows.candidates, rows.references, strict=True):
        assert {caption[0] for caption in candidates} == {references[0][0]}
    wrong = [c[0] != r[0][0] for row, r in zip(others.candidates, others.references, strict=True) for c in row]
    assert np.mean(wrong) == pytest.approx(0.9, abs=0.1)


def write_references(folder, images=None):
    rows = [{"id": str(i), "references": captions} for i, captions in enumerate(IMAGES)]
    for i, row in enumerate(rows if images else []):
        row["image"] = str(images / f"{i}.png")
    path = folder / "references.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def write_settings(folder):
    folder.mkdir()
    for setting in ("sampling-0.5", "sampling-1", "greedy"):
        lines = [json.dumps({"id": str(i), "predictions": captions[:4]}) for i, captions in enumerate(IMAGES)]
        (folder / f"{setting}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_tables_are_joined_to_references_by_id(tmp_path):
    references, folder = write_references(tmp_path), write_settings(tmp_path / "mine")
    options = temperature.parsed(
        ["--captions", f"mine={folder}", "--references", str(references), "--sizes", "3", "2", "--rows", "3"]
    )
    _, sources = read_sources(options)
    assert sources["mine"].settings() == [Setting("greedy"), Setting("sampling", 0.5), Setting("sampling", 1.0)]
    rows = sources["mine"].rows(Setting("sampling", 0.5), (0, 0))
    assert [(len(c), len(r)) for c, r in zip(*rows, strict=True)] == [(3, 2)] * 3
    assert all(c[0][0] == r[0][0] for c, r in zip(*rows, strict=True))


def test_messages_name_the_option(tmp_path):
    with pytest.raises(ValueError, match=r"--captions: expected NAME=FOLDER with a folder that exists, got 'mine'\."):
        named_folders(["mine"], "--captions")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="expected a table of captions for each setting, got none"):
        TableFolder(tmp_path / "empty", {}, (1, 1), 1)
    options = temperature.parsed(["--captions", f"mine={write_settings(tmp_path / 'mine')}"])
    with pytest.raises(ValueError, match="--references: expected tables of human captions, got none"):
        read_sources(options)


def test_a_model_writes_a_table_for_each_setting(tmp_path):
    for i in range(4):
        PIL.Image.new("RGB", (32, 32), (60 * i, 0, 0)).save(tmp_path / f"{i}.png")
    model = tmp_path / "model"
    save_captioner(model)
    options = temperature.parsed(
        [
            *("--models", f"tiny={model}", "--references", str(write_references(tmp_path, tmp_path)), "--sizes", "3"),
            *("2", "--output", str(tmp_path / "out"), "--max-tokens", "5"),
            *("--settings", "sampling-1", "greedy", "best_beams", "diverse_beams"),
        ]
    )
    _, sources = read_sources(options)
    said = {str(setting): sources["tiny"].rows(setting, (0, 0)).candidates for setting in sources["tiny"].settings()}
    assert set(said) == {"sampling-1", "greedy", "best_beams", "diverse_beams"}
    assert all(len(row) == 3 for rows in said.values() for row in rows)
    assert all(len(set(row)) == 1 for row in said["greedy"])
    assert all(len(set(row)) == 3 for row in said["best_beams"])
    # A table that is there is not written again, and a new one is the same.
    files = sorted((tmp_path / "out" / "captions" / "tiny").iterdir())
    content = [path.read_bytes() for path in files]
    files[-1].unlink()
    read_sources(options)
    assert [path.read_bytes() for path in files] == content


def test_a_text_model_answers_prompts(tmp_path):
    words = {"[UNK]": 0, "a": 1, "dog": 2, "runs": 3, "[EOS]": 4}
    import tokenizers

    kept = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    kept.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=kept, eos_token="[EOS]").save_pretrained(tmp_path / "model")
    config = transformers.GPT2Config(vocab_size=5, n_embd=8, n_layer=1, n_head=1, bos_token_id=4, eos_token_id=4)
    torch.manual_seed(0)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    (tmp_path / "prompts.json").write_text(json.dumps({str(i): "a dog" for i in range(4)}), encoding="utf-8")
    options = temperature.parsed(
        [
            *("--models", f"tiny={tmp_path / 'model'}", "--references", str(write_references(tmp_path))),
            *("--prompts", str(tmp_path / "prompts.json"), "--settings", "nucleus-1", "--sizes", "2", "2"),
            *("--output", str(tmp_path / "out"), "--max-tokens", "4"),
        ]
    )
    _, sources = read_sources(options)
    rows = sources["tiny"].rows(Setting("nucleus", 1.0), (0, 0))
    assert all(word in words for row in rows.candidates for caption in row for word in caption.split() if word != ".")
    options.prompts = None
    (tmp_path / "out/captions/tiny/nucleus-1.jsonl").unlink()
    with pytest.raises(ValueError, match=r"image\[0\]: expected an image or a prompt, got none"):
        read_sources(options)


@each_case("strategy", [*SAMPLING, *SEARCHES])
def test_models_decode_by_every_setting(strategy):
    setting = model_setting(Setting(strategy, 0.7), 3, 40)
    assert setting.is_sampled == (strategy in SAMPLING)
    assert (setting.top_k, setting.top_p) == (
        20 if strategy in ("top_k", "nucleus") else 0,
        0.9 if strategy in ("top_p", "nucleus") else 1.0,
    )


def line(setting, trial, shown, measure="trm_meteor"):
    values = {"shown": shown, "ci_low": shown - 1, "ci_high": shown + 1}
    key = {"speaker": "a", "setting": setting, "trial": str(trial), "measure": measure}
    return key | {name: str(value) for name, value in values.items()}


def test_the_best_setting_is_nearest_to_zero_or_largest():
    lines = [line("sampling-0.5", 0, 0.2), line("sampling-1", 0, -0.1), line("sampling-0.5", 1, 0.1)]
    lines += [line("sampling-1", 1, -0.15)]
    lines += [line("greedy", 0, 0.9, "meteor"), line("sampling-1", 0, 0.3, "meteor")]
    assert best_settings(lines) == [
        ["a", "trm_meteor", "sampling-1", "sampling-1 sampling-0.5"],
        ["a", "meteor", "greedy", "greedy"],
    ]
    found = curve(lines, "sampling", speaker="a", measure="trm_meteor")
    assert found.temperatures == [0.5, 1.0]
    assert found.middle == pytest.approx([0.15, -0.125])
    assert found.low == pytest.approx([-0.9, -1.15])


def test_a_model_without_anything_to_do_is_not_loaded(tmp_path):
    folder = write_settings(tmp_path / "captions")
    options = temperature.parsed(["--settings", "sampling-1"])
    write_model_captions(tmp_path / "no-model", {}, folder, 3, options)
