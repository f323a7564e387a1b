"""Steps for capabilities without a rule of their own, including MCP tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.sketch.action_steps import ActionContent
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.read_steps import ReadMaterial, find_sources
from mainspring.authoring.sketch.request_tokens import Clause, Token
from mainspring.authoring.sketch.search import (
    CapabilityMatch,
    aliases,
    count_name_words,
    search_tools,
)
from mainspring.authoring.sketch.sketch_builder import SketchBuilder, usable
from mainspring.authoring.sketch.texts import inert, quote_request, shorten_text
from mainspring.authoring.sketch.word_tables import (
    FINAL,
    KEEP,
    OTHER,
    OUTSIDE,
    PRONOUNS,
    READ,
    SAY,
    STOP,
    THINK,
)
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.strict_json import join_pointer

# A tool's arguments, as far as the request gives them.

_TITLES: Final = frozenset({"title", "subject", "name", "summary", "headline"})
_TEXTS: Final = frozenset(
    {"text", "body", "description", "message", "content", "comment", "note", "markdown", "notes"}
)
_REPOSITORY: Final = re.compile(r"\b[\w.-]{1,60}/[\w.-]{1,60}\b")
_QUERIES: Final = frozenset({"q", "query", "search", "term", "keywords", "filter", "jql"})


def arguments_of(capability: Capability, intent: Intent, content: ActionContent) -> dict[str, Any]:
    """Derive the arguments from the request."""
    schema = capability.input_schema
    required = [one for one in schema.get("required", ()) if isinstance(one, str)]
    known = schema.get("properties", {})
    if intent.clause.verb in FINAL:
        # Irreversible actions never get guessed arguments.
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
        value = _find_argument_text(low, intent.clause)
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
    """Drop arguments that the schema rejects in combination."""
    try:
        findings = compile_schema(schema, Limits()).findings(made, "")
    except Invalid:
        return {}
    refused = {one.pointer.split("/")[1] for one in findings if one.pointer.count("/")}
    return {name: value for name, value in made.items() if name not in refused}


def misfits(made: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Report whether the arguments match no allowed shape."""
    try:
        findings = compile_schema(schema, Limits()).findings(dict(made), "")
    except Invalid:
        return False
    return any(not one.pointer and one.code != "required" for one in findings)


def _find_argument_text(name: str, clause: Clause) -> str:
    """Find an argument's value by its name: the team ENG, acme/shop for a repository."""
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
    """Return the search terms without the name of where to search."""
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
        # The search subject was not given.
        return ""
    while words and words[0].lower() in {"for", "on", "in", "the", "a", "an", "at", "all"}:
        words = words[1:]
    while words and words[-1].lower() in {"for", "on", "in", "at", "to"}:
        words = words[:-1]
    return " ".join(words)


