"""What clients send to the authorisation server: queries and forms, each name once."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote_plus

from fastapi import Request

from mainspring.surfaces.rest.bodies import read_bytes
from mainspring.workspace.oauth.refusals import OAuthError

_MOST_FIELDS: Final = 50
_LONGEST: Final = 4_096
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class OAuthForm:
    """The fields of a form; one that is empty is not there."""

    fields: Mapping[str, str]

    def get(self, name: str) -> str | None:
        return self.fields.get(name) or None

    def need(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise OAuthError("invalid_request", f"{name} is missing.")
        return found


@dataclass(frozen=True, slots=True)
class ClientAuthentication:
    """Who a client says it is, and how it shows that."""

    client_id: str | None
    method: str
    secret: str | None


def read_query(request: Request) -> tuple[dict[str, str], bool]:
    """The parameters of a query, without those in doubt; and whether there were any."""
    pairs = request.query_params.multi_items()
    often = Counter(name for name, _ in pairs)
    good = {
        name: value
        for name, value in pairs
        if value and often[name] == 1 and len(value) <= _LONGEST
    }
    return good, any(name not in good for name, value in pairs if value)


async def read_form(request: Request, most: int) -> OAuthForm:
    """The body of a request as a form; a name that comes twice is a mistake or a trick."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != _FORM or "content-encoding" in request.headers:
        raise OAuthError("invalid_request", f"The body is a form, said by 'Content-Type: {_FORM}'.")
    raw = await read_bytes(request, most)
    try:
        pairs = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise OAuthError("invalid_request", "The form cannot be read.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or any("\x00" in value for value in fields.values()):
        raise OAuthError("invalid_request", "A field is there twice, or holds a NUL character.")
    return OAuthForm(fields)


def showing(request: Request, form: OAuthForm) -> ClientAuthentication:
    """Who sends a form, said in one way and no more (RFC 6749, 2.3)."""
    headers = request.headers.getlist("authorization")
    secret = form.get("client_secret")
    if not headers:
        method = "none" if secret is None else "client_secret_post"
        return ClientAuthentication(form.get("client_id"), method, secret)
    name, shown = _basic(headers[0]) if len(headers) == 1 else (None, None)
    if name is None or secret is not None or form.get("client_id") not in (None, name):
        raise OAuthError("invalid_client", "A client shows who it is in one way.")
    return ClientAuthentication(name, "client_secret_basic", shown)


def _basic(header: str) -> tuple[str | None, str | None]:
    scheme, _, given = header.partition(" ")
    try:
        text = base64.b64decode(given.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None, None
    name, parted, secret = text.partition(":")
    if scheme.lower() != "basic" or not parted:
        return None, None
    return unquote_plus(name), unquote_plus(secret)
