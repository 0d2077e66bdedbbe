"""Signs of a decoder in most candidates and no reference: one warning at every door, which names sign and number."""

import json
import warnings

import pytest

from manycaps import functional, load_sample
from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import main
from manycaps.integrations import coco
from manycaps.kit.rows import DecoderSigns, warn_of_decoder_signs
from manycaps.rewards import BleuReward
from tests.tools import write_jsonl

pytestmark = pytest.mark.usefixtures("undrawn_plots")

CAPTIONS = [["a dog runs", "the dog plays"], ["two men walk", "men in the street"], ["a cat sits", "a red cat"]]
SIGNED = [[f"{caption}</s>" for caption in row] for row in CAPTIONS]
WARNING = r"6 of 6 captions hold signs of a decoder, such as '</s>', and no reference does"

# What is left in a caption, the sign that is named, and how the remedy begins.
SIGNS = {
    "end": ("{} </s>", "</s>", "Decode with skip_special_tokens=True."),
    "chat": ("{}<|im_end|>", "<|im_end|>", "Decode with"),
    "DeepSeek": ("{}<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "Decode with"),
    "padding": ("{} [PAD] [PAD]", "[PAD]", "Decode with"),
    "padding of T5": ("<pad> {}", "<pad>", "Decode with"),
    "captioner": ("<start> {} <end>", "<end>", "Decode with"),
    "Keras": ("startseq {} endseq", "endseq", "Decode with"),
    "thoughts": ("<think>\nHm\n</think>\n\n{}", "</think>", "Leave out what the model thinks"),
    "end of thoughts": ("Hm</think> {}", "</think>", "Leave out"),
    "Kimi": ("◁think▷Hm◁/think▷{}", "◁/think▷", "Leave out"),
    "WordPiece": ("{} play ##ing", "##", "Join the pieces"),
    "SentencePiece": ("▁{}", "▁", "Join the pieces"),
    "bytes": ("Ġ{}", "Ġ", "Join the pieces"),
    "subwords": ("pl@@ aying {}", "@@", "Join the pieces"),
}


def signs_in(warned):
    return [str(warning.message) for warning in warned if "signs of a decoder" in str(warning.message)]


@pytest.mark.parametrize("name", SIGNS)
def test_signs_that_are_named(name):
    layout, sign, remedy = SIGNS[name]
    with pytest.warns(UserWarning, match="signs of a decoder") as warned:
        warn_of_decoder_signs([[layout.format(caption) for caption in row] for row in CAPTIONS], CAPTIONS)
    (message,) = signs_in(warned)
    start = (
        f"predictions: 6 of 6 captions hold signs of a decoder, such as {sign!r}, and no reference does. They count as"
    )
    assert message.startswith(start)
    assert f". {remedy}" in message


@pytest.mark.parametrize(
    "caption",
    [
        "a < b > c",
        "I <3 dogs",
        "#1 of 2 ## dogs",
        "[laughs] a man",
        "mail a@@b.c",
        "a consequence",
        "(pad)",
        "<a> dog",
        "s/he",
    ],
)
def test_other_texts_have_none(caption):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_decoder_signs([[caption]])


def test_half_of_the_captions_or_one_reference_is_no_sign_of_a_decoder():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_decoder_signs([["a dog</s>", "a dog"]] * 2, CAPTIONS)
        warn_of_decoder_signs(SIGNED, [*CAPTIONS[:2], ["a cat", "a cat [PAD]"]])


def test_parts_are_counted_together():
    whole, parts = DecoderSigns(), DecoderSigns()
    for row in SIGNED:
        part = DecoderSigns()
        for counted in (whole, part):
            counted.add(row, ["a <unk>"])
        parts.include(**json.loads(json.dumps(part.counts())))
    assert vars(parts) == vars(whole)
    assert (whole.n_signed, whole.n_signed_references) == (6, 3)


OPTIONS = {
    "human_parity": {"distance": "meteor"},
    "set_diversity": {"kernels": ("ngram",)},
    "vdtk_leave_one_out": {"metrics": ("bleu_4",), "n_iterations": 2},
    "trm": {"distance": lambda first, second: [abs(len(x) - len(y)) for x, y in zip(first, second, strict=True)]},
}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "bleu_rouge",
            "cider_d",
            "meteor15",
            "coco_caption",
            "chair",
            "wording",
            "novelty",
            "trm_meteor",
            "trm_cider",
        ),
        *("human_parity", "set_diversity", "trm", "vdtk_diversity"),
    ],
)
def test_modules_warn_once(name):
    module = load(name, **OPTIONS.get(name, {}))
    given = {"predictions": SIGNED, "references": CAPTIONS}
    given = {"data": SIGNED} if "data" in MODULES[name].columns else given
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        module.compute(**given)
    (message,) = signs_in(warned)
    assert message.startswith(f"{'data' if 'data' in given else 'predictions'}: 6 of 6 captions hold signs")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        module.compute(**dict.fromkeys(given, SIGNED if "references" in given else CAPTIONS))
    assert not signs_in(warned)


