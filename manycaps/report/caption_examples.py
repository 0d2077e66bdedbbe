"""Captions behind the verdicts of a comparison, on its page: those most unlike people's, and the pairs most alike."""

import html
import importlib.util
from collections.abc import Callable, Sequence

from manycaps.comparison.parity import ComparedParity, SystemParity
from manycaps.comparison.parity_examples import CaptionExample, most_alike, most_unlike
from manycaps.comparison.systems import SystemRow
from manycaps.report.page_frame import as_caption_cell
from manycaps.report.thumbnails import picture_of

# Captions, and pairs, of each system.
MOST_EXAMPLES = 20

# References that are shown beside them: enough to see what people wrote.
MOST_REFERENCES = 3

ExampleChoice = Callable[[SystemParity, Sequence[SystemRow], int], list[CaptionExample]]

# What is shown of each system: identifier, title, and which captions.
KINDS: Sequence[tuple[str, str, ExampleChoice]] = (
    ("unlike", "Captions of {} most unlike people's", most_unlike),
    ("alike", "Pairs of captions of {} most alike", most_alike),
)


def example_links(parity: ComparedParity, system: SystemParity, rows: Sequence[SystemRow]) -> str:
    """Return links from a system's sentence to its captions; empty where captions are not known."""
    texts = {"unlike": "captions most unlike people's", "alike": "pairs most alike"}
    links = [
        f'<a href="#{_place(parity, system, kind)}">{text}</a>'
        for (kind, _, choose), text in zip(KINDS, texts.values(), strict=True)
        if choose(system, rows, 1)
    ]
    return f" ({', '.join(links)})" if links else ""


def examples_section(parity: ComparedParity, rows: Sequence[SystemRow]) -> str:
    """Return the tables of all systems; empty where captions are not known."""
    has_images = any(row.image is not None for row in rows) and importlib.util.find_spec("PIL") is not None
    return "\n".join(
        _table(title.format(system.name), _place(parity, system, kind), examples, has_images)
        for system in parity.nearest_first()
        for kind, title, choose in KINDS
        if (examples := choose(system, rows, MOST_EXAMPLES))
    )


def _place(parity: ComparedParity, system: SystemParity, kind: str) -> str:
    """Identifier of a table, by the system's number: its name may hold anything."""
    return f"{kind}-of-{[other.name for other in parity.systems].index(system.name)}"


def _table(title: str, anchor: str, examples: Sequence[CaptionExample], has_images: bool) -> str:
    heads = "".join(f'<th scope="col" class="left">{text}</th>' for text in ("row", "captions", "people"))
    body = "".join(_row(example, has_images) for example in examples)
    title = html.escape(title)
    return f"""<h2 id="{anchor}">{title}</h2>
<div class="table rows examples" role="region" aria-label="{title}" tabindex="0"><table id="table-{anchor}">
<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"""


def _row(example: CaptionExample, has_images: bool) -> str:
    picture = f"<br>{picture_of(example.row)}" if has_images else ""
    captions = as_caption_cell(example.captions) + as_caption_cell((example.row.references or [])[:MOST_REFERENCES])
    return f'<tr><th scope="row">{html.escape(example.row.id)}{picture}</th>{captions}</tr>'
