"""Draw the scenes that the quickstart bundles: made_scenes.json, with their captions, and made_scenes.jpg.

python -m scripts.toy.toy_scenes

The same scenes each time; the checkpoint tiny-pac has seen none of them.
"""

import functools
import json

import numpy as np
import PIL.Image

from manycaps.comparison.quickstart.image_metrics import CAPTIONS, PICTURES, ToyScene
from manycaps.files.saved_files import write_atomically, write_text_atomically
from scripts.toy.captions import as_caption, draw_claim, draw_foils, draw_wording, other_caption, wrong_claim
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import Scene, draw_scene, n_errors

# Scenes of the quickstart, and their seed, which no training uses.
N_SCENES = 60
SEED = 2_000_000

# Least number of errors of the caption of another scene.
LEAST_ERRORS = 2

N_REFERENCES = 3

# Frames of a clip: the same shapes, which move from place to place.
N_FRAMES = 6


def draw_toy_scene(seed: int, number: int) -> ToyScene:
    """Draw one scene; it depends on the seed and its number alone."""
    rng = np.random.default_rng([seed, number])
    scene, wording = draw_scene(rng), draw_wording(rng)
    claim = draw_claim(rng, scene)
    right = as_caption(claim, wording)
    foil = as_caption(wrong_claim(rng, scene, claim, 1), wording)
    pictures = [draw_picture(rng, scene) for _ in range(1 + N_FRAMES)]
    references = [other_caption(rng, scene, right) for _ in range(N_REFERENCES)]
    captions = [right, foil, foreign_caption(rng, scene)]
    foils = {drawn.kind: drawn.foil for drawn in draw_foils(rng, scene, claim, wording)}
    return ToyScene(pictures[0], pictures[1:], captions, references, foils)


def foreign_caption(rng: np.random.Generator, scene: Scene) -> str:
    """Draw a right caption of another scene that is wrong here."""
    while True:
        claim = draw_claim(rng, draw_scene(rng))
        if n_errors(claim, scene) >= LEAST_ERRORS:
            return as_caption(claim, draw_wording(rng))


def main() -> None:
    """Write both files."""
    scenes = [draw_toy_scene(SEED, i) for i in range(N_SCENES)]
    rows = [{"captions": scene.captions, "references": scene.references, "foils": scene.foils} for scene in scenes]
    write_text_atomically(CAPTIONS, "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    pictures = [np.hstack([np.asarray(picture) for picture in (scene.picture, *scene.frames)]) for scene in scenes]
    sheet = PIL.Image.fromarray(np.vstack(pictures))
    write_atomically(PICTURES, functools.partial(sheet.save, format="JPEG", quality=90, subsampling=0, optimize=True))


if __name__ == "__main__":
    main()
