"""Ids of files that do not meet: every command that joins files shows ids of both, and what they differ in."""

import io
import shutil
import tarfile
import unicodedata

import pytest

from manycaps.commands.command_line import main
from manycaps.files.caption_tables import good_rows, open_source
from manycaps.files.caption_tables.ids import difference_of_ids
from manycaps.integrations.coco.evaluation import CaptionFile
from tests.refusals import assert_refused
from tests.tools import write_jsonl

N_ROWS = 12
NUMBERS = [str(i) for i in range(1, N_ROWS + 1)]
CAFES = [f"café {i}" for i in NUMBERS]

# What differs, two ways in which ids are written, and a part of what is said.
DIFFERENCES = {
    "unicode": (CAFES, [unicodedata.normalize("NFD", name) for name in CAFES], r"NFC or NFD ('caf\xe9 1' and 'cafe"),
    "ending": ([f"{i}.jpg" for i in NUMBERS], NUMBERS, "the ending, such as .jpg ('1.jpg' and '1')"),
    "ending_of_sound": ([f"a b.{i}.wav" for i in NUMBERS], [f"a b.{i}" for i in NUMBERS], "the ending, such as .jpg"),
    "zeros": ([i.zfill(12) for i in NUMBERS], NUMBERS, "leading zeros ('000000000001' and '1')"),
    "folders": ([f"val/{i}" for i in NUMBERS], [f"a\\{i}" for i in NUMBERS], "the folders before the name"),
    "case": ([f"A{i}" for i in NUMBERS], [f"a{i}" for i in NUMBERS], "upper and lower case ('A1' and 'a1')"),
    "number_of_caption": ([f"{i}#0" for i in NUMBERS], NUMBERS, "the number of the caption behind # ('1#0' and '1')"),
    "point": ([f"{i}.0" for i in NUMBERS], NUMBERS, "a point behind whole numbers, such as 1.0"),
    "blanks": ([f" {i} " for i in NUMBERS], NUMBERS, "blanks (' 1 ' and '1')"),
    "coco": ([f"COCO_val2014_{int(i):012}.jpg" for i in NUMBERS], NUMBERS, "the text around the last number ('COCO_"),
    "several": ([f"a/{int(i):04}.PNG" for i in NUMBERS], NUMBERS, "the folders before the name, and the ending, such "),
    "nothing_known": ([f"x{i}" for i in "abcd"], [f"y{i}" for i in "efgh"], "Give files of the same rows"),
}  # fmt: skip


def write(path, ids, **captions):
    captions = captions or {"captions": ["a dog runs", "a wet dog"]}
    return write_jsonl(path, [{"id": name, **captions} for name in ids])


