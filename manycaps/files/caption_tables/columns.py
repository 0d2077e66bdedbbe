"""Roles of the columns of a table, by usual names or by the user's own."""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.kit.errors import InputError, quote_value

# What a column may hold; also the keys of --columns.
ROLES = ("predictions", "references", "id", "image", "video")

# Names in the outputs of other programs: lmms-eval, VLMEvalKit, vLLM, batches of OpenAI, pipelines, fairseq.
OUTPUT_COLUMNS = (
    *("output", "outputs", "generation", "generations", "response", "responses", "hyp", "hyps", "hypotheses"),
    *("generated_text", "generated_texts", "generated_caption", "generated_captions", "filtered_resps"),
)
TARGET_COLUMNS = ("target", "targets", "ref", "answer", "answers", "ground_truth", "gts")

# Usual names of the columns of a system's captions and of human captions.
PREDICTION_COLUMNS = (
    *("predictions", "candidates", "samples", "prediction", "candidate", "hypothesis"),
    *OUTPUT_COLUMNS,
)
REFERENCE_COLUMNS = ("references", "reference", "refs", *TARGET_COLUMNS)

# A conversation, whose last answer is the caption where no other column holds one.
CONVERSATION = "messages"

# Names of columns that a message shows.
N_SHOWN = 10

# Names that do not tell candidates from references: the file decides.
CAPTION_COLUMNS = ("txt", "captions", "caption", "sentences", "descriptions", "text", "raw")

# All names of columns of captions.
USUAL_CAPTIONS = frozenset((*PREDICTION_COLUMNS, *REFERENCE_COLUMNS, *CAPTION_COLUMNS))

# In this order: a sample of a tar is named by its files, and an annotation of COCO has an `id` of its own beside its
# image's.
ID_COLUMNS = ("__key__", "custom_id", "image_id", "video_id", "doc_id", "id", "_id", "key")

# Names of columns that are ids where no image or video is named: pandas calls the numbers of rows `index`.
WEAK_ID_COLUMNS = ("question_id", "sample_id", "request_id", "index")

IMAGE_COLUMNS = ("image", "jpg", "jpeg", "png", "webp", "image_path", "file_name", "filename", "filepath")
VIDEO_COLUMNS = ("video", "mp4", "webm", "avi", "mkv", "video_path")


# Columns of one caption each: caption_1 ... caption_5, as of Clotho and AudioCaps, and caption.1, caption.2, as pandas
# renames columns of one name.
NUMBERED = re.compile(r"(.*?[^\W\d_])([ _.-]?)(\d{1,9})")

# What stands before the number where pandas wrote it.
PANDAS = "."

# Lists of column names of which it is kept how their numbered columns are read together.
KEPT_NAMES = 64

# Names of columns by role, for all files; and, by the path of a file as it was given, for that file alone.
ColumnNames = Mapping[str, str | Mapping[str, str]]


class Layout(NamedTuple):
    """Names of the columns; None where there is no such column."""

    predictions: str | None
    references: str | None
    id: str | None
    image: str | None
    video: str | None


def find_layout(
    names: Collection[str],
    chosen: Mapping[str, str],
    sides: Collection[str],
    where: str,
    *,
    either: bool = False,
    wide: Mapping[str, Sequence[str]] | None = None,
) -> Layout:
    """Find the column of each role, by names that the user chose or by usual ones.

    `sides` says what the file may hold: "predictions", "references" or both; with `either`, references alone will do.
    Columns with a name that does not say whose captions they are hold predictions, unless the file holds references
    alone. `wide` has numbered columns by the name that they have in common. A ValueError names a chosen column that is
    missing, or says that there are no captions, or several columns of them.

    >>> find_layout(["image_id", "caption"], {}, ["predictions", "references"], "a.json")
    Layout(predictions='caption', references=None, id='image_id', image=None, video=None)
    """
    wide = wide or {}
    own_names, names = names, list(dict.fromkeys((*names, *wide)))
    name_of_role: dict[str, str | None] = dict.fromkeys(ROLES)
    name_of_role |= _names_of_items(names)
    taken = set(chosen.values())
    for side, usual in (("predictions", PREDICTION_COLUMNS), ("references", REFERENCE_COLUMNS)):
        if side in sides and side not in chosen:
            fix = f"Choose with --columns {side}=NAME."
            name_of_role[side] = _one(names, usual, taken, wide, where, side, fix)
    main = "references" if "predictions" not in sides else "predictions"
    if name_of_role[main] is None and main not in chosen:
        fix = f"Choose with --columns {main}=NAME."
        name_of_role[main] = _one(names, CAPTION_COLUMNS, taken, wide, where, main, fix)
        if name_of_role[main] is None and main == "predictions":
            name_of_role[main] = first_name(names, (CONVERSATION,))
    for role, name in chosen.items():
        if role not in sides and role in ("predictions", "references"):
            continue
        if name not in names:
            raise InputError(where, f"a column {name!r} of {role}", ", ".join(own_names)[:80], "Check --columns.")
        name_of_role[role] = name
    if name_of_role[main] is None and not (either and name_of_role["references"] is not None):
        usual = PREDICTION_COLUMNS if main == "predictions" else REFERENCE_COLUMNS
        expected = f"a column of {main}, such as {', '.join((*usual[:N_SHOWN], *CAPTION_COLUMNS))}"
        got = ", ".join(own_names)[:80] or "no columns"
        raise InputError(where, expected, got, f"Name it with --columns {main}=NAME.")
    return Layout(**name_of_role)


