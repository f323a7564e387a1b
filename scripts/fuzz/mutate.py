"""Other bytes from bytes: small changes, large ones, and tokens that parsers trip over."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

MAX_BYTES: Final = 1 << 18
NASTY: Final[tuple[bytes, ...]] = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r\n",
    b"\n\n",
    b"%00",
    b"%zz",
    b"../",
    b"..\\",
    b"-0",
    b"1e999",
    b"-1e-999",
    b"9" * 40,
    b"0x10",
    b"NaN",
    b"Infinity",
    b"null",
    b'{"a":1,"a":2}',
    b"[" * 200,
    b"{" * 50,
    b"(" * 300,
    b'"\\ud800"',
    b"{{",
    b"}}",
    b"{%",
    b"%}",
    b"(a+)+$",
    b"[^",
    b"\\p{",
    b"(?<=a)",
    b"{0,99999}",
    b"$..",
    b"?(@",
    b"*/0",
    b"60 24 32 13 8",
    b"9999-12-31T23:59:59+14:00",
    b"0001-01-01T00:00:00-14:00",
    b"P1Y",
    b"PT-1S",
    b"T24:00",
    b"bytes=0-",
    b"Bearer ",
    b"=",
    b"==",
    b";",
    b",",
    b"&",
    b"#",
    b"@",
    b":",
    b"/",
    b"?",
    "\u202e\u0000\U0001f600\u0130".encode(),
    "ǅ٣".encode(),
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
    b"<![CDATA[",
    b"&#x110000;",
    b"RRULE:FREQ=SECONDLY",
    b"PK\x03\x04",
    b"PK\x05\x06" + b"\x00" * 18,
)


def mutated(dice: random.Random, corpus: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """A new input out of the corpus."""
    data = dice.choice(corpus)
    for _ in range(dice.choice((1, 1, 2, 3, 6))):
        data = dice.choice(_WAYS)(dice, data, corpus, tokens)[:MAX_BYTES]
    return data


def _flip(dice: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    if not data:
        return dice.randbytes(3)
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]


def _insert(
    dice: random.Random, data: bytes, corpus: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    at = dice.randint(0, len(data))
    return data[:at] + dice.choice((*tokens, *NASTY)) + data[at:]


def _replace(
    dice: random.Random, data: bytes, corpus: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    begin, end = _span(dice, data)
    return data[:begin] + dice.choice((*tokens, *NASTY)) + data[end:]


def _drop(dice: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    begin, end = _span(dice, data)
    return data[:begin] + data[end:]


def _repeat(dice: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    begin, end = _span(dice, data)
    return data[:begin] + data[begin:end] * dice.choice((2, 3, 50, 2_000)) + data[end:]


def _splice(
    dice: random.Random, data: bytes, corpus: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    other = dice.choice(corpus)
    return data[: dice.randint(0, len(data))] + other[dice.randint(0, len(other)) :]


def _cut(dice: random.Random, data: bytes, *_: Sequence[bytes]) -> bytes:
    return data[: dice.randint(0, len(data))]


def _span(dice: random.Random, data: bytes) -> tuple[int, int]:
    begin = dice.randint(0, len(data))
    return begin, min(len(data), begin + dice.choice((1, 2, 5, 20)))


_WAYS: Final[tuple[Callable[..., bytes], ...]] = (
    _flip,
    _insert,
    _insert,
    _replace,
    _replace,
    _drop,
    _repeat,
    _splice,
    _cut,
)
