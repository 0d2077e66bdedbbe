"""Captions in other languages than English: the rule of all modules that make tokens, and the commands around them."""

import json
import warnings

import pytest

from manycaps import catalog, functional, load
from manycaps.command_line import main
from manycaps.kit.text_cider import document_frequencies
from manycaps.rows import RowsOptions
from manycaps.rows import rows as chosen_rows
from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.modules.conftest import FOLDERS, folder_name
from tests.modules.sample_inputs import load_options

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
WITH_TOKENS = [
    folder for folder in FOLDERS if '"tokenizer": "ptb"' in (folder / f"{folder.name}.py").read_text(encoding="utf-8")
]
WARNING = "^tokenizer: expected captions with spaces between words for 'ptb', got some in a .*'zh-jieba'"


def signs(caption):
    return [sign for sign in caption if sign not in "。！"]


def loaded(folder, **options):
    given = load_options(folder.name)
    if folder.name == "vdtk_concept_overlap":
        given = {"labels": {"people": ["人"]}, "transfer": True}
    if folder.name == "vdtk_leave_one_out":
        given = {"n_iterations": 2, "metrics": ["bleu", "cider_d"]}
    if folder.name == "human_parity":  # sentence embeddings have a tokenizer of their own
        given = {"distance": "cider", "p_value": "none"}
    return evaluate.load(str(folder), **given, details=True, **options)


def values_of(module):
    columns = {name: COLUMNS[name] for name in module.OWN_COLUMNS}
    return module.compute(**columns)


def test_all_modules_that_make_tokens_are_here():
    assert len(WITH_TOKENS) >= 8
    assert {"bleu_rouge", "meteor15", "trm_cider", "set_diversity"} < {folder.name for folder in WITH_TOKENS}


@each_case("folder", WITH_TOKENS, ids=folder_name)
def test_a_name_decides_the_tokens_and_is_in_the_signature(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "predictions, references: .* of an earlier row")
        results = {each: values_of(loaded(folder, tokenizer=each)) for each in ("char-caption", "zh-jieba")}
        by_function = values_of(loaded(folder, tokenizer=signs))
    assert "|tokenizer:zh-jieba/jieba-" in results["zh-jieba"].pop("signature")
    assert "|tokenizer:char-caption" in results["char-caption"].pop("signature")
    del by_function["signature"]
    assert json.dumps(results["char-caption"]) == json.dumps(by_function)
    # METEOR 1.5 makes a word of every letter that is neither Latin nor Cyrillic, whatever tokens it is given.
    assert (json.dumps(results["char-caption"]) == json.dumps(results["zh-jieba"])) == (folder.name == "meteor15")


@each_case("folder", WITH_TOKENS, ids=folder_name)
def test_the_default_warns_of_a_script_without_blanks(folder):
    with pytest.warns(UserWarning, match=WARNING):
        values_of(loaded(folder))


def test_cider_depends_on_the_tokenizer():
    """Twice as much for one as for the other: why none is chosen for the user."""
    rows = [[functional.tokenize(row, name) for row in CHINESE] for name in ("char", "zh-jieba")]
    by_character, by_word = (
        functional.cider_d([row[:1] for row in tokens], [row[1:] for row in tokens]).mean() for tokens in rows
    )
    assert by_character > 1.5 * by_word > 0


def test_document_frequencies_and_diversity_by_name(tmp_path):
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps({"references": row}) + "\n" for row in CHINESE), encoding="utf-8")
    table, figures = tmp_path / "table.json", tmp_path / "figures.json"
    assert main(["count-document-frequency", str(lines), "--output", str(table), "--tokenizer", "zh-jieba"]) == 0
    counted = json.loads(table.read_text())["document_frequency"]
    assert counted["公园"] == 2
    assert not any("在公园里踢足球" in ngram for ngram in counted)
    arguments = ["--json", str(figures), "--output", str(tmp_path / "page.html"), "--tokenizer", "char"]
    assert main(["diversity", str(lines), *arguments]) == 0
    [measured] = json.loads(figures.read_text()).values()
    assert measured["n_tokens"] == sum(len(caption) for row in CHINESE for caption in row)


