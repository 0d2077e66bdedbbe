"""What single studies count, by hand."""

import itertools
import math

import numpy as np
import pytest

from manycaps.kit.caption_sets import exact_splits
from manycaps.sampling.decoding_setting import Setting
from scripts.studies.best_temperatures import best_temperature, interval, scenes_needed
from scripts.studies.caption_rows import StudyCaptions, draw_rows, draw_systems, read_captions, read_people
from scripts.studies.central_captions import details
from scripts.studies.damage_study import RowsWithNulls, as_shown, rows_needed
from scripts.studies.decoding_study import best_settings, decoded, spoken_rows, zipf
from scripts.studies.embeddings import bags_of_words
from scripts.studies.paired_test_study import LEVEL_SETTINGS, draw_pair
from scripts.studies.paired_test_study import Setting as PairSetting
from scripts.studies.sensitivity import first_rejecting, needed, parsed
from scripts.studies.split_tests import PLAIN_SCORES, best_reference, mean_reference
from scripts.studies.study_options import DAMAGES

IMAGES = [[f"{image} dog number {caption}" for caption in range(15)] for image in "abcd"]


def test_a_test_needs_the_least_number_from_which_on_it_rejects():
    assert first_rejecting({2: 0.2, 3: 0.05, 4: 0.01}) == 3
    assert first_rejecting({2: 0.01, 3: 0.2}) == np.inf
    key = {"system": "a", "measure": "x", "harmonic_mean_p": "0.5"}
    lines = [
        key | {"trial": str(trial), "n_candidates": str(n), "corpus_p": "0.01" if n > trial else "0.5"}
        for trial in range(3)
        for n in (1, 2, 3)
    ]
    assert [*needed(lines, 3)] == [["a", "x", "harmonic_mean_p", "-", "-", "-"], ["a", "x", "corpus_p", 2, 1, 3]]


def test_details_of_a_caption():
    # Every word is common in so few captions.
    first = details([["a dog", "the dog"], ["a cat"]])[0][0]
    assert first == {"tokens": 2, "content words": 0, "rarest content word": 0.0}
    # 50 words that are commoner, each in one image, and "dog" in the other.
    filler = [" ".join(f"word{i}" for i in range(50))] * 2
    assert details([filler, ["dog word3"]])[1][0] == {
        "tokens": 2,
        "content words": 1,
        "rarest content word": pytest.approx(np.log(2)),
    }


# Captions, and rows of them, whole and damaged.


def test_people_and_systems_share_no_caption():
    captions = StudyCaptions("given", IMAGES, {}, (4, 3))
    drawn = draw_systems(captions, ("human", "repeated"), 3, (0, 1))
    assert len(drawn.references) == 3
    for human, repeated, references in zip(*drawn.candidates.values(), drawn.references, strict=True):
        assert len({*human, *references}) == 7
        assert repeated == human[:1] * 4
    assert drawn == draw_systems(captions, ("human", "repeated"), 3, (0, 1))


def test_systems_of_tables_are_joined_to_people(tmp_path):
    people, mine, few = (str(tmp_path / f"{name}.csv") for name in ("people", "mine", "few"))
    for path, lines in (
        (people, [f"{i},{caption}" for i, row in enumerate(IMAGES) for caption in row]),
        (mine, [f"{i},mine {i}" for i in (3, 2, 1, 0)]),
        (few, ["1,mine"]),
    ):
        with open(path, "w") as file:
            file.write("\n".join(["id,caption", *lines, ""]))
    assert [row.references for row in read_people([people]).values()] == IMAGES
    given = ["--references", people, "--sizes", "1", "4", "--predictions"]
    assert read_captions(parsed([*given, f"mine={mine}"])).systems == {"mine": [[f"mine {i}"] for i in range(4)]}
    for arguments, message in (
        ([*given, f"mine={few}"], r"expected candidates of id '0', got none \(3 such ids in all\)"),
        ([*given, "mine.csv"], r"--predictions: expected NAME=FILE, got 'mine\.csv'"),
        ([*given[:2], "--sizes", "10", "10"], "--sizes: expected at least two images with 20 human captions, got 0"),
        (["--corpus", "MSVD"], "--data: expected a folder with the files of --corpus, got none"),
    ):
        with pytest.raises(ValueError, match=message):
            read_captions(parsed(arguments))


def damaged(damage):
    return draw_rows(IMAGES, [0, 1, 2, 3, 0], (5, 3), damage, np.random.default_rng(0))


