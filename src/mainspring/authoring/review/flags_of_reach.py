"""Flags about external effects: unnecessary, unapproved, or new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.authoring.models import Level, ReviewFlag
from mainspring.authoring.review.definition_reader import listing, read_all_steps
from mainspring.authoring.review.grants import CapabilityUse, asks_in
from mainspring.authoring.review.quoting import join_list, plain
from mainspring.authoring.review.view import ReviewView
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.tool_patterns import BY_NAME

# Phrases that ask for an external effect, by kind.

# Verbs for notifying somebody, in a few languages. Past tense and nouns describe the subject of a
# request, so they do not count.
_WHOM: Final = r"(?:me|us|them|him|her|it|everyone|everybody|[#@]\w+|\w[\w.+-]*@\w+)\b"
_TELL: Final = re.compile(
    r"[#@]\w|\b(?:sends?|sending|sent\s+to|tells?|notif(?:y|ies)|inform(?:s|ing)?|announce|ping|"
    r"remind|reminder|forward|publish|reply|respond|escalate|deliver|push|broadcast|nudge|invite|"
    r"alert|warn|thank|greet|welcome|let\s+\w+(?:\s+\w+)?\s+know|share\s+(?:it|this|them|the|with|a)|"
    r"brief\s+(?:me|us|the|my)|report\s+(?:\w+\s+){0,3}to|report\s+back|get\s+back\s+to|"
    r"write\s+(?:to|me|us|them|him|her)|message\s+(?:me|us|them|him|her|the|my|our|to|everyone)|"
    r"schicke?|sende|melde|benachrichtige|envoie|envoyer|env[ií]a|manda|avise?|prévien|stuur)\b"
    rf"|\b(?:page|text|ask|call|wake|chase|update|wish)\s+{_WHOM}"
)
_MAIL: Final = (
    rf"\b(?:e-?)?mail(?:s|ed|ing)?\s+(?:\w+\s+){{0,4}}?(?:to\b|{_WHOM})|\b(?:e-?)?mail\s+(?:the|my|our"
    r"|a|an)\b|\b(?:by|via|as|per|in|an?|one|weekly|daily)\s+(?:\w+\s+){0,2}?(?:e-?)?mail\b"
    r"|^(?:e-?)?mail\b|\b(?:newsletter|recipient|letter\s+to|in\s+(?:my|the)\s+inbox)"
)
_SLACK: Final = (
    r"\b(?:slack|channel|post(?:ed|ing)?\b|posts\s+(?:\w+\s+){0,4}(?:to|in|on)\b"
    r"|(?:drop|put)\s+(?:\w+\s+){0,4}(?:in|into|on)\b)"
)
_WEB: Final = (
    r"://|\b\w+\.(?:com|org|net|io|dev|example)\b|\b(?:call|post|put|patch|webhook|hook|url|api|"
    r"https?|endpoint|submit|upload|request|trigger|deploy|sync|restart|ask|address|site|server|"
    r"service)"
)
_KINDS: Final = (
    (re.compile(r"slack"), re.compile(_SLACK)),
    (re.compile(r"mail"), re.compile(_MAIL)),
    (re.compile(r"telegram|sms|phone"), re.compile(r"\b(?:telegram|phone|chat|handy)")),
    (re.compile(r"http_fetch|webhook|callback"), re.compile(_WEB)),
)
# Verbs in the names of MCP tools.
_TOOL: Final = re.compile(
    r"\b(?:post|creat|open|fil(?:e|ing)\b|add|log|raise|book|order|updat|sync|schedul|assign|"
    r"register|submit|upload|ticket|issue|put\b|mov(?:e|ing)|clos(?:e|ing)|comment|save|merg|set|"
    r"invoic|refund|pay|label|mark|writ|draft)"
)
_WORD: Final = re.compile(r"[a-z]{4,}")
_LATIN: Final = re.compile(r"[a-z]")


def speaks_of(text: str, capability: Capability) -> bool:
    """Report whether a request mentions this kind of effect.

    Requests in another alphabet are assumed to.
    """
    low = text.lower()
    if not _LATIN.search(low) or _TELL.search(low):
        return True
    name = capability.id.lower()
    for kind, asked in _KINDS:
        if kind.search(name):
            return asked.search(low) is not None
    named = any(part in low for part in _WORD.findall(name))
    return named or _TOOL.search(low) is not None


# Basic capabilities whose first use is not worth a flag.
_PLUMBING: Final = frozenset({"inbox.post_notification", "automation_kv.get", "automation_kv.set"})


def flags_of_reach(view: ReviewView) -> Iterator[ReviewFlag]:
    yield from _flag_unused_grants(view)
    yield from _flag_unrequested_sends(view)
    yield from _first_use(view)
    yield from _alone(view)
    yield from _doubles(view)
    yield from _powers(view)


def _flag_unused_grants(view: ReviewView) -> Iterator[ReviewFlag]:
    """Grants with external effects that no step needs."""
    used = {ask.capability for ask in view.asks}
    for place, entry in enumerate(listing(view.document.get("grants"))[:200]):
        name = mapping(entry).get("capability")
        known = view.vocabulary.capabilities.get(name) if isinstance(name, str) else None
        if known is None or name in used or known.annotations.effect is not Effect.SEND:
            continue
        yield ReviewFlag(
            join_pointer("/grants", place),
            "unused_grant",
            (
                f"It may call {plain(known.id, 80)}, which sends something outside, but no step "
                "does."
            ),
            suggestion="Remove the grant.",
        )


def _flag_unrequested_sends(view: ReviewView) -> Iterator[ReviewFlag]:
    """External effects that the request did not mention."""
    purpose, by = view.purpose
    if not purpose.strip():
        return
    for ask in _first_of_each(view):
        known = view.vocabulary.capabilities.get(ask.capability)
        if known is None or ask.effect is not Effect.SEND or speaks_of(purpose, known):
            continue
        yield ReviewFlag(
            ask.pointer,
            "write_without_need",
            (
                f"It uses {plain(ask.capability, 80)}, which sends something outside, and {by} "
                "does not mention that."
            ),
            suggestion="Remove it, or make sure that you need it.",
        )


def _first_of_each(view: ReviewView) -> Iterator[CapabilityUse]:
    seen: set[str] = set()
    for ask in view.asks:
        if ask.capability not in seen:
            seen.add(ask.capability)
            yield ask


def _first_use(view: ReviewView) -> Iterator[ReviewFlag]:
    used = view.facts.used
    if used is None:
        return
    before = mapping(view.facts.before)
    earlier = {
        ask.capability for ask in asks_in(read_all_steps(before, view.vocabulary), view.vocabulary)
    }
    inside: list[CapabilityUse] = []
    for ask in _first_of_each(view):
        known = view.vocabulary.capabilities.get(ask.capability)
        if known is None or ask.capability in used | earlier | _PLUMBING:
            continue
        if ask.effect is Effect.SEND or known.annotations.pin:
            yield _new([ask], "warning")
        else:
            inside.append(ask)
    if inside:
        # Internal writes share one line.
        yield _new(inside, "note")


def _new(asks: list[CapabilityUse], level: Level) -> ReviewFlag:
    names = ["an agent" if ask.capability == AGENT_RUN else ask.capability for ask in asks]
    return ReviewFlag(
        asks[0].pointer,
        "first_use",
        f"No other automation here may call {join_list([plain(one, 80) for one in names], 6, 'or')} "  # noqa: E501
        "yet.",
        level,
        suggestion="Test it once and check the result before you activate it.",
    )


def _alone(view: ReviewView) -> Iterator[ReviewFlag]:
    if view.execution.get("write_policy") != "auto_confirm_safe":
        return
    safe = [
        plain(ask.capability, 80)
        for ask in _first_of_each(view)
        if (known := view.vocabulary.capabilities.get(ask.capability)) is not None
        and known.write is not None
        and known.write.safe
    ]
    at = "/execution/write_policy"
    if safe:
        text = f"{join_list(safe)} will be sent without approval."
        yield ReviewFlag(at, "goes_without_person", text, suggestion=_ALWAYS)
    else:
        text = "Safe writes would be sent without approval, but it has none."
        yield ReviewFlag(at, "goes_without_person", text, "note", suggestion=_ALWAYS)


_ALWAYS: Final = "Use always_draft so that a person reviews each write first."


def _powers(view: ReviewView) -> Iterator[ReviewFlag]:
    """Actions usually done by a person: approving drafts, and changing automations."""
    for ask in _first_of_each(view):
        if ask.capability == "confirm_action":
            yield ReviewFlag(
                ask.pointer,
                "agrees_itself",
                "It can confirm drafts that wait for a person, so they may be sent unseen.",
                suggestion="Remove it and let a person approve in the inbox.",
            )
        elif ask.capability in BY_NAME:
            yield ReviewFlag(
                ask.pointer,
                "changes_automations",
                f"It uses {plain(ask.capability, 60)}, so it can change or start automations.",
                suggestion="Remove it unless that is its purpose.",
            )


def _doubles(view: ReviewView) -> Iterator[ReviewFlag]:
    """Rows appended by every run without a dedup key."""
    if not view.armed:
        return
    for step in view.steps:
        if step.action == "append_board_rows" and not _has_key(step.config):
            yield ReviewFlag(
                step.at("rows"),
                "rows_may_double",
                (
                    "Rows are added without a field that identifies duplicates, so a row may be "
                    "added twice."
                ),
                "note",
                suggestion="Add dedupe_key_field, the field with the external id.",
            )


def _has_key(config: Mapping[str, Any]) -> bool:
    return bool(config.get("dedupe_key_field"))
