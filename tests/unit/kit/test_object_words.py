"""CHAIR: hand cases of reading and counting, the tokens of NLTK, and the p-value."""

import math

import nltk
import numpy as np
import pandas
import pytest
from textblob.inflect import singularize

import manycaps
from manycaps import functional
from manycaps.kit.object_words import (
    Mention,
    ObjectSums,
    as_objects,
    coco_vocabulary,
    object_values,
    own_vocabulary,
    row_objects,
    singular_words,
)
from tests.oracles import chair_loop
from tests.refusals import assert_refused


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("Two men ride bikes.", [("person", 1), ("bicycle", 3)]),
        ("a hot dog and a dog", [("hot dog", 1), ("dog", 5)]),  # a pair is one word
        ("a baby bird", [("bird", 1)]),  # read as another word
        ("the train tracks", []),  # a pair that is no object
        ("the seat of a toilet", [("toilet", 4)]),
        ("the seat of a chair", [("chair", 1), ("chair", 4)]),
        ("a toilet seat", [("toilet", 1)]),
        ("wine glasses", [("wine glass", 0)]),
        ("", []),
    ],
)
def test_reads_captions_as_the_published_program(caption, expected):
    found = [(mention.object, mention.position) for mention in coco_vocabulary().mentions(caption)]
    assert found == expected
    assert [name for name, _ in found] == chair_loop.named_objects(caption)


@pytest.mark.parametrize(
    "word", ["bus", "minibus", "airbus", "bison", "cheesecake", "chesterfield", "motor bike", "iPhone"]
)
def test_published_words_that_are_never_found(word):
    """The card names them."""
    assert word in map(str.strip, chair_loop.NAMES)
    assert not coco_vocabulary().mentions(f"one {word} here")


@pytest.mark.parametrize(
    "caption",
    [
        *(
            "A man's hat, and a dog.",
            "dogs' toys",
            "it's 3.5 m.",
            "a, b,c",
            "a cannot b",
            "gonna go",
            "t-shirts -- two",
        ),
        *(
            "he said 'no'.",
            'a "stop" sign',
            "(a dog)",
            "St. Louis",
            "a dog .",
            "a dog..",
            ".",
            "",
            " a\tb\nc ",
            "rock'n'roll",
        ),
        *("men's.", "'s", "a 's b", "'tis", "wi-fi", "éclairs ½", "#1 &amp; 50%", "a's, b", "it's"),
    ],
)
def test_tokens_are_nltks(caption):
    tokens = nltk.word_tokenize(caption.lower(), preserve_line=True)
    assert singular_words(caption) == [singularize(token) for token in tokens]


def test_counts_by_hand():
    dog, bed, cat = (Mention(name, name, 0) for name in ("dog", "bed", "cat"))
    row = row_objects([[dog, bed], [cat, cat]], [[dog], [dog, bed], [dog]], frozenset({"cat"}))
    assert row.hallucinated == [[], []]
    # Mentions, hallucinated, recalled, true: of both candidates by {dog, bed, cat}; of people by what is left.
    assert row.counts == ((4, 0, 3, 6), (4, 1, 3, 8))
    # By the ground truth without the second reference alone, "bed" is named by nobody else.
    assert row.shares == (0.0, 1 / 6, 1 / 3)


@pytest.mark.parametrize("n_references", [2, 3, 5])
def test_leave_one_out_is_that_of_a_loop(n_references):
    rng = np.random.default_rng(n_references)
    words = ["a dog", "two cats", "a bed", "people", "something"]

    def captions(n):
        return [" and ".join(rng.choice(words, 2)) for _ in range(n)]

    mentions = coco_vocabulary().mentions
    for _ in range(20):
        candidates, references = captions(3), captions(n_references)
        shares = row_objects(map(mentions, candidates), map(mentions, references)).shares
        assert shares[1:] == pytest.approx(chair_loop.leave_one_out(candidates, references), abs=1e-15)


def test_one_reference_has_nobody_beside_it():
    values = functional.chair([["a dog"]], [["a cat"]])
    assert values["chair_s"] == 1.0
    assert math.isnan(values["chair_s_of_people"])
    assert functional.chair([["a dog"]], [["a cat"]], [["dog"]])["chair_s_of_people"] == 1.0


