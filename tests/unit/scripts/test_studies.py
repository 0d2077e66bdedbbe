"""Studies: their frame, which resumes, and what single ones draw, count and say, by hand."""

import itertools
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from manycaps.kit.parity_gaps import gaps_test_of_sums, row_gaps
from manycaps.kit.sets_tests import exact_splits
from manycaps.sampling.decoding_setting import Setting
from scripts.studies import caption_rows, human_parity_experts, human_parity_power, human_parity_truth, renew_studies
from scripts.studies.best_temperatures import best_temperature, interval, scenes_needed
from scripts.studies.caption_rows import StudyCaptions, draw_rows, draw_systems, read_captions, read_people
from scripts.studies.central_captions import details
from scripts.studies.damage_study import RowsWithNulls, as_shown, rows_to_detect
from scripts.studies.decoding_study import decode, draw_sides
from scripts.studies.embeddings import bags_of_words
from scripts.studies.paired_test_study import LEVEL_SETTINGS, draw_pair
from scripts.studies.paired_test_study import Setting as PairSetting
from scripts.studies.parity_pools import DAMAGES, KINDS, OBJECT, Damage, draw_places, make_pool, ordinary, take
from scripts.studies.parity_speakers import KnownSpeaker, VectorPool, draw_corpus, draw_points
from scripts.studies.renew_studies import PAGE
from scripts.studies.sensitivity import first_rejecting, list_needed, parse
from scripts.studies.split_tests import PLAIN_SCORES, best_reference, mean_reference
from scripts.studies.study_frame import StudyTable, as_cell, numbers, print_table, read_lines, study_settings
from scripts.studies.study_list import STUDIES
from scripts.studies.study_options import DAMAGES as KINDS_OF_DAMAGE
from scripts.studies.study_options import study_parser
from scripts.toy.speakers import zipf_probabilities

CELLS = [("a", 1), ("a", 2), ("b", 1)]


def table(folder, **settings):
    return StudyTable(folder, "study", ("system", "n"), ("measure", "value"), {"seed": 0, **settings})


def lines_of(system, n):
    return [("x", n / 3), ("y", float("nan"))] if system == "a" else []


def test_a_table_has_the_lines_of_all_cells(tmp_path, capsys):
    lines = table(tmp_path).fill(CELLS, lines_of)
    assert lines == read_lines(tmp_path / "study.csv")
    assert lines[0] == {"system": "a", "n": "1", "measure": "x", "value": "0.333333"}
    assert numbers(lines, "value", measure="x") == [0.333333, 0.666667]
    # A later call that asks for fewer cells gets these alone, and loses none.
    assert table(tmp_path).fill([("a", 2)], None) == lines[2:]
    assert read_lines(tmp_path / "study.csv") == lines[2:] + lines[:2]
    assert [as_cell(value) for value in ("a", 12345678, 1 / 3, True)] == ["a", "12345678", "0.333333", "True"]
    print_table(["a", "b"], [["1", "2"]])
    assert capsys.readouterr().out == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


def test_an_interrupted_study_ends_with_the_same_bytes(tmp_path):
    table(tmp_path / "whole").fill(CELLS, lines_of)
    computed = []

    def interrupt(*cell):
        if cell == ("a", 2):
            raise KeyboardInterrupt
        return lines_of(*cell)

    # The cells that are done may be any, in any order.
    with pytest.raises(KeyboardInterrupt):
        table(tmp_path / "resumed").fill([("b", 1), ("a", 1), ("a", 2)], interrupt)
    table(tmp_path / "resumed").fill(CELLS, lambda *cell: computed.append(cell) or lines_of(*cell))
    # A cell without lines leaves no trace, and is computed again.
    assert computed == [("a", 2), ("b", 1)]
    assert (tmp_path / "resumed/study.csv").read_bytes() == (tmp_path / "whole/study.csv").read_bytes()


def test_a_table_with_other_settings_is_refused(tmp_path):
    table(tmp_path).fill(CELLS, lines_of)
    with pytest.raises(
        ValueError,
        match=r"study\.csv'?: expected a table made with the settings of this call, got one made with "
        r"study\.json\. Choose another --output, or delete the table\.",
    ):
        table(tmp_path, seed=1)


def test_settings_name_no_folder(tmp_path):
    parser = study_parser("")
    parser.add_argument("--data", nargs="+", type=type(tmp_path))
    options = parser.parse_args(["--output", str(tmp_path), "--data", str(tmp_path / "captions"), str(tmp_path / "b")])
    assert study_settings(options) == {"seed": 0, "data": ["captions", "b"]}


