"""Caption files as the diversity page and the diversity report read them: the same rows, each its messages."""

import json

import pytest

from manycaps.caption_tables import CaptionColumn, caption_lists, columns, open_captions
from manycaps.commands import diversity
from manycaps.pages.caption_files import CAPTION_COLUMNS, FILE_KINDS, NAME_COLUMNS, caption_file_rows

ROWS = [["a dog", "a brown dog"], ["a cat"]]

# Name and content of files with these rows, the lines of an image one after the other.
FORMS = [
    ("a.txt", "a dog\na brown dog\n\na cat\n"),
    ("a.TXT", "\ufeffa dog\r\na brown dog\r\n \r\n\r\na cat"),
    ("a.json", '[["a dog", "a brown dog"], ["a cat"]]'),
    ("a.json", '{"1.jpg": ["a dog", "a brown dog"], "2.jpg": ["a cat"]}'),
    ("a.json", '[{"id": 7, "references": ["a dog", "a brown dog"]}, {"id": 8, "references": ["a cat"]}]'),
    ("a.json", '[{"image": 1, "raw": "a dog"}, {"image": 1, "raw": "a brown dog"}, {"raw": "a cat", "image": 2}]'),
    ("a.json", '{"captions": ["a dog", "a brown dog"]}\n{"captions": ["a cat"]}\n'),
    ("a.jsonl", '["a dog", "a brown dog"]\n\n{"captions": ["a cat"], "id": 7}\n'),
    ("a.jsonl", '{"image": 1, "text": "a dog"}\n{"image": 1, "text": "a brown dog"}\n{"image": 2, "text": "a cat"}\n'),
    ("a.csv", "image,caption\n1,a dog\n1,a brown dog\n\n2,a cat\n"),
    ("a.csv", '\ufeffcaption,image\r\n"a dog",001\r\na brown dog,001\r\na cat,1\r\n'),
    ("a.tsv", "text\timage\na dog\t1\na brown dog\t1\na cat\t2\n"),
    ("a.csv", "image,caption\n1,a dog\n2,a cat\n1,a brown dog\n"),
    ("a.csv", "id,caption\n1,a dog\n1,a brown dog\n2,a cat\n"),
    ("a.csv", "image_id,id,caption\n1,7,a dog\n1,8,a brown dog\n2,9,a cat\n"),
    ("a.csv", "video,caption\n1,a dog\n1,a brown dog\n2,a cat\n"),
]

ONE_CAPTION_A_ROW = [
    ("a.json", '[{"caption": "a dog"}, {"caption": "a cat"}]'),
    ("a.jsonl", '{"caption": "a dog"}\n{"caption": "a cat"}\n'),
    ("a.csv", "label,caption\n1,a dog\n1,a cat\n"),
]

# Characters that end no line of a file, but a line of `str.splitlines`.
SEPARATORS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]


def write(folder, name, content):
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def on_the_page(path, column=None):
    return caption_file_rows(path, column, "in the box Column")


def in_the_report(path, column=None, group_by=None):
    return list(caption_lists(open_captions([str(path)], CaptionColumn(column, group_by))))


@pytest.mark.parametrize("read", [on_the_page, in_the_report])
@pytest.mark.parametrize(("name", "content"), FORMS)
def test_every_form_is_read_by_both(tmp_path, read, name, content):
    assert read(write(tmp_path, name, content)) == ROWS


@pytest.mark.parametrize("read", [on_the_page, in_the_report])
@pytest.mark.parametrize(("name", "content"), ONE_CAPTION_A_ROW)
def test_a_caption_without_an_image_is_a_row(tmp_path, read, name, content):
    assert read(write(tmp_path, name, content)) == [["a dog"], ["a cat"]]


@pytest.mark.parametrize("read", [on_the_page, in_the_report])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_only_a_newline_ends_a_line(tmp_path, read, separator):
    caption = f"a dog{separator}runs"
    line = json.dumps({"captions": [caption]}, ensure_ascii=False)
    if separator < " ":  # JSON escapes control characters
        line = json.dumps({"captions": [caption]})
    for name, content in (
        ("a.txt", f"{caption}\n\na cat\n"),
        ("a.jsonl", f'{line}\n["a cat"]\n'),
        ("a.json", f'{line}\n["a cat"]\n'),
        ("a.csv", f"caption\n{caption}\na cat\n"),
    ):
        assert read(write(tmp_path, name, content)) == [[caption], ["a cat"]], name


@pytest.mark.parametrize("read", [on_the_page, in_the_report])
@pytest.mark.parametrize("name", CAPTION_COLUMNS)
def test_every_usual_name_of_a_column_is_found(tmp_path, read, name):
    assert read(write(tmp_path, "a.jsonl", json.dumps({name: ["a dog"], "id": 1}))) == [["a dog"]]


TWO_COLUMNS = '[{"references": ["a dog"], "candidates": ["a cat"]}]'


def test_a_file_with_several_columns_is_read_only_by_name(tmp_path):
    path = write(tmp_path, "a.json", TWO_COLUMNS)
    for read, how in ((on_the_page, "in the box Column"), (in_the_report, "with --column")):
        assert read(path, "candidates") == [["a cat"]]
        with pytest.raises(ValueError) as error:
            read(path)
        assert str(error.value).endswith(
            f": expected one column of captions, got references and candidates. Name the one to read {how}."
        )


