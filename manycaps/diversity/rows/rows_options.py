"""Options of a choice of rows. Light: packages are imported when options are checked."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from manycaps.catalog.command_options import (
    Columns,
    DeviceName,
    EncoderName,
    EncoderOptions,
    Limit,
    Option,
    Seed,
    SplitName,
    TokenizerName,
)

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
class RowsOptions(EncoderOptions):
    """Options of `manycaps rows`, with their defaults; see `manycaps rows --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --rows.
    """

    input: Annotated[Sequence[str], Option("captions of people, or of a system", "SOURCE", "")]
    references: Annotated[Sequence[str], Option("human captions, by id", "SOURCE", "-r")] = ()
    choose: Annotated[str, Option("which rows to show", choices=CHOICES)] = "random"
    rows: Annotated[int, Option("how many rows", least=1)] = 12
    ids: Annotated[Sequence[str] | None, Option("ids of the rows to show, in this order", "ID")] = None
    metric: Annotated[
        str, Option("for best and worst; most pairs of captions have no 4-gram in common", choices=METRICS)
    ] = "rouge_l"
    tokenizer: TokenizerName = "ptb"
    encoder: EncoderName = None
    device: DeviceName = "auto"
    columns: Columns = None
    split: SplitName = None
    images: Annotated[str | None, Option("where the images of column or id lie, for thumbnails", "FOLDER")] = None
    limit: Limit = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.words_tokenizers import check_tokenizer

        super().__post_init__()
        check_tokenizer(self.tokenizer)
