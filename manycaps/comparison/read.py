"""Read: systems, their rows, captions and scores out of files. No other step knows files."""

import contextlib
import itertools
import json
import math
import pathlib
import warnings
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tqdm

from manycaps.catalog.module_options import read_module_options
from manycaps.catalog.modules import MODULES, RowValue, module_of
from manycaps.comparison.compare_options import CompareOptions
from manycaps.files.caption_tables import BadRow, CaptionRow, good_rows, open_source
from manycaps.files.caption_tables.columns import ColumnNames, as_columns, check_files_of_columns, columns_of
from manycaps.files.caption_tables.files import check_names, source_name
from manycaps.files.caption_tables.ids import check_ids_meet, difference_of_ids, labels_of_ids
from manycaps.files.caption_tables.json_records import parse_once
from manycaps.files.caption_tables.rows import random_key
from manycaps.files.caption_tables.source import values_of_column
from manycaps.files.sampling_settings import sampling_settings
from manycaps.kit.errors import InputError, quote_value
from manycaps.kit.ngrams import WordNumbers, number_words
from manycaps.kit.options import check_choice
from manycaps.kit.parity_corpus import COVARIANCES, GAPS, MEANS, PEOPLES_COPIES
from manycaps.kit.parity_sentences import SentenceSupport
from manycaps.kit.parity_tails import DistanceBlock, Distances
from manycaps.kit.parity_texts import TextWords, sentences_of_counts, text_words
from manycaps.kit.row_images import clusters_of_images, ids_without_numbers, image_numbers, join_labels
from manycaps.kit.words_predictability import SentenceScores, WordingRows
from manycaps.kit.words_tests import Phrase

# Name of the human captions in tables and results.
PEOPLE = "people"

# Name of the human captions that stand in as a system.
DRAWN = "drawn people"

# What messages say of a file whose rows are matched by their numbers.
NO_IDS = " (no ids: rows are numbered)"

# Most systems at a time: shared tasks have forty.
MOST_SYSTEMS = 100


class ScoredSystem(NamedTuple):
    """The scores of a system."""

    name: str
    # By key the value of every row, float64 arrays of shape (n_rows,).
    values: Mapping[str, np.ndarray]
    # By module its result, with the signature and without lists.
    results: Mapping[str, Mapping[str, Any]]
    # Captions of every row; None where they are not known.
    n_candidates: Sequence[int] | None = None
    # Of all pairs of texts of every row, where human_parity has scored them.
    distances: Distances | None = None
    # Wording of all texts, where it is known.
    wording: WordingRows | None = None
    # Phrases that give it away, where they are known.
    phrases: Sequence[Phrase] = ()
    # The sentences of its texts, where they are known.
    sentences: "StoredSentences | None" = None


class StoredSentences(NamedTuple):
    """The sentences of a system as `manycaps score` wrote them, see `manycaps.scoring.reductions`."""

    # Shape (n_rows, 2): numbers of candidates and of references.
    sizes: np.ndarray
    arrays: Mapping[str, np.ndarray]

    def part(self, rows: np.ndarray) -> "StoredSentences":
        """Return the rows of these numbers, in their order."""
        arrays, n_texts = dict(self.arrays), self.sizes.sum(axis=1)
        texts = _ranges(n_texts, rows)
        sentences = _ranges(arrays["n_sentences"], texts)
        arrays["sentence_words"] = arrays["sentence_words"][_ranges(arrays["sentence_lengths"], sentences)]
        if len(arrays["support_sizes"]):
            arrays["support"] = arrays["support"][_ranges(arrays["support_sizes"], rows)]
            arrays["support_sizes"] = arrays["support_sizes"][rows]
        for name in ("sentence_lengths", "sentence_scores"):
            if name in arrays:
                arrays[name] = arrays[name][sentences]
        arrays["n_sentences"] = arrays["n_sentences"][texts]
        return StoredSentences(self.sizes[rows], arrays)

    def words(self, clusters: Sequence[Hashable] | None) -> TextWords:
        """Return the words of all sentences, scored by the references of other rows or clusters, or as they were."""
        vocabulary, arrays = WordNumbers(), self.arrays
        words = number_words(json.loads(arrays["names"].tobytes()), vocabulary)[arrays["sentence_words"]]
        coded = words, arrays["sentence_lengths"], vocabulary
        sentences = sentences_of_counts(self.sizes, arrays["n_sentences"], *coded, None, clusters)
        if "sentence_scores" in arrays:
            return TextWords(sentences, SentenceScores(sentences.texts, arrays["sentence_scores"], None))
        return text_words(sentences, is_tested=True)


