"""What all modules share: files that a caller names, options, and lists of captions that became text."""

import ast
import json
import os
import random
import re
import timeit
from contextlib import nullcontext

import numpy as np
import pandas
import pytest

import manycaps
from manycaps.files.caption_tables import cells
from manycaps.integrations import coco
from manycaps.kit.files import is_folder, is_path, is_regular_file, no_such_path, open_regular_file, path_state
from manycaps.kit.module import VERSION, take_compute_options, take_load_options
from manycaps.kit.rows import as_caption_rows, looks_like_list
from manycaps.rewards import BleuReward, CiderReward
from tests.refusals import assert_refused
from tests.tools import ROOT


def test_options_of_a_load_and_of_a_call():
    """Keywords of evaluate pass through; None means as at load time, and 0 does not."""
    keywords = {"seed": 3, "cache_dir": "x", "num_process": 1}
    assert take_load_options(keywords, {"seed": 0, "details": False}) == {"seed": 3, "details": False}
    assert keywords == {"cache_dir": "x", "num_process": 1}
    loaded = {"seed": 3, "details": True}
    assert take_compute_options({"seed": None, "details": False}, loaded) == {"seed": 3, "details": False}
    assert take_compute_options({"seed": 0}, loaded) == {"seed": 0, "details": True}


def test_one_version_everywhere():
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
    ):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE).group(1) == VERSION, name


@pytest.mark.parametrize("name", ["trm_meteor", "pac_score", "vdtk_leave_one_out"])
def test_an_option_called_self_is_one_that_nobody_knows(name):
    unknown = "expected options among [.*], got ['self']. Check the spelling"
    assert_refused(TypeError, f"load: {unknown}", manycaps.load, name, self=1)
    module = manycaps.load(name)
    assert_refused(TypeError, f"compute: {unknown}. With evaluate.combine, give", module.compute, self=1)
    for add in (module.add, module.add_batch):
        assert_refused(TypeError, "add_batch: expected columns among [.*], got ['self']. Check the sp", add, self=1)


# Lists of captions that became text are refused wherever captions come in, and captions with brackets are not.

LIST = ["a dog", "a cat's tail, wet"]

# A list as programs write it, and how its text becomes a list again.
WRITTEN = {
    "python": (str(["a dog", "a cat"]), "ast.literal_eval(text)"),
    "python, both quotes": (str(LIST), "ast.literal_eval(text)"),
    "one caption": (str(["a dog"]), "ast.literal_eval(text)"),
    "json": (json.dumps(LIST), "json.loads(text)"),
    "json in lines": (json.dumps(LIST, indent=1), "json.loads(text)"),
    "tuple": (str(tuple(LIST)), "ast.literal_eval(text)"),
    "tuple of one": (str(("a dog",)), "ast.literal_eval(text)"),
    "set": (str(set(LIST)), "ast.literal_eval(text)"),
    "nested": (str([LIST, LIST]), "ast.literal_eval(text)"),
    "dicts": (str([{"caption": text} for text in LIST]), "ast.literal_eval(text)"),
    "bytes": (str([text.encode() for text in LIST]), "ast.literal_eval(text)"),
    "missing": ("['a dog', None]", "ast.literal_eval(text)"),
    "numpy": (str(np.array(LIST)), "array.tolist()"),
    "numpy in lines": (str(np.array(LIST)[:, None]), "array.tolist()"),
    "numpy, shortened": (str(np.array(LIST * 1000)), "array.tolist()"),
    "numpy's repr": (repr(np.array(LIST)), "array.tolist()"),
    "strings of numpy": ("[np.str_('a dog'), np.str_('a cat')]", "array.tolist()"),
    "pandas' series": (str(pandas.Series(LIST, name="captions")), "array.tolist()"),
    "pandas' array": (str(pandas.array(LIST, dtype="string")), "array.tolist()"),
    "nan": ("['a dog', nan]", "array.tolist()"),
    "cut by Excel": ("['a dog', 'a c", "array.tolist()"),
    "quotes by hand": ("['a dog's tail', 'a cat']", "array.tolist()"),
}

CAPTIONS = [
    "[laughs] a man sits down",
    "(a dog) runs",
    "['quoted'] sign",
    "['Stop'] and ['Go'] on signs",
    "['Stop', he says] a man",
    "('Stop')",
    "[inaudible]",
    "[a dog, a cat]",
    "a 'dog' and a [cat]",
    "'a' and 'b'",
    "[0.5, 1]",
    "[']",
    "()",
    "",
]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_list_that_became_text_is_named_with_the_way_back(name):
    text, way = WRITTEN[name]
    for rows, where in ((["a dog", text], "[1]"), ([["a dog"], ["a cat", f" {text}\n"]], "[1][1]")):
        with pytest.raises(ValueError, match="became text") as raised:
            as_caption_rows(rows, "references")
        assert str(raised.value).startswith(f"references{where}: expected a caption, got a list that became text, ")
        assert way in str(raised.value)


@pytest.mark.parametrize("name", [name for name, (_, way) in WRITTEN.items() if way.endswith("(text)")])
def test_the_way_back_gives_the_list(name):
    text, way = WRITTEN[name]
    back = {"json.loads(text)": json.loads, "ast.literal_eval(text)": ast.literal_eval}[way](text)
    if isinstance(back, set):  # in the order of this process's hashes
        back, text = sorted(back), str(sorted(ast.literal_eval(text)))
    assert str(back) == text or json.dumps(back) == text or json.dumps(back, indent=1) == text


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_caption_with_brackets_or_quotes_is_a_caption(caption):
    assert as_caption_rows([caption, caption], "predictions") == [[caption], [caption]]
    assert not looks_like_list(caption)


