"""The repository agrees with itself: versions, vendoring tool, changelog."""

import pathlib
import re
import shutil
import subprocess
import sys

from manycaps.shared_module import VERSION

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_one_version_everywhere():
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
    ):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE).group(1) == VERSION, name


def sync(root, *arguments):
    command = [sys.executable, str(root / "scripts" / "sync_shared.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def small_repository(tmp_path):
    for folder in ("scripts", "manycaps", "metrics/demo"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "sync_shared.py", tmp_path / "scripts")
    (tmp_path / "manycaps" / "shared_a.py").write_text("from .shared_b import B\n")
    (tmp_path / "manycaps" / "shared_b.py").write_text("B = 1\n")
    (tmp_path / "metrics/demo/demo.py").write_text("from .shared_a import B\nfrom .shared_b import B as C\n")
    return tmp_path


def test_sync_makes_copies_and_check_finds_drift(tmp_path):
    root = small_repository(tmp_path)
    missing = sync(root, "--check")
    assert missing.returncode == 1
    assert (
        "metrics/demo/shared_a.py: differs from manycaps/shared_a.py. Run `python scripts/sync_shared.py`."
        in missing.stdout
    )
    assert sync(root).returncode == 0
    assert sync(root, "--check").stdout == "all copies match\n"
    (root / "metrics/demo/shared_b.py").write_text("B = 2\n")
    assert sync(root, "--check").returncode == 1
    sync(root)
    assert (root / "metrics/demo/shared_b.py").read_text().endswith("B = 1\n")


def test_sync_reports_what_only_a_person_can_mend(tmp_path):
    root = small_repository(tmp_path)
    (root / "metrics/demo/demo.py").write_text("from .shared_a import B\n")
    (root / "metrics/demo/shared_b.py").write_text("B = 1\n")
    (root / "metrics/demo/shared_old.py").write_text("")
    result = sync(root)
    assert result.returncode == 1
    assert "metrics/demo/shared_b.py: demo.py never imports it." in result.stdout
    assert "metrics/demo/shared_old.py: has no original in manycaps/." in result.stdout
    assert "metrics/demo/shared_a.py: imports .shared_b, which demo.py does not." in result.stdout


def test_sync_copies_what_the_demo_page_imports(tmp_path):
    root = small_repository(tmp_path)
    (root / "manycaps" / "shared_page.py").write_text("C = 1\n")
    (root / "metrics/demo/app.py").write_text("import gradio\nfrom shared_page import C\n")
    assert sync(root).returncode == 0
    assert (root / "metrics/demo/shared_page.py").read_text().endswith("C = 1\n")
    (root / "metrics/demo/app.py").unlink()
    assert "metrics/demo/shared_page.py: demo.py never imports it." in sync(root).stdout


def test_sync_refuses_helpers_that_a_page_cannot_import(tmp_path):
    root = small_repository(tmp_path)
    (root / "manycaps" / "shared_page.py").write_text("from .shared_b import B\n")
    (root / "metrics/demo/app.py").write_text("from shared_page import B\nfrom shared_a import B as A\n")
    result = sync(root)
    assert result.returncode == 1
    assert "manycaps/shared_page.py: app.py runs as a script, where relative imports fail." in result.stdout
    assert "metrics/demo: demo.py and app.py both import shared_a." in result.stdout
