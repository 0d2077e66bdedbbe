"""Requests to a server of chat completions: limited in time and bytes, and nothing secret in a message.

What a server or a library says is never shown as it is: see `server_words.py`.

No redirect is followed: prompts, images and keys go to the address that was given, and to no other.
"""

import asyncio
import base64
import concurrent.futures
import contextlib
import http
import io
import json
import os
import random
import threading
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import aiohttp
import yarl

from manycaps.kit.arrays import map_in_order
from manycaps.kit.errors import InputError, reason_of
from manycaps.sampling.answers import Sample
from manycaps.sampling.items import RowError
from manycaps.sampling.sample_options import SampleOptions, check_address, wrong_address
from manycaps.sampling.server_words import server_words

# Variable of the key; a server without keys needs none.
KEY = "OPENAI_API_KEY"

# Statuses of a request that the server does not take as it is, or whose content it filters.
REFUSED = (400, 403, 413, 415, 422, 451)

# Statuses of a request that may be answered when it is repeated, beside those from 500 on.
BUSY = (408, 409, 429)

# Bytes of an answer at most, and of one that is an error.
MOST_BYTES, MOST_ERROR_BYTES = 1 << 24, 1 << 16

# Tokens that are asked for at once at most, so that an answer stays below `MOST_BYTES`.
MOST_TOKENS_AT_ONCE = 1 << 20

# Seconds before the first repetition and the longest before any; and the longest that a server may ask for.
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_WAIT = 0.5, 8.0, 120.0

# Encodings of an answer that are named in a message.
ENCODINGS = ("br", "zstd", "compress")

# Seconds that a message gives as a number.
MOST_SECONDS = 86_400

# Faults of a request by the class of aiohttp's error, whose text may hold what a server sent; the first that fits.
FAULTS: Mapping[type[Exception], str] = {
    aiohttp.ClientConnectorError: "no connection",
    aiohttp.ServerDisconnectedError: "a connection that the server closed",
    aiohttp.ServerTimeoutError: "a server that does not answer in time",
    aiohttp.ClientPayloadError: "an answer that broke off",
    aiohttp.ClientHttpProxyError: "a proxy that refuses the request",
    aiohttp.ClientResponseError: "an answer that is not HTTP, or whose headers are too long",
    aiohttp.InvalidURL: "an address that cannot be used",
    aiohttp.ClientError: "a request that failed",
    OSError: "a connection that broke",
    ValueError: "an address that cannot be used",
}

T = TypeVar("T")


class RefusedError(Exception):
    """A server does not take a request as it is."""


class AttemptError(Exception):
    """An attempt brought no text."""

    def __init__(self, got: str, *, is_of_row: bool = True, may_repeat: bool = True, pause: float | None = None):
        super().__init__(got)
        # Whether other rows may be answered, whether this request may, and the seconds that the server asks to wait.
        self.is_of_row, self.may_repeat, self.pause = is_of_row, may_repeat, pause


