"""Webhook bodies: what senders really send, as one JSON value.

A webhook that names its authentication accepts JSON, forms and text, and gives a run the whole
request: method, query, headers without credentials, body, and the sender's event. JSON that the
strict reader refuses for its form alone (duplicate keys, lone surrogates, NUL characters, numbers
beyond 64 bits) is normalized, and the run has a note of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mainspring.contracts.errors import Finding, Invalid, Unsupported
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.triggers.webhook_signatures import ReceivedRequest, WebhookAuth

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 1_000
# What the strict reader refuses, and a run can be given in another form.
_NORMALIZED: Final = frozenset(
    {"json_duplicate_key", "json_surrogate", "json_nul", "json_integer", "json_overflow"}
)
_LEAST, _MOST = -(2**63), 2**64 - 1
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """The value of a body, and what was changed in it."""

    value: Any
    notes: tuple[str, ...] = ()


def parse_body(raw: bytes, content_type: str, limits: Limits) -> ParsedBody:
    """The body as a JSON value; an empty one is an empty object."""
    if not raw:
        return ParsedBody({})
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    if kind == _FORM:
        return ParsedBody(_parse_form(raw))
    if kind in ("application/json", "text/json") or kind.endswith("+json"):
        return _parse_json(raw, limits)
    if not kind:
        return _guess(raw, limits)
    if kind.startswith("text/") or kind == "application/xml" or kind.endswith("+xml"):
        return _decode_text(raw, parameters)
    raise Unsupported(
        f"A webhook takes JSON, a form or text; the body is {kind}.",
        code="content_type",
        suggestion="Send the body as application/json.",
    )


def _guess(raw: bytes, limits: Limits) -> ParsedBody:
    """A body without a type: JSON if it is that, else text."""
    try:
        return _parse_json(raw, limits)
    except Invalid as refused:
        if refused.code != "json_syntax":
            raise
        return _decode_text(raw, "")


POST_ONLY: Final = ("POST",)


def read_methods(config: Mapping[str, Any]) -> Sequence[str]:
    """The methods that start a run."""
    return tuple(config.get("methods") or POST_ONLY)


def read_origins(config: Mapping[str, Any]) -> Sequence[str]:
    """The origins of the pages whose scripts may call the webhook."""
    return tuple((config.get("cors") or {}).get("origins", ()))


def parse_lenient_json(raw: bytes, limits: Limits) -> Any:
    """A JSON body; what is unusual in its form is normalized."""
    return _parse_json(raw, limits).value


def build_payload(request: ReceivedRequest, auth: WebhookAuth, body: ParsedBody) -> dict[str, Any]:
    """The request as a run sees it, without the caller's credentials."""
    hidden = set(_CREDENTIALS)
    event = None
    if auth.provider is not None:
        hidden |= {scheme.header for scheme in auth.provider.schemes}
        event = auth.provider.event.find(request.headers, body.value)
    payload: dict[str, Any] = {
        "method": request.method,
        "query": read_query(request.url),
        "headers": {
            name: _clean(value) for name, value in request.headers.items() if name not in hidden
        },
        "body": body.value,
    }
    if event is not None:
        payload["event"] = _clean(event)
    if body.notes:
        payload["notes"] = list(body.notes)
    return payload


def read_query(url: str) -> dict[str, Any]:
    try:
        return _collect(
            parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        )
    except ValueError:
        return {}


def _parse_form(raw: bytes) -> dict[str, Any]:
    try:
        fields = parse_qsl(
            raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        detail = f"The form has more than {_MOST_FIELDS} fields."
        finding = Finding("", detail, "form_fields")
        raise Invalid(detail, code="form_fields", findings=[finding]) from None
    return _collect(fields)


def _collect(fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A field that is repeated becomes a list."""
    found: dict[str, Any] = {}
    for name, value in ((_clean(name), _clean(value)) for name, value in fields):
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _decode_text(raw: bytes, parameters: str) -> ParsedBody:
    charset = "utf-8"
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip('"')
    try:
        text = raw.decode(charset, "replace")
    except LookupError:
        text = raw.decode("utf-8", "replace")
    clean = _clean(text)
    notes = ("Characters that cannot be stored were replaced.",) if clean != text else ()
    return ParsedBody(clean, notes)


def _parse_json(raw: bytes, limits: Limits) -> ParsedBody:
    try:
        return ParsedBody(read_json(raw, limits))
    except Invalid as refused:
        if not {one.code for one in refused.findings} <= _NORMALIZED:
            raise
        parsed = _JsonNormalizer().parse(raw)
        # The limits of size and depth hold for what is stored.
        return ParsedBody(read_json(json.dumps(parsed.value).encode(), limits), parsed.notes)


class _JsonNormalizer:
    """Parses JSON whose form is unusual, and notes what was changed."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}

    def parse(self, raw: bytes) -> ParsedBody:
        value = json.loads(
            raw,
            object_pairs_hook=self._build_object,
            parse_int=self._read_integer,
            parse_float=self._read_float,
        )
        return ParsedBody(self._normalize(value), tuple(self._notes))

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            self._note("An object had the same key twice; the last value counts.")
        return built

    def _read_integer(self, text: str) -> int | str:
        number = int(text) if len(text) <= 20 else None
        if number is not None and _LEAST <= number <= _MOST:
            return number
        self._note("A whole number beyond 64 bits became text.")
        return text

    def _read_float(self, text: str) -> float | str:
        number = float(text)
        if math.isfinite(number):
            return number
        self._note("A number that is too large became text.")
        return text

    def _normalize(self, value: Any) -> Any:
        if isinstance(value, str):
            clean = _clean(value)
            if clean != value:
                self._note("Characters that cannot be stored were replaced.")
            return clean
        if isinstance(value, list):
            return [self._normalize(one) for one in value]
        if isinstance(value, Mapping):
            return {self._normalize(key): self._normalize(one) for key, one in value.items()}
        return value


def _clean(text: str) -> str:
    """Without NUL characters and halves of surrogate pairs, which cannot be stored."""
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
