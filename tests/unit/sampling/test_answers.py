"""What of a model's answer is the caption: no thoughts; answers that were cut, and blanks of WordPiece."""

import json
import types

import pytest

from manycaps.files.sampling_settings import sampling_settings
from manycaps.sampling import sample
from manycaps.sampling.answers import without_thoughts
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.generation import are_cut, decoded_texts
from manycaps.sampling.same_meaning import SameMeaning
from manycaps.sampling.sample_options import SampleOptions
from tests.large_packages import OnFirstUse, torch, transformers
from tests.refusals import assert_refused
from tests.tiny_models import save_causal, save_encoder_decoder, save_prompts
from tests.unit.sampling.test_server import completion, options_for, rows_of, serve

tokenizers = OnFirstUse("tokenizers")


@pytest.mark.parametrize(
    ("answer", "caption"),
    [
        ("<think>\nA dog? Yes.\n</think>\n\nA dog runs.", "A dog runs."),
        ("A dog? Yes.\n</think>\n\nA dog runs.", "A dog runs."),
        ("<think>A dog? It may", ""),
        ("<think></think>\n\nA dog runs.", "A dog runs."),
        ("<Thinking>Hm</Thinking> A dog runs.", "A dog runs."),
        ("<reasoning>Hm <think>so</think></reasoning><answer>A dog runs.</answer>", "A dog runs."),
        ("[THINK]Hm[/THINK]A dog runs.", "A dog runs."),
        ("◁think▷Hm◁/think▷A dog runs.", "A dog runs."),
        (
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>A dog runs.",
            "A dog runs.",
        ),
        ("<|begin_of_thought|>Hm<|end_of_thought|> <|begin_of_solution|>A dog runs.<|end_of_solution|>", "A dog runs."),
        ("<think>a</think>A dog <think>b</think>runs.", "A dog runs."),
        ("A dog runs.<think>Was it a", "A dog runs."),
    ],
)
def test_thoughts_are_left_out(answer, caption):
    assert without_thoughts(answer) == (caption, True)


@pytest.mark.parametrize("answer", ["A dog runs.", "I think a dog runs", "a < b > c", "analysis of a dog", ""])
def test_other_answers_stay(answer):
    assert without_thoughts(answer) == (answer, False)


def with_reason(*choices):
    made = [
        {"message": {"role": "assistant", "content": text, "reasoning_content": "Hm"}, "finish_reason": reason}
        for text, reason in choices
    ]
    return 200, "application/json", json.dumps({"choices": made})