class Requests:
    """Requests to the address of `--url`; a context in which they can be made from any thread."""

    def __init__(self, options: SampleOptions, expected: str = "samples", item: str = "row {!r}"):
        """Check the address; `expected` from the server, and the `item` that is asked about, are for messages."""
        self._expected, self._item = expected, item
        self._retries, self._timeout = options.retries, options.timeout
        check_address(options.url)
        try:
            given = yarl.URL(options.url or "")
            self._url = (given / "chat/completions").with_user(None).with_query(given.query)
            host, login = given.host, f"{given.user or ''}:{given.password or ''}"
        except Exception:  # of yarl and idna, whose texts hold the address
            raise wrong_address() from None
        if not host:
            raise wrong_address()
        # The address without user, password and query, which may be keys.
        self.shown = str(given.with_user(None).with_query(None).with_fragment(None))
        self._model, key = options.model, api_key()
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if login != ":":
            self._headers["Authorization"] = f"Basic {_base64(login)}"
        elif key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._proxy = _proxy_of(self._url)
        proxy_password = self._proxy.password if self._proxy else None
        secrets = {key, given.user, given.password, *given.query.values(), proxy_password} - {"", None}
        self._secrets = frozenset(map(str, secrets))

    def __enter__(self) -> "Requests":
        self._is_cancelled = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._session = self._run(self._open_session())
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._run(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cancel(self) -> None:
        """End the requests of all threads, after an error or ctrl-C, and refuse further ones."""
        self._run(self._cancel())

    def answers(self, ask: Callable[[Any], Any], items: Iterable[Any], n_workers: int) -> Iterator[Any]:
        """Yield what `ask` returns of items, in order, with requests of several at a time."""
        with self, concurrent.futures.ThreadPoolExecutor(n_workers) as workers:
            try:
                yield from map_in_order(workers, ask, items, 2 * n_workers)
            finally:  # after an error no worker waits for an answer
                self.cancel()

    def texts(self, body: Mapping[str, Any], wanted: int, name: str) -> list[Sample]:
        """Return the texts of a request for the item `name`: at least one, and at most as many as were wanted.

        Raises RefusedError if the server refuses the request, RowError if it answers others, ValueError otherwise.
        """
        return self._run(self._texts(json.dumps(body).encode(), name))[:wanted]

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def _cancel(self) -> None:
        self._is_cancelled = True
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _texts(self, content: bytes, name: str) -> list[Sample]:
        """Repeat a request until it is answered, with pauses that grow."""
        if self._is_cancelled:
            raise asyncio.CancelledError
        for n_repeated in range(self._retries + 1):
            try:
                return await self._attempt(content)
            except AttemptError as error:
                if n_repeated == self._retries or not error.may_repeat:
                    self._give_up(error, name, n_repeated)
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**n_repeated) * (1 - random.random() / 4)
                await asyncio.sleep(pause if error.pause is None else error.pause)
        raise AssertionError("the last attempt returns or raises")

    def _give_up(self, error: AttemptError, name: str, n_repeated: int) -> NoReturn:
        after = f" after {n_repeated} {'retry' if n_repeated == 1 else 'retries'}" if n_repeated else ""
        kind, row = (RowError, f" for {self._item.format(name)}") if error.is_of_row else (InputError, "")
        raise kind(
            "--url",
            f"{self._expected} from {self.shown}",
            f"{error}{row}{after}",
            f"Check the server, --model and {KEY}; finished rows are kept: the same command resumes.",
        )

    async def _attempt(self, content: bytes) -> list[Sample]:
        """Make a request once; whatever goes wrong with it is an `AttemptError`."""
        try:
            async with self._session.post(
                self._url, data=io.BytesIO(content), headers=self._headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                answer = await _content_of(response)
                self._check_status(response, answer)
        except asyncio.TimeoutError:
            raise AttemptError(f"no whole answer within {self._timeout:g} s (--timeout)") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            is_of_row = not isinstance(error, aiohttp.ClientConnectorError | ValueError)
            may_repeat = not isinstance(error, ValueError)  # of an address
            raise AttemptError(_fault_of(error), is_of_row=is_of_row, may_repeat=may_repeat) from None
        return self._texts_of(answer)

    def _check_status(self, response: aiohttp.ClientResponse, answer: bytes) -> None:
        """Raise unless a request was answered."""
        status, reason = response.status, self._words(answer)
        if status < 300:
            return
        got = _named_status(status, "" if status in (401, 407) else reason)
        if status in REFUSED:
            raise RefusedError(reason or got)
        if status < 400:
            raise AttemptError(self._redirect(response), is_of_row=False, may_repeat=False)
        wait = _wait_of(response.headers)
        if wait is not None and wait > LONGEST_WAIT:
            got, status = f"{got}, and is asked to wait {_in_words(wait)}", 0
        is_of_row = response.status >= 500 or response.status in BUSY[:2]
        raise AttemptError(got, is_of_row=is_of_row, may_repeat=status in BUSY or status >= 500, pause=wait)

    def _redirect(self, response: aiohttp.ClientResponse) -> str:
        target = "no address"
        with contextlib.suppress(KeyError, ValueError, TypeError):
            to = self._url.join(yarl.URL(response.headers["Location"]))
            if to.scheme not in ("http", "https"):
                target = "another scheme"
            elif to.host != self._url.host:
                target = "another host"
            else:
                path = "the same path" if to.path == self._url.path else "another path"
                target = f"{to.scheme}://{self._url.host} ({path})"
        return f"a redirect (status {response.status}) to {target}, which is not followed"

    def _texts_of(self, answer: bytes) -> list[Sample]:
        """Return the texts of an answer, which may be anything that a server sends."""
        try:
            content = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise AttemptError(f"no JSON in {self._described(answer)} ({reason_of(error)})") from None
        choices = content.get("choices") if isinstance(content, dict) else None
        given = choices if isinstance(choices, list) else ()
        texts = [sample for choice in given if (sample := _sample_of(choice)) is not None]
        if not texts:
            raise AttemptError(f"no text in {self._described(answer)}")
        return texts

    def _described(self, answer: bytes) -> str:
        """Say what an answer is that cannot be used."""
        words = self._words(answer)
        return f"an answer of {len(answer):,} bytes" + (f": {words}" if words else "")

    def words(self, text: str) -> str:
        """Return what may be shown of a text of the server; empty where that is little."""
        return server_words(text, self._model, self._secrets)

    def _words(self, answer: bytes) -> str:
        return self.words(answer[:MOST_ERROR_BYTES].decode(errors="replace"))


def api_key() -> str | None:
    """Return the key of the environment; None where there is none."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(KEY, "printable ASCII characters", "others", "Copy the key again.")
    return key or None


async def _content_of(response: aiohttp.ClientResponse) -> bytes:
    """Read an answer, decompressed, as far as it may go."""
    most = MOST_BYTES if response.status < 300 else MOST_ERROR_BYTES
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > most:
            break
    kind = response.headers.get("Content-Encoding", "identity").strip().lower()
    if kind in ("gzip", "deflate"):
        try:
            content = bytearray(zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content, most + 1))
        except zlib.error as error:
            raise AttemptError(f"an answer that cannot be decompressed ({reason_of(error)})") from None
    elif kind != "identity":
        known = f"the encoding {kind}" if kind in ENCODINGS else "an unknown encoding"
        raise AttemptError(f"an answer in {known}, which was not asked for,")
    if len(content) > most and response.status < 300:
        raise AttemptError(f"an answer of more than {most:,} bytes", may_repeat=False)
    return bytes(content[:most])


def _sample_of(choice: Any) -> Sample | None:
    """Return one sample; None where there is no text, or only what a filter left of it.

    Without a text, an answer that ended at its limit has spent all of its tokens on thoughts, which the server keeps
    apart.
    """
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    is_cut = isinstance(choice, dict) and choice.get("finish_reason") == "length"
    has_thoughts = isinstance(message, dict) and bool(message.get("reasoning_content") or message.get("reasoning"))
    if is_cut and isinstance(message, dict) and (text is None or (not text and has_thoughts)):
        return Sample("", is_cut=True, has_thoughts=True)
    if not isinstance(text, str) or choice.get("finish_reason") == "content_filter":
        return None
    # Half a surrogate pair cannot be written: it becomes U+FFFD.
    return Sample(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip(), is_cut)


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait; None where it names no number above 0."""
    for name, unit in (("Retry-After-Ms", 1e-3), ("Retry-After", 1.0)):
        with contextlib.suppress(ValueError):
            if 0 < (seconds := float(headers.get(name, "nan")) * unit) < float("inf"):
                return seconds
    return None


def _proxy_of(url: yarl.URL) -> yarl.URL | None:
    """The proxy that the environment names for an address."""
    proxies = urllib.request.getproxies()
    kind = url.scheme if url.scheme in proxies else "all"
    given = None if urllib.request.proxy_bypass(url.host or "") else proxies.get(kind)
    if not given:
        return None
    try:  # without a scheme it is HTTP, as curl has it
        proxy = yarl.URL(given if "://" in given else f"http://{given}")
        is_one = proxy.scheme in ("http", "https") and bool(proxy.host) and proxy.port != 0
    except Exception:  # of yarl and idna, whose texts hold the address
        is_one = False
    if not is_one:
        got = "a SOCKS proxy" if given.lower().startswith("socks") else "something else"
        expected = "the address of an HTTP proxy, such as http://localhost:8080"
        fix = "Unset this variable for the command, or name the server's host in no_proxy."
        raise InputError(f"{kind}_proxy", expected, got, fix)
    return proxy


def _fault_of(error: Exception) -> str:
    """Say what went wrong with a request, in no words of the server."""
    fault = next(words for kind, words in FAULTS.items() if isinstance(error, kind))
    status = getattr(error, "status", None)
    if isinstance(error, aiohttp.ClientHttpProxyError) and isinstance(status, int):
        return f"{fault}: {_named_status(status)}"
    number = getattr(error, "errno", None)
    if isinstance(error, aiohttp.ClientSSLError):
        return f"{fault} by TLS: see the server's certificate"
    # -2 and the like are getaddrinfo's.
    reason = os.strerror(number) if isinstance(number, int) and number > 0 else ""
    is_unknown = isinstance(error, aiohttp.ClientConnectorDNSError)
    return fault + (f": {reason}" if reason else ": no such host" if is_unknown else "")


def _named_status(status: int, reason: str = "") -> str:
    """A status with the reason, or its name.

    >>> _named_status(404), _named_status(500, "out of memory"), _named_status(599)
    ('status 404 (Not Found)', 'status 500 (out of memory)', 'status 599')
    """
    with contextlib.suppress(ValueError):
        reason = reason or http.HTTPStatus(status).phrase
    return f"status {status} ({reason})" if reason else f"status {status}"


def _in_words(seconds: float) -> str:
    """A number of seconds, in few digits.

    >>> _in_words(1000), _in_words(1e300)
    ('1,000 s', 'more than a day')
    """
    return f"{seconds:,.0f} s" if seconds <= MOST_SECONDS else "more than a day"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
