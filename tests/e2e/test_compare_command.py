"""`manycaps compare` on files, from captions to the page, and a message for every mistake."""

import json
import pathlib
import subprocess
import sys
import time
from xml.etree import ElementTree

import numpy as np
import pytest

from manycaps import load
from manycaps.commands import command_line
from manycaps.comparison.read import ScoredSystem, SystemRow
from manycaps.integrations.coco import CaptionFile, COCOEvalCap
from tests.comparison_cases import caption_rows, compared_systems, write_captions, write_page
from tests.language_captions import segments

# A page on 10,000 rows and 5 systems: bytes, and seconds after scoring on a machine that has other work.
MOST_BYTES = 10_000_000
MOST_SECONDS = 60

# Seconds in which a report is shown again, on such a machine; a quiet one takes one.
MOST_SECONDS_AGAIN = 15

NAMES = ("base", "repeating", "other")

pytestmark = pytest.mark.usefixtures("undrawn_plots")


def run(*arguments):
    """The command, with METEOR, which loads no model, as the distance beside people."""
    has_captions = not any(pathlib.Path(str(each), "rows").is_dir() for each in arguments)
    distance = ["--distance", "meteor"] if has_captions and "--distance" not in arguments else []
    return command_line.main(["compare", *map(str, arguments), *distance])


def compare_in(folder, files, *more, names=("base", "other")):
    """Compare systems by 99 sign flips, and return the numbers that are written into the folder."""
    arguments = [*(files[name] for name in names), "-r", files["references"], "-o", folder, "--overwrite"]
    assert run(*arguments, "--n-resamples", 99, *more) == 0
    return numbers_in(folder)


def numbers_in(folder):
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_captions(tmp_path_factory.mktemp("captions"), caption_rows())


@pytest.fixture(scope="module")
def comparison(files, tmp_path_factory):
    """Numbers of a comparison of three systems by 999 sign flips."""
    folder = tmp_path_factory.mktemp("report")
    numbers = compare_in(folder, files, "--n-resamples", 999, "--full", names=NAMES)
    assert (folder / "index.html").is_file()
    return numbers


def test_finds_what_the_systems_do(comparison):
    assert comparison["systems"] == list(NAMES)
    assert list(comparison["metrics"]) == ["trm_meteor_excess", "meteor", "trm_cider_excess", "cider_d"]
    pairs = {(pair["first"], pair["second"]): pair for pair in comparison["metrics"]["trm_meteor_excess"]["pairs"]}
    assert pairs["repeating", "base"]["better"] == "base"
    assert [found["system"] for found in comparison["against_people"] if found["p_value"] > 0.05] == ["base"] * 2
    assert len(comparison["exchangeable"]) == 2 * 3


def test_numbers_are_those_of_the_modules(comparison):
    rows = caption_rows()
    options = {"p_value": "exact", "n_resamples": 999, "confidence_level": 0.95, "details": True}
    columns = {"predictions": rows["repeating"], "references": rows["references"]}
    people = {(found["module"], found["system"]): found for found in comparison["against_people"]}
    for module, score in (("trm_meteor", "meteor"), ("trm_cider", "cider_d")):
        result = load(module).compute(**columns, **options)
        for key in (f"{module}_excess", score):
            metric = comparison["metrics"][key]
            assert metric["per_row"]["repeating"] == result[f"{key}_per_row"]
            assert metric["systems"]["repeating"]["mean"] == pytest.approx(result[key], abs=1e-12)
        found = people[module, "repeating"]
        expected = [result[f"{module}_{key}"] for key in ("corpus_p_value", "z", "excess_ci_low")]
        assert [found[key] for key in ("p_value", "z", "ci_low")] == expected
        assert comparison["signatures"]["repeating"][module] == result["signature"]


