"""Layouts in which people keep captions, in every command that reads captions: read right, or refused clearly."""

import contextlib
import csv
import functools
import gzip
import html
import io
import json
import re
import shutil
import tracemalloc
import warnings

import numpy as np
import pytest

from manycaps import load
from manycaps.commands.command_line import main
from manycaps.comparison.read import read_systems
from manycaps.diversity.measured import MeasuredDiversity
from manycaps.files.caption_tables import BadRow, caption_lists, columns, good_rows, open_captions, open_source
from manycaps.files.caption_tables import json_records as json_layouts
from manycaps.files.caption_tables.files import Unreadable, table_files, whole
from manycaps.files.caption_tables.json_records import json_records
from manycaps.files.caption_tables.source import file_pieces
from manycaps.files.caption_tables.text_records import text_pieces, text_records
from manycaps.integrations.coco import evaluation
from manycaps.integrations.coco.evaluation import CaptionFile
from manycaps.integrations.coco.scorers import Rouge
from manycaps.kit.concept_overlap import load_labels
from tests.refusals import assert_refused
from tests.table_files import WRITERS
from tests.user_files import IDS, N_CAPTIONS, PEOPLE, SYSTEM, faults, people_and_system, write_lines, write_table

pytestmark = pytest.mark.usefixtures("undrawn_plots")


def read(*arguments, **options):
    return list(good_rows(open_source(*arguments, **options).rows()))


def test_numbered_columns_of_both_sides_are_read(tmp_path):
    header = ["id", "prediction_1", "prediction_2", "reference1", "reference2", "reference10"]
    path = write_table(tmp_path / "both.csv", header, [["1", "a", "b", "c", "d", "e"], ["2", "f", "", "g", "", "h"]])
    with pytest.warns(UserWarning, match="is empty") as caught:
        rows = read([path])
    assert [(row.predictions, row.references) for row in rows] == [(["a", "b"], ["c", "d", "e"]), (["f"], ["g", "h"])]
    assert [str(each.message) for each in caught] == [
        f"{path}: 1 of 4 captions is empty, in 1 row, and left out.",
        f"{path}: 1 of 6 captions is empty, in 1 row, and left out.",
    ]
    assert [row.predictions for row in read([path], columns={"predictions": "prediction_1"})] == [["a"], ["f"]]


@pytest.mark.parametrize(
    "cell",
    ["['a dog', 'a cat'", "['a dog', nan]", '["a dog", 3]', "[['a dog'], ['a cat']]", "['a dog', a cat']", "['\\x']"],
)
def test_a_cell_that_looks_like_a_list_and_is_none_is_refused(cell, tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "captions"], [["1", "['a dog' 'a cat']"], ["2", cell]])
    with pytest.raises(ValueError, match="looks like a list") as raised, pytest.warns(UserWarning, match="cells hold"):
        read([path])
    assert str(raised.value).startswith(f"{path}, id '2': captions[1]: expected a caption or a list of captions, got ")
    assert str(raised.value).endswith(
        'which looks like a list and cannot be read as one. Write it as JSON, ["a dog", "a cat"], or leave the row out.'
    )


@pytest.mark.parametrize("cell", ["[music] plays", "[inaudible]", "a 'dog' and a [cat]", "[0.5, 1]"])
def test_a_caption_with_brackets_stays_a_caption(cell, tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "captions"], [["1", cell]])
    assert [row.predictions for row in read([path])] == [[cell]]


def test_columns_are_named_for_all_files_or_for_one(tmp_path):
    ours = write_table(tmp_path / "ours.csv", ["clip", "answer"], [["1", "a dog"]])
    theirs = write_table(tmp_path / "theirs.csv", ["name", "answer"], [["1", "a cat"]])
    chosen = columns.parse_columns(f"id=clip,predictions=answer,{theirs}:references=answer,{theirs}:id=name")
    assert [(row.predictions, row.references) for row in read([ours], [theirs], chosen)] == [(["a dog"], ["a cat"])]
    with pytest.raises(
        ValueError, match=r"^--columns: expected one of the files .*ours.csv before the colon, got 'x.csv'\. "
    ):
        open_source([ours], columns={"x.csv": {"id": "clip"}})


