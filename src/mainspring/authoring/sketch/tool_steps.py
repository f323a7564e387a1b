"""Steps that call a capability which no rule knows by name, tools of connections among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.shapes import QuestionChoice
from mainspring.authoring.sketch.acts import ActionContent
from mainspring.authoring.sketch.arguments import arguments_of, lacks_alternative, misfits
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.reading import Clause, Token
from mainspring.authoring.sketch.reads import ReadMaterial, find_sources
from mainspring.authoring.sketch.search import (
    CapabilityMatch,
    aliases,
    count_name_words,
    search_tools,
)
from mainspring.authoring.sketch.spoken_secrets import find_mentioned_secrets
from mainspring.authoring.sketch.texts import inert, quote_request, shorten_text
from mainspring.authoring.sketch.verbs import (
    FINAL,
    KEEP,
    OTHER,
    OUTSIDE,
    READ,
    SAY,
    THINK,
)
from mainspring.authoring.sketch.workbench import SketchBuilder, usable
from mainspring.contracts.capability import Capability, Effect
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.pointers import join_pointer

_LEAST_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class MatchedTool:
    """A capability found for a clause."""

    intent: Intent
    found: CapabilityMatch
    # Whether it stands in place of everything else the clause could mean.
    alone: bool

    @property
    def reads(self) -> bool:
        return self.found.capability.annotations.effect is Effect.READ


def find_tool(bench: SketchBuilder, intent: Intent) -> MatchedTool | None:
    """A tool for a clause that names a connection, or that no rule knows."""
    clause, known = intent.clause, bench.words.capabilities
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
    """A place outside that a clause names and that no connection reaches."""
    there = aliases(bench.words.capabilities)
    named = [one for one in clause.words if one in OUTSIDE]
    return next((one for one in named if not any(one in alias for alias in there)), "")


def find_reading(
    bench: SketchBuilder, intent: Intent, tokens: tuple[Token, ...]
) -> MatchedTool | None:
    """A tool from outside that reads what some words name, where its name says nearly all of it."""
    outside = aliases(bench.words.capabilities)
    reading = {
        name: one
        for name, one in bench.words.capabilities.items()
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
    """The step that calls it; where two fit, the person chooses."""
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
    """A secret that the words speak of goes into the one request that could need it."""
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
    # Whoever named the secret has not said to whom it goes.
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
    """A part of a schema that judges by itself; references lead out of it."""
    made = usable(schema)
    return {} if "$ref" in str(made) else made
