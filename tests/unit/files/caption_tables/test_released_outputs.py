"""Outputs of models as other programs release them, and one table of several systems."""

import pathlib

import pytest

from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.files.caption_tables import caption_lists, good_rows, open_captions, open_source
from tests.refusals import assert_refused
from tests.table_files import WRITERS
from tests.tools import write_jsonl
from tests.user_files import IDS, PEOPLE, SYSTEM

TEXTS = ["a dog runs", "two men cook"]
SETS = [["a dog runs", "a wet dog"], ["two men cook", "men in a kitchen"]]


def openai_batch(texts, number):
    """A line of the output file of OpenAI's Batch API and of `vllm run-batch`."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text, "refusal": None}, "finish_reason": "stop"}
        for i, text in enumerate(texts)
    ]
    body = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": "m",
        "choices": choices,
        "usage": {"total_tokens": 9},
    }
    response = {"status_code": 200, "request_id": f"r{number}", "body": body}
    return {"id": f"batch_req_{number}", "custom_id": f"image-{number}", "response": response, "error": None}


def lmms_eval(texts, number):
    """A line of `samples_coco_cap.jsonl`, which `lmms_eval --log_samples` writes."""
    return {
        "doc_id": number,
        "target": PEOPLE[number],
        "arguments": [["Provide a one-sentence caption.", {"max_new_tokens": 64}]],
        "resps": [[text] for text in texts],
        "filtered_resps": list(texts),
        "doc_hash": "0",
    }


def vllm(texts, number):
    """A `RequestOutput` of vLLM."""
    outputs = [{"index": i, "text": text, "token_ids": [1], "finish_reason": "stop"} for i, text in enumerate(texts)]
    return {"request_id": str(number), "prompt": "Describe.", "outputs": outputs, "finished": True}


def conversation(texts, number):
    """A conversation in OpenAI's form."""
    asked = [{"type": "image_url", "image_url": {"url": "1.jpg"}}, {"type": "text", "text": "Describe."}]
    said = [[{"type": "text", "text": text}] for text in ("Be short.", "Of what?", "Of this.", texts[0])]
    return {
        "id": number,
        "messages": [
            {"role": "system", "content": said[0]},
            {"role": "user", "content": asked},
            {"role": "assistant", "content": said[1]},
            {"role": "user", "content": said[2]},
            {"role": "assistant", "content": said[3]},
        ],
    }


# Makers of a row, whether it holds several captions, and the ids of the first two rows.
RELEASED = {
    "openai_batch": (openai_batch, True, ["image-0", "image-1"]),
    "lmms_eval": (lmms_eval, True, ["0", "1"]),
    "vllm": (vllm, True, ["0", "1"]),
    "conversation": (conversation, False, ["0", "1"]),
    "pipeline": (lambda t, i: {"id": i, "generated_text": [{"generated_text": text} for text in t]}, True, ["0", "1"]),
    **{
        name: (lambda t, i, name=name: {"id": i, "prompt": "Describe.", name: t[0]}, False, ["0", "1"])
        for name in ("output", "generation", "response", "hyp", "hypothesis", "prediction", "generated_text")
    },
    **{
        name: (lambda t, i, name=name: {"id": i, name: list(t)}, True, ["0", "1"])
        for name in ("outputs", "generations", "responses", "hyps", "hypotheses", "predictions", "generated_texts")
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("name", RELEASED)
def test_outputs_are_read_as_they_are_released(name, kind, tmp_path):
    make, are_several, ids = RELEASED[name]
    rows = [make(texts, number) for number, texts in enumerate(SETS)]
    path = tmp_path / f"a.{kind}"
    WRITERS[kind](path, [{key: value for key, value in row.items() if key != "arguments"} for row in rows])
    read = list(good_rows(open_source([str(path)]).rows()))
    expected = SETS if are_several else [[text] for text in TEXTS]
    assert [row.id for row in read] == ids
    assert [row.predictions for row in read] == expected
    if name != "lmms_eval":  # its targets are a second column of captions
        assert list(caption_lists(open_captions([str(path)]))) == expected


def test_targets_beside_outputs_are_references(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [lmms_eval(texts, number) for number, texts in enumerate(SETS)])
    assert [row.references for row in good_rows(open_source([str(path)]).rows())] == PEOPLE[:2]


@pytest.mark.parametrize(
    "change",
    [
        {"response": {"status_code": 500, "body": {"error": {"message": "no"}}}, "error": None},
        {"response": None, "error": {"code": "batch_expired"}},
    ],
    ids=["status", "expired"],
)
def test_a_request_that_failed_has_no_caption(change, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [openai_batch(SETS[0], 0), {**openai_batch(SETS[1], 1), **change}])
    source = open_source([str(path)])
    message = f"{path}, id 'image-1': response[1]: expected captions, got none. "
    assert_refused(ValueError, message, lambda: list(good_rows(source.rows())))


def test_two_columns_of_outputs_are_refused(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "output": "a dog", "generated_text": "a cat"}])
    assert_refused(
        ValueError, f"{path}: expected one column of predictions, got output and generated_text. Choose with --co",
        lambda: open_source([str(path)]),
    )  # fmt: skip


