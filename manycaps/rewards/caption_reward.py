"""What all rewards share: the two ways in which a trainer calls them, what it hands to them, and what they log.

Completions of a trainer are texts or conversations; which of them belong to one row is found over all processes.
"""

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from manycaps.files.result_tables import finite_numbers
from manycaps.kit.errors import check_n_rows, check_places

from ..kit.arrays import Floats, as_list
from ..kit.errors import InputError, InputTypeError, quote_value
from ..kit.module import as_label
from ..kit.rows import DecoderSigns, as_caption_rows, check_no_table
from ..kit.words_predictability import (
    LEAST_ROWS_OF_WORDING,
    LanguageModel,
    check_language_model,
    load_language_model,
    number_texts,
    seen_references,
    wording_of,
)
from ..kit.words_tests import wording_shares
from ..kit.words_tokenizers import Tokenizer, tokenize_rows

Reward = TypeVar("Reward", bound="CaptionReward")


class RewardedRows(NamedTuple):
    """Rows whose candidates are rewarded."""

    # n_rows lists of texts; the references are empty lists where the reward needs none.
    candidates: list[list[str]]
    references: list[list[str]]
    # n_rows images, for rewards that see them.
    images: Sequence[Any] | None = None


class Completion(NamedTuple):
    """A sampled text, what it is grouped by, and the references of its row."""

    text: str
    group: Hashable
    references: tuple[str, ...]


