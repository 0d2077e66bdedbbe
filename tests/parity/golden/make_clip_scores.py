"""Write tiny_clip/ and pictures/: PAC-S, RefPAC-S, PAC-S++ and EMScore of a small CLIP with seeded weights.

The networks and their preprocessing are open_clip's, in float64, one text and one picture at a time; the scores on top
are plain loops. Pictures: the made world's, which are as large as the network's input, in several modes and cut-outs.
Needs tests/requirements.txt.
"""

import itertools
from typing import Any

import numpy as np
import PIL.Image
import torch

from scripts.toy.captions import draw_caption
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene
from tests.clip_checkpoints import SMALL, seeded_weights, weights_sha256
from tests.oracles import emscore_loop
from tests.oracles.open_clip_encoders import FACTOR, PROMPT, Encoders, pac_scores
from tests.parity.golden.golden_file import GOLDEN, caption_rows, meta, run, write_json

PICTURES = GOLDEN / "pictures"

# Seeds of the pictures and of the weights.
SCENE_SEED = 17
WEIGHTS_SEED = 19

N_SCENES = 6

# Rank of a LoRA update, whose factor is 1 / rank.
RANK = 4

# Rows of nasty captions that stand beside the pictures, from captions.json.
NASTY = ("numbers", "quotes", "accents_and_scripts", "emoji", "spaces", "very_short", "long_words", "long_captions")

SIDES = ("EMScore(X,V)", "EMScore(X,X*)", "EMScore(X,V,X*)")


