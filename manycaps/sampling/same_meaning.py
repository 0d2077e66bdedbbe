"""A server of chat completions as the judge of two texts: do they mean the same? Every answer is kept in a file."""

import contextlib
import json
import pathlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from tqdm import tqdm

from manycaps.files.saved_files import check_can_be_written, lock_output, name_changes
from manycaps.kit.errors import InputError, quote_path, quote_value
from manycaps.kit.options import check_whole_number
from manycaps.sampling.answers import without_thoughts
from manycaps.sampling.sample_options import SampleOptions
from manycaps.sampling.server_requests import RefusedError, Requests

Pair: TypeAlias = tuple[str, str]

# What is asked of two texts, which follow it.
QUESTION = (
    "Do these two texts mean the same, so that whoever has read one of them learns nothing new from the other? Answer "
    "yes or no."
)

# Tokens of an answer.
MOST_TOKENS = 16

# How an answer begins, behind what a model thought.
YES_OR_NO = re.compile(r"\W*(yes|no)\b(?!\W*(or\W*)?(yes|no)\b)", re.DOTALL | re.IGNORECASE)

# Held by the thread that asks: the file of answers is one program's at a time, and in it one thread's.
_ASKING = threading.Lock()


class SameMeaning:
    """Whether two texts mean the same, as a model at a server says: for `set_diversity(equivalent=...)`.

    Each two different texts are asked about once, in the order of the alphabet and at temperature 0, and the answer is
    kept in a file of JSON Lines, whose first line holds the model and the question. Every line is written as soon as
    it is known: what is killed resumes, and a line that was not finished is asked again.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        cache: str | pathlib.Path,
        question: str = QUESTION,
        max_tokens: int = MOST_TOKENS,
        concurrency: int = SampleOptions.concurrency,
        retries: int = SampleOptions.retries,
        timeout: float = SampleOptions.timeout,
    ):
        """Check the options; the key of the server comes from the environment, as for `manycaps sample`.

        Args:
            url: address of the server, such as http://localhost:8000/v1.
            model: its name at the server.
            cache: file of the answers, made if it does not exist.
            question: what is asked of the two texts, which follow it; the answer must be yes or no.
            max_tokens: of an answer; a model that thinks before it answers needs more.
            concurrency: requests at a time.
            retries: further attempts of each.
            timeout: seconds of an attempt.

        Raises:
            TypeError, ValueError: an option cannot be used.
        """
        check_whole_number("max_tokens", max_tokens, 1)
        self.path = pathlib.Path(cache)
        self._options = SampleOptions(
            model, [], self.path, url=url, concurrency=concurrency, retries=retries, timeout=timeout
        )
        self._settings = {"model": model, "question": question, "max_tokens": max_tokens}
        # For the signature.
        self.__name__ = f"same_meaning({model})"
        # The answers that were read, and how many bytes of the file these take.
        self._answers: dict[Pair, bool] = {}
        self._n_read = 0

    def __call__(self, first: str, second: str) -> bool:
        """Return whether two texts mean the same."""
        return self.of_pairs([(first, second)])[0]

    def of_pairs(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return whether the texts of every pair mean the same; those that are not known are asked for together.

        Raises:
            ValueError: the file is not one of these answers, or the server gives none that is yes or no.
            OSError: the file cannot be read or written, or another program writes to it.
        """
        ordered = [(min(pair), max(pair)) for pair in pairs]
        with _ASKING:
            unknown = [pair for pair in dict.fromkeys(ordered) if pair[0] != pair[1] and pair not in self._answers]
            if unknown:
                with self._open() as file:
                    self._ask([pair for pair in unknown if pair not in self._answers], file)
            return [first == second or self._answers[first, second] for first, second in ordered]

    def _ask(self, pairs: Sequence[Pair], file: Any) -> None:
        """Ask about pairs, several at a time, and write each answer as it comes."""
        requests = Requests(self._options, "yes or no", "the texts {}")
        writing = threading.Lock()

        def ask(pair: Pair) -> None:
            is_same = self._answer(requests, pair)
            with writing:
                self._append(file, {"texts": pair, "same": is_same})
                self._answers[pair] = is_same

        asked = requests.answers(ask, pairs, self._options.concurrency)
        for _ in tqdm(asked, desc="same meaning?", total=len(pairs), unit="pair", delay=1):
            pass

    def _answer(self, requests: Requests, pair: Pair) -> bool:
        """Ask about a pair."""
        first, second = (json.dumps(text, ensure_ascii=False) for text in pair)
        content = f"{self._settings['question']}\n\nText 1: {first}\nText 2: {second}"
        body = {
            "model": self._settings["model"],
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": self._settings["max_tokens"],
        }
        named = " and ".join(map(quote_value, pair))
        try:
            text, _ = without_thoughts(requests.texts(body, 1, named)[0].text)
        except RefusedError as refusal:
            raise InputError("--url", f"an answer for the texts {named}", f"a refusal: {refusal}") from None
        answer = YES_OR_NO.match(text)
        if answer is None:
            got = quote_value(requests.words(text)) if requests.words(text) else f"a text of {len(text):,} characters"
            fix = f"Ask another model or question, or for more tokens; {quote_path(self.path)} keeps earlier answers."
            raise InputError("equivalent", f"yes or no for the texts {named}", got, fix)
        return answer[1].lower() == "yes"

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the file to append to it, and read what is new in it; a last line without an end is deleted."""
        check_can_be_written(self.path)
        with self.path.open("a+b") as file:
            lock_output(file.fileno(), self.path, "a file")
            file.seek(self._n_read)
            *lines, rest = file.read().split(b"\n")
            if not lines and not self._n_read and not _as_line(self._settings).startswith(rest):
                self._read_line(rest, 1)
            start = len(self._answers) + bool(self._n_read) + 1
            for number, line in enumerate(lines, start):
                self._read_line(line, number)
                self._n_read += len(line) + 1
            file.truncate(self._n_read)
            if not self._n_read:
                self._append(file, self._settings)
            yield file

    def _read_line(self, line: bytes, number: int) -> None:
        try:
            row = json.loads(line)
            if number == 1:
                changed = name_changes(row, self._settings) if isinstance(row, dict) else "none of these settings"
            else:
                (first, second), is_same = row["texts"], row["same"]
                if not (isinstance(first, str) and isinstance(second, str) and isinstance(is_same, bool)):
                    raise TypeError
                self._answers[first, second] = is_same
                return
        except (ValueError, KeyError, TypeError, RecursionError):
            expected, got = f"answers of a model in {quote_path(self.path)}", f"another line at {number}"
            raise InputError("cache", expected, got, "Delete it, or name another file.") from None
        if changed:
            got = f"{quote_path(self.path)} with {changed}"
            raise InputError("cache", "a new file, or one of the same settings", got, "Name another file.")

    def _append(self, file: Any, row: dict[str, Any]) -> None:
        """Append a line, whole in the file before the next question is asked."""
        line = _as_line(row)
        file.write(line)
        file.flush()
        self._n_read += len(line)


def _as_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"
