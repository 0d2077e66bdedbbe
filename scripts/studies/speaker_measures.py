"""What every metric of the collection, and the plain metrics beside them, say of speakers of the made world."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
from tqdm import tqdm

import manycaps
from manycaps.kit.sets_splits import random_splits
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import Scene, draw_scene
from manycaps.made_world.speakers import N_SPEAKER_DRAWS, Speaker, draw_captions, speak
from manycaps.made_world.toy_scores import CHECKPOINT
from scripts.studies.study_options import MODULES
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY

Captions = Sequence[Sequence[str]]

# Rows compared at once: 500 null values each of 20 captions take 40 MB.
BATCH = 50

# Scenes for which other people are asked: enough for a standard deviation.
N_OTHER = 100

LINE_COLUMNS = ("measure", "n_references", "n_rows", "value", "people", "null_deviation", "z", "difference_deviation")

# Scenes whose pictures the metrics of images and videos see, the first ones: they take as long as all others together.
N_PICTURED = 200

# Pictures of a scene in its clip, for EMScore.
N_FRAMES = 3

# Measure that is the plain score of a module.
PLAIN = {"trm_meteor": "meteor", "trm_cider": "cider_d", "trm_bert": "bert"}


class Measure(NamedTuple):
    """How a measure is read and drawn."""

    title: str
    # Where it is best: "lowest", "highest" or "zero".
    best: str
    panel: str
    colour: str
    style: str = "-"


SETS, EXCESS, PLAIN_SCORES, DIVERSITY = "set metrics", "set metrics, excess", "plain scores", "diversity less people's"

MEASURES = {
    "trm_meteor": Measure("TRM-METEOR", "lowest", SETS, BLUE),
    "trm_cider": Measure("TRM-CIDEr", "lowest", SETS, ORANGE),
    "trm_bert": Measure("TRM-BERT", "lowest", SETS, GREEN),
    "mmd_bert": Measure("MMD", "lowest", SETS, PURPLE),
    "fid_bert": Measure("Frechet", "lowest", SETS, BLACK),
    "trm_meteor_excess": Measure("TRM-METEOR", "lowest", EXCESS, BLUE),
    "trm_cider_excess": Measure("TRM-CIDEr", "lowest", EXCESS, ORANGE),
    "trm_bert_excess": Measure("TRM-BERT", "lowest", EXCESS, GREEN),
    "mmd_bert_excess": Measure("MMD", "lowest", EXCESS, PURPLE),
    "fid_bert_excess": Measure("Frechet", "lowest", EXCESS, BLACK),
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


class World(NamedTuple):
    """Scenes, and what people say of them."""

    scenes: list[Scene]
    # The picture that is described, and, of the first `N_PICTURED` scenes, further ones: a clip.
    clips: list[list[PIL.Image.Image]]
    references: list[list[str]]
    # Draws behind the candidates, and behind those of other people: shape (n_scenes, n_candidates, N_SPEAKER_DRAWS).
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


def said(world: World, speaker: Speaker, draws: np.ndarray) -> list[list[str]]:
    """Return what a speaker says of every scene, with these draws."""
    return [[speak(speaker, scene, row) for row in of] for scene, of in zip(world.scenes, draws, strict=True)]


class LoadedModules:
    """The modules of the collection; each caption of a world is embedded once."""

    def __init__(self) -> None:
        self._vectors: dict[str, np.ndarray] = {}
        self._encoder = SentenceEncoder()
        toy = {"checkpoint": str(CHECKPOINT), "device": "cpu", "details": True}
        self.pac, self.emscore = manycaps.load("ref_pac_score", **toy), manycaps.load("emscore_pac", **toy)
        self.words = manycaps.load("bleu_rouge", details=True)
        self.meteor15 = manycaps.load("meteor15", details=True)
        self.diversity = manycaps.load("vdtk_diversity", details=True)
        self.set_diversity = manycaps.load(
            "set_diversity", kernels=("embedding",), vendi_orders=(1,), encoder=self._embed, details=True
        )
        with_encoder = {"trm_bert", "mmd_bert", "fid_bert"}
        self.of_sets = {
            name: manycaps.load(name, **({"encoder": self._embed} if name in with_encoder else {})) for name in MODULES
        }

    def know(self, captions: Iterable[str]) -> None:
        """Embed all captions of a world at once, and forget those of the last one.

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
def loaded_modules() -> LoadedModules:
    """Load the modules once for all worlds."""
    return LoadedModules()


