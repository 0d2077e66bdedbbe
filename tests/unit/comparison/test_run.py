"""compare(): files of new users and of shared tasks, what is said, shown, saved and refused."""

import dataclasses
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from PIL import Image

from manycaps.commands import list as list_command
from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.metric_words import people_table, system_table
from manycaps.comparison.module_scores import CaptionScores
from manycaps.comparison.page import row_gain
from manycaps.comparison.parity_scores import NOT_ENGLISH, looks_english, note_of_language
from manycaps.comparison.read import DRAWN, MOST_SYSTEMS, SystemRow, name_systems, read_systems
from manycaps.files.saved_files import sole_output
from manycaps.kit.module import VERSION
from manycaps.scoring import ScoreOptions
from manycaps.scoring import score as score_files
from tests.comparison_cases import caption_rows, write_captions, write_page
from tests.language_captions import PARTS, segments
from tests.modules.sample_inputs import small_meteor15_data
from tests.refusals import assert_refused
from tests.tools import ROOT, write_jsonl
from tests.user_files import IDS, PEOPLE, SYSTEM, faults, in_cells, layouts, people_and_system, write_lines, write_table

pytestmark = pytest.mark.usefixtures("undrawn_plots")


def options_of(files, second="other", **more):
    """Options that compare two of `caption_rows` by CIDEr-D, unless others are given."""
    options = {"metrics": ["trm_cider"], "distance": "cider", "n_resamples": 99} | more
    return CompareOptions([files["base"], files[second]], [files["references"]], **options)


def test_what_a_notebook_gets(tmp_path):
    files = write_captions(tmp_path, caption_rows(6))
    columns = {"predictions": "captions"}
    comparison = compare(options_of(files, names=["<one>", "two"], columns=columns, distance=None))
    numbers = comparison.to_dict()
    assert (numbers["systems"], numbers["n_rows"]) == (["<one>", "two"], 6)
    assert list(numbers["metrics"]) == ["trm_cider_excess", "cider_d"]
    shown = comparison._repr_html_()
    assert shown.count("<table>") == shown.count("</table>") == 4
    assert "<td>two (b)</td>" in shown
    assert "&lt;one&gt; (a)" in shown
    assert "<one>" not in shown
    assert len(shown) < 10_000
    comparison.save(tmp_path / "new" / "report")
    assert json.loads((tmp_path / "new" / "report" / "comparison.json").read_text(encoding="utf-8")) == numbers
    assert (tmp_path / "new" / "report" / "index.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"references": "r.jsonl"}, 'references: expected a list of strings, got \'r.jsonl\'. Give ["a", "b"].'),
        ({"seed": 0.5}, "--seed: expected a whole number, got float."),
    ],
)
def test_options_are_checked_before_a_file_is_read(options, message):
    assert_refused((TypeError, ValueError), message, CompareOptions, ["a.jsonl", "b.jsonl"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"captions": "text"}}, "columns: expected roles out of predictions, references, id, image"),
        (
            {"options": {"best_of": True}},
            "--option best_of: expected an option of trm_cider, human_parity, got none of these. They have batch_size,",
        ),
        (
            {"options": ["meteor15.language=de"]},
            "--option meteor15.language: expected an option of trm_cider, human_parity, got none of these",
        ),
        (
            {"options": ["seed=1"]},
            "--option seed: expected an option of trm_cider, human_parity, got one that the command decides itself",
        ),
        ({"options": ["best"]}, "--option best: expected [MODULE.]NAME=VALUE, got no equals sign."),
        (
            {"encoder": "x"},
            "--encoder: expected a distance or a metric that takes it, got --distance cider and trm_cider",
        ),
        (
            {"device": "cpu"},
            "--device: expected a distance or a metric that takes it, got --distance cider and trm_cider",
        ),
        (
            {"options": {"meteor15_data": "x"}},
            "--option meteor15_data: expected a distance or a metric that takes it, got --distance cider",
        ),
    ],
)
def test_an_option_that_no_metric_takes_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError) as found:
        compare(options_of(write_captions(tmp_path, caption_rows(3)), **options))
    assert str(found.value).startswith(message)


def test_the_best_caption_of_each_row_beside_the_mean(tmp_path):
    """Of files of captions and of folders of scores alike; a system of one caption has the same numbers twice."""
    files, data = write_captions(tmp_path, caption_rows(6)), str(small_meteor15_data())
    columns, names = {"predictions": "captions"}, ["base", "repeating"]
    chosen = {"metrics": ["coco_caption"], "columns": columns}
    chosen["options"] = {"meteor15_data": data, "coco_caption.best_of": True}
    numbers = compare(options_of(files, "repeating", **chosen)).to_dict()["metrics"]
    singles = ["CIDEr", "METEOR", "Bleu_4", "ROUGE_L"]
    assert list(numbers) == [*singles, *(f"{key}_best_of" for key in singles)]
    for key in singles:
        mean, best = (numbers[each]["systems"] for each in (key, f"{key}_best_of"))
        assert mean["base"]["mean"] < best["base"]["mean"]
        assert mean["repeating"]["mean"] == pytest.approx(best["repeating"]["mean"], abs=1e-15)
    folders = [str(tmp_path / f"scored_{name}") for name in names]
    for name, folder in zip(names, folders, strict=True):
        given = {"coco_caption": {"best_of": True, "meteor15_data": data}}
        inputs = {"inputs": [files[name]], "references": [files["references"]], "output": pathlib.Path(folder)}
        score_files(ScoreOptions(given, **inputs, columns=columns, processes=1))
    folders_comparison = compare(CompareOptions(folders, names=names, metrics=["coco_caption"], n_resamples=99))
    assert folders_comparison.to_dict()["metrics"] == numbers


