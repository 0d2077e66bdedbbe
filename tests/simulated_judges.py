"""Simulated texts of people and systems, and judges whose preferences are known."""

import numpy as np

N_WORDS = 400


def simulated_texts(rng, n_rows=60, n_references=4, n_systems=3):
    """Texts, references and systems of rows: Zipf's words, some of the row's own, of phrases of one speaker.

    Systems differ in the mean length and in how often they name what the row is about, and so do texts of a system.
    """
    chances = 1 / np.arange(1, N_WORDS + 1)
    chances /= chances.sum()
    follower = rng.permutation(N_WORDS)
    texts, references = [], []
    for _ in range(n_rows):
        topic = rng.choice(N_WORDS, size=8, p=chances)
        people = [_text(rng, chances, follower, topic, 9, 0.5) for _ in range(n_references + 1)]
        mine = [_text(rng, chances, follower, topic, 8 + 3 * i, 0.6 - 0.15 * i) for i in range(n_systems)]
        texts.append([*mine, people[0]])
        references.append(people)
    systems = [[f"system{i}" for i in range(n_systems)] + ["people"]] * n_rows
    return texts, references, systems


def _text(rng, chances, follower, topic, mean_length, of_topic):
    share, words = rng.uniform(0.5, 1.5) * of_topic, []
    for _ in range(max(3, rng.poisson(mean_length))):
        if words and rng.random() < 0.35:
            words.append(int(follower[words[-1]]))
        elif rng.random() < share:
            words.append(int(rng.choice(topic)))
        else:
            words.append(int(rng.choice(N_WORDS, p=chances)))
    return [f"w{word}" for word in words]


def truth_of(rng, texts):
    """How good each text is: drawn for itself, better for some systems, and whatever its words are."""
    return [[float(rng.normal(0.3 * i)) for i in range(len(row))] for row in texts]


def with_noise(rng, values, size=0.5):
    """Values of texts with noise."""
    return [[value + size * float(rng.normal()) for value in row] for row in values]
