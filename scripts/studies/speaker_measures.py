"""What every metric of the collection, and the plain metrics beside them, say of speakers of the made world.

The set metrics, as they are and as the excess over the mean of random splits of a row, the plain scores behind them,
METEOR 1.5, BLEU-4, ROUGE-L, PAC-S, RefPAC-S and EMScore by tiny-pac, and figures of vdtk_diversity and set_diversity,
less the references' (0: as diverse as people). z is the distance of a value from people's, in standard
deviations of the mean over scenes when other people are the candidates.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
from tqdm import tqdm

import manycaps
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.sets_tests import random_splits
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from scripts.studies.caption_rows import PLAIN, Captions, compare_with_nulls
from scripts.studies.study_options import MODULES
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import Scene, draw_scene
from scripts.toy.speakers import N_SPEAKER_DRAWS, Speaker, draw_captions, speak

# Rows compared at once: 500 null values each of 20 captions take 40 MB.
BATCH = 50

# Scenes for which other people are asked: enough for a standard deviation.
N_OTHER = 100

LINE_COLUMNS = ("measure", "n_references", "n_rows", "value", "people", "null_deviation", "z", "difference_deviation")

# Scenes whose pictures the metrics of images and videos see, the first ones: they take as long as all others together.
N_PICTURED = 200

# Pictures of a scene in its clip, for EMScore.
N_FRAMES = 3


class Measure(NamedTuple):
    """How a measure is read and drawn."""

    title: str
    # Where it is best: "lowest", "highest" or "zero".
    best: str
    panel: str
    colour: str
    style: str = "-"


SETS, EXCESS, PLAIN_SCORES, DIVERSITY = "set metrics", "set metrics, excess", "plain scores", "diversity less people's"

SET_MEASURES = {
    "trm_meteor": ("TRM-METEOR", BLUE),
    "trm_cider": ("TRM-CIDEr", ORANGE),
    "trm_bert": ("TRM-BERT", GREEN),
    "mmd_bert": ("MMD", PURPLE),
    "fid_bert": ("Frechet", BLACK),
}
MEASURES = {
    **{name: Measure(title, "lowest", SETS, colour) for name, (title, colour) in SET_MEASURES.items()},
    **{f"{name}_excess": Measure(title, "lowest", EXCESS, colour) for name, (title, colour) in SET_MEASURES.items()},
    "meteor": Measure("METEOR", "highest", PLAIN_SCORES, BLUE, "--"),
    "cider_d": Measure("CIDEr-D", "highest", PLAIN_SCORES, ORANGE, "--"),
    "bert": Measure("BERT cosine", "highest", PLAIN_SCORES, GREEN, "--"),
    "meteor15": Measure("METEOR 1.5", "highest", PLAIN_SCORES, BLUE, ":"),
    "bleu_4": Measure("BLEU-4", "highest", PLAIN_SCORES, BLACK, "--"),
    "rouge_l": Measure("ROUGE-L", "highest", PLAIN_SCORES, BLACK, ":"),
    "pac_score": Measure("PAC-S", "highest", PLAIN_SCORES, PURPLE, "--"),
    "ref_pac_score": Measure("RefPAC-S", "highest", PLAIN_SCORES, PURPLE, ":"),
    "emscore_pac": Measure("EMScore", "highest", PLAIN_SCORES, SKY, "--"),
    "distinct_captions": Measure("distinct captions", "zero", DIVERSITY, BLUE),
    "distinct_tokens": Measure("words used once", "zero", DIVERSITY, ORANGE),
    "self_cider": Measure("self-CIDEr", "zero", DIVERSITY, GREEN),
    "vendi_score": Measure("Vendi score of embeddings", "zero", DIVERSITY, PURPLE),
}

# Keys of the modules' results: of diversity, of sets, and of scores of captions by themselves.
OF_DIVERSITY = {
    "distinct_captions": "distinct_within_row_per_row",
    "distinct_tokens": "within_row_uniqueness_of_tokens_per_row",
}
OF_SET_DIVERSITY = {
    "self_cider": "self_cider_difference_per_row",
    "vendi_score": "vendi_embedding_1_difference_per_row",
}
OF_CAPTIONS = ("bleu_4", "rouge_l", "meteor15", "pac_score", "ref_pac_score", "emscore_pac")


class World(NamedTuple):
    """Scenes, and what people say of them."""

    scenes: list[Scene]
    # The picture that is described, and, of the first `N_PICTURED` scenes, further ones: a clip.
    clips: list[list[PIL.Image.Image]]
    references: list[list[str]]
    # Draws behind the candidates, and behind other people's: shape (n_scenes, n_candidates, N_SPEAKER_DRAWS).
    draws: np.ndarray
    other_draws: np.ndarray


def draw_world(seed: int, n_scenes: int, n_candidates: int, n_references: int) -> World:
    """Draw scenes, pictures and human captions; scene i depends on the seed and i alone."""
    scenes, clips, references, draws = [], [], [], []
    for i in range(n_scenes):
        rng = np.random.default_rng([seed, i])
        scenes.append(draw_scene(rng))
        references.append(draw_captions(Speaker(), scenes[-1], n_references, rng))
        draws.append(rng.random((2, n_candidates, N_SPEAKER_DRAWS)))
        clips.append([draw_picture(rng, scenes[-1]) for _ in range(N_FRAMES if i < N_PICTURED else 1)])
    both = np.stack(draws, axis=1)
    return World(scenes, clips, references, both[0], both[1])


def say(world: World, speaker: Speaker, draws: np.ndarray) -> list[list[str]]:
    """Return what a speaker says of every scene, with these draws."""
    return [[speak(speaker, scene, row) for row in of] for scene, of in zip(world.scenes, draws, strict=True)]


class LoadedModules:
    """The modules of the collection; each caption of a world is embedded once."""

    def __init__(self) -> None:
        self._vectors: dict[str, np.ndarray] = {}
        self._encoder = SentenceEncoder()
        toy = {"checkpoint": str(CHECKPOINT), "device": "cpu"}
        kernels = {"kernels": ("embedding",), "vendi_orders": (1,), "encoder": self._embed}
        options = {"ref_pac_score": toy, "emscore_pac": toy, "set_diversity": kernels}
        names = ("ref_pac_score", "emscore_pac", "bleu_rouge", "meteor15", "vdtk_diversity", "set_diversity")
        self.row_modules = {name: manycaps.load(name, details=True, **options.get(name, {})) for name in names}
        with_encoder = {"trm_bert", "mmd_bert", "fid_bert"}
        self.set_modules = {
            name: manycaps.load(name, **({"encoder": self._embed} if name in with_encoder else {})) for name in MODULES
        }

    def know(self, captions: Iterable[str]) -> None:
        """Embed all captions of a world at once, and forget the last one's.

        The last digits of a vector depend on the captions beside it. Embedded together, they are the same whether a
        study was interrupted or not.
        """
        self._encoder.forget()
        distinct = sorted(set(captions))
        vectors = self._encoder.embed(distinct, ENCODER_DEFAULTS, tqdm)
        self._vectors = dict(zip(distinct, vectors, strict=True))

    def _embed(self, texts: list[str]) -> np.ndarray:
        return np.stack([self._vectors[text] for text in texts])


@functools.cache
def load_modules() -> LoadedModules:
    """Load the modules once for all worlds."""
    return LoadedModules()


class SpokenWorld:
    """One world, and how far the values of captions lie from people's."""

    def __init__(self, world: World, n_splits: int, captions: Iterable[str]):
        self.world, self._n_splits, self._loaded = world, n_splits, load_modules()
        human_captions = [world.references, say(world, Speaker(), world.draws)]
        human_captions.append(say(world, Speaker(), world.other_draws)[:N_OTHER])
        self._loaded.know(itertools.chain(captions, *(row for rows in human_captions for row in rows)))
        self.people = functools.cache(self._people)

    def values(self, candidates: Captions, n_rows: int | None = None) -> dict[str, np.ndarray]:
        """Return values of the first rows, or of all, by measure; of the diversity, differences from people's.

        CIDEr-D counts its documents in the references of all rows. Metrics of pictures see at most `N_PICTURED` rows.
        """
        rows, references = slice(n_rows), self.world.references
        values: dict[str, np.ndarray] = {}
        for name in MODULES:
            values |= self._set_values(name, candidates, len(candidates[rows]))
        sets = self._results("set_diversity", predictions=candidates, references=references)
        values |= {name: sets[key][rows] for name, key in OF_SET_DIVERSITY.items()}
        columns = {"predictions": candidates[rows], "references": references[rows]}
        scores = self._results("bleu_rouge", **columns) | self._results("meteor15", **columns)
        scores |= self._picture_scores(**{name: column[:N_PICTURED] for name, column in columns.items()})
        values |= {name: scores[f"{name}_per_row"] for name in OF_CAPTIONS}
        # How diverse the candidates of a row are, less how diverse its references are.
        mine, theirs = (self._results("vdtk_diversity", data=column) for column in columns.values())
        return values | {name: mine[key] - theirs[key] for name, key in OF_DIVERSITY.items()}

    def _results(self, module: str, **columns: Any) -> dict[str, np.ndarray]:
        """Return the lists of a module's result as arrays."""
        result = self._loaded.row_modules[module].compute(**columns)
        return {key: np.array(value, dtype=float) for key, value in result.items() if key.endswith("_per_row")}

    def _set_values(self, name: str, candidates: Captions, n_rows: int) -> dict[str, np.ndarray]:
        """Statistic, excess and plain score of a distribution module."""
        module = self._loaded.set_modules[name]
        rows = module.rows_of(candidates, self.world.references, module.load_options)
        splits = random_splits(*rows.sizes[0], self._n_splits, 0)
        parts: dict[str, list[np.ndarray]] = {}
        for _, compared, nulls, units in compare_with_nulls(rows, splits, n_rows, BATCH):
            values = {name: compared.statistic, f"{name}_excess": compared.statistic - nulls.mean(axis=1) * units}
            if compared.plain is not None:
                values[PLAIN[name]] = compared.plain
            for key, column in values.items():
                parts.setdefault(key, []).append(column)
        return {key: np.concatenate(columns) for key, columns in parts.items()}

    def _picture_scores(self, predictions: Captions, references: Captions) -> dict[str, np.ndarray]:
        """Scores of the candidates of the first scenes against their pictures."""
        clips = self.world.clips[: len(predictions)]
        images = [clip[0] for clip in clips]
        image_scores = self._results("ref_pac_score", images=images, predictions=predictions, references=references)
        return image_scores | self._results("emscore_pac", videos=clips, predictions=predictions)

    def _people(self, n: int) -> list[dict[str, np.ndarray]]:
        """Return the values of n human captions, and of other people for the first `N_OTHER` scenes."""
        draws = self.world.draws[:, :n]
        others = np.concatenate((self.world.other_draws[:N_OTHER, :n], draws[N_OTHER:]))
        mine, theirs = (say(self.world, Speaker(), of) for of in (draws, others))
        return [self.values(mine), self.values(theirs, N_OTHER)]

    def lines(self, values: Mapping[str, np.ndarray], n: int) -> list[list[Any]]:
        """Return what `LINE_COLUMNS` names of every measure.

        `null_deviation` is the standard deviation of the mean over rows when the candidates are other people's, `z` the
        distance from people in these, `difference_deviation` the rows' standard deviation of the difference from other
        people.
        """
        people, others = self.people(n)
        lines: list[list[Any]] = []
        for measure, rows in values.items():
            # The candidates of a row's people and of other people have the same distribution.
            null = float(np.std(people[measure][:N_OTHER] - others[measure]) / np.sqrt(2 * len(rows)))
            z = float((rows - people[measure]).mean()) / null if null > 0 else np.nan
            apart = float(np.std(rows[:N_OTHER] - others[measure]))
            n_references = len(self.world.references[0])
            lines.append([measure, n_references, len(rows), rows.mean(), people[measure].mean(), null, z, apart])
        return lines
