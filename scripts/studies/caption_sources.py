"""Who gives the candidates of the decoding studies: simulated speakers, tables of captions, and transformers models."""

import argparse
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from tqdm import tqdm

from manycaps.caption_tables import CaptionRow, good_rows, open_source
from manycaps.kit.sets_splits import TIE_TOLERANCE
from manycaps.sampling import decoding_setting as sampling
from manycaps.sampling.captions_file import NOTHING
from manycaps.sampling.items import Item
from manycaps.saved_files import made_folder, write_text_atomically
from scripts.studies.decoding import (
    DIVERSITY_PENALTY,
    N_BEAMS,
    N_CANDIDATES,
    SAMPLING,
    TOP_K,
    TOP_P,
    Setting,
    named_folders,
)
from scripts.studies.study_inputs import Captions, read_captions, read_people

# Weight of the k-th caption of an image: 1/k, as in Zipf's law.
ZIPF_EXPONENT = 1.0

# Share of the two simulated speakers' captions that belong to another image, and how many such captions there are.
MISTAKES: Mapping[str, float] = {"few mistakes": 0.02, "many mistakes": 0.2}
N_OTHERS = 50


class SpokenRows(NamedTuple):
    """Candidates and references of some images."""

    candidates: Captions
    references: Captions


class Source(Protocol):
    """Whoever gives captions."""

    def settings(self) -> list[Setting] | None:
        """Return the settings that there are; None: any."""

    def rows(self, setting: Setting, trial: Sequence[int]) -> SpokenRows:
        """Return the rows of a setting; `trial` seeds what is drawn."""


class Speaker:
    """Says human captions with known probabilities: of the image with Zipf's weights, and a share of mistakes.

    People say the captions of the image with Zipf's weights and make no mistakes; references are drawn so.
    """

    def __init__(self, images: Captions, mistakes: float, size: tuple[int, int], n_rows: int):
        """Take the captions of every image.

        Args:
            images: lists of human captions.
            mistakes: probability of a caption of another image, 0 to 1.
            size: n_candidates and n_references.
            n_rows: images drawn in a trial.
        """
        self._images, self._mistakes, self._size, self._n_rows = images, mistakes, size, n_rows

    def settings(self) -> None:
        """Any setting."""
        return

    def rows(self, setting: Setting, trial: Sequence[int]) -> SpokenRows:
        """Draw images, references by people, and candidates; images and references are those of every setting."""
        n_images = len(self._images)
        chosen = np.random.default_rng(trial).choice(n_images, min(self._n_rows, n_images), replace=False)
        rows = SpokenRows([], [])
        for i in np.sort(chosen):
            rng = np.random.default_rng((*trial, int(i)))
            mine = [self._images[i][k] for k in rng.permutation(len(self._images[i]))]
            others = (i + rng.integers(1, n_images, size=N_OTHERS)) % n_images
            wrong = [self._images[k][rng.integers(len(self._images[k]))] for k in others]
            weights = zipf(len(mine))
            rows.references.append([mine[k] for k in rng.choice(len(mine), self._size[1], p=weights)])
            said = np.concatenate(((1 - self._mistakes) * weights, np.full(N_OTHERS, self._mistakes / N_OTHERS)))
            rows.candidates.append([[*mine, *wrong][k] for k in decoded(said, setting, self._size[0], rng)])
        return rows


def zipf(n: int) -> np.ndarray:
    """Probabilities in proportion to 1, 1/2, 1/3 and so on.

    >>> zipf(2).round(4).tolist()
    [0.6667, 0.3333]
    """
    weights = np.arange(1, n + 1) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def decoded(probabilities: np.ndarray, setting: Setting, n: int, rng: np.random.Generator) -> list[int]:
    """Choose whole captions as a way to decode chooses tokens.

    Temperature first, then top-k, then top-p, in the order of transformers' `generate`.

    Args:
        probabilities: float64 array, shape (n_captions,), of a speaker.
        setting: greedy and beam search give the likeliest caption n times, the best of n beams the n likeliest ones.
        n: captions to choose.
        rng: random numbers.

    Returns:
        n places in `probabilities`.

    Raises:
        ValueError: the setting needs tokens.

    >>> decoded(np.array([0.2, 0.5, 0.3]), Setting("best_beams"), 2, np.random.default_rng(0))
    [1, 2]
    """
    order = np.argsort(-probabilities, kind="stable")
    if setting.strategy in ("greedy", "beam"):
        return [int(order[0])] * n
    if setting.strategy == "best_beams":
        return [int(k) for k in np.resize(order, n)]
    if setting.strategy not in SAMPLING:
        raise ValueError(f"{setting}: expected a way to choose whole captions, got one for tokens. Use a model.")
    weights = (probabilities[order] / probabilities.max()) ** (1 / setting.temperature)
    if setting.strategy in ("top_k", "nucleus"):
        weights[TOP_K:] = 0
    weights /= weights.sum()
    if setting.strategy in ("top_p", "nucleus"):
        weights[np.cumsum(weights) - weights >= TOP_P - TIE_TOLERANCE] = 0  # the one that reaches the sum is kept
        weights /= weights.sum()
    return [int(order[k]) for k in rng.choice(len(order), n, p=weights)]


