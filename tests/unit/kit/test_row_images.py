"""Rows of one image, and references that repeat within a row."""

import collections
import itertools
import random
import warnings

import numpy as np
import pytest

import manycaps
from manycaps.functional import human_wording
from manycaps.kit import row_images
from manycaps.kit.errors import InputError
from manycaps.kit.row_images import clusters_of_images, image_numbers, repeated_texts
from manycaps.kit.words_tokenizers import tokenize_rows
from tests.unit.kit.text_cases import len_distance

PEOPLE = manycaps.load_sample()["references"]


def warned_by(call):
    """Return the result of a call, and its warnings of references."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught if str(warning.message).startswith("references:")]


def drawn_people(seed=0):
    """Human captions of every row in a random order."""
    draw = random.Random(seed)
    return [draw.sample(row, len(row)) for row in PEOPLE]


# Which rows are of one image.


@pytest.mark.parametrize(
    ("references", "candidates", "expected"),
    [
        ([["a", "b"], ["c", "d"]], None, None),
        ([["a", "b"], ["c", "d"], ["B.", " A"]], None, [0, 1, 0]),  # another order, case and end
        ([["a", "b"], ["c", "d"], ["a", "b", "b"]], None, [0, 1, 0]),  # padded
        ([["a", "b", "c", "d"], ["e", "f", "g"], ["a", "b"]], None, [0, 1, 0]),  # a part
        ([["a", "b", "c"], ["a", "b", "d"], ["a", "c", "d"], ["b", "c", "d"]], None, [0, 0, 0, 0]),  # one left out
        ([["b", "c"], ["a", "c"], ["a", "b"]], [["a"], ["b"], ["c"]], [0, 0, 0]),  # one of three left out
        ([["a", "b"], ["c", "d"]], [["c", "d"], ["a", "b"]], None),  # captions of each other: wrong ones
        ([["a", "b", "c", "d", "e"], ["a", "b", "x", "y", "z"]], None, None),  # two frequent sentences
        ([["a", "b"], ["a", "c"], ["d", "e"]], None, None),
        ([["a"], ["a"], ["b"], ["b"], ["c"]], None, [0, 0, 1, 1, 2]),  # single references, most of them again
        ([["a"], ["a"], ["b"], ["c"], ["d"]], None, None),  # a frequent sentence
        ([["a", "b"], ["b", "c"], ["a", "b"]], [["x"], ["y"], ["z"]], [0, 1, 0]),
        ([[b"1", b"2"], [b"3", b"4"], [b"2", b"1"]], None, [0, 1, 0]),  # vectors
        ([[["a", "dog"], ["b"]], [["c"], ["d"]], [["b"], ["a", "dog"]]], None, [0, 1, 0]),  # tokens
    ],
)
def test_rows_of_one_image_are_found_by_their_references(references, candidates, expected):
    numbers = image_numbers(references, candidates)
    assert (numbers if numbers is None else numbers.tolist()) == expected


def test_a_sentence_that_all_rows_have_links_none_of_them():
    assert image_numbers([["no caption", "none", str(i), str(-i)] for i in range(1, 400)]) is None


def numbers_by_pairs(references, candidates):
    """The rule as it is written: every pair of rows, joined until nothing changes; rows with two references or more."""
    sets = [frozenset(row) for row in references]
    n_holding = collections.Counter(text for of in set(sets) for text in of)
    numbers = list(range(len(sets)))

    def are_one(i, j):
        common, captions = sets[i] & sets[j], [sets[k].union(*(candidates[row] for row in alike(k))) for k in (i, j)]
        if sets[i] == sets[j]:
            return True
        if all(n_holding[text] > row_images.MOST_SETS_OF_A_TEXT for text in common):
            return False
        is_half = len(common) >= 2 and 2 * len(common) >= min(len(sets[i]), len(sets[j]))
        return is_half or (sets[i] <= captions[1] and sets[j] <= captions[0])

    def alike(k):
        return [row for row, of in enumerate(sets) if of == sets[k]]

    for i, j in itertools.combinations(range(len(sets)), 2):
        if numbers[i] != numbers[j] and are_one(i, j):
            low, high = sorted((numbers[i], numbers[j]))
            numbers = [low if number == high else number for number in numbers]
    return [sorted(set(numbers)).index(number) for number in numbers]


@pytest.mark.parametrize("n_texts", [8, 14, 30])
def test_images_are_those_of_the_rule_pair_by_pair(n_texts, monkeypatch):
    monkeypatch.setattr(row_images, "MOST_SETS_OF_A_TEXT", 4)
    draw, n_joined = random.Random(n_texts), 0
    texts = [f"text {i}" for i in range(n_texts)]
    for _ in range(60):
        references = [draw.sample(texts, draw.randint(2, 4)) for _ in range(9)]
        candidates = [draw.sample(texts, draw.randint(1, 5)) for _ in references]
        expected = numbers_by_pairs(references, candidates)
        found = image_numbers(references, candidates)
        assert (list(range(9)) if found is None else found.tolist()) == expected
        n_joined += found is not None
    assert n_joined >= 10


@pytest.mark.realdata
def test_images_of_data_sets_share_no_row(data_folder):
    import json

    rows = json.loads((data_folder / "coco_val_1000.json").read_text())
    assert image_numbers([row["references"] for row in rows]) is None


# What the tests say of them.


@pytest.mark.parametrize("name", ["human_parity", "wording"])
def test_captions_in_a_row_each_have_the_values_of_clusters(name):
    """Three sampled captions of an image in a row each, the references repeated: people wrote them."""
    rows = drawn_people()
    captions, references = [[text] for row in rows for text in row[:3]], [row[3:] for row in rows for _ in range(3)]
    module = manycaps.load(name, **({"distance": len_distance} if name == "human_parity" else {}))
    given = {"predictions": captions, "references": references}
    result, messages = warned_by(lambda: module.compute(**given))
    expected, silence = warned_by(lambda: module.compute(**given, clusters=[i for i in range(14) for _ in range(3)]))
    assert result == pytest.approx(expected, nan_ok=True)
    assert result["wording_p_value"] > 0.05
    (message,) = messages
    assert message.startswith("references: 28 of 42 rows have the references of an earlier row")
    assert "Give clusters=[...]" in message
    assert silence == []


def test_an_image_in_two_rows_is_one_cluster():
    rows, p_values = [drawn_people(seed) for seed in range(6)], []
    wording = manycaps.load("wording")
    for people in rows:
        captions = [row[:1] for row in people] + [row[1:2] for row in people[:3]]
        references = [row[3:] for row in people]
        result, messages = warned_by(
            lambda: wording.compute(predictions=captions, references=references + references[:3])  # noqa: B023
        )
        p_values.append(result["wording_p_value"])
        assert messages[0].startswith("references: 3 of 17 rows have the references of an earlier row")
    assert min(p_values) > 0.01


def test_labels_that_take_an_image_apart_are_warned_of():
    rows = drawn_people()
    given = {"predictions": [row[:1] for row in rows] * 2, "references": [row[3:] for row in rows] * 2}
    _, (message,) = warned_by(lambda: manycaps.load("wording").compute(**given, clusters=list(range(28))))
    assert "14 of 28 rows have the references of an earlier row" in message
    assert "14 of these have another label in clusters" in message


def test_intervals_of_sets_and_of_objects_are_over_images():
    rows = drawn_people()
    given = {"predictions": [row[:2] for row in rows] * 2, "references": [row[3:] for row in rows] * 2}
    for name, key in (("trm", "trm"), ("chair", "chair_s")):
        options = {"distance": len_distance} if name == "trm" else {}
        module = manycaps.load(name, confidence_level=0.95, **options)
        result, (message,) = warned_by(lambda: module.compute(**given))  # noqa: B023
        expected, _ = warned_by(lambda: module.compute(**given, clusters=[*range(14)] * 2))  # noqa: B023
        assert result == pytest.approx(expected, nan_ok=True)
        assert result[f"{key}_ci_low"] < result[f"{key}_ci_high"]
        assert "they count as 14 clusters" in message


def test_values_without_tests_need_no_clusters():
    given = {"predictions": [["a dog", "dogs"]] * 2, "references": [["a dog", "two dogs"]] * 2}
    assert warned_by(lambda: manycaps.load("trm", distance=len_distance).compute(**given))[1] == []


def test_the_plain_function_has_the_clusters_of_the_module():
    rows = drawn_people()
    captions, references = [[text] for row in rows for text in row[:2]], [row[3:] for row in rows for _ in range(2)]
    tokens = [tokenize_rows(side, "ptb") for side in (captions, references)]
    result, (message,) = warned_by(lambda: human_wording(*tokens))
    expected, _ = warned_by(lambda: manycaps.load("wording").compute(predictions=captions, references=references))
    assert result.p_value == expected["wording_p_value"]
    assert "14 of 28 rows" in message


# References that repeat within their row.


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("human_parity", {"distance": len_distance}),
        ("trm", {"distance": len_distance}),
        ("cider_d", {}),
        ("wording", {}),
        ("chair", {}),
        ("bleu_rouge", {}),
    ],
)
def test_references_that_repeat_within_a_row_are_counted(name, options):
    draw = random.Random(0)
    uneven = [row[: draw.randint(3, 6)] for row in PEOPLE]
    padded = [row + row[:1] * (6 - len(row)) for row in uneven]
    given = {"predictions": manycaps.load_sample()["diverse"], "references": padded}
    _, (message,) = warned_by(lambda: manycaps.load(name, **options).compute(**given))
    assert message.startswith("references: 16 of 84 references repeat another of their row, in 9 rows.")
    assert warned_by(lambda: manycaps.load(name, **options).compute(**{**given, "references": uneven}))[1] == []


def test_repeats_are_told_from_what_people_write_twice():
    rows = [[f"{i} {k}" for k in range(5)] for i in range(100)]
    assert str(repeated_texts([[*row, row[0]] for row in rows])).startswith("100 of 600 references repeat")
    rows[0][1] = rows[0][0]
    assert warned_by(lambda: repeated_texts(rows).warn())[1] == []
    assert str(repeated_texts(rows)) == "1 of 500 references repeats another of their row, in 1 row"


def test_labels_of_the_user_are_kept_where_no_image_comes_again():
    assert clusters_of_images(["a", "a"], [["a", "b"], ["c", "d"]]) == ["a", "a"]


# Vectors, files, and what else is 0, or new, by construction.


def test_vectors_of_references_show_rows_of_one_image():
    rng = np.random.default_rng(0)
    people = rng.normal(size=(20, 4, 8))
    rows = {"prediction_embeddings": rng.normal(size=(40, 2, 8)), "reference_embeddings": np.concatenate([people] * 2)}
    module = manycaps.load("human_parity")
    result, (message,) = warned_by(lambda: module.compute(**rows))
    assert "20 of 40 rows have the references of an earlier row" in message
    assert result == warned_by(lambda: module.compute(**rows, clusters=[*range(20)] * 2))[0]


def test_rows_of_files_are_of_one_image_by_ids_or_references():
    from manycaps.comparison.read import SystemRow, clusters_of

    rows = [SystemRow(f"{i}.jpg#{k}", {"a": ["a dog"]}, [f"{i} {k}", "c"]) for i in range(3) for k in range(2)]
    with pytest.warns(UserWarning, match="3 of 6 rows have an earlier row's id but #k"):
        assert clusters_of(rows, None) == [f"{i}.jpg#0" for i in range(3) for _ in range(2)]
    rows = [SystemRow(str(k), {"a": ["a dog"]}, [f"a {k // 2}", f"b {k // 2}"]) for k in range(6)]
    with pytest.warns(UserWarning, match="3 of 6 rows have the references of an earlier row"):
        assert clusters_of(rows, None) == ["0", "0", "2", "2", "4", "4"]
    with pytest.warns(UserWarning, match="3 of these have another label"):
        assert clusters_of(rows, ".*") == list("012345")


def test_a_file_that_is_given_twice_is_refused(tmp_path):
    from manycaps.files.caption_tables import open_source

    lines = {"captions": '{"id": 1, "captions": ["a dog"]}\n', "people": '{"id": 1, "references": ["a", "b"]}\n'}
    for name, line in lines.items():
        (tmp_path / f"{name}.jsonl").write_text(line)
    files = [str(tmp_path / f"{name}.jsonl") for name in lines]
    (tmp_path / "again.jsonl").symlink_to(files[1])
    for twice in ([files[1]] * 2, [files[1], str(tmp_path / "again.jsonl")]):
        with pytest.raises(InputError, match="expected each file of references once, got it twice"):
            open_source(files[:1], twice)


@pytest.mark.parametrize("training", [[[]], [""], ["...", " "], "references"])
def test_nothing_is_novel_beside_nothing(training):
    novelty = manycaps.load("novelty")
    given = {"predictions": [["a dog runs"]] * 2, "references": [["a dog runs", "dogs run"]] * 2}
    with pytest.raises(InputError, match="training: expected captions with at least one token"):
        novelty.compute(**given, training=training)


def test_references_of_the_image_are_no_training_captions():
    rows = drawn_people()
    novelty = manycaps.load("novelty")
    captions, references = [[text] for row in rows for text in row[:2]], [row[2:] for row in rows for _ in range(2)]
    result, (message,) = warned_by(lambda: novelty.compute(predictions=captions, references=references))
    whole = novelty.compute(predictions=[row[:2] for row in rows], references=[row[2:] for row in rows])
    assert result["novel_4gram_share"] == whole["novel_4gram_share"]
    assert result["novel_4gram_share_of_people"] == whole["novel_4gram_share_of_people"]
    assert "14 of 28 rows" in message


@pytest.mark.parametrize("name", ["human_parity", "wording"])
def test_a_model_that_knows_the_references_is_told(name):
    from collections import Counter

    from manycaps.kit.words_predictability import caption_trigrams

    rows = drawn_people()
    captions, references = [row[:3] for row in rows], [row[3:] for row in rows]

    def counted(people):
        tokens = [tokens for row in tokenize_rows(people, "ptb") for tokens in row]
        return {
            "n_captions": len(tokens),
            "trigrams": dict(Counter(t for each in tokens for t in caption_trigrams(each))),
        }

    options = {"distance": len_distance} if name == "human_parity" else {}
    messages = []
    for people in (references, references[:7], captions):
        module = manycaps.load(name, language_model=counted(people), **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module.compute(predictions=captions, references=references)
        messages.append([str(each.message) for each in caught if str(each.message).startswith("language_model")])
    assert [len(each) for each in messages] == [1, 1, 0]
    assert messages[0][0].startswith(
        "language_model: it has 100% of the references' trigrams, and all of 14 of 14 rows"
    )


def test_objects_that_hold_what_references_name_are_not_tested():
    references = [[f"a dog and a bus at {i}", f"a dog beside a car by {-i}"] for i in range(60)]
    given = {"predictions": [["a dog on a train"]] * 60, "references": references}
    chair = manycaps.load("chair", confidence_level=0.95)
    with pytest.warns(UserWarning, match="objects: they hold all objects that the references name, in each of 60 rows"):
        result = chair.compute(**given, objects=[["dog", "bus", "car"]] * 60)
    assert np.isnan([result["chair_p_value"], result["chair_s_gap_ci_low"]]).all()
    assert chair.compute(**given, objects=[["dog", "bus"]] * 60)["chair_p_value"] < 0.01
