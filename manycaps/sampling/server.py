"""Servers that speak OpenAI's chat completions: vLLM, SGLang, `transformers serve`, and others.

Servers differ in what they take beyond OpenAI's own fields, and in whether they give several samples at once: the first
request that is not refused says how all others are asked.
"""

import base64
import functools
import io
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from manycaps.kit.errors import InputError
from manycaps.kit.images import as_image_source, as_rgb_image
from manycaps.sampling.answers import Sample
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item, RowError, SampledRow
from manycaps.sampling.row_numbers import request_seed
from manycaps.sampling.sample_options import SampleOptions
from manycaps.sampling.server_requests import MOST_TOKENS_AT_ONCE, RefusedError, Requests

# Rows in succession that a server may fail to answer before a run ends that skips such rows.
MOST_FAILURES = 20


def vllm_fields(setting: Setting) -> dict[str, Any]:
    """Return the fields of vLLM and SGLang; both would otherwise apply what the model's own configuration asks for.

    >>> vllm_fields(Setting())["top_k"]
    -1
    """
    return {"top_k": setting.top_k or -1, "min_p": setting.min_p, "repetition_penalty": 1.0}


def transformers_fields(setting: Setting) -> dict[str, Any]:
    """Return the fields of `transformers serve`: settings of `generate` as JSON."""
    own = {"do_sample": True, "top_k": setting.top_k, "repetition_penalty": 1.0}
    own |= {"min_p": setting.min_p} if setting.min_p else {}
    own |= {name: getattr(setting, name) for name in ("temperature", "top_p", "max_new_tokens")}
    return {"generation_config": json.dumps(own)}


def plain_fields(setting: Setting) -> dict[str, Any]:
    """Return OpenAI's own fields alone."""
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
        self._requests = Requests(options)
        self._dialect = ""
        # None until a server has taken several samples, or one where it refused several.
        self._takes_several: bool | None = None
        self._n_failures = 0

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the samples, beside the setting."""
        return {
            "model": self.options.model,
            "url": self._requests.shown,
            "system": self.options.system,
            "dialect": self._dialect,
        }

    def check(self, item: Item) -> None:
        """Raise if an item has nothing to ask."""
        if item.prompt is None:
            raise RowError("--prompt", "what to ask of an image", "none", "Chat models need a prompt.")

    def choose_dialect(self, items: Sequence[Item], settings: Sequence[Setting]) -> None:
        """Ask for one sample, in the first way that all settings can be written and that the server does not refuse.

        The first item is asked for; where rows may be skipped, those after it as well, for the time of one request.
        """
        error, end = None, time.monotonic() + self.options.timeout
        with self._requests:
            for item in items[: MOST_FAILURES if self.options.on_error == "skip" else 1]:
                try:
                    error = self._refusal(item, settings)
                except RowError as row_error:
                    error = row_error
                if error is None:
                    return
                if time.monotonic() > end:
                    break
        assert error is not None  # there are items
        raise error

    def _refusal(self, item: Item, settings: Sequence[Setting]) -> ValueError | None:
        """Choose the dialect by an item; return what is wrong if the server takes none."""
        body, refused = self._body(item, settings[0]), ""
        for dialect, fields in DIALECTS.items():
            try:
                added = [fields(setting) for setting in settings]
                self._requests.texts({**body, **added[0], "seed": 0}, 1, item.id)
            except RefusedError as refusal:
                refused = str(refusal)
            else:
                self._dialect = dialect
                return None
        fix = "Check --model; --on-error skip tries the next rows."
        return InputError("--url", "a server that takes a chat", f"a refusal: {refused}", fix)

    def samples(
        self, items: Sequence[Item], setting: Setting, n: int, seed: int, finished: Collection[str] = ()
    ) -> Iterator[list[SampledRow]]:
        """Sample for all items, several at a time; arguments and results as for `LocalModel.samples`."""
        waiting = (item for item in items if item.id not in finished)
        ask = functools.partial(self._row, setting=setting, n=n, seed=seed)
        return ([row] for row in self._requests.answers(ask, waiting, self.options.concurrency))

    def _row(self, item: Item, setting: Setting, n: int, seed: int) -> SampledRow:
        """Return a row's samples, or the error that only this row has."""
        try:
            body = {**self._body(item, setting), **DIALECTS[self._dialect](setting)}
        except RowError as error:
            return item.id, error
        try:
            texts = self._texts(item.id, body, n, seed)
        except RowError as error:
            self._n_failures += 1
            if self._n_failures >= MOST_FAILURES:
                raise InputError(*error.with_advice(f"{MOST_FAILURES} rows in succession have failed.").args) from None
            return item.id, error
        self._n_failures = 0
        return item.id, texts

    def _texts(self, name: str, body: Mapping[str, Any], n: int, seed: int) -> list[Sample]:
        """Ask until there are n samples: some servers give fewer than they are asked for, or refuse to give several."""
        texts: list[Sample] = []
        at_once, is_refused = max(1, MOST_TOKENS_AT_ONCE // body["max_tokens"]), False
        while len(texts) < n:
            wanted = 1 if is_refused or self._takes_several is False else min(n - len(texts), at_once)
            asked = {**body, "seed": request_seed(seed, name, len(texts)), **({"n": wanted} if wanted > 1 else {})}
            try:
                texts += self._requests.texts(asked, wanted, name)
            except RefusedError as refusal:
                if wanted == 1:
                    raise RowError("--url", f"samples of {name!r}", f"a refusal: {refusal}") from None
                is_refused = True
            else:
                # A server that took several samples once refused them for the sake of the row.
                if self._takes_several is None and (wanted > 1 or is_refused):
                    self._takes_several = wanted > 1
        return texts

    def _body(self, item: Item, setting: Setting) -> dict[str, Any]:
        """Fields of a request for one sample, but for a dialect's and the seed."""
        self.check(item)
        content: Any = item.prompt
        if item.image is not None:
            try:
                image = {"type": "image_url", "image_url": {"url": data_url(item)}}
            except InputError as error:
                raise error.as_kind(RowError) from error
            content = [image, {"type": "text", "text": item.prompt}]
        system = [] if self.options.system is None else [{"role": "system", "content": self.options.system}]
        return {
            "model": self.options.model,
            "messages": [*system, {"role": "user", "content": content}],
            "temperature": setting.temperature,
            "top_p": setting.top_p,
            "max_tokens": setting.max_new_tokens,
        }


def data_url(item: Item) -> str:
    """Return an item's image as a data URL: PNG of exactly its upright pixels."""
    picture = as_rgb_image(as_image_source(item.image, item.where), item.where)
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