@pytest.mark.parametrize(
    ("name", "content", "message", "reason"),
    [
        (
            "a.json",
            "{",
            ": expected a list of lists of captions, an object that maps image names to captions, or",
            ": expected JSON, got none (Expecting property name",
        ),
        (
            "a.json",
            "[" * 100_000,
            ": expected a list of lists of captions, an object that maps image names",
            ": expected JSON, got none (maximum recursion depth",
        ),
        (
            "a.json",
            "3",
            ": expected a list of lists of captions, an object that maps image names",
            ": row[0]: expected an object or a list of captions, got int.",
        ),
        (
            "a.jsonl",
            '["a"]\n["b"',
            ", line 2: expected on each line the captions of an image",
            ": row[1]: expected a line of JSON, got none (Expecting ',' delimiter).",
        ),
        (
            "a.jsonl",
            '{"id": 3}',
            ": expected one of the columns captions, caption, references, candidates",
            ": expected one of the columns captions, caption, sentences, descriptions",
        ),
        (
            "a.csv",
            "words,image\na,b\n",
            ": expected one of the columns captions, caption, references, candidates,",
            ": expected one of the columns captions, caption, sentences, descriptions",
        ),
        (
            "a.csv",
            "image,caption\n1,a dog\n,a cat\n",
            ", line 3: expected the name of an image in image, got none.",
            ": image[1]: expected an id (text or a whole number), got none. Write it, or leave the row out.",
        ),
        (
            "a.tsv",
            "caption\timage\na dog\n",
            ", line 2: expected the name of an image in image, got none.",
            ": row[0]: expected 2 cells, got 1. Put a caption with separators into double quotes.",
        ),
        (
            "a.json",
            '[{"image": [], "caption": "a"}]',
            ", row 0: expected the name of an image in image, got list.",
            ": image[0]: expected an id (text or a whole number), got list ([]).",
        ),
        (
            "a.csv",
            "image,caption\n1,a dog\n2,\n",
            ", line 3: expected captions in caption, got none.",
            ", id '2': caption[1]: expected captions, got none. Write them, or leave the row out.",
        ),
        (
            "a.jsonl",
            '{"caption": null}',
            ", line 1: expected captions in caption, got none. Write them, or leave this",
            ": caption[0]: expected captions, got none. Write them, or leave the row out.",
        ),
        (
            "a.csv",
            "image,caption\n1,a dog, running\n",
            ", line 2: expected 2 cells, got 3. Put a caption with",
            ": row[0]: expected 2 cells, got 3. Put a caption with separators into double quotes.",
        ),
        (
            "a.csv",
            'caption\n"a dog\na cat\n',
            ", line 2: expected a column `caption`, and a column `image`",
            ": row[0]: expected cells, got unexpected end of data. Fix the quotes of this line.",
        ),
        (
            "a.csv",
            "caption\n" + "a" * 200_000 + "\n",
            ", line 2: expected a column `caption`, and a column `image`",
            ": row[0]: expected cells, got field larger than field limit",
        ),
    ],
    ids=range(14),
)
def test_messages_of_both(tmp_path, name, content, message, reason):
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError) as error:
        on_the_page(path)
    assert str(error.value).startswith("data" + message)
    with pytest.raises(ValueError) as error:
        in_the_report(path)
    assert str(error.value).startswith(f"{path}{reason}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"", "data: expected a file that ends in .txt, .json, .jsonl, .csv, .tsv, got .xlsx."),
        ("a.txt", b"a d\xf6g", "data: expected UTF-8 text, got byte 3, which is not valid UTF-8. Save it as UTF-8."),
        ("a.txt", b"\n \n", "data: expected one caption per line, an empty line before the next image, got a file"),
        (
            "a.csv",
            b"",
            "data: expected a column `caption`, and a column `image` or `id` where an image has several captions,",
        ),
        ("a.json", b'["a dog"]', "data, row 0: expected a list of lists of captions, an object that maps image names"),
        ("a.json", b'{"1.jpg": "a dog"}', "data, image '1.jpg': expected a list of lists of captions, an object that"),
        ("a.jsonl", b'["a"]\n["b", 3]', "data, line 2: expected on each line the captions of an image"),
    ],
)
def test_messages_of_the_page(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError) as error:
        on_the_page(tmp_path / name)
    assert str(error.value).startswith(message)


def test_a_column_of_a_file_without_columns_is_refused(tmp_path):
    path = write(tmp_path, "a.txt", "a dog\n")
    with pytest.raises(ValueError, match="line 1: expected a column 'caption', got captions without columns."):
        on_the_page(path, "caption")
    with pytest.raises(ValueError, match=r"a.txt: expected a column 'caption', got \['captions'\]. Check the spelling"):
        in_the_report(path, "caption")


def test_both_know_the_same_columns():
    assert set(CAPTION_COLUMNS) == {
        *columns.CAPTION_COLUMNS,
        *columns.PREDICTION_COLUMNS,
        *columns.REFERENCE_COLUMNS,
    } - {"txt"}
    kept = {"__key__", *columns.IMAGE_COLUMNS[1:5], *columns.VIDEO_COLUMNS[1:5]}  # names of files in a tar
    found = [*columns.ID_COLUMNS, *columns.IMAGE_COLUMNS, *columns.VIDEO_COLUMNS]
    assert list(NAME_COLUMNS) == [name for name in found if name not in kept]


def test_the_help_of_the_report_names_every_form():
    text = " ".join(diversity.__doc__.split())
    for kind, form in FILE_KINDS.items():
        assert f"{kind} {form}" in text
    assert f"in a column {', '.join(CAPTION_COLUMNS[2:-1])} or {CAPTION_COLUMNS[-1]};" in text
