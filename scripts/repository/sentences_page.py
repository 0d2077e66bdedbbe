"""Write docs/sentences.md: every verdict of `manycaps compare`, with its condition and an example.

`sync_kit` writes and checks it. It takes the sentences from the functions that make them.
"""

import itertools

from manycaps.comparison.sentences import SENTENCES

HEAD = """# Sentences of a comparison

Every verdict of [`manycaps compare`](compare.md), with the condition under which it is printed and an example.
Terminal, page, notebook and Markdown print the same ones; `make format` writes this page from the functions that make
them (`manycaps/comparison/sentences.py`).

How often is a sentence false? p is a test at 5%, corrected by Holm's method over the systems or over the pairs, and no
difference is said without it. What else a sentence says has an interval or a test of its own, by its condition. The
tests count it. A sentence about two systems is false of at most 5% of pairs of simulated systems, which are people,
wrong, repeating, generic or mixed (`tests/property/test_compared_parity.py`); a sentence about a system, of at most 5%
of samples of real captions that are wrong, generic, shuffled, repeated, begun alike, joined, cut, copied or mixed
(`tests/property/test_verdicts_truth.py`); both within the binomial error of the draws.
"""


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for about, listed in itertools.groupby(SENTENCES.values(), key=lambda sentence: sentence.about):
        lines = "\n".join(f"| {each.example} | {each.condition} |".replace("<", "\\<") for each in listed)
        parts.append(f"## {about}\n\n| sentence | printed if |\n|---|---|\n{lines}\n")
    return "\n".join(parts)