# How each command joins two files, the ids of the first and of the second.
COMMANDS = {
    "compare": "compare first.jsonl -r second.jsonl --distance cider -o out",
    "compare_common_rows": "compare first.jsonl -r second.jsonl --common-rows --distance cider -o out",
    "compare_systems": "compare second_both.jsonl first_both.jsonl --distance cider -o out",
    "compare_systems_common_rows": "compare second_both.jsonl first_both.jsonl --common-rows --distance cider -o out",
    "compare_scores": "compare second_scores first_scores -o out",
    "score": "score -m bleu_rouge -i first.jsonl -r second.jsonl -o out --processes 1",
    "score_reject": "score -m bleu_rouge -i first.jsonl -r second.jsonl -o out --processes 1 --on-error reject",
    "score_limit": "score -m bleu_rouge -i first.jsonl -r second.jsonl -o out --processes 1 --limit 2",
    "rows": "rows first.jsonl -r second.jsonl --metric rouge_l -o out.html",
    "plan": "plan first.jsonl -r second.jsonl --distance cider",
    "decoding": "decoding first.jsonl copy.jsonl -r second.jsonl --distance cider -o out",
    "compare_foreign_scores": "compare --scores foreign.jsonl",
    "judge": "judge foreign_first.jsonl -r second.jsonl",
    "ratings": "human-correlation second_both.jsonl copy_both.jsonl --ratings ratings.jsonl -m bleu_rouge "
    "--distance cider",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with endings and without, and what commands make of each."""
    folder = tmp_path_factory.mktemp("ids")
    both = {"captions": ["a dog runs", "a wet dog"], "references": ["a dog", "a wet dog runs", "two dogs"]}
    for side, ids in (("first", DIFFERENCES["ending"][0]), ("second", NUMBERS)):
        write(folder / f"{side}.jsonl", ids)
        path = write(folder / f"{side}_both.jsonl", ids, **both)
        line = ["score", "-m", "bleu_rouge", "-i", path, "-o", folder / f"{side}_scores", "--processes", 1]
        assert main([*map(str, line)]) == 0
    shutil.copy(folder / "first.jsonl", folder / "copy.jsonl")
    shutil.copy(folder / "second_both.jsonl", folder / "copy_both.jsonl")
    systems = ("second_both", "copy_both")
    rated = [
        {"id": name, "system": system, "quality": i % 5}
        for system in systems
        for i, name in enumerate(DIFFERENCES["ending"][0])
    ]
    write_jsonl(folder / "ratings.jsonl", rated)
    foreign = [
        {"id": name, "system": system, "cider": 1.0 + i, "text": "a dog"}
        for system, ids in (("plain", NUMBERS), ("named", DIFFERENCES["ending"][0]))
        for i, name in enumerate(ids)
    ]
    write_jsonl(folder / "foreign.jsonl", foreign)
    write_jsonl(folder / "foreign_first.jsonl", [row for row in foreign if row["system"] == "named"])
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_ids_of_both_files(command, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    line = COMMANDS[command].replace("-o out", f"-o {tmp_path / 'out'}")
    assert main(line.split()) != 0
    message = capsys.readouterr().err.strip().rpartition("\n")[2]
    assert "such as '1', got none of these in " in message, message
    assert "the first with the id '1.jpg'. They differ in the ending, such as .jpg ('1.jpg' and '1')" in message


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_what_ids_differ_in_is_said(kind, tmp_path):
    ids, others, said = DIFFERENCES[kind]
    mine, theirs = write(tmp_path / "mine.jsonl", ids), write(tmp_path / "theirs.jsonl", others)
    source = open_source([str(mine)], [str(theirs)])
    assert_refused(ValueError, f"{mine}: expected ids that {theirs} has, such as .*{said}", lambda: list(source.rows()))


@pytest.mark.parametrize(
    ("ids", "others"),
    [(["a", "b", "c"], ["x", "y"]), (["1.jpg", "b", "c", "d"], ["1", "x", "y", "z"])],
    ids=["nothing_alike", "one_of_four"],
)
def test_other_ids_are_not_explained(ids, others):
    assert difference_of_ids(ids, others) is None


def test_some_ids_that_differ_are_said_beside_rows_that_meet(tmp_path):
    """Half of the file has padded ids."""
    ids = [i.zfill(3) if int(i) % 2 else i for i in NUMBERS]
    mine, theirs = (write(tmp_path / f"{name}.jsonl", names) for name, names in (("mine", ids), ("theirs", NUMBERS)))
    said = r"mine\.jsonl: 6 ids are not in .*differ in leading zeros \('001"
    with pytest.warns(UserWarning, match=said):
        list(open_source([str(mine)], [str(theirs)]).rows())


def test_ids_of_systems_that_meet_in_part_are_shown_with_their_difference(tmp_path, capsys):
    ids = [i.zfill(3) if int(i) % 2 else i for i in NUMBERS]
    texts = {"captions": ["a dog"], "references": ["a cat", "two cats"]}
    files = [write(tmp_path / f"{name}.jsonl", names, **texts) for name, names in (("a", NUMBERS), ("b", ids))]
    assert main(["compare", *map(str, files), "-o", str(tmp_path / "o")]) == 1
    message = capsys.readouterr().err
    assert "got none with the id '1' (6 such rows in all)" in message
    assert "Some differ in leading zeros ('001' and '1')." in message


@pytest.mark.parametrize(
    "line", ["compare plain.txt -r both.jsonl", "score -m bleu_rouge -i plain.txt -r both.jsonl -o o"]
)
def test_plain_text_without_ids_is_told_as_such(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.txt").write_text("a dog\na cat\na man\n")
    write(tmp_path / "both.jsonl", NUMBERS)
    assert main(line.split()) == 1
    message = capsys.readouterr().err.strip().rpartition("\n")[2]
    assert message.startswith(
        "plain.txt: expected a column of ids to join predictions and references by, got plain text without ids (3 "
        "lines without an empty one between them, which are the captions of one row). Write "
    )


def test_lines_that_become_one_row_are_told_where_nothing_is_joined(tmp_path):
    (tmp_path / "plain.txt").write_text("a dog\na cat\na man\n")
    with pytest.warns(UserWarning, match=r"plain\.txt: plain text \(3 lines without an empty one between them"):
        assert len(list(good_rows(open_source([str(tmp_path / "plain.txt")]).rows()))) == 1


@pytest.mark.parametrize("text", ["a dog\na cat\n\na man\n", "a dog\n", "1.jpg\ta dog\n1.jpg\ta cat\n"])
def test_other_texts_are_read_without_a_word(text, tmp_path, recwarn):
    (tmp_path / "plain.txt").write_text(text)
    list(good_rows(open_source([str(tmp_path / "plain.txt")]).rows()))
    assert not recwarn.list


def test_systems_without_ids_are_told_as_such(tmp_path, capsys):
    (tmp_path / "plain.txt").write_text("a dog\na cat\n\na man\n")
    texts = {"captions": ["a dog"], "references": ["a cat", "two cats"]}
    files = [tmp_path / "plain.txt", write(tmp_path / "b.jsonl", ["x", "y"], **texts)]
    assert main(["compare", *map(str, files), "-o", str(tmp_path / "o")]) == 1
    assert "plain.txt (no ids: rows are numbered) has, such as '0', got none of these" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ids", "others", "said"),
    [
        ([1, 2], ["1", "2"], "They differ in their type, str and int: write them alike."),
        ([1, 2], ["1.jpg", "2.jpg"], "They differ in the ending, such as .jpg ('1.jpg' and '1'): write them alike."),
        ([1, 2], [3, 4], "Give the annotations of these images."),
    ],
)
def test_results_of_coco_on_other_images(ids, others, said):
    annotations = [{"image_id": name, "caption": "a dog"} for name in ids]
    annotated = CaptionFile({"images": [{"id": name} for name in ids], "annotations": annotations})
    results = [{"image_id": name, "caption": "a dog"} for name in others]
    assert_refused(ValueError, f"results: expected ids that .*{said}$", lambda: annotated.loadRes(results))


def test_a_stream_of_tars_is_told_as_well(tmp_path, write_tar_of_images):
    tar = write_tar_of_images(tmp_path / "a.tar", ["x/1", "x/2"])
    theirs = write(tmp_path / "r.jsonl", ["1", "2"])
    source = open_source([str(tar)], [str(theirs)])
    message = f"{tar}: expected ids that {theirs} has, .*They differ in the folders before the name"
    assert_refused(ValueError, message, lambda: list(source.rows()))


@pytest.fixture
def write_tar_of_images():
    """A function that writes samples of an image and a caption."""

    def write_tar(path, names):
        with tarfile.open(path, "w") as archive:
            for name in names:
                for ending, content in (("jpg", b"\xff\xd8"), ("txt", b"a dog")):
                    info = tarfile.TarInfo(f"{name}.{ending}")
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
        return path

    return write_tar