def test_exchange_puts_a_system_in_place_of_people(comparison):
    """CIDEr-D still counts people's captions as its documents."""
    rows = caption_rows()
    columns = {"predictions": rows["other"], "references": rows["base"]}
    plain, counted_elsewhere = (
        load(module).compute(**columns, p_value="exact", n_resamples=999) for module in ("trm_meteor", "trm_cider")
    )
    found = {(e["module"], e["first"], e["second"]): e for e in comparison["exchangeable"]}
    exchange = found["trm_meteor", "other", "base"]
    assert (exchange["p_value"], exchange["z"]) == (plain["trm_meteor_corpus_p_value"], plain["trm_meteor_z"])
    assert found["trm_cider", "other", "base"]["statistic"] != counted_elsewhere["trm_cider"]


def test_a_system_against_itself_with_shuffled_captions_and_rows(tmp_path):
    rows, rng = caption_rows(), np.random.default_rng(0)
    ids = [f"image {i}" for i in range(len(rows["base"]))]
    paths = write_captions(tmp_path, {"references": rows["references"], "mine": rows["base"]}, ids)
    order = rng.permutation(len(ids))
    shuffled = {"shuffled": [list(rng.permutation(rows["base"][i])) for i in order]}
    paths |= write_captions(tmp_path, shuffled, [ids[i] for i in order])
    numbers = compare_in(tmp_path, paths, "--full", names=("mine", "shuffled"))
    for metric in numbers["metrics"].values():
        (pair,) = metric["pairs"]
        test = pair["test"]
        assert (test["difference"], test["p_value"], test["n_equal"], pair["better"]) == (0.0, 1.0, len(ids), None)
    # A copy is nearer than a draw, so that the modules' own test would call the two different.
    exchanges = [(each["excess"], each["z"], each["p_value"]) for each in numbers["exchangeable"]]
    assert exchanges == [(0.0, 0.0, 1.0)] * 2
    # Nor are two systems that differ in a single row.
    rows["base"][0] = rows["other"][0]
    paths |= write_captions(tmp_path, {"mine": rows["base"]}, ids)
    numbers = compare_in(tmp_path, paths, "--full", names=("mine", "shuffled"))
    assert [each["p_value"] for each in numbers["exchangeable"]] == [None] * 2


@pytest.mark.parametrize(
    ("more", "beginning"),
    [("-f md", "Systems beside people"), ("-f latex", "% \\usepa"), ("--full", "rows to "), ("-f json", "{")],
)
def test_formats_go_to_standard_output(more, beginning, files, tmp_path, capsys):
    numbers = compare_in(tmp_path, files, "-m", "trm_meteor", *more.split())
    printed = capsys.readouterr().out
    assert printed.lstrip().startswith(beginning)
    assert "TRM-METEOR" in printed
    assert more != "-f json" or json.loads(printed) == numbers


def test_a_table_for_a_paper_is_one_with_values_intervals_marks_and_a_label(files, tmp_path, capsys):
    compare_in(tmp_path, files, "-m", "trm_meteor", "-f", "latex")
    table = capsys.readouterr().out
    assert [table.count(text) for text in (r"\begin{table*}", r"\caption{", r"\label{tab:systems}")] == [1] * 3
    header, _, values, intervals = table.partition("toprule\n")[2].splitlines()[:4]
    assert (header.count("&"), header.split("&")[-1].strip()) == (8, r"METEOR \\")
    assert values.split(" & ")[0].split() == ["base", "(a)"]
    assert r"\textbf{" in values
    assert intervals.count(r"{\scriptsize [") == 7
    assert table.count("    people & ") == 1