# What `make studies` runs, and what it copies.


@pytest.fixture
def renew(monkeypatch, tmp_path):
    """Run studies that write a table and its settings; return the status, the arguments of each run, and the copies."""

    def run_studies(*options):
        seen = []

        def run(arguments, **_):
            seen.append(arguments[2:])
            folder = Path(arguments[arguments.index("--output") + 1])
            folder.mkdir(parents=True, exist_ok=True)
            study = arguments[2].rpartition(".")[2]
            for ending in ("csv", "json", "png"):
                (folder / f"{study}.{ending}").touch()
            return subprocess.CompletedProcess(arguments, returncode=int(study == "search"))

        monkeypatch.setattr(renew_studies.subprocess, "run", run)
        monkeypatch.setattr(renew_studies, "SHOWN", tmp_path / "shown")
        status = renew_studies.main(renew_studies.parse(["--output", str(tmp_path / "out"), *options]))
        return status, seen, sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("shown/*/*"))

    return run_studies


def test_studies_run_on_the_corpora_of_the_list_and_are_copied(renew):
    without_search = [study for study in STUDIES if study != "search"]
    status, runs, shown = renew("--only", *without_search)
    assert status == 0
    assert [arguments[0] for arguments in runs] == [f"scripts.studies.{study}" for study in without_search]
    assert all("--data" not in arguments for arguments in runs)
    assert {"shown/bundled/efficiency.png", "shown/bundled/inference.png"} <= {*shown}
    assert all(f"({path.replace('shown', 'studies')})" in PAGE.read_text(encoding="utf-8") for path in shown)
    status, runs, shown = renew("--data", "data", "--only", "sensitivity")
    assert status == 0
    corpora = [arguments[arguments.index("--corpus") + 1] for arguments in runs if "--corpus" in arguments]
    assert ["bundled", *corpora] == list(STUDIES["sensitivity"])
    assert {path.split("/")[1] for path in shown} == {*STUDIES["sensitivity"]}
    assert "w = 1" in runs[2]


def test_it_stops_at_a_study_that_fails(renew):
    status, runs, shown = renew("--only", "search", "embeddings")
    assert (status, len(runs), shown) == (1, 1, [])


# The studies of human parity: how captions are damaged, which texts rows are made of, and what is counted.

N_PEOPLE = 6
IMAGES = [
    [f"a {animal} is on the {place} number {k}" for k in range(8)]
    for animal, place in (("cat", "mat"), ("dog", "sofa"), ("bird", "tree"), ("cow", "meadow"))
]


def draw_trials(damage, size=(3, 3), n_rows=400):
    order = np.tile(np.arange(N_PEOPLE), (4, 1))
    return draw_places(order, np.arange(n_rows) % 4, size, damage, np.random.default_rng(0))


def test_a_pool_holds_every_caption_in_every_kind():
    for captions, texts in zip(IMAGES, make_pool(IMAGES, N_PEOPLE, 0), strict=True):
        people, other, word, cut, obj = (texts[i : i + N_PEOPLE] for i in range(0, len(KINDS) * N_PEOPLE, N_PEOPLE))
        assert set(people) <= set(captions)
        assert set(other).isdisjoint(captions)
        for mine, theirs in zip(people, word, strict=True):
            assert sum(x != y for x, y in zip(mine.split(), theirs.split(), strict=True)) == 1
        assert cut == [" ".join(caption.split()[:5]) for caption in people]
        # The animal is the only word after an article that something follows which may follow a noun.
        for mine, theirs in zip(people, obj, strict=True):
            assert [i for i, (x, y) in enumerate(zip(mine.split(), theirs.split(), strict=True)) if x != y] == [1]
    assert OBJECT.findall("The man is in a red car with an old dog .") == ["man", "car", "dog"]
    assert OBJECT.findall("people play the") == []


@pytest.mark.parametrize("name", DAMAGES)
def test_references_are_peoples_and_the_same_whatever_the_damage(name):
    places = draw_trials(DAMAGES[name])
    assert (places[:, 3:] == draw_trials(DAMAGES["human"])[:, 3:]).all()
    assert all(len({*row}) == 3 for row in places[:, 3:])
    if name != "copies":
        assert all(not {*row[:3]} & {*row[3:]} for row in places)


