"""What may be said in words of a result of human parity: the one place that says what each word needs.

A word needs the joint p-value to be at most 0.05, and the 95 % interval of its share to lie above what people give.
Where the joint test finds nothing, since wrong captions and bland ones make up for each other in the means, the
interval is widened for four words (Bonferroni). So each word is false in at most 5 % of the cases: of people, and of
systems with another damage than the one that it names. Measured by `python -m scripts.studies.human_parity_truth`.

Three shares are read with care. Captions that stand out, farther from the references than people's, are a lower bound
of those that people would not have written (nearly tight with MiniLM, about a half with METEOR), so that only the lower
end is said of the latter. Copies of references are as near to them as the most ordinary captions: if more captions
stand among the references than people's do, nothing is called bland. And captions that lie farther apart than people's
are no praise: wrong ones do.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import scipy.special

from .sets_parity_power import LEVEL

# Half-widths of intervals for four words beside those for one.
WIDENED = float(scipy.special.ndtri(1 - LEVEL / 8) / scipy.special.ndtri(1 - LEVEL / 2))


class ParityWord(NamedTuple):
    """One thing that is said."""

    # "untested", "alike", "undecided", "told", "unlike", "copies", "bland", "repeats" or "apart".
    name: str
    # A sentence of plain English.
    sentence: str


def words_of(result: Mapping[str, float]) -> list[ParityWord]:
    """Say what a result means.

    Args:
        result: of `human_parity`, with its p-value and confidence_level=0.95.

    Returns:
        At least one word: "untested" alone where there is no p-value, "alike" alone where nothing tells the candidates
        from people, "told" alone where no share says why. Others, after "undecided" where the joint test finds nothing.

    Raises:
        ValueError: the result has no p-value or no intervals.

    >>> result = {"human_parity_p_value": 0.01}
    >>> shares = {"unlike_people": (0.0, 0.0), "copied": (0.0, 0.0), "central": (0.32, 1 / 6)}
    >>> for name, (share, people) in (shares | {"repeat": (0.1, 0.1), "spread": (0.1, 0.1)}).items():
    ...     ends = {"": share, "_ci_low": share - 0.03, "_ci_high": share + 0.03, "_of_people": people}
    ...     result |= {f"{name}_share{end}": value for end, value in ends.items()}
    >>> [word.sentence for word in words_of(result)]
    ['Blander than people: 32 % are the most ordinary caption (people 17 %).']
    """
    missing = [key for key in ("human_parity_p_value", "unlike_people_share_ci_low") if key not in result]
    if missing:
        raise ValueError(
            f"result: expected the key {missing[0]!r}, got none. Compute it with p_value other than 'none', and with "
            "confidence_level=0.95."
        )
    p_value = result["human_parity_p_value"]
    if math.isnan(p_value):
        return [ParityWord("untested", "Not tested: all captions of a row are equally far apart, or rows are too few.")]
    is_told = p_value <= LEVEL
    found = _of_shares(result, 1.0 if is_told else WIDENED)
    if found and not is_told:
        found.insert(0, ParityWord("undecided", f"The joint test does not tell it from people (p = {p_value:.2f})."))
    if found:
        return found
    if is_told:
        return [ParityWord("told", f"Told from people (p {_p_value(p_value)}); no share says by what.")]
    high = result["unlike_people_share_ci_high"]
    bound = "" if math.isnan(high) else f"; at most {_at_most(high)} of its captions stand out from theirs (95 %)"
    return [ParityWord("alike", f"Cannot be told from people{bound}.")]


def _of_shares(result: Mapping[str, float], widened: float) -> list[ParityWord]:
    """The words whose intervals leave out what people give."""
    found = []
    if is_unlike := _is_above(result, "unlike_people_share", widened):
        value, low, high = (result[f"unlike_people_share{end}"] for end in ("", "_ci_low", "_ci_high"))
        found.append(
            ParityWord(
                "unlike",
                f"At least {_at_least(low)} of its captions are not what people write "
                f"({_rounded(value)} [{100 * max(0, low):.0f}, {100 * min(1.0, high):.0f}] stand out).",
            )
        )
    if _is_above(result, "copied_share", widened):
        found.append(
            ParityWord(
                "copies",
                f"{_beside(result, 'copied_share', 'of its captions stand word for word among the references')}: "
                "copied, or the most ordinary ones.",
            )
        )
    elif _is_above(result, "central_share", widened):
        found.append(
            ParityWord(
                "bland", f"Blander than people: {_beside(result, 'central_share', 'are the most ordinary caption')}."
            )
        )
    if _is_above(result, "repeat_share", widened):
        found.append(
            ParityWord("repeats", f"{_beside(result, 'repeat_share', 'of its caption pairs are near repeats')}.")
        )
    # Captions that are not what people write lie far apart, too: then that has been said.
    if not is_unlike and _is_above(result, "spread_share", widened):
        found.append(
            ParityWord(
                "apart",
                "Its captions lie farther apart than people's: "
                f"{_beside(result, 'spread_share', 'of the pairs are among the farthest')}.",
            )
        )
    return found


def _is_above(result: Mapping[str, float], name: str, widened: float) -> bool:
    """Whether the lower end of a share's interval lies above what people give; False of what is NaN."""
    value, low = result[name], result[f"{name}_ci_low"]
    return value - widened * (value - low) > result.get(f"{name}_of_people", 0.0)


def _beside(result: Mapping[str, float], name: str, said: str) -> str:
    """A share in words, with people's behind it."""
    return f"{_rounded(result[name])} {said} (people {_rounded(result[f'{name}_of_people'])})"


def _rounded(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.0f} %"


def _at_least(share: float) -> str:
    """A share in percent, rounded down; below 1 % in tenths."""
    return f"{math.floor(100 * share)} %" if share >= 0.01 else f"{math.floor(1000 * max(0.0, share)) / 10:g} %"


def _at_most(share: float) -> str:
    """A share in percent, rounded up."""
    return f"{math.ceil(100 * min(1.0, max(0.0, share)))} %"


def _p_value(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.2g}"