def test_own_vocabulary_and_another_language():
    own = own_vocabulary({"Hund": ["Welpe"], "rotes Haus": []}, str.split)
    assert [mention.object for mention in own.mentions("ein Welpe am rotes Haus")] == ["Hund", "rotes Haus"]


@pytest.mark.parametrize("name", ["Hund", "TV", "bus", "glasses", "scissors", "iPhone", "Traffic Lights"])
@pytest.mark.parametrize("tokenizer", [None, str.split])
def test_labels_by_the_names_of_an_own_vocabulary_are_known(name, tokenizer):
    own = own_vocabulary({name: ["word"], "other": []}, tokenizer)
    assert as_objects([[name], ["word"]], 2, own) == [frozenset({name})] * 2
    result = manycaps.load("chair", vocabulary={name: []}, tokenizer=tokenizer).compute(
        predictions=[f"a {name}"], objects=[[name]]
    )
    assert (result["chair_s"], result["recall"]) == (0, 1)


def test_every_word_of_coco_is_a_label_also_in_capitals_and_as_a_plural():
    known = coco_vocabulary()
    for word, name in known.objects.items():
        assert as_objects([[word]], 1, known) == [frozenset({name})]
    labels = "Bus, buses, Wine glasses, TV, Traffic Lights, fire hydrants, Mice, knives, Skis"
    found = as_objects([labels.split(", ")], 1, known)[0]
    assert found == {"bus", "wine glass", "tv", "traffic light", "fire hydrant", "mouse", "knife", "skis"}
    assert_refused(ValueError, "objects[0][0]: expected one of 80 objects", as_objects, [["dog house"]], 1, known)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ({}, "vocabulary: expected lists of words by the name of the object"),
        ({"dog": "puppy"}, "vocabulary['dog']: expected a list of words"),
        ({"dog": [""]}, "vocabulary['dog']: expected words, got ''"),
        ({"dog": [3]}, "vocabulary['dog']: expected words, got 3"),
        ({"dog": pandas.DataFrame({"pup": [1]})}, "vocabulary['dog']: expected a list of words, got a table (DataFr"),
        ({"dog": ["pet"], "cat": ["pets"]}, "vocabulary['cat']: expected words of one object, got 'pets', which also"),
    ],
)
def test_refuses_a_vocabulary(vocabulary, message):
    assert_refused((TypeError, ValueError), f".*{message}", own_vocabulary, vocabulary)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ("dog", "objects: expected a list of names for each row, got 'dog'"),
        ([["dog"]], "objects: expected one list for each of the 2 rows of predictions, got 1"),
        (pandas.DataFrame({"dog": [1, 2]}), "objects: expected a list of names for each row, got a table (DataFrame)"),
        ([["dog"], "cat"], "objects[1]: expected a list of names, got 'cat'"),
        ([["dog"], ["zebr"]], "objects[1][0]: expected one of 80 objects, got 'zebr'. Did you mean 'zebra'?"),
        ([["dog"], [None]], "objects[1][0]: expected one of 80 objects, got None"),
    ],
)
def test_refuses_objects(objects, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        as_objects(objects, 2, coco_vocabulary())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("gaps", "is_right"),
    [
        ([0.0] * 50, lambda p: p == 1.0),
        ([1.0] * 50, lambda p: p < 1e-9),  # without spread
        ([0.5, 0.0] * 25, lambda p: p < 1e-6),
        ([1.0] * 49, math.isnan),
    ],
)
def test_p_value_of_gaps(gaps, is_right):
    shares = np.array([(0.0, gap, 0.0) for gap in gaps])
    p_value = object_values(ObjectSums(np.zeros((2, 4), dtype=np.int64), shares))["chair_p_value"]
    assert is_right(p_value)
    opposite = object_values(ObjectSums(np.zeros((2, 4), dtype=np.int64), -shares))["chair_p_value"]
    assert opposite == pytest.approx(p_value, nan_ok=True)