def test_core_sets_and_splits_by_name(tmp_path):
    """Signs are words: captions of one sign in common cover each other, and lengths are numbers of signs."""
    lines, core, splits = (tmp_path / name for name in ("rows.jsonl", "core.json", "splits.jsonl"))
    rows = [{"id": str(i), "references": row} for i, row in enumerate(COLUMNS["references"])]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = [str(lines), "--test", str(lines), "--metric", "bleu_1", "--thresholds", "0.2", "-o", str(core)]
    found = {}
    for name in ("char-caption", "none"):
        assert main(["core-set", *arguments, "--tokenizer", name]) == 0
        found[name] = json.loads(core.read_text(encoding="utf-8"))
    assert found["char-caption"]["tokenizer"].startswith("char-caption")
    assert found["char-caption"]["curve"][0]["n_captions"] < found["none"]["curve"][0]["n_captions"] == len(rows)
    by_length = ["splits", str(lines), "--by", "length", "--test", "0.4", "-o", str(splits)]
    assert main([*by_length, "--tokenizer", "char-caption"]) == 0
    lengths = [json.loads(line)["length"] for line in splits.read_text(encoding="utf-8").splitlines()]
    assert lengths == [sum(len(signs(text)) for text in row) / len(row) for row in COLUMNS["references"]]
    labels = tmp_path / "labels.txt"
    labels.write_text("狗\n孩子\n老人\n", encoding="utf-8")
    by_concept = [str(lines), "--by", "concept", "--labels", str(labels), "--test", "0.4", "-o", str(splits)]
    assert main(["splits", *by_concept, "--tokenizer", "zh-jieba"]) == 0
    concepts = [json.loads(line)["concept"] for line in splits.read_text(encoding="utf-8").splitlines()]
    assert concepts == ["狗", "孩子", "老人"]


@each_case(
    "command",
    [
        ["count-document-frequency"],
        ["diversity"],
        ["rows"],
        ["core-set", "--test", "rows.jsonl", "--metric", "bleu_1"],
        ["splits", "--by", "length", "--test", "0.4"],
    ],
    ids=lambda command: command[0],
)
def test_other_names_are_refused_by_all_commands(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"references": CHINESE[0]}) + "\n", encoding="utf-8")
    assert main([command[0], "rows.jsonl", *command[1:], "--output", "no", "--tokenizer", "pbt"]) == 1
    assert "tokenizer: expected one of 'ptb', 'none', 'char'," in capsys.readouterr().err


def test_rows_by_name(tmp_path):
    """Signs that two captions share make them near and alike; the PTB tokenizer takes each for a word of its own."""
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps({"references": row}) + "\n" for row in CHINESE), encoding="utf-8")
    shown = {}
    for name in ("char", "none"):
        options = RowsOptions([str(lines)], choose="first", tokenizer=name)
        shown[name] = [row["people"] for row in chosen_rows(options).to_dict()["rows"]]
    expected = functional.rouge_l([[signs(CHINESE[0][1])]], [[signs(CHINESE[0][0])]])[0]
    [found] = [each["score"] for each in shown["char"][0] if each["text"] == CHINESE[0][1]]
    assert found == expected > 0
    assert {each["score"] for row in shown["none"] for each in row} == {0}


def test_sets_of_systems_have_the_document_frequencies_of_their_tokenizer(tmp_path, capsys):
    for name, captions in (("first", CHINESE), ("second", [row[::-1] + row[:1] for row in CHINESE])):
        rows = [{"id": i, "captions": row} for i, row in enumerate(captions)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    people = [{"id": i, "captions": row} for i, row in enumerate(COLUMNS["references"])]
    (tmp_path / "people.json").write_text(json.dumps(people), encoding="utf-8")
    systems = [str(tmp_path / f"{name}.json") for name in ("first", "second")]
    arguments = ["-r", str(tmp_path / "people.json"), "-m", "trm_cider", "--tokenizer", "zh-jieba", "-f", "json"]
    arguments += ["--full", "--distance", "cider"]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "tokenizer: ")
        assert main(["compare", *systems, *arguments, "-o", str(tmp_path / "report")]) == 0
    [found] = json.loads(capsys.readouterr().out)["exchangeable"]
    people = [functional.tokenize(row, "zh-jieba") for row in COLUMNS["references"]]
    expected = load("trm_cider", tokenizer="zh-jieba").compute(
        predictions=[row[::-1] + row[:1] for row in CHINESE],
        references=CHINESE,
        document_frequency={"n_documents": len(people), "document_frequency": dict(document_frequencies(people))},
    )
    assert found["statistic"] == expected["trm_cider"]


@pytest.mark.parametrize("name", ["trm_meteor", "meteor15", "trm_cider", "bleu_rouge", "coco_caption"])
def test_compare_hands_the_tokenizer_on(name):
    assert "tokenizer" in catalog.MODULES[name].compare_options
