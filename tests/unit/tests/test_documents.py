"""What documents say of files: those of SECURITY.md are there, and hold the limits that it names."""

import re

from tests.tools import ROOT

SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_files_are_there():
    paths = re.findall(r"`((?:manycaps|tests|metrics|measurements|scripts)/[\w/.]+)`", SECURITY)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_limits_are_where_the_table_says():
    table = SECURITY.split("## Limits")[1].split("\n## ")[0]
    rows = re.findall(r"^\| .* \| (.*`[A-Z_]+`.*) \| (.*manycaps/.*\.py.*) \|$", table, re.MULTILINE)
    assert len(rows) > 12
    missing = []
    for names, paths in rows:
        sources = "".join((ROOT / path).read_text(encoding="utf-8") for path in re.findall(r"`([^`]+)`", paths))
        constants = re.findall(r"`([A-Z_]+)`", names)
        missing += [name for name in constants if not re.search(rf"^(?:\w+, )*{name}\b.* = ", sources, re.MULTILINE)]
    assert missing == []
