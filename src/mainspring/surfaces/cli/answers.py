"""Answers and edits as words of a command line: ``ID=VALUE`` and ``POINTER=JSON``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import is_same_value, join_pointer, read_json

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits

_LONGEST: Final = 60
# What begins so was meant as JSON, and is told when it is none.
_JSON: Final = ("{", "[", '"')


def read_answers(
    words: Sequence[str], questions: Sequence[Mapping[str, Any]], limits: Limits
) -> dict[str, Any]:
    """One value for each question that is named; a name that asks nothing is told here."""
    asked = {one["id"]: one for one in questions}
    answers: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip()
        if not equals or not name:
            raise _wrong("", f"{word[:_LONGEST]!r} is no answer.", "Write it as ID=VALUE.")
        if name not in asked:
            known = f"Open are: {', '.join(asked)}." if asked else "No question is open."
            raise _wrong(name, f"There is no open question {name[:_LONGEST]!r}.", known)
        if name in answers:
            raise _wrong(name, f"{name[:_LONGEST]!r} is answered twice.")
        answers[name] = read_answer(text, asked[name], limits)
    return answers


def read_answer(text: str, question: Mapping[str, Any], limits: Limits) -> Any:
    """What a person means: a choice by its number or its words, text, or JSON."""
    text = text.strip()
    choices = question.get("choices") or ()
    labels = [str(one["label"]).casefold() for one in choices]
    if text.casefold() in labels:
        return _of_choice(choices, labels.index(text.casefold()))
    if text.isdecimal() and len(text) < 4 and 1 <= int(text) <= len(choices):
        return _of_choice(choices, int(text) - 1)
    if question.get("kind") != "value" and not text.startswith(_JSON) and text != "null":
        return text
    kind = (question.get("schema") or {}).get("type")
    return text if kind == "string" else _json_or_text(text, limits, question["id"])


def _of_choice(choices: Sequence[Mapping[str, Any]], place: int) -> Any:
    """Its value; its words where two choices have the same value."""
    chosen = choices[place]
    alike = [one for one in choices if is_same_value(one["value"], chosen["value"])]
    return chosen["value"] if len(alike) == 1 else chosen["label"]


def read_edits(
    words: Sequence[str], removed: Sequence[str], limits: Limits
) -> list[dict[str, Any]]:
    """Values put at places, then places that are taken out."""
    edits: list[dict[str, Any]] = []
    for word in words:
        pointer, equals, text = word.partition("=")
        if not equals or not pointer.startswith("/"):
            raise _no_edit(word)
        edits.append({"pointer": pointer, "value": _json_or_text(text, limits, pointer)})
    for pointer in removed:
        if not pointer.startswith("/"):
            raise _no_edit(pointer)
        edits.append({"pointer": pointer, "remove": True})
    if not edits:
        raise Invalid("What is to be edited?", code="usage", suggestion="Write /name=VALUE.")
    return edits


def _no_edit(word: str) -> Invalid:
    detail = f"{word[:_LONGEST]!r} is no edit."
    way = """Write it as POINTER=JSON, such as /name=Digest or '/plan/0/config/channel="#x"'."""
    finding = Finding("/edits", detail, "edit_unusable", way)
    return Invalid(detail, code="edit_unusable", findings=[finding], suggestion=way)


def _json_or_text(text: str, limits: Limits, name: str) -> Any:
    try:
        return read_json(text, limits)
    except Invalid as problem:
        if text.lstrip().startswith(_JSON):
            raise _wrong(name, f"The value is not JSON: {problem.detail}") from None
    return text


def _wrong(name: str, detail: str, suggestion: str | None = None) -> Invalid:
    at = join_pointer("/answers", name) if name and not name.startswith("/") else name or "/answers"
    finding = Finding(at, detail, "answer_unusable", suggestion)
    return Invalid(detail, code="answer_unusable", findings=[finding], suggestion=suggestion)
