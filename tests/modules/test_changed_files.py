"""A file that has changed on the disk is read again: a loaded module has the values of a fresh one."""

import json
import os

import pytest
from safetensors.torch import save_file
from tqdm import tqdm

import manycaps
from manycaps.integrations import coco
from manycaps.kit.clip_checkpoints import WEIGHTS_NAME
from manycaps.kit.meteor15_data import load_lexicon
from tests.clip_checkpoints import save_checkpoint, small_weights
from tests.meteor15_data import write_data
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, VIDEOS

TABLES = [{"n_documents": n, "document_frequency": {"a": n, "dog": 2}} for n in (9, 7)]


def write_table(path, number):
    """The same size and time for every table: the content alone distinguishes them."""
    path.write_text(json.dumps(TABLES[number]))
    os.utime(path, (1e9, 1e9))


@pytest.mark.parametrize(
    ("name", "key"), [("trm_cider", "cider_d"), ("coco_caption", "CIDEr"), ("set_diversity", "self_cider")]
)
def test_document_frequencies(name, key, tmp_path, monkeypatch):
    options = {"meteor15_data": str(write_data(tmp_path / "meteor"))} if name == "coco_caption" else {}
    options |= {"kernels": ("ngram",)} if name == "set_diversity" else {}
    expected = [manycaps.load(name, **options).compute(**CAPTION_ROWS, document_frequency=t)[key] for t in TABLES]
    assert expected[0] != expected[1]
    for i in (0, 1):
        (tmp_path / str(i)).mkdir()
        write_table(tmp_path / str(i) / "table.json", i)
    monkeypatch.chdir(tmp_path / "0")
    module = manycaps.load(name, document_frequency="table.json", **options)
    for i in (0, 1, 0):  # a relative path from another folder
        monkeypatch.chdir(tmp_path / str(i))
        assert module.compute(**CAPTION_ROWS)[key] == expected[i]
    write_table(tmp_path / "0" / "table.json", 1)
    assert module.compute(**CAPTION_ROWS)[key] == expected[1]
    changing = dict(TABLES[0])
    assert module.compute(**CAPTION_ROWS, document_frequency=changing)[key] == expected[0]
    changing.update(TABLES[1])
    assert module.compute(**CAPTION_ROWS, document_frequency=changing)[key] == expected[1]


def test_frequencies_of_rewards(tmp_path, monkeypatch):
    gts, res = {0: ["a red dog"]}, [{"image_id": 0, "caption": ["a dog"]}]
    expected = [coco.CiderD(df=table).compute_score(gts, res)[0] for table in TABLES]
    assert expected[0] != expected[1]
    for i in (0, 1):
        (tmp_path / str(i) / "data").mkdir(parents=True)
        write_table(tmp_path / str(i) / "data" / "words.json", i)
    reward = coco.CiderD(df="words.json")
    for i in (0, 1):
        monkeypatch.chdir(tmp_path / str(i))
        assert reward.compute_score(gts, res)[0] == expected[i]
        assert coco.CiderD(df="words.json").compute_score(gts, res)[0] == expected[i]
    write_table(tmp_path / "1" / "data" / "words.json", 0)
    assert reward.compute_score(gts, res)[0] == expected[0]


CLIP_COLUMNS = {
    "pac_score": {"predictions": CAPTION_ROWS["predictions"], "images": IMAGES},
    "emscore_pac": {"predictions": CAPTION_ROWS["predictions"], "videos": VIDEOS},
}


@pytest.mark.parametrize(("name", "given"), [("pac_score", "small.pth"), ("emscore_pac", "folder")])
def test_a_checkpoint(name, given, tmp_path):
    columns, path = CLIP_COLUMNS[name], tmp_path / given
    expected = []
    for seed in (0, 1):
        write_weights(tmp_path / f"{seed}.pth", seed)
        expected.append(manycaps.load(name, checkpoint=str(tmp_path / f"{seed}.pth"), device="cpu").compute(**columns))
    assert expected[0] != expected[1]
    write_weights(path, 0)
    module = manycaps.load(name, checkpoint=str(path), device="cpu")
    assert module.compute(**columns) == expected[0]
    write_weights(path, 1)
    assert module.compute(**columns) == expected[1]


def write_weights(path, seed):
    """Write a checkpoint as a file, or as a folder of open_clip's form."""
    if path.suffix:
        save_checkpoint(path, seed=seed)
    else:
        path.mkdir(exist_ok=True)
        save_file(small_weights(seed), path / WEIGHTS_NAME)


def test_rows_that_were_added_keep_the_weights_with_which_they_were_encoded(tmp_path):
    columns, path = CLIP_COLUMNS["pac_score"], save_checkpoint(tmp_path / "small.pth")
    module = manycaps.load("pac_score", checkpoint=str(path), device="cpu", details=True)
    before = module.compute(**columns)
    first, rest = ({name: rows[part] for name, rows in columns.items()} for part in (slice(1), slice(1, None)))
    module.add_batch(**first)
    save_checkpoint(path, seed=1)
    assert module.compute(**rest) == before
    after = module.compute(**columns)
    assert after["pac_score"] != before["pac_score"]
    assert after["signature"] != before["signature"]


def test_the_data_of_meteor(tmp_path):
    folder = write_data(tmp_path / "meteor")
    first = load_lexicon(folder, tqdm)
    assert load_lexicon(folder, tqdm) is first
    words = folder / "function" / "english.words"
    words.write_text(words.read_text() + "dog 1\n")
    assert "dog" in load_lexicon(folder, tqdm).data.function_words - first.data.function_words
