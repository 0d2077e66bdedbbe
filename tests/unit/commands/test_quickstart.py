"""What the quickstart runs: the made world with the bundled sample alone."""

from manycaps.command_line import main
from manycaps.commands.quickstart import SAMPLE
from manycaps.quickstart import comparison


def test_captions_of_your_own_are_scored_alone(tmp_path, monkeypatch, capsys):
    report = comparison.SystemsReport({}, "the table", [tmp_path / "one", tmp_path / "two"])
    asked = []
    monkeypatch.setattr(comparison, "compare_systems", lambda captions, output: asked.append(captions) or report)
    monkeypatch.setattr(comparison, "compare_image_metrics", lambda output: asked.append("made world") or report)
    monkeypatch.setattr(comparison, "missing_image_packages", lambda: asked.append("packages") or [])
    own = tmp_path / "own.json"
    assert main(["quickstart", "--captions", str(own)]) == 0
    assert asked == [own]
    assert main(["quickstart"]) == 0
    assert asked == [own, SAMPLE, "packages", "made world"]
    assert capsys.readouterr().out.count("the table") == 3
