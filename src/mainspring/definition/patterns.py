"""Regular expressions from users, run in linear time by RE2.

Linear does not mean cheap: the work grows with the size of the compiled pattern times the length of
the text. Each pattern therefore has a maximum text length. A longer text raises ``UnmatchableText``
instead of returning False, because a negated "no match" would be a match.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from mainspring.contracts.limits import Limits

# Compiled instructions times bytes of text: about 50 ms for the worst known pattern.
MOST_WORK = 4_000_000
MEMORY = 1_048_576
# The memory limit of a compiled pattern. Compile time grows with the square of the expanded length:
# about 0.1 s in the worst case at this limit, and seconds at RE2's default.
WRITTEN_OUT = 131_072


class InvalidPattern(ValueError):
    """The pattern cannot be used; the message is meant for its author."""


class UnmatchableText(ValueError):
    """The text is too long for the pattern; the message does not repeat the text."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern and the maximum length, in bytes, of the texts it accepts."""

    compiled: Any
    size: int

    @property
    def longest(self) -> int:
        return MOST_WORK // self.size

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        return self.compiled.search(self._readable(text)) is not None

    def covers(self, text: str) -> bool:
        """Whether the pattern matches the text from its first to its last character."""
        return self.compiled.fullmatch(self._readable(text)) is not None

    def _readable(self, text: str) -> bytes:
        data = _bytes(text)
        if data is None:
            raise UnmatchableText("The text contains half of a surrogate pair.")
        if len(data) > self.longest:
            raise UnmatchableText(
                f"The pattern reads at most {self.longest:,} bytes, and the text has {len(data):,}."
            )
        return data


def compile_pattern(source: str, limits: Limits) -> Pattern:
    """Compile a pattern or raise ``InvalidPattern`` with the reason."""
    data = _bytes(source)
    if data is None:
        raise InvalidPattern("The pattern contains half of a surrogate pair.")
    if len(data) > limits.regex_bytes:
        raise InvalidPattern(f"The pattern is longer than {limits.regex_bytes:,} bytes.")
    return _compile_pattern(source)


@lru_cache(maxsize=1024)
def _compile_pattern(source: str) -> Pattern:
    try:
        re2.compile(source, _options(WRITTEN_OUT))
        compiled = re2.compile(source, _options(MEMORY))
    except re2.error as error:
        raise InvalidPattern(_describe_pattern_error(error)) from None
    return Pattern(compiled, max(compiled.programsize, compiled.reverseprogramsize, 1))


def _options(memory: int) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory
    return options


def _describe_pattern_error(error: Exception) -> str:
    reason = error.args[0] if error.args else b""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if "too large" in text:
        return "The pattern is too large once its repetitions are written out."
    if "(?" in text or "escape sequence: \\" in text:
        return (
            f"The pattern uses something that cannot run in linear time or does not exist "
            f"({text}); look-around and back-references are not supported."
        )
    return f"The pattern cannot be read: {text}."


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None
