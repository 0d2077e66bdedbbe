"""Write the table of modules in docs/metrics.md from their records in manycaps/catalog.py.

python -m scripts.repository.module_table            write the table
python -m scripts.repository.module_table --check    change nothing, say whether it is up to date
"""

import argparse
import pathlib
import sys

from manycaps.catalog import MODULES
from scripts.repository.sync_kit import with_part

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

# Around the table.
MARKS = ("<!-- modules: written by scripts/repository/module_table.py -->", "<!-- end of modules -->")


def with_table(text: str) -> str:
    """Return the page's text with the table of today's records."""
    rows = ["| module | compares | with | card |", "|---|---|---|---|"]
    for record in MODULES.values():
        card = f"[card](../{record.kind}/{record.slug}/README.md)"
        rows.append(f"| `{record.slug}` | {record.compares} | {record.computes} | {card} |")
    return with_part(text, MARKS, "\n".join(rows))


def main(check: bool) -> int:
    """Write or check the table; 0 if it is up to date afterwards."""
    text = PAGE.read_text(encoding="utf-8")
    if check and text != with_table(text):
        print("docs/metrics.md: the table of modules is not that of manycaps/catalog.py. Run `make format`.")
        return 1
    if not check:
        PAGE.write_text(with_table(text), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, only report")
    sys.exit(main(parser.parse_args().check))
