"""What single studies count, by hand."""

import numpy as np
import pytest

from scripts.studies.central_captions import Details
from scripts.studies.quality_diversity import mixed
from scripts.studies.sensitivity import first_rejecting, needed
from scripts.studies.study_inputs import StudyCaptions, draw_systems, read_captions, read_people

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