def _names_of_items(names: Collection[str]) -> dict[str, str | None]:
    """The columns that say what a row is of."""
    image, video = first_name(names, IMAGE_COLUMNS), first_name(names, VIDEO_COLUMNS)
    weak = None if image or video else first_name(names, WEAK_ID_COLUMNS)
    return {"id": first_name(names, ID_COLUMNS) or weak, "image": image, "video": video}


class CaptionColumn(NamedTuple):
    """The column of captions to read, and the one that joins rows; None for those with usual names."""

    captions: str | None = None
    group: str | None = None
    # Whether single captions need a column that names their item.
    needs_group: bool = False
    # Options that choose the two columns, for messages.
    captions_option: str = "--column"
    group_option: str = "--group-by"


def find_caption_layout(
    names: Collection[str], chosen: CaptionColumn, where: str, wide: Mapping[str, Sequence[str]] | None = None
) -> Layout:
    """Find the column of captions, candidates or references, as predictions, and the one that names their item.

    >>> find_caption_layout(["image", "references"], CaptionColumn(), "a.json")
    Layout(predictions='references', references=None, id=None, image='image', video=None)
    """
    usual = (*CAPTION_COLUMNS, *PREDICTION_COLUMNS, *REFERENCE_COLUMNS)
    wide = wide or {}
    shown = quote_value(list(names)) if names else "no columns"
    names = list(dict.fromkeys((*names, *wide)))
    for name, option in ((chosen.captions, chosen.captions_option), (chosen.group, chosen.group_option)):
        if name is not None and name not in names:
            raise InputError(where, f"a column {name!r}", shown, f"Check the spelling of {option}.")
    captions = chosen.captions
    if captions is None:
        fix = f"Name the one to read with {chosen.captions_option}."
        captions = _one(names, usual, (), wide, where, "captions", fix) or first_name(names, (CONVERSATION,))
    if captions is None:
        fix = f"Name the column of the captions with {chosen.captions_option}."
        raise InputError(where, f"a column of captions, such as {', '.join(usual[1 : N_SHOWN + 1])}", shown, fix)
    items = _names_of_items(names)
    return Layout(captions, None, **{**items, "id": chosen.group or items["id"]})


