"""manycaps diversity: files, tables, page and messages; people against people on a sample of rows."""

import json
import re

import numpy as np
import pytest

from manycaps import functional
from manycaps.commands import command_line
from manycaps.diversity import DiversityOptions, diversity
from manycaps.diversity import measured as engine
from manycaps.diversity import page as diversity_page
from manycaps.diversity.leave_one_out import FEWEST_ROWS, RowSample, reference_curves, variance_curve
from manycaps.diversity.plots import vocabulary_plot
from manycaps.diversity.published import PUBLISHED, PUBLISHED_PARTS_OF_SPEECH
from manycaps.files.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.files.caption_tables.files import source_name
from tests.large_packages import datasets
from tests.refusals import assert_refused

ROWS = [["a dog runs", "a dog plays"], ["two cats sleep"]]
LINES = [("one", "a dog runs"), ("one", "a dog plays"), ("two", "two cats sleep")]


def load_rows(source, column=None, group_by=None, split=None):
    return list(caption_lists(open_captions([source], CaptionColumn(column, group_by), split)))


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def write_jsonl(path, key="references"):
    path.write_text("".join(json.dumps({"image": i, key: row}) + "\n" for i, row in enumerate(ROWS)))
    return str(path)


def write_csv(path, lines=LINES, separator=","):
    path.write_text("\n".join(separator.join(line) for line in [("image", "caption"), *lines]) + "\n")
    return str(path)


def write_text(path, text="text"):
    path.write_text(text)
    return path


def test_files_with_a_caption_a_line(tmp_path):
    path = write_csv(tmp_path / "a.csv")
    for group_by in (None, "image"):
        assert load_rows(path, group_by=group_by) == ROWS
    assert load_rows(write_csv(tmp_path / "a.tsv", separator="\t"), "caption", "image") == ROWS
    # Groups need not follow each other.
    assert load_rows(write_csv(tmp_path / "c.csv", [LINES[0], LINES[2], LINES[1]]), group_by="image") == ROWS
    videos = write_text(tmp_path / "b.csv", "clip,caption\n1,a dog runs\n1,a dog plays\n2,two cats sleep\n")
    assert load_rows(str(videos)) == [["a dog runs"], ["a dog plays"], ["two cats sleep"]]
    assert load_rows(str(videos), group_by="clip") == ROWS
    # Lists are put together where a column is named for it.
    path = write_text(tmp_path / "a.jsonl", '{"id": 1, "captions": ["a", "b"]}\n{"id": 1, "captions": ["c"]}\n')
    assert load_rows(str(path), group_by="id") == [["a", "b", "c"]]


def test_names_of_images_join_lines_and_pixels_do_not(tmp_path):
    rows = {"image": ["1", "1"], "caption": ["a dog", "a cat"], "n": [1, 1]}
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "a.parquet")
    assert load_rows(str(tmp_path / "a.parquet")) == [["a dog", "a cat"]]
    pixels = datasets.Dataset.from_dict({**rows, "image": [{"bytes": b"1", "path": None}] * 2})
    pixels.cast_column("image", datasets.Image()).to_parquet(tmp_path / "b.parquet")
    assert load_rows(str(tmp_path / "b.parquet")) == [["a dog"], ["a cat"]]
    assert load_rows(str(tmp_path / "b.parquet"), group_by="n") == [["a dog", "a cat"]]


# What else is wrong with a file or its rows: caption_tables/test_source.py.
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), ".*such as captions, .*, got ['image', 'words']. Name the column of the captions with --column."),
        (("wrods",), ".*expected a column 'wrods', got ['image', 'words']. Check the spelling of --column."),
        (("words", "video"), ".*expected a column 'video', got ['image', 'words']. Check the spelling of --group-by."),
    ],
)
def test_messages_of_the_loader(tmp_path, columns, message):
    assert_refused(ValueError, message, load_rows, write_jsonl(tmp_path / "a.jsonl", key="words"), *columns)


