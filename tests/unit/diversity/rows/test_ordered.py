"""Order and scores of the captions of a row by hand, and the page of `manycaps rows`."""

import json
import re
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

from manycaps import functional
from manycaps.commands import command_line
from manycaps.diversity.rows import RowsOptions, rows
from manycaps.diversity.rows.chosen import ChosenRows
from manycaps.diversity.rows.ordered import ShownCaption, mean_distances, order_rows, token_metric
from manycaps.diversity.rows.page import marked_ends, rows_page
from manycaps.files.caption_tables import CaptionRow
from manycaps.kit.ngrams import document_frequencies

PEOPLE = [
    ["a dog runs", "a dog runs", "a cat", "birds"],
    ["a man cooks pancakes in a pan", "a man cooks pancakes", "somebody makes breakfast in a pan"],
]


def rows_of(people=PEOPLE, system=None):
    sides = [(row, None) for row in people] if system is None else zip(system, people, strict=True)
    return [CaptionRow("f", i, f"row {i}", *side, None, None) for i, side in enumerate(sides)]


def rouge(rows):
    return token_metric("rouge_l", rows)


def test_bags_of_words_by_hand():
    (shown, _) = order_rows(rows_of(), rouge(rows_of()))
    # Words a, dog, runs, cat, birds; units (1,1,1,0,0)/3^.5 twice, (1,0,0,1,0)/2^.5, (0,0,0,0,1).
    units = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1]]) / np.sqrt([[3], [2], [1]])
    mean = 2 * units[0] + units[1] + units[2]
    expected = 1 - units @ mean / np.linalg.norm(mean)
    assert [(each.text, each.n) for each in shown.people] == [("a dog runs", 2), ("a cat", 1), ("birds", 1)]
    np.testing.assert_allclose([each.distance for each in shown.people], expected, atol=1e-15)
    assert shown.mean_distance == pytest.approx((2 * expected[0] + expected[1] + expected[2]) / 4)


def test_scores_are_those_against_the_others():
    shown = order_rows(rows_of(), rouge(rows_of()))[1]
    tokens = functional.ptb_tokenize(PEOPLE[1])
    for each in shown.people:
        place = PEOPLE[1].index(each.text)
        others = [tokens[j] for j in range(3) if j != place]
        assert each.score == functional.rouge_l([[tokens[place]]], [others])[0]


def test_a_system_is_scored_against_people_and_lies_by_their_mean():
    system = [["a dog runs", "a red car"], ["a man cooks", ""]]
    rows = rows_of(PEOPLE, system)
    shown = order_rows(rows, rouge(rows))
    assert [each.text for each in shown[0].system] == ["a dog runs", "a red car"]
    assert shown[0].system[0].score == 1
    assert [each.distance for each in shown[0].people] == [
        each.distance for each in order_rows(rows_of(), rouge(rows_of()))[0].people
    ]
    assert shown[1].system[1] == ShownCaption(text="", n=1, distance=1.0, score=0.0)
    assert shown[0].mean_score == pytest.approx(np.mean([each.score for each in shown[0].system]))


def test_embeddings_stand_in_for_bags_of_words():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [1.0, 1.0]}
    row = CaptionRow("f", 0, "x", ["a", "b", "c"], None, None, None)
    (shown,) = order_rows([row], rouge([row]), lambda captions: np.array([vectors[each] for each in captions]))
    assert [each.text for each in shown.people] == ["c", "a", "b"]
    assert shown.people[0].distance == pytest.approx(0, abs=1e-15)
    assert shown.people[1].distance == pytest.approx(1 - np.sqrt(0.5))
    # Vectors that cancel have no direction.
    assert mean_distances(np.array([[1.0], [-1.0]]), np.array([1, 1])).tolist() == [1.0, 1.0]


def write(folder, rows):
    path = folder / "captions.jsonl"
    path.write_text("".join(json.dumps({"id": f"row {i}", "captions": row}) + "\n" for i, row in enumerate(rows)))
    return path


def run(*arguments):
    return command_line.main(["rows", *map(str, arguments)])


def shown_ids(path):
    return re.findall(r'<h2 id="row-\d+">([^<]*)</h2>', path.read_text(encoding="utf-8"))


MANY = [[f"a dog {i}", "a dog", *([f"the {i} blue cars"] * (i % 3))] for i in range(20)]