class CaptionReward:
    """A reward for captions: callable by a trainer of TRL, and by a loop of one's own.

    In a loop: `reward(candidates, references)`, lists of lists of texts, returns a float64 array of shape (n_rows,
    n_candidates). TRL's GRPOTrainer and RLOOTrainer, or any trainer with this contract, call
    `reward(prompts=..., completions=..., references=..., ...)` with one value for each completion, and get a list of
    floats. `last` has what the last call logged: beside what the reward watches, `wording_gap` and `odd_wording_share`
    of the module `wording`, for people 0 and 0.05, where references of ten rows are there to count n-grams in, or
    `with_language_model` has counted them. Both see broken language that the reward may not see.

    Args:
        references: name of the column of human texts, a list in every row.
        images: name of the column of images.
        name: what TRL's logs call it; default: the name of the class.
    """

    # Which columns the reward reads, and whether it compares the candidates of a row with each other.
    NEEDS_REFERENCES: ClassVar[bool] = True
    NEEDS_IMAGES: ClassVar[bool] = False
    NEEDS_GROUPS: ClassVar[bool] = False

    def __init__(self, *, references: str = "references", images: str = "image", name: str | None = None):
        self.__name__ = name or type(self).__name__
        self._references, self._images = references, images
        self._tokenizer: Tokenizer = "ptb"
        self._model: LanguageModel | None = None
        self._last: dict[str, float] = {}
        self._has_warned_of_signs = False
        # Rows of the last call, as long as nobody has asked for their wording.
        self._unwatched: RewardedRows | None = None

    def with_language_model(self: Reward, language_model: str | os.PathLike[str] | Mapping[str, Any]) -> Reward:
        """Watch the wording by the n-grams of a training corpus, not of the other rows of a step.

        Args:
            language_model: path of the counts that `manycaps count-ngrams` writes, or a mapping. All of them are looked
                at in every step: a million trigrams take about a second.

        Returns:
            The reward itself.

        Raises:
            TypeError, ValueError: the counts cannot be used.
        """
        check_language_model(language_model)
        self._model = load_language_model(language_model, self._tokenizer)
        return self

    def rewards_of(self, rows: RewardedRows) -> list[Floats]:
        """Return n_rows arrays, shape (n_candidates,): the rewards of each row; sets `last`."""
        raise NotImplementedError

    @property
    def last(self) -> dict[str, float]:
        """What the last call logged; the wording is scored when it is first asked for."""
        if self._unwatched is not None:
            rows, self._unwatched = self._unwatched, None
            self._last |= watch_wording(rows, self._tokenizer, self._model)
        return self._last

    @last.setter
    def last(self, values: dict[str, float]) -> None:
        self._last = values

    def _rewards(self, rows: RewardedRows) -> list[Floats]:
        """Rewards of rows, whose wording `last` scores."""
        if not self._has_warned_of_signs:  # once, not at every step
            counted = DecoderSigns()
            for texts, people in zip(rows.candidates, rows.references, strict=True):
                counted.add(texts, people)
            self._has_warned_of_signs = counted.words() is not None
            counted.warn("completions")
        rewards = self.rewards_of(rows)
        self._unwatched = rows._replace(images=None)
        return rewards

    def check_sizes(self, sizes: Sequence[int], where: str) -> None:
        """Raise unless groups of these sizes can be rewarded; `where` says what sets the size."""

    def __call__(
        self,
        candidates: Sequence[Sequence[str]] | None = None,
        references: Sequence[Any] | None = None,
        images: Sequence[Any] | None = None,
        *,
        completions: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> Any:
        """Reward captions.

        Args:
            candidates: in a loop, n_rows lists of equally many texts.
            references: n_rows lists of human texts.
            images: n_rows images, of rewards that see them.
            completions: from a trainer, texts or conversations; groups are consecutive ones with equal prompts and
                references, or those with equal values in a column `group`.
            prompts: of the completions.
            log_metric: called with names and numbers.
            log_extra: called with a name and the list of the rewards.
            columns: of the data set, and what else a trainer gives.

        Returns:
            float64 array, shape (n_rows, n_candidates), or for completions a list of floats.

        Raises:
            TypeError: a text is no string.
            ValueError: a column is missing or has another length, or groups of other sizes than the reward takes.
        """
        given = {"references": references, "images": images}
        columns |= {name: column for name, column in given.items() if column is not None}
        if completions is None:
            return self._reward_rows(candidates, columns)
        completions = as_list(completions, "completions", "a list of texts")
        prompts = None if prompts is None else as_list(prompts, "prompts", "one for each completion")
        if not completions:
            return []
        rewards = self._reward_completions(completions, prompts, columns)
        for name, value in self.last.items() if log_metric is not None else ():
            log_metric(f"{self.__name__}/{name}", value)  # type: ignore[misc]
        if log_extra is not None:
            log_extra(f"{self.__name__}_reward", rewards)
        return rewards

    def _reward_rows(self, candidates: Any, columns: Mapping[str, Any]) -> Floats:
        """Rewards of a loop's rows."""
        rows = as_caption_rows(candidates, "candidates", sampled=True)
        references: list[list[str]] = [[] for _ in rows]
        if self.NEEDS_REFERENCES:
            references = as_references(columns.get("references"), "references")
        images = self._image_column(columns, "images")
        for name, column in (("references", references), ("images", images)):
            if column is not None:
                check_n_rows(name, len(column), "candidates", len(rows))
        sizes = [len(row) for row in rows]
        others = [i for i, size in enumerate(sizes) if size != sizes[0]]
        fix = "Sample equally many for every row."
        check_places(others, "candidates", f"{sizes[0]} texts as in row 0", "another number", fix)
        self.check_sizes(sizes, "candidates")
        return np.stack(self._rewards(RewardedRows(rows, references, images)))

    def _reward_completions(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[float]:
        """Rewards of a trainer's completions."""
        n = len(completions)
        references: list[list[str]] = [[] for _ in range(n)]
        if self.NEEDS_REFERENCES:
            references = as_references(column_of(columns, self._references), self._references)
        images = self._image_column(columns, self._images)
        check_column_lengths(n, **{self._references: references, self._images: images})
        if self.NEEDS_GROUPS:
            return self._reward_groups(as_completions(completions, prompts, references, column_of(columns, "group")))
        texts = completion_texts(completions)
        values = self._rewards(RewardedRows([[text] for text in texts], references, images))
        if prompts is not None and self.NEEDS_REFERENCES:
            self._last |= different_share(texts, groups_of(as_completions(texts, prompts, references, None)))
        return [float(value) for row in values for value in row]

    def _reward_groups(self, completions: list[Completion]) -> list[float]:
        """Rewards of completions that are compared within their row, over all processes."""
        everyone, own = gather(completions)
        # The groups of this process alone; of one that is spread over several, all of it.
        groups = [group for group in groups_of(everyone) if any(i in own for i in group)]
        self.check_sizes([len(group) for group in groups], "num_generations")
        texts = [[everyone[i].text for i in group] for group in groups]
        references = [list(everyone[group[0]].references) for group in groups]
        values = np.concatenate(self._rewards(RewardedRows(texts, references)))
        rewards = dict(zip(itertools.chain.from_iterable(groups), values.tolist(), strict=True))
        return [rewards[i] for i in own]

    def _image_column(self, columns: Mapping[str, Any], name: str) -> Any:
        """The column of images; None where the reward sees none."""
        if not self.NEEDS_IMAGES:
            return None
        images = columns.get(name)
        if images is None:
            raise InputError(
                name, "a column of images", "none", "Add it to the data set, or give its name as images=..."
            )
        return images


def completion_texts(completions: Sequence[Any]) -> list[str]:
    """Return the texts of completions: plain ones, or the assistant's messages in conversations.

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
        expected = "a text, or a list of messages with role and content"
        raise InputTypeError(where, expected, quote_value(value), "Give what the trainer sampled.") from error


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
        raise InputError("prompts", "one for each completion", "none", "Give them, or a column group.")
    keys: list[Any] = []
    if labels is not None:
        keys = [("label", _as_label(label, f"group[{i}]")) for i, label in enumerate(labels)]
    elif prompts is not None:
        keys = [_text_of(prompt, f"prompts[{i}]", set()) for i, prompt in enumerate(prompts)]
    check_column_lengths(len(texts), references=references, **{"group" if labels is not None else "prompts": keys})
    return [Completion(text, key, tuple(own)) for text, key, own in zip(texts, keys, references, strict=True)]


def _as_label(value: Any, where: str) -> Hashable:
    """A value of the column group as a plain one; of a tensor or an array of several numbers a tuple.

    >>> _as_label(np.array(3), "group[0]"), _as_label(["coco", 3], "group[0]")
    (3, ('coco', 3))
    """
    try:
        return as_label(_without_lists(value.tolist() if hasattr(value, "tolist") else value), where)
    except InputError:
        shared = "a number or a text that all completions of a row share"
        raise InputTypeError(where, shared, quote_value(value), "Give the id of the row.") from None


def _without_lists(value: Any) -> Any:
    return tuple(map(_without_lists, value)) if isinstance(value, list | tuple) else value


def check_column_lengths(n_completions: int, **columns: Sequence[Any] | None) -> None:
    """Raise unless every given column has one value for each completion."""
    for name, values in columns.items():
        if values is not None and len(values) != n_completions:
            expected = f"one value for each of the {n_completions} completions"
            raise InputError(name, expected, len(values), "Repeat a row's value for each of its completions.")


def as_references(column: Any, name: str) -> list[list[str]]:
    """Return a column of references as lists of texts."""
    if column is None:
        fix = "Add it to the data set, or give its name as references=..."
        raise InputError(name, "a column of human texts, a list in every row", "none", fix)
    rows: list[list[str]] = as_caption_rows(column, name)
    return rows


def groups_of(completions: Sequence[Completion]) -> list[list[int]]:
    """Return the numbers of the completions of each row: consecutive ones of one prompt, or all of one label.

    Rows with one prompt, as of captioners that are told the same of every image, differ in their references.

    Raises ValueError if completions of one label have different references.

    >>> groups_of([Completion(text, prompt, ()) for text, prompt in (("a", "p"), ("b", "p"), ("c", "q"), ("d", "p"))])
    [[0, 1], [2], [3]]
    """
    groups: list[list[int]] = []
    labelled: dict[Hashable, list[int]] = {}
    for i, (_, key, references) in enumerate(completions):
        if isinstance(key, tuple):
            if key not in labelled:
                groups.append(labelled.setdefault(key, []))
            elif sorted(references) != sorted(completions[first := labelled[key][0]].references):
                expected = f"the references of completion {first}, which has the value {quote_value(key[1])} too"
                fix = "Give completions of different rows different values."
                raise InputError(f"group[{i}]", expected, "others", fix)
            labelled[key].append(i)
        elif i and completions[i - 1][1:] == (key, references):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def gather(own: list[Completion]) -> tuple[list[Completion], range]:
    """Return the completions of all processes, and the numbers of this one's.

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
    if column is None:
        return None
    check_no_table(column, name, "one value for each completion")
    values = as_list(column, name, "one value for each completion")
    return None if all(value is None for value in values) else values


def different_share(texts: Sequence[str], groups: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return the share of different texts in a group, mean over groups; nothing where all are of one text.

    >>> different_share(["a", "a", "b"], [[0, 1], [2]])
    {'different_share': 0.5}
    """
    shares = [len({texts[i] for i in group}) / len(group) for group in groups if len(group) > 1]
    return {"different_share": sum(shares) / len(shares)} if shares else {}


def watch_wording(rows: RewardedRows, tokenizer: Tokenizer, model: LanguageModel | None) -> dict[str, float]:
    """Return the mean wording gap and the share of odd captions; nothing of fewer than ten rows without a model.

    Rows with equal references are one.
    """
    merged: dict[tuple[str, ...], list[str]] = {}
    for texts, references in zip(rows.candidates, rows.references, strict=True):
        if references:
            merged.setdefault(tuple(sorted(references)), []).extend(texts)
    if len(merged) < (LEAST_ROWS_OF_WORDING if model is None else 1):
        return {}
    candidates, people = [*merged.values()], [list(key) for key in merged]
    coded = number_texts(tokenize_rows(candidates, tokenizer), tokenize_rows(people, tokenizer), model=model)
    if seen_references(coded).is_seen:  # one text, so that it is said once and not at every step
        warnings.warn(
            "language_model: it has nearly all trigrams of the references, as if it had been counted in them: people's "
            "captions are then more predictable than any candidate. Count the n-grams of other captions.",
            stacklevel=2,
        )
    wording = wording_of(coded, is_tested=False)
    odd = wording_shares(wording).shares["odd_wording_share"]
    return finite_numbers({"wording_gap": float(wording.gaps.mean()), "odd_wording_share": odd.value})
