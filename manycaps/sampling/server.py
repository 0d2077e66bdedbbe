"""Servers that speak OpenAI's chat completions: vLLM, SGLang, `transformers serve`, and others.

Retries with back-off, time-outs and connections are those of the package openai. Servers differ in what they take
beyond OpenAI's own fields, and in whether they give several samples at once: the first request that is not refused
says how all others are asked.
"""

import base64
import concurrent.futures
import functools
import io
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import openai

from manycaps.kit.base_messages import reason_of
from manycaps.kit.clip_image_features import ordered_results
from manycaps.kit.media_images import as_image_source, as_rgb_image
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item
from manycaps.sampling.row_numbers import request_seed
from manycaps.sampling.sample_options import SampleOptions

# Variable of the key; a server without keys needs none.
KEY = "OPENAI_API_KEY"

# The key for a server that takes none: the package openai requires one.
NO_KEY = "none"

# Statuses of a request that has a field which the server does not take.
REFUSED = (400, 422)


class RefusedError(Exception):
    """A server does not take a request as it is."""


def vllm_fields(setting: Setting) -> dict[str, Any]:
    """Fields of vLLM and SGLang; both would otherwise apply what the model's own configuration asks for.

    >>> vllm_fields(Setting())["extra_body"]["top_k"]
    -1
    """
    off = {"top_k": setting.top_k or -1, "min_p": setting.min_p, "repetition_penalty": 1.0}
    return {"extra_body": off}


def transformers_fields(setting: Setting) -> dict[str, Any]:
    """Fields of `transformers serve`: settings of `generate` as JSON."""
    own = {"do_sample": True, "top_k": setting.top_k, "repetition_penalty": 1.0}
    own |= {"min_p": setting.min_p} if setting.min_p else {}
    own |= {name: getattr(setting, name) for name in ("temperature", "top_p", "max_new_tokens")}
    return {"extra_body": {"generation_config": json.dumps(own)}}


def plain_fields(setting: Setting) -> dict[str, Any]:
    """OpenAI's own fields alone."""
    if setting.top_k or setting.min_p:
        raise RefusedError("it takes neither --top-k nor --min-p")
    return {}


# Ways to ask, by name, in the order in which they are tried.
DIALECTS: Mapping[str, Callable[[Setting], dict[str, Any]]] = {
    "vllm": vllm_fields,
    "transformers": transformers_fields,
    "openai": plain_fields,
}


