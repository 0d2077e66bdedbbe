"""A page of sentences and tables: systems by scores of another program, and judges on trial."""

import html
from collections.abc import Sequence

from manycaps.files.result_tables import Table, page_table
from manycaps.report.page_frame import as_document


def tables_page(
    title: str, names: Sequence[str], lead: str, sections: Sequence[tuple[str, Sequence[str], Sequence[Table]]]
) -> str:
    """Return the whole page, as HTML: for each section its heading, sentences, and tables, whose captions stand above.

    `names` are those of the systems or of the judges, for the title of the window; all texts are plain.
    """
    body = "".join(_section(*section) for section in sections)
    return as_document(title, ", ".join(names), lead, body)


def _section(heading: str, sentences: Sequence[str], tables: Sequence[Table]) -> str:
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    shown = "".join(
        f"<p>{html.escape(table.caption.replace('marked:', 'star:'))}</p>"
        f"{page_table(table.name, table._replace(caption=''), table.name)}"
        for table in tables
    )
    return f"<h2>{html.escape(heading)}</h2>{f'<ul>{items}</ul>' if items else ''}{shown}\n"
