"""`manycaps compare` with networks: images, videos, sentence embeddings; single precision makes no difference."""

import json

import numpy as np
import pytest

from manycaps.catalog.installed_modules import data_folder
from manycaps.commands import command_line
from scripts.toy.toy_scenes import draw_toy_scene
from tests.comparison_cases import WORDS, caption_rows, write_captions
from tests.oracles.tiny_sentence_model import save_tiny_model
from tests.video_clips import write_clip

pytestmark = pytest.mark.slow

pytest.importorskip("open_clip", reason="open_clip is not installed: pip install 'manycaps[clip]'")

N_SCENES = 8

TINY_PAC = data_folder("checkpoints/tiny-pac")


def numbers_of(folder, *arguments):
    assert command_line.main(["compare", *map(str, arguments), "-o", str(folder), "--n-resamples", "99"]) == 0
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """A folder with pictures and clips of made scenes, and files of captions, right ones and of other scenes."""
    folder = tmp_path_factory.mktemp("scenes")
    drawn = [draw_toy_scene(3_000_000, i) for i in range(N_SCENES)]
    (folder / "photos").mkdir()
    (folder / "clips").mkdir()
    for i, scene in enumerate(drawn):
        scene.picture.save(folder / "photos" / f"{i}.png")
        write_clip(folder / "clips" / f"{i}.mp4", [np.asarray(frame) for frame in scene.frames])
    right, _, other = zip(*(scene.captions for scene in drawn), strict=True)
    rows = {"references": [scene.references for scene in drawn]}
    rows |= {"other": [[caption] for caption in other], "right": [[caption] for caption in right]}
    return folder, write_captions(folder, rows, [str(i) for i in range(N_SCENES)])


def test_images_and_references(scenes, tmp_path):
    folder, files = scenes
    arguments = [files["other"], files["right"], "-r", files["references"], "--checkpoint", TINY_PAC]
    numbers = numbers_of(tmp_path, *arguments, "--images", folder / "photos", "-m", "pac_score,ref_pac_score")
    assert list(numbers["metrics"]) == ["pac_score", "ref_pac_score"]
    for metric in numbers["metrics"].values():
        (pair,) = metric["pairs"]
        assert (pair["better"], pair["test"]["n_larger"]) == ("right", N_SCENES)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    # Of the rows that differ most, and of the captions most unlike people's of both systems.
    assert page.count('<img src="data:image/jpeg;base64,') == 3 * N_SCENES


def test_videos(scenes, tmp_path):
    pytest.importorskip("av", reason="av is not installed: pip install 'manycaps[video]'")
    folder, files = scenes
    arguments = [files["other"], files["right"], "--checkpoint", TINY_PAC, "--videos", folder / "clips"]
    numbers = numbers_of(tmp_path, *arguments)
    assert list(numbers["metrics"]) == ["emscore_pac"]
    # F is a harmonic mean, which leaves its range where precision and recall have opposite signs: rows are counted.
    assert numbers["metrics"]["emscore_pac"]["pairs"][0]["test"]["n_larger"] >= N_SCENES - 1


def test_shuffled_captions_make_no_difference_to_networks(tmp_path):
    """Which captions are encoded together decides the last digits of single precision: no row may count as won."""
    rows, rng = caption_rows(12, 3), np.random.default_rng(0)
    shuffled = {"shuffled": [list(rng.permutation(row)) for row in rows["base"]]}
    files = write_captions(tmp_path, {"references": rows["references"], "mine": rows["base"], **shuffled})
    encoder = save_tiny_model(tmp_path / "encoder", words=WORDS)
    arguments = [files["mine"], files["shuffled"], "-r", files["references"], "--encoder", encoder]
    numbers = numbers_of(tmp_path, *arguments, "-m", "trm_bert,mmd_bert,fid_bert")
    assert list(numbers["metrics"]) == ["trm_bert_excess", "cosine", "mmd_bert_excess", "fid_bert_excess"]
    for metric in numbers["metrics"].values():
        test = metric["pairs"][0]["test"]
        assert (test["difference"], test["p_value"], test["n_equal"]) == (0.0, 1.0, 12)