class TableFolder:
    """One table of captions for each setting, and references joined to them by id."""

    def __init__(self, folder: pathlib.Path, people: Mapping[str, CaptionRow], size: tuple[int, int], n_rows: int):
        """Look which settings there are.

        Raises:
            ValueError: there is none.
        """
        self._people, self._size, self._n_rows = people, size, n_rows
        self._paths = {path: path.name.removesuffix(path.suffix) for path in sorted(folder.iterdir())}
        self._files = {Setting.of(name): path for path, name in self._paths.items() if not name.startswith(".")}
        if not self._files:
            raise ValueError(f"{folder}: expected a table of captions for each setting, got none. Write one.")

    def settings(self) -> list[Setting]:
        """Return those that have a table."""
        return sorted(self._files)

    def rows(self, setting: Setting, trial: Sequence[int]) -> SpokenRows:
        """Draw images; of a setting with more captions than are needed, those that are compared."""
        found = {row.id: row.predictions or [] for row in good_rows(open_source([str(self._files[setting])]).rows())}
        ids = [name for name in self._people if name in found]
        if not ids:
            raise ValueError(f"{self._files[setting]}: expected ids of --references, got none. Name the same images.")
        chosen = np.random.default_rng(trial).choice(len(ids), min(self._n_rows, len(ids)), replace=False)
        rows = SpokenRows([], [])
        for i in np.sort(chosen):
            rng = np.random.default_rng((*trial, int(i)))
            people = self._people[ids[i]].references or []
            rows.references.append([people[k] for k in rng.permutation(len(people))[: self._size[1]]])
            mine = found[ids[i]]
            places = np.sort(rng.permutation(len(mine))[: self._size[0]])
            rows.candidates.append([mine[k] for k in places])
        return rows


def read_sources(options: argparse.Namespace) -> tuple[str, dict[str, Source]]:
    """Return what the captions are, and whoever the options of `add_source_options` name.

    Raises:
        ValueError: an option is missing or wrong.
    """
    folders = named_folders(options.captions, "--captions")
    models = named_folders(options.models, "--models")
    if not folders and not models:
        captions = read_captions(options)
        speakers = {
            name: Speaker(captions.images, share, captions.size, options.rows) for name, share in MISTAKES.items()
        }
        return captions.name, dict(speakers)
    if not options.references:
        raise ValueError("--references: expected tables of human captions, got none. Name one.")
    people = read_people(options.references)
    size = tuple(options.sizes or (N_CANDIDATES, max(len(row.references or []) for row in people.values())))
    for name, model in models.items():
        folders[name] = made_folder(options.output / "captions" / name)
        write_model_captions(model, people, folders[name], size[0], options)
    sources = {name: TableFolder(folder, people, (size[0], size[1]), options.rows) for name, folder in folders.items()}
    return "given captions", dict(sources)


def write_model_captions(
    model: pathlib.Path, people: Mapping[str, CaptionRow], folder: pathlib.Path, n: int, options: argparse.Namespace
) -> None:
    """Write the captions of every setting that has no table yet, by a transformers model."""
    missing = [setting for setting in options.settings if not (folder / f"{setting}.jsonl").exists()]
    if not missing:
        return
    from manycaps.sampling.local_model import LocalModel, ModelOptions

    asked = {} if options.prompts is None else json.loads(options.prompts.read_text(encoding="utf-8"))
    items = [Item(name, f"image[{row.row}]", row.image, asked.get(name)) for name, row in people.items()]
    captioner = LocalModel(ModelOptions(str(model)))
    for setting in missing:
        # A beam search for one caption, which is said n times.
        n_searched = 1 if setting.strategy == "beam" else n
        how = model_setting(setting, n, options.max_tokens)
        batches = tqdm(captioner.samples(items, how, n_searched, options.seed), desc=str(setting), unit="batch")
        rows = [(name, texts * (n // n_searched)) for batch in batches for name, texts in batch]
        lines = [json.dumps({"id": name, "predictions": [text or NOTHING for text in texts]}) for name, texts in rows]
        write_text_atomically(folder / f"{setting}.jsonl", "\n".join(lines) + "\n")


def model_setting(setting: Setting, n: int, max_tokens: int) -> sampling.Setting:
    """Return how a model decodes n captions by a setting of the studies.

    >>> model_setting(Setting("nucleus", 0.5), 10, 40).name
    't0.5-p0.9-k20'
    """
    searches: dict[str, dict[str, Any]] = {
        "greedy": {"greedy": True},
        "beam": {"num_beams": N_BEAMS},
        "best_beams": {"num_beams": n},
        "diverse_beams": {"diverse": DIVERSITY_PENALTY},
    }
    if setting.strategy in searches:
        return sampling.Setting(**searches[setting.strategy], max_new_tokens=max_tokens)
    return sampling.Setting(
        setting.temperature,
        TOP_P if setting.strategy in ("top_p", "nucleus") else 1.0,
        TOP_K if setting.strategy in ("top_k", "nucleus") else 0,
        max_new_tokens=max_tokens,
    )
