"""Forms in a request: "a form where people ask for leave with their name and email"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.sketch.request_tokens import Token

_OFFER: Final = re.compile(
    r"^(?:please\s+)?"
    r"(?:(?:make|create|build|host|open|publish|add|set up|give me|i want|i need)\s+)?"
    r"(?:me\s+)?(?:a|an)\s+(?:[\w-]+\s+){0,2}form\s+"
    r"(?:where|in which|with which|through which|for|that|which|to|asking|with)\b",
    re.IGNORECASE,
)
_MEMBERS: Final = re.compile(r"\b(?:members|colleagues|employees|team ?mates)\b", re.IGNORECASE)
_TEXT: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 500}
_LONG: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 5_000}
_EMAIL: Final[Mapping[str, Any]] = {"type": "string", "pattern": "@", "maxLength": 200}
_DATE: Final[Mapping[str, Any]] = {"type": "string", "format": "date"}
# Fields by the word that names them: the input, its title, its schema.
_FIELDS: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "name": ("name", "Name", _TEXT),
    "email": ("email", "Email", _EMAIL),
    "e-mail": ("email", "Email", _EMAIL),
    "phone": ("phone", "Phone", _TEXT),
    "company": ("company", "Company", _TEXT),
    "topic": ("topic", "Topic", _TEXT),
    "subject": ("subject", "Subject", _TEXT),
    "date": ("date", "Date", _DATE),
    "message": ("message", "Message", _LONG),
    "question": ("question", "Question", _LONG),
    "feedback": ("feedback", "Feedback", _LONG),
    "comment": ("comment", "Comment", _LONG),
    "problem": ("problem", "Problem", _LONG),
    "reason": ("reason", "Reason", _LONG),
    "rating": ("rating", "Rating", {"type": "integer", "minimum": 1, "maximum": 5}),
}
_USUAL: Final = ("name", "email", "message")


def offers_form(part: Sequence[Token]) -> bool:
    """Report whether the request asks for a hosted form, not about a form of another system."""
    return _OFFER.match(" ".join(one.text for one in part)) is not None


def form_config(text: str) -> dict[str, Any]:
    """The config of the trigger: who may fill it in."""
    return {"access": "members" if _MEMBERS.search(text) else "public"}


def form_inputs(text: str) -> dict[str, Any]:
    """The inputs that the request names, or the usual ones."""
    words = re.findall(r"[\w-]+", text.lower())
    named = [word if word in _FIELDS else word.removesuffix("s") for word in words]
    found = [word for word in dict.fromkeys(named) if word in _FIELDS]
    return {
        name: {**schema, "title": title}
        for name, title, schema in (_FIELDS[word] for word in found or _USUAL)
    }
