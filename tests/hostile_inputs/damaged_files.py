"""Bytes of a file with random damage."""

import random


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change a file in one to eight places."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        start, length = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8, 64, 500))
        kind = rng.randrange(7)
        if kind == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[start : start + length] = rng.randbytes(length)
        elif kind == 2:
            del data[start : start + length]
        elif kind == 3:
            data[start:start] = data[start : start + length]
        elif kind == 4:
            data[start : start + length] = rng.choice((b"\0", b"\xff", b"\x7f")) * length
        elif kind == 5:
            del data[start:]
        else:
            data[start:start] = rng.choice((b"[", b"{", b'"', b"-1", b"9" * 50, b"null", b"\\ud800", b"1e999"))
    return bytes(data)
