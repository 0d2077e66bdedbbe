"""The last room of a comparison, which renders result and words: in a terminal, for a paper, in a notebook, on a page.

`SystemComparison` is what `compare` returns; the page and its figures are in `manycaps.report.comparison_page`.
"""

import dataclasses
import html
import json
import pathlib
import textwrap
from collections.abc import Sequence
from typing import Any

from manycaps.comparison.test import Comparison
from manycaps.comparison.words import WIDTH, Words, has_meaning, note_of_marks
from manycaps.saved_files import make_folder, write_text_atomically
from manycaps.tables import finite, write_table

# Files of a comparison in its folder.
OUTPUT_NAMES = ("index.html", "comparison.json")

# Pairs that are printed without --full: a summary beside the baseline if there are more.
MOST_PAIRS = 3

# Lines of a terminal, without the line of the next command.
HEIGHT = 26


@dataclasses.dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Captioning systems that were compared: the result, and what is said of it. A notebook shows it as tables."""

    result: Comparison
    words: Words

    def to_dict(self) -> dict[str, Any]:
        """Return every number, without captions, as `json.dumps` takes it; NaN and infinity are None."""
        numbers = dataclasses.asdict(self.result)
        del numbers["shown"]
        return dict(finite(numbers))

    def write(self, form: str = "text", *, full: bool = False) -> str:
        """Return what `manycaps compare` prints: "text", "md", "latex" or "json"; `full` adds all pairs and tables."""
        if form == "json":
            return json.dumps(self.to_dict(), indent=1, allow_nan=False)
        words, parity = self.words, self.result.human_parity
        if form == "text":
            has_tables = full or parity is None or not has_meaning(parity)
            tables = words.metric_tables if has_tables else []
            return "\n\n".join([answer_text(self, full=full), *(write_table(table, form) for table in tables)])
        others = words.metric_tables[bool(words.tables["systems"].rows) :] if full else []
        return "\n\n".join(write_table(table, form) for table in [words.paper, *others])

    def _repr_html_(self) -> str:
        """Return the sentences and tables, as a notebook shows them."""
        sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.words.summary)
        return f"<ul>{sentences}</ul>{''.join(write_table(table, 'html') for table in self.words.all_tables)}"

    def save(self, folder: str | pathlib.Path) -> None:
        """Write the page and the numbers, as `index.html` and `comparison.json`.

        Args:
            folder: made if it does not exist; files of these names are replaced.

        Raises:
            OSError: they cannot be written.
        """
        # Only a page needs matplotlib.
        from manycaps.report.comparison_page import comparison_page

        numbers = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        page = comparison_page(self.result, self.words)
        make_folder(pathlib.Path(folder))
        for name, text in zip(OUTPUT_NAMES, (page, numbers + "\n"), strict=True):
            write_text_atomically(pathlib.Path(folder) / name, text)

    def save_figures(self, folder: str | pathlib.Path) -> None:
        """Write every plot as SVG and PDF, for a paper: complete without the page, and readable in grey.

        Args:
            folder: made if it does not exist; files of these names are replaced.

        Raises:
            OSError: they cannot be written.
        """
        from manycaps.report.comparison_page import comparison_figures

        for plot in comparison_figures(self.result, self.words):
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
    after_pairs += [*(f"- {sentence}" for sentence in (*words.metrics, *asked)), *words.behind]
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
