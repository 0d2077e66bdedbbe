"""Overlap with labels and the best transfer along them as plain loops over captions and labels."""

from nltk.stem.porter import PorterStemmer

from manycaps.kit.words_ptb import ptb_tokens
from tests.oracles import bleu_rouge_loop

STEM = PorterStemmer().stem


def is_found(caption, name, way):
    tokens, words = ptb_tokens(caption), ptb_tokens(name)
    if way == "exact":
        return name in " ".join(caption.lower().split())
    if way == "words":
        return bool(words) and any(tokens[i : i + len(words)] == words for i in range(len(tokens)))
    return bool(words) and all(STEM(word) in map(STEM, tokens) for word in words)


def share(rows, labels, way):
    return sum(any(is_found(c, n, way) for c in row for names in labels for n in names) for row in rows) / len(rows)


def transfer(rows, training, labels):
    """Best and mean BLEU-4 of each row; None without a candidate."""
    results = []
    for row in rows:
        references = [ptb_tokens(caption) for caption in row]
        candidates = {
            tuple(ptb_tokens(caption))
            for other in training
            for caption in other
            for names in labels
            if any(is_found(caption, n, "exact") for n in names)
            and any(is_found(own, n, "exact") for own in row for n in names)
        }
        scores = [
            bleu_rouge_loop.bleu(bleu_rouge_loop.bleu_statistics(list(candidate), references))[3]
            for candidate in sorted(candidates)
            if list(candidate) not in references
        ]
        results.append((max(scores), sum(scores) / len(scores)) if scores else None)
    return results
