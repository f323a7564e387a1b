"""Words and patterns for the flags, as data; ``flags_of_texts`` has the injection patterns.

Every pattern starts with something rare and has no nested unbounded repetition, so matching is
linear.
"""

from __future__ import annotations

import re
from typing import Final

# Characters invisible to a reader but not to a model: bidi controls, zero-width, tags, and
# controls. Joiners are used in many scripts, but never between ASCII letters.
INVISIBLE: Final = re.compile(
    "[\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|(?<=[!-~])[\u200c\u200d](?=[!-~])"
    "|[\U000e0100-\U000e01ef]{3}"
)
# Regional flag emoji use tag characters.
FLAG_SIGN: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{2,10}")
LEAST_BLOB: Final = 160
BLOB: Final = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{LEAST_BLOB},}}={{0,2}}")
# A URL within a text whose query is templated.
LEAKING_ADDRESS: Final = re.compile(r"https?://[^\s{}\"'?]{1,200}\?[^\s{}\"']{0,200}\{\{")
DUNDER: Final = re.compile(r"\{[{%][^{}]{0,500}?(?:\.|\[['\"])__\w{1,60}")
CHAIN: Final = re.compile(r"(?:\|\s*[a-z_]{1,20}(?:\([^()|]{0,200}\))?\s*){5,}")
PATH: Final = re.compile(r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){8,}")

# Prompts that only pass something on, and words that show they do more.
RELAYING: Final = re.compile(
    r"\s*(?:please\s+)?(?:send|post|forward|relay|call|fetch|get|append|add|save|store|copy|"
    r"publish|notify|push|upload|pass|put|deliver|mail|email|e-mail|run|use)\b",
    re.IGNORECASE,
)
# Without any tool: a text repeated verbatim.
FIXED: Final = re.compile(
    r"\s*(?:please\s+)?(?:"
    r"(?:post|send|relay|forward)\s+[\w!]+\s+to\s+\S+\s*[.!]?\s*$"
    r"|(?:post|send|relay|forward|return|repeat|output|print|echo|say|answer\s+with)\s+"
    r"(?:exactly\s+|only\s+|just\s+)?(?:(?:the|this)\s+(?:following\s+)?(?:text|message|words?|line)"
    r"\s*:?\s*)?[\"'“‘«][^\"'”’»]{1,2000}[\"'”’»][^\"']{0,60}$"
    r"|(?:post|send|relay|forward|return|repeat|output|print|echo|pass\s+on)\b[^.!?]{1,200}"
    r"\b(?:unchanged|verbatim|word\s+(?:for|by)\s+word|as\s+(?:it|they)\s+(?:is|are)|as[\s-]is)\b"
    r"[^.!?]{0,60}[.!]?\s*$)",
    re.IGNORECASE,
)
THINKING: Final = re.compile(
    r"\b(?:summar|sum\s+up|decid|writ|draft|classif|extract|analy|explain|compar|choos|pick|"
    r"translat|answer|find|rank|review|judg|rate|group|sort\s+out|research|read|look|check|"
    r"categor|describ|plan|propos|suggest|rewrit|list|name\s+the|tag|if\b|whether|which|why|how)",
    re.IGNORECASE,
)
# Arguments that name a destination.
DESTINATIONS: Final = frozenset(
    {
        "to",
        "cc",
        "bcc",
        "channel",
        "channel_id",
        "chat_id",
        "recipient",
        "recipients",
        "reply_to",
        "url",
        "email",
        "phone",
        "user_id",
        "install_id",
    }
)