def wide_columns(names: Collection[str], chosen: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the columns that hold one caption each, by the usual or the chosen name that they have in common.

    One without a number stands before the numbered ones. A chosen name of a single column stands for it alone, unless
    the name is a usual one or pandas has numbered columns of this name.

    >>> wide_columns(["file_name", "caption_2", "caption_1"]), wide_columns(["caption", "caption.1"])
    ({'caption': ('caption_1', 'caption_2')}, {'caption': ('caption', 'caption.1')})
    """
    return dict(_wide_columns(tuple(names), tuple(chosen)))


@functools.lru_cache(KEPT_NAMES)
def _wide_columns(names: tuple[str, ...], chosen: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = NUMBERED.fullmatch(name)
        if match is None or name in chosen:
            continue
        stem, separator = match[1], match[2]
        if stem in chosen and stem not in USUAL_CAPTIONS:
            common = stem if stem not in names or separator == PANDAS else None
        else:
            common = next((each for each in _stems(stem)[1:] if each in USUAL_CAPTIONS), None)
        if common is not None:
            groups.setdefault(common, []).append((int(match[3]), name))
    wide = {}
    for common, numbered in groups.items():
        stems = {NUMBERED.fullmatch(name)[1] for _, name in numbered}  # type: ignore[index]
        bare = [name for name in names if name in stems and (name == common or name not in chosen)]
        members = (*bare, *(name for _, name in sorted(numbered)))
        # A list in a column of the plural is not one of the numbered captions: both are known by their own names.
        wide[common if common in members or common not in names else next(iter(stems)).lower()] = members
    return wide


def _stems(stem: str) -> tuple[str, str, str]:
    """Names that numbered columns may have in common."""
    return stem, stem.lower(), f"{stem.lower()}s"


class Reading(NamedTuple):
    """How the captions of a record are found: by which names, and whether those of either side will do."""

    # Columns that a user has named, of any role.
    chosen: tuple[str, ...] = ()
    # Whether predictions, references and captions are one column to read, whichever there is.
    any_side: bool = False

    def wide(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns that are read together, by the name that they have in common; see `wide_columns`."""
        return wide_columns(names, self.chosen)

    def others(self, names: Collection[str], name: str | None) -> list[str]:
        """Return further columns of captions beside the one that is read, as messages show them."""
        wide = _wide_columns(tuple(names), self.chosen)
        if name is None or name == CAPTION_COLUMNS[0] or not (name in names or name in wide):
            return []
        usual = self._usual_beside(name)
        others = [other for other in dict.fromkeys((*names, *wide)) if other != name and other not in self.chosen]
        return [shown_columns(other, wide) for other in others if _is_usual(other, usual, wide)]

    def _usual_beside(self, name: str) -> frozenset[str]:
        """Usual names of which a row may have but one, the column that is read; none where a user named it."""
        groups = (PREDICTION_COLUMNS, REFERENCE_COLUMNS, CAPTION_COLUMNS)
        mine = [usual for usual in groups if name in usual or f"{name}s" in usual]
        if name in self.chosen or not mine:
            return frozenset()
        return USUAL_CAPTIONS if self.any_side else frozenset(mine[0])

    def with_captions(self, values: Mapping[str, Any], layout: Layout, row: int) -> Mapping[str, Any]:
        """Add the captions of numbered columns to the values of a record, as a list; empty cells are left out.

        An InputError names columns of captions that the layout of the files does not have.
        """
        others, wide = _columns_beside(tuple(values), self, layout)
        if others is not None:
            name, shown = others
            fix = "Name the one to read, or call columns that belong together caption_1, caption_2 and so on."
            raise InputError(f"{name}[{row}]", "one column of captions", f"{shown} beside it", fix)
        return add_wide(values, wide)

    def is_read(self, column: str, layout: Layout) -> bool:
        """Return whether the values of a column are needed: it may be one of the numbered ones of a later file."""
        if column in layout:
            return True
        match = NUMBERED.fullmatch(column)
        stems = _stems(match[1] if match else column)
        sides = (name for name in (layout.predictions, layout.references) if name is not None)
        return any(not {name, f"{name}s", *self._usual_beside(name)}.isdisjoint(stems) for name in sides)

    def notes(self, names: Collection[str], layout: Layout) -> list[str]:
        """Return what a reader should know of columns with numbers beside one without.

        >>> layout = Layout("caption", None, None, None, None)
        >>> Reading().notes(["caption", "caption_2"], layout)
        ['caption and caption_2 are read together as the captions of a row']
        """
        wide = _wide_columns(tuple(names), self.chosen)
        notes = []
        for name in (layout.predictions, layout.references):
            numbers = [NUMBERED.fullmatch(column) for column in wide.get(name or "", ())]
            if None in numbers and any(match[2] != PANDAS for match in numbers if match):
                notes.append(f"{' and '.join(wide[str(name)])} are read together as the captions of a row")
        together = {column for columns in wide.values() for column in columns}
        for column in set(names) - together - set(self.chosen):
            match = NUMBERED.fullmatch(column)
            if match and match[2] and match[1] in (layout.predictions, layout.references) and match[1] in self.chosen:
                notes.append(f"{column} is not read beside {match[1]}, which --columns names")
        return sorted(notes)


@functools.lru_cache(KEPT_NAMES)
def _columns_beside(
    names: tuple[str, ...], reading: Reading, layout: Layout
) -> tuple[tuple[str, str] | None, Mapping[str, tuple[str, ...]]]:
    """A column of captions that is read and others beside it, None for none; and columns that are read together."""
    beside = ((name, " and ".join(reading.others(names, name))) for name in layout[:2])
    others = next(((name, shown) for name, shown in beside if name is not None and shown), None)
    return others, _wide_columns(names, reading.chosen)


def add_wide(values: Mapping[str, Any], wide: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """Add the captions of columns that are read together to the values of a record."""
    if not wide:
        return values
    cells = {name: [values.get(column) for column in columns] for name, columns in wide.items()}
    return {**values, **{name: [cell for cell in row if not _is_blank(cell)] or None for name, row in cells.items()}}


def _is_usual(name: str, usual: Collection[str], wide: Collection[str]) -> bool:
    """Whether a column has a usual name, or numbered ones stand for it beside a column of their plural."""
    return name in usual or (name in wide and f"{name}s" in usual)


def shown_columns(name: str, wide: Mapping[str, Sequence[str]]) -> str:
    """Return a column for a message, or the numbered ones that it stands for.

    >>> shown_columns("caption", {"caption": ("caption_1", "caption_2", "caption_3")}), shown_columns("raw", {})
    ('caption_1 ... caption_3', 'raw')
    """
    columns = wide.get(name, (name,))
    return columns[0] if len(columns) == 1 else f"{columns[0]}{' ... ' if len(columns) > 2 else ', '}{columns[-1]}"


def no_column(where: str, expected: str, names: Collection[str], fix: str) -> InputError:
    """Return the error of a table without a column, which names those that it has.

    >>> print(no_column("a.csv", "a column id", ["image", "score"], "Add it."))
    a.csv: expected a column id, got 'image', 'score'. Add it.
    """
    return InputError(where, expected, ", ".join(map(quote_value, names))[:200] or "no column", fix)


def _is_blank(cell: object) -> bool:
    """Whether a cell holds no caption; pandas writes the number NaN into some."""
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def as_columns(columns: ColumnNames | str | None) -> ColumnNames | None:
    """Return names of columns by role, given so or as --columns says them; None where there are none."""
    if columns is None or isinstance(columns, str):
        return parse_columns(columns) if columns else None
    file_roles = [name for value in columns.values() if isinstance(value, Mapping) for name in value]
    roles = [name for name, value in columns.items() if isinstance(value, str)]
    unknown = next((role for role in (*roles, *file_roles) if role not in ROLES), None)
    if unknown is not None:
        raise InputError("columns", f"roles out of {', '.join(ROLES)}", f"{unknown!r}", "Check the spelling.")
    return columns


def parse_columns(text: str) -> dict[str, str | Mapping[str, str]]:
    """Parse --columns.

    >>> parse_columns("predictions=samples,data/refs.csv:references=human,data/refs.csv:id=clip")
    {'predictions': 'samples', 'data/refs.csv': {'references': 'human', 'id': 'clip'}}
    """
    chosen: dict[str, str] = {}
    by_file: dict[str, dict[str, str]] = {}
    for item in text.split(","):
        before, separator, name = item.partition("=")
        file, _, role = before.rpartition(":")
        if role not in ROLES or not separator or not name:
            expected, got = f"a list such as predictions=samples,id=image_id of {', '.join(ROLES)}", f"{item[:40]!r}"
            raise InputError("--columns", expected, got, "Write ROLE=NAME, or FILE:ROLE=NAME, separated by commas.")
        (by_file.setdefault(file, {}) if file else chosen)[role] = name
    return {**chosen, **by_file}


def columns_of(columns: ColumnNames | None, files: Sequence[str]) -> dict[str, str]:
    """Return names of columns by role for some files: those for all files, then those for these alone.

    >>> columns_of({"id": "name", "a.csv": {"id": "clip"}, "b.csv": {"id": "key"}}, ["a.csv"])
    {'id': 'clip'}
    """
    chosen = {role: name for role, name in (columns or {}).items() if isinstance(name, str)}
    for file, names in (columns or {}).items():
        if not isinstance(names, str) and file in files:
            chosen |= names
    return chosen


def check_files_of_columns(columns: ColumnNames | None, files: Sequence[str]) -> None:
    """Raise a ValueError if columns are named for a file that was not given."""
    named = [file for file, names in (columns or {}).items() if not isinstance(names, str)]
    unknown = next((file for file in named if file not in files), None)
    if unknown is not None:
        expected = f"one of the files {', '.join(files)} before the colon"
        raise InputError("--columns", expected, quote_value(unknown), "Write it as it is given.")


def first_name(names: Collection[str], usual: Sequence[str]) -> str | None:
    """Return the first usual name that is there."""
    return next((name for name in usual if name in names), None)


def _one(
    names: Collection[str],
    usual: Sequence[str],
    taken: Collection[str],
    wide: Mapping[str, Sequence[str]],
    where: str,
    what: str,
    fix: str,
) -> str | None:
    """The one usual name that a file has; text beside an image in a tar comes before what its metadata repeat."""
    known = [name for name in usual if name in names and name not in taken]
    known += [name for name in wide if name not in (*known, *taken) and _is_usual(name, usual, wide)]
    if len(known) > 1 and known[0] != CAPTION_COLUMNS[0]:
        got = " and ".join(shown_columns(name, wide) for name in known)
        raise InputError(where, f"one column of {what}", got, fix)
    return known[0] if known else None
