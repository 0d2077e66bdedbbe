"""`manycaps score` in one process: values equal to the modules' own, bad rows, and what is refused before any work."""

import csv
import errno
import io
import json
import math
import os
import pathlib
import random
import shutil
import sys
import tarfile

import PIL.Image
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import manycaps
from manycaps.command_line import main
from manycaps.scoring import ScoreOptions
from manycaps.scoring import score as score_files
from tests.each_case import each_case
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, load_options

POOL = sorted({caption for rows in CAPTION_ROWS.values() for row in rows for caption in row})

# Tests of every kind, few draws: equal draws are what matters.
TESTED = ("--option", "p_value=permutation", "--option", "n_resamples=99", "--option", "confidence_level=0.9")


def caption_rows(n_rows, seed=0):
    """Rows of several sizes; every fifth has the captions of an earlier one."""
    generator = random.Random(seed)
    rows = []
    for i in range(n_rows):
        if i % 5 == 4:
            captions = generator.choice(rows)
        else:
            captions = {
                "predictions": generator.sample(POOL, generator.randint(2, 4)),
                "references": generator.sample(POOL, generator.randint(2, 3)),
            }
        rows.append({**captions, "id": f"row-{(7 * i) % n_rows:03}"})
    return rows


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def score(capsys, *arguments, code=0):
    """Run the command here; return its standard output and its last line of standard error."""
    found = main(["score", *map(str, arguments), "--processes", "1"])
    printed = capsys.readouterr()
    assert found == code, printed.err
    return printed.out, printed.err.strip().splitlines()[-1] if printed.err.strip() else ""


def summary(capsys, *arguments):
    return json.loads(score(capsys, *arguments)[0])


def sorted_rows(folder):
    return ds.dataset(folder / "rows").to_table().sort_by("id").to_pylist()


def without_lists(result):
    return {name: value for name, value in result.items() if not isinstance(value, list)}


def of_module(name, rows, **options):
    module = manycaps.load(name)
    columns = {side: [row[side] for row in rows] for side in ("predictions", "references")}
    return module.compute(**columns, details=True, **options)


@pytest.fixture(scope="module")
def rows():
    return caption_rows(60)


@pytest.fixture(scope="module")
def lines(rows, tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("lines") / "rows.jsonl", rows)


@pytest.mark.parametrize("part_size", [16, 0.002, 0.0011])
def test_corpus_values_are_the_modules_own_to_the_last_digit(capsys, tmp_path, rows, lines, part_size):
    found = summary(
        capsys, "-m", "trm_meteor,trm_cider", "-i", lines, "-o", tmp_path / "o", "--part-size", part_size, *TESTED
    )
    n_parts = len(list((tmp_path / "o" / "rows").iterdir()))
    assert (n_parts > 5) == (part_size < 1)
    stored = {row["id"]: row for row in sorted_rows(tmp_path / "o")}
    for name in ("trm_meteor", "trm_cider"):
        expected = of_module(name, rows, p_value="permutation", n_resamples=99, confidence_level=0.9)
        assert found["metrics"][name] == without_lists(expected)
        for column in (name, f"{name}_p_value", f"{name}_excess"):
            assert [stored[row["id"]][column] for row in rows] == expected[f"{column}_per_row"]
    assert (found["n_rows"], found["n_rejected"]) == (60, 0)
    assert (tmp_path / "o" / "rejected.jsonl").read_text() == ""