def _ranges(counts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Places of the values of chosen items, each of which has as many values in a line.

    >>> _ranges(np.array([2, 1, 3]), np.array([2, 0])).tolist()
    [3, 4, 5, 0, 1]
    """
    starts, sizes = (np.cumsum(counts) - counts)[chosen], counts[chosen]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.repeat(starts, sizes) + within)


class SystemRow(NamedTuple):
    """An image, video or other item that all systems describe."""

    id: str
    # By system; empty where only scores are known.
    captions: Mapping[str, Sequence[str]]
    references: Sequence[str] | None = None
    # Path, or encoded bytes.
    image: str | bytes | None = None
    video: str | bytes | None = None


class ReadCaptions(NamedTuple):
    """What was read for a comparison of captions."""

    rows: Sequence[SystemRow]
    # What a reader should know of the files.
    notes: Sequence[str]
    # Images and videos, where they were asked for.
    media: Collection[str]
    # By system how its captions were sampled, where `manycaps sample` wrote that beside them.
    sampling: Mapping[str, Mapping[str, Any]]


class ReadScores(NamedTuple):
    """What was read of folders of scores."""

    systems: Sequence[ScoredSystem]
    # With captions where these were read again.
    rows: Sequence[SystemRow]
    # A label for each row; None where all are independent.
    clusters: Sequence[str] | None
    # By module the options that it was given.
    options: Mapping[str, Mapping[str, Any]]


class Exchange(NamedTuple):
    """Whether the captions of two systems are exchangeable: a set metric with one of them as the references."""

    module: str
    first: str
    second: str
    statistic: float
    excess: float
    z: float
    # NaN where the two share captions, which random splits do not.
    p_value: float
    # By Holm's rule over all pairs of the module; NaN before that.
    adjusted_p_value: float = math.nan


def name_systems(sources: Sequence[str], names: Sequence[str] | None, baseline: str | None) -> dict[str, str]:
    """Return the sources by name, the baseline first; raise a ValueError if they cannot be compared.

    Names are the files' names, and the baseline is the first, where they are None.

    >>> name_systems(["runs/a.jsonl", "b.csv.gz"], None, "b")
    {'b': 'b.csv.gz', 'a': 'runs/a.jsonl'}
    """
    if not 1 <= len(sources) <= MOST_SYSTEMS:
        raise InputError("systems", f"1 to {MOST_SYSTEMS}", len(sources), "Give as many at a time.")
    chosen = list(names) if names else [source_name(source) for source in sources]
    check_names(chosen, len(sources), "system")
    check_system_names(chosen, "--names", "Give the system another name with --names.")
    systems = dict(zip(chosen, sources, strict=True))
    if baseline is not None:
        check_choice("--baseline", baseline, chosen)
    first = baseline or chosen[0]
    return {first: systems[first], **systems}


def check_system_names(names: Sequence[str], where: str, fix: str) -> None:
    """Raise unless systems have names that can be printed, none of which stands for the human captions."""
    for name in names:
        if not name.strip() or not name.isprintable():
            raise InputError(where, "names that can be printed", quote_value(name), fix)
        if name.strip().casefold() in (PEOPLE, DRAWN):
            got = f"{quote_value(name)}, which stands for the human captions in the answer"
            raise InputError(where, "names of systems", got, fix)


def systems_of_table(
    sources: Sequence[str], column: str, names: Sequence[str] | None, baseline: str | None
) -> dict[str, str]:
    """Return the systems of a table that has a row for each system and item: its path by name, the baseline first.

    Raise a ValueError if a row names no system, or there is more than one table.
    """
    if len(sources) != 1 or (pathlib.Path(sources[0]) / "rows").is_dir():
        got = f"{len(sources)} sources" if len(sources) != 1 else f"a folder of scores, {sources[0]}"
        raise InputError("--systems-by", "one table of all systems", got, "Give one file, a folder or a pattern.")
    if names is not None:
        raise InputError("--names", "none beside --systems-by", ", ".join(names), "The column names the systems.")
    known = values_of_column(sources[0], column, "--systems-by")
    if baseline is not None:
        check_choice("--baseline", baseline, known)
    # All of them are checked as names that were given.
    return dict.fromkeys(name_systems(known, known, baseline), sources[0])


def are_score_folders(sources: Mapping[str, str]) -> bool:
    """Return whether the sources are folders of scores, or files of captions; raise a ValueError if they are both."""
    # Finished or not.
    scored = [source for source in sources.values() if (pathlib.Path(source) / "rows").is_dir()]
    others = [source for source in sources.values() if source not in scored]
    if scored and others:
        raise InputError(
            "systems", "captions or folders of scores", f"{others[0]} and {scored[0]}", "Score all of them, or none."
        )
    return bool(scored)


def read_captions(files: Mapping[str, str], options: CompareOptions) -> ReadCaptions:
    """Read the captions that a comparison asks for, with people that stand in as a system."""
    if options.with_captions:
        raise InputError("--with-captions", "folders of scores", "captions", "Leave it out: they are read.")
    folders = {"images": options.images, "videos": options.videos}
    media = {name for name, folder in folders.items() if folder} | set(needed_media(options.metrics or ()))
    rows, notes = read_systems(
        files,
        options.references,
        as_columns(options.columns),
        **folders,
        limit=options.limit,
        needed=media,
        common_rows=options.common_rows,
        split=options.split,
        seed=options.seed,
        tokenizer=str(read_module_options(options.options).get("tokenizer", "ptb")),
        systems_by=options.systems_by,
        aligned=options.aligned,
    )
    if options.people is not None:
        rows = with_drawn_people(rows, options.people, options.seed)
    sampling = {name: sampling_settings(file) for name, file in files.items()}
    return ReadCaptions(rows, notes, media, {name: given for name, given in sampling.items() if given is not None})


def needed_media(metrics: Sequence[str]) -> list[str]:
    """Return which of images and videos the modules of -m need.

    >>> needed_media(["trm_meteor", "ref_pac_score", "no such module"])
    ['images']
    """
    needed = {column for module in metrics if module in MODULES for column in MODULES[module].columns}
    return [column for column in ("images", "videos") if column in needed]


def read_systems(
    files: Mapping[str, str],
    references: Sequence[str] = (),
    columns: ColumnNames | None = None,
    images: str | None = None,
    videos: str | None = None,
    limit: int | None = None,
    needed: Collection[str] = (),
    common_rows: bool = False,
    split: str | None = None,
    seed: int = 0,
    tokenizer: str = "ptb",
    systems_by: str | None = None,
    aligned: bool = False,
) -> tuple[list[SystemRow], list[str]]:
    """Read the captions of several systems, and join them by the ids of their rows.

    `files` goes from the name of each system to its file, the baseline first. Every row must have what is `needed`, out
    of "images" and "videos", and what a folder is given for. Rows that some file lacks are left out with `common_rows`,
    and are an error without it; so are rows with a single reference where others have more. With a `limit`, as many
    rows are drawn at random, by their ids and the `seed`: files are often sorted. `split` and `tokenizer` are as for
    `open_source`. With `systems_by`, all systems are in one file, and this column names them; with `aligned`, lines
    of plain text are matched by their numbers. The rows are in the order of the baseline's. A ValueError names a file
    that cannot be read, an id that comes twice, or systems with different rows or references.

    Returns the rows, and what a reader should know of the files.
    """
    check_files_of_columns(columns, [*files.values(), *references])
    systems, notes, ids = {}, list[str](), dict[str, None]()
    folders = {"image": images, "video": videos}
    optional = [role for role, folder in folders.items() if folder is None and f"{role}s" not in needed]
    sources = {}
    with parse_once([*references, *(set(files.values()) if systems_by else ())]):
        for name, file in files.items():
            chosen = {path: columns_of(columns, [path]) for path in (file, *references)}
            try:
                with _warnings_as(notes):
                    how: dict[str, Any] = {"optional": optional, "split": split, "tokenizer": tokenizer}
                    how |= {"by_line": aligned, "only": None if systems_by is None else (systems_by, name)}
                    sources[name] = open_source([file], references, chosen, images, videos, **how)
                    # Where images lie is looked up of the rows that are compared.
                    read = sources[name]._replace(media={}).rows()
                    rows = list(tqdm.tqdm(read, desc=f"rows of {name}", unit="row", leave=False))
                ids |= dict.fromkeys(row.id for row in rows if row.id is not None)
                whole = [row for row in rows if not (common_rows and isinstance(row, BadRow) and row.is_incomplete)]
                systems[name] = _by_id(file, good_rows(map(_name_option, whole)))
            except InputError as error:
                # A wrong reference may concern one of the systems only.
                raise error if error.where.startswith(file) else error.within(file) from None
    baseline, *others = systems
    if systems_by is not None:
        files = {name: f"{file}, {systems_by} {name!r}" for name, file in files.items()}
    shown = {name: f"{file}{NO_IDS if sources[name].main.layout.id is None else ''}" for name, file in files.items()}
    if common_rows:
        notes += _keep_common_rows(shown, systems, len(ids))
    for name in others:
        check_same_ids(shown[name], list(systems[name]), shown[baseline], list(systems[baseline]))
        _check_same_references(files[name], systems[name], files[baseline], systems[baseline])
    rows_read = _with_references(list(systems[baseline].values()), references, notes, common_rows=common_rows)
    if limit is not None and limit < len(rows_read):
        notes.append(f"--limit: {limit:,} of {len(rows_read):,} rows, drawn with the seed {seed}.")
        drawn = set(sorted((row.id for row in rows_read), key=lambda name: random_key(name, seed))[:limit])
        rows_read = [row for row in rows_read if row.id in drawn]
    joined = [
        SystemRow(
            row.id,
            {name: systems[name][row.id].predictions or [] for name in systems},
            row.references,
            row.image,
            row.video,
        )
        for row in good_rows(map(sources[baseline].with_media, rows_read))
    ]
    return joined, list(dict.fromkeys(notes))


def with_drawn_people(rows: Sequence[SystemRow], n_captions: int, seed: int) -> list[SystemRow]:
    """Let some references of every row stand in as the system `DRAWN`, and leave the others; the seed draws them.

    The order of a file is not random: MSVD's captions 6 to 10 differ from 1 to 5. An InputError names a row in which
    less than two references are left.

    >>> [row] = with_drawn_people([SystemRow("1", {"a": ["dogs"]}, ["a dog", "two dogs", "dogs run"])], 1, 0)
    >>> {name: len(captions) for name, captions in row.captions.items()}, len(row.references)
    ({'a': 1, 'drawn people': 1}, 2)
    """
    changed = []
    for row in rows:
        people = row.references or []
        if len(people) < n_captions + 2:
            least = f"{n_captions + 2} human captions in every row, {n_captions} to draw and two to compare with"
            got = f"{len(people)} for the id {row.id!r}"
            raise InputError("--people", f"at least {least}", got, "Draw fewer, or leave such rows out.")
        order = [i for _, i in sorted((random_key((row.id, i), seed), i) for i in range(len(people)))]
        drawn, others = ([people[i] for i in sorted(places)] for places in (order[:n_captions], order[n_captions:]))
        changed.append(row._replace(captions={**row.captions, DRAWN: drawn}, references=others))
    return changed


def _name_option(row: CaptionRow | BadRow) -> CaptionRow | BadRow:
    """A row whose message names the option that leaves out what some file lacks."""
    if isinstance(row, BadRow) and row.is_incomplete:
        return row._replace(reason=row.reason.with_advice("Or compare the rows that all files have: --common-rows."))
    return row


def _with_references(
    rows: list[CaptionRow], references: Sequence[str], notes: list[str], *, common_rows: bool
) -> list[CaptionRow]:
    """Rows, with `common_rows` those that people can be tested by, if others have a single reference; adds a note."""
    single = [row for row in rows if row.references is not None and len(row.references) == 1]
    if not single or len(single) == len(rows):
        return rows
    first = f"{references[0] if references else single[0].file}, id {single[0].id!r}"
    counts = f"{len(single):,} of {len(rows):,} rows have a single reference ({first}{', ...' * (len(single) > 1)})"
    left_out = "they are left out" if common_rows else "--common-rows leaves them out"
    notes.append(f"{counts}: {left_out}.")
    return [row for row in rows if len(row.references or ()) > 1] if common_rows else rows


@contextlib.contextmanager
def _warnings_as(notes: list[str]) -> Iterator[None]:
    """Add what is warned of in a `with` statement to notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    notes += [str(warning.message) for warning in caught]


def _keep_common_rows(files: Mapping[str, str], systems: Mapping[str, dict[str, CaptionRow]], n_ids: int) -> list[str]:
    """Drop the rows that one of the systems lacks, and say how many of all there are."""
    common = set.intersection(*(set(rows) for rows in systems.values()))
    if not common:
        (baseline, expected), *others = systems.items()
        for name, rows in others:
            check_ids_meet(files[name], rows, files[baseline], expected)
        raise InputError("--common-rows", "ids that all files have", "none", "Check the ids of the files.")
    for rows in systems.values():
        for name in [name for name in rows if name not in common]:
            del rows[name]
    n_left = n_ids - len(common)
    return [f"{n_left:,} of {n_ids:,} rows are left out: not every file has them."] if n_left else []


def _by_id(file: str, rows: Iterable[CaptionRow]) -> dict[str, CaptionRow]:
    """Rows by their ids."""
    row_of_id: dict[str, CaptionRow] = {}
    for row in rows:
        if not row.predictions:
            raise InputError(f"{file}, id {row.id!r}", "captions", "none", "Leave the row out of all systems.")
        row_of_id[row.id] = row
    if not row_of_id:
        raise InputError(file, "at least one row", "none", "Give a file with captions.")
    return row_of_id


def check_same_ids(name: str, ids: Sequence[str], baseline: str, expected: Sequence[str]) -> None:
    """Raise a ValueError unless a system has the rows of the baseline, in any order; names are the sources'."""
    check_ids_meet(name, ids, baseline, expected)
    for what, some, others in (("none with", expected, set(ids)), ("one more, with", ids, set(expected))):
        different = [row_id for row_id in some if row_id not in others]
        if different:
            got = f"{what} the id {different[0]!r} ({len(different)} such rows in all)"
            fix = "Give all systems the same rows, or compare those that all have: --common-rows."
            error = InputError(name, f"the rows of {baseline}", got, fix)
            raise error.with_advice(_in_what_they_differ(ids, expected))


def _in_what_they_differ(ids: Sequence[str], expected: Sequence[str]) -> str:
    """Say in what the ids differ that one of two systems has; nothing where there is no simple answer."""
    more, others = ([one for one in some if one not in set(rest)] for some, rest in ((ids, expected), (expected, ids)))
    difference = difference_of_ids(more, others)
    return "" if difference is None else f"Some differ in {difference}."


def _check_same_references(
    name: str, rows: Mapping[str, CaptionRow], baseline: str, expected: Mapping[str, CaptionRow]
) -> None:
    different = [key for key, row in expected.items() if rows[key].references != row.references]
    if different:
        where, got = f"{name}, id {different[0]!r}", f"others ({len(different)} such rows in all)"
        raise InputError(where, f"the references of {baseline}", got, "Give the references once, with -r.")


def clusters_of(rows: Sequence[SystemRow], pattern: str | None) -> list[str] | None:
    """Return a label for each row: the cluster that it belongs to; None where every row is independent.

    Rows whose ids have the same match of a regular expression belong together; without one, rows of one image or video
    file, rows whose ids differ by the number of a caption alone ("12.jpg#0", "12.jpg#1"), and rows with the references
    of another, see `kit.row_images`. Warns of the last two, and of a pattern that takes such rows apart.

    >>> clusters_of([SystemRow("1#0", {}), SystemRow("1#1", {}), SystemRow("2#0", {})], "^[^#]+")
    ['1', '1', '2']
    """
    if pattern is None:
        return _images_of(rows)
    labels = labels_of_ids((row.id for row in rows), pattern)
    clusters_of_images(labels, *_captions_of(rows))
    return labels


def _images_of(rows: Sequence[SystemRow]) -> list[str] | None:
    """Labels of the images that rows are of, by all that tells; None where each has its own."""
    media = [row.image or row.video for row in rows]
    known = [name for name in media if isinstance(name, str)]
    of_files = known if len(known) == len(rows) > len(set(known)) else None
    others = [ids_without_numbers([row.id for row in rows]), image_numbers(*_captions_of(rows))]
    columns = [column for column in (of_files, *others) if column is not None]
    if not columns:
        return None
    images = join_labels(*columns)
    n_images = int(images.max()) + 1
    if n_images < (len(rows) if of_files is None else len(set(of_files))):
        n_again = len(rows) - n_images
        how = (
            "the references of an earlier row, or most of them"
            if others[1] is not None
            else "an earlier row's id but #k"
        )
        warnings.warn(
            f"references: {n_again:,} of {len(rows):,} rows have {how}. Rows of one image depend on each other: they "
            f"count as {n_images:,} clusters. --clusters PATTERN says otherwise.",
            stacklevel=2,
        )
    first = dict(zip(images.tolist()[::-1], known[::-1] if of_files else [row.id for row in rows][::-1], strict=True))
    return [first[image] for image in images.tolist()]


def _captions_of(rows: Sequence[SystemRow]) -> tuple[list[Sequence[str]], list[list[str]]]:
    """References of every row, and what all systems say of it."""
    captions = [list(itertools.chain.from_iterable(row.captions.values())) for row in rows]
    return [row.references or [] for row in rows], captions


MODULE, WORDING = "human_parity", "wording"


# Values of rows that the comparison needs, by the names of the module and of folders of scores.
COLUMNS = (*MEANS, *PEOPLES_COPIES, *COVARIANCES)


class NoDistances:
    """Stands for the distances of rows with a single reference, of which wording alone is compared."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def blocks(self) -> Iterator[DistanceBlock]:
        """Yield nothing."""
        return iter(())


class UnsupportedSentence(NamedTuple):
    """A sentence of a system, and what of the references is nearest to it."""

    row: int
    text: str
    nearest: str


class ParityRows(NamedTuple):
    """What the module says of the rows of a system."""

    # By the names in `COLUMNS` float64 arrays, shape (n_rows,); NaN where a row has one caption and a value needs two.
    columns: Mapping[str, np.ndarray]
    # Of all pairs of texts of every row.
    distances: Distances
    # Wording of the captions; None where only distances are known.
    wording: WordingRows | None = None
    # Phrases that give the system away, the largest difference from people first; none where there are no captions.
    phrases: Sequence[Phrase] = ()
    # Words of the sentences of all texts; None where they are not known.
    words: TextWords | None = None
    # How far sentences are from what other texts say; None where every text is one sentence.
    support: SentenceSupport | None = None
    # Where there are such sentences, those of the system that are farthest from the references, the worst first.
    unsupported: Sequence["UnsupportedSentence"] | None = None
    # What the system repeats: [row, candidate, phrase].
    repeated: Sequence[Sequence[Any]] = ()
    # Whose rules divide texts into sentences.
    language: str = "en"

    def sizes(self) -> list[tuple[int, int]]:
        """Return the numbers of candidates and of references of every row."""
        if self.wording is not None:
            return [(int(m), int(n)) for m, n in self.wording.sizes.tolist()]
        found: list[tuple[int, int]] = [(0, 0)] * self.distances.n_rows
        for block in self.distances.blocks():
            for row in block.rows.tolist():
                found[row] = block.n_candidates, block.distances.shape[1] - block.n_candidates
        return found

    def null_variances(self) -> dict[str, float]:
        """Return by gap the variance of its sum over rows under random splits; a gap that no row has is left out."""
        variances = dict(zip(GAPS, ("fidelity_variance", "diversity_variance"), strict=True))
        return {
            gap: float(np.sum(self.columns[variance]))
            for gap, variance in variances.items()
            if gap in self.columns and not np.isnan(self.columns[gap]).all()
        }


def row_test_key(metric: RowValue) -> str:
    """Return the name of a set metric's p-values of rows."""
    return f"{module_of(metric).slug}_p_value"