def files_with_images(folder, image):
    """Two systems whose first row has an image that nobody can read, and references."""
    rows = caption_rows(4)
    files = {name: folder / f"{name}.jsonl" for name in ("base", "other")}
    for name, path in files.items():
        images = [image, *(f"COCO_{i}.jpg" for i in range(1, 4))]
        lines = [
            {"image_id": i, "caption": captions[0], "image": each}
            for i, (captions, each) in enumerate(zip(rows[name], images, strict=True))
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    people = write_captions(folder, {"references": rows["references"]}, [str(i) for i in range(4)])
    return [str(path) for path in files.values()], [people["references"]]


@pytest.mark.parametrize("image", ["COCO_1.jpg", 42, None, "\udc80"])
def test_a_column_of_images_that_nobody_asked_for_runs_no_network_and_refuses_no_row(image, tmp_path):
    systems, references = files_with_images(tmp_path, image)
    comparison = compare(CompareOptions(systems, references, n_resamples=99, distance="cider"))
    assert set(comparison.result.signatures["base"]) == {"human_parity", "trm_meteor", "trm_cider"}
    # Rows of one image still belong together.
    assert comparison.result.n_clusters == (3 if image == "COCO_1.jpg" else 4)
    comparison.save(tmp_path / "report")
    assert "<img" not in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{"metrics": ["pac_score"]}, {"images": "photos"}])
