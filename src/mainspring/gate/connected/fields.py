"""What a person gives to be let in, judged by the fields that the manifest names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.pointers import join_pointer

if TYPE_CHECKING:
    from mainspring.contracts.integration import Integration

_LONGEST: Final = 8_192
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


@dataclass(frozen=True, slots=True)
class ConnectionCredentials:
    """What lets a connection in, and what may be known of it."""

    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_fields(integration: Integration, given: Mapping[str, Any]) -> ConnectionCredentials:
    """The fields of a manifest with what was given for them; Invalid names each that is wrong."""
    known = {one["name"]: one for one in integration.manifest["auth"].get("fields", ())}
    findings: list[Finding] = []
    if not known.keys() >= given.keys():
        # Whoever mistypes the name of a secret field may have written its value there.
        detail = f"There is a field that {integration.name} does not have."
        findings.append(
            Finding("/fields", detail, "unknown_field", f"It has {', '.join(known) or 'none'}.")
        )
    secrets: dict[str, str] = {}
    settings: dict[str, Any] = {}
    for name, one in known.items():
        value = given.get(name, one.get("default"))
        if value is None or value == "":
            if one.get("required", True):
                detail = f"{one['label']} is missing."
                findings.append(
                    Finding(join_pointer("/fields", name), detail, "required", one.get("help"))
                )
            continue
        wrong = _wrong(one, value)
        if wrong:
            findings.append(
                Finding(join_pointer("/fields", name), wrong, "bad_field", one.get("help"))
            )
        elif one.get("secret"):
            secrets[name] = str(value)
        else:
            settings[name] = value
    if findings:
        raise Invalid(findings[0].detail, code="bad_fields", findings=findings)
    return ConnectionCredentials(secrets, settings)


def _wrong(one: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value; it may be secret, so it is not repeated."""
    kind, called = _KINDS[one.get("type", "string")]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{one['label']} must be {called}."
    if isinstance(value, str) and (len(value) > _LONGEST or any(ch in value for ch in "\0\r\n")):
        return f"{one['label']} must be one line of at most {_LONGEST} characters."
    return ""