class SpeakerMeasures:
    """Values of rows of candidates."""

    def __init__(self, clips: Sequence[Sequence[PIL.Image.Image]], references: Captions, n_splits: int):
        self._clips, self._references, self._n_splits = clips, references, n_splits
        self._loaded = loaded_modules()

    def values(self, candidates: Captions, n_rows: int | None = None) -> dict[str, np.ndarray]:
        """Return values of the rows by measure, shape (n_rows,); those of the diversity are differences from people's.

        Args:
            candidates: as many captions of every scene.
            n_rows: the first rows alone; CIDEr-D counts its documents in the references of all of them. Of the metrics
                of pictures there are at most `N_PICTURED`.
        """
        rows = slice(n_rows)
        found: dict[str, np.ndarray] = {}
        for name in MODULES:
            found |= self._set_values(name, candidates, rows)
        found |= self._set_diversity(candidates, rows)
        candidates, references = candidates[rows], self._references[rows]
        found |= self._words(candidates, references)
        found |= self._pictured(candidates[:N_PICTURED])
        return found | self._diversity(candidates, references)

    def _set_values(self, name: str, candidates: Captions, part: slice) -> dict[str, np.ndarray]:
        """Statistic, excess and plain score of a distribution module."""
        module = self._loaded.of_sets[name]
        rows = module.rows_of(candidates, self._references, module.load_options)
        splits = random_splits(*rows.sizes[0], self._n_splits, 0)
        parts: dict[str, list[np.ndarray]] = {}
        places = range(len(rows.sizes))[part]
        for start in range(0, len(places), BATCH):
            compared = rows.compare(places[start : start + BATCH])
            nulls = np.concatenate(list(compared.null_values(slice(None), splits)), axis=1).mean(axis=1)
            units = 1.0 if compared.units is None else compared.units
            values = {name: compared.statistic, f"{name}_excess": compared.statistic - nulls * units}
            if compared.plain is not None:
                values[PLAIN[name]] = compared.plain
            for key, column in values.items():
                parts.setdefault(key, []).append(column)
        return {key: np.concatenate(columns) for key, columns in parts.items()}

    def _words(self, candidates: Captions, references: Captions) -> dict[str, np.ndarray]:
        """Plain scores of words that no set metric is made of."""
        of_words: Mapping[str, Any] = self._loaded.words.compute(predictions=candidates, references=references)
        meteor15: Mapping[str, Any] = self._loaded.meteor15.compute(predictions=candidates, references=references)
        results = {"bleu_4": of_words, "rouge_l": of_words, "meteor15": meteor15}
        return {name: np.array(result[f"{name}_per_row"]) for name, result in results.items()}

    def _pictured(self, candidates: Captions) -> dict[str, np.ndarray]:
        """Scores of the candidates of the first scenes against their pictures."""
        clips, references = self._clips[: len(candidates)], self._references[: len(candidates)]
        of_pictures = self._loaded.pac.compute(
            images=[clip[0] for clip in clips], predictions=candidates, references=references
        )
        of_clips = self._loaded.emscore.compute(videos=list(map(list, clips)), predictions=candidates)
        names = {"pac_score": of_pictures, "ref_pac_score": of_pictures, "emscore_pac": of_clips}
        return {name: np.array(result[f"{name}_per_row"]) for name, result in names.items()}

    def _diversity(self, candidates: Captions, references: Captions) -> dict[str, np.ndarray]:
        """How diverse the candidates of a row are, less how diverse its references are."""
        names = {
            "distinct_captions": "distinct_within_row_per_row",
            "distinct_tokens": "within_row_uniqueness_of_tokens_per_row",
        }
        mine: Mapping[str, Any] = self._loaded.diversity.compute(data=candidates)
        theirs: Mapping[str, Any] = self._loaded.diversity.compute(data=references)
        return {
            name: np.array(mine[key], dtype=np.float64) - np.array(theirs[key], dtype=np.float64)
            for name, key in names.items()
        }

    def _set_diversity(self, candidates: Captions, part: slice) -> dict[str, np.ndarray]:
        """The same by kernels of a set; self-CIDEr counts its documents in the references of all rows."""
        names = {"self_cider": "self_cider_difference_per_row", "vendi_score": "vendi_embedding_1_difference_per_row"}
        result: Mapping[str, Any] = self._loaded.set_diversity.compute(
            predictions=candidates, references=self._references
        )
        return {name: np.array(result[key])[part] for name, key in names.items()}


class SpokenWorld:
    """One world, and how far the values of captions lie from those of people."""

    def __init__(self, world: World, n_splits: int, captions: Iterable[str]):
        self.world = world
        of_people = [world.references, said(world, Speaker(), world.draws)]
        of_people.append(said(world, Speaker(), world.other_draws)[:N_OTHER])
        loaded_modules().know(itertools.chain(captions, *(row for rows in of_people for row in rows)))
        self._measures = SpeakerMeasures(world.clips, world.references, n_splits)
        # Values of people and of other people, by the number of candidates.
        self._people: dict[int, list[dict[str, np.ndarray]]] = {}

    def values(self, candidates: Captions) -> dict[str, np.ndarray]:
        """Return the rows' values of some captions."""
        return self._measures.values(candidates)

    def values_of(self, speaker: Speaker, n: int) -> dict[str, np.ndarray]:
        """Return the rows' values of n captions of a speaker."""
        return self.values(said(self.world, speaker, self.world.draws[:, :n]))

    def people(self, n: int) -> list[dict[str, np.ndarray]]:
        """Return the values of n human captions, and of other people for the first `N_OTHER` scenes."""
        if n not in self._people:
            draws = self.world.draws[:, :n]
            others = np.concatenate((self.world.other_draws[:N_OTHER, :n], draws[N_OTHER:]))
            self._people[n] = [
                self._measures.values(said(self.world, Speaker(), draws)),
                self._measures.values(said(self.world, Speaker(), others), N_OTHER),
            ]
        return self._people[n]

    def lines(self, values: Mapping[str, np.ndarray], n: int) -> list[list[Any]]:
        """Return what `LINE_COLUMNS` names of every measure.

        `null_deviation` is the standard deviation of the mean over rows when the candidates are other people's, `z` the
        distance from people in these, `difference_deviation` the rows' standard deviation of the difference from other
        people.
        """
        people, others = self.people(n)
        found: list[list[Any]] = []
        for measure, rows in values.items():
            # The candidates of a row's people and of other people have the same distribution.
            null = float(np.std(people[measure][:N_OTHER] - others[measure]) / np.sqrt(2 * len(rows)))
            z = float((rows - people[measure]).mean()) / null if null > 0 else np.nan
            apart = float(np.std(rows[:N_OTHER] - others[measure]))
            n_references = len(self.world.references[0])
            found.append([measure, n_references, len(rows), rows.mean(), people[measure].mean(), null, z, apart])
        return found
