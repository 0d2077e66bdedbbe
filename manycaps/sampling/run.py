"""From the options of `manycaps sample` to a file of samples."""

import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tqdm import tqdm

from manycaps.files.saved_files import check_can_be_written
from manycaps.kit.errors import InputError
from manycaps.sampling.answers import without_thoughts
from manycaps.sampling.captions_file import CaptionsFile
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item, RowError, SampledRow, read_items
from manycaps.sampling.sample_options import SampleOptions

if TYPE_CHECKING:
    from manycaps.sampling.local_model import LocalModel
    from manycaps.sampling.server import Server

# What samples: a model of transformers, or a server, with the same methods.
Sampler: TypeAlias = "LocalModel | Server"


def load_sampler(options: SampleOptions, items: Sequence[Item], settings: Sequence[Setting]) -> Sampler:
    """Load the model, or ask the server how it wants to be asked for all of these settings."""
    for setting in settings:
        options.check_setting(setting)
    if options.url is None:
        from manycaps.sampling.local_model import LocalModel

        return LocalModel(options)
    from manycaps.sampling.server import Server

    server = Server(options)
    server.choose_dialect(items, settings)
    return server


def items_of(options: SampleOptions) -> list[Item]:
    """Read the items of a shard; pictures stay in their files where these are no table."""
    items = list(read_items(options))
    k, n_shards = options.shard
    mine = items[k - 1 :: n_shards]
    if not mine:
        raise InputError("--shard", f"at most {len(items)} shards of {len(items)} rows", n_shards)
    return mine


def sample(options: SampleOptions) -> pathlib.Path:
    """Sample captions of images, or answers to prompts.

    A run that is stopped resumes when it is called again: finished rows are kept, in `<output>.partial`. The settings
    are written beside the samples, to `<output>.settings`. With `on_error="skip"`, the errors of rows without samples
    are in `<output>.errors`, and the next call tries these rows again.

    Args:
        options: model, rows, and how to decode.

    Returns:
        The path of the samples.

    Raises:
        TypeError, ValueError, OSError: an option, a file, the model or the server cannot be used.
        ImportError: a package is missing.
    """
    check_can_be_written(options.output, options.sources)
    items = items_of(options)
    write_samples(load_sampler(options, items, [options.setting]), items, options, options.setting, options.output)
    return options.output


def write_samples(
    sampler: Sampler, items: Sequence[Item], options: SampleOptions, setting: Setting, path: pathlib.Path
) -> None:
    """Write what a file of samples does not have yet."""
    if options.on_error == "stop":
        sampler.check(items[0])
    settings = {**sampler.facts, **setting.to_dict(), "n": options.n, "seed": options.seed}
    settings |= {"prompt": options.prompt, "shard": "/".join(map(str, options.shard))}
    file, n_empty, n_failed = CaptionsFile(path, settings), 0, 0
    with file.open(restart=options.restart) as finished:
        if file.is_complete:
            print(f"{path}: complete, nothing to do", file=sys.stderr)
            return
        if len(set(finished)) < len(finished) or not {item.id for item in items}.issuperset(finished):
            fix = "Give the same images or prompts, another file, or --restart to begin from scratch."
            raise InputError("source", f"the rows of {path}.partial", "others", fix)
        with tqdm(total=len(items), initial=len(finished), desc=setting.name, unit="row") as bar:
            for sampled_rows in sampler.samples(items, setting, options.n, options.seed, set(finished)):
                rows = [_answers_of(row, setting) for row in sampled_rows]
                errors = {name: sampled for name, sampled in rows if isinstance(sampled, RowError)}
                n_empty += file.add([(name, texts) for name, texts in rows if not isinstance(texts, RowError)])
                if errors:
                    if options.on_error == "stop":
                        raise next(iter(errors.values())).with_advice("--on-error skip leaves out such rows.")
                    file.add_errors(errors)
                    n_failed += len(errors)
                bar.update(len(rows))
        file.finish()
    if n_empty:
        samples = "1 sample" if n_empty == 1 else f"{n_empty:,} samples"
        print(f"{path}: a full stop stands for {samples} without a visible character", file=sys.stderr)
    _tell_of_answers(path, file.counts, setting)
    if n_failed:
        again = f"this tries them again: {options.again}" if options.again else "the same command tries them again"
        what = f"{n_failed:,} of {len(items):,} rows have no samples"
        print(f"{path}: {what}, and {file.errors} says why; {again}", file=sys.stderr)


def _answers_of(row: SampledRow, setting: Setting) -> SampledRow:
    """Leave out the thoughts of a row's samples; a row whose samples are all spent on thoughts has none."""
    name, sampled = row
    if isinstance(sampled, RowError):
        return row
    samples = [
        sample._replace(text=text, has_thoughts=sample.has_thoughts or had_thoughts)
        for sample in sampled
        for text, had_thoughts in [without_thoughts(sample.text)]
    ]
    if not all(sample.is_spent for sample in samples):
        return name, samples
    return name, RowError(
        "--max-new-tokens",
        f"enough tokens for the thoughts of the model and an answer for {name!r}",
        f"{setting.max_new_tokens}, all of which went to thoughts",
        "Give more, or ask the model not to think.",
    )


def _tell_of_answers(path: pathlib.Path, counts: Mapping[str, int], setting: Setting) -> None:
    """Say how many samples of a file were cut, and how many began with thoughts."""
    of_all = f"of {counts['n_samples']:,} samples"
    if n_thoughts := counts["n_with_thoughts"]:
        print(f"{path}: thoughts of the model are left out of {n_thoughts:,} {of_all}", file=sys.stderr)
    if n_cut := counts["n_cut"]:
        were = "was" if n_cut == 1 else "were"
        limit = f"{setting.max_new_tokens} tokens (--max-new-tokens), before the model ended"
        print(f"{path}: {n_cut:,} {of_all} {were} cut at {limit}", file=sys.stderr)
