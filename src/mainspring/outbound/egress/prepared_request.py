"""An errand: one request made ready to leave, and what it becomes at each redirect.

Everything here is a pure function of plain values. Secrets stand in a request by name
until ``fill``; where they stood is remembered, so that they stay with the origin they
were meant for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import Invalid, PermissionDenied, UpstreamError
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress.body import ACCEPTED_ENCODINGS
from mainspring.outbound.egress.headers import (
    check_names,
    check_size,
    drop_headers,
    validate_header_value,
)
from mainspring.outbound.egress.url import (
    MAX_TARGET,
    UrlTarget,
    parse_url,
    percent_encode,
    resolve_location,
    with_query,
)
from mainspring.workspace.redaction import Redactor, is_sensitive

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_METHOD = re.compile(r"[A-Z]{1,16}")
_UNSENDABLE = frozenset({"CONNECT", "TRACE"})
_OF_THE_BODY = frozenset(
    {"content-type", "content-encoding", "content-language", "content-location"}
)
_WHOLE_ORIGIN = re.compile(r"[A-Za-z]+://[^/?#]+[/?#]")
# Stands for a secret while only the origin of a URL is judged.
_BLANK = "-"


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request ready for the wire."""

    method: str
    target: UrlTarget
    headers: Mapping[str, str]
    body: bytes | None
    # What may be shown of the URL: secrets by name.
    shown_url: str
    # Headers, in lower case, that must not reach another origin.
    bound: frozenset[str] = field(default_factory=frozenset)


def find_secret_names(request: HttpRequest) -> frozenset[str]:
    """The secrets a request asks for, wherever they stand."""
    places = [request.url, *request.headers.values(), *request.query.values()]
    return frozenset().union(*(place.names for place in places if isinstance(place, SecretText)))


def check_request_shape(request: HttpRequest, most_bytes: int) -> UrlTarget:
    """Judges the shape of a request while its secrets are still only names."""
    if not _METHOD.fullmatch(request.method) or request.method in _UNSENDABLE:
        raise Invalid("The method of the request is not one that can be sent.", code="bad_method")
    if request.body is not None and len(request.body) > most_bytes:
        raise Invalid(
            f"The request's body is larger than {most_bytes} bytes.", code="request_too_large"
        )
    check_names(request.headers)
    for name, value in request.headers.items():
        validate_header_value(name, _join_secret_text(value, {}))
    if isinstance(request.url, SecretText) and request.url.names:
        _check_secret_in_url(request.url)
    return parse_url(_join_secret_text(request.url, {}))


def fill_secrets(request: HttpRequest, values: Mapping[str, str]) -> PreparedRequest:
    """Puts the secrets in their places: percent-encoded in a URL, as they are in a header."""
    target = _fill_url(request, {name: percent_encode(text) for name, text in values.items()})
    given = {
        name: validate_header_value(name, _join_secret_text(value, values))
        for name, value in request.headers.items()
    }
    check_size(given.items())
    bound = frozenset(
        name.lower()
        for name, value in request.headers.items()
        if is_sensitive(name) or (isinstance(value, SecretText) and value.names)
    )
    shown = _display_url(request, values)
    return PreparedRequest(request.method, target, given, request.body, shown, bound)


def build_wire_headers(prepared: PreparedRequest) -> list[tuple[bytes, bytes]]:
    """All headers of a request, with those that are ours to set."""
    headers = {
        "Host": prepared.target.authority,
        "Accept": "*/*",
        "User-Agent": "Mainspring",
    }
    given = {name.lower() for name in prepared.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in given}
    headers["Accept-Encoding"] = ACCEPTED_ENCODINGS
    headers.update(prepared.headers)
    if prepared.body is not None or prepared.method in {"POST", "PUT", "PATCH"}:
        headers["Content-Length"] = str(len(prepared.body or b""))
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


def follow_redirect(
    prepared: PreparedRequest, status: int, location: str, secrets: Redactor
) -> PreparedRequest:
    """The next request after a redirect, stripped of what may not cross to another origin."""
    try:
        target = resolve_location(prepared.target, location)
    except Invalid as error:
        raise UpstreamError(
            "The answer redirects to an address that cannot be called.",
            code="bad_redirect",
            retryable=False,
        ) from error
    _check_crossing(prepared.target, target, location, secrets)
    method = _next_method(prepared.method, status)
    headers = dict(prepared.headers)
    body = prepared.body
    if method != prepared.method:
        headers, body = drop_headers(headers, _OF_THE_BODY), None
    if target.origin != prepared.target.origin:
        headers = drop_headers(headers, prepared.bound)
    return replace(
        prepared,
        method=method,
        target=target,
        headers=headers,
        body=body,
        shown_url=secrets.text(target.url),
    )


def _check_crossing(before: UrlTarget, after: UrlTarget, location: str, secrets: Redactor) -> None:
    if before.scheme == "https" and after.scheme == "http":
        raise PermissionDenied(
            f"{before.host} redirects from https to http, which would expose the request.",
            code="redirect_downgrade",
        )
    if before.origin != after.origin and secrets.found_in(location):
        raise PermissionDenied(
            f"{before.host} redirects to another host with a secret in the address.",
            code="redirect_with_secret",
        )


def _next_method(method: str, status: int) -> str:
    """What browsers do: a form's answer is fetched, everything else is sent again."""
    if status == 303 and method != "HEAD":
        return "GET"
    return "GET" if status in {301, 302} and method == "POST" else method


def _check_secret_in_url(url: SecretText) -> None:
    """A secret that could choose the host would choose who receives it."""
    first = next(at for at, part in enumerate(url.parts) if isinstance(part, SecretRef))
    if not _WHOLE_ORIGIN.match(_join_secret_text(SecretText(url.parts[:first]), {})):
        raise Invalid(
            "A secret can be used in the path or query of a URL, not before it.",
            code="secret_place",
        )
    last = max(at for at, part in enumerate(url.parts) if isinstance(part, SecretRef))
    if "#" in _join_secret_text(SecretText(url.parts[:last]), {}):
        raise Invalid(
            "A secret after # is never sent; put it in the path or query.", code="secret_place"
        )


def _fill_url(request: HttpRequest, encoded: Mapping[str, str]) -> UrlTarget:
    target = parse_url(_join_secret_text(request.url, encoded), MAX_TARGET)
    pairs = (
        (percent_encode(name), _encode_value(value, encoded))
        for name, value in request.query.items()
    )
    return with_query(target, pairs)


def _display_url(request: HttpRequest, names: Iterable[str]) -> str:
    signs = {name: percent_encode(str(SecretRef(name))) for name in names}
    shown = _fill_url(request, signs).url
    for name, sign in signs.items():
        shown = shown.replace(sign, str(SecretRef(name)))
    return shown


def _encode_value(value: str | SecretText, encoded: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return percent_encode(value)
    return "".join(
        encoded[part.name] if isinstance(part, SecretRef) else percent_encode(part)
        for part in value.parts
    )


def _join_secret_text(text: str | SecretText, values: Mapping[str, str]) -> str:
    if isinstance(text, str):
        return text
    return "".join(
        values.get(part.name, _BLANK) if isinstance(part, SecretRef) else part
        for part in text.parts
    )
