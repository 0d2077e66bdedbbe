"""From the options of a measurement to the figures: read every source once, through all levels that are asked for."""

import collections
import pathlib
import warnings
from collections.abc import Callable

import numpy as np
import tqdm

from manycaps.catalog.command_options import encoder_options
from manycaps.diversity.diversity_options import PAPER_ENCODER, DiversityOptions, for_each_source, names_of_sources
from manycaps.diversity.encoders import LoadedEncoder, load_encoder
from manycaps.diversity.figures import DiversityFigures
from manycaps.diversity.leave_one_out import RowSample, reference_curves, variance_curve
from manycaps.diversity.sets import read_sources, set_figures
from manycaps.files.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.files.saved_files import write_text_atomically
from manycaps.kit.diversity_captions import CHUNK_CAPTIONS, CaptionDiversity
from manycaps.kit.diversity_counts import row_chunks
from manycaps.kit.rows import EmptyCaptions, words_of_unknown
from manycaps.kit.words_tokenizers import as_tagger, token_finder


class MeasuredDiversity(DiversityFigures):
    """The diversity of several sources, which a notebook shows as tables."""

    def _repr_html_(self) -> str:
        """Return the tables, as a notebook shows them."""
        from .page import as_tables, set_sections

        return "".join(as_tables(self.figures) + set_sections(self.sets))

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page.

        Raises:
            OSError: it cannot be written.
        """
        # Only a page needs matplotlib.
        from .page import diversity_page

        write_text_atomically(pathlib.Path(path), diversity_page(self))


def diversity(options: DiversityOptions) -> MeasuredDiversity:
    """Measure the diversity of caption files.

    Args:
        options: sources, and how they are read and measured.

    Returns:
        The figures, which a notebook shows as tables beside published ones. `to_dict()` has them by source, and
        `save(path)` writes the page.

    Raises:
        TypeError, ValueError, OSError: a source or an option cannot be used.
        ImportError: a package is missing.

    >>> import tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.json"
    >>> _ = path.write_text('[["a dog", "a dog runs"], ["two cats"]]')
    >>> diversity(DiversityOptions([str(path)])).to_dict()["captions"]["n_types"]
    5
    """
    columns = for_each_source(options.column, len(options.sources), "--column")
    groups = for_each_source(options.group_by, len(options.sources), "--group-by")
    names = names_of_sources(options.sources, options.names, columns)
    parts = zip(options.sources, names, columns, groups, strict=True)
    rows = None
    if options.sets:  # read first, so that other rows are refused before anything is measured
        rows = read_sources(dict(zip(names, options.sources, strict=True)), columns, groups, options)
    sources = {name: measure_source(source, name, column, group, options) for source, name, column, group in parts}
    diversities = {name: diversity for name, (diversity, *_) in sources.items()}
    samples = {name: sample for name, (_, sample, _) in sources.items()}
    figures = {
        name: diversity.figures((0.9,), (5, 10, 15, 20)) | n_long for name, (diversity, _, n_long) in sources.items()
    }
    curves = {name: curve for name, sampled in samples.items() if (curve := reference_curves(sampled.rows)) is not None}
    points = {}
    encoder = encoder_of(options)
    if encoder is not None:
        points = {
            name: sampled for name, sample in samples.items() if (sampled := _variance_points(sample, encoder.embed))
        }
    return MeasuredDiversity(
        options=options,
        columns=dict(zip(names, columns, strict=True)),
        diversities=diversities,
        figures=figures,
        curves=curves,
        points=points,
        sets=None if rows is None else set_figures(rows, options),
    )


def measure_source(
    source: str, name: str, column: str | None, group_by: str | None, options: DiversityOptions
) -> tuple[CaptionDiversity, RowSample, dict[str, int]]:
    """Stream one source through all levels that are asked for; keep a sample of its rows, and count long texts."""
    encoder, n_long = encoder_of(options), collections.Counter[str]()
    tagger = as_tagger(options.pos) if options.pos else None
    diversity, sample = CaptionDiversity(options.tokenizer, encoder and encoder.embed, tagger), RowSample()
    rows = caption_lists(open_captions([source], CaptionColumn(column, group_by), options.split, options.config))
    empty, n_rows, shown = EmptyCaptions(token_finder(options.tokenizer)), 0, f"{source}: {column or 'captions'}"
    with tqdm.tqdm(desc=name, unit=" captions", unit_scale=True) as progress:
        for chunk in row_chunks(rows, CHUNK_CAPTIONS):
            for row in chunk:
                empty.add(row)
            if encoder is not None:
                encoder.check_known({shown: chunk}, lambda name, i, j, first=n_rows: f"{name}[{first + i}][{j}]")
            n_rows += len(chunk)
            diversity.update(chunk)
            sample.update(chunk)
            if encoder is not None:
                n_long.update(encoder.count_unread([caption for row in chunk for caption in row]))
            progress.update(sum(map(len, chunk)))
    if empty.n_empty:
        warnings.warn(f"{source}: {empty}.", stacklevel=2)
    if (words := words_of_unknown(n_long)) is not None:
        warnings.warn(f"{source}: {words}", stacklevel=2)
    return diversity, sample, dict(n_long)


def encoder_of(options: DiversityOptions) -> LoadedEncoder | None:
    """Return the encoder that the options ask for; None for none."""
    is_asked_for = options.semantic or options.encoder
    return load_encoder(**{"encoder": PAPER_ENCODER, **encoder_options(options)}) if is_asked_for else None


def _variance_points(sample: RowSample, embed: Callable[[list[str]], np.ndarray]) -> list[tuple[float, float]]:
    rows = [row for row in sample.rows if len(set(row)) > 2]
    captions = list(dict.fromkeys(caption for row in rows for caption in row))
    vectors = dict(zip(captions, embed(captions) if captions else [], strict=True))
    return variance_curve(rows, [np.stack([vectors[caption] for caption in dict.fromkeys(row)]) for row in rows])