def test_a_report_is_shown_again_as_it_was_without_a_model_or_its_files(tmp_path, capsys):
    """In every form, in seconds with the start of Python, while `human-correlation` reads the same folder."""
    rows = caption_rows()
    files, folder = write_captions(tmp_path, rows), str(tmp_path / "report")
    call = [*(files[name] for name in NAMES), "-r", files["references"], "-m", "trm_cider", "--n-resamples", 99]
    printed, forms = {}, ("text", "md", "latex", "json")
    for form in forms:
        assert run(*call, "-o", folder, "--overwrite", "-f", form, "--full", "--distance", "cider") == 0
        printed[form] = capsys.readouterr().out
    for path in files.values():
        pathlib.Path(path).unlink()
    for form in forms:
        assert command_line.main(["compare", folder, "-f", form, "--full"]) == 0
        assert capsys.readouterr() == (printed[form], "")
    loaded = "[name for name in ('torch', 'evaluate', 'datasets', 'matplotlib') if name in sys.modules]"
    program = (
        f"import sys; from manycaps.commands.command_line import main; main({['compare', folder]!r}); print({loaded})"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert time.perf_counter() - start < MOST_SECONDS_AGAIN
    assert done.stdout.splitlines()[-1] == "[]"
    ratings = tmp_path / "ratings.csv"
    lines = [f"{name},image {i},{i % 5 + k}" for k, name in enumerate(NAMES) for i in range(len(rows["base"]))]
    ratings.write_text("\n".join(["system,id,rating", *lines]))
    assert command_line.main(["human-correlation", "--ratings", str(ratings), folder]) == 0
    assert "cider_d" in capsys.readouterr().out


@pytest.mark.slow
def test_figures_are_complete_without_the_page(files, tmp_path, capsys, drawn_plots):
    folder = tmp_path / "figures"
    compare_in(tmp_path / "report", files, "-m", "trm_meteor", "--figures", folder)
    drawn = {path.stem for path in folder.iterdir()}
    assert {"histograms", "map", "means-meteor", "rows-meteor", "people-trm_meteor"} <= drawn
    assert {path.name for path in folder.iterdir()} == {f"{name}.{kind}" for name in drawn for kind in ("svg", "pdf")}
    for name in drawn:
        svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
        assert "var(" not in svg
        assert "<text" not in svg, "letters are drawn, whatever fonts there are"
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    again = tmp_path / "again"
    assert command_line.main(["compare", str(tmp_path / "report"), "--figures", str(again)]) == 0
    assert {path.name for path in again.iterdir()} == {path.name for path in folder.iterdir()}
    capsys.readouterr()
    arguments = [files["base"], "-r", files["references"], "-o", tmp_path / "other", "--figures", folder]
    assert run(*arguments) == 2
    assert "--figures: expected a folder without figures, got " in capsys.readouterr().err


def test_corpus_values_are_those_of_coco_eval(tmp_path):
    """BLEU-4 and METEOR of the corpus, and not the means of single captions, which have their own names."""
    rows = {name: each if name == "references" else [row[:1] for row in each] for name, each in caption_rows().items()}
    numbers = compare_in(tmp_path, write_captions(tmp_path, rows), "-m", "coco_caption", names=NAMES)
    annotations = {
        "images": [{"id": i} for i in range(len(rows["references"]))],
        "annotations": [{"image_id": i, "caption": text} for i, row in enumerate(rows["references"]) for text in row],
    }
    coco = CaptionFile(annotations)
    for name in NAMES:
        results = coco.loadRes([{"image_id": i, "caption": caption} for i, [caption] in enumerate(rows[name])])
        evaluated = COCOEvalCap(coco, results)
        evaluated.evaluate()
        for key in ("Bleu_4", "METEOR"):
            system_values = numbers["metrics"][key]["systems"][name]
            assert system_values["corpus"] == evaluated.eval[key]
            assert system_values["mean"] == pytest.approx(np.mean(numbers["metrics"][key]["per_row"][name]))
            assert system_values["mean"] != system_values["corpus"]
        assert "corpus" not in numbers["metrics"]["CIDEr"]["systems"][name]


def test_clusters_of_ids_and_single_captions(tmp_path):
    rows = caption_rows()
    paths = write_captions(tmp_path, rows, [f"{i // 2}#{i % 2}" for i in range(len(rows["base"]))])
    numbers = compare_in(tmp_path, paths, "-m", "trm_meteor", "--clusters", "^[^#]+")
    assert (numbers["n_rows"], numbers["n_clusters"]) == (12, 6)
    single = {name: [row[:1] for row in rows[name]] for name in ("base", "other")} | {"references": rows["references"]}
    numbers = compare_in(tmp_path, write_captions(tmp_path, single), "-m", "trm_meteor")
    assert numbers["exchangeable"] == []
    assert list(numbers["metrics"]) == ["trm_meteor_excess", "meteor"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("base.jsonl bad/fewer.jsonl -r references.jsonl", "bad/fewer.jsonl"),
        ("base.jsonl bad/twice.jsonl -r references.jsonl", "bad/twice.jsonl, id 'b': "),
        ("base.jsonl other.jsonl -r bad/references.jsonl", "base.jsonl, id 'd': "),
        ("base.jsonl none.jsonl -r references.jsonl", "none.jsonl: expected"),
        (
            "base.jsonl other.jsonl",
            "systems: expected references, images or videos to compare captions by, got captions alone.",
        ),
        (
            "base.jsonl other.jsonl -r references.jsonl -m bleu",
            "--metrics: expected some of trm_meteor, meteor15, trm_cider, trm_bert, mmd_bert",
        ),
        (
            "base.jsonl other.jsonl -r references.jsonl --clusters (",
            "--clusters: expected a regular expression, got '(' (",
        ),
    ],
)
def test_bad_input_ends_with_one_line(tmp_path, monkeypatch, capsys, line, message):
    monkeypatch.chdir(tmp_path)
    rows, ids = caption_rows(4), list("abcd")
    write_captions(tmp_path, rows, ids)
    (tmp_path / "bad").mkdir()
    write_captions(tmp_path / "bad", {"fewer": rows["base"][:3], "references": rows["references"][:3]}, ids[:3])
    write_captions(tmp_path / "bad", {"twice": rows["base"]}, ["a", "b", "b", "d"])
    assert run(*line.split(), "-o", "report") in (1, 2)
    # Progress bars erase themselves.
    error = capsys.readouterr().err.rpartition("\r")[2]
    assert error.startswith(message)
    assert error.count("\n") == 1, error
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_a_page_on_many_rows_is_small_and_made_in_time():
    """Scores of 5 systems on 10,000 rows by 6 metrics, with captions: 60 paired tests."""
    rng, n_rows, names = np.random.default_rng(0), 10_000, ["base", "b", "c", "d", "e"]
    keys = ["trm_meteor_excess", "meteor", "trm_cider_excess", "cider_d", "pac_score", "ref_pac_score"]
    systems = [
        ScoredSystem(name, {key: rng.normal(0.3 + 0.002 * i, 0.2, n_rows) for key in keys}, {})
        for i, name in enumerate(names)
    ]
    captions = caption_rows(200, 10)["references"]
    rows = [
        SystemRow(str(i), {name: captions[(i + k) % 200] for k, name in enumerate(names)}, captions[i % 200][:5])
        for i in range(n_rows)
    ]
    start = time.perf_counter()
    page = write_page(compared_systems(systems, rows))
    assert time.perf_counter() - start < MOST_SECONDS
    assert len(page.encode()) < MOST_BYTES


