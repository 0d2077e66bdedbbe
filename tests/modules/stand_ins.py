"""Encoders that need no model, and the vectors that they make of the sample rows."""

import numpy as np

from tests.modules.sample_inputs import CAPTION_ROWS


def bag_of_words(captions):
    """Counts of the words that occur in any of the captions."""
    words = {word: i for i, word in enumerate(sorted({word for caption in captions for word in caption.split()}))}
    vectors = np.zeros((len(captions), len(words)))
    for vector, caption in zip(vectors, captions, strict=True):
        np.add.at(vector, [words[word] for word in caption.split()], 1)
    return vectors


def as_arrays(encoder, rows=CAPTION_ROWS):
    """The keywords of ready embeddings, for rows of captions."""
    captions = sorted({caption for column in rows.values() for row in column for caption in row})
    vectors = dict(zip(captions, encoder(captions), strict=True))
    return {
        f"{column.removesuffix('s')}_embeddings": [np.array([vectors[text] for text in row]) for row in rows[column]]
        for column in rows
    }
