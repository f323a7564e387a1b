"""Secrets that somebody speaks of: with the GitHub token, using the secret status_key.

A link that was pasted may hold any name, and a secret goes out with what is made here. So a name
counts only in a person's own words, and only where they say that it is to be used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Addresses and templates are no words of anybody's.
_NO_WORDS: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://\S*|\bwww\.\S+|[^\s@]{1,64}@\S+|\w[\w.-]{0,80}\.[a-z]{2,20}[/?#]\S*"
    r"|\{[{%#].*?(?:[}%#]\}|$)",
    re.IGNORECASE | re.DOTALL,
)
_USED: Final = (
    r"(?:with|using|uses?|via|by|secret|authori[sz]\w{1,7}|authenticat\w{1,4}|sign\w{0,3})"
)
_BETWEEN: Final = r"(?:(?:the|my|our|its|a|secret|token|key|named|called|of|in|by|with)\s+){0,4}"
_BEHIND: Final = (
    r"\s+(?:as|in)\s+(?:(?:a|an|the|its|my|our)\s+)?(?:bearer|token|header|authori|secret)"
)


def find_mentioned_secrets(text: str, names: Iterable[str]) -> list[str]:
    """The secrets among these names that the words say are to be used."""
    said = _NO_WORDS.sub(" … ", text).casefold()
    return [name for name in names if _is_spoken(name, said)]


def _is_spoken(name: str, said: str) -> bool:
    words = [one for one in name.casefold().split("_") if one]
    if not words or any(one not in said for one in words):
        return False
    named = rf"[\"'`“‘]?(?<!\w){'[ _-]'.join(map(re.escape, words))}(?!\w)[\"'`”’]?"
    used = rf"(?<!\w){_USED}\s+{_BETWEEN}{named}|{named}{_BEHIND}"
    return re.search(used, said) is not None
