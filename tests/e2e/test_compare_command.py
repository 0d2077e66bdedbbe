"""`manycaps compare` on files, from captions to the page, and a message for every mistake."""

import functools
import json
import pathlib
import time

import numpy as np
import pytest

from manycaps import command_line, load
from manycaps.comparison.compared_systems import compared_systems
from manycaps.comparison.systems import ScoredSystem, SystemRow
from manycaps.report.comparison_page import comparison_page
from tests.comparison_cases import caption_rows, write_captions
from tests.language_captions import segments
from tests.modules.sample_inputs import small_meteor15_data

# A page on 10,000 rows and 5 systems: bytes, and seconds after scoring on a machine that has other work.
MOST_BYTES = 10_000_000
MOST_SECONDS = 60


def run(*arguments):
    """The command, with METEOR, which loads no model, as the distance beside people."""
    has_captions = not any(pathlib.Path(str(each), "rows").is_dir() for each in arguments)
    distance = ["--distance", "meteor"] if has_captions and "--distance" not in arguments else []
    return command_line.main(["compare", *map(str, arguments), *distance])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_captions(tmp_path_factory.mktemp("captions"), caption_rows())


@pytest.fixture(scope="module")
def compared(files, tmp_path_factory):
    """Numbers of a comparison of three systems, and the folder."""
    folder = tmp_path_factory.mktemp("report")
    systems = [files[name] for name in ("base", "repeating", "other")]
    assert run(*systems, "-r", files["references"], "-o", folder, "--n-resamples", 999, "--full") == 0
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8")), folder


def test_finds_what_the_systems_do(compared):
    numbers, _ = compared
    assert numbers["systems"] == ["base", "repeating", "other"]
    assert list(numbers["metrics"]) == ["trm_meteor_excess", "meteor", "trm_cider_excess", "cider_d"]
    pairs = {(pair["first"], pair["second"]): pair for pair in numbers["metrics"]["trm_meteor_excess"]["pairs"]}
    assert pairs["repeating", "base"]["better"] == "base"
    assert [found["system"] for found in numbers["against_people"] if found["p_value"] > 0.05] == ["base"] * 2
    assert len(numbers["exchangeable"]) == 2 * 3
    assert (compared[1] / "index.html").is_file()


def test_numbers_are_those_of_the_modules(files, compared):
    rows = caption_rows()
    for module in ("trm_meteor", "trm_cider"):
        result = load(module).compute(
            predictions=rows["repeating"],
            references=rows["references"],
            p_value="exact",
            n_resamples=999,
            confidence_level=0.95,
            details=True,
        )
        for key in (f"{module}_excess", "meteor" if module == "trm_meteor" else "cider_d"):
            metric = compared[0]["metrics"][key]
            assert metric["per_row"]["repeating"] == result[f"{key}_per_row"]
            assert metric["systems"]["repeating"]["mean"] == pytest.approx(result[key], abs=1e-12)
        (found,) = (
            each for each in compared[0]["against_people"] if (each["module"], each["system"]) == (module, "repeating")
        )
        assert found["p_value"] == result[f"{module}_corpus_p_value"]
        assert (found["z"], found["ci_low"]) == (result[f"{module}_z"], result[f"{module}_excess_ci_low"])
        assert compared[0]["signatures"]["repeating"][module] == result["signature"]


def test_exchange_puts_a_system_in_place_of_people(compared):
    """The documents of CIDEr-D stay those of people."""
    rows = caption_rows()
    options = {"p_value": "exact", "n_resamples": 999}
    plain = load("trm_meteor").compute(predictions=rows["other"], references=rows["base"], **options)
    found = {(e["module"], e["first"], e["second"]): e for e in compared[0]["exchangeable"]}
    exchange = found["trm_meteor", "other", "base"]
    assert (exchange["p_value"], exchange["z"]) == (plain["trm_meteor_corpus_p_value"], plain["trm_meteor_z"])
    counted_elsewhere = load("trm_cider").compute(predictions=rows["other"], references=rows["base"], **options)
    assert found["trm_cider", "other", "base"]["statistic"] != counted_elsewhere["trm_cider"]