def test_rows_differ_in_the_damage_alone():
    human, references = damaged("human")
    assert [{caption[0] for caption in row} for row in human] == [{image} for image in "abcda"]
    assert all(len(set(p + r)) == 8 for p, r in zip(human, references, strict=True))
    replaced = {}
    for damage in DAMAGES:
        predictions, same_references = damaged(damage)
        assert same_references == references
        replaced[damage] = {
            (i, k): caption
            for i, row in enumerate(predictions)
            for k, caption in enumerate(row)
            if caption[0] != human[i][0][0]
        }
    assert [len(replaced[damage]) for damage in ("human", "repeated", "w = 1")] == [0, 0, 25]
    # What is replaced at one probability is replaced by the same caption at all larger ones.
    assert replaced["w = 0.1"].items() <= replaced["w = 0.2"].items() <= replaced["w = 0.5"].items()
    assert 0 < len(replaced["w = 0.2"]) < len(replaced["w = 0.5"]) < 25
    assert damaged("repeated")[0] == [row[:1] * 5 for row in human]


def test_rows_needed_by_hand():
    for excess, needed_rows in ((0.5, 34.26), (0.1, math.nan), (-0.1, math.nan), (-0.5, math.inf)):
        # Both deviations are 1: ((1.645 + 1.282) / 0.5)^2 = 34.26; 0.1 is two standard errors.
        values = np.tile([excess - 1, excess + 1], 200)
        rows = RowsWithNulls(values, np.ones(400), np.tile([-1.0, 1.0], (400, 1)))
        assert rows_needed(rows) == pytest.approx(needed_rows, abs=0.05, nan_ok=True)
    shown = [as_shown("rows_needed", cell) for cell in ("nan", "inf", "3.2", "1299.2")]
    assert shown == ["-", "never", "< 10", "1,300"]


# Pairs of systems for the paired test.


def pair(setting):
    return draw_pair(IMAGES, setting, np.random.default_rng(0))


def test_systems_without_damage_are_of_the_image_and_of_the_size():
    for setting in LEVEL_SETTINGS:
        if setting.n_candidates == 5:
            sides = pair(setting)
            assert [len(side) for side in sides] == [setting.n_rows] * 3
            for a, b, r in zip(*sides, strict=True):
                assert len({caption[0] for caption in [*a, *b, *r]}) == 1
                assert len(a) == len(b) == len(r) == 5
                assert not set(a) & set(b)
                assert not {*a, *b} & set(r)
    first, _, references = pair(PairSetting(5, 20, rows_a_cluster=2))
    assert references[::2] == references[1::2]
    assert all(len({*one, *other}) <= 3 for one, other in zip(first[::2], first[1::2], strict=True))


# A quarter is replaced, by one of the four images: a quarter of them by the image itself.
@pytest.mark.parametrize(
    ("damage", "expected"),
    [("repetition", (0.25, 0, 0)), ("wrong captions", (0, 0.1875, 0.01)), ("other image", (0, 0.1875, 0.1875))],
)
def test_damage_of_the_second_system(damage, expected):
    first, second, references = pair(PairSetting(5, 400, damage=damage, share=0.25))
    image = [row[0][0] for row in references]
    assert all(caption[0] == i for row, i in zip(first, image, strict=True) for caption in row)
    repeated = np.mean([len(set(row)) == 1 for row in second])
    foreign = np.array([[caption[0] != i for caption in row] for row, i in zip(second, image, strict=True)])
    assert (repeated, foreign.mean(), foreign.all(axis=1).mean()) == pytest.approx(expected, abs=0.06)


# Plain scores under every split, beside a loop over candidates and references.


def naive(scores, candidates, reduce):
    references = [j for j in range(len(scores)) if j not in candidates]
    return np.mean([reduce([scores[i, j] for j in references]) for i in candidates])


@pytest.mark.parametrize(("aggregate", "reduce"), [(best_reference, max), (mean_reference, np.mean)])
@pytest.mark.parametrize("size", [(1, 4), (3, 2), (3, 3)])
def test_every_split_is_aggregated_as_a_loop_does_it(aggregate, reduce, size):
    scores = np.random.default_rng(0).random((2, sum(size), sum(size))).round(1)  # with ties
    found = aggregate(scores, exact_splits(*size, 100))
    splits = itertools.combinations(range(sum(size)), size[0])
    expected = [[naive(row, split, reduce) for row in scores] for split in splits]
    np.testing.assert_allclose(found.T, expected, rtol=0, atol=1e-12)


def test_scores_are_of_a_candidate_against_a_reference():
    distances = np.array([[[0.0, 0.25], [0.5, 0.0]]])
    assert PLAIN_SCORES["meteor"].scores(distances)[0, 0, 1] == 0.5  # d(reference, candidate)
    assert PLAIN_SCORES["cider_d"].scores(distances)[0, 0, 1] == 9.75  # d(candidate, reference)


# Where a curve is best, and how many scenes a test needs.

PLACES = np.array([0.0, 0.5, 1.0, 1.25, 2.0])