def test_scores_of_the_sample_fall_and_the_warning_says_why():
    rows = load_sample()
    predictions = [[caption + "<|im_end|>" for caption in row] for row in rows["diverse"]]
    with pytest.warns(
        UserWarning, match=r"^predictions: (\d+) of \1 captions hold signs of a decoder, such as '<\|im_end"
    ):
        load("cider_d").compute(predictions=predictions, references=rows["references"])


@pytest.mark.parametrize("name", ["bleu", "cider_d", "corpus_bleu", "meteor15", "rouge_l", "human_wording", "novelty"])
@pytest.mark.parametrize("layout", ["{}</s>", "{} [PAD]", "{}<|im_end|>", "<think>Hm</think>{}"])
def test_plain_functions_warn_of_tokens(name, layout):
    sides = [[functional.ptb_tokenize(row) for row in rows] for rows in (CAPTIONS, CAPTIONS)]
    sides[0] = [functional.ptb_tokenize(list(map(layout.format, row))) for row in CAPTIONS]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        getattr(functional, name)(*sides)
    (message,) = signs_in(warned)
    assert message.partition(": ")[2].startswith("6 of 6 captions hold signs of a decoder")


def test_chair_warns_too():
    with pytest.warns(UserWarning, match=f"^candidates: {WARNING}"):
        functional.chair(SIGNED, CAPTIONS)


def test_a_reward_warns_once():
    reward = BleuReward()
    with pytest.warns(UserWarning, match=f"^completions: {WARNING}"):
        reward(SIGNED, CAPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reward(SIGNED, CAPTIONS)


def test_scorers_of_coco_warn():
    gts, res = ({i: [row[0]] for i, row in enumerate(rows)} for rows in (CAPTIONS, SIGNED))
    with pytest.warns(UserWarning, match=r"^res: 3 of 3 captions hold signs of a decoder, such as '</s>'"):
        coco.Rouge().compute_score(gts, res)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", "score", "rows", "plan", "diversity", "decoding"])
@pytest.mark.parametrize("is_joined", [False, True], ids=["one file", "references apart"])
def test_commands_warn_once(command, is_joined, tmp_path, capsys):
    numbered = [[[f"{i} {text}" for text in row] for i, row in enumerate(rows * 8)] for rows in (SIGNED, CAPTIONS)]
    rows = list(enumerate(zip(*numbered, strict=True)))  # no two rows are of one image
    lines = [
        {"id": str(i), "predictions": mine} | ({} if is_joined else {"references": people})
        for i, (mine, people) in rows
    ]
    people = [{"id": str(i), "references": people} for i, (_, people) in rows]
    mine, references = (str(write_jsonl(tmp_path / f"{i}.jsonl", each)) for i, each in enumerate((lines, people)))
    apart = ["-r", references] if is_joined else []
    typed = {
        "compare": ["compare", mine, *apart, "--distance", "meteor", "-m", "bleu_rouge", "-o", str(tmp_path / "c")],
        "score": ["score", "-i", mine, *apart, "-m", "bleu_rouge,cider_d", "-o", str(tmp_path / "scores")],
        "rows": ["rows", mine, *apart, "--output", str(tmp_path / "a.html")],
        "plan": ["plan", mine, *apart, "--distance", "meteor"],
        "diversity": ["diversity", mine, "--column", "predictions", "--output", str(tmp_path / "b.html")],
        "decoding": [
            "decoding",
            mine,
            mine.replace("0.jsonl", "2.jsonl"),
            *(apart or ["-r", references]),
            "-o",
            str(tmp_path / "d"),
        ],
    }[command]
    if command == "decoding":
        write_jsonl(tmp_path / "2.jsonl", lines)
    assert not main(typed)
    captured = capsys.readouterr()
    said = " ".join((captured.out + captured.err).split())
    assert said.count("signs of a decoder") == (2 if command == "decoding" else 1)
    assert "48 of 48 captions hold signs of a decoder, such as '</s>', and no reference does" in said