def test_a_number_of_a_row_is_no_id_beside_an_image(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"index": 0, "image": "x.jpg", "caption": "a dog"}])
    assert [row.id for row in good_rows(open_source([str(path)]).rows())] == ["x.jpg"]


@pytest.fixture
def table(tmp_path):
    """Rated outputs as they are released: one table with a row for each system and item."""
    systems = {"theirs": SYSTEM, "ours": [row[::-1] for row in SYSTEM], "3": [[row[0], "a man"] for row in SYSTEM]}
    rows = [
        {"id": name, "system": system if system != "3" else 3, "captions": texts, "references": people, "rating": 1}
        for name, people, *all_texts in zip(IDS, PEOPLE, *systems.values(), strict=True)
        for system, texts in zip(systems, all_texts, strict=True)
    ]
    files = {
        system: write_jsonl(
            tmp_path / f"{system}.jsonl",
            [{"id": n, "captions": t, "references": p} for n, t, p in zip(IDS, texts, PEOPLE, strict=True)],
        )
        for system, texts in systems.items()
    }
    return rows, list(map(str, files.values()))


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
def test_a_table_of_all_systems_is_compared_as_files_of_each(kind, table, tmp_path, undrawn_plots):
    rows, files = table
    path = tmp_path / f"all.{kind}"
    WRITERS[kind](path, [{**row, "system": str(row["system"])} for row in rows] if kind == "parquet" else rows)
    options = {"metrics": ["bleu_rouge"], "distance": "cider", "n_resamples": 99, "baseline": "ours"}
    found = compare(CompareOptions([str(path)], systems_by="system", **options)).to_dict()
    expected = compare(CompareOptions(files, **options)).to_dict()
    assert found["systems"] == expected["systems"]
    assert found["metrics"] == expected["metrics"]
    assert found["human_parity"] == expected["human_parity"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("all.jsonl --systems-by model", "all.jsonl: model[0]: expected the name of a system, got no such column. Na"),
        ("all.jsonl all.jsonl --systems-by system", "--systems-by: expected one table of all systems, got 2 sources. "),
        ("all.jsonl --systems-by system --names a b c", "--names: expected none beside --systems-by, got a, b, c. "),
        ("all.jsonl --systems-by system --baseline x", "--baseline: expected one of 'theirs', 'ours', '3', got 'x'. "),
        ("gaps.jsonl --systems-by system", "gaps.jsonl: system[1]: expected the name of a system, got none (None). "),
        ("short.jsonl --systems-by system", "short.jsonl, system 'ours': expected the rows of short.jsonl, system 'th"),
    ],
)
def test_tables_of_systems_that_are_refused(line, message, table, tmp_path, monkeypatch, capsys):
    rows, _ = table
    monkeypatch.chdir(tmp_path)
    write_jsonl(pathlib.Path("all.jsonl"), rows)
    write_jsonl(pathlib.Path("gaps.jsonl"), [rows[0], {**rows[1], "system": None}])
    write_jsonl(pathlib.Path("short.jsonl"), [*rows[:7], *rows[9:]][:-2])
    assert main(["compare", *line.split(), "--distance", "cider"]) in (1, 2)
    assert capsys.readouterr().err.strip().rpartition("\r")[2].strip().startswith(message)
