"""Lists of captions that became text: how they are found, and the way back."""

import ast
import json
import random
import timeit
from contextlib import nullcontext

import numpy as np
import pandas
import pytest

from manycaps.files.caption_tables import cells
from manycaps.integrations import coco
from manycaps.kit.rows import as_caption_rows, looks_like_list
from manycaps.rewards import BleuReward, CiderReward
from tests.refusals import assert_refused

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
