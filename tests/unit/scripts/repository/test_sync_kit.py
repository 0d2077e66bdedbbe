"""The linking tool: links, the imports that only evaluate's loader needs, and what a person has to fix."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from evaluate.loading import get_imports

ROOT = pathlib.Path(__file__).resolve().parents[4]


def sync(root, *arguments):
    command = [sys.executable, "-m", "scripts.repository.sync_kit", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def root(tmp_path):
    """A small repository: a main script that needs two files of the kit and imports one of them."""
    for folder in ("scripts/repository", "manycaps/kit", "metrics/demo"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "repository" / "sync_kit.py", tmp_path / "scripts" / "repository")
    (tmp_path / "manycaps/kit/text_a.py").write_text("from .text_b import b\n\n\ndef a():\n    return b()\n")
    (tmp_path / "manycaps/kit/text_b.py").write_text("def _c():\n    pass\n\n\ndef b():\n    return 1\n")
    (tmp_path / "metrics/demo/demo.py").write_text("import math\n\nfrom .text_a import a\n\nX = a()\n")
    return tmp_path


def test_sync_makes_links_and_check_finds_what_is_no_link(root):
    missing = sync(root, "--check")
    assert missing.returncode == 1
    assert (
        "metrics/demo/text_a.py: expected a link to ../../manycaps/kit/text_a.py. Run `make format`." in missing.stdout
    )
    assert "manycaps/kit/demo.py: expected a link to ../../metrics/demo/demo.py." in missing.stdout
    assert sync(root).returncode == 0
    assert sync(root, "--check").stdout == "all links are right\n"
    link = root / "metrics/demo/text_b.py"
    assert str(link.readlink()) == "../../manycaps/kit/text_b.py"
    link.unlink()
    link.write_text("B = 2\n")
    assert sync(root, "--check").returncode == 1
    sync(root)
    assert link.is_symlink()
    assert link.read_text().endswith("    return 1\n")


def test_sync_names_what_the_main_script_does_not_import_itself(root):
    assert "metrics/demo/demo.py: does not name every file that the folder needs." in sync(root, "--check").stdout
    sync(root)
    script = root / "metrics/demo/demo.py"
    before, block = script.read_text().split("# isort: split\n")
    assert before == "import math\n\nfrom .text_a import a\n\n"
    # evaluate's loader takes a comment behind a relative import for an address.
    assert "\nfrom .text_b import b as b\n\nX = a()\n" in block
    # What is imported by hand afterwards leaves the block.
    script.write_text(script.read_text().replace("import a\n", "import a\nfrom .text_b import b\n"))
    sync(root)
    assert "isort" not in script.read_text()
    assert sync(root, "--check").returncode == 0


def test_what_is_imported_within_a_function_is_named_too(root):
    kit, script = root / "manycaps/kit", root / "metrics/demo/demo.py"
    (kit / "text_a.py").write_text("def a():\n    from .text_b import b\n\n    return b()\n")
    script.write_text("from .text_a import a\n\nX = a\n")
    sync(root)
    assert sync(root, "--check").stdout == "all links are right\n"
    assert (root / "metrics/demo/text_b.py").is_symlink()
    assert [name for _, name, *_ in get_imports(str(script))] == ["text_a", "text_b"]


def test_sync_deletes_links_that_nothing_needs_and_names_files_out_of_place(root):
    sync(root)
    (root / "metrics/demo/demo.py").write_text("import math\n\nfrom .text_b import b\n\nX = b()\n")
    found = sync(root, "--check").stdout
    assert "metrics/demo/text_a.py: the main script does not need it. Run `make format`." in found
    assert "manycaps/kit/text_a.py: nothing imports it. Delete it." in found
    (root / "manycaps/kit/text_a.py").unlink()
    assert sync(root).returncode == 0
    assert not (root / "metrics/demo/text_a.py").is_symlink()
    (root / "metrics/demo/text_old.py").write_text("X = 1\n")
    assert "metrics/demo/text_old.py: the main script does not need it. Move it to manycaps/kit." in sync(root).stdout
    (root / "metrics/demo/demo.py").write_text("from .missing import x\n")
    assert "metrics/demo: imports missing, which is not in manycaps/kit. Write it there." in sync(root).stdout
