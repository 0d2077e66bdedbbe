"""What documents hold: blocks of code, commands and links; and the sample in files, as documents name them."""

import ast
import re
import shlex

from tests.tools import ROOT
from tests.user_files import SCENES, write_lines

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")

# What `make docs` shows, without the notebooks: pages of their own, and the documents that become pages.
PAGES = sorted(
    path
    for pattern in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/*.md", "*/*/README.md")
    for path in ROOT.glob(pattern)
    if path.parent.name not in ("compare", "tests")
)


def blocks(path, language):
    """Texts of a document's fenced blocks of a language."""
    return [text for of, text in FENCE.findall(path.read_text(encoding="utf-8")) if of == language]


def commands(path):
    """Command lines of a document as words: from its bash blocks, and indented ones."""
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))  # a line that goes on is one command
    indented = [line.strip() for line in re.findall(r"^ {4}(?:manycaps|python -m) .*$", text, re.MULTILINE)]
    lines = [line for block in blocks(path, "bash") for line in block.splitlines() if line] + indented
    return [shlex.split(line, comments=True) for line in lines]


def code_of(path):
    """Lines of code that a document names, blanks made single: code in its sentences, blocks, and indented commands.

    The document of a program is its docstring.
    """
    text = path.read_text(encoding="utf-8")
    text = (ast.get_docstring(ast.parse(text)) or "") if path.suffix == ".py" else text
    text = re.sub(r"\\\n\s*", " ", text)
    started = re.findall(r"^ *(?:manycaps|python|torchrun|accelerate|make) .*$", text, re.MULTILINE)
    lines = [line for _, block in FENCE.findall(text) for line in block.splitlines()] + started
    return [" ".join(line.split()) for line in [*re.findall(r"`([^`]+)`", FENCE.sub("", text)), *lines]]


def broken_links(path):
    """Links of a document that lead to no file."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return [link for link in LINK.findall(text) if not (path.parent / link).exists()]


def write_sample(folder):
    """Write the systems of the bundled sample and people as the files that documents compare."""
    columns = {name: [scene["systems"][name] for scene in SCENES] for name in SCENES[0]["systems"]}
    columns |= {"references": [scene["references"] for scene in SCENES]}
    columns |= {"baseline": columns["repeating"], "mine": columns["diverse"], "system": columns["diverse"]}
    for name, rows in columns.items():
        write_lines(folder / f"{name}.jsonl", rows, [f"{i}.jpg" for i in range(len(rows))])