def test_a_system_against_itself_with_shuffled_captions_and_rows(tmp_path):
    rows, rng = caption_rows(), np.random.default_rng(0)
    ids = [f"image {i}" for i in range(len(rows["base"]))]
    mine = write_captions(tmp_path, {"references": rows["references"], "mine": rows["base"]}, ids)
    order = rng.permutation(len(ids))
    shuffled = {"shuffled": [list(rng.permutation(rows["base"][i])) for i in order]}
    other = write_captions(tmp_path, shuffled, [ids[i] for i in order])
    arguments = [
        mine["mine"],
        other["shuffled"],
        "-r",
        mine["references"],
        "-o",
        tmp_path,
        "--n-resamples",
        99,
        "--full",
    ]
    assert run(*arguments) == 0
    numbers = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    for metric in numbers["metrics"].values():
        (pair,) = metric["pairs"]
        test = pair["test"]
        assert (test["difference"], test["p_value"], test["n_equal"], pair["better"]) == (0.0, 1.0, len(ids), None)
    # A copy is nearer than a draw, so that the modules' own test would call the two different.
    exchanges = [(each["excess"], each["z"], each["p_value"]) for each in numbers["exchangeable"]]
    assert exchanges == [(0.0, 0.0, 1.0)] * 2


@pytest.mark.slow
def test_order_of_systems_changes_no_finding(files, compared, tmp_path):
    systems = [files[name] for name in ("other", "repeating", "base")]
    assert run(*systems, "-r", files["references"], "-o", tmp_path, "--baseline", "base", "--n-resamples", 999) == 0
    numbers = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert numbers["systems"] == ["base", "other", "repeating"]
    for key, metric in compared[0]["metrics"].items():
        assert findings(metric) == findings(numbers["metrics"][key])


def findings(metric):
    """Adjusted p-value and better system of each pair, whichever of them comes first."""
    return {frozenset((p["first"], p["second"])): (p["adjusted_p_value"], p["better"]) for p in metric["pairs"]}


def test_formats_go_to_standard_output(files, tmp_path, capsys):
    arguments = [files["base"], files["other"], "-r", files["references"], "-o", tmp_path, "-m", "trm_meteor"]
    for form, beginning in (("text", "system  p "), ("md", "Systems beside people"), ("latex", "% \\usepa")):
        assert run(*arguments, "-f", form, "--n-resamples", 99, "--overwrite") == 0
        printed = capsys.readouterr()
        assert printed.out.startswith(beginning)
        assert ("- base is nearer to people than other (p " in printed.out) == (form == "text")
        assert ("TRM-METEOR" in printed.out) == (form != "text")
    assert run(*arguments, "--full", "--n-resamples", 99, "--overwrite") == 0
    assert "Means over rows; *:" in capsys.readouterr().out
    assert run(*arguments, "-f", "json", "--n-resamples", 99, "--overwrite") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_clusters_of_ids(files, tmp_path):
    rows = caption_rows()
    ids = [f"{i // 2}#{i % 2}" for i in range(len(rows["base"]))]
    paths = write_captions(tmp_path, rows, ids)
    arguments = [paths["base"], paths["other"], "-r", paths["references"], "-o", tmp_path, "-m", "trm_meteor"]
    assert run(*arguments, "--clusters", "^[^#]+", "--n-resamples", 99) == 0
    numbers = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert (numbers["n_rows"], numbers["n_clusters"]) == (12, 6)


