"""Words with which somebody asks for something to leave the house, by the kind of what leaves.

A request to write a report or to count orders asks for nothing of the kind, so the words are those
of telling, sending and posting, and of the system that is meant.
"""

from __future__ import annotations

import re
from typing import Final

from mainspring.contracts.capability import Capability

# Telling somebody, whatever the way, in a few languages. What was told, sent or published already
# is what a request is about, so nouns and what is past do not count.
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
# What tools of connected servers do with what they are given.
_TOOL: Final = re.compile(
    r"\b(?:post|creat|open|fil(?:e|ing)\b|add|log|raise|book|order|updat|sync|schedul|assign|"
    r"register|submit|upload|ticket|issue|put\b|mov(?:e|ing)|clos(?:e|ing)|comment|save|merg|set|"
    r"invoic|refund|pay|label|mark|writ|draft)"
)
_WORD: Final = re.compile(r"[a-z]{4,}")
_LATIN: Final = re.compile(r"[a-z]")


def speaks_of(words: str, capability: Capability) -> bool:
    """Whether a request in these words asks for what a call of this kind does.

    Of words in another alphabet nothing is known, so they may.
    """
    low = words.lower()
    if not _LATIN.search(low) or _TELL.search(low):
        return True
    name = capability.id.lower()
    for kind, asked in _KINDS:
        if kind.search(name):
            return asked.search(low) is not None
    named = any(part in low for part in _WORD.findall(name))
    return named or _TOOL.search(low) is not None
