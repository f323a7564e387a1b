"""Form triggers: which inputs a form asks for, on which pages, and who may fill it in.

A form asks for the inputs of its automation that its trigger does not set itself. ``pages`` orders
them, and can leave optional ones out. A field that is listed in ``files`` takes a file: its input
is an object that describes the stored file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import RuntimeTokens, resolve_inputs
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

FORM: Final = "form"
Access = Literal["public", "members"]
PUBLIC: Final = "public"
MEMBERS: Final = "members"
MIN_SECONDS: Final = 2
PER_ADDRESS: Final = 20
PER_FORM: Final = 500
# The inputs of a definition that declares none.
_NO_SCHEMA: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
# Hints of these names load resources of the workspace, which people who fill in a form cannot read.
_HIDDEN_HINTS: Final = frozenset({"x-mainspring-source", "x-surfsense-source"})


@dataclass(frozen=True, slots=True)
class FileRule:
    """What a file field accepts."""

    max_bytes: int
    # Media types, or families such as image/*; empty for all.
    types: tuple[str, ...] = ()

    def accepts(self, media_type: str) -> bool:
        if not self.types:
            return True
        family = media_type.partition("/")[0] + "/*"
        return any(one.lower() in (media_type, family) for one in self.types)


@dataclass(frozen=True, slots=True)
class FormPage:
    """Fields that are shown together."""

    fields: tuple[str, ...]
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FormSettings:
    """The config of a form trigger for the inputs of its automation."""

    access: Access
    title: str
    text: str
    submit: str | None
    thank_you: str | None
    redirect: str | None
    pages: tuple[FormPage, ...]
    files: Mapping[str, FileRule]
    min_seconds: int
    per_address: int
    per_form: int
    # The inputs that the form asks for, as a schema of their own.
    schema: Mapping[str, Any]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for page in self.pages for name in page.fields)

    @property
    def is_public(self) -> bool:
        return self.access == PUBLIC


def is_public_form(type_: str | None, config: Mapping[str, Any] | None) -> bool:
    """Whether anyone with the link can start the automation; the same as without ``access``."""
    return type_ == FORM and (config or {}).get("access", PUBLIC) != MEMBERS


def read_form(
    config: Mapping[str, Any],
    inputs_schema: Mapping[str, Any] | None,
    fixed: Mapping[str, Any],
    name: str,
    limits: Limits,
) -> FormSettings:
    """The settings of a valid config; ``fixed`` are the inputs that the trigger sets itself."""
    schema = inputs_schema or _NO_SCHEMA
    limit = config.get("rate_limit") or {}
    pages = _read_pages(config, schema, fixed)
    return FormSettings(
        access=MEMBERS if config.get("access") == MEMBERS else PUBLIC,
        title=str(config.get("title") or name),
        text=str(config.get("text", "")),
        submit=config.get("submit"),
        thank_you=config.get("thank_you"),
        redirect=config.get("redirect"),
        pages=pages,
        files={
            field: FileRule(
                min(int(rule.get("max_bytes", limits.artifact_bytes)), limits.artifact_bytes),
                tuple(rule.get("types", ())),
            )
            for field, rule in (config.get("files") or {}).items()
        },
        min_seconds=int(config.get("min_seconds", MIN_SECONDS)),
        per_address=int(limit.get("per_address", PER_ADDRESS)),
        per_form=int(limit.get("per_form", PER_FORM)),
        schema=_select(schema, [one for page in pages for one in page.fields]),
    )


def _read_pages(
    config: Mapping[str, Any], schema: Mapping[str, Any], fixed: Mapping[str, Any]
) -> tuple[FormPage, ...]:
    written = config.get("pages")
    if written:
        return tuple(
            FormPage(tuple(page["fields"]), page.get("title"), page.get("text")) for page in written
        )
    names = tuple(name for name in schema.get("properties", {}) if name not in fixed)
    return (FormPage(names),)


def _select(schema: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The schema of these inputs alone, without hints that load resources."""
    properties = schema.get("properties", {})
    made: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {one: _strip_hints(properties[one]) for one in names if one in properties},
        "required": [one for one in schema.get("required", ()) if one in names],
    }
    if "$defs" in schema and "$ref" in repr(made):
        made["$defs"] = _strip_hints(schema["$defs"])
    return made