@pytest.mark.parametrize("choose", ["random", "first", "varied", "alike", "best", "worst"])
def test_choices(tmp_path, choose):
    path, page = write(tmp_path, MANY), tmp_path / "rows.html"
    arguments = (path, "-o", page, "--choose", choose, "--metric", "rouge_l", "--rows", 5)
    assert run(*arguments) == 0
    found = shown_ids(page)
    assert len(set(found)) == 5
    assert run(*arguments, "--seed", 1) == 0
    assert (shown_ids(page) == found) == (choose != "random")
    rows = rows_of(MANY)
    everything = {each.row.id: each for each in order_rows(rows, rouge(rows))}
    key, sign = {"varied": ("mean_distance", -1), "alike": ("mean_distance", 1), "best": ("mean_score", -1)}.get(
        choose, ("mean_score", 1)
    )
    if choose not in ("random", "first"):
        order = sorted(everything.values(), key=lambda each: sign * getattr(each, key))
        assert found == [each.row.id for each in order[:5]]


@pytest.mark.parametrize("metric", ["bleu_4", "cider_d"])
def test_page_shows_chosen_ids_with_marks_and_pictures(tmp_path, metric):
    (tmp_path / "photos").mkdir()
    for i in range(2):
        PIL.Image.new("RGB", (300, 200), (90, 60 * i, 30)).save(tmp_path / "photos" / f"row {i}.png")
    rows = [["a <b>dog</b> & co", "a dog runs on the beach", "a dog runs on the sand"], *PEOPLE[1:]]
    path, page = write(tmp_path, rows), tmp_path / "rows.html"
    options = ("--ids", "row 1", "row 0", "--images", tmp_path / "photos", "--metric", metric)
    assert run(path, "-o", page, *options) == 0
    text = page.read_text(encoding="utf-8")
    assert shown_ids(page) == ["row 1", "row 0"]
    assert text.count('src="data:image/jpeg;base64,') == 2
    assert "a &lt;b&gt;dog&lt;/b&gt; &amp; co" in text
    # The captions of the beach and of the sand are equally near; the distances of the other row differ.
    assert text.count('<tr class="nearest-row">') == 3
    assert "chosen by their ids" in text
    # Marks say something.
    assert marked_ends([0.0001, 0.0, 0.0002, 0.0], 3) == (None, None)
    assert marked_ends([0.5, 0.0, 0.0, 0.0], 3) == (0.5, None)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([["a dog"], ["a cat", "a cat"]], (), "{path}: expected rows with two different human captions, got 2 wi"),
        (PEOPLE, ("--ids", "row 7"), "--ids: expected ids of rows with two different captions, such as 'row 0', got"),
        (PEOPLE[:1], ("--metric", "cider_d"), "--metric cider_d: expected at least 2 rows to count document frequenci"),
    ],
    ids=["no_rows", "ids", "cider_d"],
)  # fmt: skip
def test_messages(tmp_path, capsys, rows, options, message):
    path = write(tmp_path, rows)
    assert run(path, "-o", tmp_path / "rows.html", *options) in (1, 2)
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith(message.format(path=path))
    assert not (tmp_path / "rows.html").exists()


def test_a_damaged_picture_is_named_and_rows_that_cannot_be_ordered_are_counted(tmp_path, capsys):
    (tmp_path / "row 0.png").write_bytes(b"no image")
    assert run(write(tmp_path, PEOPLE[:1]), "-o", tmp_path / "rows.html", "--images", tmp_path) == 1
    assert "images of the id 'row 0': expected an image" in capsys.readouterr().err
    path = write(tmp_path, [*PEOPLE, ["one"]])
    assert run(path, "-o", tmp_path / "rows.html") == 0
    assert "left out 1 of 3 rows: fewer than two different captions" in capsys.readouterr().err


def chosen_rows(rows):
    return ChosenRows(rows=rows, name="a", choice="first", metric="R", distance="of bags")


def test_each_side_has_both_of_its_means():
    alone = rows_page(chosen_rows(order_rows(rows_of(), rouge(rows_of()))))
    assert re.findall(r"mean distance [^;<]*", alone) == re.findall(r"(?<=human captions: )mean distance [^;<]*", alone)
    both = order_rows(rows_of(system=[["a dog"], ["a man", "a pan"]]), rouge(rows_of()))
    lines = re.findall(r'<p class="soft">(human captions: .*)</p>', rows_page(chosen_rows(both)))
    assert len(lines) == 2
    for line, row in zip(lines, both, strict=True):
        expected = []
        for name, side in (("human captions", row.people), ("captions of the system", row.system)):
            texts = [each for each in side for _ in range(each.n)]
            distance, score = (np.mean([getattr(each, key) for each in texts]) for key in ("distance", "score"))
            expected.append(f"{name}: mean distance {distance:.2f}, mean R {score:.3f}")
        assert line == "; ".join(expected)


