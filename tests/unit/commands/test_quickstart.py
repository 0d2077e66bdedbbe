"""What the quickstart runs: the made world with the bundled sample alone."""

import csv

from manycaps.command_line import main
from manycaps.commands.quickstart import SAMPLE
from manycaps.kit.base_messages import shown_path
from manycaps.quickstart import comparison


def test_captions_of_your_own_are_scored_alone(tmp_path, monkeypatch, capsys):
    report = comparison.SystemsReport({}, "the table", [tmp_path / "one", tmp_path / "two"])
    asked = []
    monkeypatch.setattr(comparison, "compare_systems", lambda captions, *_, **__: asked.append(captions) or report)
    monkeypatch.setattr(comparison, "compare_image_metrics", lambda output: asked.append("made world") or report)
    monkeypatch.setattr(comparison, "missing_image_packages", lambda: asked.append("packages") or [])
    own = tmp_path / "own.json"
    assert main(["quickstart", "--captions", str(own)]) == 0
    assert asked == [own]
    assert main(["quickstart"]) == 0
    assert asked == [own, SAMPLE, "packages", "made world"]
    assert capsys.readouterr().out.count("the table") == 3


def test_files_of_the_user_are_not_replaced_by_the_sample(tmp_path, capsys):
    mine = tmp_path / "references.jsonl"
    mine.write_text("mine", encoding="utf-8")
    assert main(["quickstart", "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"--output: expected a folder without files of your own, got {shown_path(mine)}. Choose another folder.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["references.jsonl"]
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_name_that_begins_like_a_formula_is_text_in_the_table(tmp_path):
    by_module = {module: {key: -0.5} for _, module, key, _ in comparison.COLUMNS}
    for _, module, key, _ in comparison.COLUMNS:
        by_module[module][key] = -0.5
    names = ["=1+1", "+a", "-a", "@a", "\ta", "a=b", "mine, 2"]
    comparison.write_csv(tmp_path / "table.csv", dict.fromkeys(names, by_module))
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == ["'=1+1", "'+a", "'-a", "'@a", "'\ta", "a=b", "mine, 2"]
    assert {cell for row in rows for cell in row[1:]} == {"-0.5"}
