"""Execute the notebooks of docs/notebooks, and keep what they print.

python -m scripts.repository.run_notebooks            write the outputs
python -m scripts.repository.run_notebooks --check    change nothing, say whether they print what they show

Needs tests/requirements.txt.
"""

import pathlib
import sys
import tempfile

import nbclient
import nbformat

from scripts.repository.sync_kit import is_check

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))

# Longest time of a cell, in seconds: the first one may load a sentence encoder.
TIMEOUT = 600


def execute(path: pathlib.Path) -> nbformat.NotebookNode:
    """Return a notebook with what its cells print now; progress and warnings are left out."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=TIMEOUT, resources=resources, coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
    return notebook


def main(check: bool) -> int:
    """Write or check the outputs; 0 if they are up to date afterwards."""
    changed = 0
    for path in NOTEBOOKS:
        text = nbformat.writes(execute(path)) + "\n"
        if check and text != path.read_text(encoding="utf-8"):
            print(f"{path.name}: expected other outputs. Run `python -m scripts.repository.run_notebooks`.")
            changed = 1
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
    return changed


if __name__ == "__main__":
    sys.exit(main(is_check(__doc__)))
