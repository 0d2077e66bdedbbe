"""What a message shows of a server's text: words of a list, and nothing that could be a key.

A server that is sent a key can repeat it in its errors in any form: as it is, encoded, reversed, letter by letter. So
no text of a server is shown as it is, and none is searched for keys: words of the list below are shown, numbers between
them, and the model's name. All else is left out.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from manycaps.kit.errors import REASON_CHARACTERS

# Words of errors of OpenAI, vLLM, SGLang, `transformers serve`, llama.cpp, Ollama and web servers.
WORDS = frozenset(
    """
    a about above access account action after again all allowed already also although an and another any api are
    argument array as ask assistant at audio authentication authorization available bad badrequesterror base64 batch
    be because been before below between beyond billing bit body both bottom budget busy but by call calls can
    cannot cause caused change characters chat check choices chunk client closed code completion completions config
    configuration connect connection contact contain contains content context context_length_exceeded could count
    create cuda current currently data decode default denied depends deployment describe detail details device did
    different digits dimension disabled do does down download due each either empty enabled encoding endpoint engine
    enough entity entry equal error exceed exceeded exceeds exist exists expected expired explain fail failed
    failure false fast few field file filter filtered first following for forbidden format found four from function
    gateway generate generated generation get given gpu greater had has have header height high how however html i
    id if image images impossible in incorrect inference input instead insufficient integer internal
    internalservererror into invalid is it item its json key keys know knows large larger later least length less
    limit limits list loaded loading local long longer low lower malformed many match max maximum may maybe media
    memory message messages method minimum minute minutes missing mode model models moderation modify more most much
    multimodal multiple must name need needs never new next no nobody non none not notfounderror nothing now null
    number object of off on one only oops open operation or organization other our out output outside overloaded own
    page param parameter parameters parse payload penalty per perhaps period permission permitted picture pixels
    plain plan please policy positive possible presence previous process processing prohibited project prompt
    prompts property provide provided provider proxy queue quota range rate reached read ready reason received
    reduce refused region rejected repetition request requested requests require required requires reset resource
    response responsible retry returned role roles run running safety same sample sampling second seconds see seed
    send sent sequence server service set several shape short should size slow small smaller so some something
    specified start started status stop stream string such sum supplied support supported supports sure system take
    task temperature template temporarily text than that the their them then there these they think this three time
    timed timeout times to token tokens too tool top total traffic true truncate try two type unable unauthorized
    unavailable unexpected unknown unprocessable unrecognized unsupported unsure until up upstream url usage use
    used user using valid value values version video violation vision vocabulary wait want was way we were what when
    where which while who width will with within without words would wrong yes yet you your zero
    """.split()
)

# Where servers say what is wrong, in JSON.
FIELDS = ("message", "detail", "error", "msg", "reason", "type", "code")

# Characters that are looked at, depth of the JSON, and digits of a number that is shown.
MOST_CHARACTERS, MOST_DEPTH, MOST_DIGITS = 2_000, 4, 7

# Share of the words that must be known: of fewer, a message would be a riddle.
LEAST_KNOWN = 0.5

# What stands for words that are left out.
LEFT_OUT = "[...]"


def server_words(text: str, model: str = "", secrets: Collection[str] = ()) -> str:
    r"""Return what may be shown of a text of a server; empty where that is little.

    `model` is the model's name, which is shown. A word that occurs in one of the `secrets` is not.

    >>> server_words('{"error": {"message": "The model `my-lm` does not exist.", "code": 404}}', "my-lm")
    'The model my-lm does not exist. 404'
    >>> server_words("Incorrect API key provided: sk-abcdef. Please try again."), server_words("s k - a b c d")
    ('Incorrect API key provided: [...] Please try again.', '')
    """
    words = [word for part in _parts(text[: 1 << 16]) for word in part[:MOST_CHARACTERS].split()]
    hidden = [form for secret in secrets for form in (secret.casefold(), secret.casefold()[::-1])]
    shown = [_shown_word(word, model, hidden) for word in words]
    # A number is shown beside a word, so that no run of numbers is.
    are_words = [False, *(word is not None and not word.strip(".,:;")[:1].isdigit() for word in shown), False]
    for i, word in enumerate(shown):
        if word is not None and not are_words[i + 1] and not (are_words[i] or are_words[i + 2]):
            shown[i] = None
    n_known = sum(word is not None for word in shown)
    if n_known < LEAST_KNOWN * len(words):
        return ""
    kept: list[str] = []
    for word in shown:
        if word is not None or kept[-1:] != [LEFT_OUT]:
            kept.append(LEFT_OUT if word is None else word)
    joined = " ".join(kept) if n_known else ""
    return joined if len(joined) <= REASON_CHARACTERS else f"{joined[:REASON_CHARACTERS].rpartition(' ')[0]} ..."


def _parts(text: str) -> Iterator[str]:
    """What a text says: the fields of an error in JSON, or all of it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = text
    yield from _texts(content if isinstance(content, dict | list) else text, 0)


def _texts(content: Any, depth: int) -> Iterator[str]:
    if isinstance(content, str | int) and not isinstance(content, bool):
        yield str(content) if isinstance(content, str) or abs(content) < 10**MOST_DIGITS else ""
    elif isinstance(content, list) and depth < MOST_DEPTH:
        for item in content[:MOST_DEPTH]:
            yield from _texts(item, depth + 1)
    elif isinstance(content, dict) and depth < MOST_DEPTH:
        for field in FIELDS:
            yield from _texts(content.get(field), depth + 1)


def _shown_word(word: str, model: str, hidden: Collection[str]) -> str | None:
    """A word as it is shown, with the mark behind it; None where it is left out."""
    bare = word.strip("\"'`“”‘’()[]{}<>*#.,:;!?")
    mark = next((mark for mark in ".,:;!?" if word.endswith(mark)), "")
    folded = bare.casefold()
    is_secret = any(folded == secret or (len(folded) > 2 and folded in secret) for secret in hidden)
    if not bare or is_secret:
        return None
    if model and bare == model:
        return bare + mark
    if re.fullmatch(r"[0-9][0-9,.]*", bare) and len(bare) <= MOST_DIGITS:
        return bare + mark
    pieces = [bare] if folded in WORDS else re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^A-Za-z_/-]+", bare)
    # "max_tokens", "BadRequest", "prompt/image": of known words of three letters and more.
    are_known = all(piece.casefold() in WORDS and len(piece) > 2 for piece in pieces) and len(pieces) < 6
    return bare + mark if folded in WORDS or (pieces and are_known) else None