@pytest.mark.parametrize(
    "line",
    [
        "rows empties.jsonl -r people.jsonl --metric rouge_l -o rows.html",
        "splits empties.jsonl --by length -o splits.jsonl",
        "core-set empties.jsonl --test people.jsonl -o core.json",
        "plan empties.jsonl -r people.jsonl --distance cider",
    ],
)
def test_commands_count_empty_captions(line, tmp_path, monkeypatch, capsys):
    faults(tmp_path)
    people_and_system(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 0, capsys.readouterr().err
    said = f": 6 of {N_CAPTIONS * len(SYSTEM)} captions are empty, in 3 rows."
    assert capsys.readouterr().err.count(said) == 1


@pytest.mark.parametrize(
    "line",
    [
        "rows odd.jsonl -r people.jsonl --metric rouge_l -o rows.html",
        "splits odd.jsonl --by length -o splits.jsonl",
        "core-set odd.jsonl --test people.jsonl -o core.json",
        "compare odd.jsonl -r people.jsonl --distance cider -m bleu_rouge",
    ],
)
def test_captions_without_a_token_are_those_of_the_tokenizer_that_is_given(line, tmp_path, monkeypatch, capsys):
    odd = [["!", "...", *row[2:]] for row in SYSTEM[:3]] + SYSTEM[3:]
    for name, rows in (("odd", odd), ("people", PEOPLE)):
        write_lines(tmp_path / f"{name}.jsonl", rows, IDS)
    monkeypatch.chdir(tmp_path)
    for tokenizer, is_empty in (("ptb", True), ("none", False)):
        overwrite = ["--overwrite"] if line.startswith("compare") else []
        given = ["--option", f"tokenizer={tokenizer}"] if overwrite else ["--tokenizer", tokenizer]
        assert main([*line.split(), *given, *overwrite]) == 0, capsys.readouterr().err
        printed = capsys.readouterr()
        text = " ".join((printed.err + printed.out).split())
        assert ("(6 of them have characters, but no token)" in text) == is_empty


def test_empty_captions_are_counted_by_files_and_modules(tmp_path):
    message = f"6 of {N_CAPTIONS * len(SYSTEM)} captions are empty, in 3 rows."
    path = faults(tmp_path)["empties"]
    with pytest.warns(UserWarning, match=f"^{path}: {message}$"):
        predictions = [row.predictions for row in read([path])]
    with pytest.warns(UserWarning, match=f"^predictions: {message}$"):
        load("bleu_rouge").compute(predictions=predictions, references=PEOPLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load("bleu_rouge").compute(predictions=SYSTEM, references=PEOPLE)


# Every layout in which people keep captions, in every command that reads captions: read right, or refused clearly.

PARSED = json_layouts._parse_json

N_ROWS = 8
NAMES = [f"{i}_a.jpg" for i in range(N_ROWS)]
ROWS = dict(zip(NAMES, PEOPLE[:N_ROWS], strict=True))
FLAT = [(name, k, text) for name, texts in ROWS.items() for k, text in enumerate(texts)]
OTHER = {
    "filename": "x.jpg",
    "split": "train",
    "sentids": [0],
    "sentences": [{"raw": "a cat", "tokens": [], "sentid": 0}],
}


def table(header, rows, separator=","):
    file = io.StringIO()
    csv.writer(file, delimiter=separator).writerows([header, *rows])
    return file.getvalue()


def as_numpy(texts):
    return str(np.array(texts))


def as_list_of_numpy(texts):
    return str(list(np.array(texts)))


def karpathy(**facts):
    images = [
        {
            "filename": name,
            "split": "test",
            "sentids": [0],
            "sentences": [
                {"raw": text, "tokens": text.split(), "imgid": 0, "sentid": k} for k, text in enumerate(texts)
            ],
        }
        for name, texts in ROWS.items()
    ]
    return json.dumps({"dataset": "flickr30k", "images": [*images, OTHER] if facts else images})


def msr_vtt(*more):
    videos = [{"video_id": name, "split": "test", "category": 1} for name in NAMES]
    videos += [{"video_id": name, "split": "train"} for name in more]
    sentences = [{"caption": text, "video_id": name, "sen_id": k} for name, k, text in FLAT]
    sentences += [{"caption": "a cat", "video_id": name, "sen_id": 0} for name in more]
    return json.dumps({"info": {}, "videos": videos, "sentences": sentences})


ANNOTATIONS = [{"image_id": name, "id": i, "caption": text} for i, (name, _, text) in enumerate(FLAT)]
COCO = {"images": [{"id": name, "file_name": name} for name in NAMES], "annotations": ANNOTATIONS}

# Names that pandas gives to five columns of one name.
PANDAS = ["id", "caption", *(f"caption.{k}" for k in range(1, 5))]

# Layouts that are read: name of the file, its content, and options.
READ = {
    "mapping": ("right.json", json.dumps(ROWS)),
    "mapping_of_objects": ("objects.json", json.dumps({name: {"captions": texts} for name, texts in ROWS.items()})),
    "list": ("list.json", json.dumps([{"id": name, "captions": texts} for name, texts in ROWS.items()])),
    "lines": ("lines.jsonl", "".join(json.dumps({"id": n, "caption": t}) + "\n" for n, _, t in FLAT)),
    "coco": ("captions_val2014.json", json.dumps(COCO)),
    "karpathy": ("dataset_flickr8k.json", karpathy()),
    "karpathy_split": ("dataset_flickr30k.json", karpathy(others=True), "test"),
    "msr_vtt": ("videodatainfo.json", msr_vtt()),
    "msr_vtt_split": ("train_val_videodatainfo.json", msr_vtt("x", "y"), "test"),
    "flickr_tokens": ("Flickr8k.token.txt", "".join(f"{name}#{k}\t{text}\n" for name, k, text in FLAT)),
    "flickr30k_tokens": ("results_20130124.token", "".join(f"{name}#{k}\t{text}\n" for name, k, text in FLAT)),
    "msvd_tabs": ("msvd.txt", "".join(f"{name}\t{text}\n" for name, _, text in FLAT)),
    "kaggle": ("captions.txt", table(["image", "caption"], ((n, t) for n, _, t in FLAT))),
    "pipes": ("results.csv", table(["image", " comment_number", " caption"], FLAT, "|")),
    "semicolons": ("excel.csv", table(["image", "caption"], ((n, t) for n, _, t in FLAT), ";")),
    **{
        f"cells_of_{form.__name__}": ("cells.csv", table(["id", "captions"], ((n, form(t)) for n, t in ROWS.items())))
        for form in (json.dumps, str, as_numpy, as_list_of_numpy)
    },
    "wide": ("wide.csv", table(["id", *(f"caption_{k}" for k in range(5))], ([n, *t] for n, t in ROWS.items()))),
    "wide_by_pandas": ("pandas.csv", table(PANDAS, ([n, *t] for n, t in ROWS.items()))),
}  # fmt: skip

TWICE = json.dumps(ROWS).replace(f'"{NAMES[1]}"', f'"{NAMES[0]}"')
SAME_IMAGE = {"id": NAMES[0], "file_name": "y.jpg"}
REPEATED = [*ANNOTATIONS, ANNOTATIONS[3]]
PADDED = [{"image_id": name, "caption": texts[0]} for name, texts in ROWS.items()]
PADDED += PADDED[:2]

# Layouts that are refused: name of the file, its content, and part of the message.
REFUSED = {
    "wrapped": ("wrapped.json", json.dumps({"model": "blip", "results": ANNOTATIONS}), "Save the list under 'results'"),
    "wrapped_alone": ("alone.json", json.dumps({"outputs": ROWS[NAMES[0]]}), "expected rows"),
    "wrapped_predictions": ("own.json", json.dumps({"captions": ANNOTATIONS}), "Save the list under 'captions'"),
    "pandas_columns": ("columns.json", json.dumps({"image": {"0": "a"}, "caption": {"0": "b"}}), 'orient="records"'),
    "lists_of_columns": ("lists.json", json.dumps({"image": NAMES, "caption": NAMES}), 'orient="records"'),
    "mixed": ("mixed.json", json.dumps({"seed": 1, "captions_": ROWS[NAMES[0]]}), "expected rows"),
    "names_alone": ("Flickr_8k.testImages.txt", "\n".join(NAMES), "got the name of a file"),
    "tab_missing": ("tokens.txt", f"{NAMES[0]}#0\ta dog\na cat\n", "expected a name, a tab and a caption, got 0 tabs"),
    "splits_without_option": ("dataset_coco.json", karpathy(others=True), "expected --split out of test (8 rows), "),
    "key_twice": ("twice.json", TWICE, f"the key '{NAMES[0]}' twice"),
    "key_twice_in_line": ("twice.jsonl", '{"id": 1, "caption": "a", "caption": "b"}\n', "the key 'caption' twice"),
    "header_twice": ("twice.csv", "id,caption,caption\n1,a,b\n", "expected every column name once"),
    "annotation_twice": ("again.json", json.dumps({**COCO, "annotations": REPEATED}), "once"),
    "image_twice": ("image.json", json.dumps({**COCO, "images": [*COCO["images"], SAME_IMAGE]}), "images[8]"),
    "padded": ("padded.json", json.dumps(PADDED), "got row 8 more with the id and the caption of row 0"),
}  # fmt: skip

# Commands, what they write, and what of it tells how the file was read.
COMMANDS = {
    "compare": ("compare system.jsonl -r {} -m bleu_rouge --distance cider -o out", "out/comparison.json"),
    "score": ("score -m bleu_rouge -i system.jsonl -r {} -o out --processes 1", "out/summary.json"),
    "diversity": ("diversity {} -f json --output out.html", None),
    "rows": ("rows {} --choose first -o out.html", "out.html"),
    "core-set": ("core-set system.jsonl --test {} --metric bleu_1 -o out.json", "out.json"),
    "splits": ("splits {} --by length -o out.json", "out.json"),
    "count-document-frequency": ("count-document-frequency {} --column captions --output out.json", "out.json"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MeasuredDiversity, "save", lambda *_: None)  # plots take longer than everything else
    rows = [{"id": name, "captions": row} for name, row in zip(NAMES, SYSTEM[:N_ROWS], strict=True)]
    (tmp_path / "system.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(command, folder, name, content, split=None):
    """Run a command on a file; return its exit status, and the output without the names of files."""
    (folder / name).write_text(content, encoding="utf-8")
    line, output = COMMANDS[command]
    option = "--test-split" if command == "core-set" else "--split"
    call = [*line.format(name).split(), *([option, split] if split else [])]
    shutil.rmtree(folder / "out", ignore_errors=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = main(call)
        if status != 0 and "captions" in call:
            status = main([*call, "--column", "caption"])
    if status != 0:
        return status, None
    text = (folder / output).read_text(encoding="utf-8") if output else printed.getvalue()
    if command == "rows":
        return status, re.findall("|".join(re.escape(text) for _, _, text in FLAT), html.unescape(text))
    if command == "splits":
        return status, text
    numbers = json.loads(text)
    if command == "compare":
        numbers = {key: numbers[key] for key in ("ids", "metrics", "human_parity")}
    return status, {"score": numbers.get("metrics"), "diversity": list(numbers.values())}.get(command, numbers)


@pytest.mark.filterwarnings("ignore:captions. cells hold lists")
@pytest.mark.parametrize("layout", READ)
def test_every_layout_is_read_right(layout, folder):
    name, content, *split = READ[layout]
    (folder / name).write_text(content, encoding="utf-8")
    given = {"split": split[0]} if split else {}
    assert {row.id: row.people for row in read([name], either=True, **given)} == ROWS
    (folder / "people.json").write_text(READ["mapping"][1])
    assert {row.id: row.references for row in read(["people.json"], [name], **given)} == ROWS
    assert list(caption_lists(open_captions([name], **given))) == list(ROWS.values())


@pytest.mark.parametrize("layout", REFUSED)
def test_what_holds_no_rows_is_refused(layout, folder):
    name, content, message = REFUSED[layout]
    (folder / name).write_text(content, encoding="utf-8")
    for opened in (functools.partial(open_source, either=True), open_captions):
        with pytest.raises(ValueError) as error:
            list(good_rows(opened([name]).rows()))
        assert name in str(error.value)
        assert message in str(error.value)


@pytest.fixture(scope="module")
def mapping_outputs():
    """What commands write of a plain mapping, by command."""
    return {}


@pytest.mark.parametrize("layout", ["karpathy_split", "flickr_tokens"])
@pytest.mark.parametrize("command", COMMANDS)
def test_layouts_are_read_right_by_every_command(command, layout, folder, capsys, mapping_outputs):
    if command not in mapping_outputs:
        mapping_outputs[command] = run(command, folder, *READ["mapping"])
    assert mapping_outputs[command][0] == 0
    assert run(command, folder, *READ[layout]) == mapping_outputs[command], capsys.readouterr().err


@pytest.mark.parametrize("layout", ["wrapped", "splits_without_option"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_holds_no_rows_is_refused_by_every_command(command, layout, folder, capsys):
    name, content, message = REFUSED[layout]
    assert run(command, folder, name, content)[0] != 0
    said = " ".join(capsys.readouterr().err.split())
    assert name in said
    assert message in said
    assert "Internal error" not in said


@pytest.mark.parametrize("layout", ["coco", "karpathy", "karpathy_split", "msr_vtt", "msr_vtt_split"])
def test_layouts_of_annotations_give_coco_eval_the_same_numbers(layout, folder, monkeypatch, capsys):
    monkeypatch.setattr(evaluation, "Meteor", lambda _: Rouge())  # METEOR's data takes seconds to load
    results = [{"image_id": name, "caption": row[0]} for name, row in zip(NAMES, SYSTEM, strict=False)]
    (folder / "results.json").write_text(json.dumps(results))
    said = []
    for name, content, *split in (READ["coco"], READ[layout]):
        (folder / name).write_text(content)
        assert main(["coco-eval", name, "results.json", *(["--split", *split] if split else [])]) == 0
        said.append(capsys.readouterr())
    assert said[0] == said[1]
    assert "8 images" in said[0].err
    name, content, _ = REFUSED["splits_without_option"]
    (folder / name).write_text(content)
    assert main(["coco-eval", name, "results.json"]) != 0
    assert "expected --split out of test (8 rows)" in capsys.readouterr().err


@pytest.mark.parametrize("annotations", [REPEATED, [{**annotation, "id": 1} for annotation in ANNOTATIONS]])
def test_coco_eval_refuses_an_annotation_that_comes_again_but_no_number_within_an_image(annotations):
    content = {"images": [], "annotations": annotations}
    if annotations is REPEATED:
        assert_refused(ValueError, ".*annotations[40]: expected each id once, got 3 as in annota", CaptionFile, content)
    else:
        assert len(CaptionFile(content).imgToAnns) == N_ROWS


def caption_lines(n_lines, n_again, changed=False):
    """Lines of 20 images with some captions each, and the first ones again, or other captions of them."""
    lines = [{"id": f"img{i}", "caption": f"caption {i} {k}"} for i in range(20) for k in range(n_lines)]
    again = [{**line, "caption": f"{line['caption']}{'!' * changed}"} for line in lines[: n_again * n_lines]]
    return "".join(json.dumps(line) + "\n" for line in [*lines, *again])


@pytest.mark.parametrize("n_lines", [1, 3])
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_lines_that_a_sampler_repeats_are_refused_and_sets_are_not(n_lines, side, folder):
    def read(text):
        (folder / "lines.jsonl").write_text(text)
        others = "".join(json.dumps({"id": f"img{i}", "captions": ["a", "b"]}) + "\n" for i in range(20))
        (folder / "others.jsonl").write_text(others)
        files = (["lines.jsonl"], ["others.jsonl"]) if side == "predictions" else (["others.jsonl"], ["lines.jsonl"])
        return list(open_source(*files).rows())

    rows = read(caption_lines(n_lines, 4))
    bad = [row for row in rows if isinstance(row, BadRow)]
    first = 20 * n_lines
    assert [row.row for row in bad] == list(range(first, first + 4 * n_lines))
    assert f"got row {first} more with the id and the caption of row 0, as several" in str(bad[0].reason)
    # What is left of these rows is right: `score --on-error reject` goes on.
    assert read(caption_lines(n_lines, 0)) == [row for row in rows if not isinstance(row, BadRow)]
    # Every id twice is a system that says the same twice; other captions are no repeats.
    for text in (caption_lines(n_lines, 20), caption_lines(n_lines, 4, changed=True)):
        assert not any(isinstance(row, BadRow) for row in read(text))


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "csv", "xlsx"])
@pytest.mark.parametrize(
    "line", ["diversity {}", "rows {}", "compare {} -r right.json", "splits {} --by length", "core-set {} --test {}"]
)
def test_an_id_of_two_rows_of_lists_is_refused_by_its_places(line, ending, folder, monkeypatch, capsys):
    monkeypatch.setattr("manycaps.files.caption_tables.rows.RECENT_IDS", 3)
    (folder / "right.json").write_text(READ["mapping"][1])
    rows = [{"id": name, "captions": ["a dog", f"{i} cats"]} for i, name in enumerate([*NAMES, NAMES[4]])]
    WRITERS[ending](folder / f"lists.{ending}", rows)
    assert main(line.format(f"lists.{ending}", f"lists.{ending}").split()) != 0
    said = capsys.readouterr().err
    assert f"lists.{ending}, id '{NAMES[4]}': id[8]: expected a unique id, got the id of row 4. Leave" in said


@pytest.mark.parametrize("line", ["compare system.jsonl -r right.json", "rows system.jsonl", "diversity right.json"])
def test_a_split_of_files_without_any_is_refused(line, folder, capsys):
    (folder / "right.json").write_text(READ["mapping"][1])
    assert main([*line.split(), "--split", "test"]) != 0
    assert "--split: expected a file with splits, such as dataset_coco.json, got none" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decoding", "human-correlation --ratings ratings.csv -m bleu_rouge"])
def test_commands_with_references_take_a_split_of_them(command, folder, capsys):
    (folder / "dataset_coco.json").write_text(karpathy(others=True))
    (folder / "other.jsonl").write_text((folder / "system.jsonl").read_text())
    ratings = "".join(f"system,{name},{i % 5}\n" for i, name in enumerate(NAMES))
    (folder / "ratings.csv").write_text(f"system,id,quality\n{ratings}")
    option = "--reference-split" if command == "decoding" else "--split"
    line = [*command.split(), "system.jsonl", "other.jsonl", "-r", "dataset_coco.json", "--distance", "cider"]
    assert main(line) != 0
    assert f"expected {option} out of test (8 rows), " in capsys.readouterr().err
    # Eight rows are read; they are too few to choose a setting by.
    assert main([*line, option, "test"]) == (1 if command == "decoding" else 0)
    printed = capsys.readouterr()
    assert ("got 8" if command == "decoding" else "over captions") in printed.out + printed.err


@pytest.mark.parametrize("split", ["val", "restval+test"])
def test_a_split_that_a_file_does_not_have_is_refused(split, folder):
    (folder / "dataset_coco.json").write_text(karpathy(others=True).replace('"flickr30k"', '"coco"'))
    with pytest.raises(ValueError, match=rf"^dataset_coco.json: expected --split out of .*, got '{re.escape(split)}'"):
        open_source(["dataset_coco.json"], either=True, split=split)


@pytest.mark.parametrize(("split", "n_rows"), [("train", 1), ("test", N_ROWS), ("train+test", N_ROWS + 1)])
def test_splits_are_read_alone_or_together(split, n_rows, folder):
    (folder / "dataset_coco.json").write_text(karpathy(others=True).replace('"flickr30k"', '"coco"'))
    assert len(list(open_source(["dataset_coco.json"], split=split).rows())) == n_rows


def test_of_a_file_of_karpathy_only_the_split_and_no_tokens_are_kept(folder):
    """A third of the bytes of the file, all of which json.loads alone would keep as objects several times as large."""
    images = json.loads(karpathy())["images"]
    unwanted = [{**image, "filename": f"{i}.jpg", "split": "train"} for i in range(400) for image in images]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": [*unwanted, *images]}))
    [file] = table_files(["dataset_coco.json"], "test")
    tracemalloc.start()
    records = list(json_records(file))
    (kept, peak), n_bytes = tracemalloc.get_traced_memory(), file.n_bytes
    tracemalloc.stop()
    assert len(records) == N_ROWS
    assert "tokens" not in str(records)
    assert kept < n_bytes / 20
    assert peak < 3 * n_bytes


def test_a_json_file_of_references_is_parsed_once_for_all_systems(folder, monkeypatch):
    (folder / "right.json").write_text(READ["mapping"][1])
    parsed = []
    monkeypatch.setattr(json_layouts, "_parse_json", lambda *given: parsed.append(given) or PARSED(*given))
    read_systems(dict.fromkeys("abc", "system.jsonl"), ["right.json"])
    assert len(parsed) == 1
    read_systems({"a": "system.jsonl"}, ["right.json"])
    assert len(parsed) == 2, "what was parsed is not kept afterwards"


# Signs that Python's `splitlines` takes for ends of lines, and JSON Lines, CSV and readers of lines do not.
SIGNS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e")
ODD = {name: [f"{text[:9]}{sign}{text[9:]}" for text in ROWS[name]] for name, sign in zip(NAMES, SIGNS, strict=False)}

ODD_FILES = {
    "lines.jsonl": "".join(json.dumps({"id": n, "caption": t}, ensure_ascii=False) + "\n" for n in ODD for t in ODD[n]),
    "lists.jsonl": "".join(json.dumps({"id": n, "captions": t}, ensure_ascii=False) + "\n" for n, t in ODD.items()),
    "lines.json": "".join(json.dumps({"id": n, "captions": t}, ensure_ascii=False) + "\n" for n, t in ODD.items()),
    "cells.csv": table(["id", "caption"], ((n, t) for n in ODD for t in ODD[n])),
    "cells.tsv": table(["id", "caption"], ((n, t) for n in ODD for t in ODD[n]), "\t"),
    "named.txt": "".join(f"{n}\t{t}\n" for n in ODD for t in ODD[n]),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", [*ODD_FILES, *(f"{name}.gz" for name in ODD_FILES)])
def test_signs_that_split_lines_elsewhere_are_signs_of_captions_here(name, encoding, folder):
    """Also in UTF-16 with a mark, as spreadsheet programs write tables, which is read as one piece."""
    is_utf_8, text = encoding == "utf-8", ODD_FILES[name.removesuffix(".gz")]
    content = ("\ufeff" * (not is_utf_8) + text).encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    [file] = table_files([name])
    assert is_utf_8 or list(file_pieces(file, 1)) == [whole(file)]
    assert {row.id: row.predictions for row in open_source([name]).rows()} == ODD
    assert list(caption_lists(open_captions([name]))) == list(ODD.values())
    for n_bytes in (100, 10_000):
        source = open_source([name])
        source.fill_store(folder / "store") if source.needs_store else None
        store = str(folder / "store") if source.needs_store else None
        rows = [row for piece in source.pieces(n_bytes, store) for row in source.read(piece, store)]
        assert {row.id: row.predictions for row in rows} == ODD


def test_a_label_may_hold_signs_that_split_lines_elsewhere(folder):
    (folder / "labels.txt").write_bytes("hot\u2028dog\r\ncat\n".encode())
    assert load_labels("labels", "labels.txt") == [("hot dog",), ("cat",)]


@pytest.mark.parametrize(
    ("head", "damage", "ending"),
    [("", [], "\n"), ("# Descriptions\n\nA clip, a sentence\n", ["mv89psg6zh4_1_2"], "\n\n"), ("# \n", [], "\r\n")],
)
def test_descriptions_of_msvd_are_read_by_their_clips(head, damage, ending, folder):
    """Behind lines that are none; a line without a caption is named, and costs no other."""
    rows = {"mv89psg6zh4_33_46": ["a bird  in a sink", "a bird 10_20 bathes"], "-4ws_PC-DBc_5_15": ["a man cooks"]}
    lines = [f"{name} {text}" for name, texts in rows.items() for text in texts]
    (folder / "AllVideoDescriptions.txt").write_bytes((head + ending.join([lines[0], *damage, *lines[1:]])).encode())
    read = list(open_source(["AllVideoDescriptions.txt"], either=True).rows())
    assert {row.id: row.people for row in read if not isinstance(row, BadRow)} == rows
    bad = [str(row.reason) for row in read if isinstance(row, BadRow)]
    assert len(bad) == len(damage)
    assert all("expected a clip such as mv89psg6zh4_33_46, a blank and a caption, got 'mv8" in reason for reason in bad)
    [file] = table_files(["AllVideoDescriptions.txt"])
    records = [record for piece in text_pieces(file, 1) for record in text_records(piece)]
    assert [record.values for record in records if not isinstance(record, Unreadable)] == [
        {"id": name, "caption": caption} for name, texts in rows.items() for caption in texts
    ]
