"""CHAIR as the published program computes it, caption by caption: no word is remembered, nothing is vectorised."""

import nltk
from textblob.inflect import singularize

from manycaps.kit.object_words import COCO_LEFT_OUT, COCO_OBJECTS, COCO_PAIRS, COCO_PAIRS_READ_AS

PAIRS = {pair: pair for pair in COCO_PAIRS.split(", ")} | COCO_PAIRS_READ_AS
NAMES = {word: group.split(", ")[0] for group in COCO_OBJECTS for word in group.split(", ")}


def named_objects(caption):
    """Names of the objects in a caption, one per mention, in its order."""
    words = [singularize(word) for word in nltk.word_tokenize(caption.lower(), preserve_line=True)]
    read = []
    while words:
        pair = PAIRS.get(" ".join(words[:2])) if len(words) > 1 else None
        read.append(pair or words[0])
        words = words[2:] if pair else words[1:]
    # The published program makes a set of all words for every word.
    return [NAMES[word] for word in read if word in set(NAMES) and COCO_LEFT_OUT.get(word) not in read]


def chair(captions, references, objects):
    """CHAIR-i, CHAIR-s and recall of one caption per row; None for references or objects leaves them out."""
    n_named = n_hallucinated = n_captions = n_recalled = n_true = 0
    for i, caption in enumerate(captions):
        truth = set(objects[i] if objects else ()) | {
            o for text in (references or {i: ()})[i] for o in named_objects(text)
        }
        named = named_objects(caption)
        hallucinated = [name for name in named if name not in truth]
        n_named, n_hallucinated = n_named + len(named), n_hallucinated + len(hallucinated)
        n_captions += bool(hallucinated)
        n_recalled, n_true = n_recalled + len(truth & set(named)), n_true + len(truth)
    return {"chair_i": n_hallucinated / n_named, "chair_s": n_captions / len(captions), "recall": n_recalled / n_true}


def leave_one_out(candidates, references):
    """Shares of candidates and of references that name what no other reference names; of one row."""
    people, beside = [], []
    for j, left_out in enumerate(references):
        truth = {name for k, text in enumerate(references) if k != j for name in named_objects(text)}
        people.append(any(name not in truth for name in named_objects(left_out)))
        beside += [any(name not in truth for name in named_objects(text)) for text in candidates]
    return sum(beside) / len(beside), sum(people) / len(people)
