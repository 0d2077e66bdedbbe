"""METEOR 1.5 in other languages than English, against the Java program: golden values, and the program itself.

Statistics are whole numbers and equal. Scores: 4e-16, as in test_meteor15.py.
"""

import gzip
import importlib.util
import json
import shutil

import numpy as np
import pytest
from tqdm import tqdm

from manycaps.functional import _without_progress
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.meteor15_references import best_statistics
from manycaps.kit.meteor15_scores import corpus_score, scores
from manycaps.kit.meteor15_tokens import LANGUAGES
from tests.golden_folders import OWN_GOLDEN
from tests.language_captions import PARTS, paraphrases, segments

SCORE_TOLERANCE = 4e-16
OTHERS = sorted(PARTS)
pytestmark = pytest.mark.skipif(importlib.util.find_spec("pycocoevalcap") is None, reason="needs pycocoevalcap's data")


def lexicon(language, **options):
    return load_lexicon(None, tqdm, language, **options)


def found_statistics(language, n_segments, words):
    pairs = segments(language, n_segments)
    return best_statistics([[text] for text, _ in pairs], [others for _, others in pairs], words, _without_progress)


def as_printed(statistics, language):
    """The columns as the program prints them: one kind after the other of those that the language has."""
    printed = np.array(statistics)
    printed[:, 4:20] = 0
    kinds = [kind for kind, weight in enumerate(LANGUAGES[language].weights) if weight]
    for place, kind in enumerate(kinds):
        printed[:, 4 + 4 * place : 8 + 4 * place] = statistics[:, 4 + 4 * kind : 8 + 4 * kind]
    return printed


def check_scores(found, expected, settings):
    *of_segments, of_corpus = map(float, expected)
    assert scores(found, settings) == pytest.approx(of_segments, abs=SCORE_TOLERANCE, rel=0)
    assert corpus_score(found, settings) == pytest.approx(of_corpus, abs=SCORE_TOLERANCE, rel=0)


@pytest.mark.parametrize("language", OTHERS)
def test_golden_segments(language):
    golden = json.loads((OWN_GOLDEN / "meteor15_languages.json").read_text(encoding="utf-8"))[language]
    rows = [line.split() for line in golden[:-1]]
    found = found_statistics(language, len(rows), lexicon(language))
    assert len(found) == 120
    expected = [[int(number) for number in row[:-1]] for row in rows]
    assert as_printed(found, language)[:, [*range(12), *range(20, 23)]].tolist() == expected
    check_scores(found, [*(row[-1] for row in rows), golden[-1]], LANGUAGES[language])
    # Stems match in every language that has a stemmer.
    assert (found[:, 8:12].sum() > 5) == (LANGUAGES[language].weights[1] > 0)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.skipif(not shutil.which("java"), reason="needs Java")
@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("data", ["stems", "paraphrases", "own function words"])
def test_the_program_itself(language, data, tmp_path):
    from tests.parity.golden.make_meteor15_languages import FOLDER, answers, modules

    table = tmp_path / "paraphrase.gz"
    with gzip.open(table, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(f"0.1\n{phrase}\n{other}\n" for phrase, other in paraphrases(language))
    given, options = {"paraphrases": table}, ["-a", str(table)]
    if data == "stems":
        given, options = {}, modules(language)
    if data == "own function words":
        given["function_words"] = "language"
        name = f"function/{LANGUAGES[language].name}.words"
        shutil.unpack_archive(FOLDER / "meteor-1.5.jar", tmp_path / "program", "zip")
        options = [*options, "-s", str(tmp_path / "program" / name)]
    statistics, expected = answers(language, options, 1000)
    words = lexicon(language, **given)
    found = found_statistics(language, 1000, words)
    assert as_printed(found, language).tolist() == statistics
    check_scores(found, expected, words.data.language)
    assert (found[:, 16:20].sum() > 100) == (data != "stems")
