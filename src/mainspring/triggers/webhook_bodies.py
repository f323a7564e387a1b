"""Webhook bodies: what senders really send, as one JSON value.

A webhook that names its authentication accepts JSON, forms and text, and gives a run the whole
request: method, query, headers without credentials, body, and the sender's event. JSON that the
strict reader refuses for its form alone (duplicate keys, lone surrogates, NUL characters, numbers
beyond 64 bits) is normalized, and the run has a note of it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.triggers.webhook_signatures import ReceivedRequest, WebhookAuth, remove_credentials

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 1_000
# What the strict reader refuses, and a run can be given in another form.
_NORMALIZED: Final = frozenset(
    {"json_duplicate_key", "json_surrogate", "json_nul", "json_integer", "json_overflow"}
)
_LEAST, _MOST = -(2**63), 2**64 - 1
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
    if _is_json(kind):
        return _parse_json(raw, limits)
    if not kind:
        return _guess(raw, limits)
    return _decode_text(raw, parameters)


def is_parsed(content_type: str) -> bool:
    """Whether a body of this type becomes a value; another becomes a file."""
    kind = content_type.partition(";")[0].strip().lower()
    return not kind or kind == _FORM or _is_json(kind) or _is_text(kind)


def _is_json(kind: str) -> bool:
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind == "application/xml" or kind.endswith("+xml")


def decode_raw(raw: bytes) -> dict[str, str]:
    """The body as it was sent: as text, or as base64 when it is none that can be stored."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = ""
    if raw and (not text or "\0" in text):
        return {"raw": base64.b64encode(raw).decode(), "raw_encoding": "base64"}
    return {"raw": text}


# The longest list of shortened parts in a note.
_MOST_CUT: Final = 20


def shrink_value(value: Any, most: int) -> tuple[Any, list[str]]:
    """A value of at most about so many bytes as JSON, and the pointers of what was shortened."""
    cut: list[str] = []
    kept = _shrink(value, most, "", cut)
    more = len(cut) - _MOST_CUT
    return kept, cut if more <= 0 else [*cut[:_MOST_CUT], f"and {more} more"]


def _shrink(value: Any, most: int, pointer: str, cut: list[str]) -> Any:
    if _measure(value) <= most:
        return value
    if isinstance(value, Mapping):
        # The small values first: what remains is shared by the large ones.
        kept, left = {}, most - 2
        entries = sorted(value.items(), key=lambda entry: _measure(entry[1]))
        for place, (key, one) in enumerate(entries):
            room = left // (len(entries) - place) - len(key) - 6
            if room < 2:
                cut.append(pointer or "/")
                break
            escaped = key.replace("~", "~0").replace("/", "~1")
            kept[key] = _shrink(one, room, f"{pointer}/{escaped}", cut)
            left -= _measure(kept[key]) + len(key) + 6
        return {key: kept[key] for key in value if key in kept}
    cut.append(pointer or "/")
    if isinstance(value, str):
        # A character takes up to six bytes as JSON.
        return value[: max(most // 6, 0)]
    if isinstance(value, list):
        items, left = [], most - 2
        for one in value:
            left -= _measure(one) + 2
            if left < 2:
                break
            items.append(one)
        return items
    return None


def _measure(value: Any) -> int:
    """The size of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


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
    event = None
    if auth.provider is not None:
        event = auth.provider.event.find(request.headers, body.value)
    payload: dict[str, Any] = {
        "method": request.method,
        "query": read_query(request.url),
        "headers": {
            name: _clean(value) for name, value in remove_credentials(request.headers, auth).items()
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
        return collect_fields(
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
    return collect_fields(fields)


def collect_fields(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A field that is repeated becomes a list."""
    found: dict[str, Any] = {}
    for name, value in ((_clean(name), _clean_value(value)) for name, value in fields):
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


def _clean_value(value: Any) -> Any:
    return _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """Without NUL characters and halves of surrogate pairs, which cannot be stored."""
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