def test_what_a_notebook_gets(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"id": "<1>", "captions": PEOPLE[0]}]))
    found = rows(RowsOptions([str(tmp_path / "a.json")]))
    numbers = found.to_dict()
    assert json.loads(json.dumps(numbers)) == numbers
    assert sorted(caption["n"] for caption in numbers["rows"][0]["people"]) == [1, 1, 2]
    assert (numbers["name"], numbers["metric"]) == ("a", "ROUGE-L")
    found.save(tmp_path / "page.html")
    shown = found._repr_html_()
    assert "&lt;1&gt;" in shown
    assert shown in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", ["rouge_l", "cider_d", "bleu_4", "chair", "wording"])
@pytest.mark.parametrize("choose", ["varied", "worst"])
def test_rows_in_chunks_are_those_of_all_at_once(metric, choose, tmp_path, monkeypatch):
    """Rows of equal numbers keep the order of the file, wherever a chunk ends."""
    path = write(tmp_path, MANY)
    pages = []
    for n_rows in (1, 7, 1_000):
        monkeypatch.setattr("manycaps.diversity.rows.chosen.CHUNK_ROWS", n_rows)
        monkeypatch.setattr("manycaps.diversity.rows.ordered.CHUNK_ROWS", n_rows)
        pages.append(rows(RowsOptions([str(path)], choose=choose, metric=metric, rows=9)).to_dict())
    assert pages[0] == pages[1] == pages[2]


def test_wording_is_that_of_people_of_other_rows():
    """The odd captions of a system are found by --choose worst --metric wording."""
    rows = rows_of(
        [["a dog runs here", f"the dog runs {i}"] for i in range(12)], [["a dog runs"]] * 11 + [["dog a runs"]]
    )
    shown = order_rows(rows, token_metric("wording", rows))
    worst = min(shown, key=lambda row: row.mean_score)
    assert [caption.text for caption in worst.system] == ["dog a runs"]
    tokens = [functional.ptb_tokenize(row.people) for row in rows]
    expected = functional.human_wording([functional.ptb_tokenize(row.predictions) for row in rows], tokens).slor
    assert [row.system[0].score for row in shown] == [value for (value,) in expected]


def test_cider_d_is_that_of_the_documents_of_all_rows():
    rows = rows_of(PEOPLE * 2, [["a dog runs", "a man"]] * 4)
    tokens = [functional.ptb_tokenize(row.people) for row in rows]
    table = {"n_documents": 4, "document_frequency": document_frequencies(tokens)}
    for shown, own, row in zip(order_rows(rows, token_metric("cider_d", rows)), tokens, rows, strict=True):
        distinct = [tokens for i, tokens in enumerate(own) if tokens not in own[:i]]
        for each in shown.people:
            (mine,) = functional.ptb_tokenize([each.text])
            others = [tokens for tokens in distinct if tokens != mine]
            assert each.score == pytest.approx(functional.cider_d([[mine]], [others], table)[0], abs=1e-12)
        for each in shown.system:
            expected = functional.cider_d([functional.ptb_tokenize([each.text])], [distinct], table)[0]
            assert each.score == pytest.approx(expected, abs=1e-12), row.id


@pytest.mark.slow
def test_rows_need_memory_for_captions_and_not_for_what_is_between(tmp_path):
    """20,000 rows of 5 captions: 350 MB more in one go, the table of CIDEr-D included."""
    rng = np.random.default_rng(0)
    words = np.array([f"{first}{second}" for first in "bcdfghklmn" for second in ("a", "el", "ino", "ur", "ost")])
    path = write(tmp_path, [[" ".join(rng.choice(words, 12)) for _ in range(5)] for _ in range(20_000)])
    program = (
        "import resource, sys; from manycaps.diversity.rows import rows, RowsOptions\n"
        "import manycaps.diversity.rows.chosen\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "rows(RowsOptions([sys.argv[1]], choose='worst', metric='cider_d'))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 350_000
