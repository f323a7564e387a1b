"""What a draft is bound to: the exact call that was held, and what it was asked under.

A person agrees to what they are shown. So the arguments are kept whole, and one hash covers
them together with the sentence that is shown, the version and its grants: what is sent is
what was held, or it is not sent. A secret stands in the arguments by its name. Where secrets
stand is kept apart, because text in the arguments that merely looks like one came as data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.errors import Conflict
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.gate.capability_call import canonical_json, show_secret_names

Place = dict[str, Any]

_PERSON: Final[Mapping[str, Any]] = {"automation_id": None, "version": None}


def find_secret_markers(arguments: Mapping[str, Any]) -> list[Place]:
    """Where secrets stand in the arguments, and which, with the text around them."""
    return list(_find_markers(arguments, ()))


def _find_markers(value: Any, at: tuple[str | int, ...]) -> Iterator[Place]:
    if isinstance(value, SecretText):
        yield {"at": list(at), "parts": [_serialize_marker(part) for part in value.parts]}
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _find_markers(entry, (*at, name))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _find_markers(entry, (*at, number))


def _serialize_marker(part: str | SecretRef) -> dict[str, str]:
    return {"secret": part.name} if isinstance(part, SecretRef) else {"text": part}


def restore_secret_markers(arguments: Mapping[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    """The arguments as they were asked with, every secret a marker again."""
    filled = _fill_markers(arguments, {tuple(one["at"]): _text(one) for one in places}, ())
    if show_secret_names(filled) != arguments:
        raise draft_changed_error()
    made: dict[str, Any] = filled
    return made


def _fill_markers(
    value: Any, markers: Mapping[tuple[Any, ...], SecretText], at: tuple[Any, ...]
) -> Any:
    if at in markers:
        return markers[at]
    if isinstance(value, Mapping):
        return {name: _fill_markers(entry, markers, (*at, name)) for name, entry in value.items()}
    if isinstance(value, list):
        return [_fill_markers(entry, markers, (*at, number)) for number, entry in enumerate(value)]
    return value


def _text(place: Place) -> SecretText:
    return SecretText(
        tuple(SecretRef(p["secret"]) if "secret" in p else p["text"] for p in place["parts"])
    )


def compute_binding_hash(
    capability: str,
    arguments: Mapping[str, Any],
    places: Sequence[Place],
    preview: str,
    under: Mapping[str, Any] | None,
    pin: str = "",
    connection: Mapping[str, Any] | None = None,
) -> bytes:
    """One hash of everything that a draft is bound to; ``under`` is the row of its version.

    ``pin`` is what a tool from outside was when it was held; what is ours has none.
    ``connection`` is what it goes over, and None where it goes over none.
    """
    asked = _PERSON
    if under is not None:
        asked = {
            "automation_id": str(under["automation_id"]),
            "version": under["version"],
            "definition": under["definition_hash"].hex(),
            "grants": under["grants"],
        }
    told = {
        "capability": capability,
        "arguments": arguments,
        "secrets": list(places),
        "preview": preview,
        "under": dict(asked),
    }
    if pin:
        told["pin"] = pin
    if connection is not None:
        told["connection"] = dict(connection)
    return hashlib.sha256(canonical_json(told)).digest()


def draft_changed_error(*, outside: bool = False) -> Conflict:
    """The one answer to a draft that is not what it was when it was held."""
    what = "This draft, or the tool that it is sent with," if outside else "This draft"
    return Conflict(
        f"{what} has changed since it was drafted, so nothing was sent.",
        code="draft_changed",
        suggestion="Discard it and request it again.",
    )