def test_single_captions_are_compared_without_sets(tmp_path):
    rows = caption_rows()
    single = {name: [row[:1] for row in rows[name]] for name in ("base", "other")} | {"references": rows["references"]}
    paths = write_captions(tmp_path, single)
    arguments = [paths["base"], paths["other"], "-r", paths["references"], "-o", tmp_path, "-m", "trm_meteor"]
    assert run(*arguments, "--n-resamples", 99) == 0
    numbers = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert numbers["exchangeable"] == []
    assert list(numbers["metrics"]) == ["trm_meteor_excess", "meteor"]


def bad_inputs(folder):
    """Arguments, and the beginning of the message."""
    rows = caption_rows(4)
    ids = list("abcd")
    good = write_captions(folder, rows, ids)
    (folder / "bad").mkdir()
    bad = functools.partial(write_captions, folder / "bad")
    fewer = bad({"fewer": rows["base"][:3]}, ids[:3])["fewer"]
    more = bad({"more": [*rows["base"], ["a dog"]]}, [*ids, "e"])["more"]
    twice = bad({"twice": rows["base"]}, ["a", "b", "b", "d"])["twice"]
    without = bad({"references": rows["references"][:3]}, ids[:3])["references"]
    base, other, people = good["base"], good["other"], ["-r", good["references"]]
    yield [base, *people], "systems: expected two or more, got one (" + base
    yield [base, fewer, *people], f"{fewer}"
    yield [base, more, *people], f"{more}"
    yield [base, twice, *people], f"{twice}, id 'b': "
    yield [base, other, "-r", without], f"{base}, id 'd': "
    yield [base, other], "systems: expected references, images or videos to compare captions by, got captions alone."
    yield (
        [base, other, *people, "-m", "bleu"],
        "--metrics: expected some of trm_meteor, meteor15, trm_cider, trm_bert, mmd_bert",
    )
    yield [base, other, *people, "-m", "pac_score"], "pac_score: expected images of every row, got none for the id 'a'."
    yield [base, other, *people, "--clusters", "("], "--clusters: expected a regular expression, got '(' ("
    yield [base, other, *people, "--clusters", "x"], "--clusters: expected 'x' in every id, got 'a'. Fix the"
    yield [base, other, *people, "--n-resamples", "0"], "--n-resamples: expected a whole number of at least 1, got 0."
    yield [base, other, *people, "--limit", "0"], "--limit: expected a whole number of at least 1, got 0."
    yield [base, str(folder / "none.jsonl"), *people], f"{folder / 'none.jsonl'}: expected"


def test_bad_input_ends_with_one_line(tmp_path, capsys):
    for arguments, message in bad_inputs(tmp_path):
        assert run(*arguments, "-o", tmp_path / "report") in (1, 2)
        # Progress bars erase themselves.
        error = capsys.readouterr().err.rpartition("\r")[2]
        assert error.startswith(message), (message, error)
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
    page = comparison_page(compared_systems(systems, rows))
    assert time.perf_counter() - start < MOST_SECONDS
    assert len(page.encode()) < MOST_BYTES


def test_folders_of_scores_give_the_numbers_of_the_captions(files, compared, tmp_path):
    """What `manycaps score` wrote is compared as it stands."""
    names = ("base", "repeating", "other")
    for name in names:
        arguments = [
            "-i",
            files[name],
            "-r",
            files["references"],
            "-o",
            str(tmp_path / name),
            "-m",
            "trm_meteor,trm_cider",
        ]
        options = ["p_value=exact", "confidence_level=0.95", "n_resamples=999"]
        assert command_line.main(["score", *arguments, *(word for each in options for word in ("--option", each))]) == 0
    folders = [tmp_path / name for name in names]
    assert run(*folders, "-o", tmp_path / "report", "--n-resamples", 999) == 0
    numbers = json.loads((tmp_path / "report" / "comparison.json").read_text(encoding="utf-8"))
    assert numbers["exchangeable"] == []
    same = ("systems", "ids", "metrics", "against_people", "correlations")
    for key in same:
        assert numbers[key] == compared[0][key], key
    assert (
        run(*folders, "-o", tmp_path / "report", "--n-resamples", 999, "--with-captions", "--overwrite", "--full") == 0
    )
    numbers = json.loads((tmp_path / "report" / "comparison.json").read_text(encoding="utf-8"))
    for key in (*same, "exchangeable"):
        assert numbers[key] == compared[0][key], key
    assert caption_rows()["base"][0][0] in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_captions_that_are_gone_or_changed_are_refused(tmp_path, capsys):
    files = write_captions(tmp_path, caption_rows(4))
    folders = [str(tmp_path / "scores" / name) for name in ("base", "other")]
    for folder, name in zip(folders, ("base", "other"), strict=True):
        arguments = ["-m", "trm_meteor", "-i", files[name], "-r", files["references"], "-o", folder]
        assert command_line.main(["score", *arguments]) == 0
    capsys.readouterr()
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