class Server:
    """A server of chat completions."""

    def __init__(self, options: SampleOptions):
        self.options = options
        self._key = os.environ.get(KEY) or NO_KEY
        self._client = openai.OpenAI(
            base_url=options.url, api_key=self._key, max_retries=options.retries, timeout=options.timeout
        )
        self._dialect = ""
        self._asks_for_several = True

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the samples, beside the setting."""
        return {
            "model": self.options.model,
            "url": self.options.url,
            "system": self.options.system,
            "dialect": self._dialect,
            "openai": openai.__version__,
        }

    def check(self, item: Item) -> None:
        """Raise if an item has nothing to ask."""
        if item.prompt is None:
            raise ValueError("--prompt: expected what to ask of an image, got none. Chat models need a prompt.")

    def choose_dialect(self, item: Item, setting: Setting) -> None:
        """Ask for one sample, in the first way that the server does not refuse."""
        if not setting.is_sampled:
            raise ValueError(
                f"--url: expected options of sampling, got {setting.name}. Servers have no common way to search."
            )
        self.check(item)
        refused = ""
        for dialect in DIALECTS:
            self._dialect = dialect
            try:
                self._answer(self._body(item, setting, 0), 1)
            except RefusedError as error:
                refused = str(error)
            else:
                return
        raise ValueError(f"--url: expected a server that takes a chat, got a refusal: {refused}. Check --model.")

    def samples(
        self, items: Sequence[Item], setting: Setting, n: int, seed: int, finished: Collection[str] = ()
    ) -> Iterator[list[tuple[str, list[str]]]]:
        """Sample for all items, several at a time; the arguments and results are those of `LocalModel.samples`."""
        waiting = (item for item in items if item.id not in finished)
        with concurrent.futures.ThreadPoolExecutor(self.options.concurrency) as workers:
            ask = functools.partial(self._row, setting=setting, n=n, seed=seed)
            for row in ordered_results(workers, ask, waiting, 2 * self.options.concurrency):
                yield [row]

    def _row(self, item: Item, setting: Setting, n: int, seed: int) -> tuple[str, list[str]]:
        """Ask until there are n samples: some servers give fewer than they are asked for, or refuse to give several."""
        self.check(item)
        texts: list[str] = []
        while len(texts) < n:
            wanted = n - len(texts) if self._asks_for_several else 1
            body = self._body(item, setting, request_seed(seed, item.id, len(texts)))
            try:
                answer = self._answer(body | ({"n": wanted} if wanted > 1 else {}), wanted)
            except RefusedError as error:
                if wanted == 1:
                    raise ValueError(f"--url: expected samples of {item.id!r}, got a refusal: {error}.") from None
                self._asks_for_several = False
                continue
            if len(answer) < wanted:
                self._asks_for_several = False
            texts += answer
        return item.id, texts

    def _body(self, item: Item, setting: Setting, seed: int) -> dict[str, Any]:
        """Fields of a request for one sample."""
        content: Any = item.prompt
        if item.image is not None:
            image = {"type": "image_url", "image_url": {"url": data_url(item)}}
            content = [image, {"type": "text", "text": item.prompt}]
        system = [] if self.options.system is None else [{"role": "system", "content": self.options.system}]
        return {
            "model": self.options.model,
            "messages": [*system, {"role": "user", "content": content}],
            "temperature": setting.temperature,
            "top_p": setting.top_p,
            "max_tokens": setting.max_new_tokens,
            "seed": seed,
            **DIALECTS[self._dialect](setting),
        }

    def _answer(self, body: Mapping[str, Any], wanted: int) -> list[str]:
        """Return the texts of a request: at least one, and at most as many as were wanted."""
        got = ""
        for _ in range(self.options.retries + 1):
            try:
                answer = self._client.chat.completions.create(**body)
            except openai.APIStatusError as error:
                reason = self._reason(error.response.text)
                if error.status_code in REFUSED:
                    raise RefusedError(reason) from None
                raise self._failure(f"status {error.status_code} ({reason})") from None
            except openai.APIConnectionError as error:
                raise self._failure(self._reason(str(error.__cause__ or error))) from None
            except (openai.OpenAIError, ValueError) as error:  # an answer that is no JSON: asked again
                got = f"an answer that cannot be read ({type(error).__name__})"
                continue
            texts = _texts_of(answer)
            if texts:
                return texts[:wanted]
            got = f"no text in {self._reason(str(answer))!r}"
        raise self._failure(got)

    def _failure(self, got: str) -> ValueError:
        return ValueError(
            f"--url: expected samples from {self.options.url}, got {got} after {self.options.retries} retries. Check "
            f"the server, --model and {KEY}; finished rows are kept: the same command resumes."
        )

    def _reason(self, text: str) -> str:
        """Shorten what a server sent, without the key: some repeat it in their errors."""
        return reason_of(ValueError(text if self._key == NO_KEY else text.replace(self._key, "***")))


def data_url(item: Item) -> str:
    """Return an item's image as a data URL: PNG of exactly its upright pixels."""
    picture = as_rgb_image(as_image_source(item.image, item.where), item.where)
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _texts_of(answer: Any) -> list[str]:
    """The texts of an answer, which may be anything that a server sends."""
    choices = getattr(answer, "choices", None)
    contents = [getattr(getattr(choice, "message", None), "content", None) for choice in choices or ()]
    return [content.strip() for content in contents if isinstance(content, str)]
