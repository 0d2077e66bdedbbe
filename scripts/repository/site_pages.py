"""Pages of the site that are made of other files: mkdocs calls the functions below, as mkdocs.yml says.

Documents outside docs/ become pages, links in a document lead to the page of the file that they name, and beside each
page lies its Markdown, which llms.txt lists.
"""

import argparse
import importlib
import inspect
import json
import pathlib
import pkgutil
import posixpath
import re
from collections.abc import Callable, Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import COMMANDS
from scripts.repository.sync_kit import document_table

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Page of each document of the repository that is not in docs/.
DOCUMENTS = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "checkpoints/tiny-pac/README.md": "cards/tiny-pac.md",
    **{f"{record.kind}/{record.slug}/README.md": f"cards/{record.slug}.md" for record in MODULES.values()},
}

PROGRAMS = {
    path.relative_to(ROOT).as_posix(): f"examples/{path.stem}.md"
    for path in sorted((ROOT / "scripts" / "examples").glob("*.py"))
}

NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): f"notebooks/{path.stem}.md"
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
}

PAGES = {**DOCUMENTS, **PROGRAMS, **NOTEBOOKS}

# Where links lead: the README is no page of the site.
LINKED = {**PAGES, "README.md": "index.md"}

FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
MEMBERS = re.compile(r"^::: ([\w.]+)\n(?:    .*\n?)*", re.MULTILINE)

# Markdown of every page, by its path.
written: dict[str, tuple[str, str]] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the cards and the examples into the navigation."""
    listed = {"CARDS": [PAGES[f"{each.kind}/{each.slug}/README.md"] for each in MODULES.values()]}
    listed["EXAMPLES"] = list(PROGRAMS.values())
    for section in config.nav or []:
        for title, pages in section.items():
            if isinstance(pages, list):
                section[title] = [page for name in pages for page in listed.get(name, [name])]
    written.clear()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not hold."""
    read: dict[str, Callable[[str], str]] = {".md": str, ".py": as_program, ".ipynb": as_page}
    for source, place in PAGES.items():
        path = ROOT / source
        content = read[path.suffix](path.read_text(encoding="utf-8"))
        files.append(File.generated(config, place, content=content))
    files.append(File.generated(config, "command_line.md", content="\n\n".join(command_line())))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead the links of a document to pages, and keep the Markdown for its copy."""
    place = page.file.src_uri
    source = next((each for each, target in PAGES.items() if target == place), f"docs/{place}")
    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(lambda link: lead_link(link, source, place), part) for part in parts[::2]]
    markdown = "".join(parts)
    written[place] = (page.title or place, MEMBERS.sub(lambda match: describe(match[1]), markdown))
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let pictures load as they come into view."""
    return html.replace("<img ", '<img loading="lazy" ')


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001
    """Keep the order of the pages for llms.txt."""
    for page in nav.pages:
        written[page.file.src_uri] = ("", "")
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write the Markdown copies and llms.txt."""
    site = pathlib.Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}.", "", "## Pages", ""]
    for place, (title, markdown) in written.items():
        copy = site / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(markdown.strip() + "\n", encoding="utf-8")
        lines.append(f"- [{title}]({place})")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def lead_link(link: re.Match[str], source: str, place: str) -> str:
    """Lead one link of a document to a page.

    >>> lead_link(LINK.search("](../metrics/trm/README.md#inputs)"), "docs/compare.md", "compare.md")
    '](cards/trm.md#inputs)'
    """
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
    page = LINKED.get(target, target.removeprefix("docs/"))
    if target not in LINKED and (page == target or not (ROOT / target).is_file()):
        raise PluginError(f"{source}: expected a link to a page of the site, got {link[1]}. See PAGES in {__file__}.")
    return f"]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{link[2] or ''})"


def as_program(text: str) -> str:
    """Return the page of a program: its docstring, which says how it is run, and its text."""
    title, _, rest = text.split('"""')[1].partition("\n")
    commands = "\n".join(f"    {line}" for line in rest.split("\n\n")[0].strip().splitlines())
    more = "\n\n".join(rest.split("\n\n")[1:]).strip()
    name = title.rstrip(".").split(",")[0]
    return f"# {name}\n\n{title}\n\n{commands}\n\n{more}\n\n```python\n{text.rstrip()}\n```\n"


def as_page(text: str) -> str:
    """Return the page of a notebook: its cells, and what they printed or showed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                parts.append(f"<div class='output'>{''.join(data['text/html'])}</div>")
            elif "image/png" in data:
                picture = data["image/png"].strip()
                parts.append(f"<img alt='output of the cell above' src='data:image/png;base64,{picture}'>")
            else:
                printed = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
                parts.append(f"```text\n{printed}\n```")
    return "\n\n".join(parts)


def command_line() -> Iterator[str]:
    """Yield the page of the commands, out of their parsers."""
    yield (
        "# Command line\n\nData goes to standard output, progress and messages to standard error; the exit status is "
        "0, 1 where the data or the run is at fault, or 2 for a wrong command line. `--traceback` shows the traceback "
        "of an error. What follows is what `manycaps COMMAND --help` prints."
    )
    yield document_table(("command", ""), [(f"[`manycaps {name}`](#{name})", what) for name, what in COMMANDS.items()])
    for name in COMMANDS:
        command = importlib.import_module(f"manycaps.commands.{name.replace('-', '_')}")
        summary, _, rest = inspect.cleandoc(command.__doc__ or "").partition("\n")
        yield f"## {name} {{ #{name} }}\n\n{summary}"
        if rest.strip():
            yield f"```text\n{rest.strip()}\n```"
        yield document_table(("option", ""), option_rows(f"manycaps {name}", command.add_arguments))


def option_rows(program: str, add_arguments: Callable[[argparse.ArgumentParser], None]) -> Iterator[tuple[str, str]]:
    """Yield a row for each option of a command."""
    parser = argparse.ArgumentParser(prog=program, add_help=False)
    add_arguments(parser)
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            names = formatter._format_action_invocation(action).replace("|", "\\|")
            what = formatter._expand_help(action) if action.help else ""
            yield f"`{names}`", what.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def describe(name: str) -> str:
    """Return functions and classes of a module as Markdown, for the copy of a page that mkdocstrings fills."""
    target = pkgutil.resolve_name(name)
    parts = []
    for member in [getattr(target, each) for each in target.__all__] if inspect.ismodule(target) else [target]:
        # Without types, which the docstring says in words.
        parameters = inspect.signature(member).parameters.values()
        signature = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])
        code = f"{member.__name__}{signature}\n\n{inspect.getdoc(member)}"
        parts.append(f"### {member.__name__}\n\n```text\n{code}\n```")
    return "\n\n".join(parts)
