"""The vendoring tool: copies, the imports that only evaluate's loader needs, and what a person has to mend."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]


def sync(root, *arguments):
    command = [sys.executable, "-m", "scripts.repository.sync_shared", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def small_repository(tmp_path):
    for folder in ("scripts/repository", "manycaps", "metrics/demo"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "repository" / "sync_shared.py", tmp_path / "scripts" / "repository")
    (tmp_path / "manycaps" / "shared_a.py").write_text("from .shared_b import b\n\n\ndef a():\n    return b()\n")
    (tmp_path / "manycaps" / "shared_b.py").write_text("def _c():\n    pass\n\n\ndef b():\n    return 1\n")
    (tmp_path / "metrics/demo/demo.py").write_text("import math\n\nfrom .shared_a import a\n\nX = a()\n")
    return tmp_path


def test_sync_makes_copies_and_check_finds_drift(tmp_path):
    root = small_repository(tmp_path)
    missing = sync(root, "--check")
    assert missing.returncode == 1
    assert (
        "metrics/demo/shared_a.py: differs from manycaps/shared_a.py. Run `python -m scripts.repository.sync_shared`."
        in missing.stdout
    )
    assert sync(root).returncode == 0
    assert sync(root, "--check").stdout == "all copies match\n"
    (root / "metrics/demo/shared_b.py").write_text("B = 2\n")
    assert sync(root, "--check").returncode == 1
    sync(root)
    assert (root / "metrics/demo/shared_b.py").read_text().endswith("    return 1\n")


def test_sync_names_what_the_main_script_does_not_import_itself(tmp_path):
    root = small_repository(tmp_path)
    assert "metrics/demo/demo.py: does not name every file that the folder needs." in sync(root, "--check").stdout
    sync(root)
    written = (root / "metrics/demo/demo.py").read_text()
    before, block = written.split("# isort: split\n")
    assert before == "import math\n\nfrom .shared_a import a\n\n"
    # evaluate's loader takes a comment behind a relative import for an address.
    assert "\nfrom .shared_b import b\n\n_LOADED = (b,)\n\nX = a()\n" in block
    # What is imported by hand afterwards leaves the block.
    (root / "metrics/demo/demo.py").write_text(written.replace("import a\n", "import a\nfrom .shared_b import b\n"))
    sync(root)
    assert "_LOADED" not in (root / "metrics/demo/demo.py").read_text()
    assert sync(root, "--check").returncode == 0


def test_sync_deletes_copies_that_nothing_imports_and_names_files_without_an_original(tmp_path):
    root = small_repository(tmp_path)
    sync(root)
    (root / "metrics/demo/demo.py").write_text("import math\n")
    assert "metrics/demo/shared_b.py: no file of this folder imports it" in sync(root, "--check").stdout
    assert sync(root).returncode == 0
    assert not list((root / "metrics/demo").glob("shared_*"))
    (root / "metrics/demo/shared_old.py").write_text("X = 1\n")
    result = sync(root)
    assert result.returncode == 1
    assert "metrics/demo/shared_old.py: no file of this folder imports it, or it has no original." in result.stdout
    (root / "metrics/demo/demo.py").write_text("from .missing import x\n")
    assert "metrics/demo: imports missing, which does not exist." in sync(root).stdout


def test_sync_copies_what_the_demo_page_imports(tmp_path):
    root = small_repository(tmp_path)
    (root / "manycaps" / "shared_page.py").write_text("def c():\n    return 1\n")
    (root / "metrics/demo/app.py").write_text("import gradio\nfrom shared_page import c\n")
    assert sync(root).returncode == 0
    assert (root / "metrics/demo/shared_page.py").read_text().endswith("    return 1\n")
    (root / "metrics/demo/app.py").unlink()
    sync(root)
    assert not (root / "metrics/demo/shared_page.py").exists()


def test_sync_refuses_helpers_that_a_page_cannot_import(tmp_path):
    root = small_repository(tmp_path)
    (root / "manycaps" / "shared_page.py").write_text("from .shared_b import b\n")
    (root / "metrics/demo/app.py").write_text("from shared_page import b\nfrom shared_a import a\n")
    result = sync(root)
    assert result.returncode == 1
    assert "manycaps/shared_page.py: app.py is a script, where relative imports fail." in result.stdout
    assert "metrics/demo: demo.py and app.py both import shared_a." in result.stdout