def test_tokenizers_and_languages_by_name(tmp_path, capsys):
    texts = segments("de", 12)
    paths = {name: tmp_path / f"{name}.json" for name in ("first", "second", "people")}
    for name, captions in (
        ("first", [[text] for text, _ in texts]),
        ("second", [[text] for text, _ in texts[1:] + texts[:1]]),
        ("people", [others for _, others in texts]),
    ):
        paths[name].write_text(json.dumps([{"id": i, "captions": row} for i, row in enumerate(captions)]))
    arguments = ["-m", "meteor15,bleu_rouge", "--tokenizer", "intl", "--language", "de", "-f", "json"]
    assert run(paths["first"], paths["second"], "-r", paths["people"], "-o", tmp_path / "report", *arguments) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    columns = {"predictions": [[text] for text, _ in texts], "references": [others for _, others in texts]}
    for module, key, options in (("meteor15", "meteor15", {"language": "de"}), ("bleu_rouge", "bleu_4", {})):
        expected = load(module, tokenizer="intl", details=True, **options).compute(**columns)
        assert found[key]["per_row"]["first"] == expected[f"{key}_per_row"]


@pytest.mark.slow
def test_meteor_15_is_a_row_of_the_tables(files, tmp_path, capsys):
    systems = [files[name] for name in ("base", "other")]
    arguments = ("-r", files["references"], "-m", "meteor15", "--meteor15-data", small_meteor15_data(), "-f", "json")
    assert run(*systems, "-o", tmp_path, *arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["metrics"]) == ["meteor15"]
    rows = caption_rows()
    expected = load("meteor15", meteor15_data=small_meteor15_data()).compute(
        predictions=rows["other"], references=rows["references"], details=True
    )
    assert found["metrics"]["meteor15"]["per_row"]["other"] == expected["meteor15_per_row"]
    assert found["metrics"]["meteor15"]["direction"] == "higher is better"


def test_the_answer_of_three_systems_fits_a_terminal(files, tmp_path, capsys):
    systems = [files[name] for name in ("base", "repeating", "other")]
    assert run(*systems, "-r", files["references"], "-o", tmp_path, "-m", "trm_meteor", "--n-resamples", 99) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("base ")
    assert lines[4].startswith("people ")


def test_a_system_with_captions_of_the_references_is_not_ranked(tmp_path, capsys):
    """One caption of three is a reference of its row, in all rows."""
    rows = caption_rows(30)
    rows["copying"] = [
        [people[0], *captions[1:]] for people, captions in zip(rows["references"], rows["base"], strict=True)
    ]
    paths = write_captions(tmp_path, rows)
    arguments = [paths["base"], paths["copying"], "-r", paths["references"], "-o", tmp_path, "-m", "trm_meteor"]
    assert run(*arguments, "--n-resamples", 99) == 0
    printed = capsys.readouterr().out
    assert "also occur among the references of their" in printed
    assert "- copying and base are not ranked: captions of copying also occur among the references." in printed
    assert "dominates" not in printed
