"""Reading a request without a model, where it cannot mean anything else.

A message to addresses that stand in the request, with a text that is set off from it, is clear.
Everything else is asked back, with what each action takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.outcome import NeedsClarification
from mainspring.gate.installs import InstalledIntegration, IntegrationAction

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
# What sets the text off: a word that can mean nothing else, or a colon.
_TEXT: Final = re.compile(
    r"(?:\bsaying(?:\s+that)?\b|\bto say(?:\s+that)?\b|\bthat\b|:)\s*(?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT: Final = re.compile(
    r"\b(?:about|subject|re)\s+(?:\"(?P<quoted>[^\"]+)\"|(?P<plain>.+?))\s*"
    r"(?=,|$|\bsaying\b|\bto say\b|\bthat\b|:)",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'“”‘’ \n\t"
_SUBJECT: Final = 60
# More than one thing at once, or a moment that nobody has worked out: not for rules.
_NOT_PLAIN: Final = re.compile(
    r"\b(?:unless|if|tomorrow|later|schedule|attach|forward|reply to all|everyone|everybody)\b",
    re.IGNORECASE,
)


def read_plainly(
    install: InstalledIntegration, request: str
) -> Mapping[str, Any] | NeedsClarification:
    """The action and its input, or the question that makes it clear."""
    mails = [(name, one) for name, one in install.deeds.items() if _writes_to_somebody(one)]
    if len(mails) == 1:
        name, deed = mails[0]
        made = _message(deed, request)
        if made is not None and not deed.shape.findings(made, ""):
            return {"action_name": name, "input": made}
    return ask_back(install)


def ask_back(install: InstalledIntegration, said: str = "") -> NeedsClarification:
    """The question that names every action with what it takes."""
    known = "; ".join(f"{name} ({_fields(deed)})" for name, deed in install.deeds.items())
    asked = f"Which action of {install.name} is meant, with which values? It has {known}."
    return NeedsClarification(f"{said} {asked}".strip())


def _fields(deed: IntegrationAction) -> str:
    needed = deed.offer.input_schema.get("required", ())
    others = [name for name in deed.fields if name not in needed]
    told = ", ".join(needed)
    return f"{told}; also {', '.join(others)}" if others else told


def _writes_to_somebody(deed: IntegrationAction) -> bool:
    """A mail whose readers are named; one to the owner alone is another thing."""
    return deed.family == "email" and {"to", "subject", "body"} <= set(deed.fields)


def _message(deed: IntegrationAction, request: str) -> dict[str, Any] | None:
    if _NOT_PLAIN.search(request):
        return None
    found = _TEXT.search(request)
    if found is None:
        return None
    head, text = request[: found.start()], found["text"].strip(_QUOTES)
    to = list(dict.fromkeys(_ADDRESS.findall(head)))
    if not to or not text or _ADDRESS.search(text):
        return None
    return {"to": to, "subject": _subject(head) or _shorten(text), "body": _sentence(text)}


def _subject(head: str) -> str:
    found = _ABOUT.search(head)
    return "" if found is None else (found["quoted"] or found["plain"] or "").strip(_QUOTES)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1].rsplit(' ', 1)[0]}…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