def test_damages_are_what_they_say():
    kind = draw_trials(Damage(share=0.25))[:, :3] // N_PEOPLE
    assert set(np.unique(kind)) == {0, KINDS.index("other")}
    assert kind.astype(bool).mean() == pytest.approx(0.25, abs=0.05)
    assert (draw_trials(DAMAGES["five words"])[:, :3] // N_PEOPLE == KINDS.index("cut")).all()
    half = draw_trials(DAMAGES["half repeated"])
    assert (half[:, 2] == half[:, 0]).all()
    assert (half[:, 1] != half[:, 0]).all()
    copies = draw_trials(DAMAGES["copies"], (3, 2))
    assert (copies[:, :3] == copies[:, [3, 4, 3]]).all()
    # The order of all images is 0, 1, ...: the most ordinary one that is no reference.
    for row in draw_trials(DAMAGES["blandest"]):
        assert {*row[:3]} == {min({*range(N_PEOPLE)} - {*row[3:]})}
    for row in draw_trials(Damage("bland")):
        assert [*row[:3]] == sorted({*range(N_PEOPLE)} - {*row[3:]})
    # The share of wrong captions is the same whatever is repeated.
    alone, both = (draw_trials(Damage(share=0.4, repeats=repeats), n_rows=4_000)[:, :3] for repeats in (0.0, 0.5))
    assert [(places >= N_PEOPLE).mean() for places in (alone, both)] == pytest.approx([0.4, 0.4], abs=0.02)
    assert (alone[:, 1] == alone[:, 0]).mean() == 0
    assert (both[:, 1] == both[:, 0]).mean() == pytest.approx(0.5, abs=0.03)


def test_the_most_ordinary_caption_is_the_nearest_to_the_others():
    points = np.array([[0.0, 1.0, 1.5, 4.0, 1.2]])
    assert ordinary(np.abs(points[:, :, None] - points[:, None]), 4).tolist() == [[1, 2, 0, 3]]
    assert take(np.arange(9).reshape(1, 3, 3), np.array([0]), np.array([[2, 0]])).tolist() == [[[8, 6], [2, 0]]]


def test_a_drawn_test_agrees_with_the_closed_form():
    """The sum of fidelity gaps of 20 rows, both tails, beside its normal p-value."""
    distances = draw_points(Damage(share=0.1), (3, 3), 200, 0)
    nulls = dict(human_parity_power.null_values(distances, None, 3, with_frechet=False))
    assert set(nulls) == {"TRM", "plain", "energy"}
    gaps = row_gaps(distances, 3)
    assert nulls["energy"][:, 0] == pytest.approx(2 * gaps.fidelity - gaps.diversity)
    trials = np.arange(200).reshape(10, 20)
    centred = nulls["energy"] - nulls["energy"].mean(axis=1)[:, None]
    upper, lower = human_parity_power.drawn_p_values(centred, trials, (0,))
    assert ((upper + lower) > 1).all()
    forms = np.array([2.0, -1.0])
    for trial, of in enumerate(trials):
        value = (2 * gaps.fidelity - gaps.diversity)[of].sum()
        variance = forms @ gaps.covariance[of].sum(axis=0) @ forms
        normal = gaps_test_of_sums(np.array([value, 0]), np.diag([variance, 0])).p_value
        assert 2 * min(upper[trial], lower[trial]) == pytest.approx(normal, abs=0.1)


def test_cells_where_another_test_finds_more_are_named():
    key = dict.fromkeys(human_parity_power.KEY, "1") | {"kind": "power"}
    shares = {"joint": "0.48", "T2": "0.5", "f": "0.9", "energy": "0.9", "TRM": "0.56", "plain": "0.55"}
    lines = [key | {"measure": name, "share": share} for name, share in shares.items()]
    trm = ["1", "1", "1", "1", "1", "TRM", "0.56", "0.5"]
    assert [*human_parity_power.below(lines)] == [trm]
    joined = [key | {"kind": "joint", "measure": name} for name in ("distances", "joint")]
    for share, named in (("0.48", []), ("0.479", [[*trm[:5], "joint", "0.479", "0.5"]])):
        lines = [joined[0] | {"share": "0.5"}, joined[1] | {"share": share}]
        assert [*human_parity_power.below(lines)] == named


def test_every_kind_of_candidates_has_its_words():
    truth = human_parity_truth
    assert {*truth.DESERVED} == {*DAMAGES, *truth.COMPENSATED}
    assert set.union(*truth.DESERVED.values()) == {*truth.FAULTS}
    assert set.union(*map(truth.deserved_words, truth.SPEAKERS.values())) == {*truth.FAULTS}


# Speakers of made points whose images lie far apart.

VECTORS = np.random.default_rng(0).normal(size=(50, 24, 3)) + 100 * np.arange(50)[:, None, None]
POINTS = VectorPool(VECTORS, is_cosine=False)


def drawn_texts(speakers, size=(2, 3), n_rows=50, pool=POINTS):
    """Distances by speaker."""
    return draw_corpus(pool, np.arange(n_rows) % 50, size, speakers, np.random.default_rng(1))


def test_speakers_write_what_they_are_named_after():
    wrong, whole, bland, people = drawn_texts(
        [KnownSpeaker(0.5), KnownSpeaker(0.5, whole=True), KnownSpeaker(is_bland=True), KnownSpeaker()]
    )
    is_far = {name: rows[:, :2, 2:].min(axis=2) > 50 for name, rows in (("wrong", wrong), ("whole", whole))}
    assert {*is_far["wrong"].sum(axis=1)} == {0, 1, 2}
    assert {*is_far["whole"].sum(axis=1)} == {0, 2}
    both_wrong = is_far["whole"].all(axis=1)
    assert (whole[both_wrong, 0, 1] < 50).all()
    assert bland[:, :2, 2:].mean() < people[:, :2, 2:].mean()
    # The references are the same.
    assert (bland[:, 2:, 2:] == people[:, 2:, 2:]).all()
    assert (wrong[:, 2:, 2:] == people[:, 2:, 2:]).all()
    # No two texts of a row are one.
    assert all((rows[:, ~np.eye(5, dtype=bool)] > 0).all() for rows in (bland, people, wrong))
    # Bland captions are the most ordinary of twenty.
    few = VectorPool(VECTORS[:, :20], is_cosine=False)
    (rows,) = drawn_texts([KnownSpeaker(is_bland=True)], (1, 19), pool=few)
    sums = rows.sum(axis=2)
    assert (sums[:, 0] == sums.min(axis=1)).all()


def test_a_share_of_bad_captions_separates_them_from_good_ones():
    texts = [["a dog", "a red car", "a red car is here", "a red car"], ["a red car", "a red car", "a red car", "a dog"]]
    assert human_parity_experts.farthest_shares(texts, "meteor").tolist() == [1.0, 0.0]
    # Ties are shared.
    assert human_parity_experts.farthest_shares([["a dog", "a red car"]], "meteor").tolist() == [0.5]
    assert human_parity_experts.area_under_curve(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == 0.75


# What single studies count, by hand.

IMAGES_OF_STUDIES = [[f"{image} dog number {caption}" for caption in range(15)] for image in "abcd"]


def test_a_test_needs_the_least_number_from_which_on_it_rejects():
    assert first_rejecting({2: 0.2, 3: 0.05, 4: 0.01}) == 3
    assert first_rejecting({2: 0.01, 3: 0.2}) == np.inf
    key = {"system": "a", "measure": "x", "harmonic_mean_p": "0.5"}
    lines = [
        key | {"trial": str(trial), "n_candidates": str(n), "corpus_p": "0.01" if n > trial else "0.5"}
        for trial in range(3)
        for n in (1, 2, 3)
    ]
    assert [*list_needed(lines, 3)] == [["a", "x", "harmonic_mean_p", "-", "-", "-"], ["a", "x", "corpus_p", 2, 1, 3]]


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
    captions = StudyCaptions("given", IMAGES_OF_STUDIES, {}, (4, 3))
    drawn = draw_systems(captions, ("human", "repeated"), 3, (0, 1))
    assert len(drawn.references) == 3
    for human, repeated, references in zip(*drawn.candidates.values(), drawn.references, strict=True):
        assert len({*human, *references}) == 7
        assert repeated == human[:1] * 4
    assert drawn == draw_systems(captions, ("human", "repeated"), 3, (0, 1))


def test_systems_of_tables_are_joined_to_people(tmp_path):
    people, mine, few = (str(tmp_path / f"{name}.csv") for name in ("people", "mine", "few"))
    for path, lines in (
        (people, [f"{i},{caption}" for i, row in enumerate(IMAGES_OF_STUDIES) for caption in row]),
        (mine, [f"{i},mine {i}" for i in (3, 2, 1, 0)]),
        (few, ["1,mine"]),
    ):
        with open(path, "w") as file:
            file.write("\n".join(["id,caption", *lines, ""]))
    assert [row.references for row in read_people([people]).values()] == IMAGES_OF_STUDIES
    given = ["--references", people, "--sizes", "1", "4", "--predictions"]
    assert read_captions(parse([*given, f"mine={mine}"])).systems == {"mine": [[f"mine {i}"] for i in range(4)]}
    for arguments, message in (
        ([*given, f"mine={few}"], r"expected candidates of id '0', got none \(3 such ids in all\)"),
        ([*given, "mine.csv"], r"--predictions: expected NAME=FILE, got 'mine\.csv'"),
        ([*given[:2], "--sizes", "10", "10"], "--sizes: expected at least two images with 20 human captions, got 0"),
        (["--corpus", "MSVD"], "--data: expected a folder with the files of --corpus, got none"),
    ):
        with pytest.raises(ValueError, match=message):
            read_captions(parse(arguments))


def draw_damaged(damage):
    return draw_rows(IMAGES_OF_STUDIES, [0, 1, 2, 3, 0], (5, 3), damage, np.random.default_rng(0))


def test_rows_differ_in_the_damage_alone():
    human, references = draw_damaged("human")
    assert [{caption[0] for caption in row} for row in human] == [{image} for image in "abcda"]
    assert all(len(set(p + r)) == 8 for p, r in zip(human, references, strict=True))
    replaced = {}
    for damage in KINDS_OF_DAMAGE:
        predictions, same_references = draw_damaged(damage)
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
    assert draw_damaged("repeated")[0] == [row[:1] * 5 for row in human]


def test_rows_to_detect_by_hand():
    for excess, needed_rows in ((0.5, 34.26), (0.1, math.nan), (-0.1, math.nan), (-0.5, math.inf)):
        # Both deviations are 1: ((1.645 + 1.282) / 0.5)^2 = 34.26; 0.1 is two standard errors.
        values = np.tile([excess - 1, excess + 1], 200)
        rows = RowsWithNulls(values, np.ones(400), np.tile([-1.0, 1.0], (400, 1)))
        assert rows_to_detect(rows) == pytest.approx(needed_rows, abs=0.05, nan_ok=True)
    shown = [as_shown("rows_to_detect", cell) for cell in ("nan", "inf", "3.2", "1299.2")]
    assert shown == ["-", "never", "< 10", "1,300"]


# Pairs of systems for the paired test.


def pair(setting):
    return draw_pair(IMAGES_OF_STUDIES, setting, np.random.default_rng(0))


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


# Speakers who choose whole captions by every setting.


def share(setting, index, n=20_000):
    indices = decode(np.array([0.1, 0.6, 0.3]), setting, n, np.random.default_rng(0))
    return indices.count(index) / n


def test_whole_captions_are_decoded_as_tokens_are():
    assert share(Setting(), 1) == pytest.approx(0.6, abs=0.01)
    # 0.6^2 / (0.1^2 + 0.6^2 + 0.3^2) = 0.7826.
    assert share(Setting(0.5), 1) == pytest.approx(0.7826, abs=0.01)
    # Top-p 0.9 keeps 0.6 and 0.3, whose sum reaches it.
    assert share(Setting(top_p=0.9), 0) == 0
    assert share(Setting(top_p=0.9), 1) == pytest.approx(2 / 3, abs=0.01)
    assert decode(zipf_probabilities(30, 1), Setting(50.0, top_k=20), 2000, np.random.default_rng(0)).count(25) == 0
    rng = np.random.default_rng(0)
    assert decode(np.array([0.1, 0.6, 0.3]), Setting(greedy=True), 2, rng) == [1, 1]
    assert decode(np.array([0.1, 0.6, 0.3]), Setting(num_beams=4), 4, rng) == [1, 2, 0, 1]


def test_speakers_differ_in_their_mistakes_and_share_their_references():
    (candidates, references), (others, same), (_, greedy) = (
        draw_sides(IMAGES_OF_STUDIES, mistakes, (50, 5), 3, setting, (0, 0))
        for mistakes, setting in ((0.0, Setting()), (0.9, Setting()), (0.0, Setting(greedy=True)))
    )
    assert references == same == greedy
    for row, people in zip(candidates, references, strict=True):
        assert {caption[0] for caption in row} == {people[0][0]}
    wrong = [c[0] != r[0][0] for row, r in zip(others, references, strict=True) for c in row]
    assert np.mean(wrong) == pytest.approx(0.9, abs=0.1)


# Bags of words.


def test_captions_are_unit_vectors_of_their_words():
    assert bags_of_words(["a dog a", "dog", "."]).round(4).tolist() == [
        [0.8944, 0.4472, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],  # no word
    ]


def test_captions_of_a_list_may_hold_signs_that_split_lines_elsewhere(tmp_path):
    (tmp_path / "list.txt").write_bytes("a\tone\u2028two\r\na\tthree\x85\nb\tfour\n".encode())
    assert caption_rows.read_listed(tmp_path / "list.txt") == [["one\u2028two", "three\x85"], ["four"]]