def lacks_alternative(schema: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Report whether one of several keys is required and none is known."""
    for key in ("oneOf", "anyOf"):
        groups = [
            set(one["required"])
            for one in schema.get(key, ())
            if isinstance(one, Mapping) and isinstance(one.get("required"), list)
        ]
        if groups and not any(group <= config.keys() for group in groups):
            return True
    return False


# Secrets that a request mentions: with the GitHub token, using the secret status_key.

# URLs and templates are not searched.
_NO_WORDS: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://\S*|\bwww\.\S+|[^\s@]{1,64}@\S+|\w[\w.-]{0,80}\.[a-z]{2,20}[/?#]\S*"
    r"|\{[{%#].*?(?:[}%#]\}|$)",
    re.IGNORECASE | re.DOTALL,
)
_USED: Final = (
    r"(?:with|using|uses?|via|by|secret|authori[sz]\w{1,7}|authenticat\w{1,4}|sign\w{0,3})"
)
_BETWEEN: Final = r"(?:(?:the|my|our|its|a|secret|token|key|named|called|of|in|by|with)\s+){0,4}"
_BEHIND: Final = (
    r"\s+(?:as|in)\s+(?:(?:a|an|the|its|my|our)\s+)?(?:bearer|token|header|authori|secret)"
)


def find_mentioned_secrets(text: str, names: Iterable[str]) -> list[str]:
    """Find the secrets that the request mentions."""
    said = _NO_WORDS.sub(" … ", text).casefold()
    return [name for name in names if _is_spoken(name, said)]


def _is_spoken(name: str, text: str) -> bool:
    words = [one for one in name.casefold().split("_") if one]
    if not words or any(one not in text for one in words):
        return False
    named = rf"[\"'`“‘]?(?<!\w){'[ _-]'.join(map(re.escape, words))}(?!\w)[\"'`”’]?"
    used = rf"(?<!\w){_USED}\s+{_BETWEEN}{named}|{named}{_BEHIND}"
    return re.search(used, text) is not None


_LEAST_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class MatchedTool:
    """A capability that matches a clause."""

    intent: Intent
    found: CapabilityMatch
    # Whether it replaces every other reading of the clause.
    alone: bool

    @property
    def reads(self) -> bool:
        return self.found.capability.annotations.effect is Effect.READ


def find_tool(bench: SketchBuilder, intent: Intent) -> MatchedTool | None:
    """Find a tool for a clause that names a connection, or that no rule covers."""
    clause, known = intent.clause, bench.vocabulary.capabilities
    if any(one.where in {"wait", "automation"} for one in intent.targets):
        return None
    named = sorted(aliases(known) & set(clause.words))
    ours = {one.where for one in intent.targets}
    for alias in named:
        if alias in {"slack", "telegram"} and ours & {"slack", "telegram"}:
            continue
        found = search_tools(clause, known, alias)
        if found is not None:
            return MatchedTool(intent, found, alone=True)
        said = clause.text()
        bench.lose(
            said,
            f"The connection {quote_request(alias)} has no tool that fits {quote_request(said)}.",
        )
    if intent.targets or clause.verb in THINK or absent_service(bench, clause):
        return None
    if clause.verb not in OTHER | KEEP | SAY | READ or _has_source(bench, intent):
        return None
    found = search_tools(clause, known)
    return None if found is None else MatchedTool(intent, found, alone=True)


def absent_service(bench: SketchBuilder, clause: Clause) -> str:
    """Return an external service that a clause names and that is not connected."""
    there = aliases(bench.vocabulary.capabilities)
    named = [one for one in clause.words if one in OUTSIDE]
    return next((one for one in named if not any(one in alias for alias in there)), "")


def find_reading(
    bench: SketchBuilder, intent: Intent, tokens: tuple[Token, ...]
) -> MatchedTool | None:
    """Find an external read tool whose name matches nearly all of some words."""
    outside = aliases(bench.vocabulary.capabilities)
    reading = {
        name: one
        for name, one in bench.vocabulary.capabilities.items()
        if name.partition(".")[0] in outside and one.annotations.effect is Effect.READ
    }
    clause = Clause(tokens[1:], intent.clause.source)
    found = search_tools(clause, reading)
    if found is None or count_name_words(clause, found.capability) < _LEAST_NAMED:
        return None
    return MatchedTool(intent, CapabilityMatch(found.capability), alone=False)


def _has_source(bench: SketchBuilder, intent: Intent) -> bool:
    return intent.clause.verb in READ and bool(find_sources(intent, bench))


def add_tool(
    bench: SketchBuilder, tool: MatchedTool, content: ActionContent
) -> ReadMaterial | None:
    """Add the step; when two tools match, the person chooses."""
    capability, near = tool.found.capability, tool.found.near
    at = bench.next_at
    if tool.intent.clause.verb in FINAL:
        bench.note(
            f"What {quote_request(tool.intent.clause.text())} is done to is never guessed: say it exactly."  # noqa: E501
        )
    if near:
        both = (capability, *near)
        bench.steps.append({"step_id": bench.free("call_tool")})
        bench.ask(
            "tool",
            join_pointer(at, "action"),
            f"Which tool is {quote_request(tool.intent.clause.text())}?",
            choices=tuple(
                QuestionChoice(
                    f"{one.label[:100]} ({one.id})",
                    one.id,
                    ((join_pointer(at, "config"), arguments_of(one, tool.intent, content)),),
                )
                for one in both
            ),
        )
        step_id = str(bench.steps[-1]["step_id"])
    else:
        config = arguments_of(capability, tool.intent, content)
        schema = capability.input_schema
        if lacks_alternative(schema, config) or misfits(config, schema):
            bench.ask(
                "arguments",
                join_pointer(at, "config"),
                f"What is given to {capability.label[:80]!r}?",
                schema={"type": "object"},
                why=shorten_text(capability.description, 200),
            )
            config = {}
        else:
            _ask_missing(bench, capability, config, join_pointer(at, "config"))
        name = "".join(
            one if one.isascii() and one.isalnum() else "_" for one in capability.id.lower()
        ).strip("_")
        step_id = bench.step(
            f"t_{name}"[:50] if not name[:1].isalpha() else name[:50],
            capability.id,
            config,
            when=content.when,
        )
        if any(one.pointer == join_pointer(at, "config") for one in bench.questions):
            del bench.steps[-1]["config"]
    if capability.annotations.held_back:
        bench.note(f"{capability.id} may not be called now: {capability.annotations.held_back}")
    if not tool.reads:
        return None
    text = f"{{{{ steps.{step_id} | tojson | truncate(20000) }}}}"
    return ReadMaterial(
        inert(shorten_text(capability.label, 200)), text, text, raw=True, output=step_id
    )


def add_secret(bench: SketchBuilder, text: str) -> None:
    """Use a mentioned secret in the one request that could need it."""
    named = find_mentioned_secrets(text, bench.resources.secrets)
    calls = [
        (place, one["config"])
        for place, one in enumerate(bench.steps)
        if one.get("action") in ("http_fetch", "callback_webhook") and "config" in one
    ]
    if len(named) != 1 or len(calls) != 1:
        return
    (place, config), headers = calls[0], _bearer(named[0])
    site = parse_template_host(config.get("url"))
    if site is not None and site.host in text.casefold():
        config["headers"] = headers
        bench.note(f"The secret {named[0]} is sent as a bearer token in the header Authorization.")
        return
    # The request does not say where the secret is sent.
    to = "the address of this step" if site is None else site.host
    bench.ask(
        "secret",
        join_pointer("/plan", place, "config", "headers"),
        f"Send the secret {named[0]} to {to}?",
        schema={"enum": [headers, {}]},
        choices=(QuestionChoice("Yes, as a bearer token", headers), QuestionChoice("No", {})),
    )


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {{{{ secrets.{secret} }}}}"}


def _ask_missing(
    bench: SketchBuilder, capability: Capability, config: Mapping[str, Any], at: str
) -> None:
    schema = capability.input_schema
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name in config or not isinstance(name, str):
            continue
        said = known.get(name)
        said = said if isinstance(said, Mapping) else {}
        described = said.get("description")
        hint = f" {shorten_text(described, 200)}" if isinstance(described, str) else ""
        options = said.get("enum")
        bench.ask(
            name.replace("_", "-").lower()[:40] or "value",
            join_pointer(at, name),
            f"What is {name.replace('_', ' ')!r} for {capability.label[:80]!r}?{hint}",
            schema=_self_contained(said),
            choices=tuple(QuestionChoice(str(one), one) for one in options)
            if isinstance(options, list)
            else (),
        )


def _self_contained(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a self-contained part of a schema, without references."""
    made = usable(schema)
    return {} if "$ref" in str(made) else made
