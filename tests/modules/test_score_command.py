"""`manycaps score` in one process: values equal to the modules' own, bad rows, and what is refused before any work."""

import errno
import io
import json
import os
import shutil
import tarfile

import PIL.Image
import pyarrow.parquet as pq
import pytest

import manycaps
from manycaps.commands.command_line import main
from manycaps.files.result_tables import finite
from manycaps.kit.errors import quote_path
from manycaps.scoring import ScoreOptions
from manycaps.scoring import score as score_files
from manycaps.scoring.run_folder import RunFolder
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, clip_options
from tests.modules.scored_rows import caption_rows, flags, module_result, sorted_rows, without_lists
from tests.tools import write_jsonl

# Tests of every kind, few draws: equal draws are what matters.
TESTS = {"p_value": "permutation", "n_resamples": 99, "confidence_level": 0.9}
TESTED = flags(**TESTS)


@pytest.fixture(scope="module")
def rows():
    return caption_rows(60)


@pytest.fixture(scope="module")
def lines(rows, tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("lines") / "rows.jsonl", rows)


def test_an_interval_of_one_row_is_refused(score, tmp_path, rows):
    _, error = score("trm_meteor", write_jsonl(tmp_path / "one.jsonl", rows[:1]), *flags(confidence_level=0.9), code=2)
    assert error == (
        "--option confidence_level: expected at least 2 rows for an interval, got 1. Leave it out for one row."
    )


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i, image in enumerate(IMAGES):
        PIL.Image.fromarray(image).save(folder / f"{i}.png")
    return folder


