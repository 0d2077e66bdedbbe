"""Bags of words, by hand."""

from scripts.studies.embeddings import bags_of_words


def test_bags_are_unit_vectors_of_counts():
    bags = bags_of_words(["a dog a", "dog", "."])
    assert bags[0].round(4).tolist() == [0.8944, 0.4472, 0.0]
    assert bags[1].tolist() == [0.0, 1.0, 0.0]
    assert bags[2].tolist() == [0.0, 0.0, 0.0]  # no word
