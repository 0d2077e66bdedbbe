"""Drawn tokens have the probabilities that were asked for; options of decoding and their messages."""

import collections
import itertools
import json

import numpy as np
import pytest
import scipy.stats

from manycaps.sampling import SampleOptions, sample
from manycaps.sampling.decoding_setting import Setting
from tests.each_case import each_case
from tests.large_packages import OnFirstUse, torch, transformers
from tests.refusals import assert_refused

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
    (folder / "prompts.jsonl").write_text("".join(f'{{"id": "{i}", "prompt": "a b"}}\n' for i in range(30)))
    return folder


def samples_of(model, folder, setting):
    """Tokens of 20 samples for each prompt."""
    setting = Setting(**{**setting.to_dict(), "max_new_tokens": 20})
    path = sample(SampleOptions(str(model), [str(model / "prompts.jsonl")], folder / "a.jsonl", n=20, setting=setting))
    return [text.split() for line in path.read_text().splitlines() for text in json.loads(line)["captions"]]


def expected(setting):
    """Probabilities of the three tokens, worked out by hand."""
    p = np.array(list(KNOWN.values())) ** (1 / setting.temperature)
    p /= p.sum()
    if setting.top_k:
        p[setting.top_k :] = 0
    p[np.cumsum(p) - p >= setting.top_p] = 0
    p[p < setting.min_p * p.max()] = 0
    return p / p.sum()


@each_case(
    "setting",
    [Setting(0.5), Setting(top_p=0.6), Setting(1.5, top_k=2), Setting(0.5, top_p=0.9), Setting(2.0, min_p=0.7)],
)
def test_frequencies_are_those_of_softmax(known_model, tmp_path, setting):
    counts = collections.Counter(itertools.chain.from_iterable(samples_of(known_model, tmp_path, setting)))
    assert counts.total() == 30 * 20 * 20
    p = expected(setting)
    drawn = np.array([counts[word] for word in KNOWN])
    assert (drawn[p == 0] == 0).all()
    assert scipy.stats.chisquare(drawn[p > 0], p[p > 0] * counts.total()).pvalue > 1e-3


def test_samples_are_independent_of_each_other(known_model, tmp_path):
    texts = samples_of(known_model, tmp_path, Setting())
    assert len({tuple(text) for text in texts}) == len(texts)
    # Pairs of steps, and pairs of samples of a row: as often equal as independent ones, 0.25 + 0.09 + 0.04.
    steps = np.mean([text[k] == text[k + 1] for text in texts for k in range(19)])
    samples = np.mean([texts[i][k] == texts[i + 1][k] for i in range(0, len(texts), 2) for k in range(20)])
    assert steps == pytest.approx(0.38, abs=0.02)
    assert samples == pytest.approx(0.38, abs=0.025)


def test_a_token_without_probability_is_never_chosen():
    scores = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]] * 3)
    numbers = np.array([[0.0], [0.5], [np.nextafter(1, 0)]])
    choice = token_choice.SampledTokens(Setting(), numbers, torch.device("cpu"))
    assert choice.chosen(None, scores).tolist() == [[1], [3], [3]]
    assert not choice.has_overflowed


def test_probabilities_that_are_no_numbers_are_seen():
    choice = token_choice.SampledTokens(Setting(), np.zeros((1, 1)), torch.device("cpu"))
    choice.chosen(None, torch.full((1, 3), torch.nan))
    assert choice.has_overflowed


def test_groups_avoid_what_earlier_ones_chose():
    # The two first tokens are 0.1 apart in log-probability, less than the penalty of 0.5.
    choice = token_choice.DiverseTokens(3, 0.5)
    assert choice.chosen(None, torch.tensor([[2.0, 1.9, 0.0]] * 6)).tolist() == [[0], [1], [0]] * 2
    left = choice(None, torch.tensor([[2.0, 1.9, 0.0]] * 3))
    assert left.argmax(dim=-1).tolist() == [0, 1, 0]


@each_case(
    ("given", "message"),
    [
        ({"min_p": 1}, "--min-p: expected a number from 0 to below 1, got 1. 0 keeps all tokens."),
        ({"greedy": True, "num_beams": 2}, "--greedy: expected one search, got --num-beams as well."),
        ({"greedy": True, "top_k": 5}, "--greedy: expected no sampling option beside a search, got one."),
    ],
)
def test_messages_of_settings(given, message):
    assert_refused(ValueError, message, Setting, **given)


@each_case(
    ("given", "message"),
    [
        ({"n": 0}, "-n: expected a whole number of at least 1, got 0."),
        ({"dtype": "int8"}, "--dtype: expected one of 'float32', 'bfloat16', 'float16', got 'int8'."),
        ({"shard": (0, 4)}, "--shard: expected i/n with i from 1 to n, got 0/4. The first is 1/n."),
        ({"setting": Setting(num_beams=3)}, "--num-beams: expected at least 10 for as many samples, got 3."),
    ],
)
def test_messages_of_options(tmp_path, given, message):
    assert_refused(ValueError, message, SampleOptions, "model", ["photos"], tmp_path / "a.jsonl", **given)
