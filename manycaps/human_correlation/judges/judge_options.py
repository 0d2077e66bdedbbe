"""Options of a judge's trial. Light: packages are imported when options are checked."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from manycaps.catalog.command_options import Columns, Option, SplitName, TokenizerName, check_options, comma_list


@dataclasses.dataclass(frozen=True)
class JudgeOptions:
    """Options of `manycaps judge`, with their defaults; see `manycaps judge --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --people.
    """

    scores: Annotated[Sequence[str], Option("tables of texts and a judge's scores", "SCORES", "")]
    references: Annotated[Sequence[str], Option("human texts, by id", "FILE", "-r")]
    judges: Annotated[
        Sequence[str] | None,
        Option("columns of scores, separated by commas; default: all of numbers", "NAME,...", "-j", convert=comma_list),
    ] = None
    people: Annotated[str, Option("name of the system that is people")] = "people"
    baseline: Annotated[
        str | None, Option("system that the others are compared with; default: people, else the first")
    ] = None
    ratings: Annotated[str | None, Option("column of people's ratings: what does the judge reward beyond them?")] = None
    lower_is_better: Annotated[bool, Option("small scores are good")] = False
    tokenizer: TokenizerName = "ptb"
    columns: Columns = None
    split: SplitName = None
    clusters: Annotated[
        str | None, Option("regular expression: ids with the same match belong together", "PATTERN")
    ] = None
    n_resamples: Annotated[int, Option("sign flips of the tests of systems", least=1, most=10_000_000)] = 9_999
    seed: Annotated[int, Option("of these", least=0)] = 0

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.errors import InputError
        from manycaps.kit.words_tokenizers import check_tokenizer

        check_options(self)
        check_tokenizer(self.tokenizer)
        if not self.references:
            raise InputError(
                "--references", "human texts", "none", "Give them with -r: features of texts are measured beside them."
            )
