"""What a trainer hands to a reward: completions as texts, and which of them belong to one row, over all processes."""

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..kit.base_messages import shown_value
from ..kit.base_rows import as_caption_rows


class Completion(NamedTuple):
    """A sampled text, what it is grouped by, and the references of its row."""

    text: str
    group: Hashable
    references: tuple[str, ...]


def completion_texts(completions: Sequence[Any]) -> list[str]:
    """Return the texts of completions: plain ones, or conversations, of which the assistant's messages count.

    >>> completion_texts(["a dog", [{"role": "assistant", "content": "a cat"}]])
    ['a dog', 'a cat']
    """
    return [_text_of(completion, f"completions[{i}]", {"assistant"}) for i, completion in enumerate(completions)]


def _text_of(value: Any, where: str, roles: set[str]) -> str:
    """The text of a string or of a conversation, in which messages of `roles` count; without roles, all messages."""
    if isinstance(value, str):
        return value
    try:
        contents = [message["content"] for message in value if not roles or message.get("role", "assistant") in roles]
        return " ".join(text for content in contents for text in _parts(content)).strip()
    except (AttributeError, KeyError, TypeError) as error:
        raise TypeError(
            f"{where}: expected a text, or a list of messages with role and content, got {shown_value(value)}. Give "
            "what the trainer sampled."
        ) from error


def _parts(content: Any) -> Iterator[str]:
    """The texts of a message: of one in parts those that are texts, not images."""
    if content is None:  # a message that is a call of a tool
        return
    if isinstance(content, str):
        yield content
        return
    for part in content:
        if isinstance(part, str) or part.get("type", "text") == "text":
            yield part if isinstance(part, str) else part["text"]


def as_completions(
    completions: Sequence[Any], prompts: Sequence[Any] | None, references: Sequence[Sequence[str]], labels: Any
) -> list[Completion]:
    """Put together what a row's completions share."""
    texts = completion_texts(completions)
    if labels is None and prompts is None:
        raise ValueError("prompts: expected one for each completion, got none. Or give a column group.")
    keys: list[Any] = []
    if labels is not None:
        keys = [("label", label) for label in labels]
    else:
        keys = [_text_of(prompt, f"prompts[{i}]", set()) for i, prompt in enumerate(prompts or ())]
    check_column_lengths(len(texts), references=references, **{"group" if labels is not None else "prompts": keys})
    return [Completion(text, key, tuple(own)) for text, key, own in zip(texts, keys, references, strict=True)]


def check_column_lengths(n_completions: int, **columns: Sequence[Any]) -> None:
    """Raise unless every column has one value for each completion."""
    for name, values in columns.items():
        if len(values) != n_completions:
            raise ValueError(
                f"{name}: expected one value for each of the {n_completions} completions, got {len(values)}. Repeat "
                "those of a row for each of its completions."
            )


def as_references(column: Any, name: str) -> list[list[str]]:
    """Return a column of references as lists of texts."""
    if column is None:
        raise ValueError(
            f"{name}: expected a column of human texts, a list in every row, got none. Add it to the data set, or give "
            "its name as references=..."
        )
    rows: list[list[str]] = as_caption_rows(column, name)
    return rows


def groups_of(completions: Sequence[Completion]) -> list[list[int]]:
    """Return the numbers of the completions of each row: consecutive ones of one prompt, or all of one label.

    Rows with one prompt, as of captioners that are told the same of every image, differ in their references.

    >>> groups_of([Completion(text, prompt, ()) for text, prompt in (("a", "p"), ("b", "p"), ("c", "q"), ("d", "p"))])
    [[0, 1], [2], [3]]
    """
    groups: list[list[int]] = []
    labelled: dict[Hashable, list[int]] = {}
    for i, (_, key, references) in enumerate(completions):
        if isinstance(key, tuple):
            if key not in labelled:
                groups.append(labelled.setdefault(key, []))
            labelled[key].append(i)
        elif i and completions[i - 1][1:] == (key, references):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def gathered(own: list[Completion]) -> tuple[list[Completion], range]:
    """Return the completions of all processes, and the numbers of those of this one.

    Every process of `torch.distributed` has to call this at the same step. Without several processes it returns what it
    got.
    """
    distributed = process_group()
    if distributed is None:
        return own, range(len(own))
    parts: list[list[Completion]] = [[]] * distributed.get_world_size()
    distributed.all_gather_object(parts, own)
    first = sum(map(len, parts[: distributed.get_rank()]))
    return [completion for part in parts for completion in part], range(first, first + len(own))


def process_group() -> Any:
    """Return `torch.distributed` where it runs with several processes, else None; torch is not imported."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed if distributed.get_world_size() > 1 else None


def column_of(columns: Mapping[str, Any], name: str) -> Any:
    """Return a column by its name; None where there is none, or where it holds nothing but None."""
    column = columns.get(name)
    return None if column is None or all(value is None for value in column) else column
