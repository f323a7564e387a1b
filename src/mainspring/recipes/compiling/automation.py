"""One template of an automation or an integration, as the definition that it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from mainspring.contracts.errors import Finding, Invalid
from mainspring.recipes.compiling.declared import compile_declarative
from mainspring.recipes.compiling.script import compile_script

CompilableKind = Literal["automation", "integration"]
Document = dict[str, Any]

_WAYS: Final = {
    "automation": "An automation's template has either a definition or a script.",
    "integration": "An integration's template is either a declarative object or has a script.",
}


def compile_automation(
    kind: CompilableKind, template: Mapping[str, Any], *, name: str, description: str
) -> Document:
    """The definition that a template stands for; ``Invalid`` with pointers into the template.

    Whether the definition itself is sound is the validator's question, as for any other.
    """
    named = {"name": name, "description": description}
    if "script" in template or (kind == "automation" and "definition" in template):
        return _compile_single(kind, template, named)
    if kind == "automation":
        raise _compile_error([Finding("", _WAYS[kind], "template_shape")])
    document, findings = compile_declarative(template, named)
    if findings:
        raise _compile_error(findings)
    return document


def _compile_single(
    kind: CompilableKind, template: Mapping[str, Any], named: Mapping[str, str]
) -> Document:
    """The one thing that a template has beside which nothing else can stand."""
    if len(template) != 1:
        raise _compile_error([Finding("", _WAYS[kind], "template_shape")])
    ((way, content),) = template.items()
    if not isinstance(content, Mapping):
        raise _compile_error([Finding(f"/{way}", f"A {way} is an object.", "type")])
    if way == "definition":
        return {**{key: value for key, value in named.items() if value}, **content}
    document, findings = compile_script(content, named)
    if findings:
        raise _compile_error(findings)
    return document


def _compile_error(findings: Iterable[Finding]) -> Invalid:
    once = list(dict.fromkeys(findings))
    things = "one problem" if len(once) == 1 else f"{len(once)} problems"
    return Invalid(
        f"The template has {things}: {once[0].detail}",
        code="invalid_template",
        findings=once,
        suggestion=once[0].suggestion,
    )
