"""`compare` as a notebook calls it: what it returns, shows and saves, and what it refuses."""

import json
import pathlib

import pytest

from manycaps.command_line import main
from manycaps.comparison import CompareOptions, compare, systems
from manycaps.comparison.comparison_text import notes
from manycaps.kit.base_module import VERSION
from manycaps.saved_files import sole_output
from manycaps.scoring import ScoreOptions
from manycaps.scoring import score as score_files
from tests.comparison_cases import caption_rows, write_captions
from tests.each_case import each_case
from tests.modules.sample_inputs import small_meteor15_data


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
    with pytest.raises((TypeError, ValueError)) as found:
        CompareOptions(["a.jsonl", "b.jsonl"], **options)
    assert str(found.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"captions": "text"}}, "columns: expected roles out of predictions, references, id, image"),
        ({"best_of": True}, "--best-of: expected one of coco_caption among the metrics, got trm_cider. Add it to -m"),
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
    chosen = {"metrics": ["coco_caption"], "columns": columns, "meteor15_data": data, "best_of": True}
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
    of_folders = compare(CompareOptions(folders, names=names, metrics=["coco_caption"], n_resamples=99))
    assert of_folders.to_dict()["metrics"] == numbers


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


@each_case("image", ["COCO_1.jpg", 42, None, "\udc80"])
def test_a_column_of_images_that_nobody_asked_for_runs_no_network_and_refuses_no_row(image, tmp_path):
    systems, references = files_with_images(tmp_path, image)
    comparison = compare(CompareOptions(systems, references, n_resamples=99, distance="cider"))
    assert set(comparison.signatures["base"]) == {"human_parity", "trm_meteor", "trm_cider"}
    # Rows of one image still belong together.
    assert comparison.n_clusters == (3 if image == "COCO_1.jpg" else 4)
    comparison.save(tmp_path / "report")
    assert "<img" not in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


@each_case("options", [{"metrics": ["pac_score"]}, {"images": "photos"}])
def test_a_column_of_images_that_is_asked_for_has_one_in_every_row(options, tmp_path):
    systems, references = files_with_images(tmp_path, 42)
    with pytest.raises(ValueError) as found:
        compare(CompareOptions(systems, references, **options))
    assert "image[0]: expected a path or the bytes of a file, got int (42)." in str(found.value)


def test_clusters_that_never_end_are_stopped(monkeypatch):
    monkeypatch.setattr(systems, "PATTERN_SECONDS", 1)
    rows = [systems.SystemRow("a" * 60 + "b", {})]
    with pytest.raises(ValueError) as found:
        systems.clusters_of(rows, "(a+)+$")
    assert str(found.value) == (
        "--clusters: expected an expression that is found in 1 ids within 1 seconds, got '(a+)+$', which takes longer. "
        "Write one without repeated repetitions."
    )
    assert systems.clusters_of([systems.SystemRow("\udc80 é#1", {})], "^[^#]+") == ["\udc80 é"]


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
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.json", "index.html"]
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
    assert [note for note in notes(compare(options_of(files, "repeating"))) if "equal" in note] == [
        "repeating: all 3 captions of a row are equal; `manycaps sample` draws different ones"
    ]