def test_a_row_is_refused_as_its_captions_are():
    rng = random.Random(0)
    parts = ["a dog", "[", "]", "(", ")", "{", "}", "'", '"', ",", ":", "\n", "dtype: str", " ", "é", "\ud83d"]
    n_refused = 0
    for _ in range(3000):
        captions = ["".join(rng.choices(parts, k=rng.randint(1, 6))) for _ in range(3)]
        are_bad = [looks_like_list(caption) or "\ud83d" in caption for caption in captions]
        n_refused += any(are_bad)
        with pytest.raises(ValueError, match=rf"\[0\]\[{are_bad.index(True)}\]") if any(are_bad) else nullcontext():
            assert as_caption_rows([captions], "predictions") == [captions]
    assert 300 < n_refused < 2700


def test_files_read_what_the_modules_refuse():
    for name in ("python", "python, both quotes", "json", "tuple", "numpy", "strings of numpy"):
        assert cells.read_list(WRITTEN[name][0], "captions[0]") in (LIST, ["a dog", "a cat"])


@pytest.mark.parametrize("text", ["[" * 20_000, "['" * 10_000, "['a'" + " " * 19_990 + "x", "[" + "1" * 19_990 + "x"])
def test_no_text_takes_long(text):
    assert timeit.timeit(lambda: looks_like_list(text), number=1) < 0.5


def test_the_coco_scorers_name_image_and_caption():
    text = str(LIST)
    with pytest.raises(ValueError, match=r"^captions_for_image\[7\]\[1\]: expected a caption, got a list that became"):
        coco.PTBTokenizer().tokenize({7: [{"caption": "a dog"}, {"caption": text}]})
    for scorer in (coco.Bleu(), coco.Cider(), coco.Rouge()):
        with pytest.raises(ValueError, match=r"^gts\[2\]: expected a caption, got a list that became text"):
            scorer.compute_score({1: ["a dog"], 2: ["a cat", text]}, {1: ["a dog"], 2: ["a cat"]})
        with pytest.raises(ValueError, match=r"^res\[1\]: expected a caption, got a list that became text"):
            scorer.compute_score({1: ["a dog"], 2: ["a cat"]}, {1: [text], 2: [text]})


def test_rewards_refuse_a_column_of_lists_as_text_but_not_an_odd_sample():
    text, corpus = str(LIST), [["a dog"], ["a cat"]]
    reward = BleuReward()
    assert_refused(ValueError, "references[0]: expected a caption, got a list that becam", reward, corpus, [text, text])
    with pytest.raises(ValueError, match=r"^references\[1\]: expected a caption"):
        reward(completions=["a dog", "a cat"], prompts=["p", "q"], references=["a dog", text])
    assert_refused(ValueError, "candidates[0]: expected a caption", reward, [text, text], corpus)
    assert_refused(ValueError, "document_frequency[1]: expected a caption", CiderReward, [["a dog"], text])
    assert reward([["a dog", text]], corpus[:1]).shape == (1, 2)
    assert len(reward(completions=[text, text], prompts=["p", "q"], references=corpus)) == 2


# Files that a caller names: regular ones alone, within a limit.


def test_a_regular_file_is_opened_within_the_limit(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    with open_regular_file(tmp_path / "file", 7) as file:
        assert file.read() == b"content"
    assert_refused(OSError, ".*7 bytes, more than 6", open_regular_file, tmp_path / "file", 6)


def test_what_is_no_file_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        assert not is_regular_file(path)
        assert_refused(OSError, ".*not a regular file", open_regular_file, path, 1)
    assert is_folder(tmp_path)
    assert not is_folder(tmp_path / "pipe")
    for name in ("a\0b", "\ud800", "a" * 5000, "nowhere"):
        assert not is_regular_file(name)
        assert not is_folder(name)
        assert_refused(OSError, "", open_regular_file, name, 1)


PATHS = "/a ./a ../a/b ~/a a/b/c a/ a\\b a.pth someone/a.safetensors checkpoints/a runs/a".split()


@pytest.mark.parametrize(
    "name", [*PATHS, *"minilm someone/minilm someone/checkpoints some.one/mini-lm_v2.1 models".split()]
)
def test_a_path_and_what_the_hub_may_know(name):
    assert is_path(name) == (name in PATHS)
    assert not is_path(f"hub:{name}")


def test_what_a_path_is_and_where_a_missing_one_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = f"no such folder or file, relative paths start at {tmp_path}"
    assert no_such_path("a/b/c") == (f"'a/b/c': {start}", "Check the path.")
    hub = "Check the path; for a repository on the Hub write 'hub:runs/a'."
    assert no_such_path("runs/a") == (f"'runs/a': {start}", hub)
    file = tmp_path / "model.bin"
    file.touch()
    assert no_such_path(str(tmp_path))[1] == "Name a file in it."
    got, fix = no_such_path(str(file))
    assert got.endswith("model.bin', which is a file")
    assert fix == "Name a folder."
    assert no_such_path("/dev/null") == ("'/dev/null', which is neither a file nor a folder", "Name another.")


def test_the_state_of_a_folder_looks_at_a_models_files_and_no_deeper(tmp_path):
    (tmp_path / "1_Pooling" / "deeper").mkdir(parents=True)
    (tmp_path / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    before = path_state(tmp_path)
    (tmp_path / "1_Pooling" / "deeper" / "file").write_text("x", encoding="utf-8")
    assert path_state(tmp_path) == before
    (tmp_path / "1_Pooling" / "config.json").write_text("[]", encoding="utf-8")
    assert path_state(tmp_path) != before
