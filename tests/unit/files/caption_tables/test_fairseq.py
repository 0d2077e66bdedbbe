"""Outputs of fairseq-generate, with several hypotheses of each sample, in the order of its batches."""

import json

import pytest

from manycaps.commands.command_line import main
from manycaps.files.caption_tables import BadRow, CaptionColumn, caption_lists, good_rows, open_captions, open_source
from tests.user_files import PEOPLE, SYSTEM, write_lines

LOG = "2024-05-01 10:00:00 | INFO | fairseq_cli.generate | loading model(s) from model.pt\n"
RESULT = "Generate test with beam=5: BLEU4 = 12.34, 50.0/30.0/20.0/10.0 (BP=1.000, ratio=1.0, syslen=9, reflen=9)\n"
N_BEST = 3


def tokenised(text):
    return text.replace(",", " ,")


def sample(number, captions, target, letters="STHDP"):
    """Lines of a sample, as `fairseq_cli/generate.py` prints them."""
    lines = [("S", "ein Satz ."), ("T", tokenised(target))]
    for k, text in enumerate(captions):
        score = -0.4173505902290344 - k
        lines += [("H", f"{score}\t{tokenised(text)}"), ("D", f"{score}\t{text}"), ("P", "-0.1239 -0.3333 -1.0000")]
    return "".join(f"{letter}-{number}\t{text}\n" for letter, text in lines if letter in letters)


def generated(letters="STHDP"):
    """The output of a test set whose samples are sorted by length."""
    order = sorted(range(len(SYSTEM)), key=lambda i: len(SYSTEM[i][0]))
    samples = [sample(i, SYSTEM[i][:N_BEST], PEOPLE[i][0], letters) for i in order]
    return LOG + "".join(samples) + RESULT


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def read(path):
    return {row.id: (row.predictions, row.references) for row in good_rows(open_source([path]).rows())}


EXPECTED = {str(i): (row[:N_BEST], [tokenised(PEOPLE[i][0])]) for i, row in enumerate(SYSTEM)}


def test_detokenised_hypotheses_and_targets_are_rows(tmp_path):
    assert read(write(tmp_path / "generate-test.txt", generated())) == EXPECTED
    in_lines = sorted(generated().splitlines(keepends=True))  # as `sort` leaves them
    assert read(write(tmp_path / "sorted.txt", "".join(in_lines))) == EXPECTED


def test_hypotheses_of_older_versions_are_read_as_they_are(tmp_path):
    found = read(write(tmp_path / "generate-test.txt", generated("STHP")))
    assert found == {str(i): ([tokenised(t) for t in row], people) for i, (row, people) in enumerate(EXPECTED.values())}


@pytest.mark.parametrize("letters", ["SHDP", "STHDP"])
def test_references_of_a_file_stand_in_place_of_targets(letters, tmp_path):
    path = write(tmp_path / "interactive.txt", generated(letters))
    people = write_lines(tmp_path / "people.jsonl", PEOPLE, range(len(PEOPLE)))
    rows = {row.id: (row.predictions, row.references) for row in good_rows(open_source([path], [people]).rows())}
    assert rows == {str(i): (row[:N_BEST], PEOPLE[i]) for i, row in enumerate(SYSTEM)}
    if "T" not in letters:
        return
    rows = {row.id: (row.predictions, row.references) for row in good_rows(open_source([people], [path]).rows())}
    assert rows == {str(i): (PEOPLE[i], EXPECTED[str(i)][1]) for i in range(len(PEOPLE))}


@pytest.mark.parametrize(("column", "side"), [("prediction", 0), ("reference", 1)])
def test_one_of_both_sides_is_read_where_it_is_named(column, side, tmp_path):
    path = write(tmp_path / "generate-test.txt", generated())
    found = caption_lists(open_captions([path], CaptionColumn(column)))
    assert sorted(found) == sorted(row[side] for row in EXPECTED.values())


def test_the_first_bad_line_is_named_and_costs_no_other(tmp_path):
    text = generated().replace("D-3\t-1.4", "D-3 -1.4")
    rows = list(open_source([write(tmp_path / "generate-test.txt", text)]).rows())
    bad = [row for row in rows if isinstance(row, BadRow)]
    assert [str(row.reason).partition(", got 'D-3 -1.4")[0] for row in bad] == [
        f"row[{bad[0].row}]: expected D-3, a tab, a score, a tab and a caption"
    ]
    assert len(rows) == len(SYSTEM) + 1


def test_an_empty_hypothesis_is_an_empty_caption(tmp_path):
    path = write(tmp_path / "a.txt", sample(0, ["a dog"], "dogs") + sample(1, [""], "cats"))
    with pytest.warns(UserWarning, match="1 of 2 captions is empty"):
        assert read(path) == {"0": (["a dog"], ["dogs"]), "1": ([""], ["cats"])}


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("compare {} --distance cider -m bleu_rouge -f json --overwrite", ["metrics", "human_parity"]),
        ("score -m bleu_rouge -i {} -o scores --processes 1", ["metrics", "n_rows"]),
    ],
)
def test_commands_read_it_as_rows_with_ids(line, numbers, tmp_path, monkeypatch, capsys, undrawn_plots):
    monkeypatch.chdir(tmp_path)
    order = list(read(write(tmp_path / "system.txt", generated())))
    rows = [{"id": name, "predictions": EXPECTED[name][0], "references": EXPECTED[name][1]} for name in order]
    (tmp_path / "system.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = []
    for ending in ("txt", "jsonl"):
        assert main(line.replace("scores", ending).format(f"system.{ending}").split()) == 0, capsys.readouterr().err
        printed = json.loads(capsys.readouterr().out)
        found.append({name: printed[name] for name in numbers})
    assert found[0] == found[1]
