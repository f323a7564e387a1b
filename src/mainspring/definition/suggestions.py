"""Finds the closest known name for an unknown one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from typing import Final

LONGEST_WORD = 64
ALIKE = 0.6
_ALIAS: Final = re.compile(r"([a-z][a-z0-9_]{0,31})\.")
_SHOWN: Final = 5


def find_nearest(word: str, choices: Iterable[str]) -> str | None:
    """The closest choice, or None when none is similar enough.

    The comparison costs the product of the lengths, so very long words get no suggestion.
    """
    if not word or len(word) > LONGEST_WORD:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(word.casefold())
    best, closeness = None, ALIKE
    for choice in choices:
        if len(choice) > LONGEST_WORD:
            continue
        matcher.set_seq1(choice.casefold())
        if _may_reach(matcher, closeness) and matcher.ratio() >= closeness:
            ratio = matcher.ratio()
            if best is None or ratio > closeness:
                best, closeness = choice, ratio
    return best


def suggest_nearest(word: str, choices: Iterable[str]) -> str | None:
    """The suggestion of a finding: a question with the closest choice."""
    found = find_nearest(word, choices)
    return None if found is None else f"Did you mean {found!r}?"


def suggest_capability(name: str, choices: Collection[str]) -> str | None:
    """The remedy for an unknown capability, including a tool of an MCP server."""
    near = suggest_nearest(name.replace("*", ""), choices)
    alias = _ALIAS.match(name)
    if near is not None or alias is None:
        return near or ("`mainspring capabilities` lists them." if "*" in name else None)
    there = sorted(choice for choice in choices if choice.startswith(alias[0]))
    if there:
        more = len(there) - _SHOWN
        return f"There is {', '.join(there[:_SHOWN])}" + (f" and {more} more." if more > 0 else ".")
    return (
        "If it is a tool of another server, connect that: "
        f"`mainspring connections add URL --alias {alias[1]}`."
    )


def _may_reach(matcher: SequenceMatcher[str], closeness: float) -> bool:
    """Two cheap upper bounds that avoid most full comparisons."""
    return matcher.real_quick_ratio() >= closeness and matcher.quick_ratio() >= closeness
