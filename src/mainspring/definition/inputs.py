"""The inputs of a run: payload values, static trigger inputs and schema defaults.

A value from the payload takes precedence over the trigger's static inputs, and those over the
schema's defaults. A default is filled in where its member is missing: at the top level, in existing
objects, in the items of lists, and in a missing but required object, which is then built from the
defaults of its members. ``$ref`` and ``allOf`` are followed; alternatives are not, because it is
not known yet which one will apply.

A default may be one of three runtime tokens, which are replaced before validation:
``$last_fired_at`` (the creation time before the first firing), ``$creator`` and ``$space_default``.
Tokens are only replaced in the schema: the same text in a payload or in static inputs is data and
stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import Validator, compile_schema
from mainspring.definition.json_schema.keywords import (
    REFERENCES,
    ROOT,
    SchemaReferences,
    iterate_subschemas,
)
from mainspring.definition.jsonpath import MOST_STEPS, PathMeter, parse_path
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

LAST_FIRED_AT = "$last_fired_at"
TOKENS = (LAST_FIRED_AT, "$creator", "$space_default")
MOST_FILLED = 1_000
MOST_LEVELS = 32

_TOKEN = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*\Z")
_NONE: Final = object()
_USUAL: Final = Limits()


@dataclass(frozen=True, slots=True)
class RuntimeTokens:
    """The values of the runtime tokens in one run."""

    last_fired_at: datetime | None
    created_at: datetime
    creator: str
    space: str
    # The tokens that were used.
    asked: set[str] = field(default_factory=set)

    def value(self, token: str) -> str:
        self.asked.add(token)
        match token:
            case "$last_fired_at":
                moment = self.last_fired_at or self.created_at
                return moment.astimezone(UTC).isoformat()
            case "$creator":
                return self.creator
            case "$space_default":
                return self.space
            case _:
                raise Invalid(f"There is no runtime token {token!r}.", code="default_token")


def list_undeclared(names: Iterable[str], schema: Mapping[str, Any]) -> list[str]:
    """Names that the schema does not declare; empty when the schema allows such names."""
    if schema.get("additionalProperties") not in (None, False) or "patternProperties" in schema:
        return []
    known = schema.get("properties", {})
    return [name for name in names if name not in known]


def check_declared(inputs: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """For inputs written by a person: an undeclared name is treated as a typo."""
    findings = [
        Finding(
            join_pointer("/inputs", name),
            f"The definition declares no input called {name[:60]!r}.",
            "unknown_input",
            suggest_nearest(name, schema.get("properties", {})),
        )
        for name in list_undeclared(inputs, schema)
    ]
    if findings:
        first = findings[0]
        raise Invalid(first.detail, code=first.code, suggestion=first.suggestion, findings=findings)


def resolve_inputs(
    schema: Mapping[str, Any] | None,
    static: Mapping[str, Any],
    payload_inputs: Mapping[str, Any],
    tokens: RuntimeTokens,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """The inputs of a run, or ``Invalid`` with findings under ``/inputs``."""
    given = {**static, **payload_inputs}
    if schema is None:
        return given
    filled: dict[str, Any] = _DefaultFiller(schema, tokens).into(schema, given)
    findings = compile_schema(schema, limits or _USUAL).findings(filled, "/inputs")
    if findings:
        raise Invalid(
            "The inputs do not fit what this automation expects.",
            code="inputs_invalid",
            findings=findings,
        )
    return filled


def map_payload(
    mapping: Mapping[str, str],
    payload: Any,
    limits: Limits | None = None,
    meter: PathMeter | None = None,
) -> dict[str, Any]:
    """Inputs extracted from a payload by JSONPath.

    A singular path gives its value, or nothing when there is none, so that a default can apply. Any
    other path gives the list of its values. All paths together share the step limit of one path.
    """
    found: dict[str, Any] = {}
    shared = meter or PathMeter(MOST_STEPS)
    for name, text in mapping.items():
        path = parse_path(text, limits or _USUAL)
        values = path.find(payload, shared)
        if not path.singular:
            found[name] = values
        elif values:
            found[name] = values[0]
    return found


def find_default_problems(schema: Any, at: str = "", limits: Limits | None = None) -> list[Finding]:
    """Defaults that are not a known token or do not match their schema."""
    found: list[Finding] = []
    for pointer, node in iterate_subschemas(schema):
        if isinstance(node, Mapping) and "default" in node:
            here = join_pointer(at + pointer, "default")
            found.extend(_token_findings(node, here))
            if not _is_token(node["default"]):
                validator = _validator_at(schema, pointer, node, limits or _USUAL)
                found.extend(validator.findings(node["default"], here))
    if not found and isinstance(schema, Mapping):
        now = datetime.min.replace(tzinfo=UTC)
        try:
            _DefaultFiller(schema, RuntimeTokens(now, now, "", "")).into(schema, {})
        except Invalid as problem:
            found.append(Finding(at, problem.detail, problem.code))
    return found


class _DefaultFiller:
    """Fills defaults into a value in one pass."""

    __slots__ = ("_holding", "_left", "_levels", "_references", "_root", "_tokens")

    def __init__(self, root: Mapping[str, Any], tokens: RuntimeTokens) -> None:
        self._root = root
        self._tokens = tokens
        self._references: SchemaReferences | None = None
        # The schemas that apply together with a schema, by its id(), because every item of a list
        # shares them.
        self._holding: dict[int, list[Mapping[str, Any]]] = {}
        self._left = MOST_FILLED
        self._levels = MOST_LEVELS

    def into(self, schema: Any, value: Any) -> Any:
        """The value with missing members filled in; the argument is not changed."""
        nodes = self._unconditional(schema)
        if isinstance(value, Mapping):
            filled = dict(value)
            for node in nodes:
                self._members(node, filled)
            return filled
        if isinstance(value, list):
            for node in nodes:
                if isinstance(node.get("items"), Mapping):
                    value = [self.into(node["items"], item) for item in value]
        return value

    def _members(self, node: Mapping[str, Any], filled: dict[str, Any]) -> None:
        for name, schema in node.get("properties", {}).items():
            if name in filled:
                filled[name] = self.into(schema, filled[name])
                continue
            made = self._made(schema, required=name in node.get("required", ()))
            if made is not _NONE:
                filled[name] = made

    def _made(self, schema: Any, *, required: bool) -> Any:
        """The default of a missing member, if the schema has one."""
        nodes = self._unconditional(schema)
        for node in nodes:
            if "default" in node:
                return self._deeper(schema, self._literal(node["default"]))
        if required and any("properties" in node for node in nodes):
            return self._deeper(schema, {}) or _NONE
        return _NONE

    def _deeper(self, schema: Any, value: Any) -> Any:
        """Fill defaults into a default, up to a limit, because a default may contain itself."""
        self._left -= 1
        self._levels -= 1
        if self._left < 0 or self._levels < 0:
            detail = "The defaults of the input schema lead to more and more values."
            raise Invalid(detail, code="inputs_endless_defaults")
        made = self.into(schema, value)
        self._levels += 1
        return made

    def _literal(self, default: Any) -> Any:
        if _is_token(default):
            return self._tokens.value(default)
        return deepcopy(default)

    def _unconditional(self, schema: Any) -> list[Mapping[str, Any]]:
        """The schema and everything that applies whenever it applies."""
        if id(schema) in self._holding:
            return self._holding[id(schema)]
        found: list[Mapping[str, Any]] = []
        seen: set[int] = set()
        waiting = [schema]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, Mapping) or id(node) in seen:
                continue
            seen.add(id(node))
            found.append(node)
            waiting.extend(node.get("allOf", ()))
            if "$ref" in node:
                waiting.append(self._target(node))
        self._holding[id(schema)] = found
        return found

    def _target(self, node: Mapping[str, Any]) -> Any:
        if self._references is None:
            self._references = SchemaReferences(self._root)
        return self._references.target(node, node["$ref"])


def _is_token(default: Any) -> bool:
    return isinstance(default, str) and _TOKEN.match(default) is not None


def _token_findings(node: Mapping[str, Any], here: str) -> Iterator[Finding]:
    default = node["default"]
    if not _is_token(default):
        yield from _find_misplaced_tokens(default, here)
    elif default not in TOKENS:
        detail = f"There is no runtime token {default!r}; there are {', '.join(TOKENS)}."
        yield Finding(here, detail, "default_token", suggest_nearest(default, TOKENS))
    elif "string" not in _types(node):
        detail = f"{default} becomes text, which the type of this schema does not allow."
        yield Finding(here, detail, "default_token")


def _types(node: Mapping[str, Any]) -> list[str]:
    written = node.get("type", "string")
    return [written] if isinstance(written, str) else list(written)


def _find_misplaced_tokens(default: Any, here: str) -> Iterator[Finding]:
    """Tokens inside a larger default, which would silently stay plain text."""
    waiting: list[tuple[str, Any]] = []
    if isinstance(default, dict | list):
        waiting.append((here, default))
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((join_pointer(place, key), item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend((join_pointer(place, number), item) for number, item in enumerate(value))
        elif value in TOKENS:
            detail = f"{value} must be the whole default; inside a larger one it stays a word."
            yield Finding(place, detail, "default_token")


def _validator_at(root: Any, pointer: str, node: Mapping[str, Any], limits: Limits) -> Validator:
    """The validator of a subschema, with its references intact."""
    refers = any(
        keyword in below
        for _, below in iterate_subschemas(node)
        if isinstance(below, Mapping)
        for keyword in REFERENCES
    )
    if not refers:
        return compile_schema(node, limits)
    # References by ``$id`` only resolve while the root schema keeps that ``$id``.
    name = str(root.get("$id", ROOT)).rstrip("#")
    whole = {**root, "$id": name}
    return compile_schema({"$ref": f"{name}#{quote(pointer)}", "$defs": {"inputs": whole}}, limits)