def test_a_column_of_images_that_is_asked_for_has_one_in_every_row(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    systems, references = files_with_images(tmp_path, 42)
    with pytest.raises(ValueError) as found:
        compare(CompareOptions(systems, references, **options))
    assert "image[0]: expected a path or the bytes of a file, got int (42)." in str(found.value)


def test_two_comparisons_into_one_folder_at_a_time_are_refused(tmp_path, capsys):
    files = write_captions(tmp_path, caption_rows(4))
    call = ["compare", files["base"], files["other"], "-r", files["references"], "-m", "trm_cider"]
    call += ["--distance", "cider", "-o"]
    folder = tmp_path / "report"
    with sole_output(folder):
        assert main([*call, str(folder), "--overwrite"]) == 1
        assert capsys.readouterr().err == (
            f"'{folder}': expected a folder that no other run writes to, got one that is in use. Wait for that run, or "
            "give another.\n"
        )
    assert main([*call, str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.json", "index.html", "shown.json"]
    # A run that fails leaves no folder of its own.
    assert main([*call, str(tmp_path / "new"), "--clusters", "no such id"]) == 2
    assert not (tmp_path / "new").exists()


def test_how_captions_were_sampled_is_in_signatures_and_page(tmp_path):
    """Equal captions name the command that samples."""
    files = write_captions(tmp_path, caption_rows(6))
    settings = {"model": "my-captioner", "revision": "abc", "temperature": 0.7, "prompt": None, "transformers": "5.0"}
    (tmp_path / (files["repeating"] + ".settings")).write_text(json.dumps(settings))
    comparison = compare(options_of(files, "repeating"))
    base, other = comparison.to_dict()["signatures"].values()
    line = f"sample|version:{VERSION}|model:my-captioner|revision:abc|temperature:0.7|transformers:5.0"
    assert (other["sample"], "sample" in base) == (line, False)
    comparison.save(tmp_path / "report")
    assert line in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    (tmp_path / (files["repeating"] + ".settings")).unlink()
    for n_captions, size in ((3, "all 3"), (2, "both")):
        files = write_captions(tmp_path, caption_rows(6, n_captions))
        assert [note for note in compare(options_of(files, "repeating")).words.notes if "equal" in note] == [
            f"repeating: {size} captions of a row are equal; `manycaps sample` draws different ones"
        ]


@pytest.mark.parametrize(("n_rows", "clusters", "n_notes"), [(4, None, 1), (4, ".*", 0), (5, None, 0)])
def test_p_values_beside_people_of_few_rows_are_said_to_be_too_small(n_rows, clusters, n_notes, tmp_path):
    comparison = compare(options_of(write_captions(tmp_path, caption_rows(n_rows)), clusters=clusters))
    note = f"are right from 5 rows on, and there are {n_rows}: small ones are too small."
    assert sum(note in said for said in comparison.to_dict()["notes"]) == n_notes
    assert " ".join(comparison.write().split()).count(note) == n_notes


ONE_ROW = {"one row": (1, {}), "one row drawn": (8, {"limit": 1}), "one cluster": (8, {"clusters": "image"})}


@pytest.mark.slow
@pytest.mark.parametrize("second", ["other", "repeating"])
@pytest.mark.parametrize("case", ONE_ROW)
def test_two_systems_on_one_row_or_cluster_are_compared_through_every_door(case, second, tmp_path):
    """Nothing can be tested, which is said, and nothing is marked."""
    n_rows, more = ONE_ROW[case]
    chosen = {"distance": "meteor", "metrics": ["bleu_rouge"], **more}
    comparison = compare(options_of(write_captions(tmp_path, caption_rows(n_rows)), second, **chosen))
    texts = [comparison.write(form, full=full) for form in ("text", "md", "latex", "json") for full in (False, True)]
    comparison.save(tmp_path / "report")
    comparison.save_figures(tmp_path / "figures")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    for text in (*texts, page, comparison._repr_html_()):
        assert second in text
        assert not re.search("not shown to be worse|the best one", text)
    assert f"{second} and base: no difference detected" in " ".join(texts[0].split())


def test_cider_d_is_compared_as_trm_cider_gives_it(tmp_path):
    """Of captions and of folders of scores, by itself and beside the module that has it, too."""
    files = write_captions(tmp_path, caption_rows(8))
    expected = compare(options_of(files)).to_dict()["metrics"]["cider_d"]
    assert expected["direction"] == "higher is better"
    for metrics in (["cider_d"], ["cider_d", "trm_cider"]):
        comparison = compare(options_of(files, metrics=metrics))
        found = comparison.to_dict()["metrics"]["cider_d"]
        assert found["direction"] == "higher is better"
        for name, values in expected["per_row"].items():
            assert found["per_row"][name] == pytest.approx(values, rel=1e-12)
        assert found["pairs"][0]["better"] == expected["pairs"][0]["better"] == "base"
        assert list(comparison.to_dict()["metrics"]) == [*(["trm_cider_excess"] if metrics[1:] else []), "cider_d"]
    folders = []
    for name in ("base", "other"):
        folders.append(str(tmp_path / f"scored_{name}"))
        inputs = {"inputs": [files[name]], "references": [files["references"]], "output": pathlib.Path(folders[-1])}
        score_files(ScoreOptions({"cider_d": {}}, **inputs, columns={"predictions": "captions"}, processes=1))
    of_folders = compare(CompareOptions(folders, names=["base", "other"], n_resamples=99)).to_dict()["metrics"]
    assert of_folders["cider_d"]["systems"]["base"]["mean"] == pytest.approx(expected["systems"]["base"]["mean"])


@pytest.mark.parametrize(
    ("metric", "end"), [("cider", "Take cider_d"), ("set_diversity", "None of its values"), ("x", "")]
)
def test_a_metric_that_cannot_be_compared_by_is_refused_before_a_file_is_read(metric, end):
    message = f"--metrics: expected some of trm_meteor, .*, cider_d, .*, got '{metric}'.*{end}"
    with pytest.raises(ValueError, match=message):
        compare(CompareOptions(["no_such_file.jsonl"], ["nor_this.jsonl"], metrics=["meteor15", metric]))


def test_metrics_that_were_asked_for_have_a_line_each_without_full(tmp_path):
    files = write_captions(tmp_path, caption_rows(12))
    lines = compare(options_of(files, metrics=["bleu_rouge", "trm_cider"])).write().splitlines()
    said = [line for line in lines if re.match(r"- [\w-]+( excess)? \((higher|nearer)", line)]
    assert [line.split(" (")[0] for line in said] == ["- TRM-CIDEr excess", "- CIDEr-D", "- BLEU-4", "- ROUGE-L"]
    assert len(lines) <= 26
    # The tables of --full, and defaults that nobody asked for, have none.
    for more, full in (({"metrics": ["bleu_rouge"]}, True), ({"metrics": None}, False)):
        assert "(higher is better): " not in compare(options_of(files, **more)).write(full=full)


# `manycaps compare` on the files of a new user: what is said of them, once, in the terminal and on the page.


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with files of every layout and fault, and of systems that repeat themselves or are wrong."""
    monkeypatch.chdir(tmp_path)
    people_and_system(tmp_path)
    layouts(tmp_path)
    faults(tmp_path)
    write_lines(tmp_path / "repeating.jsonl", [[row[0]] * 5 for row in SYSTEM])
    write_lines(tmp_path / "mixed.jsonl", [[*SYSTEM[i][:1], *SYSTEM[i - 1][1:]] for i in range(len(SYSTEM))])
    for name, rows in (("people", PEOPLE), ("system", SYSTEM), ("repeating", [SYSTEM[0]] * len(SYSTEM))):
        write_lines(tmp_path / f"{name}_twice.jsonl", rows * 2, [f"{i}.wav" for i in range(2 * len(rows))])
    return tmp_path


def run(line):
    """Compare files with people.jsonl, if the line names no other references, by METEOR."""
    people = "" if "-r " in line else " -r people.jsonl"
    return main(["compare", *f"{line}{people} -o report --distance meteor --overwrite".split()])


def page_of(folder):
    return (folder / "report" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("system.jsonl empties.jsonl", "empties.jsonl: 6 of 70 captions are empty, in 3 rows."),
        ("system.jsonl short.jsonl --common-rows", "4 of 14 rows are left out: not every file has them."),
        (
            "system.jsonl shifted.jsonl -r one_reference.jsonl -m trm_cider",
            "Captions are compared with human ones by wording alone: their meaning takes two references or more in "
            "every row, and 14 of 14 have one. Systems are compared with each other, by TRM-CIDEr, CIDEr-D.",
        ),
        (
            "system.jsonl leak.jsonl",
            "leak and system are not compared: captions of leak also occur among the references.",
        ),
    ],
)
def test_what_is_said_of_files_is_said_once_on_screen_and_page(folder, capsys, line, sentence):
    assert run(line) == 0
    said = capsys.readouterr()
    # Lines break where the path of the folder makes them too long.
    assert " ".join((said.out + said.err).split()).count(sentence) == 1
    assert page_of(folder).count(sentence) == 1
    if "short" in line:
        numbers = json.loads((folder / "report" / "comparison.json").read_text(encoding="utf-8"))
        assert (numbers["ids"], numbers["notes"]) == (IDS[:10], [sentence])
    if "leak" in line:
        assert re.search(r"leak: .*100% copied\.", " ".join(said.out.split()))
        assert "of its captions also occur among the references of their row (people 0%)" in page_of(folder)


@pytest.mark.parametrize("option", ["", "--common-rows"])
def test_rows_that_differ_are_an_error_that_names_the_option(option, folder, capsys):
    others = [["x", "a dog", "a cat"], *([] if option else [[IDS[0], "a dog", PEOPLE[0][0]]])]
    write_table(folder / "others.csv", ["id", "caption", "reference"], others)
    write_table(folder / "mine.csv", ["id", "caption", "reference"], [[IDS[0], "a dog", PEOPLE[0][0]]])
    assert main(["compare", "mine.csv", "others.csv", "-o", "report", *option.split()]) != 0
    message = f"others.csv: expected ids that mine.csv has, such as {IDS[0]!r}, got none of these in 1 row, the first "
    assert (message if option else "or compare those that all have: --common-rows.") in capsys.readouterr().err


def test_columns_may_be_named_for_one_file(folder):
    mine = in_cells(folder / "mine.csv", json.dumps)
    (folder / "odd.csv").write_text((folder / "mine.csv").read_text().replace("id,captions", "clip,answers"))
    assert run(f"{mine} odd.csv --columns odd.csv:id=clip,odd.csv:predictions=answers") == 0
    assert run(f"{mine} system.jsonl --columns nowhere.csv:id=clip") == 2


def test_wrong_captions_are_never_painted_as_nearer_to_people():
    """Four wrong captions of five have an excess nearer to 0 than five: that is no merit."""
    options = CompareOptions(
        ["shifted.jsonl", "mixed.jsonl"], references=["people.jsonl"], metrics=["trm_cider"], distance="meteor"
    )
    compared = compare(options).result
    (key, excess), (score_key, score) = compared.metrics.items()
    is_unlike, is_other_unlike = (np.array(compared.shown.p_values[key][name]) <= 0.05 for name in ("mixed", "shifted"))
    assert sum(is_unlike & (np.abs(excess.per_row["mixed"]) < np.abs(excess.per_row["shifted"]))) >= 5
    gains = [[row_gain(compared, k, "mixed", "shifted", i) for i in range(len(SYSTEM))] for k in (key, score_key)]
    assert gains[0] == (1 * is_other_unlike - is_unlike).tolist()
    assert gains[1] == np.sign(np.subtract(score.per_row["mixed"], score.per_row["shifted"])).tolist()
    cells = re.findall(r'<span class="((?:above|below|equal)[^"]*)">', write_page(compared))
    for metric_gains, painted in zip(gains, (cells[::2], cells[1::2]), strict=True):
        assert sum("nearer" in kinds for kinds in painted) == metric_gains.count(1)
        assert sum("farther" in kinds for kinds in painted) == metric_gains.count(-1)


def test_what_cannot_be_tested_has_no_p_value_of_1():
    """Sets of one candidate and one reference have no test; beside a small p of the answer, 1 would contradict it."""
    options = CompareOptions(["system.jsonl", "shifted.jsonl"], references=["people.jsonl"], metrics=["trm_cider"])
    compared = compare(options).result
    untested = [dataclasses.replace(each, p_value=1.0, smallest_p_value=1.0) for each in compared.against_people]
    compared = dataclasses.replace(compared, against_people=untested)
    assert [row[-2].text for row in people_table(compared).rows] == ["not testable"] * 2
    assert [row[2].text for row in system_table(compared).rows] == ["not testable"] * 2


@pytest.mark.parametrize("n_captions", [1, 3])
def test_single_references_leave_the_wording(n_captions, tmp_path, capsys):
    """Words in another order are found, with their captions, and metrics compare the systems."""
    scenes = [(animal, place) for animal in ("dog", "cat", "cow", "pig") for place in ("beach", "street", "lawn")]
    good = [[f"a {a} runs on the {p}", f"the {a} is on a {p}", f"a {a} is on the {p}"][:n_captions] for a, p in scenes]
    broken = [[" ".join(reversed(caption.split())) for caption in row] for row in good]
    references = [[f"the {animal} runs on a {place}"] for animal, place in scenes]
    files = write_captions(tmp_path, {"good": good, "broken": broken, "references": references})
    output = str(tmp_path / "out")
    assert main(["compare", files["good"], files["broken"], "-r", files["references"], "-o", output]) == 0
    printed, page = capsys.readouterr().out, (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for text in (printed, page):
        assert "by wording alone" in " ".join(text.split())
        assert re.search("broken has more faults than good|broken and good differ", text)
    assert re.search(r'row\d*|image \d+: "[a-z ]+ the"', printed), "an odd caption is shown"
    assert ("BLEU-4" if n_captions == 1 else "TRM-METEOR") in printed
    numbers = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))["human_parity"]
    gaps = {name: system["wording_gap"] for name, system in numbers["systems"].items()}
    assert gaps["broken"] < gaps["good"] - 1, "words in another order than people's"
    assert numbers["systems"]["broken"]["unlike_people_share"] is None
    assert numbers["systems"]["broken"]["adjusted_p_value"] < 0.05
    few = write_captions(tmp_path, {"good": good[:9], "references": references[:9]})
    assert main(["compare", few["good"], "-r", few["references"], "-o", output, "--overwrite"]) == 0
    assert "Human parity is not tested" in capsys.readouterr().out


def test_one_system_is_compared_with_people(folder, capsys):
    assert run("shifted.jsonl --full -m trm_cider,bleu_rouge") == 0
    printed, page = capsys.readouterr().out, page_of(folder)
    assert re.search(r"\n- shifted: Differs from people \(p < 0\.001\)\. \d+% unsupported", printed)
    for text in ("shifted (a)", "best one", "baseline", "Two systems differ", "difference to", "pairs-beside"):
        assert text not in printed + page, text
    assert "shifted on 14 rows." in page
    assert '"first"' not in (folder / "report" / "comparison.json").read_text(encoding="utf-8")


def test_screen_page_and_map_show_the_same_numbers_and_the_captions_behind_them(folder, capsys):
    assert run("system.jsonl repeating.jsonl shifted.jsonl --full") == 0
    printed, page = capsys.readouterr().out, page_of(folder)
    # The answer has the table once, also with --full.
    [table] = re.findall(r"(?m)^(?:system .*duplicates)\n(?:.+\n)+", printed)
    described = page.partition('data-plot="map"')[0].rpartition("aria-label=")[2]
    for line in table.splitlines()[1:4]:
        name, faults, *_, duplicates = re.split(r"  +", line)
        share, duplicates = faults.partition(" [")[0].rstrip("*"), duplicates.partition(" [")[0].rstrip("*")
        assert re.search(rf">{share}</span> \[{faults.partition('[')[2][:-1]}\]<", page), line
        assert f">{duplicates}<" in page, line
        assert f"{name}: faults {share}, rows to detect " in described
    screen = printed.partition("\n\nMeans over rows")[0]
    assert max(map(len, screen.splitlines())) <= 100
    system_lines = dict(re.findall(r"(?m)^- (\w+): .*\n((?:  .*\n)+)", screen))
    wrong = re.findall(r'  (\S+): "(.*?)…?"; people: "(.*?)…?"\n', system_lines["shifted"])
    assert len(wrong) == 3
    for name, caption, reference in wrong:
        row = IDS.index(name)
        assert any(each.startswith(caption) for each in SYSTEM[(row + 1) % len(SYSTEM)])
        assert PEOPLE[row][0].startswith(reference)
    assert re.search(r'  \d+\.wav: ".*" twice\n', system_lines["repeating"])
    for i in range(3):
        for kind in ("unlike", "alike"):
            rows = page.partition(f'<table id="table-{kind}-of-{i}">')[2].partition("</table>")[0]
            # A caption that is said again counts once: of 100 places, 14 captions and ten pairs are left.
            assert rows.count("<tr>") - 1 == {("unlike", 1): 14, ("alike", 1): 10}.get((kind, i), 20)
            assert page.count(f'href="#{kind}-of-{i}"') == page.count(f'id="{kind}-of-{i}"') == 1
    # Without --full it fits a terminal.
    assert run("system.jsonl repeating.jsonl shifted.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 100
    assert (lines[2].split()[0], lines[5].split()[0]) == ("system", "people")
    assert sum('; people: "' in line or '" twice' in line for line in lines) >= 3


def test_captions_on_the_page_have_their_images(folder):
    ids = [f"{i}.png" for i in range(len(SYSTEM))]
    (folder / "images").mkdir()
    for i, name in enumerate(ids):
        Image.new("RGB", (8, 8), (10 * i, 0, 0)).save(folder / "images" / name)
    rows = {"people": PEOPLE, "system": SYSTEM, "shifted": [*SYSTEM[1:], SYSTEM[0]]}
    people, *systems = [write_lines(folder / f"{name}.jsonl", rows[name], ids) for name in rows]
    options = CompareOptions(systems, references=[people], images="images", metrics=["trm_cider"], distance="meteor")
    table = write_page(compare(options).result).partition('<table id="table-unlike-of-1">')[2].partition("</table>")[0]
    shown = re.findall(r'<th scope="row">(\S+)<br><img src="(data:image/[^"]+)"', table)
    assert len(shown) == 20
    assert len(set(shown)) == len(dict(shown)) == len(set(dict(shown).values())), "a picture of its own for each row"


def test_rows_of_one_image_are_said(capsys):
    assert run("system_twice.jsonl repeating_twice.jsonl -r people_twice.jsonl") == 0
    assert "14 of 28 rows have the references of an earlier row" in capsys.readouterr().err


@pytest.mark.parametrize("language", [*PARTS])
def test_captions_that_are_not_english_are_noticed(language):
    assert not looks_english(caption for caption, _ in segments(language, 50))


def test_english_captions_are_english():
    assert looks_english(caption for row in PEOPLE for caption in row)
    assert looks_english(["dog barking", "wind blowing hard"])
    rows = [SystemRow("1", {}, ["ein Hund am Strand", "der Hund ist nass"])]
    assert note_of_language(rows, "bert", None) == NOT_ENGLISH
    assert [note_of_language(rows, *given) for given in (("meteor", None), ("bert", "mine"))] == ["", ""]


@pytest.mark.slow
def test_compare_names_an_encoder_for_captions_that_are_not_english(folder, capsys):
    captions = [caption for caption, _ in segments("de", 60)]
    rows = [captions[i : i + 2] for i in range(0, 60, 2)]
    files = {"people": rows[:10], "a": rows[10:20], "b": rows[20:30]}
    people, *systems = [write_lines(folder / f"{name}.jsonl", files[name], IDS[:10]) for name in files]
    assert main(["compare", *systems, "-r", people, "-o", "report", "-m", "trm_cider"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(NOT_ENGLISH) == 1


def test_each_warning_is_one_line_and_said_once(monkeypatch, capsys):
    def warn(_):
        for number in (1, 1, 2):
            warnings.warn(f"warning {number}", stacklevel=1)
            logging.getLogger("manycaps.kit").warning("model %d", number)

    monkeypatch.setattr(list_command, "run", warn)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's
    assert main(["list"]) == 0
    expected = ["manycaps list: warning 1", "model 1", "manycaps list: warning 2", "model 2"]
    assert capsys.readouterr().err.splitlines() == expected


# What compare() does around the comparison: the state of other libraries, names, limits, and progress.

# What a notebook may see of other libraries; FIRST runs before they are imported, and CALLS one after the other.
STATE = """
import gc, importlib, json, os, sys
import manycaps
from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.parity_plan import PlanOptions, plan
from manycaps.scoring import ScoreOptions, score
FIRST
import evaluate, nltk.classify, transformers
from transformers.utils import import_utils
evaluator = importlib.import_module("evaluate.evaluator")
def state():
    return {
        "bars": evaluate.utils.logging.is_progress_bar_enabled(),
        "evaluator": [evaluator.TRANSFORMERS_AVAILABLE, sorted(evaluator.SUPPORTED_EVALUATOR_TASKS)],
        "sklearn": [import_utils.is_sklearn_available(), hasattr(nltk.classify, "SklearnClassifier")],
        "hidden": [name for name, module in sys.modules.items() if module is None and "." not in name],
        "variables": {name: value for name, value in os.environ.items() if name.startswith("HF_")},
        "offline": evaluate.config.HF_EVALUATE_OFFLINE,
        "collector": [gc.isenabled(), gc.get_freeze_count() > 1000],
    }
states = [state()]
for call in CALLS:
    exec(call)
    states.append(state())
print(json.dumps(states))
"""

CALLS = {
    "compare": (
        'compare(CompareOptions(["base.jsonl", "other.jsonl"], ["references.jsonl"], metrics=["trm_meteor"], '
        'distance="meteor"))'
    ),
    "plan": 'plan(PlanOptions(["base.jsonl"], ["references.jsonl"], distance="meteor"))',
    "score": 'score(ScoreOptions(["trm_meteor"], ["base.jsonl"], "scores", ["references.jsonl"], processes=1))',
    "command": (
        'main(["compare", "base.jsonl", "other.jsonl", "-r", "references.jsonl", "-m", "trm_meteor", "--distance", '
        '"meteor", "-o", "report"])'
    ),
    "load": 'manycaps.load("trm_meteor").compute(predictions=[["a dog"]], references=[["dogs", "a cat"]])',
}


@pytest.mark.slow
@pytest.mark.parametrize("first", [None, "compare"])
def test_nothing_called_from_python_changes_another_library(first, tmp_path):
    write_captions(tmp_path, caption_rows(4))
    code = STATE.replace("FIRST", CALLS.get(first, "")).replace("in CALLS", f"in {[*CALLS.values()]!r}")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    variables |= {"PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, *after = json.loads(done.stdout.splitlines()[-1])
    assert (before["bars"], before["evaluator"][0], before["offline"], before["hidden"]) == (True, True, False, [])
    assert before["variables"] == {"HF_HOME": str(tmp_path / "cache")}
    assert after == [before] * len(CALLS)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of 24 rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_captions(tmp_path, caption_rows(24))


@pytest.mark.parametrize("name", ["people", "People", " people "])
def test_no_system_is_called_people(name, files, capsys):
    message = "which stands for the human captions in the answer"
    with pytest.raises(ValueError, match=message):
        compare(CompareOptions(["a.jsonl", "b.jsonl"], names=["a", name]))
    with pytest.raises(ValueError, match=message):
        name_systems([f"scores/{name}"], None, None)  # a folder of scores, or a file, of that name
    scenes = [{"references": ["a dog", "a cat"], "systems": {name: ["a dog"]}}] * 2
    pathlib.Path("scenes.json").write_text(json.dumps({"scenes": scenes}))
    assert main(["quickstart", "--captions", "scenes.json"]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("n_systems", [6, 25])
def test_the_systems_of_a_shared_task_are_compared(n_systems, files, capsys, drawn_plots):
    kinds = ["base", "other", "repeating"]
    for i in range(n_systems):
        shutil.copy(files[kinds[i % 3]], f"system_{i:02}.jsonl")
    systems = [f"system_{i:02}.jsonl" for i in range(n_systems)]
    line = ["compare", *systems, "-r", files["references"], "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    assert main([*line, "--full"]) == 0
    printed = capsys.readouterr()
    assert "constrained_layout" not in printed.err  # of a legend that is higher than its plot
    answer, _, table = printed.out.partition("Means over rows")
    table = table.partition("\n\nDifferences")[0]
    assert "groups, of which two systems were not shown to differ" in table
    assert "group: systems with a common letter" in answer
    assert max(map(len, [*answer.splitlines(), *table.splitlines()[2:]])) <= 100
    numbers = json.loads(pathlib.Path("out/comparison.json").read_text())
    n_pairs = n_systems * (n_systems - 1) // 2
    pairs = numbers["human_parity"]["pairs"]
    assert len(pairs) == n_pairs
    # What differs is found after Holm's rule over hundreds of pairs, and copies are not distinguished.
    are_alike = [(int(pair["first"][-2:]) - int(pair["second"][-2:])) % 3 == 0 for pair in pairs]
    assert all(pair["adjusted_p_value"] == 1 for pair, alike in zip(pairs, are_alike, strict=True) if alike)
    assert all(pair["adjusted_p_value"] <= 0.05 for pair, alike in zip(pairs, are_alike, strict=True) if not alike)
    assert all(metric["smallest_p_value"] <= 0.05 for metric in numbers["metrics"].values())


def test_more_systems_than_a_task_has_are_refused():
    with pytest.raises(ValueError, match=f"^systems: expected 1 to {MOST_SYSTEMS}, got {MOST_SYSTEMS + 1}"):
        name_systems([f"{i}.jsonl" for i in range(MOST_SYSTEMS + 1)], None, None)


def test_a_limit_draws_rows_by_the_seed_and_not_by_the_order_of_the_file(files):
    def draw(seed, limit=8):
        rows, notes = read_systems({"base": files["base"]}, [files["references"]], limit=limit, seed=seed)
        return [row.id for row in rows], notes

    ids, notes = draw(0)
    assert notes == ["--limit: 8 of 24 rows, drawn with the seed 0."]
    assert len(ids) == 8
    assert ids != draw(0, None)[0][:8]
    assert set(ids) != set(draw(1)[0])
    assert set(draw(0, 4)[0]) < set(ids)
    for path in files.values():
        lines = pathlib.Path(path).read_text().splitlines(keepends=True)
        pathlib.Path(path).write_text("".join(reversed(lines)))
    assert draw(0)[0] == ids[::-1]
    assert draw(0, 100) == (draw(0, None)[0], [])


def test_people_drawn_by_the_seed_stand_in_as_a_system(tmp_path):
    people = [[f"{topic} {i} {word}" for i, word in enumerate("abcdef")] for topic in ("dogs", "cats", "birds") * 4]
    files = write_captions(tmp_path, {"references": people, "base": [row[:2] for row in people]})

    def compare_with(**more):
        options = {"metrics": ["trm_cider"], "distance": "cider", "n_resamples": 99, "people": 3} | more
        return compare(CompareOptions([files["base"]], [files["references"]], **options))

    first, again, other = compare_with(full=True), compare_with(), compare_with(seed=1)
    drawn = [[row.captions[DRAWN] for row in each.result.shown.rows] for each in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]
    for row, whole in zip(first.result.shown.rows, people, strict=True):
        assert sorted([*row.captions[DRAWN], *row.references]) == sorted(whole)
        assert len(row.captions[DRAWN]) == 3
    # Not the same places of every row.
    assert len({tuple(map(row.index, own)) for row, own in zip(people, drawn[0], strict=True)}) > 3
    assert list(first.to_dict()["systems"]) == ["base", DRAWN]
    message = "--people: expected at least 7 human captions in every row, 5 to draw and two to compare with, got 6 for"
    assert_refused(ValueError, message, compare_with, people=5)
    assert_refused(ValueError, "--people: expected a whole number of at least 1, got 0.", compare_with, people=0)


@pytest.mark.parametrize("n_single", [1, 2])
def test_rows_with_a_single_reference_are_named_and_left_out_on_request(n_single, files, capsys):
    rows = [json.loads(line) for line in pathlib.Path("references.jsonl").read_text().splitlines()]
    for row in rows[3 : 3 + n_single]:
        del row["references"][1:]
    pathlib.Path("references.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = ["compare", "base.jsonl", "-r", "references.jsonl", "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    more = ", ..." * (n_single > 1)
    said = f"{n_single} of 24 rows have a single reference (references.jsonl, id 'image 3'{more}): "
    for options, end in (([], "--common-rows leaves them out."), (["--common-rows"], "they are left out.")):
        assert main([*line, *options, "--overwrite"]) == 0
        assert f"{said}{end}" in " ".join(capsys.readouterr().out.split())
        numbers = json.loads(pathlib.Path("out/comparison.json").read_text())
        assert numbers["n_rows"] == 24 - n_single * len(options)
        assert (numbers["human_parity"]["distance"] == "") == (not options), "wording alone, unless they are left out"


def test_an_id_that_only_one_side_has_names_the_option_that_leaves_it_out(files, capsys):
    lines = pathlib.Path("references.jsonl").read_text().splitlines(keepends=True)
    pathlib.Path("references.jsonl").write_text("".join(lines[1:]))
    line = ["compare", "base.jsonl", "-r", "references.jsonl", "-m", "bleu_rouge", "--distance", "cider", "-o", "out"]
    assert main(line) != 0
    assert "Or compare the rows that all files have: --common-rows." in capsys.readouterr().err
    assert main([*line, "--common-rows"]) == 0


@pytest.mark.parametrize(
    ("n_rows", "sizes", "metrics", "message"),
    [
        (2, (150, 60), "trm_cider", "trm_cider, mine, id '0': expected at most 200 captions in all for p-values with"),
        (2, (1, 2), "fid_bert", "fid_bert, mine, id '0': expected at least two captions, got one (2 such rows in all"),
        (1, (3, 3), "trm_cider", "trm_cider: expected at least 2 rows to count document frequencies in, got 1."),
        (1, (3, 3), "bleu_rouge", "--distance cider: expected 2 rows to count words in, got 1."),
    ],
)
def test_limits_are_said_before_the_work_with_options_of_the_command(
    n_rows, sizes, metrics, message, files, monkeypatch, capsys
):
    monkeypatch.setattr(CaptionScores, "systems", None)  # no row is scored
    for name, n, side in (("mine", sizes[0], "captions"), ("people", sizes[1], "references")):
        rows = [{"id": str(i), side: [f"a dog {name} {k}" for k in range(n)]} for i in range(n_rows)]
        pathlib.Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = f"compare mine.jsonl -r people.jsonl -o out --distance cider -m {metrics}"
    assert main(line.split()) != 0
    said = capsys.readouterr().err
    assert message in said
    assert not re.search(r"Use statistic|p_value=|document_frequency=|estimator=", said)


def test_of_too_long_texts_the_reason_is_their_length(tmp_path):
    """Not too few rows: the answer has one reason for what is not measured."""
    words = "dog cat tree house river blue red runs sits near small large man woman".split()
    rng = np.random.default_rng(0)

    def text(*lengths):
        return " ".join(f"{' '.join(rng.choice(words, n)).capitalize()}." for n in lengths)

    files = {
        "mine": [{"id": str(i), "captions": [text(40, 40)]} for i in range(30)],
        "people": [{"id": str(i), "references": [text(6, 6, 6) for _ in range(4)]} for i in range(30)],
    }
    paths = {name: str(write_jsonl(tmp_path / f"{name}.jsonl", rows)) for name, rows in files.items()}
    answer = " ".join(compare(CompareOptions([paths["mine"]], [paths["people"]], distance="meteor")).write().split())
    assert "unsupported sentences and odd wording cannot be measured" in answer
    assert "Too few rows" not in answer