def test_where_a_curve_is_best():
    for centre in (0.6, 0.9, 1.1, 1.3):
        # The top of a parabola is found exactly.
        assert best_temperature(PLACES, (PLACES - centre) ** 2, "lowest") == pytest.approx(centre)
        assert best_temperature(PLACES, 3 - 2 * (PLACES - centre) ** 2, "highest") == pytest.approx(centre)
    assert best_temperature(PLACES, -PLACES, "highest") == 0.0
    assert best_temperature(PLACES, -PLACES, "lowest") == 2.0
    # Equal neighbours put the best between them.
    assert best_temperature(np.arange(4.0), np.array([4.0, 1.0, 1.0, 4.0]), "lowest") == 1.5
    assert best_temperature(PLACES, PLACES - 0.8, "zero") == pytest.approx(0.8)
    assert best_temperature(PLACES, PLACES + 1, "zero") == 0.0


def test_intervals_and_scenes():
    half = 4.3027 * 0.1 / 3**0.5
    assert interval([0.9, 1.0, 1.1]) == pytest.approx((1.0, 1 - half, 1 + half), abs=1e-4)
    assert interval([2.0]) == pytest.approx((2.0, math.nan, math.nan), nan_ok=True)
    # ((1.960 + 0.842) 2 / 0.1)^2.
    assert scenes_needed([-0.1, -0.1], [2.0, 2.0]) == pytest.approx(3139.6, abs=0.5)
    assert math.isnan(scenes_needed([-0.1, 0.1], [2.0, 2.0]))


# Speakers who choose whole captions by every setting, and the best setting by each measure.


def share(setting, index, n=20_000):
    indices = decoded(np.array([0.1, 0.6, 0.3]), setting, n, np.random.default_rng(0))
    return indices.count(index) / n


def test_whole_captions_are_decoded_as_tokens_are():
    assert share(Setting(), 1) == pytest.approx(0.6, abs=0.01)
    # 0.6^2 / (0.1^2 + 0.6^2 + 0.3^2) = 0.7826.
    assert share(Setting(0.5), 1) == pytest.approx(0.7826, abs=0.01)
    # Top-p 0.9 keeps 0.6 and 0.3, whose sum reaches it.
    assert share(Setting(top_p=0.9), 0) == 0
    assert share(Setting(top_p=0.9), 1) == pytest.approx(2 / 3, abs=0.01)
    assert decoded(zipf(30), Setting(50.0, top_k=20), 2000, np.random.default_rng(0)).count(25) == 0
    rng = np.random.default_rng(0)
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting(greedy=True), 2, rng) == [1, 1]
    assert decoded(np.array([0.1, 0.6, 0.3]), Setting(num_beams=4), 4, rng) == [1, 2, 0, 1]


def test_speakers_differ_in_their_mistakes_and_share_their_references():
    (candidates, references), (others, same), (_, greedy) = (
        spoken_rows(IMAGES, mistakes, (50, 5), 3, setting, (0, 0))
        for mistakes, setting in ((0.0, Setting()), (0.9, Setting()), (0.0, Setting(greedy=True)))
    )
    assert references == same == greedy
    for row, people in zip(candidates, references, strict=True):
        assert {caption[0] for caption in row} == {people[0][0]}
    wrong = [c[0] != r[0][0] for row, r in zip(others, references, strict=True) for c in row]
    assert np.mean(wrong) == pytest.approx(0.9, abs=0.1)


def test_the_best_setting_is_nearest_to_people_lowest_or_largest():
    shown = [
        ("trm_meteor", "t0.5", 0, 0.2),
        ("trm_meteor", "t1", 0, -0.1),
        ("trm_meteor", "t0.5", 1, 0.1),
        ("trm_meteor", "t1", 1, -0.15),
        ("meteor", "greedy", 0, 0.9),
        ("meteor", "t1", 0, 0.3),
        ("unlike_people_share", "t0.5", 0, 0.0),
        ("unlike_people_share", "t1", 0, 0.06),
        ("energy_distance", "t0.5", 0, -0.1),
        ("energy_distance", "t1", 0, 0.0),
    ]
    columns = ("speaker", "measure", "setting", "trial", "shown")
    assert [*best_settings([dict(zip(columns, map(str, ("a", *line)), strict=True)) for line in shown])] == [
        ["a", "energy_distance", "t0.5", "t0.5"],
        ["a", "unlike_people_share", "t1", "t1"],
        ["a", "trm_meteor", "t1", "t1 t0.5"],
        ["a", "meteor", "greedy", "greedy"],
    ]


# Bags of words.


def test_captions_are_unit_vectors_of_their_words():
    assert bags_of_words(["a dog a", "dog", "."]).round(4).tolist() == [
        [0.8944, 0.4472, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],  # no word
    ]