def score(files, name, folder, metrics, *options):
    arguments = ["-i", files[name], "-r", files["references"], "-o", str(folder), "-m", metrics]
    assert command_line.main(["score", *arguments, *(word for each in options for word in ("--option", each))]) == 0
    return str(folder)


def test_folders_of_scores_give_the_numbers_of_the_captions(files, comparison, tmp_path):
    """What `manycaps score` wrote is compared as it stands; what takes the captions is left out, or they are read."""
    options = [f"trm_{name}.{value}" for name in ("meteor", "cider") for value in ("p_value=exact", "n_resamples=999")]
    options += ["confidence_level=0.95", "human_parity.distance=meteor"]
    folders = [score(files, name, tmp_path / name, "trm_meteor,trm_cider,human_parity", *options) for name in NAMES]
    line = [*folders, "-o", tmp_path / "report", "--n-resamples", 999]
    assert run(*line) == 0
    numbers = numbers_in(tmp_path / "report")
    assert numbers["exchangeable"] == numbers["human_parity"]["shared_answers"] == []
    assert numbers["human_parity"]["systems"] == comparison["human_parity"]["systems"]
    same = ("systems", "ids", "metrics", "against_people", "correlations")
    assert {key: numbers[key] for key in same} == {key: comparison[key] for key in same}
    assert run(*line, "--with-captions", "--overwrite", "--full") == 0
    numbers = numbers_in(tmp_path / "report")
    same = (*same, "exchangeable")
    assert {key: numbers[key] for key in same} == {key: comparison[key] for key in same}
    assert numbers["human_parity"]["shared_answers"] == comparison["human_parity"]["shared_answers"] != []
    assert caption_rows()["base"][0][0] in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("joined", [1, 3], ids=["one sentence", "three sentences"])
