"""Compiles a config whose texts may be templates, and renders it.

The schema of the config says what a text may use: ``x-mainspring-scope`` is "run" (the default),
"secret" (also the names of secrets), "item" (the action itself renders it, once per item) or "none"
(no template). It applies to the whole subtree of the property that has it. Keys are never
templates. A template that is a single expression keeps the type of its value, unless the schema
only accepts text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.templates.template import Template, parse_template
from mainspring.definition.templates.values import RenderMeter, weigh

SCOPE = "x-mainspring-scope"
_SCOPES = frozenset({"run", "secret", "item", "none"})
_MAX_HOPS = 8
_MAX_DEPTH = 100

TemplateNames: TypeAlias = Mapping[str, Any]
# Renders one part of a config; None for a part without templates.
ConfigRenderer: TypeAlias = Callable[[TemplateNames, RenderMeter], Any]


@dataclass(frozen=True, slots=True)
class CompiledConfig:
    """A JSON value whose texts may be templates."""

    source: Any
    # Each template with its JSON pointer, in document order.
    templates: tuple[tuple[str, Template], ...]
    # All problems of the templates.
    problems: tuple[Finding, ...]
    limits: Limits = field(repr=False)
    # Pointers of the templates that may contain a secret.
    secret_places: frozenset[str] = frozenset()
    part: ConfigRenderer | None = field(repr=False, compare=False, default=None)

    @property
    def templated_pointers(self) -> frozenset[str]:
        return frozenset(pointer for pointer, _ in self.templates)

    def render(self, context: TemplateNames) -> Any:
        """The config with every template rendered, on one shared budget.

        Parts without templates are returned as they are, not copied.
        """
        if self.problems:
            raise Invalid(
                "The config has templates that cannot be used.",
                code="template_problems",
                findings=self.problems,
            )
        return self.source if self.part is None else self.part(context, RenderMeter(self.limits))


def compile_config(value: Any, schema: Mapping[str, Any] | None, limits: Limits) -> CompiledConfig:
    """Parse every template of a config; problems are collected, not raised."""
    reader = _ConfigCompiler(limits, schema if isinstance(schema, Mapping) else {})
    part = reader.read(value, reader.root, "run", "", 0)
    return CompiledConfig(
        value,
        tuple(reader.templates),
        tuple(reader.problems),
        limits,
        frozenset(reader.secret_places),
        part,
    )


@dataclass(slots=True)
class _ConfigCompiler:
    """Walks a config and its schema in parallel."""

    limits: Limits
    root: Mapping[str, Any]
    templates: list[tuple[str, Template]] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    secret_places: list[str] = field(default_factory=list)

    def read(
        self, value: Any, schema: Any, scope: str, pointer: str, depth: int
    ) -> ConfigRenderer | None:
        found = self._resolved(schema)
        scope = _get_scope(schema, _get_scope(found, scope))
        if scope == "none":
            return None
        if isinstance(value, str):
            return self._text(value, found, scope, pointer) if has_syntax(value) else None
        if depth > _MAX_DEPTH and isinstance(value, dict | list):
            self.problems.append(
                Finding(pointer, "The config nests too deeply.", "template_too_complex")
            )
            return None
        if isinstance(value, dict):
            return self._object(value, found, scope, pointer, depth)
        if isinstance(value, list):
            return self._list(value, found, scope, pointer, depth)
        return None

    def _text(self, source: str, schema: Any, scope: str, pointer: str) -> ConfigRenderer | None:
        try:
            template = parse_template(source, self.limits, secrets=scope == "secret")
        except Invalid as error:
            self.problems.append(Finding(pointer, error.detail, error.code, error.suggestion))
            return None
        if scope == "item":
            return None
        self.templates.append((pointer, template))
        if scope == "secret":
            self.secret_places.append(pointer)
        # Where only text is accepted, a single expression is rendered as text.
        as_text = isinstance(schema, Mapping) and schema.get("type") == "string"
        return _compile_template(template, pointer, as_text=as_text)

    def _object(
        self, value: dict[str, Any], schema: Any, scope: str, pointer: str, depth: int
    ) -> ConfigRenderer | None:
        parts = []
        for key, entry in value.items():
            below = _property(schema, key)
            part = self.read(entry, below, scope, f"{pointer}/{_escape_key(key)}", depth + 1)
            if part is not None:
                parts.append((key, part))
        if not parts:
            return None

        def render(names: TemplateNames, meter: RenderMeter) -> dict[str, Any]:
            return {**value, **{key: part(names, meter) for key, part in parts}}

        return render

    def _list(
        self, value: list[Any], schema: Any, scope: str, pointer: str, depth: int
    ) -> ConfigRenderer | None:
        below = schema.get("items") if isinstance(schema, Mapping) else None
        parts = []
        for place, entry in enumerate(value):
            part = self.read(entry, below, scope, f"{pointer}/{place}", depth + 1)
            if part is not None:
                parts.append((place, part))
        if not parts:
            return None

        def render(names: TemplateNames, meter: RenderMeter) -> list[Any]:
            made = list(value)
            for place, part in parts:
                made[place] = part(names, meter)
            return made

        return render

    def _resolved(self, schema: Any) -> Any:
        """Follow references into ``#/$defs``; other schemas are returned unchanged."""
        for _ in range(_MAX_HOPS):
            target = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(target, str) or not target.startswith("#/$defs/"):
                return schema
            name = target.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
            shared = self.root.get("$defs")
            schema = shared.get(name) if isinstance(shared, Mapping) else None
        return None


def _get_scope(schema: Any, inherited: str) -> str:
    said = schema.get(SCOPE) if isinstance(schema, Mapping) else None
    return said if isinstance(said, str) and said in _SCOPES else inherited


def _property(schema: Any, key: str) -> Any:
    if not isinstance(schema, Mapping):
        return None
    known = schema.get("properties")
    if isinstance(known, Mapping) and key in known:
        return known[key]
    return schema.get("additionalProperties")


def _compile_template(template: Template, pointer: str, *, as_text: bool) -> ConfigRenderer:
    def render(names: TemplateNames, meter: RenderMeter) -> Any:
        try:
            if as_text:
                return template.render_with(names, meter)
            value = template.value_with(names, meter)
            if template.expression is not None:
                # Only a reference here, but copied in full wherever it is used next.
                meter.allocate(_size(value, meter))
            return value
        except Invalid as error:
            raise Invalid(
                error.detail,
                code=error.code,
                suggestion=error.suggestion,
                findings=[Finding(pointer, error.detail, error.code, error.suggestion)],
            ) from None

    return render


def _size(value: Any, meter: RenderMeter) -> int:
    if isinstance(value, str):
        return len(value)
    return weigh(value, meter) if isinstance(value, list | dict) else 1


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
