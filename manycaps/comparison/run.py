"""A comparison from its options to its result, in five steps: read, score, test, describe, render."""

import functools
import pathlib

from manycaps.catalog.installed_modules import progress_bars
from manycaps.comparison.compare_options import CompareOptions
from manycaps.comparison.module_scores import check_module_names
from manycaps.comparison.read import are_score_folders, name_systems, read_captions, systems_of_table
from manycaps.comparison.render import SystemComparison
from manycaps.comparison.score import score_captions, score_further
from manycaps.comparison.significance import compare_scores
from manycaps.comparison.sources import check_sources
from manycaps.kit.errors import InputError


def compare(options: CompareOptions, *, embeddings: pathlib.Path | None = None) -> SystemComparison:
    """Compare captioning systems: which one has fewer faults, and how does each differ from people?

    Every two systems are compared row by row, and the distribution metrics compare each system with people; see
    docs/compare.md. Progress is shown on standard error.

    Args:
        options: systems, references, metrics and the rest.
        embeddings: folder that keeps the vectors of the sentence encoder, so that another comparison embeds only new
            captions; made if it does not exist. None keeps none.

    Returns:
        The comparison, which a notebook shows as tables. `to_dict()` has every number, and `save(folder)` writes the
        page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> def write(name, key, *rows):
    ...     _ = (folder / name).write_text(json.dumps([{"id": i, key: row} for i, row in enumerate(rows)]))
    ...     return str(folder / name)
    >>> people = write("people.json", "references", ["a dog runs", "a brown dog"], ["two cats", "cats sleep"])
    >>> first = write("first.json", "captions", ["a brown dog runs"], ["two cats sleep"])
    >>> second = write("second.json", "captions", ["a man"], ["two men sleep"])
    >>> comparison = compare(CompareOptions([first, second], references=[people], metrics=["trm_cider"]))
    >>> comparison.to_dict()["metrics"]["cider_d"]["pairs"][0]["test"]["n_smaller"]
    2
    >>> comparison.save(folder / "report")
    >>> sorted(path.name for path in (folder / "report").iterdir())
    ['comparison.json', 'index.html', 'shown.json']
    """
    check_module_names(options.metrics or ())
    if options.systems_by is None:
        sources = name_systems(options.systems, options.names, options.baseline)
        check_sources(options)
    else:
        check_sources(options)
        sources = systems_of_table(options.systems, options.systems_by, options.names, options.baseline)
    # What cannot be read is refused before a module, and the libraries that it takes, are loaded.
    if are_score_folders(sources):
        if embeddings is not None:
            raise InputError("--cache", "captions", "folders of scores", "Leave it out: they hold what was computed.")
        # Captions need neither pyarrow's tables nor the folders of runs.
        from manycaps.comparison.score_folders import read_scores

        score = functools.partial(score_further, read_scores(sources, options), options)
    else:
        score = functools.partial(score_captions, read_captions(sources, options), options, embeddings)
    with progress_bars(shown=False):  # of modules, beside the comparison's
        scores = score()
        result = compare_scores(
            scores, margin=options.margin, order=options.sort or "", n_resamples=options.n_resamples, seed=options.seed
        )
        return SystemComparison.of(result, are_asked_for=options.metrics is not None)