def test_thoughts_and_cut_answers_of_a_server_are_told_and_counted(tmp_path, capsys):
    def answer(body, _):
        texts = ("<think>Hm</think>A dog", "stop"), ("A dog runs in the", "length"), ("A cat", "stop")
        return with_reason(*texts[: body.get("n", 1)])

    with serve(answer) as server:
        rows = rows_of(options_for(server.url, tmp_path))
    assert [row["captions"] for row in rows] == [["A dog", "A dog runs in the", "A cat"]] * 4
    said = capsys.readouterr().err
    assert "a.jsonl: thoughts of the model are left out of 4 of 12 samples\n" in said
    assert "a.jsonl: 4 of 12 samples were cut at 64 tokens (--max-new-tokens), before the model ended\n" in said
    manifest = json.loads((tmp_path / "a.jsonl.settings").read_text())
    assert manifest["counts"] == {"n_samples": 12, "n_empty": 0, "n_cut": 4, "n_with_thoughts": 4}
    assert "counts" not in sampling_settings(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("text", [None, "<think>Hm, a dog", "Hm</think>"], ids=["apart", "unclosed", "nothing behind"])
def test_a_row_whose_tokens_all_went_to_thoughts_names_the_option(text, tmp_path):
    with serve(lambda body, _: with_reason(*[(text, "length")] * body.get("n", 1))) as server:
        message = (
            "--max-new-tokens: expected enough tokens for the thoughts of the model and an answer for 'q0', got 64, "
            "all of which went to thoughts. Give more, or ask the model not to think."
        )
        assert_refused(ValueError, message, sample, options_for(server.url, tmp_path))


def test_a_sample_that_is_all_thoughts_is_a_full_stop_beside_others(tmp_path, capsys):
    def answer(body, _):
        return with_reason(*(("A dog", "stop"), (None, "length"), ("", "length"))[: body.get("n", 1)])

    with serve(answer) as server:
        rows = rows_of(options_for(server.url, tmp_path))
    assert [row["captions"] for row in rows] == [["A dog", ".", "."]] * 4
    assert "8 of 12 samples were cut" in capsys.readouterr().err


def test_counts_of_a_stopped_run_go_on(tmp_path):
    def answer(body, _):
        if "q2" in json.dumps(body) and not answer.is_up:
            return 500, "text/plain", "down"
        return with_reason(*[("A dog runs in", "length")] * body.get("n", 1))

    answer.is_up = False
    with serve(answer) as server:
        prompts = tmp_path / "p.jsonl"
        prompts.write_text("".join(json.dumps({"id": f"q{i}", "prompt": f"q{i}"}) + "\n" for i in range(4)))
        options = options_for(server.url, tmp_path, retries=0, concurrency=1)
        options = SampleOptions(**{**vars(options), "sources": [str(prompts)]})
        with pytest.raises(ValueError, match="--url"):
            sample(options)
        answer.is_up = True
        sample(options)
    assert json.loads((tmp_path / "a.jsonl.settings").read_text())["counts"]["n_cut"] == 12


def test_a_judge_may_think_before_it_answers(tmp_path):
    with serve(lambda *_: completion("<think>no? yes?</think> Yes.")) as server:
        assert SameMeaning(url=server.url, model="m", cache=tmp_path / "cache.jsonl")("a dog", "dogs")


# Models of transformers.


@pytest.mark.parametrize("save", [save_causal, save_encoder_decoder], ids=["causal", "encoder-decoder"])
def test_cut_answers_of_a_local_model_are_counted(save, tmp_path, capsys):
    save(tmp_path / "model")
    save_prompts(tmp_path / "p.jsonl", 3)
    counts = []
    for k, n_tokens in enumerate((2, 20)):
        given = {"n": 10, "setting": Setting(max_new_tokens=n_tokens), "device": "cpu"}
        sample(SampleOptions(str(tmp_path / "model"), [str(tmp_path / "p.jsonl")], tmp_path / f"{k}.jsonl", **given))
        counts.append(json.loads((tmp_path / f"{k}.jsonl.settings").read_text())["counts"])
    assert counts[0]["n_samples"] == counts[1]["n_samples"] == 30
    assert 30 >= counts[0]["n_cut"] > counts[1]["n_cut"]
    assert f"{counts[0]['n_cut']} of 30 samples were cut at 2 tokens (--max-new-tokens)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ends", "is_encoder_decoder", "expected"),
    [
        (2, False, [False, False, True]),
        ([2, 5], False, [False, False, False]),
        (None, False, [True] * 3),
        (2, True, [True, False, True]),
    ],
)
def test_which_texts_of_tokens_are_cut(ends, is_encoder_decoder, expected):
    model = types.SimpleNamespace(
        generation_config=types.SimpleNamespace(eos_token_id=ends),
        config=types.SimpleNamespace(is_encoder_decoder=is_encoder_decoder),
    )
    assert are_cut(model, torch.tensor([[2, 7, 7, 7], [2, 7, 2, 0], [7, 5, 7, 7]])) == expected


def word_tokenizer(*words, decoder=None, special=()):
    names = ["[PAD]", "[UNK]", *special, *words]
    kept = tokenizers.Tokenizer(tokenizers.models.WordLevel({name: i for i, name in enumerate(names)}, "[UNK]"))
    kept.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    if decoder is not None:
        kept.decoder = decoder
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=kept, pad_token="[PAD]", unk_token="[UNK]", clean_up_tokenization_spaces=False
    )
    made.add_tokens([tokenizers.AddedToken(name, special=True) for name in special])
    return made


def test_blanks_of_word_pieces_are_cleaned_up_and_others_stay():
    words = "a dog ' s toy , isn t it ?".split()
    numbers = [list(range(2, 2 + len(words)))]
    piece = tokenizers.decoders.WordPiece(prefix="##", cleanup=True)
    assert decoded_texts(word_tokenizer(*words, decoder=piece), numbers) == ["a dog's toy, isn t it?"]
    assert decoded_texts(word_tokenizer(*words), torch.tensor(numbers)) == ["a dog ' s toy , isn t it ?"]


def test_thoughts_between_special_tokens_are_left_out():
    made = word_tokenizer("a", "dog", "hm", special=("[THINK]", "[/THINK]"))
    start, end, a, dog, hm = (made.convert_tokens_to_ids(name) for name in ("[THINK]", "[/THINK]", "a", "dog", "hm"))
    rows = [[start, hm, end, a, dog], [hm, end, a, 0, 0], [a, start, hm, hm, hm], [a, dog, 0, 0, 0]]
    assert decoded_texts(made, torch.tensor(rows)) == ["a dog", "a", "a", "a dog"]
