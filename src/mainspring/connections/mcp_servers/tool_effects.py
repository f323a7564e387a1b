"""How far a tool from outside reaches: read from what it says of itself, and believed with care.

A server's hints are claims of somebody we do not know. A tool that calls itself read-only and
is named for deleting is taken by its name, and hints that contradict each other tell nothing.
Whoever is not sure sends: what sends is held until a person has seen it, so a wrong guess costs
a click and not a letter. A person may say better.
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


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PIECES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_RUNS: Final = re.compile(r"[a-z]+|\d+")

# Few on purpose: other words that sound like reading are as often the name of a deed, as in
# resolve_incident, check_out, convert_lead, watch_repository or query.
_READING: Final = _split_words("count describe find get list lookup read retrieve search")
# One tool that does two things does the second one too.
_JOINING: Final = _split_words("and also else followed or plus then")
_DELETING: Final = _split_words(
    "archive ban block cancel clear close delete destroy disconnect drop erase expire kick kill "
    "mute overwrite purge remove reset revoke suspend terminate trash truncate unassign unfollow "
    "uninstall unpublish unshare unsubscribe wipe withdraw"
)
# Somebody sees that these were done.
_VISIBLE: Final = _split_words(
    "announce answer assign broadcast call comment dial email follow forward invite mail mention "
    "message notify page ping post publish react remind reply report request respond send share "
    "star submit subscribe text tweet vote"
)
_WRITING: Final = _split_words(
    """
    accept ack acknowledge activate add allow append apply approve attach authorize backup bid
    book bookmark build buy change charge checkin checkout claim click clone commit complete
    configure confirm connect consume copy create deactivate debit decline dequeue deploy
    disable dismiss dispatch donate download duplicate edit enable enqueue enroll escalate eval
    exec execute export fill finalize finish fork generate give grant hide import init initialize
    insert install invoke issue join label launch leave link load lock login logout make mark
    merge migrate mint modify move mutate navigate open order out patch pause pay perform pin
    place pop press process promote provision pull purchase push put rate rebase rebuild receive
    record redeem refresh refund register reject release rename renew reopen repair replace
    reschedule reserve restart restore resume retry return revert rollback rotate run save
    schedule scale seed sell set settle shutdown sign snooze spend start stop store switch sync tag
    toggle track trade transfer trigger type unarchive unban unblock undo unlock unpin update
    upgrade upload upsert use watch wire write
    """
)
# These are as often the name of a thing as of a deed: "get_comment" only looks.
_ALSO_THINGS: Final = _split_words(
    """
    address answer archive backup bid block book bookmark build call change charge claim comment
    commit copy download email export follow fork grant import issue label link load lock mail
    mention message open order page patch pin place post process pull push rate react record
    release reply report request resume return run scale schedule seed set share sign star start
    stop store switch tag text track trade transfer tweet type use vote watch wire
    """
)
_DOING: Final = _DELETING | _VISIBLE | _WRITING
# A name in one piece, such as deleteuser, is read by what is in it.
_INSIDE: Final = (
    "create",
    "delete",
    "destroy",
    "execute",
    "insert",
    "notify",
    "post",
    "publish",
    "purge",
    "remove",
    "send",
    "update",
    "upload",
    "write",
)


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """How far a tool reaches, what its calls may do, and what tells so."""

    effect: Effect
    side_effects: frozenset[str]
    why: str


def judge(name: str, hints: Mapping[str, Any], text: str | None = None) -> ToolEffect:
    """What a tool does: by a person's word, else by its name and its hints."""
    words = [piece.lower() for piece in _PIECES.findall(name)]
    # Capitals in odd places tear a word apart, so it is looked for without them too.
    torn = frozenset(_RUNS.findall(name.lower())) & (_DOING - _ALSO_THINGS)
    doing = _find_action_words(words) | torn
    if text is not None:
        effect, why = Effect(text), "a person said so"
    else:
        effect, why = _guess_effect(words, doing, hints)
    return ToolEffect(effect, _side_effects(effect, doing, hints), why)


def _guess_effect(
    words: list[str], doing: frozenset[str], hints: Mapping[str, Any]
) -> tuple[Effect, str]:
    """A tool reads if its name is clean, and if its first word or the server says so."""
    verb = words[0] if words else ""
    reads, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    # Said of a tool that only reads they mean nothing.
    of_writers = destroys is not None or hints.get("idempotentHint") is not None
    if doing:
        return Effect.SEND, f"its name says {min(doing)!r}"
    if not _JOINING.isdisjoint(words):
        return Effect.SEND, "its name says that it does more than one thing"
    if destroys is True:
        return Effect.SEND, "the server says that it may destroy"
    if reads is False or (reads is None and of_writers):
        return Effect.SEND, "the server says that it changes something"
    if verb in _READING:
        return Effect.READ, f"its name says {verb!r}"
    if reads is True and hints.get("openWorldHint") is not True:
        return Effect.READ, "the server says that it only reads"
    return Effect.SEND, "nothing says that it only reads"


def _find_action_words(words: list[str]) -> frozenset[str]:
    """The words of a name that say that something is done."""
    found = frozenset(words) & _DOING
    if words and words[0] in _READING:
        return found - _ALSO_THINGS
    if words and words[-1] in _READING:
        # The thing comes first, as in issue_read.
        found -= _ALSO_THINGS
    return found | {deed for deed in _INSIDE if any(deed in word for word in words)}


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