def write_tar(path, samples):
    """Write samples of a WebDataset: for each key the contents of its files by their endings."""
    with tarfile.open(path, "w") as archive:
        for key, contents in samples.items():
            for ending, data in contents.items():
                member = tarfile.TarInfo(f"{key}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return path


def test_images_from_a_folder_and_a_tar(summary, tmp_path, photos):
    samples = [
        {"id": str(i), "predictions": p, "references": r}
        for i, (p, r) in enumerate(zip(*CAPTION_ROWS.values(), strict=True))
    ]
    lines = write_jsonl(tmp_path / "a.jsonl", samples)
    packed = write_tar(
        tmp_path / "b.tar",
        {
            sample["id"]: {
                "png": (photos / f"{sample['id']}.png").read_bytes(),
                "txt": "\n".join(sample["predictions"]).encode(),
                "json": json.dumps({"references": sample["references"]}).encode(),
            }
            for sample in samples
        },
    )
    columns, names = {**CAPTION_ROWS, "images": IMAGES}, ("pac_score", "ref_pac_score")
    modules = [manycaps.load(name, details=True, **clip_options()) for name in names]
    expected = {
        module.name: without_lists(module.compute(**{name: columns[name] for name in module.own_columns()}))
        for module in modules
    }
    tables = []
    for source, more in ((lines, ["--images", photos]), (packed, [])):
        folder = source.suffix[1:]
        found = summary(",".join(names), source, *more, *flags(**clip_options()), to=folder)["metrics"]
        for name, result in expected.items():
            assert found[name].pop("signature") == result["signature"]
            numbers = {key: value for key, value in result.items() if key != "signature"}
            assert {key: found[name][key] for key in numbers} == pytest.approx(numbers, abs=1e-5)
        stored = sorted_rows(tmp_path / folder)
        tables.append([[row["id"], row["pac_score_per_candidate"], row["n_candidates"]] for row in stored])
    assert tables[0] == tables[1]
    assert [len(values) for _, values, _ in tables[0]] == [n for *_, n in tables[0]] == [3, 2, 4, 2]


def test_a_bad_image_costs_its_own_row_alone(score, summary, tmp_path, photos):
    (photos / "1.png").write_bytes(b"no image")
    samples = [{"id": str(i), "captions": p} for i, p in enumerate(CAPTION_ROWS["predictions"])]
    lines = write_jsonl(tmp_path / "a.jsonl", samples)
    arguments = ["pac_score", lines, "--images", photos, *flags(**clip_options())]
    _, error = score(*arguments, code=1)
    assert error.startswith(f"{lines}, id '1': images[1]: expected an image, got 8 bytes that begin with b'no image'")
    found = summary(*arguments, "--on-error", "reject")
    assert (found["n_rows"], found["n_rejected"], found["metrics"]["pac_score"]["n_rows"]) == (3, 1, 3)
    assert [row["id"] for row in sorted_rows(tmp_path / "o")] == ["0", "2", "3"]
    rejected = json.loads((tmp_path / "o" / "rejected.jsonl").read_text())
    assert (rejected["file"], rejected["row"], rejected["id"], rejected["metric"]) == (str(lines), 1, "1", "pac_score")
    assert rejected["reason"].startswith("images[1]: expected an image")


def test_a_row_that_one_metric_refuses_is_scored_by_the_other(score, summary, tmp_path, rows):
    small = {"id": "small", "predictions": ["a dog"], "references": ["a dog runs", "the dog"]}
    arguments = ("trm_meteor,fid_bert", write_jsonl(tmp_path / "a.jsonl", [*rows[:9], small, *rows[9:20]]))
    _, error = score(*arguments, code=1)
    assert error.startswith(f"{arguments[1]}, id 'small': predictions[9]: expected at least two captions, got one")
    found = summary(*arguments, "--on-error", "reject")
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
def test_rejected_rows_are_named_and_leave_the_values_of_the_others(score, summary, tmp_path, rows, part_size):
    lines, good = damaged_lines(tmp_path / "a.jsonl", rows)
    arguments = ("trm_meteor,trm_cider", lines, "--part-size", part_size, *TESTED)
    _, error = score(*arguments, code=1)
    assert error.startswith(f"{lines}: row[3]: expected a line of JSON, got invalid JSON (")
    found = summary(*arguments, "--on-error", "reject")
    for name in ("trm_meteor", "trm_cider"):
        assert found["metrics"][name] == without_lists(module_result(name, good, **TESTS))
    rejected = [json.loads(line) for line in (tmp_path / "o" / "rejected.jsonl").read_text().splitlines()]
    named = [(line["row"], line["id"], line["metric"]) for line in rejected]
    assert named == [(3, None, None), (10, rows[10]["id"], None), (20, rows[2]["id"], None)]
    assert rejected[2]["reason"] == ("id[20]: expected a unique id, got the id of row 2. Leave one of them out.")
    assert found["n_rejected"] == 3


def test_duplicate_ids_stop_a_run_before_it_scores(score, tmp_path, rows):
    lines = write_jsonl(tmp_path / "a.jsonl", [*rows, rows[0]])
    _, error = score("trm_meteor", lines, "--part-size", 0.002, code=1)
    assert error == (
        f"{lines}, id '{rows[0]['id']}': id[60]: expected a unique id, got the id of row 0. Leave one of them out."
    )
    assert not (tmp_path / "o" / "rows").exists()


def test_too_many_rejected_rows_stop_a_run(score, summary, tmp_path, rows):
    lines, _ = damaged_lines(tmp_path / "a.jsonl", rows)
    arguments = ("trm_meteor", lines, "--on-error", "reject")
    _, error = score(*arguments, "--max-rejected", "0.01", code=2)
    assert error.startswith("--max-rejected 0.01: expected fewer bad rows, got 2 of 60. See ")
    assert summary(*arguments, "--max-rejected", "0.05")["n_rejected"] == 3


def test_the_same_command_resumes_and_another_is_refused(score, summary, tmp_path, rows):
    lines, folder = write_jsonl(tmp_path / "a.jsonl", rows), tmp_path / "o"
    arguments = ("trm_meteor", lines, "--part-size", 0.002)
    first = summary(*arguments)
    for path in sorted((folder / "parts").glob("score-*.json"))[2:]:
        path.unlink()
    (folder / "summary.json").unlink()
    old = (folder / "rows" / "part-00000.parquet").stat().st_mtime_ns
    assert summary(*arguments) == first
    assert (folder / "rows" / "part-00000.parquet").stat().st_mtime_ns == old
    another = flags(tokenizer="none"), 'tokenizer was null and is "none"'
    for more, change in (another, (("--limit", "3"), "limit was null and is 3")):
        _, error = score(*arguments, *more, code=1)
        assert error == (
            f"{folder}: expected the run that this folder holds, got another one: {change}. Give the "
            "same command, --restart to start from scratch, or another -o."
        )
    write_jsonl(lines, rows[:-1])
    _, error = score(*arguments, code=1)
    assert f"got another one: {lines} was [" in error
    limited = summary(*arguments, "--limit", "3", "--restart")
    assert limited["n_rows"] == len(sorted_rows(folder)) == 3


@pytest.mark.parametrize("has_two_files", [False, True])
def test_a_run_that_scored_nothing_is_replaced_by_another(score, summary, tmp_path, rows, has_two_files):
    """Work alone finds some wrong options, and rows that are then mended."""
    lines, folder = write_jsonl(tmp_path / "a.jsonl", [*rows[:3], rows[0]]), tmp_path / "o"
    arguments = ("trm_bert", lines, *(("-r", write_jsonl(tmp_path / "b.jsonl", rows[:3])) if has_two_files else ()))
    score(*arguments, "--device", "cudaa", code=1)
    write_jsonl(lines, rows[:2])
    _, error = score(*arguments, "--device", "cudaa", "--on-error", "reject", code=1)
    assert "cudaa" in error
    assert list(folder.glob("parts/survey-*.json"))
    assert summary(*arguments, "--on-error", "reject")["n_rows"] == 2
    _, error = score(*arguments, "--limit", 1, code=1)
    assert "got another one: limit was null and is 1." in error


def change_a_bit(path):
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


SAVED_FILES = """
    rows/part-00001.parquet parts/score-00001.npz parts/score-00001.ids.npy parts/score-00001.json
    parts/survey-00001.keys.npy parts/survey-00001.frequencies.json parts/survey-00001.json
    parts/document_frequency.json parts/joined.sqlite
""".split()


def test_a_run_does_not_go_on_with_files_that_have_changed(score, summary, tmp_path, rows):
    ours = write_jsonl(tmp_path / "ours.jsonl", [{"id": row["id"], "captions": row["predictions"]} for row in rows])
    theirs = write_jsonl(tmp_path / "theirs.jsonl", [{"id": row["id"], "refs": row["references"]} for row in rows])
    arguments = ("trm_meteor,trm_cider", ours, "-r", theirs, "--part-size", 0.002, *TESTED)
    first = summary(*arguments)
    assert first["metrics"]["trm_meteor"] == without_lists(module_result("trm_meteor", rows, **TESTS))
    for name in SAVED_FILES:
        change_a_bit(tmp_path / "o" / name)
        out, error = score(*arguments, code=1)
        assert out == ""
        assert f"{name}': expected what a run has saved, got other content." in error or (
            name.endswith(".json") and ": expected a JSON file" in error
        )
        assert error.endswith("start from scratch with --restart, or use another folder.")
        change_a_bit(tmp_path / "o" / name)  # back again
    change_a_bit(tmp_path / "o" / SAVED_FILES[0])
    assert summary(*arguments, "--restart") == first


def test_scores_that_have_changed_are_not_compared(summary, capsys, tmp_path, lines):
    for name in ("a", "b"):
        summary("trm_meteor", lines, *TESTED, to=name)
    compare = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "report"), "--overwrite"]
    assert main(compare) == 0
    # A part's own file names what has changed; where the parts are deleted, as their work is done, the rows count.
    change_a_bit(tmp_path / "b" / "parts" / "score-00000.ids.npy")
    assert main(compare) == 1
    assert "b/parts/score-00000.ids.npy': expected what a run has saved, got other content." in capsys.readouterr().err
    shutil.rmtree(tmp_path / "b" / "parts")
    assert main(compare) == 0


