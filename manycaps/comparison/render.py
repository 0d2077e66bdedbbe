"""Render: result and words in a terminal, for a paper, in a notebook, and on a page.

`SystemComparison` is what `compare` returns; the page and its figures are in `manycaps.comparison.page`.
"""

import dataclasses
import html
import json
import pathlib
import textwrap
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from manycaps.comparison.paper import paper_table
from manycaps.comparison.significance import Comparison
from manycaps.comparison.stored import NUMBERS, SHOWN, as_files, read_report
from manycaps.comparison.system_lines import WIDTH, has_meaning
from manycaps.comparison.system_tables import note_of_marks
from manycaps.comparison.table_terms import check_terms
from manycaps.comparison.words import Words, describe
from manycaps.files.result_tables import finite, write_table
from manycaps.files.saved_files import make_folder, write_text_atomically

# Files of a comparison in its folder: the page, the numbers, and what reading them again takes.
PAGE = "index.html"
OUTPUT_NAMES = (PAGE, NUMBERS, SHOWN)

# Pairs that are printed without --full: a summary beside the baseline if there are more.
MOST_PAIRS = 3

# Lines of a terminal, without the line of the next command.
HEIGHT = 26


@dataclasses.dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Captioning systems that were compared: the result, and what is said of it. A notebook shows it as tables."""

    result: Comparison
    words: Words
    # Whether the metrics were chosen, and are no defaults: a terminal then has a line for each.
    are_asked_for: bool = False

    @classmethod
    def of(cls, result: Comparison, *, are_asked_for: bool = False) -> "SystemComparison":
        """Put a result into words."""
        words = describe(result, are_asked_for=are_asked_for)
        return cls(result=result, words=words, are_asked_for=are_asked_for)

    @classmethod
    def read(cls, folder: str | pathlib.Path, *, sort: str | None = None) -> "SystemComparison":
        """Read the comparison that `save` wrote, without the captions' files or a model.

        Args:
            folder: of the report.
            sort: order of the systems, as in `CompareOptions`; None keeps the report's.

        Raises:
            ValueError, OSError: the folder has no report that this version can read.
        """
        result, are_asked_for = read_report(str(folder))
        if sort is not None:
            result = dataclasses.replace(result, shown=dataclasses.replace(result.shown, order=sort))
        return cls.of(result, are_asked_for=are_asked_for)

    def to_dict(self) -> dict[str, Any]:
        """Return every number, without captions, as `json.dumps` takes it; NaN and infinity are None."""
        numbers = dataclasses.asdict(self.result)
        del numbers["shown"]
        return dict(finite(numbers))

    def write(self, form: str = "text", *, full: bool = False, columns: Sequence[str] | None = None) -> str:
        """Return what `manycaps compare` prints: "text", "md", "latex" or "json".

        Args:
            form: in which it is written.
            full: whether all pairs and tables are added.
            columns: terms of one table, eight at most, in place of the usual ones; in a text the table alone.

        Raises:
            ValueError: the comparison has no such column, or nothing was measured of it.
        """
        if form == "json":
            return json.dumps(self.to_dict(), indent=1, allow_nan=False)
        words, parity = self.words, self.result.human_parity
        if columns is not None:
            check_terms(columns)
        if form == "text" and columns is None:
            has_tables = full or parity is None or not has_meaning(parity)
            tables = words.metric_tables if has_tables else []
            return "\n\n".join([answer_text(self, full=full), *(write_table(table, form) for table in tables)])
        others = words.metric_tables[bool(words.tables["systems"].rows) :] if full else []
        first = paper_table(self.result, words, columns, whole=form == "md")
        return "\n\n".join(write_table(table, form) for table in [first, *others])

    def _repr_html_(self) -> str:
        """Return the sentences and tables, as a notebook shows them."""
        sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.words.summary)
        return f"<ul>{sentences}</ul>{''.join(write_table(table, 'html') for table in self.words.all_tables)}"

    def save(self, folder: str | pathlib.Path) -> None:
        """Write the page, the numbers, and what `read` takes beside them: `index.html` and two JSON files.

        Args:
            folder: made if it does not exist; files of these names are replaced.

        Raises:
            OSError: they cannot be written.
        """
        # Only a page needs matplotlib.
        from manycaps.comparison.page import comparison_page

        files = {PAGE: comparison_page(self.result, self.words)}
        files |= as_files(self.result, are_asked_for=self.are_asked_for)
        make_folder(pathlib.Path(folder))
        for name in OUTPUT_NAMES:
            write_text_atomically(pathlib.Path(folder) / name, files[name])

    def save_figures(self, folder: str | pathlib.Path) -> None:
        """Write every plot as SVG and PDF, for a paper: complete without the page, and readable in grey.

        Args:
            folder: made if it does not exist; files of these names are replaced.

        Raises:
            OSError: they cannot be written.
        """
        from manycaps.comparison.page import comparison_figures

        for plot in tqdm(comparison_figures(self.result, self.words), desc="figures", unit="figure", delay=1):
            plot.save(make_folder(pathlib.Path(folder)))


def answer_text(comparison: SystemComparison, *, full: bool = False) -> str:
    """Return the answer as a terminal shows it: a table, a line for each system, with captions, and one for each pair.

    Of rows with captions, the three most unlike people's of each system are shown, or fewer, so that the answer fits a
    terminal. `full` adds the rest of them and of the pairs.
    """
    parity, words = comparison.result.human_parity, comparison.words
    if parity is None:
        return "\n".join(words.summary)
    table = write_table(words.screen, "text").splitlines()
    legend = f"{words.legend} {note_of_marks(parity, words.screen, '*')}".rstrip()
    pairs = list(words.pairs)
    if not full and len(pairs) > MOST_PAIRS:
        pairs = list(words.baseline)
    after_pairs = [f"- {line}" for line in pairs]
    asked = [] if full else words.asked  # which the tables have
    after_pairs += [*(f"- {sentence}" for sentence in (*words.metrics, *asked)), *words.after]
    before = [*table, *_wrap(legend), "", *(line for note in words.notes for line in _wrap(note))]
    after = ["", *(line for text in after_pairs for line in _wrap(text))] if after_pairs else []
    sentences = [_wrap(f"- {line}") for line in words.brief.values()]
    n_free = HEIGHT - len(before) - len(after) - sum(map(len, sentences))
    examples = list(words.examples.values())
    shown = [len(lines) for lines in examples] if full else _divide(list(map(len, examples)), n_free)
    answer_lines = [
        line
        for sentence, lines, n in zip(sentences, examples, shown, strict=True)
        for line in (*sentence, *(f"  {line}" for line in lines[:n]))
    ]
    return "\n".join([*before, *answer_lines, *after])


def _divide(wanted: Sequence[int], n_free: int) -> list[int]:
    """Divide free lines in turns.

    >>> _divide([3, 1, 3], 4), _divide([3], -1)
    ([2, 1, 1], [0])
    """
    given = [0] * len(wanted)
    turns = [i for turn in range(max(wanted, default=0)) for i in range(len(wanted)) if turn < wanted[i]]
    for i in turns[: max(0, n_free)]:
        given[i] += 1
    return given


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
