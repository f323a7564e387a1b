"""Where a request names boards and automations of the workspace."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.lookup import in_other_number

# How automations are named: after the word or before it, to be run, or where one ends.
_AUTOMATION_NAME: Final = re.compile(
    r"\b(?:automation|workflow)s?(?:,? (?:called|named))?[\s:]*$"
    r"|\b(?:run|start|trigger|launch|execute|kick off)s?(?: the| my| our)? $"
)
_ENDS_SO: Final = re.compile(
    r"\s(?:automation|workflow|(?:is|has|was|did|does|doesn't|didn't|hasn't|has been|gets) "
    r"(?:not )?(?:done|fail\w*|succeed\w*|finish\w*|end\w*|complet\w*|run|ran|broken|cancell?ed)"
    r"|fails|failed|succeeds|succeeded|finishes|finished|ends|ended|completes|completed|runs|ran"
    r"|breaks|broke|crashes|crashed)\b"
)
_OPENS: Final = ('"', "“", "'", "‘")
_CLOSES: Final = ('"', "”", "'", "’")
_MOST_NAMED: Final = 20


def find_names(text: str, resources: WorkspaceResources) -> list[tuple[int, int]]:
    """Where boards and automations are named: a nightly import is no schedule.

    Automations are called by the words of requests, so one is meant only where it is named.
    """
    low = text.lower()
    if len(low) != len(text):
        return []
    made: list[tuple[int, int]] = []
    said = [one.name for one in resources.boards]
    boards = {*said, *map(in_other_number, said)}
    known = (*boards, *(one for one in resources.automations or () if one not in boards))
    for name in sorted(known, key=lambda one: (-len(one), one)):
        wanted = name.strip().lower()
        if len(wanted) < 3 or "\n" in wanted or wanted not in low:
            continue
        for found in islice(re.finditer(re.escape(wanted), low), _MOST_NAMED):
            at, end = found.span()
            if any(start < end and at < stop for start, stop in made) or _inside_word(low, at, end):
                continue
            around = f"{low[max(0, at - 12) : at]} {low[end : end + 12]}"
            plain = name in boards and (" " in wanted or "board" in around)
            quoted = low[at - 1 : at] in _OPENS and low[end : end + 1] in _CLOSES
            if quoted and at:
                at, end = at - 1, end + 1
            if plain or _is_named(low[max(0, at - 40) : at], low[end : end + 40]):
                made.append((at, end))
                break
            if name in boards:
                break
    return made


def _is_named(before: str, behind: str) -> bool:
    """Whether an automation is named between these words."""
    return bool(_AUTOMATION_NAME.search(before) or _ENDS_SO.match(behind))


def _inside_word(text: str, start: int, end: int) -> bool:
    return (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())


def mark_names(text: str, names: list[tuple[int, int]]) -> str:
    """The text with marks around names, so that each is one token whatever it is made of."""
    for start, end in sorted(names, reverse=True):
        name = text[start:end]
        if name[0] in _OPENS and name[-1] in _CLOSES:
            name = name[1:-1]
        text = f"{text[:start]}‹{name}›{text[end:]}"
    return text