@pytest.mark.parametrize("n_references", [1, 2])
def test_folders_of_scores_have_the_wording_of_the_files(n_references, capsys, tmp_path):
    """Every caption ends in "yes", which no person says; parts of two rows, put together in another order.

    With one reference in every row wording is all that is measured, and the command says so.
    """
    scenes = [(animal, place) for animal in ("dog", "cat", "cow", "pig") for place in ("beach", "street", "lawn")]
    people = [[f"a {animal} runs on the {place}", f"the {animal} is on a {place}"] for animal, place in scenes]
    rows = [
        {"id": str(i), "predictions": [f"a {animal} on a {place} yes"], "references": people[i][:n_references]}
        for i, (animal, place) in enumerate(scenes)
    ]
    captions = {side: [{"id": row["id"], side: row[side]} for row in rows] for side in ("predictions", "references")}
    system, references = (write_jsonl(tmp_path / f"{side}.jsonl", lines) for side, lines in captions.items())
    numbers = []
    line = ["score", "-m", "human_parity", "-i", system, "-r", references, "-o", tmp_path / "a", "--processes", 1]
    line += ["--option", "human_parity.distance=meteor", "--part-size", 0.0001]
    assert main([*map(str, line)]) == 0
    printed = capsys.readouterr()
    assert ("Wording alone is measured" in printed.err) == (n_references == 1)
    found = json.loads(printed.out)["metrics"]["human_parity"]
    assert "NaN" not in (tmp_path / "a" / "summary.json").read_text()
    expected = finite(without_lists(module_result("human_parity", rows, distance="meteor")))
    for key, value in found.items():
        assert value == (expected[key] if expected[key] is None or key == "signature" else pytest.approx(expected[key]))
    for sources in ([tmp_path / "a"], [system, "-r", references, "--distance", "meteor", "-m", "bleu_rouge"]):
        line = ["compare", *map(str, sources), "-o", str(tmp_path / "report"), "--overwrite", "-f", "json"]
        assert main(line) == 0
        (system_numbers,) = json.loads(capsys.readouterr().out)["human_parity"]["systems"].values()
        numbers.append([system_numbers[key] for key in ("phrases", "wording_gap", "wording_p_value")])
    assert numbers[0] == numbers[1]
    assert any(phrase["phrase"] == "yes" and phrase["share"] == 1 for phrase in numbers[0][0])


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(summary, tmp_path, lines, rows):
    found = summary("trm_meteor", lines, "--dry-run")
    columns = ("predictions", "references", "id")
    assert found["inputs"]["predictions"]["columns"] == dict(zip(columns, columns, strict=True))
    assert found["first_row"]["predictions"] == rows[0]["predictions"]
    assert found["n_parts"] == 1
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("kind", "start"), [("text", "metric      value"), ("md", "| metric | value |"), ("latex", r"\begin{tabular}{llr}")]
)
def test_tables(score, tmp_path, lines, kind, start):
    printed, _ = score("trm_meteor", lines, "--limit", "5", "-f", kind, to=tmp_path / "o")
    value = json.loads((tmp_path / "o" / "summary.json").read_text())["metrics"]["trm_meteor"]["trm_meteor"]
    assert f"{value:.6g}" in printed
    assert start in printed
    assert ("trm\\_meteor" in printed) == (kind == "latex")


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("trm_metor", (), "--metrics: expected one of bleu_rouge, chair, "),
        ("trm_meteor", ("--device", "cuda"), "--device: expected a metric with a model, got trm_meteor. Leave this"),
        ("trm_meteor", ("--num-gpus", 1), "--engine: expected ray, got local with --address or --num-gpus. Leave"),
        ("trm_meteor", ("--address", "auto"), "--engine: expected ray, got local with --address or --num-gpus. Leave"),
        ("pac_score", (), "-m pac_score: expected images, got none in the files. Give --images FOLDER, or name the"),
        ("trm_meteor", flags(sigma=1), "--option sigma: expected an option of trm_meteor, got none of these"),
        ("trm_meteor", ("--option", "seed"), "--option seed: expected [MODULE.]NAME=VALUE, got no equals sign"),
        (
            "trm_meteor",
            flags(clusters=["a"], p_value="exact"),
            "--option clusters: expected none, got labels. Leave it",
        ),
        (
            "set_diversity",
            flags(equivalent=0.2, quality=[[1]]),
            "--option quality: expected none, got numbers of rows. Leave it",
        ),
        ("trm_meteor", flags(statistic="x"), "statistic: expected one of 'per_side', 'pooled', got 'x'."),
        ("trm_meteor", ("--columns", "a=b"), "--columns: expected a list such as predictions=samples,id=image_id"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(score, tmp_path, lines, module, options, message):
    code = 2 if message.startswith("--") else 1
    _, error = score(module, lines, *options, to=tmp_path / "o", code=code)
    assert error.startswith(message)
    assert not (tmp_path / "o").exists()


def test_an_option_may_be_for_one_metric(summary, lines):
    found = summary("trm_meteor, trm_cider", lines, "--option", "trm_cider.statistic=pooled")
    assert found["options"] == {"trm_meteor": {}, "trm_cider": {"statistic": "pooled"}}
    assert "statistic:pooled" in found["metrics"]["trm_cider"]["signature"]


def test_a_full_disk_is_named_and_finished_parts_stay(score, summary, tmp_path, lines):
    arguments = ("trm_meteor", lines, "--part-size", 0.002)
    replace, written = os.replace, []

    def fills_up(source, target):
        written.append(target)
        if len(written) > 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manycaps.scoring.run_folder.os.replace", fills_up)
        _, error = score(*arguments, code=1)
    assert error == (
        f"{tmp_path / 'o'}: expected a folder that can hold the results, got No space left on device. Make room, and "
        "give the same command again: finished parts stay."
    )
    left = sorted(path.name for path in (tmp_path / "o").rglob("*") if path.is_file())
    assert left
    assert not [name for name in left if "incomplete" in name]
    assert summary(*arguments)["metrics"] == summary(*arguments, to="p")["metrics"]


def test_a_file_in_place_of_the_folder_is_refused(score, tmp_path, lines):
    _, error = score("trm_meteor", lines, to=lines, code=2)
    assert error == f"--output: expected a folder, got {quote_path(lines)}, which is a file. Name another one."


def test_a_folder_in_use_is_refused(score, tmp_path, lines):
    with RunFolder(tmp_path / "o").lock():
        _, error = score("trm_meteor", lines, code=1)
    assert "expected a folder that no other run writes to, got one that is in use." in error


def test_a_call_from_python_equals_the_command(score, summary, tmp_path, lines):
    options = ScoreOptions({"trm_cider": {"statistic": "pooled"}}, [str(lines)], tmp_path / "called", processes=1)
    result = score_files(options)
    printed = summary("trm_cider", lines, *flags(statistic="pooled"))
    assert result.to_dict() == printed == json.loads((tmp_path / "called" / "summary.json").read_text())
    assert result.folder == tmp_path / "called"
    assert f"<td>trm_cider</td><td>{result.metrics['trm_cider']['trm_cider']:.6g}</td>" in result._repr_html_()
    score("trm_cider", lines, to="called", code=1)
    with pytest.raises(TypeError, match=r"^inputs: expected a list of strings, got 'a.jsonl'"):
        ScoreOptions(["trm_cider"], "a.jsonl", "scores")


def test_stored_rows_say_where_they_come_from(summary, tmp_path, rows, lines):
    summary("trm_meteor", lines, *TESTED)
    table, expected = pq.read_table(tmp_path / "o" / "rows"), module_result("trm_meteor", rows, **TESTS)
    assert table.column_names[:7] == ["id", "file", "row", "n_candidates", "n_references", "trm_meteor", "meteor"]
    found = table.to_pylist()
    assert [row["row"] for row in found] == list(range(60))
    assert {row["file"] for row in found} == {str(lines)}
    assert [row["n_candidates"] for row in found] == [len(row["predictions"]) for row in rows]
    for column in ("trm_meteor", "trm_meteor_p_value", "trm_meteor_excess", "meteor"):
        assert [row[column] for row in found] == expected[f"{column}_per_row"]


def test_ids_that_two_tars_share_are_found_without_a_survey(score, summary, tmp_path):
    image = io.BytesIO()
    PIL.Image.fromarray(IMAGES[0]).save(image, format="PNG")
    tars = [
        write_tar(tmp_path / name, {key: {"png": image.getvalue(), "txt": f"a dog {key}".encode()} for key in keys})
        for name, keys in (("a.tar", "abc"), ("b.tar", "dbea"))
    ]
    arguments = ["pac_score", tars, "--part-size", 0.0001, *flags(**clip_options())]
    for _ in range(2):  # found again, not passed over, when the command is given again
        _, error = score(*arguments, code=1)
        assert error == (
            f"{tars[1]}, id 'b': id[1]: expected a unique id, got the id of row 1 of {tars[0]}. Leave one of them out."
        )
    assert not list((tmp_path / "o" / "parts").glob("survey-*"))
    found = summary(*arguments, "--on-error", "reject")
    assert (found["n_rows"], found["n_rejected"]) == (5, 2)
    assert [row["id"] for row in sorted_rows(tmp_path / "o")] == list("abcde")
    assert len((tmp_path / "o" / "rejected.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("restart", [[], ["--restart"]], ids=["new", "restart"])
@pytest.mark.parametrize(
    "name", ["summary.json", "rejected.jsonl", "wording.npz", "rows/part-00000.parquet", "parts/score-00000.json"]
)
def test_files_that_no_manifest_says_are_of_a_run_are_never_replaced(score, tmp_path, lines, name, restart):
    mine = tmp_path / "o" / name
    mine.parent.mkdir(parents=True)
    mine.write_text('{"my": "results"}')
    _, error = score("trm_meteor", lines, *restart, code=1)
    assert error == (
        f"{quote_path(tmp_path / 'o')}: expected a new folder, or one that holds a run of `manycaps score`, got one "
        f"with {name} and no manifest of a run. Give another folder with -o, or move these files away."
    )
    assert mine.read_text() == '{"my": "results"}'


@pytest.mark.parametrize("restart", [[], ["--restart"]], ids=["new", "restart"])
@pytest.mark.parametrize("content", ['{"name": "web app"}', "[1]", "not JSON"])
def test_a_manifest_of_another_program_is_never_replaced(score, tmp_path, lines, content, restart):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "manifest.json").write_text(content)
    score("trm_meteor", lines, *restart, code=1)
    assert (tmp_path / "o" / "manifest.json").read_text() == content


def test_other_files_in_the_folder_do_no_harm(summary, tmp_path, lines):
    (tmp_path / "o" / "rows").mkdir(parents=True)
    (tmp_path / "o" / "rows" / "notes.parquet").write_text("mine")
    (tmp_path / "o" / "notes.md").write_text("mine")
    assert summary("bleu_rouge", lines)["n_rows"] == 60
    assert summary("bleu_rouge", lines, "--restart")["n_rows"] == 60
    assert (tmp_path / "o" / "notes.md").read_text() == "mine"


def test_finished_parts_without_the_manifest_are_not_taken_for_those_of_a_run(score, summary, tmp_path, rows):
    lines = write_jsonl(tmp_path / "a.jsonl", rows)
    arguments = ("bleu_rouge", lines, "--part-size", 0.002)
    summary(*arguments)
    (tmp_path / "o" / "manifest.json").unlink()
    (tmp_path / "o" / "summary.json").unlink()
    write_jsonl(lines, [{**row, "predictions": ["a cow"]} for row in rows])
    for more in ([], flags(tokenizer="char"), ["--restart"]):
        assert "and no manifest of a run" in score(*arguments, *more, code=1)[1]


@pytest.mark.parametrize("step", ["survey", "score"])
@pytest.mark.parametrize("of", ["another_input", "other_options", "another_part"])
def test_a_part_of_another_run_is_refused(score, summary, tmp_path, rows, of, step):
    """Its own digest is right: the seal says of which run, and of which part, it is."""
    lines, others = (write_jsonl(tmp_path / f"{name}.jsonl", rows) for name in ("a", "b"))
    arguments = ("trm_cider", lines, "--part-size", 0.002)
    summary(*arguments)
    if of == "another_part":
        source, name = tmp_path / "o", f"{step}-00002.json"
    else:
        more = flags(statistic="pooled") if of == "other_options" else ()
        summary("trm_cider", others if of == "another_input" else lines, *arguments[2:], *more, to="p")
        source, name = tmp_path / "p", f"{step}-00001.json"
    target = tmp_path / "o" / "parts" / f"{step}-00001.json"
    shutil.copy(source / "parts" / name, target)
    got = "part 2" if of == "another_part" else "one of another run"
    _, error = score(*arguments, code=1)
    assert error.startswith(f"{quote_path(target)}: expected {step} of part 1 of this run, got {got}. ")
    capture = main(["compare", str(tmp_path / "o"), "-o", str(tmp_path / "report")])
    assert capture == (1 if step == "score" else 0)


def test_rows_of_a_part_are_counted_against_the_survey(score, summary, tmp_path, lines):
    arguments = ("trm_cider", lines, "--part-size", 0.002)
    summary(*arguments)
    folder = RunFolder(tmp_path / "o")
    report = folder.report("survey", 1)
    folder.finish("survey", 1, {**report, "n_read": report["n_read"] + 1}, [])
    _, error = score(*arguments, code=1)
    n_read = report["n_read"]
    assert error.startswith(
        f"{quote_path(folder.part_file('score', 1))}: expected {n_read + 1} rows, as counted before, got {n_read}. "
    )