def test_exact_p_values_and_one_row(capsys, tmp_path, rows):
    lines = write_lines(tmp_path / "one.jsonl", rows[:1])
    found = summary(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--option", "p_value=exact")
    assert found["metrics"]["trm_meteor"] == without_lists(of_module("trm_meteor", rows[:1], p_value="exact"))
    _, error = score(
        capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "p", "--option", "confidence_level=0.9", code=2
    )
    assert error == (
        "--option confidence_level: expected at least 2 rows for an interval, got 1. Leave it out for one row."
    )


def test_embedding_metrics(capsys, tmp_path, rows, lines):
    names = ("mmd_bert", "fid_bert", "trm_bert")
    found = summary(capsys, "-m", ",".join(names), "-i", lines, "-o", tmp_path / "o", "--part-size", 0.004, *TESTED[:4])
    for name in names:
        expected = without_lists(of_module(name, rows, p_value="permutation", n_resamples=99))
        assert found["metrics"][name].pop("signature") == expected.pop("signature")
        assert found["metrics"][name] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def save_images(folder):
    folder.mkdir()
    for i, image in enumerate(IMAGES):
        PIL.Image.fromarray(image).save(folder / f"{i}.png")
    return folder


@pytest.fixture
def clip_options():
    return [part for name, value in load_options("pac_score").items() for part in ("--option", f"{name}={value}")]


def test_images_from_a_folder_a_parquet_file_and_a_tar(capsys, tmp_path, clip_options):
    photos = save_images(tmp_path / "photos")
    samples = [
        {"id": str(i), "predictions": p, "references": r}
        for i, (p, r) in enumerate(zip(CAPTION_ROWS["predictions"], CAPTION_ROWS["references"], strict=True))
    ]
    lines = write_lines(tmp_path / "a.jsonl", samples)
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        for i, sample in enumerate(samples):
            values = json.dumps({"references": sample["references"]}).encode()
            contents = {"png": (photos / f"{i}.png").read_bytes(), "txt": "\n".join(sample["predictions"]).encode()}
            for ending, data in {**contents, "json": values}.items():
                member = tarfile.TarInfo(f"{i}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    expected = {
        name: without_lists(
            manycaps.load(name, **load_options(name)).compute(
                predictions=CAPTION_ROWS["predictions"],
                images=IMAGES,
                details=True,
                **({"references": CAPTION_ROWS["references"]} if name == "ref_pac_score" else {}),
            )
        )
        for name in ("pac_score", "ref_pac_score")
    }
    tables = []
    for source, more in ((lines, ["--images", photos]), (tmp_path / "b.tar", [])):
        folder = tmp_path / source.name.replace(".", "-")
        found = summary(capsys, "-m", "pac_score,ref_pac_score", "-i", source, "-o", folder, *more, *clip_options)
        for name, result in expected.items():
            assert found["metrics"][name]["signature"] == result["signature"]
            numbers = {key: value for key, value in result.items() if key != "signature"}
            assert {key: found["metrics"][name][key] for key in numbers} == pytest.approx(numbers, abs=1e-5)
        tables.append([[row["id"], row["pac_score_per_candidate"], row["n_candidates"]] for row in sorted_rows(folder)])
    assert tables[0] == tables[1]
    assert [len(values) for _, values, _ in tables[0]] == [n for *_, n in tables[0]] == [3, 2, 4, 2]


def test_a_bad_image_costs_its_own_row_alone(capsys, tmp_path, clip_options):
    photos = save_images(tmp_path / "photos")
    (photos / "1.png").write_bytes(b"no image")
    samples = [{"id": str(i), "captions": p} for i, p in enumerate(CAPTION_ROWS["predictions"])]
    lines = write_lines(tmp_path / "a.jsonl", samples)
    arguments = ["-m", "pac_score", "-i", lines, "-o", tmp_path / "o", "--images", photos, *clip_options]
    _, error = score(capsys, *arguments, code=1)
    assert error.startswith(f"{lines}, id '1': images[1]: expected an image, got 8 bytes that begin with b'no image'")
    found = summary(capsys, *arguments, "--on-error", "reject")
    assert (found["n_rows"], found["n_rejected"], found["metrics"]["pac_score"]["n_rows"]) == (3, 1, 3)
    assert [row["id"] for row in sorted_rows(tmp_path / "o")] == ["0", "2", "3"]
    rejected = json.loads((tmp_path / "o" / "rejected.jsonl").read_text())
    assert (rejected["file"], rejected["row"], rejected["id"], rejected["metric"]) == (str(lines), 1, "1", "pac_score")
    assert rejected["reason"].startswith("images[1]: expected an image")


def test_a_row_that_one_metric_refuses_is_scored_by_the_other(capsys, tmp_path, rows):
    small = {"id": "small", "predictions": ["a dog"], "references": ["a dog runs", "the dog"]}
    lines = write_lines(tmp_path / "a.jsonl", [*rows[:9], small, *rows[9:20]])
    arguments = ("-m", "trm_meteor,fid_bert", "-i", lines, "-o", tmp_path / "o")
    _, error = score(capsys, *arguments, code=1)
    assert error.startswith(f"{lines}, id 'small': predictions[9]: expected at least two captions, got one")
    found = summary(capsys, *arguments, "--on-error", "reject")
    assert (found["n_rows"], found["n_rejected"]) == (21, 1)
    assert (found["metrics"]["trm_meteor"]["n_rows"], found["metrics"]["fid_bert"]["n_rows"]) == (21, 20)
    (row,) = [row for row in sorted_rows(tmp_path / "o") if row["id"] == "small"]
    assert row["fid_bert"] is None
    assert row["trm_meteor"] >= 0


def damaged_lines(path, rows):
    lines = [json.dumps(row) for row in rows]
    lines[3] = lines[3][:-5]
    lines[10] = json.dumps(rows[10] | {"references": []})
    lines[20] = json.dumps(rows[20] | {"id": rows[2]["id"]})
    path.write_text("\n".join(lines) + "\n")
    return path, [row for i, row in enumerate(rows) if i not in (3, 10, 20)]


@pytest.mark.parametrize("part_size", [16, 0.002])
def test_rejected_rows_are_named_and_leave_the_values_of_the_others(capsys, tmp_path, rows, part_size):
    lines, good = damaged_lines(tmp_path / "a.jsonl", rows)
    arguments = ("-m", "trm_meteor,trm_cider", "-i", lines, "-o", tmp_path / "o", "--part-size", part_size, *TESTED)
    _, error = score(capsys, *arguments, code=1)
    assert error.startswith(f"{lines}: row[3]: expected a line of JSON, got none (")
    found = summary(capsys, *arguments, "--on-error", "reject")
    options = {"p_value": "permutation", "n_resamples": 99, "confidence_level": 0.9}
    for name in ("trm_meteor", "trm_cider"):
        assert found["metrics"][name] == without_lists(of_module(name, good, **options))
    rejected = [json.loads(line) for line in (tmp_path / "o" / "rejected.jsonl").read_text().splitlines()]
    assert [(line["row"], line["id"], line["metric"]) for line in rejected] == [
        (3, None, None),
        (10, rows[10]["id"], None),
        (20, rows[2]["id"], None),
    ]
    assert rejected[2]["reason"] == ("id[20]: expected a unique id, got that of row 2. Leave one of them out.")
    assert found["n_rejected"] == 3


def test_duplicate_ids_stop_a_run_before_it_scores(capsys, tmp_path, rows):
    lines = write_lines(tmp_path / "a.jsonl", [*rows, rows[0]])
    _, error = score(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--part-size", 0.002, code=1)
    assert error == (
        f"{lines}, id '{rows[0]['id']}': id[60]: expected a unique id, got that of row 0. Leave one of them out."
    )
    assert not (tmp_path / "o" / "rows").exists()


def test_too_many_rejected_rows_stop_a_run(capsys, tmp_path, rows):
    lines, _ = damaged_lines(tmp_path / "a.jsonl", rows)
    arguments = ("-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--on-error", "reject")
    _, error = score(capsys, *arguments, "--max-rejected", "0.01", code=2)
    assert error.startswith("--max-rejected 0.01: expected fewer bad rows, got 2 of 60. See ")
    assert summary(capsys, *arguments, "--max-rejected", "0.05")["n_rejected"] == 3


def test_the_same_command_resumes_and_another_is_refused(capsys, tmp_path, rows):
    lines = write_lines(tmp_path / "a.jsonl", rows)
    arguments = ("-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--part-size", 0.002)
    first = summary(capsys, *arguments)
    for path in sorted((tmp_path / "o" / "parts").glob("score-*.json"))[2:]:
        path.unlink()
    (tmp_path / "o" / "summary.json").unlink()
    old = (tmp_path / "o" / "rows" / "part-00000.parquet").stat().st_mtime_ns
    assert summary(capsys, *arguments) == first
    assert (tmp_path / "o" / "rows" / "part-00000.parquet").stat().st_mtime_ns == old
    for more, change in (
        (("--option", "seed=1"), "seed was null and is 1"),
        (("--limit", "3"), "limit was null and is 3"),
    ):
        _, error = score(capsys, *arguments, *more, code=1)
        assert error == (
            f"{tmp_path / 'o'}: expected the run that this folder holds, got another one: {change}. Give the "
            "same command, --restart to start from scratch, or another -o."
        )
    write_lines(lines, rows[:-1])
    _, error = score(capsys, *arguments, code=1)
    assert f"got another one: {lines} was [" in error
    limited = summary(capsys, *arguments, "--limit", "3", "--restart")
    assert limited["n_rows"] == len(sorted_rows(tmp_path / "o")) == 3


def changed_byte(path):
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


SAVED_FILES = """
    rows/part-00001.parquet parts/score-00001.npz parts/score-00001.ids.npy parts/score-00001.json
    parts/survey-00001.keys.npy parts/survey-00001.frequencies.json parts/survey-00001.json
    parts/document_frequency.json parts/joined.sqlite
""".split()


def test_a_run_does_not_go_on_with_files_that_have_changed(capsys, tmp_path, rows, subtests):
    ours = write_lines(tmp_path / "ours.jsonl", [{"id": row["id"], "captions": row["predictions"]} for row in rows])
    theirs = write_lines(tmp_path / "theirs.jsonl", [{"id": row["id"], "refs": row["references"]} for row in rows])
    folder = tmp_path / "o"
    arguments = ("-m", "trm_meteor,trm_cider", "-i", ours, "-r", theirs, "-o", folder, "--part-size", 0.002, *TESTED)
    first = summary(capsys, *arguments)
    for name in SAVED_FILES:
        changed_byte(folder / name)
        with subtests.test(name):
            out, error = score(capsys, *arguments, code=1)
            assert out == ""
            assert f"{name}': expected what a run has saved, got other content." in error or (
                name.endswith(".json") and ": expected a JSON file" in error
            )
            assert error.endswith("start from scratch with --restart, or use another folder.")
        changed_byte(folder / name)  # back again
    changed_byte(folder / SAVED_FILES[0])
    assert summary(capsys, *arguments, "--restart") == first


def test_scores_that_have_changed_are_not_compared(capsys, tmp_path, lines):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        summary(capsys, "-m", "trm_meteor", "-i", lines, "-o", folder, *TESTED)
    compare = ["compare", *map(str, folders), "-o", str(tmp_path / "report"), "--overwrite"]
    assert main(compare) == 0
    # A part's own file names what has changed; where the parts are deleted, as their work is done, the rows count.
    changed_byte(folders[1] / "parts" / "score-00000.ids.npy")
    assert main(compare) == 1
    assert "b/parts/score-00000.ids.npy': expected what a run has saved, got other content." in capsys.readouterr().err
    shutil.rmtree(folders[1] / "parts")
    assert main(compare) == 0


def test_predictions_and_references_of_two_files(capsys, tmp_path, rows):
    ours = write_lines(tmp_path / "ours.jsonl", [{"id": row["id"], "captions": row["predictions"]} for row in rows])
    with (tmp_path / "theirs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "caption"])
        writer.writerows([row["id"], caption] for row in reversed(rows) for caption in row["references"])
    found = summary(
        capsys, "-m", "trm_meteor", "-i", ours, "-r", tmp_path / "theirs.csv", "-o", tmp_path / "o", *TESTED
    )
    options = {"p_value": "permutation", "n_resamples": 99, "confidence_level": 0.9}
    assert found["metrics"]["trm_meteor"] == without_lists(of_module("trm_meteor", rows, **options))


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(capsys, tmp_path, lines, rows):
    found = summary(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--dry-run")
    assert found["inputs"]["predictions"]["columns"] == {
        "predictions": "predictions",
        "references": "references",
        "id": "id",
    }
    assert found["first_row"]["predictions"] == rows[0]["predictions"]
    assert found["n_parts"] == 1
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("kind", ["text", "md", "latex"])
def test_tables(capsys, tmp_path, lines, kind):
    printed, _ = score(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--limit", "5", "-f", kind)
    value = json.loads((tmp_path / "o" / "summary.json").read_text())["metrics"]["trm_meteor"]["trm_meteor"]
    assert f"{value:.6g}" in printed
    assert {"text": "metric      value", "md": "| metric | value |", "latex": r"\begin{tabular}{llr}"}[kind] in printed
    assert ("trm\\_meteor" in printed) == (kind == "latex")


@each_case(
    ("arguments", "message"),
    [
        (("-m", "trm_metor"), "name: expected one of bleu_rouge, coco_caption"),
        (("-m", "pac_score"), "-m pac_score: expected images, got files without. Give --images FOLDER, or name the"),
        (
            ("-m", "trm_meteor", "--option", "sigma=1"),
            "--option sigma=1: expected NAME=VALUE or METRIC.NAME=VALUE with",
        ),
        (("-m", "trm_meteor", "--option", "seed"), "--option seed: expected NAME=VALUE or METRIC.NAME=VALUE with an"),
        (
            ("-m", "trm_meteor", "--option", 'clusters=["a"]'),
            "--option clusters: expected none, got labels. Leave it out",
        ),
        (("-m", "trm_meteor", "--option", "statistic=x"), "statistic: expected one of 'per_side', 'pooled', got 'x'."),
        (
            ("-m", "trm_meteor", "--columns", "a=b"),
            "--columns: expected a list such as predictions=samples,id=image_id",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(capsys, tmp_path, lines, arguments, message):
    code = 2 if message.startswith("-") and not message.startswith("-m") else 1
    _, error = score(capsys, *arguments, "-i", lines, "-o", tmp_path / "o", code=code)
    assert error.startswith(message)
    assert not (tmp_path / "o").exists()


def test_predictions_alone_are_refused_where_references_are_needed(capsys, tmp_path):
    lines = write_lines(tmp_path / "a.jsonl", [["a dog", "a cat"]])
    _, error = score(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", code=1)
    assert error == (
        "-m trm_meteor: expected references, got files without. Give -r FILE, or name the column with --columns "
        "references=NAME."
    )


def test_an_option_may_be_for_one_metric(capsys, tmp_path, lines):
    arguments = ("-m", "trm_meteor,trm_cider", "-i", lines, "-o", tmp_path / "o")
    found = summary(capsys, *arguments, "--option", "trm_cider.statistic=pooled")
    assert found["options"] == {"trm_meteor": {}, "trm_cider": {"statistic": "pooled"}}
    assert "statistic:pooled" in found["metrics"]["trm_cider"]["signature"]


def test_a_full_disk_is_named_and_finished_parts_stay(capsys, tmp_path, lines, monkeypatch):
    arguments = ("-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", "--part-size", 0.002)
    replace, written = os.replace, []

    def fills_up(source, target):
        written.append(target)
        if len(written) > 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manycaps.scoring.run_folder.os.replace", fills_up)
        _, error = score(capsys, *arguments, code=1)
    assert error == (
        f"{tmp_path / 'o'}: expected a folder that can hold the results, got No space left on device. Make room, and "
        "give the same command again: finished parts stay."
    )
    left = sorted(path.name for path in (tmp_path / "o").rglob("*") if path.is_file())
    assert left
    assert not [name for name in left if "incomplete" in name]
    whole = summary(capsys, *arguments, "-o", tmp_path / "p")
    assert summary(capsys, *arguments)["metrics"] == whole["metrics"]


def test_a_folder_in_use_is_refused(capsys, tmp_path, lines):
    from manycaps.scoring.run_folder import RunFolder

    with RunFolder(tmp_path / "o").locked():
        _, error = score(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o", code=1)
    assert "expected a folder that no other run writes to, got one that is in use." in error


@pytest.mark.parametrize("place", [".", "rows", "parts"])
def test_a_killed_worker_leaves_no_partial_file_at_the_end_of_the_run(tmp_path, place):
    from manycaps.scoring.run_folder import RunFolder

    run = RunFolder(tmp_path / "o")
    target = run.path / place / "part.parquet"

    def is_killed(partial):
        partial.write_bytes(b"half of the rows")
        os.link(partial, partial.with_name(f"{partial.name}-stays"))  # nobody renames or removes what it wrote

    with run.locked():
        run.write(target, is_killed)
        assert len(list(target.parent.iterdir())) > 1
    assert {path.name for path in target.parent.iterdir()} - {".lock"} <= {"part.parquet"}


def test_a_call_from_python_equals_the_command(capsys, tmp_path, lines):
    options = ScoreOptions({"trm_cider": {"seed": 3}}, [str(lines)], tmp_path / "called", processes=1)
    result = score_files(options)
    printed = summary(capsys, "-m", "trm_cider", "--option", "seed=3", "-i", lines, "-o", tmp_path / "commanded")
    assert result.to_dict() == printed == json.loads((tmp_path / "called" / "summary.json").read_text())
    assert result.folder == tmp_path / "called"
    assert f"<td>trm_cider</td><td>{result.metrics['trm_cider']['trm_cider']:.6g}</td>" in result._repr_html_()
    score(capsys, "-m", "trm_cider", "-i", lines, "-o", tmp_path / "called", code=1)
    with pytest.raises(TypeError, match=r"^inputs: expected a list of names, got the text 'a.jsonl'"):
        ScoreOptions(["trm_cider"], "a.jsonl", "scores")


# What the metric's own compute enters: CONTRIBUTING counts these files for trm_meteor.
FILES_OF_TRM_METEOR = """
    trm_meteor base_module base_rows sets_module text_tokens text_ptb_tokenizer text_meteor sets_triangle_rank
    sets_splits sets_corpus
""".split()


def test_a_reader_of_a_run_opens_few_files(tmp_path, rows):
    """From the call in Python to the summary of a JSON Lines file, in one process."""
    folder = pathlib.Path(manycaps.__file__).parent
    for name in ("imports", "counted"):
        new_captions = [{**row, "predictions": [f"{text} {name}" for text in row["predictions"]]} for row in rows[:5]]
        lines = write_lines(tmp_path / f"{name}.jsonl", new_captions)
        options = ScoreOptions({"trm_meteor": {"p_value": "exact"}}, [str(lines)], tmp_path / name, processes=1)
        entered = set()
        sys.setprofile(lambda frame, event, argument, seen=entered: seen.add(frame.f_code.co_filename))
        try:
            score_files(options)
        finally:
            sys.setprofile(None)
    files = {path for path in map(pathlib.Path, entered) if folder in path.parents}
    counted = {path for path in files if path.parent.name != "kit" or path.stem not in FILES_OF_TRM_METEOR}
    assert folder / "scoring" / "score.py" in counted
    assert len(counted) <= 16, sorted(counted)


def test_stored_rows_say_where_they_come_from(capsys, tmp_path, rows, lines):
    summary(capsys, "-m", "trm_meteor", "-i", lines, "-o", tmp_path / "o")
    table = pq.read_table(tmp_path / "o" / "rows")
    assert table.column_names == ["id", "file", "row", "n_candidates", "n_references", "trm_meteor", "meteor"]
    found = table.to_pylist()
    assert [row["row"] for row in found] == list(range(60))
    assert {row["file"] for row in found} == {str(lines)}
    assert [row["n_candidates"] for row in found] == [len(row["predictions"]) for row in rows]
    assert math.fsum(row["meteor"] for row in found) / 60 == of_module("trm_meteor", rows)["meteor"]


def write_tar(path, keys):
    """Samples with an image and a caption each."""
    with tarfile.open(path, "w") as archive:
        for key in keys:
            file = io.BytesIO()
            PIL.Image.fromarray(IMAGES[0]).save(file, format="PNG")
            for ending, data in (("png", file.getvalue()), ("txt", f"a dog {key}".encode())):
                member = tarfile.TarInfo(f"{key}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return path


def test_ids_that_two_tars_share_are_found_without_a_survey(capsys, tmp_path, clip_options):
    tars = [write_tar(tmp_path / "a.tar", "abc"), write_tar(tmp_path / "b.tar", "dbea")]
    arguments = ["-m", "pac_score", "-i", *tars, "-o", tmp_path / "o", "--part-size", 0.0001, *clip_options]
    for _ in range(2):  # found again, not passed over, when the command is given again
        _, error = score(capsys, *arguments, code=1)
        assert error == (
            f"{tars[1]}, id 'b': id[1]: expected a unique id, got that of row 1 of {tars[0]}. Leave one of them out."
        )
    assert not list((tmp_path / "o" / "parts").glob("survey-*"))
    found = summary(capsys, *arguments, "--on-error", "reject")
    assert (found["n_rows"], found["n_rejected"]) == (5, 2)
    assert [row["id"] for row in sorted_rows(tmp_path / "o")] == list("abcde")
    assert len((tmp_path / "o" / "rejected.jsonl").read_text().splitlines()) == 2
