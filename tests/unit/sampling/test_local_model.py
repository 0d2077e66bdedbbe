"""Samples of models of every kind: probabilities, batches, shards, resumed runs, and clear messages."""

import collections
import itertools
import json
import os
import re
import shutil

import numpy as np
import pytest
import scipy.stats

from manycaps.commands.command_line import main
from manycaps.files.sampling_settings import sampling_settings
from manycaps.sampling import SampleOptions, sample
from manycaps.sampling.answers import Sample
from manycaps.sampling.captions_file import CaptionsFile
from manycaps.sampling.decoding_setting import Setting
from tests.large_packages import OnFirstUse, torch, transformers
from tests.refusals import assert_refused
from tests.tiny_models import KINDS, save_chat, save_pictures, save_prompts

safetensors = OnFirstUse("safetensors.torch")

N_ROWS = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures, prompts, and a model of every kind when it is first asked for."""
    folder = tmp_path_factory.mktemp("sampling")
    save_pictures(folder / "photos", N_ROWS)
    save_prompts(folder / "prompts.jsonl", N_ROWS)
    return folder


def options_for(folder, kind, output, **changed):
    save, takes_images, takes_prompts = KINDS[kind]
    if not (folder / kind).exists():
        (folder / kind).mkdir()
        save(folder / kind)
    asked = {"prompt": "what is the thing"} if takes_images and takes_prompts else {}
    source = folder / ("photos" if takes_images else "prompts.jsonl")
    setting = changed.pop("setting", Setting(max_new_tokens=6))
    return SampleOptions(str(folder / kind), [str(source)], output, n=4, setting=setting, **{**asked, **changed})


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_equal_in_every_batch(folder, kind, tmp_path):
    whole = sample(options_for(folder, kind, tmp_path / "1.jsonl", batch_size=1))
    takes_images = KINDS[kind][1]
    assert [row["id"] for row in rows_of(whole)] == [f"{i}.png" if takes_images else f"q{i}" for i in range(N_ROWS)]
    assert all(len(row["captions"]) == 4 for row in rows_of(whole))
    assert len({caption for row in rows_of(whole) for caption in row["captions"]}) > 2 * N_ROWS
    other = sample(options_for(folder, kind, tmp_path / "3.jsonl", batch_size=3))
    assert other.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("kind", ["gpt2", "blip"])
def test_samples_are_equal_in_shards_and_after_a_stop(folder, kind, tmp_path, monkeypatch):
    whole = sample(options_for(folder, kind, tmp_path / "1.jsonl"))
    shards = [sample(options_for(folder, kind, tmp_path / f"s{k}.jsonl", shard=(k, 2))) for k in (1, 2)]
    together = b"".join(path.read_bytes() for path in shards)
    assert sorted(together.splitlines()) == sorted(whole.read_bytes().splitlines())
    stopped = options_for(folder, kind, tmp_path / "stopped.jsonl", batch_size=2)
    stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        sample(stopped)
    monkeypatch.undo()
    assert not stopped.output.exists()
    partial = tmp_path / "stopped.jsonl.partial"
    assert len(rows_of(partial)) == 4
    with partial.open("a") as file:
        file.write('{"id": "half a li')
    assert sample(stopped).read_bytes() == whole.read_bytes()
    assert not partial.exists()


def stop_after(n_batches, monkeypatch):
    """Let a run end, as by ctrl-C, when it has written so many batches."""
    add, left = CaptionsFile.add, [n_batches]

    def add_or_stop(self, rows):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return add(self, rows)

    monkeypatch.setattr(CaptionsFile, "add", add_or_stop)


@pytest.mark.parametrize(
    ("setting", "n_distinct"), [({"greedy": True}, 1), ({"num_beams": 4}, 4), ({"diverse": 2.0}, 4)]
)
def test_searches(folder, tmp_path, setting, n_distinct):
    options = options_for(folder, "blip", tmp_path / "a.jsonl", setting=Setting(**setting, max_new_tokens=6))
    rows = rows_of(sample(options))
    assert all(len(row["captions"]) == 4 for row in rows)
    assert max(len(set(row["captions"])) for row in rows) == n_distinct


def test_settings_are_beside_the_samples(folder, tmp_path):
    path = sample(options_for(folder, "chat", tmp_path / "a.jsonl", setting=Setting(0.7, top_p=0.9, max_new_tokens=4)))
    settings = sampling_settings(str(path))
    assert settings["revision"].startswith("sha256:")
    assert (settings["temperature"], settings["top_p"], settings["top_k"], settings["n"]) == (0.7, 0.9, 0, 4)
    assert (settings["kind"], settings["dtype"]) == ("llama", "float32")
    assert re.fullmatch(r"\d+\.\d+\.\S+", settings["transformers"])
    assert sampling_settings(str(tmp_path / "nothing.jsonl")) is None


def test_a_chat_model_sees_the_message_of_the_system(folder, tmp_path):
    plain, told = (
        sample(options_for(folder, "chat", tmp_path / f"{system}.jsonl", system=system)) for system in (None, "a cat")
    )
    assert plain.read_bytes() != told.read_bytes()


def test_a_complete_file_is_left_as_it_is(folder, tmp_path, capsys):
    options = options_for(folder, "gpt2", tmp_path / "a.jsonl")
    before = sample(options).stat()
    sample(options)
    assert (tmp_path / "a.jsonl").stat().st_mtime_ns == before.st_mtime_ns
    assert "complete, nothing to do" in capsys.readouterr().err
    assert not (tmp_path / "a.jsonl.partial").exists()


def test_messages_about_what_is_there(folder, tmp_path):
    sample(options_for(folder, "gpt2", tmp_path / "a.jsonl"))
    message = (
        "--output: expected a new file, or one of the same settings, got '.*a.jsonl' with seed 0 instead of 1. Give "
        "another file, or --restart to begin from scratch.$"
    )
    assert_refused(ValueError, message, sample, options_for(folder, "gpt2", tmp_path / "a.jsonl", seed=1))
    again = sample(options_for(folder, "gpt2", tmp_path / "a.jsonl", seed=1, restart=True))
    assert sampling_settings(str(again))["seed"] == 1
    (tmp_path / "a.jsonl.settings").unlink()
    unknown = options_for(folder, "gpt2", tmp_path / "a.jsonl")
    assert_refused(ValueError, ".*without settings. Give another file", sample, unknown)
    (tmp_path / "a.jsonl").unlink()
    with CaptionsFile(tmp_path / "b.jsonl", {}).open(restart=False):
        again = CaptionsFile(tmp_path / "b.jsonl", {}).open(restart=False)
        message = ".*expected a file that no other run writes to, got one that is in use."
        assert_refused(OSError, message, again.__enter__)


def test_other_rows_are_not_added_to_a_stopped_run(folder, tmp_path, monkeypatch):
    stop_after(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        sample(options_for(folder, "gpt2", tmp_path / "a.jsonl", batch_size=2))
    monkeypatch.undo()
    prompts = tmp_path / "others.jsonl"
    prompts.write_text('{"id": "other", "prompt": "a dog"}\n')
    options = vars(options_for(folder, "gpt2", tmp_path / "a.jsonl", batch_size=2)) | {"sources": [str(prompts)]}
    message = "source: expected the rows of .*got others. Give the same images or prompts"
    assert_refused(ValueError, message, sample, SampleOptions(**options))


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("gpt2", {"system": "a"}, "--system: expected none, got one. This model has no chat template."),
        ("blip", {"system": "a"}, "--system: expected none, got one."),
        ("vision-encoder-decoder", {"prompt": "a"}, "--prompt: expected none, got one."),
        ("image-chat", {"prompt": None}, "--prompt: expected what to ask of an image, got none."),
        ("gpt2", {"shard": (9, 9)}, "--shard: expected at most 7 shards of 7 rows, got 9."),
        ("gpt2", {"device": "abacus"}, "device: expected 'auto' or a device of this machine, got 'abacus'"),
    ],
)
def test_messages_about_options(folder, tmp_path, kind, changed, message):
    assert_refused(ValueError, message, sample, options_for(folder, kind, tmp_path / "a.jsonl", **changed))


def test_images_and_prompts_go_to_models_that_take_them(folder, tmp_path):
    options_for(folder, "gpt2", tmp_path), options_for(folder, "blip", tmp_path)
    photos, prompts = folder / "photos", folder / "prompts.jsonl"
    for model, source, message in (
        (folder / "gpt2", photos, ".*gpt2: expected a model that takes images, got one of texts alone (gpt2)"),
        (folder / "blip", prompts, ".*prompt[0]: expected an image, got none. The model captions images alone"),
        (tmp_path, photos, "model: expected a folder of a model, or its name on the Hub, got "),
    ):
        assert_refused(ValueError, message, sample, SampleOptions(str(model), [str(source)], tmp_path / "a.jsonl"))


def test_code_of_a_model_is_not_run(folder, tmp_path):
    model = save_chat(tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
    (model / "config.json").write_text(json.dumps(config))
    (model / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    options = SampleOptions(str(model), [str(folder / "prompts.jsonl")], tmp_path / "a.jsonl")
    assert_refused(ValueError, ".*models with code of their own are not loaded", sample, options)
    assert not (tmp_path / "ran").exists()


def write(path, *prompts):
    path.write_text("".join(json.dumps({"id": f"q{i}", "prompt": prompt}) + "\n" for i, prompt in enumerate(prompts)))
    return str(path)


@pytest.mark.parametrize("name", ["t1", "beams4"])
@pytest.mark.parametrize("kind", ["gpt2", "chat", "t5"])
def test_a_row_does_not_depend_on_longer_neighbours(folder, kind, name, tmp_path):
    setting = Setting(num_beams=4 if name == "beams4" else None, max_new_tokens=6)
    options = vars(options_for(folder, kind, tmp_path / "1.jsonl", setting=setting))
    options |= {"sources": [write(tmp_path / "asked.jsonl", "dog", "dog " * 30, "a dog runs", "cat " * 13)]}
    alone, together = (
        rows_of(sample(SampleOptions(**{**options, "output": tmp_path / f"{size}.jsonl", "batch_size": size})))
        for size in (1, 2)
    )
    assert alone == together
    if (kind, name) == ("gpt2", "t1"):  # the long one takes 30 of 32 positions
        longest = [max(len(text.split()) for text in row["captions"]) for row in alone]
        assert longest[1] <= 2 < longest[0]


def test_rows_with_and_without_an_image_go_to_one_model(folder, tmp_path):
    options = vars(options_for(folder, "image-chat", tmp_path / "1.jsonl", limit=5))
    options |= {"sources": [write(tmp_path / "asked.jsonl", "dog", "a cat"), str(folder / "photos")]}
    alone, together = (
        rows_of(sample(SampleOptions(**{**options, "output": tmp_path / f"{size}.jsonl", "batch_size": size})))
        for size in (1, 4)
    )
    assert alone == together
    assert len({tuple(row["captions"]) for row in alone}) == 5


def test_a_prompt_has_room_for_an_answer(folder, tmp_path):
    source = [write(tmp_path / "long.jsonl", "dog", "dog " * 40, "cat")]
    options = vars(options_for(folder, "gpt2", tmp_path / "a.jsonl")) | {"sources": source}
    message = ".*prompt[1]: expected fewer tokens than the 32 positions of the model, got 40. Shorten it. --on-error"
    assert_refused(ValueError, message, sample, SampleOptions(**options))
    skipped = rows_of(sample(SampleOptions(**{**options, "on_error": "skip"})))
    assert [row["id"] for row in skipped] == ["q0", "q2"]
    assert "got 40. Shorten it." in (tmp_path / "a.jsonl.errors").read_text()


def test_a_damaged_picture_is_skipped(folder, tmp_path):
    photos = save_pictures(tmp_path / "photos", 4)
    (photos / "1.png").write_bytes((photos / "1.png").read_bytes()[:60])
    options = vars(options_for(folder, "blip", tmp_path / "a.jsonl", on_error="skip")) | {"sources": [str(photos)]}
    rows = rows_of(sample(SampleOptions(**options)))
    assert [row["id"] for row in rows] == ["0.png", "2.png", "3.png"]
    whole = rows_of(sample(options_for(folder, "blip", tmp_path / "b.jsonl")))
    assert rows == [row for row in whole if row["id"] in ("0.png", "2.png", "3.png")]


def without(*endings):
    def change(tensors):
        for name in [name for name in tensors if name.endswith(endings)]:
            del tensors[name]

    return change


def with_other(name):
    return lambda tensors: tensors.update({name: torch.zeros(2, 3)})


def changed_model(folder, kind, target, change):
    """Copy a model with other tensors."""
    options_for(folder, kind, target)
    shutil.copytree(folder / kind, target)
    tensors = safetensors.load_file(target / "model.safetensors")
    change(tensors)
    safetensors.save_file(tensors, target / "model.safetensors", {"format": "pt"})
    return target


@pytest.mark.parametrize(
    ("kind", "change", "got"),
    [
        ("gpt2", without("mlp.c_fc.weight"), "1 missing: .*mlp.c_fc.weight"),
        ("gpt2", with_other("transformer.h.1.ln_1.weight"), "1 unexpected: .*h.1.ln_1.weight"),
        ("t5", without("layer_norm.weight", "wi.weight"), r"\d missing: .*, \.\.\."),
        ("blip", without("patch_embedding.weight"), "1 missing: .*patch_embedding.weight"),
        ("blip", with_other("a.weight"), "1 unexpected: a.weight"),
        ("vision-encoder-decoder", without("crossattention.c_attn.bias"), "1 missing: decoder.*"),
    ],
)
def test_a_model_with_random_or_left_out_layers_is_refused(folder, kind, change, got, tmp_path):
    model = changed_model(folder, kind, tmp_path / "model", change)
    options = vars(options_for(folder, kind, tmp_path / "a.jsonl")) | {"model": str(model)}
    pattern = f"^model '.*model': expected the tensors that config.json asks for, got {got}"
    with pytest.raises(ValueError, match=pattern):
        sample(SampleOptions(**options))


def test_poolers_and_positions_may_differ(folder, tmp_path):
    def change(tensors):
        without("pooler.dense.weight", "pooler.dense.bias")(tensors)
        with_other("encoder.embeddings.position_ids")(tensors)

    model = changed_model(folder, "vision-encoder-decoder", tmp_path / "model", change)
    options = options_for(folder, "vision-encoder-decoder", tmp_path / "a.jsonl")
    sample(SampleOptions(**{**vars(options), "model": str(model)}))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("chat_template.jinja", "{% if %}"),
        ("chat_template.jinja", "{{ raise_exception('no') }}"),
        ("chat_template.jinja", "{{ messages[99].content.parts }}"),
        ("chat_template.jinja", "{{ 1 / 0 }}"),
        ("generation_config.json", "{"),
        ("generation_config.json", "[1]"),
        ("generation_config.json", '{"eos_token_id": "x"}'),
        ("generation_config.json", '{"cache_implementation": "none such"}'),
        ("generation_config.json", '{"bad_words_ids": [["a"]]}'),
        ("tokenizer_config.json", "{"),
        ("config.json", "[]"),
    ],
)
def test_a_broken_file_of_a_model_is_named(folder, tmp_path, capsys, file, content):
    options_for(folder, "chat", tmp_path)
    model = shutil.copytree(folder / "chat", tmp_path / "model")
    (model / file).write_text(content)
    assert main(["sample", str(model), str(folder / "prompts.jsonl"), "-n", "2", "-o", str(tmp_path / "a.jsonl")]) == 1
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert ": expected " in message
    assert "Internal error" not in message


DAMAGED = (
    *(
        "garbage",
        "\x00\x00",
        '{"id": "q1"}',
        '{"id": 1, "captions": ["a"]}',
        '{"id": "q1", "captions": "a"}',
        "[1]",
        "5",
    ),
    *('{"id": "q1", "captions": ["a", 1, "b", "c"]}', '{"id": "q1", "captions": ["a"]}', "[" * 100_000, "", b"\xff"),
)


@pytest.mark.parametrize("line", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_line_of_a_stopped_run_is_named(tmp_path, line):
    file = CaptionsFile(tmp_path / "a.jsonl", {"n": 4})
    with file.open(restart=False):
        file.add(
            [
                (name, list(map(Sample, texts)))
                for name, texts in (("q0", "abcd"), ("q1", ["a\u2028b", "\x85", "c\r", "\x1d"]))
            ]
        )
    with (tmp_path / "a.jsonl.partial").open("ab") as written:
        written.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
    before = (tmp_path / "a.jsonl.partial").read_bytes()
    message = "--output: expected rows of samples in .*a.jsonl.partial', got another line at 3. Delete it, or"
    assert_refused(ValueError, message, file.open(restart=False).__enter__)
    assert (tmp_path / "a.jsonl.partial").read_bytes() == before
    with file.open(restart=True) as finished:
        assert finished == []


@pytest.mark.parametrize("output", [".", "/", "photos"])
def test_an_output_that_is_no_file(folder, monkeypatch, capsys, output):
    monkeypatch.chdir(folder)
    assert main(["sample", "model", "prompts.jsonl", "-o", output]) in (1, 2)
    assert re.match(r".*: expected (the name of a file|a file to write), got ('|a folder)", capsys.readouterr().err)


def test_an_id_or_a_prompt_that_is_no_utf_8(folder, tmp_path, capsys):
    options_for(folder, "gpt2", tmp_path)
    photos = save_pictures(tmp_path / "photos", 1)
    (photos / "0.png").rename(os.fsdecode(os.fsencode(photos) + b"/\xff.png"))
    for source, message in (
        (str(photos), r"\udcff.png: expected an id in UTF-8, got '\udcff.png'. Rename it."),
        (write(tmp_path / "asked.jsonl", "half \ud83d"), r"prompt[0]: expected a prompt in UTF-8, got 'half \ud83d'."),
    ):
        assert main(["sample", str(folder / "gpt2"), source, "-o", str(tmp_path / "a.jsonl")]) == 1
        assert message in capsys.readouterr().err


def test_the_command(folder, tmp_path, capsys):
    options_for(folder, "gpt2", tmp_path)
    line = [str(folder / "gpt2"), str(folder / "prompts.jsonl"), "-n", "2", "--limit", "3", "--max-new-tokens", "3"]
    assert main(["sample", *line, "-o", str(tmp_path / "a.jsonl"), "--temperature", "0.5", "--shard", "2/2"]) == 0
    assert [row["id"] for row in rows_of(tmp_path / "a.jsonl")] == ["q1"]
    assert main(["sample", "model", "-o", "a.jsonl"]) == 1
    assert "source: expected images or prompts after the model 'model', got none" in capsys.readouterr().err
    assert main(["sample", "photos", "-o", "a.jsonl", "--url", "http://localhost:1/v1"]) == 2
    assert "--model: expected the name of a model at the server, got none." in capsys.readouterr().err


# Drawn tokens have the probabilities that were asked for; options of decoding and their messages.

tokenizers = OnFirstUse("tokenizers")
token_choice = OnFirstUse("manycaps.sampling.token_choice")

# Next-token probabilities of the model, whatever came before.
KNOWN = {"a": 0.5, "b": 0.3, "c": 0.2}


@pytest.fixture(scope="module")
def known_model(tmp_path_factory):
    """A GPT-2 whose next token is always a, b or c with known probabilities, and whose own settings would be greedy."""
    folder = tmp_path_factory.mktemp("known")
    words = {"[PAD]": 0, **{word: k + 1 for k, word in enumerate(KNOWN)}}
    kept = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[PAD]"))
    kept.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=kept, pad_token="[PAD]").save_pretrained(folder)
    config = transformers.GPT2Config(
        vocab_size=4, n_embd=2, n_layer=1, n_head=1, n_positions=64, bos_token_id=0, eos_token_id=None, pad_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        # The last state is (1, 0) everywhere, so that the logits are the first column.
        model.transformer.ln_f.bias[0] = 1.0
        model.transformer.wte.weight[:, 0] = torch.tensor([-1e4, *np.log(list(KNOWN.values()))])
    model.generation_config.update(do_sample=True, top_k=1, temperature=0.1, repetition_penalty=2.0)
    model.save_pretrained(folder)
    (folder / "prompts.jsonl").write_text("".join(f'{{"id": "{i}", "prompt": "a b"}}\n' for i in range(10)))
    return folder


def samples_of(model, folder, setting):
    """Tokens of 20 samples for each prompt."""
    setting = Setting(**{**setting.to_dict(), "max_new_tokens": 20})
    path = sample(SampleOptions(str(model), [str(model / "prompts.jsonl")], folder / "a.jsonl", n=20, setting=setting))
    return [text.split() for line in path.read_text().splitlines() for text in json.loads(line)["captions"]]


def probabilities(setting):
    """Probabilities of the three tokens, worked out by hand."""
    p = np.array(list(KNOWN.values())) ** (1 / setting.temperature)
    p /= p.sum()
    if setting.top_k:
        p[setting.top_k :] = 0
    p[np.cumsum(p) - p >= setting.top_p] = 0
    p[p < setting.min_p * p.max()] = 0
    return p / p.sum()


@pytest.mark.parametrize(
    "setting",
    [Setting(0.5), Setting(top_p=0.6), Setting(1.5, top_k=2), Setting(0.5, top_p=0.9), Setting(2.0, min_p=0.7)],
)
def test_frequencies_are_those_of_softmax(known_model, tmp_path, setting):
    counts = collections.Counter(itertools.chain.from_iterable(samples_of(known_model, tmp_path, setting)))
    assert counts.total() == 10 * 20 * 20
    p = probabilities(setting)
    drawn = np.array([counts[word] for word in KNOWN])
    assert (drawn[p == 0] == 0).all()
    assert scipy.stats.chisquare(drawn[p > 0], p[p > 0] * counts.total()).pvalue > 1e-3


def test_samples_are_independent_of_each_other(known_model, tmp_path):
    texts = samples_of(known_model, tmp_path, Setting())
    assert len({tuple(text) for text in texts}) == len(texts)
    # Pairs of steps, and pairs of samples of a row: as often equal as independent ones, 0.25 + 0.09 + 0.04.
    steps = np.mean([text[k] == text[k + 1] for text in texts for k in range(19)])
    samples = np.mean([texts[i][k] == texts[i + 1][k] for i in range(0, len(texts), 2) for k in range(20)])
    assert steps == pytest.approx(0.38, abs=0.03)
    assert samples == pytest.approx(0.38, abs=0.04)


def test_a_token_without_probability_is_never_chosen():
    scores = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]] * 3)
    numbers = np.array([[0.0], [0.5], [np.nextafter(1, 0)]])
    choice = token_choice.SampledTokens(Setting(), numbers, torch.device("cpu"))
    assert choice.choose(None, scores).tolist() == [[1], [3], [3]]
    assert not choice.has_overflowed


def test_probabilities_that_are_no_numbers_are_seen():
    choice = token_choice.SampledTokens(Setting(), np.zeros((1, 1)), torch.device("cpu"))
    choice.choose(None, torch.full((1, 3), torch.nan))
    assert choice.has_overflowed


def test_groups_avoid_what_earlier_ones_chose():
    # The two first tokens are 0.1 apart in log-probability, less than the penalty of 0.5.
    choice = token_choice.DiverseTokens(3, 0.5)
    assert choice.choose(None, torch.tensor([[2.0, 1.9, 0.0]] * 6)).tolist() == [[0], [1], [0]] * 2
    left = choice(None, torch.tensor([[2.0, 1.9, 0.0]] * 3))
    assert left.argmax(dim=-1).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_p": 1}, "--min-p: expected a number from 0 to below 1, got 1. 0 keeps all tokens."),
        ({"greedy": True, "num_beams": 2}, "--greedy: expected one search, got --num-beams as well."),
        ({"greedy": True, "top_k": 5}, "--greedy: expected no sampling option beside a search, got one."),
    ],
)
def test_messages_of_settings(given, message):
    assert_refused(ValueError, message, Setting, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shard": (0, 4)}, "--shard: expected i/n with i from 1 to n, got 0/4. The first is 1/n."),
        ({"setting": Setting(num_beams=3)}, "--num-beams: expected at least 10 for as many samples, got 3."),
        ({"url": "http://localhost", "revision": "v1"}, "--revision: expected none, unless the model is from the Hub,"),
        (
            {"model": ".", "revision": "v1"},
            "--revision: expected none, unless the model is from the Hub, got v1. Leave",
        ),
    ],
)
def test_messages_of_options(tmp_path, given, message):
    given = {"model": "model", "sources": ["photos"], "output": tmp_path / "a.jsonl"} | given
    assert_refused(ValueError, message, lambda: SampleOptions(**given))
