"""What of a model's answer is the caption: its thoughts before it are left out; and whether it was cut at its limit."""

import re
from typing import NamedTuple

# How models mark what they think before they answer: tags of DeepSeek, Qwen and others, [THINK] of Magistral,
# ◁think▷ of Kimi, and the channels of gpt-oss.
_NAMES = "think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|seed:think"
_OPEN = (
    rf"(?:<(?:{_NAMES})>|<\|(?:begin_of_thought|think|thinking)\|>|◁think▷|\[THINK\]"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b)"
)
_CLOSE = (
    rf"(?:</(?:{_NAMES})>|<\|(?:end_of_thought|/think|/thinking)\|>|◁/think▷|\[/THINK\]"
    r"|(?:<\|start\|>assistant)?<\|channel\|>final(?:<\|message\|>)?|\Aanalysis.*?assistantfinal)"
)
_BLOCK = re.compile(f"{_OPEN}.*?{_CLOSE}", re.IGNORECASE | re.DOTALL)
_OPENED, _CLOSED = (re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in (_OPEN, _CLOSE))

# What stands around an answer after thoughts.
_ANSWER = re.compile(
    r"\s*(?:<answer>|<\|begin_of_solution\|>)(.*?)(?:</answer>|<\|end_of_solution\|>)?\s*", re.IGNORECASE | re.DOTALL
)


class Sample(NamedTuple):
    """An answer of a model."""

    text: str
    # Whether it ended at the largest number of tokens, not where the model ended it.
    is_cut: bool = False
    # Whether the model thought in it before it answered.
    has_thoughts: bool = False

    @property
    def is_spent(self) -> bool:
        """Whether all of its tokens went to thoughts."""
        return self.is_cut and self.has_thoughts and not self.text


def without_thoughts(text: str) -> tuple[str, bool]:
    """Return an answer without what the model thought before it, and whether there was anything.

    A template may have opened the thoughts in the prompt: then all up to the last closing mark goes. Thoughts without
    an end were cut, and no answer follows.

    >>> without_thoughts("<think>A dog? Yes.</think> A dog runs.")
    ('A dog runs.', True)
    >>> without_thoughts("A dog? Yes.</think> A dog runs."), without_thoughts("<think>A dog?")
    (('A dog runs.', True), ('', True))
    >>> without_thoughts("A dog runs.")
    ('A dog runs.', False)
    """
    answer = _BLOCK.sub("", text)
    for closed in list(_CLOSED.finditer(answer))[-1:]:
        answer = answer[closed.end() :]
    if (opened := _OPENED.search(answer)) is not None:
        answer = answer[: opened.start()]
    had_thoughts = answer != text
    whole = _ANSWER.fullmatch(answer)
    return (whole[1] if whole else answer).strip(), had_thoughts


def is_thought_mark(token: str) -> bool:
    """Return whether a token opens or closes thoughts.

    >>> is_thought_mark("[THINK]"), is_thought_mark("[PAD]")
    (True, False)
    """
    return bool(_OPENED.fullmatch(token) or _CLOSED.fullmatch(token))
