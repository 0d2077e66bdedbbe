"""What every metric of the collection, and the plain metrics beside them, say of speakers of the made world."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

import manycaps
from manycaps import functional
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import Scene, draw_scene
from manycaps.made_world.speakers import N_SPEAKER_DRAWS, Speaker, draw_captions, speak
from manycaps.made_world.toy_scores import CHECKPOINT
from manycaps.shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.shared_splits import random_splits
from scripts.studies.design import MODULES
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY

Captions = Sequence[Sequence[str]]

# Rows compared at once: 500 null values each of 20 captions take 40 MB.
BATCH = 50

# Scenes for which other people are asked: enough for a standard deviation.
N_OTHER = 100

LINE_COLUMNS = ("measure", "n_references", "n_rows", "value", "people", "null_deviation", "z", "difference_deviation")

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
    "bleu_4": Measure("BLEU-4", "highest", PLAIN_SCORES, BLACK, "--"),
    "pac_score": Measure("PAC-S", "highest", PLAIN_SCORES, PURPLE, "--"),
    "ref_pac_score": Measure("RefPAC-S", "highest", PLAIN_SCORES, PURPLE, ":"),
    "emscore_pac": Measure("EMScore", "highest", PLAIN_SCORES, SKY, "--"),
    "distinct_captions": Measure("distinct captions", "zero", DIVERSITY, BLUE),
    "distinct_tokens": Measure("words used once", "zero", DIVERSITY, ORANGE),
}


class World(NamedTuple):
    """Scenes, and what people say of them."""

    scenes: list[Scene]
    # The picture that is described, and further ones of the scene: a clip.
    clips: list[list[PIL.Image.Image]]
    references: list[list[str]]
    # Draws behind the candidates, and behind those of other people: shape (n_scenes, n_candidates, N_SPEAKER_DRAWS).
    draws: np.ndarray
    other_draws: np.ndarray


def draw_world(seed: int, n_scenes: int, n_candidates: int, n_references: int) -> World:
    """Draw scenes, pictures and captions of people; scene i depends on the seed and i alone."""
    scenes, clips, references, draws = [], [], [], []
    for i in range(n_scenes):
        rng = np.random.default_rng([seed, i])
        scenes.append(draw_scene(rng))
        references.append(draw_captions(Speaker(), scenes[-1], n_references, rng))
        draws.append(rng.random((2, n_candidates, N_SPEAKER_DRAWS)))
        clips.append([draw_picture(rng, scenes[-1]) for _ in range(N_FRAMES)])
    both = np.stack(draws, axis=1)
    return World(scenes, clips, references, both[0], both[1])


def said(world: World, speaker: Speaker, draws: np.ndarray) -> list[list[str]]:
    """Return what a speaker says of every scene, with these draws."""
    return [[speak(speaker, scene, row) for row in of] for scene, of in zip(world.scenes, draws, strict=True)]


class LoadedModules:
    """The modules of the collection; each caption is embedded once."""

    def __init__(self) -> None:
        self._vectors: dict[str, np.ndarray] = {}
        self._encoder = SentenceEncoder()
        toy = {"checkpoint": str(CHECKPOINT), "device": "cpu", "details": True}
        self.pac, self.emscore = manycaps.load("ref_pac_score", **toy), manycaps.load("emscore_pac", **toy)
        self.diversity = manycaps.load("vdtk_diversity", details=True)
        with_encoder = {"trm_bert", "mmd_bert", "fid_bert"}
        self.of_sets = {
            name: manycaps.load(name, **({"encoder": self._embed} if name in with_encoder else {})) for name in MODULES
        }

    def _embed(self, texts: list[str]) -> np.ndarray:
        new = [text for text in texts if text not in self._vectors]
        if new:
            vectors = self._encoder.embed(new, ENCODER_DEFAULTS, lambda steps, **_: steps)
            self._vectors |= dict(zip(new, vectors, strict=True))
        return np.stack([self._vectors[text] for text in texts])


@functools.cache
def loaded_modules() -> LoadedModules:
    """Load the modules once for all worlds."""
    return LoadedModules()


class SpeakerMeasures:
    """Values of rows of candidates.

    Args:
        clips: pictures of every scene; the first is the one that is described.
        references: n_references captions of every scene.
        n_splits: random splits of a row behind its excess.
    """

    def __init__(self, clips: Sequence[Sequence[PIL.Image.Image]], references: Captions, n_splits: int):
        self._clips, self._references, self._n_splits = clips, references, n_splits
        self._loaded = loaded_modules()

    def values(self, candidates: Captions) -> dict[str, np.ndarray]:
        """Return values of the rows by measure, shape (n_rows,); those of the diversity are differences from people's.

        Args:
            candidates: as many captions of every scene.
        """
        found: dict[str, np.ndarray] = {}
        for name in MODULES:
            found |= self._set_values(name, candidates)
        tokens = [[functional.ptb_tokenize(list(row)) for row in column] for column in (candidates, self._references)]
        found["bleu_4"] = functional.bleu(*tokens)[:, 3]
        pictures = [clip[0] for clip in self._clips]
        pac = self._loaded.pac.compute(images=pictures, predictions=candidates, references=self._references)
        found |= {name: np.array(pac[f"{name}_per_row"]) for name in ("pac_score", "ref_pac_score")}
        clips = self._loaded.emscore.compute(videos=list(map(list, self._clips)), predictions=candidates)
        found["emscore_pac"] = np.array(clips["emscore_pac_per_row"])
        of_people = self._diversity_of(self._references)
        return found | {name: rows - of_people[name] for name, rows in self._diversity_of(candidates).items()}

    def _set_values(self, name: str, candidates: Captions) -> dict[str, np.ndarray]:
        """Statistic, excess and plain score of a distribution module."""
        module = self._loaded.of_sets[name]
        rows = module.rows_of(candidates, self._references, module.load_options)
        splits = random_splits(*rows.sizes[0], self._n_splits, 0)
        parts: dict[str, list[np.ndarray]] = {}
        for start in range(0, len(rows.sizes), BATCH):
            compared = rows.compare(range(len(rows.sizes))[start : start + BATCH])
            nulls = np.concatenate(list(compared.null_values(slice(None), splits)), axis=1).mean(axis=1)
            units = 1.0 if compared.units is None else compared.units
            values = {name: compared.statistic, f"{name}_excess": compared.statistic - nulls * units}
            if compared.plain is not None:
                values[PLAIN[name]] = compared.plain
            for key, column in values.items():
                parts.setdefault(key, []).append(column)
        return {key: np.concatenate(columns) for key, columns in parts.items()}

    def _diversity_of(self, captions: Captions) -> dict[str, np.ndarray]:
        result: Mapping[str, Any] = self._loaded.diversity.compute(data=captions)
        return {
            "distinct_captions": np.array(result["distinct_within_row_per_row"]),
            "distinct_tokens": np.array(result["within_row_uniqueness_of_tokens_per_row"]),
        }


class SpokenWorld:
    """One world, and how far the values of captions lie from those of people.

    Args:
        world: scenes and captions of people.
        n_splits: random splits of a row behind its excess.
    """

    def __init__(self, world: World, n_splits: int):
        self.world = world
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
        """Return the values of n captions of people, and of other people for the first `N_OTHER` scenes."""
        if n not in self._people:
            draws = self.world.draws[:, :n]
            others = np.concatenate((self.world.other_draws[:N_OTHER, :n], draws[N_OTHER:]))
            self._people[n] = [self.values(said(self.world, Speaker(), drawn)) for drawn in (draws, others)]
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
            null = float(np.std((people[measure] - others[measure])[:N_OTHER]) / np.sqrt(2 * len(rows)))
            z = float((rows - people[measure]).mean()) / null if null > 0 else np.nan
            apart = float(np.std((rows - others[measure])[:N_OTHER]))
            n_references = len(self.world.references[0])
            found.append([measure, n_references, len(rows), rows.mean(), people[measure].mean(), null, z, apart])
        return found
