"""Options of a choice of rows. Light: packages are imported when options are checked."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manycaps.caption_tables.columns import ColumnNames

# Metrics of a caption against others, and what they are called.
METRICS = {
    "bleu_4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "meteor": "METEOR (NLTK)",
    "cider_d": "CIDEr-D",
    "wording": "wording (SLOR, by people's captions of other rows)",
    "chair": "share of the named objects that others name (1 - CHAIR-i)",
}

# Choices of rows, and their description on the page.
CHOICES = {
    "random": "chosen at random",
    "first": "the first of the file",
    "varied": "whose captions are farthest from their mean",
    "alike": "whose captions are nearest to their mean",
    "best": "with the highest mean score",
    "worst": "with the lowest mean score",
}


@dataclasses.dataclass(frozen=True)
class RowsOptions:
    """Options of `manycaps rows`, with their defaults; see `manycaps rows --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --rows.
    """

    # Files of human captions, or of a system's.
    input: Sequence[str]
    # Files of human captions, by the ids of the rows.
    references: Sequence[str] = ()
    # Which rows, one of `CHOICES`, and how many; or the ids of rows, in their order.
    choose: str = "random"
    rows: int = 12
    ids: Sequence[str] | None = None
    # One of `METRICS`.
    metric: str = "rouge_l"
    # Name of the tokenizer.
    tokenizer: str = "ptb"
    # sentence-transformers model for distances, None for bags of words; where it runs; and of texts that are longer
    # than it reads "truncate", or "window" for the mean over windows of sentences.
    encoder: str | None = None
    device: str = "auto"
    long_texts: str = "truncate"
    # From roles to names of columns, or both as text: "predictions=samples,id=image_id"; for one file alone, as for
    # `CompareOptions`.
    columns: "ColumnNames | str | None" = None
    # Split of files with several, such as Karpathy's.
    split: str | None = None
    # Folder of the images that a column or the ids name; None: no thumbnails of files.
    images: str | None = None
    # Rows to read; None: all.
    limit: int | None = None
    # Of the choice at random.
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.base import check_choice, check_whole_number
        from manycaps.kit.embeddings import LONG_TEXTS
        from manycaps.kit.tokenization import check_tokenizer

        check_choice("--choose", self.choose, tuple(CHOICES))
        check_choice("--metric", self.metric, tuple(METRICS))
        check_choice("--long-texts", self.long_texts, LONG_TEXTS)
        check_tokenizer(self.tokenizer)
        check_whole_number("--rows", self.rows, 1)
        check_whole_number("--seed", self.seed, 0)
        if self.limit is not None:
            check_whole_number("--limit", self.limit, 1)
