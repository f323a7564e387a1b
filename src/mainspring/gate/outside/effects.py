"""How far a tool from outside reaches: read from what it says of itself, and believed with care.

A server's hints are claims of somebody we do not know. A tool that calls itself read-only and
is named for deleting is taken by its name. Whoever is not sure sends: what sends is held until
a person has seen it, so a wrong guess costs a click and not a letter. A person may say better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.capability import Effect

# What a call may do, as far as can be told; a tool has a set of them.
READS: Final = "READS"
WRITES: Final = "WRITES"
DELETES: Final = "DELETES"
USER_VISIBLE: Final = "USER_VISIBLE"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PIECES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_READING: Final = _words(
    """
    browse calculate check compare convert count describe diff explain export fetch find get
    inspect list look lookup peek ping preview query read resolve retrieve search show summarize
    tail translate validate view watch whoami
    """
)
_DELETING: Final = _words(
    "archive cancel clear close delete destroy drop erase kill purge remove reset revoke trash "
    "truncate uninstall wipe"
)
# Somebody sees that these were done.
_VISIBLE: Final = _words(
    "announce answer assign broadcast call comment email invite mail mention message notify post "
    "publish reply respond send share submit tweet"
)
_WRITING: Final = _words(
    """
    accept activate add append apply approve attach buy change charge click commit copy create
    deploy disable edit enable execute fill fork generate grant import insert install lock make
    merge modify move navigate patch pay press push put rebase refund register reject rename
    replace restart rollback run save schedule set start stop store sync transfer trigger type
    unlock update upload upsert write
    """
)
# These are as often the name of a thing as of a deed: "get_comment" only looks.
_ALSO_THINGS: Final = _words(
    "address answer archive attach call change charge comment commit copy email export fork grant "
    "import lock mail mention message move order patch post press push reply reset run schedule "
    "set share start stop store tweet type"
)
_DOING: Final = _DELETING | _VISIBLE | _WRITING
# A name in one piece, such as deleteuser, is read by how it begins.
_BEGINNINGS: Final = ("create", "delete", "destroy", "publish", "remove", "send", "update", "write")


@dataclass(frozen=True, slots=True)
class Judged:
    """How far a tool reaches, what its calls may do, and what tells so."""

    effect: Effect
    side_effects: frozenset[str]
    why: str


def judge(name: str, hints: Mapping[str, Any], said: str | None = None) -> Judged:
    """What a tool does: by a person's word, else by its name and its hints."""
    words = [piece.lower() for piece in _PIECES.findall(name)]
    doing = _deeds(words)
    if said is not None:
        effect, why = Effect(said), "a person said so"
    elif doing:
        effect, why = Effect.SEND, f"its name says {min(doing)!r}"
    elif hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        effect, why = Effect.SEND, "the server says that it may destroy"
    elif isinstance(hints.get("readOnlyHint"), bool):
        reads = hints["readOnlyHint"]
        effect = Effect.READ if reads else Effect.SEND
        why = f"the server says that it {'only reads' if reads else 'changes something'}"
    elif words and words[0] in _READING:
        effect, why = Effect.READ, f"its name says {words[0]!r}"
    else:
        effect, why = Effect.SEND, "nothing says that it only reads"
    return Judged(effect, _side_effects(effect, doing, hints), why)


def _deeds(words: list[str]) -> frozenset[str]:
    """The words of a name that say that something is done."""
    found = frozenset(words) & _DOING
    if words and words[0] in _READING - _ALSO_THINGS:
        return found - _ALSO_THINGS
    return found | {verb for verb in _BEGINNINGS if words and words[0].startswith(verb)}


def _side_effects(
    effect: Effect, doing: frozenset[str], hints: Mapping[str, Any]
) -> frozenset[str]:
    if effect is Effect.READ:
        return frozenset({READS})
    found = {WRITES}
    if doing & _DELETING or hints.get("destructiveHint") is True:
        found.add(DELETES)
    # Where nothing is known, it may be seen.
    if doing & _VISIBLE or not doing:
        found.add(USER_VISIBLE)
    return frozenset(found)