def with_lora_added(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Add the updates of the convolution and of the attention, not of the layers `mlp`, as the authors do."""
    merged = {name: tensor.double() for name, tensor in weights.items() if "lora_" not in name}
    for name, a in weights.items():
        if name.endswith("lora_A") and ".mlp." not in name:
            b = weights[name.removesuffix("A") + "B"]
            stem = name.removesuffix("lora_A")
            target = stem.removesuffix("_") if stem.endswith("_") else stem + "weight"
            update = torch.from_numpy(b.double().numpy() @ a.double().numpy())
            merged[target] = merged[target] + update.reshape(merged[target].shape) / RANK
    return merged


def draw_pictures() -> dict[str, tuple[PIL.Image.Image, list[str]]]:
    """Return pictures by file name, each with captions of a person."""
    drawn = {}
    for i in range(N_SCENES):
        rng = np.random.default_rng([SCENE_SEED, i])
        scene = draw_scene(rng)
        drawn[f"scene_{i}"] = (draw_picture(rng, scene), [draw_caption(rng, scene) for _ in range(5)])
    (first, first_captions), (second, second_captions), (third, third_captions), *_ = drawn.values()
    joined = PIL.Image.fromarray(np.concatenate([np.asarray(first), np.asarray(second)], axis=1))
    drawn["wide"] = (joined, first_captions[:2] + second_captions[:2])  # its middle is kept: 32 columns of either
    drawn["tall"] = (joined.crop((0, 0, 64, 64)).crop((0, -20, 64, 77)), first_captions)  # 97 rows: an odd margin
    drawn["grey"] = (third.convert("L"), third_captions)
    drawn["palette"] = (third.quantize(32), third_captions)
    transparent = third.copy()
    transparent.putalpha(first.convert("L"))
    drawn["transparent"] = (transparent, third_captions)
    return {f"{name}.png": found for name, found in drawn.items()}


def caption_table(pictures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows of an image, a caption and references: right captions, captions of others, and nasty ones."""
    nasty = {row["_id"].removeprefix("nasty/"): row for row in caption_rows() if row["_id"].startswith("nasty/")}
    captions = list(pictures.values())
    rows = []
    for i, (name, (_, own)) in enumerate(pictures.items()):
        others = captions[(i + 3) % len(captions)][1]
        rows.append({"image": name, "caption": own[0], "references": own[1:]})
        rows.append({"image": name, "caption": others[0], "references": own[1:3]})
    for name, kind in zip(itertools.cycle(pictures), NASTY):
        row = nasty[kind]
        rows.append({"image": name, "caption": row["candidates"][0], "references": row["references"]})
        rows.append({"image": name, "caption": row["references"][-1], "references": row["candidates"][:1]})
    return rows


def pac_values(encoders: Encoders, row: dict[str, Any]) -> dict[str, float]:
    with PIL.Image.open(PICTURES / row["image"]) as picture:
        pac_s, ref_pac_s = pac_scores(encoders, picture, row["caption"], row["references"])
    return {"pac_s": pac_s, "ref_pac_s": ref_pac_s}


def video_table(pictures: dict[str, Any]) -> tuple[dict[str, list[str]], list[dict[str, Any]]]:
    """Return videos, each a list of pictures, and rows of a video, a caption and references."""
    names = list(pictures)
    videos = {"A": names[:6], "B": [names[2], names[2], names[8]], "C": [names[1]], "D": names[5:9]}
    nasty = {row["_id"]: row for row in caption_rows()}
    rows = [
        {"video": video, "caption": pictures[videos[video][0]][1][0], "references": pictures[videos[video][-1]][1][1:n]}
        for video, n in (("A", 4), ("B", 2), ("C", 3), ("D", 4))
    ]
    for video, kind in (("A", "long_captions"), ("D", "emoji"), ("C", "numbers"), ("B", "stems_and_synonyms")):
        row = nasty[f"nasty/{kind}"]
        rows.append({"video": video, "caption": row["references"][0], "references": row["candidates"][:3]})
    return videos, rows


def emscore_values(encoders: Encoders, frames: list[Any], row: dict[str, Any], weights: Any) -> dict[str, Any]:
    """Return the three sides of EMScore; of several references the largest of each value counts."""

    def prepare(text: str) -> tuple[Any, list[float]]:
        return encoders.tokens(text), [weights[i] for i in encoders.ids(text)]

    caption = prepare(row["caption"])
    video = emscore_loop.video_values(*caption, frames)
    reference_weights = [emscore_loop.reference_values(*caption, *prepare(text)) for text in row["references"]]
    reference = [max(values) for values in zip(*reference_weights, strict=True)]
    both = [(a + b) / 2 for a, b in zip(video, reference, strict=True)]
    return {side: fields(*values) for side, values in zip(SIDES, (video, reference, both), strict=True)}


def fields(coarse: float, precision: float, recall: float, f: float) -> dict[str, float]:
    """Return the values of one side under the names of the authors' program."""
    parts = {"P": precision, "R": recall, "F": f}
    named = {f"figr_{name}": part for name, part in parts.items()} | {"cogr": coarse}
    return named | {f"full_{name}": (coarse + part) / 2 for name, part in parts.items()}


def emscore_cases(encoders: Encoders, videos: dict[str, list[str]], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values of all rows, without weights of tokens and with the references' weights."""
    features = {
        name: encoders.image(PIL.Image.open(PICTURES / name)) for name in {n for v in videos.values() for n in v}
    }
    frames = {video: [features[name] for name in names] for video, names in videos.items()}
    equal = dict.fromkeys(range(SMALL["text_cfg"]["vocab_size"]), 1.0)
    documents = [encoders.ids(text) for row in rows for text in row["references"]]
    counted = emscore_loop.weights_by_document_frequency(documents)
    alone = [emscore_values(encoders, frames[row["video"]], row, equal) for row in rows]
    weighed = [emscore_values(encoders, frames[row["video"]], row, counted) for row in rows]
    as_lists = [{side: {name: [x] for name, x in values.items()} for side, values in row.items()} for row in alone]
    return {
        "references_no_idf_one_row_at_a_time": as_lists,
        "video_only_no_idf_one_row_at_a_time": [{SIDES[0]: row[SIDES[0]]} for row in as_lists],
        "references_no_idf_batched": columns(alone),
        "references_idf_of_references_batched": columns(weighed),
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Turn rows of values into lists of values."""
    return {side: {name: [row[side][name] for row in rows] for name in rows[0][side]} for side in SIDES}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    pictures = draw_pictures()
    for name, (picture, _) in pictures.items():
        picture.save(PICTURES / name, optimize=True)
    rows = caption_table(pictures)
    packages = ("open_clip_torch", "torch", "torchvision", "pillow", "numpy")
    for name, lora in (("pac", False), ("pac_lora", True)):
        weights = seeded_weights(WEIGHTS_SEED, lora)
        encoders = Encoders(with_lora_added(weights) if lora else weights)
        about = meta(
            packages,
            program="open_clip.CLIP, its tokenizer and image_transform, in float64; sums by math.fsum",
            pac_s=f"{FACTOR} max(cosine, 0), texts after {PROMPT!r}",
            ref_pac_s="harmonic mean of PAC-S and the largest cosine of a reference, 0 where one of them is 0",
            weights={"seed": WEIGHTS_SEED, "lora": lora, "sha256": weights_sha256(weights)},
            pictures="none needs scaling, so the version of Pillow does not matter",
        )
        write_json(f"tiny_clip/{name}.json", {"meta": about, "rows": [row | pac_values(encoders, row) for row in rows]})
    videos, video_rows = video_table(pictures)
    weights = seeded_weights(WEIGHTS_SEED)
    about = meta(
        packages,
        program="open_clip.CLIP and its tokenizer in float64, tests/oracles/emscore_loop.py",
        weights={"seed": WEIGHTS_SEED, "lora": False, "sha256": weights_sha256(weights)},
        padding="none",
        several_references="the largest of each value, as in the authors' program",
    )
    cases = emscore_cases(Encoders(weights), videos, video_rows)
    write_json("tiny_clip/emscore.json", {"meta": about, "frames": videos, "rows": video_rows, "cases": cases})


if __name__ == "__main__":
    run(main)
