"""What a test run says at its end of the tests that it skipped."""

import pathlib
from types import SimpleNamespace

from tests.each_case import each_case

CONFTEST = pathlib.Path(__file__).resolve().parents[2] / "conftest.py"


@each_case(
    ("reasons", "has_data", "said"),
    [
        (["no GPU", "no folder", "no folder"], True, ["== 3 skipped", "2 x no folder", "1 x no GPU"]),
        (
            ["no folder"],
            False,
            [
                "== 1 skipped",
                "1 x no folder",
                "Golden values were compared on the captions and pictures of this project alone.",
            ],
        ),
        ([], True, []),
    ],
    ids=["the most frequent first", "without the data folder", "no skips"],
)
def test_a_run_counts_why_it_skipped(request, monkeypatch, tmp_path, reasons, has_data, said):
    conftest = request.config.pluginmanager.get_plugin(str(CONFTEST))
    monkeypatch.setattr(conftest, "REAL_GOLDEN", tmp_path if has_data else tmp_path / "none")
    skipped = [SimpleNamespace(longrepr=("test_file.py", 1, f"Skipped: {reason}")) for reason in reasons]
    lines = []
    conftest.pytest_terminal_summary(
        SimpleNamespace(
            stats={"skipped": skipped} if skipped else {},
            section=lambda title: lines.append(f"== {title}"),
            line=lines.append,
        )
    )
    assert lines == said