def test_folders_of_scores_know_the_sentences_of_texts(joined, tmp_path):
    """Faults, lengths and unsupported sentences as of the captions, in whatever order a folder has its rows."""

    def texts(rows):
        return [[". ".join([row[0], *row[1:joined]]).capitalize() + "."] * 1 + row[joined:] for row in rows]

    rows = {name: texts(each) for name, each in caption_rows(24, 6).items()}
    ids = [f"image {i}" for i in range(24)]
    files = write_captions(tmp_path, rows, ids)
    order = np.random.default_rng(0).permutation(24)
    moved = write_captions(tmp_path, {"moved": [rows["other"][i] for i in order]}, [ids[i] for i in order])
    folders = [
        score(files | moved, name, tmp_path / "scores" / name, "human_parity", "human_parity.distance=meteor")
        for name in ("base", "moved")
    ]
    of_captions = compare_in(tmp_path / "captions", files | moved, "-m", "human_parity", names=("base", "moved"))
    assert run(*folders, "-o", tmp_path / "folders", "--with-captions", "--n-resamples", 99) == 0
    for name in ("base", "moved"):
        expected, found = (
            numbers["human_parity"]["systems"][name] for numbers in (of_captions, numbers_in(tmp_path / "folders"))
        )
        for key in (
            "faults",
            "unsupported_share",
            "odd_wording_share",
            "repeated_share",
            "words_per_text",
            "omitted_share",
        ):
            assert found[key] == pytest.approx(expected[key], abs=1e-12), key
        assert found["unsupported_p_value"] == expected["unsupported_p_value"]
    pages = [(tmp_path / name / "index.html").read_text(encoding="utf-8") for name in ("captions", "folders")]
    assert pages[0].count("nearest") == pages[1].count("nearest")


def test_captions_that_are_gone_or_changed_are_refused(tmp_path, capsys):
    files = write_captions(tmp_path, caption_rows(4))
    folders = [score(files, name, tmp_path / "scores" / name, "trm_meteor") for name in ("base", "other")]
    path = tmp_path / "other.jsonl"
    content = path.read_bytes()
    for change, got in ((lambda: path.write_bytes(content + b"\n"), "another one"), (path.unlink, "none")):
        change()
        assert run(*folders, "-o", tmp_path / "report", "--with-captions") == 1
        assert capsys.readouterr().err.strip().splitlines()[-1] == (
            f"{folders[1]}: expected the file {path} that it was scored from, got {got}. Compare the files of captions "
            "in place of the folders, or leave --with-captions out."
        )
    assert run(files["base"], files["references"], "-o", tmp_path / "report", "--with-captions") == 2


def test_tokenizers_and_languages_by_name(tmp_path):
    texts = segments("de", 12)
    captions = [[text] for text, _ in texts]
    rows = {"first": captions, "second": captions[1:] + captions[:1], "references": [others for _, others in texts]}
    options = ["-m", "meteor15,bleu_rouge", "--option", "tokenizer=intl", "--option", "language=de"]
    found = compare_in(tmp_path, write_captions(tmp_path, rows), *options, names=("first", "second"))["metrics"]
    for module, key, options in (("meteor15", "meteor15", {"language": "de"}), ("bleu_rouge", "bleu_4", {})):
        expected = load(module, tokenizer="intl", details=True, **options).compute(
            predictions=captions, references=rows["references"]
        )
        assert found[key]["per_row"]["first"] == expected[f"{key}_per_row"]