def test_names_are_checked():
    names = ("x/a.jsonl.gz", "b.csv", "someone/set", "v1.5.parquet")
    assert [source_name(name) for name in names] == ["a", "b", "set", "v1.5"]
    message = "--names: expected one name per source (1), got 2. Give as many."
    assert_refused(ValueError, message, engine.names_of_sources, ["a.csv"], ["A", "B"])
    message = "--names: expected different names, got a, a. Give each source its own"
    assert_refused(ValueError, message, engine.names_of_sources, ["a.csv", "x/a.json"], None)


def test_columns_and_groups_are_for_all_sources_or_each_its_own(tmp_path, capsys):
    one, two = write_jsonl(tmp_path / "one.jsonl", "words"), write_csv(tmp_path / "two.csv")
    options = ("--column", "words", "caption", "--group-by", "-", "image", "--output", tmp_path / "page.html")
    assert run(one, two, *options, "-f", "json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["one"] == figures["two"]
    message = "--column: expected 1 or 2 names, got 3. Give - where there is none."
    assert_refused(ValueError, message, engine.for_each_source, ["a", "b", "c"], 2, "--column")


def run(*arguments):
    return command_line.main(["diversity", *map(str, arguments)])


def test_two_columns_of_a_file_are_not_guessed_and_have_names_of_their_own(tmp_path, capsys):
    path = write_text(tmp_path / "rows.json", '[{"references": ["a dog", "a cat"], "candidates": ["a dog"]}]')
    assert run(path, "--output", tmp_path / "page.html") == 1
    assert capsys.readouterr().err.endswith(
        f"{path}: expected one column of captions, got candidates and references. Name the one to read with --column.\n"
    )
    options = ("--output", tmp_path / "page.html", "-f", "json")
    assert run(path, path, "--column", "references", "candidates", *options) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {name: row["n_captions"] for name, row in figures.items()} == {"rows: references": 2, "rows: candidates": 1}
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for column in ("references", "candidates"):
        assert f"rows.json, column {column}; ptb tokenizer" in text
    message = "--names: expected different names, got rows: references, rows: ref"
    assert_refused(ValueError, message, engine.names_of_sources, [path, path], None, ["references", "references"])


def test_the_page_holds_the_figures(tmp_path, capsys):
    one, two = write_jsonl(tmp_path / "one.jsonl"), write_csv(tmp_path / "two.csv")
    page = tmp_path / "page.html"
    names = ("A <b>", "B & co")
    assert run(one, two, "--names", *names, "--output", page, "-f", "json", "--tokenizer", "ptb") == 0
    text = page.read_text(encoding="utf-8")
    measured = json.loads(capsys.readouterr().out)
    assert measured["A <b>"]["n_types"] == 7
    assert measured["A <b>"]["n_rows"] == 2
    assert measured["B & co"]["n_rows"] == 2
    assert "A &lt;b&gt;" in text
    assert "A <b>" not in text
    assert re.findall(r'data-plot="([a-z]+)"', text) == ["vocabulary", "evs", "duplicates", "novelty"]
    assert "run again with --semantic" in text
    for published in ("9,455", "1.21%", "47.8%", "2.88", "92.7%", "87.04"):
        assert published in text
    # Nothing is fetched: no address at all but the namespaces of SVG, which are names.
    assert not re.search(r"""(?:src|href)=["'](?!data:,|#)|@import|url\(http""", text.replace("xlink:href", "href"))
    assert run(one, two, "--names", *names, "--output", tmp_path / "again.html", "--tokenizer", "ptb") == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text


def test_all_levels_have_their_tables_and_plots(tmp_path, monkeypatch):
    def encode(captions):
        return np.array([[len(caption), 1.0] for caption in captions])

    def tag(captions):
        return ([(word, "NOUN") for word in caption.split()] for caption in captions)

    encoder = engine.LoadedEncoder(encode, lambda captions: {"n_truncated": 1})
    monkeypatch.setattr(engine, "load_encoder", lambda **_: encoder)
    monkeypatch.setattr(engine, "as_tagger", lambda name: tag)
    run(write_jsonl(tmp_path / "a.jsonl"), "--semantic", "--pos", "x", "--output", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    plots = re.findall(r'data-plot="([a-z]+)"', text)
    assert plots == ["vocabulary", "evs", "duplicates", "novelty", "redundancy", "spread"]
    assert "Nouns and verbs" in text
    assert "12,697" in text  # nouns of MSR-VTT
    assert "not defined" in text  # no verb anywhere, so no uniqueness
    assert "run again" not in text


def test_what_a_notebook_gets(tmp_path):
    found = diversity(DiversityOptions([write_jsonl(tmp_path / "a.jsonl")], names=["<b>"]))
    assert found.to_dict()["<b>"]["n_types"] == 7
    shown = found._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    found.save(tmp_path / "page.html")
    assert shown in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_plot_of_an_empty_vocabulary_says_so():
    plot = vocabulary_plot({"empty": np.zeros(0, dtype=np.int64)}, {})
    assert "empty reaches 90% with 0 of 0 types" in plot.description


def test_published_figures_are_shares_and_belong_to_the_columns():
    for published, columns in (
        (PUBLISHED, diversity_page.VOCABULARY_COLUMNS),
        (PUBLISHED_PARTS_OF_SPEECH, diversity_page.PART_OF_SPEECH_COLUMNS),
    ):
        for figures in published.values():
            assert set(figures) <= {column.key for column in columns}
            for key, value in figures.items():
                is_share = "uniqueness" in key or "within" in key or key.startswith("evs")
                assert 0 < value <= 1 if is_share else value > 1


# People against people on a sample of rows: against the plain functions, row by row.

WORDS = "a the red small dog cat child man runs sleeps plays eats on in near grass beach house".split()


def rows_of(n_rows, n_captions, seed=0):
    rng = np.random.default_rng(seed)
    return [[" ".join(rng.choice(WORDS[:8], 7)) for _ in range(n_captions)] for _ in range(n_rows)]


def test_a_sample_is_uniform_and_the_same_again():
    counts = np.zeros(6)
    for seed in range(300):
        sample = RowSample(2)
        sample._rng = np.random.default_rng(seed)
        sample.update([[str(i)] for i in range(6)])
        counts[[int(row[0]) for row in sample.rows]] += 1
    assert abs(counts - 100).max() < 30
    first, second = RowSample(3), RowSample(3)
    first.update(rows := [[str(i)] for i in range(9)])
    second.update(rows[:4])
    second.update(rows[4:])
    assert first.rows == second.rows


def test_equal_captions_score_fully_whatever_the_references():
    curves = reference_curves([[f"a dog runs on the sand {i}"] * 4 for i in range(10)])
    assert curves.n_references == [1, 2, 3]
    assert curves.n_rows == 10
    assert curves.values["BLEU-4"] == pytest.approx([1] * 3)
    assert curves.values["ROUGE-L"] == pytest.approx([1] * 3)
    assert curves.values["CIDEr-D"] == pytest.approx([10] * 3)


def test_more_references_score_higher_and_small_rows_are_left_out():
    rows = [*rows_of(30, 5), *rows_of(4, 3), ["alone"]]
    curves = reference_curves(rows)
    assert (curves.n_references, curves.n_rows) == ([1, 2, 3, 4], 30)
    for metric in ("BLEU-4", "ROUGE-L"):
        assert curves.values[metric] == sorted(curves.values[metric])
    assert curves == reference_curves(rows)
    assert reference_curves(rows_of(FEWEST_ROWS - 1, 5)) is None
    assert reference_curves(rows_of(20, 2)) is None


def test_rows_of_rising_variance_with_the_score_of_each():
    rows, rng = rows_of(40, 3), np.random.default_rng(1)
    vectors = [rng.normal(size=(3, 4)) for _ in rows]
    points = variance_curve(rows, vectors)
    found = []
    for row, own in zip(rows, vectors, strict=True):
        units = own / np.linalg.norm(own, axis=1, keepdims=True)
        distances = [1 - units[i] @ units[j] for i in range(3) for j in range(i)]
        tokens = functional.ptb_tokenize(row)
        scores = [functional.bleu([[tokens[i]]], [[t for j, t in enumerate(tokens) if j != i]])[0, 3] for i in range(3)]
        found.append((np.var(distances), np.mean(scores)))
    found.sort()
    expected = [np.mean(found[i : i + 5], axis=0) for i in range(0, 40, 5)]
    np.testing.assert_allclose(points, expected, rtol=1e-9)
    assert variance_curve(rows[:39], vectors[:39]) == []