def _strip_hints(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _strip_hints(one) for name, one in value.items() if name not in _HIDDEN_HINTS}
    return [_strip_hints(one) for one in value] if isinstance(value, list) else value


def validate_submission(
    values: Mapping[str, Any],
    form: FormSettings,
    inputs_schema: Mapping[str, Any] | None,
    fixed: Mapping[str, Any],
    limits: Limits,
) -> None:
    """Refuse values that the automation would not accept; each finding points to its field."""
    findings = [
        Finding(
            join_pointer("", name[:100]),
            "This form has no such field.",
            "unknown_field",
            suggest_nearest(name[:100], form.fields),
        )
        for name in values
        if name not in form.fields
    ]
    if not findings:
        now = datetime.now(UTC)
        try:
            resolve_inputs(inputs_schema, fixed, values, RuntimeTokens(now, now, "", ""), limits)
        except Invalid as problem:
            findings = [_locate(one) for one in problem.findings] or [
                Finding("", problem.detail, problem.code)
            ]
    if findings:
        raise Invalid("Some fields need your attention.", code="form_invalid", findings=findings)


def _locate(finding: Finding) -> Finding:
    """A finding about the inputs as one about a field of the form."""
    return Finding(
        finding.pointer.removeprefix("/inputs"), finding.detail, finding.code, finding.suggestion
    )


def check_form(
    config: Mapping[str, Any],
    inputs_schema: Mapping[str, Any],
    fixed: Mapping[str, Any],
    at: str,
) -> Iterator[Finding]:
    """What is wrong with a form that its schema cannot say; the config matches the schema."""
    properties = inputs_schema.get("properties", {})
    pages = config.get("pages") or ()
    seen: set[str] = set()
    for number, page in enumerate(pages):
        for place, name in enumerate(page["fields"]):
            pointer = join_pointer(at, "pages", str(number), "fields", str(place))
            yield from _check_field(name, properties, pointer)
            if name in seen:
                yield Finding(pointer, f"The field {name!r} is shown twice.", "form_field_twice")
            if name in fixed:
                yield Finding(
                    pointer,
                    f"The trigger sets {name!r} itself, so the form cannot ask for it.",
                    "form_field_fixed",
                    "Remove it from the trigger's inputs, or from the page.",
                )
            seen.add(name)
    for name in config.get("files") or ():
        pointer = join_pointer(at, "files", name)
        unknown = list(_check_field(name, properties, pointer))
        yield from unknown
        if not unknown and properties[name].get("type") != "object":
            yield Finding(
                pointer,
                f"The input {name!r} takes a file, so its type has to be object.",
                "form_file_type",
                f'Write "{name}": {{"type": "object"}} in inputs.schema.properties.',
            )
    if pages:
        yield from _check_missing(inputs_schema, fixed, seen, at)


def _check_field(name: str, properties: Mapping[str, Any], pointer: str) -> Iterator[Finding]:
    if name not in properties:
        yield Finding(
            pointer,
            f"The definition declares no input called {name[:60]!r}.",
            "unknown_input",
            suggest_nearest(name, properties) or f"Declare {name!r} in inputs.schema.properties.",
        )


def _check_missing(
    schema: Mapping[str, Any],
    fixed: Mapping[str, Any],
    shown: set[str],
    at: str,
) -> Iterator[Finding]:
    """Required inputs that no page asks for, so that every submission would fail."""
    for name in schema.get("required", ()):
        has_default = "default" in (schema.get("properties", {}).get(name) or {})
        if name not in shown and name not in fixed and not has_default:
            yield Finding(
                join_pointer(at, "pages"),
                f"No page asks for {name!r}, and it is required without a default.",
                "missing_input",
                f"Add {name!r} to a page, set it in the trigger's inputs, or give it a default.",
            )
