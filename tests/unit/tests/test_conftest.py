"""What a test run says at its end of the tests that it skipped."""

import pathlib
from types import SimpleNamespace

CONFTEST = pathlib.Path(__file__).resolve().parents[2] / "conftest.py"


class Report:
    """Stands in for pytest's reporter: keeps what is printed."""

    def __init__(self, *reasons):
        skipped = [SimpleNamespace(longrepr=("test_file.py", 1, f"Skipped: {reason}")) for reason in reasons]
        self.stats = {"skipped": skipped} if skipped else {}
        self.lines = []

    def section(self, title):
        self.lines.append(f"== {title}")

    def line(self, text):
        self.lines.append(text)


def printed(request, monkeypatch, folder, *reasons):
    conftest = request.config.pluginmanager.get_plugin(str(CONFTEST))
    monkeypatch.setattr(conftest, "REAL_GOLDEN", folder)
    report = Report(*reasons)
    conftest.pytest_terminal_summary(report)
    return report.lines


def test_reasons_are_counted_the_most_frequent_first(request, monkeypatch, tmp_path):
    lines = printed(request, monkeypatch, tmp_path, "no GPU", "no folder", "no folder")
    assert lines == ["== 3 skipped", "2 x no folder", "1 x no GPU"]


def test_it_says_that_the_data_folder_is_missing(request, monkeypatch, tmp_path):
    lines = printed(request, monkeypatch, tmp_path / "none", "no folder")
    assert lines[2:] == ["Golden values were compared on the captions and pictures of this project alone."]


def test_a_run_without_skips_says_nothing_of_them(request, monkeypatch, tmp_path):
    assert printed(request, monkeypatch, tmp_path) == []
