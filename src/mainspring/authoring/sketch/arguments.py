"""The arguments of a tool, as far as the words tell them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.sketch.acts import ActionContent
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.reading import Clause
from mainspring.authoring.sketch.texts import inert, shorten_text
from mainspring.authoring.sketch.verbs import FINAL, PRONOUNS, STOP
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema

_TITLES: Final = frozenset({"title", "subject", "name", "summary", "headline"})
_TEXTS: Final = frozenset(
    {"text", "body", "description", "message", "content", "comment", "note", "markdown", "notes"}
)
_REPOSITORY: Final = re.compile(r"\b[\w.-]{1,60}/[\w.-]{1,60}\b")
_QUERIES: Final = frozenset({"q", "query", "search", "term", "keywords", "filter", "jql"})


def arguments_of(capability: Capability, intent: Intent, content: ActionContent) -> dict[str, Any]:
    """The arguments that can be known from the words."""
    schema = capability.input_schema
    required = [one for one in schema.get("required", ()) if isinstance(one, str)]
    known = schema.get("properties", {})
    if intent.clause.verb in FINAL:
        # What cannot be taken back is done to nothing that was guessed.
        return {}
    alias = capability.id.partition(".")[0]
    subject = intent.clause.quote() or _about(intent.subject, alias)
    made: dict[str, Any] = {}
    for name, said in known.items():
        if not isinstance(said, Mapping) or said.get("type") != "string" or "enum" in said:
            continue
        low = name.lower()
        if "pattern" in said or "format" in said:
            continue
        value = _said_for(low, intent.clause)
        if value:
            made[name] = inert(value)
            continue
        if low in _QUERIES and subject and (name in required or len(required) == 0):
            made[name] = inert(shorten_text(subject, 200))
        elif low in _TITLES and (name in required):
            made[name] = (
                content.title
                if content.text
                else inert(shorten_text(subject, 150)) or content.title
            )
        elif low in _TEXTS and (name in required or content.text) and (content.text or subject):
            made[name] = content.text or inert(shorten_text(subject, 1_000))
    return _fitting({name: value for name, value in made.items() if value}, schema)


def _fitting(made: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that the schema refuses beside the others."""
    try:
        findings = compile_schema(schema, Limits()).findings(made, "")
    except Invalid:
        return {}
    refused = {one.pointer.split("/")[1] for one in findings if one.pointer.count("/")}
    return {name: value for name, value in made.items() if name not in refused}


def misfits(made: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether the arguments as a whole have no shape that is allowed."""
    try:
        findings = compile_schema(schema, Limits()).findings(dict(made), "")
    except Invalid:
        return False
    return any(not one.pointer and one.code != "required" for one in findings)


def _said_for(name: str, clause: Clause) -> str:
    """What the words say for an argument by its name: the team ENG, acme/shop for a repository."""
    if "repo" in name and (found := _REPOSITORY.search(clause.text())) is not None:
        return found[0]
    if name in _TEXTS | _TITLES | _QUERIES:
        return ""
    for place, one in enumerate(clause.tokens[:-1]):
        behind = clause.tokens[place + 1]
        if one.low == name and (behind.kind == "quote" or behind.text[:1].isupper()):
            return behind.content
    return ""


def _about(subject: str, alias: str) -> str:
    """What is looked for, without the name of where it is looked for."""
    said = subject.split()
    words = [
        one
        for place, one in enumerate(said)
        if one.lower().strip(",.") != alias
        and not (
            one.lower() in {"in", "on", "at", "from"}
            and [word.lower().strip(",.") for word in said[place + 1 : place + 2]] == [alias]
        )
    ]
    if all(one.lower().strip(",.") in STOP | PRONOUNS for one in words):
        # Who or what is looked for was not said.
        return ""
    while words and words[0].lower() in {"for", "on", "in", "the", "a", "an", "at", "all"}:
        words = words[1:]
    while words and words[-1].lower() in {"for", "on", "in", "at", "to"}:
        words = words[:-1]
    return " ".join(words)


def lacks_alternative(schema: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Whether one of several keys is needed, and none of them is known."""
    for key in ("oneOf", "anyOf"):
        groups = [
            set(one["required"])
            for one in schema.get(key, ())
            if isinstance(one, Mapping) and isinstance(one.get("required"), list)
        ]
        if groups and not any(group <= config.keys() for group in groups):
            return True
    return False
